// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Credits of a stream.  Kernel-free: the unit test has it in user space. */
#include "flow.h"

void rds_ss_flow_init(struct rds_ss_flow *f, u16 rq)
{
	memset(f, 0, sizeof(*f));
	f->rq = rq;
}

void rds_ss_flow_open(struct rds_ss_flow *f, u16 credits, bool careful)
{
	f->limit = credits;
	f->peer_rq = credits;
	/*
	 * A peer announces credits when half of its queue is free again, so
	 * this end must be able to use more than half of them.
	 */
	if (careful)
		f->slack = rds_ss_min(RDS_SS_TX_SLACK, (credits - 1) / 2);
}

void rds_ss_flow_used(struct rds_ss_flow *f)
{
	f->used++;
}

/*
 * Data stay where the peer has written them, and the receive is posted again,
 * so a message counts as taken when it comes.  A reader that is slow holds up
 * the peer by the memory for data, not by credits.
 */
bool rds_ss_flow_take(struct rds_ss_flow *f)
{
	if ((u16)(f->taken - f->told) >= f->rq)
		return false;
	f->taken++;
	return true;
}

bool rds_ss_flow_raise(struct rds_ss_flow *f, u16 limit)
{
	u16 left = f->limit - f->sent;
	u16 now = limit - f->sent;

	if (now < left || now > f->peer_rq)
		return false;
	f->limit = limit;
	return true;
}

/*
 * Fewer than RDS_SS_RX_BATCH receives are used up when a limit is announced,
 * and the rest of RDS_SS_RX_EXTRA is more than the messages without credit that
 * the peer may have under way: what an announcement gives away is posted.
 */
u16 rds_ss_flow_refill(struct rds_ss_flow *f)
{
	u16 n = f->used;

	if (!rds_ss_flow_wants_refill(f))
		return 0;
	f->used = 0;
	return n;
}

u16 rds_ss_flow_tell(struct rds_ss_flow *f)
{
	f->told = f->taken;
	return f->told + f->rq;
}
