/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flow control by credits (protocol.rst 4.9): arithmetic only, no locks, no
 * kernel.  One credit is one receive that the peer has posted and announced.
 * The caller holds rds_rdma_conn.tx_lock.
 */
#ifndef _RDS_RDMA_CREDIT_H
#define _RDS_RDMA_CREDIT_H

#include <linux/types.h>

/* most credits that one header can grant */
#define RDS_RDMA_CREDIT_FRAME	255

/**
 * struct rds_rdma_credit - credits of one connection
 * @on: both ends offered credits, and frames need them
 * @send: frames that this end may still send
 * @posted: receives posted here that the peer has not been told of
 */
struct rds_rdma_credit {
	bool	on;
	u32	send;
	u32	posted;
};

/*
 * Take credits for up to @want frames.  The last credit is taken only for a
 * frame that can grant credits (@posted is not 0), so that two ends cannot
 * starve each other.  Returns how many.
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

/* Whether rds_rdma_credit_take() would give a credit. */
static inline bool rds_rdma_credit_some(const struct rds_rdma_credit *c)
{
	return !c->on || c->send > !c->posted;
}

/* Whether the next header has credits to grant. */
static inline bool rds_rdma_credit_news(const struct rds_rdma_credit *c)
{
	return c->on && c->posted;
}

/* Credits for the next header to grant; they count as told to the peer. */
static inline u8 rds_rdma_credit_grant(struct rds_rdma_credit *c)
{
	u32 n = c->posted < RDS_RDMA_CREDIT_FRAME ? c->posted :
						    RDS_RDMA_CREDIT_FRAME;

	if (!c->on)
		return 0;
	c->posted -= n;
	return n;
}

/*
 * Whether credits must be granted by a frame of their own, where @ring receives
 * are posted.  They are due when half of @ring is new: the peer may have used
 * up the other half, and would wait.  Fewer wait for a frame that is sent
 * anyway.  A peer without credits has been told of none of them, so credits are
 * due then as well.
 */
static inline bool rds_rdma_credit_due(const struct rds_rdma_credit *c,
				       u32 ring)
{
	return c->on && c->posted && c->posted >= ring / 2;
}

#endif
