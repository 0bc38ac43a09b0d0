// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The sending half of rds-xchg. */
#include <errno.h>
#include <stdlib.h>

#include "xchg.h"

#define TX_BURST	32
#define TAIL_EVERY	(200 * MS)
/* A congested sender tries again after this long without a wake-up. */
#define WAKEUP_LIMIT	(3000 * MS)
/*
 * If such a try succeeds, the map's bit is clear, and the notification of the
 * socket must follow within this time; otherwise the wake-up counts as lost.
 */
#define TELL_LIMIT	(1000 * MS)
#define ABANDON_AFTER	(8000 * MS)

void tx_finish(struct xchg *x, unsigned int i, uint64_t total)
{
	struct txs *t = &x->s[i].tx;

	t->done = true;
	t->total = total;
	ctl_say(x, "DONE %u %llu %llx", i, (unsigned long long)total,
		(unsigned long long)t->hash);
	if (t->stall_req)
		ctl_say(x, "NOMORE %u %llu", i,
			(unsigned long long)t->stall_req);
	t->stall_req = 0;
}

/*
 * End the stream if its main part is sent. In a direction that may lose
 * messages, begin the tail: send more, until a message of the tail arrives.
 */
static void tx_check_end(struct xchg *x, unsigned int i)
{
	struct txs *t = &x->s[i].tx;

	if (t->done || t->tail || t->next < x->o.count ||
	    (x->o.resets && !x->resets_done))
		return;
	if (!x->o.tx_lossy) {
		tx_finish(x, i, t->next);
		return;
	}
	t->tail = true;
	t->tail_start = t->next;
	ctl_say(x, "TAIL %u %llu", i, (unsigned long long)t->next);
}

static void on_enobufs(struct xchg *x, unsigned int i)
{
	struct txs *t = &x->s[i].tx;

	if (!t->congested)
		t->enobufs++;
	t->congested = true;
	t->congested_since = now_ns();
	if (t->stall_req)
		ctl_say(x, "ENOBUFS %u %llu", i,
			(unsigned long long)t->stall_req);
	t->stall_req = 0;
}

static void build_next(struct xchg *x, unsigned int i)
{
	struct txs *t = &x->s[i].tx;
	uint64_t now = now_ns();

	if (!t->built) {
		t->len = plan_len(&t->plan, t->next);
		t->built_hash = msg_build(t->buf, &t->plan, i, t->next, t->len,
					  now);
		t->built = true;
	}
	if (t->len >= XHDR_LEN)
		memcpy(t->buf + offsetof(struct xhdr, sent_ns), &now,
		       sizeof(now));
}

/* Send one message; false if the stream cannot send now. */
static bool tx_one(struct xchg *x, unsigned int i)
{
	struct stream *s = &x->s[i];
	struct txs *t = &s->tx;
	ssize_t n;

	build_next(x, i);
	addr_set_port(&x->o.peer, s->port);
	n = sendto(s->fd, t->buf, t->len, MSG_DONTWAIT, &x->o.peer.sa,
		   addr_len(&x->o.peer));
	if (n == (ssize_t)t->len) {
		t->built = false;
		t->hash = mix64(t->hash ^ t->next ^ t->built_hash);
		t->next++;
		t->bytes += n;
		x->progress_ns = now_ns();
		return true;
	}
	if (n >= 0)
		die("send of %u bytes returned %zd", t->len, n);
	if (errno == EAGAIN) {
		t->eagain++;
		t->full = true;
	} else if (errno == ENOBUFS) {
		on_enobufs(x, i);
	} else if (errno != EINTR) {
		die("send: %s", strerror(errno));
	}
	return false;
}

static bool wakeup_overdue(const struct stream *s, uint64_t now)
{
	return s->tx.congested && !s->rx.stalled &&
	       now - s->tx.congested_since > WAKEUP_LIMIT;
}

/*
 * In-tree sometimes leaves a bit set in its map although the socket's queue was
 * emptied: setting the bit overtook clearing it. Such a port never becomes
 * clear again.
 */
static void abandon(struct xchg *x, unsigned int i)
{
	report_state(x);
	printf("# %s stream %u: the peer's last map on the wire says congested, its reader waits\n",
	       x->o.label, i);
	ctl_say(x, "ABANDON");
	exit(EXIT_ABANDONED);
}

void tx_work(struct xchg *x, unsigned int i)
{
	struct stream *s = &x->s[i];
	struct txs *t = &s->tx;
	uint64_t now = now_ns();
	unsigned int n;

	if (t->suspect_at && now - t->suspect_at > TELL_LIMIT) {
		t->lost_wakeups++;
		t->suspect_at = 0;
	}
	tx_check_end(x, i);
	if (t->done || t->full)
		return;
	if (t->congested) {
		if (x->o.abandon && now - x->progress_ns > ABANDON_AFTER &&
		    !s->rx.stalled && sniff_map_congested(s->port))
			abandon(x, i);
		if (!wakeup_overdue(s, now))
			return;
		t->congested_since = now;
		if (tx_one(x, i)) {
			t->suspect_at = now;
			t->congested = false;
		}
		return;
	}
	if (t->tail) {
		if (now >= t->tail_at && tx_one(x, i))
			t->tail_at = now + TAIL_EVERY;
		return;
	}
	for (n = 0; n < TX_BURST; n++) {
		if (!tx_one(x, i))
			return;
		tx_check_end(x, i);
		if (t->done || t->tail)
			return;
	}
}
