/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer of RDS over RDMA in user space, on libibverbs and librdmacm: it sends
 * what the test requests, right or wrong. One thread, one connection at a time.
 */
#ifndef SELFTESTS_FAKE_H
#define SELFTESTS_FAKE_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rdstest.h"

#define FAKE_PORT	18634
#define FAKE_PORT_ROCE6	16385		/* IPv6 over RoCE */
#define FAKE_FRAG	4096
#define FAKE_RECVS	128
#define FAKE_MAP	8192
#define FAKE_BURST	512		/* most frames of fake_burst() */
#define FAKE_FRAME	(sizeof(struct fake_header) + FAKE_FRAG)

#define FAKE_JOINS	0x8000	/* in fake_private.mask */

#define F_CONG		0x01
#define F_ACK_REQUIRED	0x02
#define F_RETRANSMITTED	0x04

/* protocol.rst 2.1, in network order */
struct fake_header {
	uint64_t seq, ack;
	uint32_t len;
	uint16_t sport, dport;
	uint8_t flags, credit, pad[4];
	uint16_t csum;
	uint8_t ext[16];
} __attribute__((packed));

/*
 * protocol.rst 4.3, the form for IPv6. For IPv4 the addresses are in the last
 * four bytes of their fields, and fake.c sends and receives the form for IPv4.
 */
struct fake_private {
	uint8_t saddr[16], daddr[16];
	uint8_t major, minor;
	uint16_t mask;
	uint8_t tos, reserved[3];
	uint64_t ack_seq;
	uint32_t credit, gen;
} __attribute__((packed));

enum fake_result { FAKE_UP, FAKE_REJECTED, FAKE_ERROR };

struct fake {
	union addr self, peer;		/* with the port of the listener */
	struct rdma_event_channel *ec;
	struct rdma_cm_id *id;
	struct rdma_event_channel *listen_ec;
	struct rdma_cm_id *listener;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *mem;			/* receive frames, send frame, burst */
	bool withholds;			/* grant the peer no credits */
	bool iwarp, credits, gone;
	bool no_reads;			/* announce that READs are refused */
	unsigned int pd_bytes;		/* most private data of a request */
	bool joins;			/* announce joined messages */
	void (*heard)(struct fake *f);	/* for each message, or NULL */
	uint32_t gen;			/* generation, network order; 0: none */
	uint32_t may_send, granted;	/* own credits; credits not granted */
	unsigned int frames;		/* received on this connection */
	unsigned int probes;		/* messages from port 1, ever */
	unsigned int burst;		/* sent so far of fake_burst() */
	uint64_t seq;			/* number of the last message sent */
	uint64_t rx_seq;		/* number of last message received */
	bool sending;
	bool pending;			/* @msg has an unread message */
	struct fake_private reply;	/* private data of reply or request */
	unsigned int reply_len;
	int reject;			/* body of the reject, or INT_MIN */
	uint8_t *msg;			/* assembled message, up to 1 MiB */
	struct fake_header hdr;
	uint32_t have;
	uint64_t acked;			/* highest acknowledged number */
	uint8_t map[FAKE_MAP];		/* last map on this connection */
};

/*
 * Set up @f for the guest's one device. Both addresses are IPv4, or both IPv6.
 */
void fake_init(struct fake *f, const char *self, const char *peer);
bool fake_v6(const struct fake *f);

/* Fill in correct private data. */
void fake_private(const struct fake *f, struct fake_private *pd);

/*
 * Write private data in the form of the family to @wire, which has room for
 * sizeof(*pd) bytes; returns the number of bytes.
 */
uint8_t fake_pd_put(const struct fake *f, const struct fake_private *pd,
		    uint8_t *wire);

/* Store the private data of an event in f->reply. */
void fake_pd_get(struct fake *f, const struct rdma_conn_param *param);

/*
 * Open a connection. The request has the first @f->pd_bytes of the private
 * data @pd; NULL means correct private data.
 */
enum fake_result fake_open(struct fake *f, const struct fake_private *pd);

/*
 * Open a connection with correct private data, and retry until the peer accepts
 * it.
 */
bool fake_connect(struct fake *f, int seconds);
void fake_close(struct fake *f);

/*
 * Start and stop listening for the peer's attempts; attempts wait until they
 * are accepted.
 */
bool fake_listen(struct fake *f);
void fake_unlisten(struct fake *f);

/*
 * Does the peer request a connection within that time? The request stays
 * unanswered until fake_close().
 */
bool fake_request(struct fake *f, double seconds);

/*
 * Accept the peer's next attempt, with private data @pd; NULL: correct data.
 * False if there is no attempt within that time, or it fails.
 */
bool fake_accept(struct fake *f, const struct fake_private *pd, double seconds);

/*
 * Make a header for a new message, with the next number; fake_send() adds the
 * checksum.
 */
struct fake_header fake_header(struct fake *f, uint16_t sport, uint16_t dport,
			       uint32_t len);
uint16_t fake_csum(const struct fake_header *h);

/* How a frame is sent: @how of fake_send() */
#define SEND_RAW_CSUM	1	/* the checksum is the one in the header */
#define SEND_IMM	2	/* with immediate data */
#define SEND_WRITE_IMM	4	/* as an empty WRITE, with immediate data */
#define SEND_NO_CREDIT	8	/* without regard to credits */
#define SEND_TRUNC(n)	((n) << 8)	/* only the first n bytes */

/* Send one frame; false if the connection has ended. */
bool fake_send(struct fake *f, struct fake_header *h, const void *payload,
	       size_t n, int how);

/*
 * Send up to FAKE_BURST empty messages to port @dport, posted at once and
 * without regard to credits. Returns the number that the device has sent when
 * all are sent or the connection has ended.
 */
unsigned int fake_burst(struct fake *f, uint16_t sport, uint16_t dport,
			unsigned int n);

/*
 * Receive until @frames frames have arrived over this connection, or the time
 * is up.
 */
void fake_idle(struct fake *f, unsigned int frames, double seconds);

/* Send a whole message in its frames. */
bool fake_message(struct fake *f, struct fake_header *h, const void *payload);

/*
 * Receive the peer's next complete message into f->msg and f->hdr and
 * acknowledge it; maps and frames that only acknowledge may precede it. False
 * after that time, or when the connection ends.
 */
bool fake_recv(struct fake *f, double seconds);

/*
 * Wait for the peer's next complete message, which stays to be received and is
 * not acknowledged.
 */
bool fake_wait(struct fake *f, double seconds);

/* Has the peer reported its port @port as congested? */
bool fake_congested(const struct fake *f, uint16_t port);

/* Receive until the peer has acknowledged message @seq. */
bool fake_acked(struct fake *f, uint64_t seq, double seconds);

/*
 * Does TCP hold bytes of a connection that was accepted here, which siw has not
 * read? siw_accept() has the socket call siw for new bytes only after it has
 * sent the reply; bytes that come in between stay until more come.
 */
bool fake_unread(const struct fake *f);

/* Does the connection end within that time? */
bool fake_ends(struct fake *f, double seconds);
double fake_now(void);

#endif
