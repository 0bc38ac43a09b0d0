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
 * @single: the peer offered one receive, which messages use as well
 * @send: frames that this end may still send
 * @posted: receives posted here that the peer has not been told of
 */
struct rds_rdma_credit {
	bool	on;
	bool	single;
	u32	send;
	u32	posted;
};

/*
 * Take a credit for a frame that only acknowledges, and that a peer handles
 * also while it waits for a reader (defer.c).  The last credit is for a frame
 * that grants credits (@posted is not 0), so that two ends cannot starve each
 * other.
 */
static inline bool rds_rdma_credit_take_last(struct rds_rdma_credit *c)
{
	if (!c->on)
		return true;
	if (c->send <= !c->posted)
		return false;
	c->send--;
	return true;
}

/* Whether rds_rdma_credit_take() would give a credit. */
static inline bool rds_rdma_credit_some(const struct rds_rdma_credit *c)
{
	return !c->on || c->send > (c->single ? !c->posted : 1);
}

/*
 * Take a credit for a frame with a message, which may wait at the peer: the
 * last credit is not for such frames.
 */
static inline bool rds_rdma_credit_take(struct rds_rdma_credit *c)
{
	bool some = rds_rdma_credit_some(c);

	if (some && c->on)
		c->send--;
	return some;
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
