/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages of one peer at ports that were congested when the messages came.
 *
 * A peer that heeds the maps has few of them, on their way when it was told.
 * One that does not can have any number, at all sockets together;
 * sock/peerbound.h has the bound.
 *
 * Ownership: the connection of the peer has a share in the count, and each
 * message that is counted has one, until it is freed.  Who gives the last share
 * back frees the count.
 *
 * The lock guards `over`, `late` and `grace`; inside rds_sock.rx_lock, nothing
 * of ours inside.
 */
#ifndef _RDS_MSG_RXPEER_H
#define _RDS_MSG_RXPEER_H

#include <linux/atomic.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "msg/incoming.h"

/* The share of the connection: more than the bytes that there can be */
#define RDS_RX_PEER_OWNED	BIT_ULL(62)

/**
 * struct rds_rx_peer - the count of a peer
 * @held: bytes of memory of the messages, and the share of the connection
 * @lock: guards @over, @late and @grace
 * @over: a message came that exceeds the bound, and since then less than a
 *	quarter of the bound was free
 * @late: @grace is over
 * @grace: until then the peer waits, in jiffies
 */
struct rds_rx_peer {
	atomic64_t	held;
	spinlock_t	lock;
	bool		over;
	bool		late;
	unsigned long	grace;
};

/**
 * rds_rx_peer_new - make the count of a peer
 * @gfp: flags to allocate with
 *
 * Return: the count, owned by the connection until rds_rx_peer_put(), or NULL.
 */
static inline struct rds_rx_peer *rds_rx_peer_new(gfp_t gfp)
{
	struct rds_rx_peer *peer = kzalloc(sizeof(*peer), gfp);

	if (!peer)
		return NULL;
	atomic64_set(&peer->held, RDS_RX_PEER_OWNED);
	spin_lock_init(&peer->lock);
	return peer;
}

static inline void rds_rx_peer_give(struct rds_rx_peer *peer, u64 share)
{
	if (!atomic64_sub_return(share, &peer->held))
		kfree(peer);
}

/* The connection goes; @peer may be NULL. */
static inline void rds_rx_peer_put(struct rds_rx_peer *peer)
{
	if (peer)
		rds_rx_peer_give(peer, RDS_RX_PEER_OWNED);
}

/* Bytes that are counted; the caller knows that the connection is there. */
static inline u64 rds_rx_peer_held(const struct rds_rx_peer *peer)
{
	return atomic64_read(&peer->held) - RDS_RX_PEER_OWNED;
}

/* Count a message that is about to be queued; its memory does not change. */
static inline void rds_rx_peer_count(struct rds_rx_peer *peer,
				     struct rds_incoming *inc)
{
	inc->peer = peer;
	atomic64_add(inc->truesize, &peer->held);
}

#endif
