/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rds-stress: two hosts send each other requests and acknowledge them.
 *
 *   args.c     the command line
 *   wire.c     option message on the control connection, header of a datagram
 *   control.c  the control connection (TCP)
 *   rdma.c     buffers and keys, and what a request asks of the other side
 *   transfer.c the transfers this side carries out for requests it received
 *   child.c    one task: its socket, sending and receiving
 *   check.c    what a received datagram must look like
 *   soak.c     how much of the CPUs is left over
 *   report.c   everything printed during and after the run
 *   main.c     the parent: starts and ends it all
 */
#ifndef STRESS_H
#define STRESS_H

#include <stdatomic.h>

#include "rdstool.h"

#define HDR_LEN		63
#define SHORT_LEN	59
#define VERSION_LEN	16
#define LONG_LEN	77
#define MAX_SIZE	(1u << 20)
#define MAX_DEPTH	65536u
#define NR_BUCKETS	16
#define NO_OUTLIERS	UINT32_MAX
#define MAX_VECTOR	512u
#define ATOMIC_SIZE	8u

enum op { OP_REQ = 1, OP_ACK = 2 };

/* What is asked of the other side in a header; a classic peer knows the first three. */
enum rop { ROP_NONE, ROP_READ, ROP_WRITE, ROP_FADD, ROP_CSWP };
/* As they are negotiated; the classic ones are the first three. */
enum rdma_mode { MODE_BOTH, MODE_READ, MODE_WRITE, MODE_FADD, MODE_CSWP };

struct options {
	uint32_t depth;
	uint32_t req_size;
	uint32_t ack_size;
	uint32_t rdma_size;
	uint32_t send_addr;	/* the other side, host order */
	uint32_t recv_addr;	/* this side, host order */
	uint16_t port;
	uint16_t tasks;
	uint32_t run_time;
	uint8_t summary_only;
	uint8_t rtprio;
	uint8_t trace;
	uint8_t verify;
	uint8_t show_params;
	uint8_t perfdata;
	uint8_t cong_monitor;
	uint8_t use_once;
	uint8_t use_get_mr;
	uint8_t fence;
	uint8_t cache_mrs;
	uint8_t key_meter;
	uint8_t one_way;
	uint8_t rdma_mode;
	uint32_t vector;
	uint32_t alignment;
	uint32_t connect_retries;
	uint8_t tos;
	uint8_t async;

	/* Each side has its own of these. */
	bool active;
	bool soak;
	bool histogram;
	uint32_t outliers;
	int transport;		/* SO_RDS_TRANSPORT, or RDS_TRANS_NONE: bind() chooses */
};

/* Written by one child, read by the parent. They only grow. */
struct stats {
	_Atomic uint64_t req_tx, req_rx;
	_Atomic uint64_t bytes_tx, bytes_rx;
	_Atomic uint64_t tx_us;
	_Atomic uint64_t rtt_us, rtt_count;
	_Atomic uint64_t bucket[NR_BUCKETS];
	_Atomic uint64_t rdma_in, rdma_out;
};

struct child {
	struct stats stats;
	pid_t pid;
} __attribute__((aligned(128)));

struct shared {
	_Atomic uint64_t start_us;	/* 0 until the other side is ready */
	_Atomic bool stopping;
	struct child child[];
};

/* ---- main.c ---- */

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void die_errno(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
const char *ip_str(uint32_t host_order, char buf[INET_ADDRSTRLEN]);

/* ---- args.c ---- */

void parse_args(struct options *o, int argc, char **argv);
/* NULL, or why a run with these options is impossible. */
const char *check_options(const struct options *o);

/* ---- wire.c ---- */

/* Bytes 19 to 59 of a header. */
struct command {
	uint8_t rop;
	uint64_t addr;		/* where the requester's memory is for the requester */
	uint64_t offset;
	uint64_t pattern;
	uint64_t key;
	uint32_t size;		/* of one element */
	uint32_t vector;
};

struct header {
	uint32_t seq;
	uint32_t from_addr, to_addr;
	uint16_t from_port, to_port;
	uint16_t slot;
	uint8_t op;
	uint8_t retry;
	struct command rdma;
};

/* Returns the length of the message: the short form where it suffices. */
size_t encode_options(uint8_t msg[LONG_LEN], const struct options *o);
/* How long the whole message is, from its first 16 bytes; 0 when not understood. */
size_t options_length(const uint8_t msg[VERSION_LEN]);
/* What a passive side takes over from the message. */
void decode_options(const uint8_t *msg, size_t len, struct options *o);
void encode_header(uint8_t buf[HDR_LEN], const struct header *h);
void decode_header(const uint8_t buf[HDR_LEN], struct header *h);
void fill_pattern(uint8_t *payload, size_t len);

/* ---- control.c ---- */

int control_connect(struct options *o);
int control_accept(struct options *o);
void control_send(int fd, const void *buf, size_t len);
void control_recv(int fd, void *buf, size_t len);

/* ---- child.c, check.c ---- */

struct peer {
	struct sockaddr_in addr;
	uint32_t tx_seq, rx_seq;
	uint32_t outstanding;	/* requests without ack */
	uint32_t owed;		/* requests of the peer not yet acked */
	uint16_t req_slot;	/* of the next request sent */
	uint16_t ack_slot;	/* of the next ack sent */
	uint16_t exp_req_slot;	/* of the next request received */
	uint16_t exp_ack_slot;	/* of the next ack received */
	bool congested;
	uint64_t *sent_us;	/* by slot */
	struct rdma_slot *rdma;	/* by slot, see rdma.h; NULL without RDMA */
	bool write_next;	/* in MODE_BOTH */
	bool first_only;	/* fills only the first element, as a classic one does */
	bool filled;		/* has been seen to fill them all */
};

struct task {
	const struct options *o;
	struct shared *shared;
	struct stats *stats;
	uint16_t port;
	int fd;
	struct peer *peer;
	uint8_t *req, *ack, *in;
	uint8_t *pattern;
	struct rds_iovec *iov;	/* as many as a vector has */
	unsigned int nr_keys;
	uint32_t pid;
	bool requests;		/* this side sends them */
	bool want_pollout;
	bool retry_soon;
	bool full;		/* the last attempt to send failed with EAGAIN */
};

/* Counters have one writer, so that no locked instruction is needed. */
static inline void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter,
			      atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Runs task @id until it is killed; tells @ready_fd when it can receive. */
void run_child(const struct options *o, struct shared *shared, unsigned int id, pid_t parent,
	       int ready_fd) __attribute__((noreturn));
/* The peer a datagram came from, after every check; ends the child on a mismatch. */
struct peer *check_message(struct task *t, const struct sockaddr_in *from, size_t len,
			   struct header *h);

/* ---- soak.c ---- */

struct soaker;
struct soaker *soak_start(void);
void soak_stop(struct soaker *s);
/* Percentage of the CPUs in use since the last call; -1 without soakers. */
double soak_usage(struct soaker *s);

/* ---- report.c ---- */

struct report;
struct report *report_new(const struct options *o, const struct shared *shared, struct soaker *s);
void report_params(const struct options *o);
void report_discard(struct report *r);
void report_header(struct report *r);
void report_line(struct report *r);
void report_summary(struct report *r);

#endif
