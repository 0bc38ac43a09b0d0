/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdscat: one stream of bytes over RDS messages.
 *
 * RDS keeps messages in order but knows no connection: a socket that is gone
 * swallows what is sent to it. So the two ends agree on a session, the sender
 * keeps everything the receiver has not yet acknowledged (bounded by the
 * window the receiver granted), both ends say that they are alive when they
 * have nothing else to say, and a gap is asked for again.
 *
 *   sender                         receiver
 *   HELLO (timeout)         ->
 *                           <-     WELCOME (timeout, window, message size)
 *   DATA (offset) ...       ->
 *                           <-     ACK (bytes written) [RESEND]
 *   END (length, checksum)  ->
 *                           <-     DONE (length), once the output is closed
 *   BYE                     ->
 *
 * PING and ACK keep a quiet transfer alive; ERROR (text) ends it at any time.
 */
#ifndef RDSCAT_H
#define RDSCAT_H

#include "rdstool.h"

#define RC_MAGIC	0x52445363u	/* "RDSc" */
#define RC_VERSION	1
#define RC_HDR_LEN	32
#define RC_MAX_PAYLOAD	131072u
#define RC_MIN_PAYLOAD	512u
#define RC_WINDOW	(4u << 20)
#define RC_HELLO_US	500000u
#define RC_BLOCKED_MS	100
#define RC_DRAIN_MS	500

enum rc_type {
	RC_HELLO = 1,
	RC_WELCOME,
	RC_DATA,
	RC_ACK,
	RC_END,
	RC_DONE,
	RC_BYE,
	RC_PING,
	RC_ERROR,
};

#define RC_F_RESEND	0x0001	/* ACK: everything from this offset on is missing */
#define RC_F_ENDED	0x0002	/* PING: END was sent before */

/* One message; integers in host order, all of them big endian on the wire. */
struct rc_frame {
	uint8_t version;
	uint8_t type;
	uint16_t flags;
	uint64_t session;
	uint64_t offset;
	uint64_t arg;
	const uint8_t *payload;
	size_t len;
};

void rc_encode(uint8_t hdr[RC_HDR_LEN], const struct rc_frame *f);
/* False when the bytes are no message of this program. */
bool rc_decode(const uint8_t *buf, size_t len, struct rc_frame *f);

/* Checksum of a stream, whatever pieces it comes in. */
struct rc_sum {
	uint64_t h;
	uint64_t total;
	uint64_t part;		/* up to seven bytes that fill no word yet */
};

void rc_sum_init(struct rc_sum *s);
void rc_sum_add(struct rc_sum *s, const uint8_t *p, size_t n);
uint64_t rc_sum_final(const struct rc_sum *s);

/* ---- link.c: the socket and the other end ---- */

enum rc_blocked {
	RC_FREE,
	RC_FULL,		/* own queue full: POLLOUT tells */
	RC_CONGESTED,		/* the other end's: a control message tells */
};

struct rc_link {
	int fd;
	union rt_addr self;
	union rt_addr peer;
	uint64_t session;
	unsigned int snd, rcv;	/* effective buffers */
	enum rc_blocked blocked;
	bool deaf;		/* messages have to wait in the kernel */
	uint64_t last_tx, last_rx;
	uint64_t timeout_us;
	uint64_t alive_us;	/* longest silence the other end shall see */
	uint8_t *buf;
};

/* @transport is a value of SO_RDS_TRANSPORT, or RDS_TRANS_NONE. Returns 0, or -1 after a complaint. */
int rc_link_open(struct rc_link *l, const union rt_addr *self, int transport);
/* 1 sent, 0 must wait (see blocked), -1 failed with errno. */
int rc_link_send(struct rc_link *l, const struct rc_frame *f);
/* The same, to somebody who is not the peer of this session. */
int rc_link_send_to(struct rc_link *l, const union rt_addr *to, const struct rc_frame *f);
/* 1 message in @f and @from, 0 nothing there, -1 failed with errno. */
int rc_link_recv(struct rc_link *l, struct rc_frame *f, union rt_addr *from);
/* Takes the other end's timeout into account for the pace of signs of life. */
void rc_link_pace(struct rc_link *l, uint64_t peer_timeout_ms);
/*
 * Sleeps until the socket or @fd (-1: none) is ready, at most @until.
 * @want_send: something is waiting for a blocked socket. Returns revents of @fd.
 */
short rc_link_wait(struct rc_link *l, bool want_send, int fd, short events, uint64_t until);
/* Tells the other end why this one stops, and gives the message a chance to leave. */
void rc_link_abort(struct rc_link *l, const char *why);

/* ---- main.c ---- */

struct rc_options {
	bool listen;
	bool quiet;
	bool verbose;
	bool have_src;
	int transport;
	union rt_addr addr;
	union rt_addr src;
	uint64_t timeout_us;
};

/* Number of the signal that asked for the end, or 0. */
int rc_interrupted(void);
void rc_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Shows how far the transfer is; @size is 0 when the length is not known. */
void rc_progress(uint64_t bytes, uint64_t size, bool last);

/* Exit status of the program. */
int rc_send_stream(const struct rc_options *o);
int rc_receive_stream(const struct rc_options *o);

#endif
