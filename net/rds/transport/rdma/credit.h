/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flow control by credits (wire 4.9): arithmetic only, no locks, no kernel.  One credit is one
 * receive the peer has posted and told us of.  The caller holds rds_rdma_conn.tx_lock.
 */
#ifndef _RDS_RDMA_CREDIT_H
#define _RDS_RDMA_CREDIT_H

#include <linux/types.h>

#define RDS_RDMA_CREDIT_FRAME	255	/* most that one header can grant */

/**
 * struct rds_rdma_credit - credits of one connection
 * @on: both ends offered some
 * @send: frames we may still send
 * @posted: receives posted that the peer has not been told of
 */
struct rds_rdma_credit {
	bool	on;
	u32	send;
	u32	posted;
};

/*
 * Take credits for frames: at most @want, and the last one only if the frame can carry credits
 * (something is @posted), so that two ends cannot starve each other.  Returns how many.
 */
static inline u32 rds_rdma_credit_take(struct rds_rdma_credit *c, u32 want)
{
	u32 can = c->send;

	if (!c->on)
		return want;
	if (can && !c->posted)
		can--;
	if (want > can)
		want = can;
	c->send -= want;
	return want;
}

/* Would rds_rdma_credit_take() give any? */
static inline bool rds_rdma_credit_some(const struct rds_rdma_credit *c)
{
	return !c->on || c->send > !c->posted;
}

/* Has the next header anything to grant? */
static inline bool rds_rdma_credit_news(const struct rds_rdma_credit *c)
{
	return c->on && c->posted;
}

/* What the next header grants; the peer is told with it. */
static inline u8 rds_rdma_credit_grant(struct rds_rdma_credit *c)
{
	u32 n = c->posted < RDS_RDMA_CREDIT_FRAME ? c->posted : RDS_RDMA_CREDIT_FRAME;

	if (!c->on)
		return 0;
	c->posted -= n;
	return n;
}

/*
 * Must the peer be told in a frame of its own?  @ring receives are posted now.  It is told when
 * half of them are new: it may have used up the other half, and would wait.  Before that they go
 * with what is sent anyway.  A peer that has no credit left knows of none, so any are due then.
 */
static inline bool rds_rdma_credit_due(const struct rds_rdma_credit *c, u32 ring)
{
	return c->on && c->posted && c->posted >= ring / 2;
}

#endif
