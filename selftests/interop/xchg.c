// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The exchange of rds-xchg: one thread, one poll loop, both directions. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "xchg.h"

static void open_stream(struct xchg *x, unsigned int i)
{
	struct stream *s = &x->s[i];
	struct opts *o = &x->o;
	int one = 1;

	s->port = o->port + i;
	addr_set_port(&o->self, s->port);
	s->fd = rds_open(SOCK_NONBLOCK);
	if (setsockopt(s->fd, SOL_RDS, RDS_CONG_MONITOR, &one, sizeof(one)))
		die("RDS_CONG_MONITOR: %s", strerror(errno));
	if (o->sndbuf &&
	    setsockopt(s->fd, SOL_SOCKET, SO_SNDBUFFORCE, &o->sndbuf, 4))
		die("SO_SNDBUFFORCE: %s", strerror(errno));
	if (o->rcvbuf &&
	    setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &o->rcvbuf, 4))
		die("SO_RCVBUFFORCE: %s", strerror(errno));
	if (bind(s->fd, &o->self.sa, addr_len(&o->self)))
		die("bind: %s", strerror(errno));
	plan_init(&s->tx.plan, o, !o->ctl_listen, i);
	plan_init(&s->rx.plan, o, o->ctl_listen, i);
	s->tx.buf = malloc(MAX_MSG);
	if (!s->tx.buf)
		die("out of memory");
	s->rx.stall_at = o->slow_rounds ? 1 : UINT64_MAX;
}

static void reset_work(struct xchg *x)
{
	uint64_t now = now_ns();

	if (!x->my_turn || now < x->reset_at)
		return;
	if (x->o.breaker ? !break_one(x) :
			   !diag_reset_one(&x->o, &x->reset_rng)) {
		if (now > x->reset_by)
			die("reset %u: %s", x->reset_no,
			    x->o.breaker ?
				    "a stream gets nothing more" :
				    "no connection with unacknowledged data");
		return;
	}
	x->my_turn = false;
	x->resets_here++;
	if (++x->reset_no < x->o.resets) {
		ctl_say(x, "TOKEN %u", x->reset_no);
		return;
	}
	x->resets_done = true;
	ctl_say(x, "RESETSDONE %u", x->reset_no);
}

static int wait_ms(const struct xchg *x)
{
	uint64_t now = now_ns();
	int ms = 200;

	if (x->my_turn) {
		uint64_t left = x->reset_at > now ? (x->reset_at - now) / MS :
						    0;

		if (left < (uint64_t)ms)
			ms = left + 1;
	}
	return ms;
}

static bool can_send(const struct txs *t)
{
	return !t->done && !t->full && !t->congested && !t->tail;
}

static void poll_once(struct xchg *x)
{
	struct pollfd p[MAX_STREAMS + 2];
	int timeout = wait_ms(x);
	unsigned int i, n = x->o.streams;

	for (i = 0; i < n; i++) {
		struct stream *s = &x->s[i];

		p[i] = (struct pollfd){ .fd = s->fd };
		if (!s->rx.stalled)
			p[i].events |= POLLIN;
		if (s->tx.full)
			p[i].events |= POLLOUT;
		if (can_send(&s->tx))
			timeout = 0;
	}
	p[n] = (struct pollfd){ .fd = x->ctl, .events = POLLIN };
	p[n + 1] = (struct pollfd){ .fd = x->brk.fd, .events = POLLIN };
	if (poll(p, n + 2, timeout) < 0 && errno != EINTR)
		die("poll: %s", strerror(errno));
	for (i = 0; i < n; i++) {
		if (p[i].revents & POLLOUT)
			x->s[i].tx.full = false;
		if (p[i].revents & ~(POLLIN | POLLOUT))
			die("poll reports %#x", p[i].revents);
	}
	if (p[n].revents && !ctl_lines(x, on_line) && !x->peer_fin) {
		report_state(x);
		die("the other end vanished");
	}
}

static bool all_done(const struct xchg *x)
{
	unsigned int i;

	for (i = 0; i < x->o.streams; i++)
		if (!x->s[i].tx.done || !x->s[i].rx.done)
			return false;
	return true;
}

static void check_time(struct xchg *x)
{
	uint64_t now = now_ns();

	if (now - x->progress_ns <= x->o.stuck * 1000 * MS &&
	    now - x->start_ns <= x->o.timeout * 1000 * MS)
		return;
	report_state(x);
	die("%s: %s", x->o.label,
	    now - x->progress_ns > x->o.stuck * 1000 * MS ? "no progress" :
							    "out of time");
}

int main(int argc, char **argv)
{
	static struct xchg x;
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	opts_parse(&x.o, argc, argv);
	x.start_ns = now_ns();
	x.reset_rng = mix64(x.o.seed ^ x.start_ns);
	x.rbuf = malloc(MAX_MSG + 1);
	for (i = 0; i < x.o.streams; i++)
		open_stream(&x, i);
	if (x.o.sniff && sniff_start(&x.o))
		die("cannot start the watching thread");
	x.sniffing = x.o.sniff;
	/* The sniffer needs a connection's first byte: reset all of them. */
	if (x.sniffing)
		diag_reset_all(&x.o);
	break_open(&x);
	x.ctl = ctl_open(&x.o);
	hello(&x, NULL);
	x.start_ns = x.progress_ns = now_ns();
	if (x.o.resets && x.o.ctl_listen)
		take_token(&x);
	while (!x.peer_fin || !x.sent_result) {
		for (i = 0; i < x.o.streams; i++) {
			rx_work(&x, i);
			tx_work(&x, i);
		}
		reset_work(&x);
		poll_once(&x);
		if (!x.sent_result && all_done(&x))
			send_results(&x);
		check_time(&x);
	}
	return judge(&x) ? 0 : 1;
}
