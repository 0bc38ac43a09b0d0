/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receive side of a path.
 *
 * One context at a time hands in the messages of a path (include/net/rds/rx.h), and it alone
 * changes the state here, so there is no lock.  Readers of `expected` may see it change.
 */
#ifndef _RDS_RECV_RXQ_H
#define _RDS_RECV_RXQ_H

#include <linux/types.h>

#include <net/rds/rx.h>

struct rds_cong_map;
struct rds_handshake;
struct rds_net;
struct rds_path;

/* What the owner of the path does about messages that are addressed to the kernel */
struct rds_rxq_ops {
	/* Answer a ping from @sport (host order).  Softirq. */
	void (*ping)(struct rds_path *path, u16 sport);
	/* The peer's handshake, a ping if @answer.  Softirq. */
	void (*handshake)(struct rds_path *path, const struct rds_handshake *hs, bool answer);
};

/**
 * struct rds_rxq - receive state of one path
 * @path: whose
 * @rn: namespace
 * @fmap: congestion map of the peer
 * @ops: for probes
 * @heard: something arrived over the present connection
 * @expected: number of the next message, 0 before the first; kept over reconnects
 */
struct rds_rxq {
	struct rds_path			*path;
	struct rds_net			*rn;
	struct rds_cong_map		*fmap;
	const struct rds_rxq_ops	*ops;
	bool				heard;
	u64				expected;
};

static inline void rds_rxq_init(struct rds_rxq *rxq, struct rds_path *path, struct rds_net *rn,
				struct rds_cong_map *fmap, const struct rds_rxq_ops *ops)
{
	rxq->path = path;
	rxq->rn = rn;
	rxq->fmap = fmap;
	rxq->ops = ops;
	rxq->heard = false;
	rxq->expected = 0;
}

#endif
