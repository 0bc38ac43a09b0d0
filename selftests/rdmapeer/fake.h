/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer of RDS over RDMA in user space, on libibverbs and librdmacm: it says what it is told to
 * say, right or wrong. One thread, one connection at a time.
 */
#ifndef SELFTESTS_FAKE_H
#define SELFTESTS_FAKE_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_PORT	18634
#define FAKE_FRAG	4096
#define FAKE_RECVS	128
#define FAKE_MAP	8192
#define FAKE_FRAME	(sizeof(struct fake_header) + FAKE_FRAG)

#define FAKE_JOINS	0x8000	/* in fake_private.mask */

#define F_CONG		0x01
#define F_ACK_REQUIRED	0x02
#define F_RETRANSMITTED	0x04

/* Wire 2.1, in network order */
struct fake_header {
	uint64_t seq, ack;
	uint32_t len;
	uint16_t sport, dport;
	uint8_t flags, credit, pad[4];
	uint16_t csum;
	uint8_t ext[16];
} __attribute__((packed));

/* Wire 4.3, the form for IPv4 */
struct fake_private {
	uint32_t saddr, daddr;
	uint8_t major, minor;
	uint16_t mask;
	uint8_t tos, reserved[3];
	uint64_t ack_seq;
	uint32_t credit, gen;
} __attribute__((packed));

enum fake_result { FAKE_UP, FAKE_REJECTED, FAKE_ERROR };

struct fake {
	uint32_t self, peer;		/* network order */
	struct rdma_event_channel *ec;
	struct rdma_cm_id *id;
	struct rdma_event_channel *listen_ec;
	struct rdma_cm_id *listener;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *mem;			/* FAKE_RECVS frames for receiving, one for sending */
	bool iwarp, credits, gone;
	bool no_reads;			/* tell the peer that we answer no READ */
	bool joins;			/* tell the peer that we send and take joined messages */
	void (*heard)(struct fake *f);	/* called for each whole message, if set */
	uint32_t gen;			/* generation number we name, network order; 0: none */
	uint32_t may_send, granted;	/* credits we have, and that we have not told of */
	uint64_t seq;			/* of our last message */
	uint64_t rx_seq;		/* of the peer's */
	bool sending;
	bool pending;			/* a whole message is in @msg, not looked at */
	struct fake_private reply;	/* what the peer answered, or asked with */
	unsigned int reply_len;
	int reject;			/* body of its reject, INT_MIN without one */
	uint8_t *msg;			/* message put together, 1 MiB */
	struct fake_header hdr;
	uint32_t have;
	uint64_t acked;			/* highest number the peer acknowledged */
	uint8_t map[FAKE_MAP];		/* the peer's last map of this connection */
};

void fake_init(struct fake *f, const char *self, const char *peer);

/* Private data that are right */
void fake_private(const struct fake *f, struct fake_private *pd);

/* Open a connection with these private data; 0 bytes means none. */
enum fake_result fake_open(struct fake *f, const void *pd, size_t len);

/* The same with right data, again and again until the peer takes it. */
bool fake_connect(struct fake *f, int seconds);
void fake_close(struct fake *f);

/* Be there for the peer's own attempts, or not any more; as long as nobody accepts them they wait. */
bool fake_listen(struct fake *f);
void fake_unlisten(struct fake *f);

/* Has the peer an attempt under way within that time? It stays unanswered until fake_close(). */
bool fake_request(struct fake *f, double seconds);

/*
 * Take the peer's next attempt, and answer it with these private data; NULL: right ones. False if
 * there is none within that time, or it comes to nothing.
 */
bool fake_accept(struct fake *f, const struct fake_private *pd, double seconds);

/* A header for a message of ours, its number the next; the checksum is made by fake_send(). */
struct fake_header fake_header(struct fake *f, uint16_t sport, uint16_t dport, uint32_t len);
uint16_t fake_csum(const struct fake_header *h);

/* How a frame is sent */
#define SEND_RAW_CSUM	1	/* the checksum is as given */
#define SEND_IMM	2	/* with immediate data */
#define SEND_WRITE_IMM	4	/* as an RDMA write with immediate data of no bytes */
#define SEND_NO_CREDIT	8	/* whether we may or not */
#define SEND_TRUNC(n)	((n) << 8)	/* only that many bytes of the frame */

/* One frame; false if the connection is over. */
bool fake_send(struct fake *f, struct fake_header *h, const void *payload, size_t n, int how);

/* A whole message in its frames */
bool fake_message(struct fake *f, struct fake_header *h, const void *payload);

/*
 * The next whole message of the peer into f->msg and f->hdr, acknowledged; maps and
 * frames that only acknowledge may come before it. False after that time, or when the connection ends.
 */
bool fake_recv(struct fake *f, double seconds);

/* Wait for the peer's next whole message; it stays to be received, and is not acknowledged. */
bool fake_wait(struct fake *f, double seconds);

/* Did the peer tell that this port of its is congested? */
bool fake_congested(const struct fake *f, uint16_t port);

/* Take in what comes, until the peer has acknowledged message @seq. */
bool fake_acked(struct fake *f, uint64_t seq, double seconds);

/* Does the connection end within that time? */
bool fake_ends(struct fake *f, double seconds);
double fake_now(void);

#endif
