// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Process received datagrams. */
#include "rdma.h"

static void got_ack(struct task *t, struct peer *p, const struct header *h)
{
	uint64_t rtt = rt_now_us() - p->sent_us[p->exp_ack_slot];
	unsigned int b = rtt ? 63 - __builtin_clzll(rtt) : 0;

	if (!p->outstanding)
		die("ack without a request\n");
	rdma_answered(t, p, h);
	p->outstanding--;
	p->exp_ack_slot = next_slot(t, p->exp_ack_slot);
	count(&t->stats->rtt_us, rtt);
	count(&t->stats->rtt_count, 1);
	count(&t->stats->bucket[b < NR_BUCKETS ? b : NR_BUCKETS - 1], 1);
	if (rtt > t->o->outliers)
		fprintf(stderr, "Found RTT = 0x%llx\n",
			(unsigned long long)rtt);
}

void take_message(struct task *t, const struct sockaddr_in *from, size_t len,
		  uint64_t key)
{
	struct header h;
	struct peer *p;

	count(&t->stats->bytes_rx, len);
	p = check_message(t, from, len, &h);
	if (!p)
		return;
	p->rx_seq++;
	if (h.op == OP_ACK) {
		got_ack(t, p, &h);
		return;
	}
	if (p->owed >= t->o->depth)
		die("more than %u requests without ack\n", t->o->depth);
	transfer_requested(t, p, &h, key);
	p->owed++;
	p->exp_req_slot = next_slot(t, p->exp_req_slot);
	count(&t->stats->req_rx, 1);
}
