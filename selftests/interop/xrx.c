// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The receiving half of rds-xchg. */
#include <errno.h>

#include "xchg.h"

#define RX_BURST	64

static void rx_latency(struct xchg *x, struct rxs *r, const struct xhdr *h,
		       size_t len)
{
	uint64_t now = now_ns();

	if (r->last_ns && now - r->last_ns > r->max_gap)
		r->max_gap = now - r->last_ns;
	break_heard(x, r->last_ns, now);
	r->last_ns = now;
	x->progress_ns = now;
	if (!x->o.same_clock || !h->sent_ns || now < h->sent_ns)
		return;
	if (now - h->sent_ns > r->max_lat) {
		r->max_lat = now - h->sent_ns;
		r->max_lat_idx = h->index;
		r->max_lat_len = len;
	}
}

static void rx_message(struct xchg *x, unsigned int i, size_t len)
{
	struct rxs *r = &x->s[i].rx;
	struct xhdr h = { 0 };

	if (!msg_parse(x->rbuf, len, &r->plan, i, r->high, &h)) {
		printf("# stream %u: unexpected content, %zu bytes, after number %llu\n",
		       i, len, (unsigned long long)r->high);
		r->bad++;
		return;
	}
	rx_latency(x, r, &h, len);
	if (bits_test(&r->seen, h.index)) {
		printf("# stream %u: number %llu doubled\n", i,
		       (unsigned long long)h.index);
		r->dup++;
		return;
	}
	bits_set(&r->seen, h.index);
	r->got++;
	r->bytes += len;
	r->hash = mix64(r->hash ^ h.index ^ h.hash);
	if (h.index < r->high) {
		printf("# stream %u: number %llu after %llu\n", i,
		       (unsigned long long)h.index,
		       (unsigned long long)r->high - 1);
		r->reorder++;
		return;
	}
	r->high = h.index + 1;
}

static void rx_control(struct xchg *x, unsigned int i, struct msghdr *mh)
{
	struct txs *t = &x->s[i].tx;
	struct cmsghdr *c;
	uint64_t mask;

	for (c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		if (c->cmsg_level != SOL_RDS ||
		    c->cmsg_type != RDS_CMSG_CONG_UPDATE)
			continue;
		memcpy(&mask, CMSG_DATA(c), sizeof(mask));
		if (mask & (1ull << (x->s[i].port % 64))) {
			t->congested = false;
			t->suspect_at = 0;
		}
	}
}

static bool rx_one(struct xchg *x, unsigned int i)
{
	union addr from;
	char control[256];
	struct iovec iov = { x->rbuf, MAX_MSG + 1 };
	struct msghdr mh = { .msg_name = &from,
			     .msg_namelen = sizeof(from),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(x->s[i].fd, &mh, MSG_DONTWAIT);

	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return false;
		die("recv: %s", strerror(errno));
	}
	rx_control(x, i, &mh);
	if (mh.msg_namelen)
		rx_message(x, i, n);
	return true;
}

void rx_work(struct xchg *x, unsigned int i)
{
	struct rxs *r = &x->s[i].rx;
	unsigned int n;

	for (n = 0; n < RX_BURST && !r->stalled; n++) {
		if (!rx_one(x, i))
			break;
		if (r->got >= r->stall_at && r->stalls_ok < x->o.slow_rounds) {
			r->stalled = true;
			r->stall_no++;
			ctl_say(x, "STALL %u %llu", i,
				(unsigned long long)r->stall_no);
		}
	}
	if (r->tail && !r->tail_told && r->high > r->tail_start) {
		r->tail_told = true;
		ctl_say(x, "SEEN %u %llu", i, (unsigned long long)r->high);
	}
	if (r->total_known && r->high >= r->total)
		r->done = true;
}
