// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The receiver of rdscat. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "rdscat.h"

struct receiver {
	struct rc_link l;
	char peer[RT_ADDRSTRLEN];
	bool busy;		/* there is a session */
	bool closed;		/* data written and checked, output closed */
	bool finished;
	bool failed;

	/* Answers that are still to be sent to the sender. */
	bool owe_welcome, owe_ack, owe_resend, owe_done;
	uint64_t nak_at;	/* offset of last resend request, plus one */

	struct rc_output out;
	const uint8_t *pending;	/* unwritten rest of a message */
	size_t pending_len;

	uint64_t written;
	uint64_t acked;
	struct rc_sum sum;
};

static void __attribute__((format(printf, 3, 4)))
fail(struct receiver *r, const char *tell, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rc_complain("%s", text);
	r->failed = true;
	if (tell && r->busy)
		rc_link_abort(&r->l, tell);
}

static void write_failed(struct receiver *r, const char *what)
{
	char text[128];

	snprintf(text, sizeof(text), "the receiver cannot %s its output: %s",
		 what, strerror(errno));
	fail(r, text, "%s the output: %s", what, strerror(errno));
}

/* Write as much of the pending data as the output accepts without blocking. */
static void write_some(struct receiver *r)
{
	ssize_t n = rc_output_write(&r->out, r->pending, r->pending_len);

	if (n < 0) {
		write_failed(r, "write");
		return;
	}
	r->pending += n;
	r->pending_len -= n;
	r->written += n;
}

static void take_hello(struct receiver *r, const struct rc_frame *f,
		       const union rt_addr *from)
{
	static const char text[] = "the receiver is busy with another transfer";
	struct rc_frame no = {
		.type = RC_ERROR,
		.session = f->session,
		.payload = (const uint8_t *)text,
		.len = sizeof(text) - 1,
	};

	if (!r->busy) {
		r->busy = true;
		r->l.peer = *from;
		r->l.session = f->session;
		rt_addr_str(from, r->peer, sizeof(r->peer));
		rc_link_pace(&r->l, f->arg);
		rc_progress(0, 0, false);
	} else if (r->l.session != f->session ||
		   !rt_same_addr(from, &r->l.peer)) {
		rc_link_send_to(&r->l, from, &no);
		return;
	}
	r->l.last_rx = rt_now_us();
	r->owe_welcome = true;
}

/*
 * Answer a message that is not of the present session: there is none yet, or
 * the message is meant for an earlier receiver on this port.
 */
static void take_stray(struct receiver *r, const struct rc_frame *f,
		       const union rt_addr *from)
{
	static const char text[] =
		"the receiver does not know this transfer (was it started anew?)";
	struct rc_frame no = {
		.type = RC_ERROR,
		.session = f->session,
		.payload = (const uint8_t *)text,
		.len = sizeof(text) - 1,
	};

	if (f->type == RC_DATA || f->type == RC_PING || f->type == RC_END)
		rc_link_send_to(&r->l, from, &no);
}

/*
 * Request a resend if data before @offset are missing: as RDS keeps the order,
 * missing data do not arrive later. With @always, request it again for the same
 * offset. Returns true if data are missing.
 */
static bool gap(struct receiver *r, uint64_t offset, bool always)
{
	if (offset <= r->written)
		return false;
	if (always || r->nak_at != r->written + 1)
		r->owe_resend = true;
	r->nak_at = r->written + 1;
	return true;
}

static void take_data(struct receiver *r, const struct rc_frame *f)
{
	if (f->offset != r->written) {
		if (!gap(r, f->offset, false))
			r->owe_ack = true;
		return;
	}
	r->pending = f->payload;
	r->pending_len = f->len;
	rc_sum_add(&r->sum, f->payload, f->len);
	write_some(r);
}

static void take_end(struct receiver *r, const struct rc_frame *f)
{
	if (gap(r, f->offset, true))
		return;
	if (!r->closed &&
	    (f->offset != r->written || f->arg != rc_sum_final(&r->sum))) {
		fail(r, "the receiver found a wrong checksum",
		     "the data from %s are damaged: wrong length or checksum", r->peer);
		return;
	}
	/* A write error may be reported by close() only. */
	if (!r->closed && rc_output_close(&r->out)) {
		write_failed(r, "close");
		return;
	}
	r->closed = true;
	r->owe_done = true;
}

static void take_ping(struct receiver *r, const struct rc_frame *f)
{
	if (r->closed) {
		r->owe_done = true;
		return;
	}
	r->owe_ack = true;
	if (!gap(r, f->offset, true) && f->flags & RC_F_ENDED)
		r->owe_resend = true;
}

static void take(struct receiver *r, const struct rc_frame *f,
		 const union rt_addr *from)
{
	static const char version[] =
		"the receiver speaks another version of the protocol";
	char text[RC_TEXT_LEN];

	if (f->version != RC_VERSION) {
		struct rc_frame no = {
			.type = RC_ERROR,
			.session = f->session,
			.payload = (const uint8_t *)version,
			.len = sizeof(version) - 1,
		};

		if (f->type == RC_HELLO)
			rc_link_send_to(&r->l, from, &no);
		return;
	}
	if (f->type == RC_HELLO) {
		take_hello(r, f, from);
		return;
	}
	if (!r->busy || f->session != r->l.session ||
	    !rt_same_addr(from, &r->l.peer)) {
		take_stray(r, f, from);
		return;
	}
	r->l.last_rx = rt_now_us();
	if (f->type == RC_DATA && !r->closed)
		take_data(r, f);
	else if (f->type == RC_END)
		take_end(r, f);
	else if (f->type == RC_PING)
		take_ping(r, f);
	else if (f->type == RC_BYE && r->closed)
		r->finished = true;
	else if (f->type == RC_ERROR)
		fail(r, NULL, "%s: %s", r->peer, rc_error_text(f, text));
}

