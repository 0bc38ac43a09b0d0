// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sender of rdscat. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rdscat.h"

struct chunk {
	uint64_t offset;
	size_t len;
};

/*
 * Chunks are numbered from 0; chunk n is in slot n % slots. Chunks from head to
 * next were sent and may have to be resent; chunks from next to tail are not
 * yet sent.
 */
struct sender {
	struct rc_link l;
	const struct rc_options *o;
	char peer[RT_ADDRSTRLEN];
	bool welcome;
	bool finished;
	bool end_sent;
	bool failed;

	struct chunk *chunk;
	uint8_t *data;
	size_t payload;
	uint64_t slots;
	uint64_t head, next, tail;

	uint64_t total;		/* bytes read */
	uint64_t sent;		/* end of the last byte ever sent */
	uint64_t acked;
	uint64_t size;		/* of the input if it is a file */
	bool eof;
	bool regular;
	struct rc_sum sum;
};

static void __attribute__((format(printf, 3, 4)))
fail(struct sender *s, const char *tell, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rc_complain("%s", text);
	s->failed = true;
	if (tell)
		rc_link_abort(&s->l, tell);
}

static uint64_t position(const struct sender *s)
{
	return s->next == s->tail ? s->total :
				    s->chunk[s->next % s->slots].offset;
}

static int post(struct sender *s, uint8_t type, uint16_t flags, uint64_t offset,
		uint64_t arg)
{
	struct rc_frame f = {
		.type = type, .flags = flags, .offset = offset, .arg = arg
	};
	int rc = rc_link_send(&s->l, &f);

	if (rc < 0)
		fail(s, NULL, "sending to %s: %s", s->peer, strerror(errno));
	return rc;
}

static void take_welcome(struct sender *s, const struct rc_frame *f)
{
	size_t window = f->arg >> 32, largest = f->arg & 0xffffffff;
	size_t msg = RC_HDR_LEN + RC_MAX_PAYLOAD;

	if (s->welcome)
		return;
	if (msg > s->l.snd)
		msg = s->l.snd;
	if (msg > window / 3)
		msg = window / 3;
	s->payload = msg > 4096 + RC_HDR_LEN ? (msg - RC_HDR_LEN) & ~4095u :
					       RC_MIN_PAYLOAD;
	if (s->payload > largest)
		s->payload = largest;
	if (window > RC_WINDOW)
		window = RC_WINDOW;
	s->slots = window / (s->payload + RC_HDR_LEN);
	if (!s->slots)
		s->slots = 1;
	s->data = malloc(s->slots * s->payload);
	s->chunk = calloc(s->slots, sizeof(*s->chunk));
	if (!s->payload || !s->data || !s->chunk) {
		fail(s, "out of memory", "out of memory");
		return;
	}
	s->welcome = true;
	rc_link_pace(&s->l, f->offset);
}

static void take_ack(struct sender *s, const struct rc_frame *f)
{
	if (!s->welcome || f->offset < s->acked)
		return;
	if (f->offset > s->sent) {
		fail(s, "bad acknowledgement",
		     "%s acknowledges what was never sent", s->peer);
		return;
	}
	s->acked = f->offset;
	while (s->head < s->tail) {
		const struct chunk *c = &s->chunk[s->head % s->slots];

		if (c->offset + c->len > s->acked)
			break;
		s->head++;
	}
	/* An earlier resend request may have set next back below head. */
	if (s->next < s->head)
		s->next = s->head;
	if (!(f->flags & RC_F_RESEND))
		return;
	if (s->head < s->tail &&
	    s->chunk[s->head % s->slots].offset != s->acked) {
		fail(s, "bad acknowledgement",
		     "%s asks for an offset inside a message", s->peer);
		return;
	}
	s->next = s->head;
	s->end_sent = false;
}

static void take(struct sender *s, const struct rc_frame *f)
{
	char text[RC_TEXT_LEN];

	switch (f->type) {
	case RC_WELCOME:
		take_welcome(s, f);
		break;
	case RC_ACK:
		take_ack(s, f);
		break;
	case RC_DONE:
		if (s->end_sent && f->offset == s->total)
			s->finished = true;
		break;
	case RC_ERROR:
		fail(s, NULL, "%s: %s", s->peer, rc_error_text(f, text));
		break;
	}
}

static void receive(struct sender *s)
{
	union rt_addr from;
	struct rc_frame f;
	int rc = 0;

	while (!s->failed && !s->finished &&
	       (rc = rc_link_recv(&s->l, &f, &from)) > 0) {
		if (f.session != s->l.session ||
		    !rt_same_addr(&from, &s->l.peer))
			continue;
		s->l.last_rx = rt_now_us();
		take(s, &f);
	}
	if (rc < 0)
		fail(s, "receive error", "receiving: %s", strerror(errno));
}

static bool room(const struct sender *s)
{
	return s->welcome && !s->eof && s->tail - s->head < s->slots;
}

static void read_chunk(struct sender *s)
{
	struct chunk *c = &s->chunk[s->tail % s->slots];
	uint8_t *p = s->data + s->tail % s->slots * s->payload;
	ssize_t n = read(STDIN_FILENO, p, s->payload);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0) {
		fail(s, "the sender cannot read its input",
		     "reading the input: %s", strerror(errno));
		return;
	}
	if (!n) {
		s->eof = true;
		return;
	}
	c->offset = s->total;
	c->len = n;
	s->total += n;
	s->tail++;
	rc_sum_add(&s->sum, p, n);
}

