// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The bound of what a peer makes sockets hold, see peerbound.h. */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sizes.h>

#include <net/rds/wire.h>
#include "msg/rxpeer.h"
#include "netns.h"
#include "sock/peerbound.h"

/* Room above the bound for the last message of each path, with its memory */
#define PEER_LAST	(RDS_MAX_PATHS * (RDS_MAX_MSG_SIZE + SZ_64K))

/* Is less than a quarter of the bound free? */
static bool peer_is_near(const struct rds_rx_peer *peer, u64 bound)
{
	return rds_rx_peer_held(peer) > bound - bound / 4;
}

/* Jiffies wrap, so `late` keeps that the time of grace has ended. */
static bool peer_in_grace(struct rds_rx_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	if (!time_before(jiffies, peer->grace))
		peer->late = true;
	return !peer->late;
}

/*
 * Another time of grace can begin once enough is free.  Nobody looks when a
 * message is read; so each one that comes makes this look.
 */
static bool peer_is_over(struct rds_rx_peer *peer, u64 bound)
{
	lockdep_assert_held(&peer->lock);
	if (peer->over && !peer_is_near(peer, bound))
		WRITE_ONCE(peer->over, false);
	return peer->over;
}

/*
 * A message exceeds the bound.  The first one is queued, unless there is no
 * grace, and in the time of grace each path of the peer may bring one.
 */
static enum rds_queued peer_exceeds(struct rds_rx_peer *peer,
				    const struct rds_net *rn, u64 bound,
				    u64 held)
{
	bool first = !peer_is_over(peer, bound);

	lockdep_assert_held(&peer->lock);
	if (first) {
		WRITE_ONCE(peer->over, true);
		peer->late = false;
		peer->grace = jiffies +
			READ_ONCE(rn->sysctl.recv_queue_grace);
	}
	if (peer_in_grace(peer) &&
	    (first || held <= bound + max_t(u64, bound / 4, PEER_LAST)))
		return RDS_QUEUED_HOLD;
	return RDS_QUEUED_FULL_PEER;
}

enum rds_queued rds_peer_judge(struct rds_rx_peer *peer,
			       const struct rds_net *rn, u32 truesize)
{
	u64 bound = READ_ONCE(rn->sysctl.recv_peer_max);
	enum rds_queued queued = RDS_QUEUED;
	u64 held = rds_rx_peer_held(peer) + truesize;

	if (likely(held <= bound && !READ_ONCE(peer->over)))
		return RDS_QUEUED;
	spin_lock(&peer->lock);
	if (held > bound)
		queued = peer_exceeds(peer, rn, bound, held);
	else
		peer_is_over(peer, bound);
	spin_unlock(&peer->lock);
	return queued;
}

bool rds_peer_holds(struct rds_rx_peer *peer, const struct rds_net *rn)
{
	u64 bound = READ_ONCE(rn->sysctl.recv_peer_max);
	bool holds;

	spin_lock_bh(&peer->lock);
	holds = peer_is_over(peer, bound) && peer_in_grace(peer);
	spin_unlock_bh(&peer->lock);
	return holds;
}