static int post(struct receiver *r, uint8_t type, uint16_t flags,
		uint64_t offset, uint64_t arg)
{
	struct rc_frame f = {
		.type = type, .flags = flags, .offset = offset, .arg = arg
	};
	int rc = rc_link_send(&r->l, &f);

	if (rc < 0)
		fail(r, NULL, "sending to %s: %s", r->peer, strerror(errno));
	return rc;
}

static void acknowledge(struct receiver *r)
{
	/* The sender can resend from the beginning of a message only. */
	bool again = r->owe_resend && !r->pending_len;

	if (post(r, RC_ACK, again ? RC_F_RESEND : 0, r->written, 0) <= 0)
		return;
	r->owe_ack = false;
	if (again)
		r->owe_resend = false;
	r->acked = r->written;
}

/* Send the answers that are due. An answer that cannot be sent stays due. */
static void settle(struct receiver *r)
{
	uint64_t grant = (uint64_t)(r->l.rcv < RC_WINDOW ? r->l.rcv : RC_WINDOW)
				 << 32 |
			 RC_MAX_PAYLOAD;

	if (!r->busy || r->failed)
		return;
	if (!r->closed && rt_now_us() >= r->l.last_tx + r->l.alive_us)
		r->owe_ack = true;
	if (r->owe_welcome &&
	    post(r, RC_WELCOME, 0, r->l.timeout_us / 1000, grant) > 0)
		r->owe_welcome = false;
	if (r->owe_done && post(r, RC_DONE, 0, r->written, 0) > 0)
		r->owe_done = false;
	if (!r->closed && (r->owe_ack || r->owe_resend))
		acknowledge(r);
}

static bool owing(const struct receiver *r)
{
	return r->owe_welcome || r->owe_done ||
	       (!r->closed && (r->owe_ack || r->owe_resend));
}

static void receive(struct receiver *r)
{
	union rt_addr from;
	struct rc_frame f;
	int rc = 1;

	while (!r->failed && !r->finished && !r->pending_len) {
		rc = rc_link_recv(&r->l, &f, &from);
		if (rc <= 0)
			break;
		take(r, &f, &from);
		/* Acknowledge before the sender's window is used up. */
		if (r->written - r->acked >= r->l.rcv / 4) {
			r->owe_ack = true;
			settle(r);
		}
	}
	if (rc < 0)
		fail(r, "receive error", "receiving: %s", strerror(errno));
	if (r->written != r->acked)
		r->owe_ack = true;
}

static void check_silence(struct receiver *r)
{
	uint64_t now = rt_now_us();

	/* While the output blocks, nothing is received: that is no silence. */
	if (r->pending_len)
		r->l.last_rx = now;
	if (!r->busy || r->failed || r->finished ||
	    now < r->l.last_rx + r->l.timeout_us)
		return;
	if (r->closed) {
		rc_complain("all data are complete, but %s did not confirm the end",
			    r->peer);
		r->finished = true;
		return;
	}
	fail(r, "the receiver heard nothing for too long",
	     "%s vanished: nothing heard for %.1f s, %llu bytes were received", r->peer,
	     r->l.timeout_us / 1e6, (unsigned long long)r->written);
}

static uint64_t deadline(const struct receiver *r)
{
	uint64_t now = rt_now_us(), alive = r->l.last_tx + r->l.alive_us;
	uint64_t silent = r->l.last_rx + r->l.timeout_us;

	if (!r->busy)
		return now + 60000000;
	if (alive <= now || r->closed)
		alive = now + RC_BLOCKED_MS * 1000;
	return alive < silent ? alive : silent;
}

int rc_receive_stream(const struct rc_options *o)
{
	struct receiver r = { 0 };

	if (rc_link_open(&r.l, &o->addr, o->transport))
		return 1;
	r.l.timeout_us = o->timeout_us;
	rc_link_pace(&r.l, 0);
	rc_sum_init(&r.sum);
	rc_output_open(&r.out);
	while (!r.failed && !r.finished && !rc_interrupted()) {
		short ready;

		r.l.deaf = r.pending_len;
		ready = rc_link_wait(&r.l, owing(&r),
				     r.pending_len ? r.out.fd : -1, POLLOUT,
				     deadline(&r));

		if (r.l.blocked == RC_CONGESTED)
			r.l.blocked = RC_FREE;
		if (ready)
			write_some(&r);
		receive(&r);
		settle(&r);
		check_silence(&r);
		rc_progress(r.written, 0, false);
	}
	if (r.failed)
		return 1;
	if (!r.finished) {
		if (r.busy && !r.closed)
			rc_link_abort(&r.l, "the receiver was interrupted");
		rc_complain("interrupted");
		return 128 + rc_interrupted();
	}
	rc_progress(r.written, 0, true);
	return 0;
}
