// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Handling of the lines that the other end sends on the control channel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "xchg.h"

void hello(struct xchg *x, char *line)
{
	struct opts *o = &x->o;
	char want[256];
	int lossy;

	snprintf(want, sizeof(want), "%llu %llu %u %u %u %u %u %d",
		 (unsigned long long)o->seed, (unsigned long long)o->count,
		 o->streams, o->min_len, o->max_len, o->resets, o->slow_rounds,
		 o->mix);
	if (!line) {
		ctl_say(x, "HELLO %d %s", o->tx_lossy, want);
		return;
	}
	if (sscanf(line, "HELLO %d", &lossy) != 1 || strlen(line) < 8 ||
	    strcmp(line + 8, want))
		die("the other end was started otherwise: '%s', here '%s'",
		    line, want);
	x->peer_lossy = lossy;
}

void take_token(struct xchg *x)
{
	uint64_t now = now_ns();

	x->my_turn = true;
	x->reset_at = now + (5 + rng_next(&x->reset_rng) % 120) * MS;
	x->reset_by = now + x->o.stuck * 1000 * MS;
}

static void unstall(struct xchg *x, unsigned int i, uint64_t no, bool congested)
{
	struct rxs *r = &x->s[i].rx;

	if (no != r->stall_no || !r->stalled)
		return;
	r->stalled = false;
	x->s[i].tx.congested_since = now_ns();
	if (congested)
		r->stalls_ok++;
	/* Messages that the sender still had under way add to this number. */
	r->stall_at = congested ?
			      r->got + x->o.count /
					       (3 * (x->o.slow_rounds + 1)) :
			      UINT64_MAX;
}

static void on_stall(struct xchg *x, unsigned int i, uint64_t no)
{
	struct txs *t = &x->s[i].tx;

	if (t->done)
		ctl_say(x, "NOMORE %u %llu", i, (unsigned long long)no);
	else if (t->congested)
		ctl_say(x, "ENOBUFS %u %llu", i, (unsigned long long)no);
	else
		t->stall_req = no;
}

static void on_result(struct xchg *x, const char *line)
{
	unsigned long long got, missing, dup, reorder, bad, hash, bytes;
	unsigned int i;

	if (sscanf(line, "RESULT %u %llu %llu %llu %llu %llu %llx %llu", &i,
		   &got, &missing, &dup, &reorder, &bad, &hash, &bytes) != 8 ||
	    i >= x->o.streams)
		die("bad line from the other end: %s", line);
	x->v[i] = (struct verdict){ .got = got, .missing = missing, .dup = dup,
				    .reorder = reorder, .bad = bad, .hash = hash,
				    .bytes = bytes, .known = true };
}

static void on_missing(struct xchg *x, unsigned int i, uint64_t from,
		       uint64_t to)
{
	static unsigned int shown;
	uint64_t idx;

	if (shown++ < 20)
		printf("# stream %u: numbers %llu to %llu are missing at the other end\n",
		       i, (unsigned long long)from, (unsigned long long)to - 1);
	for (idx = from; x->o.sniff && idx < to; idx++)
		x->v[i].unacked_missing += !sniff_acked(i, idx);
}

static void on_stream_line(struct xchg *x, const char *verb, unsigned int i,
			   uint64_t a, const char *line)
{
	struct stream *s = &x->s[i];
	unsigned long long from, to;

	if (!strcmp(verb, "DONE")) {
		s->rx.total = a;
		s->rx.total_known = true;
	} else if (!strcmp(verb, "TAIL")) {
		s->rx.tail = true;
		s->rx.tail_start = a;
	} else if (!strcmp(verb, "SEEN")) {
		tx_finish(x, i, a);
	} else if (!strcmp(verb, "STALL")) {
		on_stall(x, i, a);
	} else if (!strcmp(verb, "ENOBUFS")) {
		unstall(x, i, a, true);
	} else if (!strcmp(verb, "NOMORE")) {
		unstall(x, i, a, false);
	} else if (sscanf(line, "MISS %u %llu %llu", &i, &from, &to) == 3) {
		on_missing(x, i, from, to);
	} else {
		die("bad line from the other end: %s", line);
	}
}

void on_line(struct xchg *x, char *line)
{
	unsigned long long a = 0;
	unsigned int i = 0;
	char verb[16];

	x->progress_ns = now_ns();
	if (!strncmp(line, "HELLO ", 6)) {
		hello(x, line);
	} else if (!strcmp(line, "ABANDON")) {
		printf("# %s: given up by the other end\n", x->o.label);
		exit(EXIT_ABANDONED);
	} else if (!strcmp(line, "FIN")) {
		x->peer_fin = true;
	} else if (sscanf(line, "TOKEN %u", &x->reset_no) == 1) {
		take_token(x);
	} else if (sscanf(line, "RESETSDONE %u", &x->reset_no) == 1) {
		x->resets_done = true;
	} else if (!strncmp(line, "RESULT ", 7)) {
		if (x->sniffing)
			sniff_stop();
		x->sniffing = false;
		on_result(x, line);
	} else if (sscanf(line, "%15s %u %llu", verb, &i, &a) == 3 &&
		   i < x->o.streams) {
		on_stream_line(x, verb, i, a, line);
	} else {
		die("bad line from the other end: %s", line);
	}
}