static void transmit(struct sender *s)
{
	while (!s->failed && s->next < s->tail && s->l.blocked == RC_FREE) {
		const struct chunk *c = &s->chunk[s->next % s->slots];
		struct rc_frame f = {
			.type = RC_DATA,
			.offset = c->offset,
			.payload = s->data + s->next % s->slots * s->payload,
			.len = c->len,
		};
		int rc = rc_link_send(&s->l, &f);

		if (rc < 0)
			fail(s, NULL, "sending to %s: %s", s->peer,
			     strerror(errno));
		if (rc <= 0)
			continue;
		s->next++;
		if (s->sent < c->offset + c->len)
			s->sent = c->offset + c->len;
	}
	if (!s->failed && s->eof && s->next == s->tail && !s->end_sent &&
	    s->l.blocked == RC_FREE)
		s->end_sent = post(s, RC_END, 0, s->total,
				   rc_sum_final(&s->sum)) > 0;
}

/* Repeat HELLO until a receiver answers; afterwards send PING as keepalive. */
static void keep_alive(struct sender *s, uint64_t now)
{
	uint64_t pause = s->welcome ? s->l.alive_us : RC_HELLO_US;

	if (s->failed || now < s->l.last_tx + pause)
		return;
	if (!s->welcome)
		post(s, RC_HELLO, 0, 0, s->l.timeout_us / 1000);
	else
		post(s, RC_PING, s->end_sent ? RC_F_ENDED : 0, position(s), 0);
}

static uint64_t deadline(const struct sender *s)
{
	uint64_t alive = s->l.last_tx +
			 (s->welcome ? s->l.alive_us : RC_HELLO_US);
	uint64_t silent = s->l.last_rx + s->l.timeout_us;
	uint64_t now = rt_now_us();

	/* A file is always readable. A blocked keepalive is repeated soon. */
	if (s->regular && room(s))
		return 0;
	if (alive <= now)
		alive = now + RC_BLOCKED_MS * 1000;
	return alive < silent ? alive : silent;
}

static void check_silence(struct sender *s, uint64_t now)
{
	if (s->failed || s->finished || now < s->l.last_rx + s->l.timeout_us)
		return;
	if (!s->welcome)
		fail(s, NULL,
		     "no answer from %s for %.1f s (is rdscat -l running there?)",
		     s->peer, s->l.timeout_us / 1e6);
	else
		fail(s, "the sender heard nothing for too long",
		     "%s stopped answering: nothing heard for %.1f s, %llu bytes were acknowledged",
		     s->peer, s->l.timeout_us / 1e6,
		     (unsigned long long)s->acked);
}

static void stream(struct sender *s)
{
	short ready = s->regular ? POLLIN : 0;

	while (!s->failed && !s->finished && !rc_interrupted()) {
		if (room(s) && ready)
			read_chunk(s);
		if (s->welcome)
			transmit(s);
		keep_alive(s, rt_now_us());
		ready = rc_link_wait(&s->l,
				     s->welcome &&
					     (s->next < s->tail || s->eof),
				     room(s) && !s->regular ? STDIN_FILENO : -1,
				     POLLIN, s->failed ? 0 : deadline(s));
		if (s->regular)
			ready = POLLIN;
		if (s->l.blocked == RC_CONGESTED)
			s->l.blocked = RC_FREE;
		receive(s);
		check_silence(s, rt_now_us());
		if (s->welcome)
			rc_progress(s->acked, s->size, false);
	}
}

static int start(struct sender *s)
{
	union rt_addr self = s->o->src;
	char text[RT_ADDRSTRLEN];
	struct stat st;

	if (!s->o->have_src && rt_source_for(&s->o->addr, &self)) {
		rc_complain("no route to %s: %s",
			    rt_host_str(&s->o->addr, text, sizeof(text)),
			    strerror(errno));
		return -1;
	}
	if (rc_link_open(&s->l, &self, s->o->transport))
		return -1;
	if (getrandom(&s->l.session, sizeof(s->l.session), 0) !=
	    sizeof(s->l.session)) {
		rc_complain("no random numbers: %s", strerror(errno));
		return -1;
	}
	s->l.peer = s->o->addr;
	s->l.timeout_us = s->o->timeout_us;
	rt_addr_str(&s->l.peer, s->peer, sizeof(s->peer));
	rc_link_pace(&s->l, 0);
	rc_sum_init(&s->sum);
	if (!fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode)) {
		s->regular = true;
		s->size = st.st_size;
	}
	s->l.last_rx = rt_now_us();
	return 0;
}

/* Returns the exit status of the program. */
static int run(struct sender *s)
{
	if (start(s))
		return 1;
	stream(s);
	if (!s->failed && !s->finished) {
		rc_link_abort(&s->l, "the sender was interrupted");
		rc_complain("interrupted");
		return 128 + rc_interrupted();
	}
	if (s->failed)
		return 1;
	rc_progress(s->total, s->size, true);
	/* The receiver waits for BYE, which an immediate close() may cancel. */
	post(s, RC_BYE, 0, s->total, 0);
	rt_drain(s->l.fd, &s->l.self, RC_DRAIN_MS);
	return s->failed ? 1 : 0;
}

int rc_send_stream(const struct rc_options *o)
{
	struct sender s = { .o = o };
	int status = run(&s);

	free(s.chunk);
	free(s.data);
	return status;
}
