/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdscat: one stream of bytes over RDS messages.
 *
 * RDS keeps messages in order but has no connection between sockets: messages
 * to a closed socket are dropped without a report. So the two ends agree on a
 * session; the sender keeps all data that the receiver has not acknowledged, at
 * most the window that the receiver granted; both ends send keepalives while
 * they have nothing else to send; and the receiver requests missing data again.
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
 * PING and ACK are the keepalives of sender and receiver; ERROR (text) ends the
 * transfer at any time.
 *
 * With --stream the two ends have a stream socket instead, see stream.c, and
 * none of these messages.
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

#define RC_F_RESEND	0x0001	/* ACK: resend all data from this offset on */
#define RC_F_ENDED	0x0002	/* PING: END was sent before */

/* One message. Integers are in host order here, and big endian on the wire. */
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
/* Returns false if the bytes are no message of rdscat. */
bool rc_decode(const uint8_t *buf, size_t len, struct rc_frame *f);

/* Bytes of rc_error_text() with the final NUL */
#define RC_TEXT_LEN	257

/*
 * Copy the text of ERROR message @f into @text, with a question mark for every
 * byte that is not printable ASCII: the peer must not control the terminal.
 * Returns @text.
 */
const char *rc_error_text(const struct rc_frame *f, char text[RC_TEXT_LEN]);

/* Checksum of a stream; how the stream is cut into pieces does not matter. */
struct rc_sum {
	uint64_t h;
	uint64_t total;
	uint64_t part;		/* up to seven bytes of an incomplete word */
};

void rc_sum_init(struct rc_sum *s);
void rc_sum_add(struct rc_sum *s, const uint8_t *p, size_t n);
uint64_t rc_sum_final(const struct rc_sum *s);

/* ---- link.c: the socket and the other end ---- */

enum rc_blocked {
	RC_FREE,
	RC_FULL,		/* own send buffer full until POLLOUT */
	RC_CONGESTED,		/* destination congested until a notice */
};

struct rc_link {
	int fd;
	union rt_addr self;
	union rt_addr peer;
	uint64_t session;
	unsigned int snd, rcv;	/* effective buffer sizes in bytes */
	enum rc_blocked blocked;
	bool deaf;		/* do not poll for received messages */
	uint64_t last_tx, last_rx;
	uint64_t timeout_us;
	uint64_t alive_us;	/* interval of keepalives */
	uint8_t *buf;
};

/*
 * Open a socket bound to @self. @transport is a value of SO_RDS_TRANSPORT, or
 * RDS_TRANS_NONE. Returns 0, or prints an error message and returns -1.
 */
int rc_link_open(struct rc_link *l, const union rt_addr *self, int transport);
/*
 * Send @f to the peer of the session. Returns 1 if sent, 0 if the send must be
 * repeated later (@l->blocked says why), -1 with errno on failure.
 */
int rc_link_send(struct rc_link *l, const struct rc_frame *f);
/* Send @f to an address that may be no peer; returns as rc_link_send(). */
int rc_link_send_to(struct rc_link *l, const union rt_addr *to,
		    const struct rc_frame *f);
/*
 * Receive one message into @f and its sender into @from. Returns 1 if received,
 * 0 if there is no message, -1 with errno on failure.
 */
int rc_link_recv(struct rc_link *l, struct rc_frame *f, union rt_addr *from);
/* Set @l->alive_us from the smaller of the two ends' timeouts (0: unknown). */
void rc_link_pace(struct rc_link *l, uint64_t peer_timeout_ms);
/*
 * Sleep until the socket or @fd (-1: none) is ready, at most until time @until.
 * @want_send: there is a message to send once the socket is not blocked.
 * Returns revents of @fd.
 */
short rc_link_wait(struct rc_link *l, bool want_send, int fd, short events,
		   uint64_t until);
/* Send ERROR with text @why; wait at most 2 * RC_DRAIN_MS for its delivery. */
void rc_link_abort(struct rc_link *l, const char *why);

/* ---- out.c: standard output ---- */

struct rc_output {
	int fd;
	bool regular;		/* a file or a block device */
	bool nonblock;
};

void rc_output_open(struct rc_output *o);
/*
 * Write what the output accepts without blocking. Returns the number of bytes,
 * or -1 with errno.
 */
ssize_t rc_output_write(const struct rc_output *o, const uint8_t *p,
			size_t len);
/* Returns 0, or -1 with errno: a write error may be reported here only. */
int rc_output_close(const struct rc_output *o);

/* ---- args.c ---- */

struct rc_options {
	bool listen;
	bool stream;		/* a stream socket in place of messages */
	bool quiet;
	bool verbose;
	bool have_src;
	int transport;
	union rt_addr addr;
	union rt_addr src;
	uint64_t timeout_us;
};

/* Fill in all of @o. Invalid arguments end the program with status 2. */
void rc_parse_args(struct rc_options *o, int argc, char **argv);

/* ---- main.c ---- */

/* Number of the signal that interrupted the program, or 0. */
int rc_interrupted(void);
void rc_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Show the progress of the transfer. @size is 0 if the length is not known. */
void rc_progress(uint64_t bytes, uint64_t size, bool last);

/* Both return the exit status of the program. */
int rc_send_stream(const struct rc_options *o);
int rc_receive_stream(const struct rc_options *o);

/* ---- stream.c ---- */

/*
 * Copy standard input to the peer of a stream socket, and what the peer sends
 * to standard output. Returns the exit status of the program.
 */
int rc_stream(const struct rc_options *o);

#endif
