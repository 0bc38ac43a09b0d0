/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rds-stress: two hosts send each other requests and acknowledge them.
 *
 *   args.c     parse the command line
 *   wire.c     option message on the control connection, header of a datagram
 *   control.c  the control connection (TCP)
 *   rdma.c     RDMA buffers and keys, the requesting side of a transfer
 *   transfer.c RDMA transfers that this side makes for requests received
 *   child.c    one task: socket, sending and receiving
 *   take.c     process a received datagram
 *   check.c    check a received datagram
 *   soak.c     measure the use of the CPUs
 *   report.c   output during and after the run
 *   main.c     the parent process: start and end of a run
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

/*
 * RDMA operation that a request asks of the other side. A classic rds-stress
 * has the first three.
 */
enum rop { ROP_NONE, ROP_READ, ROP_WRITE, ROP_FADD, ROP_CSWP };
/* Negotiated mode of the run. A classic rds-stress has the first three. */
enum rdma_mode { MODE_BOTH, MODE_READ, MODE_WRITE, MODE_FADD, MODE_CSWP };

struct options {
	uint32_t depth;
	uint32_t req_size;
	uint32_t ack_size;
	uint32_t rdma_size;
	uint32_t send_addr;	/* IPv4 of the other side, host order */
	uint32_t recv_addr;	/* IPv4 of this side, host order */
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

	/* Options that are not negotiated. */
	bool reset;
	bool active;
	bool soak;
	bool histogram;
	uint32_t outliers;
	/* SO_RDS_TRANSPORT, or RDS_TRANS_NONE: bind() chooses */
	int transport;
};

/* Counters of one child, read by the parent. They only grow. */
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
} __attribute__((aligned(128)));

/*
 * Memory shared by parent and children. The process numbers are not in it: the
 * parent alone has them, so no child can change what the parent signals.
 */
struct shared {
	_Atomic uint64_t start_us;	/* start time; 0: sides not ready */
	_Atomic bool stopping;
	struct child child[];
};

/* ---- main.c ---- */

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void die_errno(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
/* As die_errno(), but returns errno; for callers that print a hint next. */
int complain_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* End the process. The parent also ends its children; a child only itself. */
void leave(int status) __attribute__((noreturn));
const char *ip_str(uint32_t host_order, char buf[INET_ADDRSTRLEN]);

/* ---- args.c ---- */

void parse_args(struct options *o, int argc, char **argv);
/* Returns NULL, or the reason why a run with these options is impossible. */
const char *check_options(const struct options *o);

/* ---- wire.c ---- */

/* Bytes 19 to 59 of a header: the transfer that a request asks for. */
struct command {
	uint8_t rop;
	uint64_t addr;		/* of the memory, in the requester's process */
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

/*
 * Encode the option message, in the short form unless --tos or --async is used.
 * Returns its length.
 */
size_t encode_options(uint8_t msg[LONG_LEN], const struct options *o);
/*
 * Length of an option message, from its first 16 bytes. Returns 0 if the
 * version is not supported.
 */
size_t options_length(const uint8_t msg[VERSION_LEN]);
/* Set those options in @o that the passive side takes from the message. */
void decode_options(const uint8_t *msg, size_t len, struct options *o);
void encode_header(uint8_t buf[HDR_LEN], const struct header *h);
void decode_header(const uint8_t buf[HDR_LEN], struct header *h);
void fill_pattern(uint8_t *payload, size_t len);

/* ---- control.c ---- */

int control_connect(struct options *o);
int control_accept(struct options *o);
void control_send(int fd, const void *buf, size_t len);
void control_recv(int fd, void *buf, size_t len);

/* ---- child.c, take.c, check.c ---- */

struct peer {
	struct sockaddr_in addr;
	uint32_t tx_seq, rx_seq;
	uint32_t outstanding;	/* own requests without ack */
	uint32_t owed;		/* requests of the peer not yet acked */
	uint16_t req_slot;	/* of the next request sent */
	uint16_t ack_slot;	/* of the next ack sent */
	uint16_t exp_req_slot;	/* of the next request received */
	uint16_t exp_ack_slot;	/* of the next ack received */
	bool congested;
	uint64_t *sent_us;	/* time of each request, by slot */
	struct rdma_slot *rdma;	/* by slot, see rdma.h; NULL without RDMA */
	bool write_next;	/* MODE_BOTH: ROP_WRITE is next, not ROP_READ */
	bool first_only;	/* classic peer: fills only the first element */
	bool filled;		/* the peer filled all elements of a vector */
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
	struct rds_iovec *iov;	/* one for each element of a vector */
	unsigned int nr_keys;
	uint32_t pid;
	bool requests;		/* this side sends requests */
	bool want_pollout;
	bool retry_soon;
	/* the last attempt to send failed with EAGAIN */
	bool full;
};

/* Each counter has one writer, so no atomic read-modify-write is needed. */
static inline void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter,
			      atomic_load_explicit(counter,
						   memory_order_relaxed) +
				      n,
			      memory_order_relaxed);
}

/* The slot after @slot; slot 0 follows the last of t->o->depth slots. */
static inline uint16_t next_slot(const struct task *t, uint16_t slot)
{
	return slot + 1u >= t->o->depth ? 0 : slot + 1;
}

/* RDS socket bound to this side's address. A failure ends the program. */
int bound_socket(const struct options *o, uint16_t port);
/*
 * Run task @id until the process is killed. One byte is written to @ready_fd
 * when the task can receive.
 */
void run_child(const struct options *o, struct shared *shared, unsigned int id,
	       pid_t parent, int ready_fd) __attribute__((noreturn));
/*
 * Process the datagram of @len bytes in t->in. @key came with the datagram as a
 * control message; 0: none did.
 */
void take_message(struct task *t, const struct sockaddr_in *from, size_t len,
		  uint64_t key);
/*
 * Check the datagram in t->in and decode its header into @h. Returns its peer,
 * or NULL for a duplicate; a mismatch ends the child.
 */
struct peer *check_message(struct task *t, const struct sockaddr_in *from,
			   size_t len, struct header *h);

/* ---- soak.c ---- */

struct soaker;
struct soaker *soak_start(void);
void soak_stop(struct soaker *s);
/* CPU use since the last call in percent; -1 if @s is NULL. */
double soak_usage(struct soaker *s);

/* ---- report.c ---- */

struct report;
struct report *report_new(const struct options *o, const struct shared *shared,
			  struct soaker *s);
void report_params(const struct options *o);
void report_discard(struct report *r);
void report_header(struct report *r);
void report_line(struct report *r);
void report_summary(struct report *r);

#endif
