// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The results of an exchange, and the judgement whether they are allowed. */
#include <stdio.h>
#include <stdlib.h>

#include "xchg.h"

#define MAX_RANGES	20000

typedef unsigned long long ull;

void report_state(const struct xchg *x)
{
	unsigned int i;

	for (i = 0; i < x->o.streams; i++) {
		const struct txs *t = &x->s[i].tx;
		const struct rxs *r = &x->s[i].rx;

		printf("# %s stream %u: sent %llu%s%s%s%s, EAGAIN %llu, ENOBUFS %llu; received %llu up to index %llu%s%s, dup %llu, reordered %llu, bad %llu; resets %u\n",
		       x->o.label, i, (ull)t->next, t->done ? " done" : "",
		       t->full ? " full" : "", t->congested ? " congested" : "",
		       t->tail ? " tail" : "", (ull)t->eagain, (ull)t->enobufs,
		       (ull)r->got, (ull)r->high, r->stalled ? " stalled" : "",
		       r->done ? " done" : "", (ull)r->dup, (ull)r->reorder,
		       (ull)r->bad, x->reset_no);
	}
}

static void send_missing(struct xchg *x, unsigned int i)
{
	const struct rxs *r = &x->s[i].rx;
	unsigned int ranges = 0;
	uint64_t at = 0;

	while (at < r->total && ranges++ < MAX_RANGES) {
		uint64_t from;

		while (at < r->total && bits_test(&r->seen, at))
			at++;
		from = at;
		while (at < r->total && !bits_test(&r->seen, at))
			at++;
		if (at > from)
			ctl_say(x, "MISS %u %llu %llu", i, (ull)from, (ull)at);
	}
}

void send_results(struct xchg *x)
{
	unsigned int i;

	for (i = 0; i < x->o.streams; i++) {
		const struct rxs *r = &x->s[i].rx;
		uint64_t idx, missing = 0;

		for (idx = 0; idx < r->total; idx++)
			missing += !bits_test(&r->seen, idx);
		ctl_say(x, "RESULT %u %llu %llu %llu %llu %llu %llx %llu", i,
			(ull)r->got, (ull)missing, (ull)r->dup, (ull)r->reorder,
			(ull)r->bad, (ull)r->hash, (ull)r->bytes);
		send_missing(x, i);
	}
	ctl_say(x, "FIN");
	x->sent_result = true;
}

static bool judge_tx(struct xchg *x, unsigned int i)
{
	const struct txs *t = &x->s[i].tx;
	const struct verdict *v = &x->v[i];
	bool ok = v->known && !v->dup && !v->reorder && !v->bad;

	printf("# %s stream %u sent %llu messages, %llu bytes: missing %llu",
	       x->o.label, i, (ull)t->total, (ull)t->bytes, (ull)v->missing);
	if (x->o.tx_lossy && x->o.sniff)
		printf(" (of them not acknowledged by the peer's TCP: %llu)",
		       (ull)v->unacked_missing);
	printf(", doubled %llu, reordered %llu, damaged %llu; hash %016llx/%016llx; EAGAIN %llu ENOBUFS %llu, wake-ups lost %llu\n",
	       (ull)v->dup, (ull)v->reorder, (ull)v->bad, (ull)t->hash,
	       (ull)v->hash, (ull)t->eagain, (ull)t->enobufs,
	       (ull)t->lost_wakeups);
	if (x->o.tx_lossy)
		ok = ok && (!x->o.sniff || !v->unacked_missing);
	else
		ok = ok && !v->missing && v->hash == t->hash;
	if (t->lost_wakeups && !x->o.tolerate_lost_wakeup)
		ok = false;
	return ok;
}

static bool judge_rx(struct xchg *x, unsigned int i)
{
	const struct rxs *r = &x->s[i].rx;
	bool ok = !r->dup && !r->reorder && !r->bad;
	uint64_t idx, missing = 0, whole = 0, taken = 0;

	for (idx = 0; idx < r->total; idx++) {
		if (bits_test(&r->seen, idx))
			continue;
		missing++;
		whole += x->o.sniff && sniff_whole(i, idx);
		taken += x->o.sniff && sniff_taken(i, idx);
	}
	printf("# %s stream %u received %llu of %llu, missing %llu, doubled %llu, reordered %llu, damaged %llu; longest gap %llu ms",
	       x->o.label, i, (ull)(r->total - missing), (ull)r->total,
	       (ull)missing, (ull)r->dup, (ull)r->reorder, (ull)r->bad,
	       (ull)(r->max_gap / 1000000));
	if (x->o.same_clock)
		printf("; slowest message %llu.%03llu ms (number %llu, %u bytes)",
		       (ull)(r->max_lat / 1000000),
		       (ull)(r->max_lat / 1000 % 1000), (ull)r->max_lat_idx,
		       r->max_lat_len);
	if (x->o.slow_rounds)
		printf("; stalls until ENOBUFS %llu", (ull)r->stalls_ok);
	if (missing && x->o.sniff)
		printf("; of the missing %llu came whole, %llu were acknowledged",
		       (ull)whole, (ull)taken);
	printf("\n");
	if (missing && !x->peer_lossy)
		ok = false;
	/*
	 * This end must deliver each message that its TCP acknowledged.  The
	 * peer may fail to retransmit others, at most one for each reset.
	 */
	if (missing && x->o.sniff &&
	    (taken || !sniff_complete() || missing > x->o.resets))
		ok = false;
	if (r->stalls_ok < x->o.slow_rounds)
		ok = false;
	if (x->o.latency_max_ms && r->max_lat > x->o.latency_max_ms * 1000000)
		ok = false;
	return ok;
}

bool judge(struct xchg *x)
{
	bool ok = true;
	unsigned int i;

	for (i = 0; i < x->o.streams; i++) {
		ok &= judge_tx(x, i);
		ok &= judge_rx(x, i);
	}
	if (x->o.resets) {
		printf("# %s: %u resets, %u of them made here\n", x->o.label,
		       x->reset_no, x->resets_here);
		ok = ok && x->reset_no == x->o.resets;
		break_report(x);
	}
	if (x->o.sniff)
		sniff_report();
	printf("# %s: %s in %llu ms\n", x->o.label, ok ? "good" : "BAD",
	       (ull)((now_ns() - x->start_ns) / 1000000));
	return ok;
}
