// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections that the peer opened and that wait until their path is free.
 *
 * Path 0 also has those of a peer that is not known yet.  Once it is known, the
 * control worker of path 0 gives each to the path that its port tells.  Those
 * of a blind peer (conn/session.h) go to any path that is free, and to one
 * after the other while none is.
 */
#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/pace.h"
#include "conn/path.h"
#include "netns.h"
#include "peers.h"
#include <net/rds/access.h>

/*
 * Time for which connections that may be further paths of the peer wait until
 * the peer is known
 */
#define SORT_TIME	(HZ / 2)
/*
 * Time for the peer to acknowledge the probe while another of its connections
 * is parked
 */
#define PROBE_TIME	(3 * HZ)
/*
 * A dial of this end that is older does not make it refuse a connection of the
 * peer.
 */
#define CROSS_TIME	HZ

bool rds_parked_add(struct rds_cpath *cp, const struct rds_parked *parked)
{
	lockdep_assert_held(&cp->lock);
	if (cp->nr_incoming == RDS_PATH_MAX_INCOMING)
		return false;
	if (!cp->nr_incoming)
		WRITE_ONCE(cp->parked, jiffies);
	cp->incoming[cp->nr_incoming++] = *parked;
	return true;
}

static struct rds_parked parked_take(struct rds_cpath *cp, unsigned int i)
{
	struct rds_parked taken = cp->incoming[i];
	unsigned int behind = --cp->nr_incoming - i;

	lockdep_assert_held(&cp->lock);
	memmove(&cp->incoming[i], &cp->incoming[i + 1],
		behind * sizeof(cp->incoming[0]));
	return taken;
}

static bool parked_any(const struct rds_cpath *cp, unsigned int i)
{
	return true;
}

/* Take the oldest parked connection that fits; @i is its place in the line. */
static bool parked_find(struct rds_cpath *cp,
			bool (*fits)(const struct rds_cpath *cp,
				     unsigned int i),
			struct rds_parked *next)
{
	bool found = false;
	unsigned int i;

	lockdep_assert_held(&cp->lock);
	for (i = 0; i < cp->nr_incoming && !found; i++) {
		found = fits(cp, i);
		if (found)
			*next = parked_take(cp, i);
	}
	return found;
}

static bool parked_next(struct rds_cpath *cp,
			bool (*fits)(const struct rds_cpath *cp,
				     unsigned int i),
			struct rds_parked *next)
{
	bool found;

	spin_lock_bh(&cp->lock);
	found = parked_find(cp, fits, next);
	spin_unlock_bh(&cp->lock);
	return found;
}

void rds_parked_refuse(struct rds_cpath *cp, const struct rds_parked *parked)
{
	cp->pub.trans->refuse(cp->pub.net, parked->handle);
}

void rds_parked_drop(struct rds_cpath *cp)
{
	struct rds_parked next;

	while (parked_next(cp, parked_any, &next))
		rds_parked_refuse(cp, &next);
}

/*
 * Is the peer still unknown, so that the connection may be a further path of
 * it?  If path 0 is up the peer has the time to answer there.
 */
static bool parked_early(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->conn;

	if (cp->pub.index || conn->lanes.max == 1 ||
	    READ_ONCE(conn->session.met))
		return false;
	if (rds_cpath_state(cp) == RDS_PATH_UP)
		return time_before(jiffies, READ_ONCE(cp->up_since) +
						    RDS_PATH_ANSWER_TIME);
	return time_before(jiffies, READ_ONCE(cp->parked) + SORT_TIME);
}

/*
 * A peer that this host does not know may open all its paths at once, and the
 * kind of the peer comes over path 0: let the others wait for that.
 */
static bool parked_fits(const struct rds_cpath *cp, unsigned int i)
{
	return !(cp->incoming[i].port % RDS_MAX_PATHS) || !parked_early(cp);
}

static bool parked_elsewhere(const struct rds_cpath *cp, unsigned int i)
{
	return rds_conn_index_of(cp->conn, cp->incoming[i].port) !=
	       cp->pub.index;
}

/* Of a path that has no connection the oldest one stays, and the rest goes. */
static bool parked_behind(const struct rds_cpath *cp, unsigned int i)
{
	return i || cp->state == RDS_PATH_UP;
}

bool rds_parked_claim(struct rds_cpath *cp, struct rds_parked *next)
{
	bool found;

	lockdep_assert_held(&cp->ctl);
	spin_lock_bh(&cp->lock);
	found = parked_find(cp, parked_fits, next);
	if (found) {
		WRITE_ONCE(cp->attaching, true);
		cp->route = next->route;
	}
	spin_unlock_bh(&cp->lock);
	return found;
}

bool rds_parked_may_attach(const struct rds_cpath *cp)
{
	lockdep_assert_held(&cp->ctl);
	return rds_access_peer(cp->pub.net, cp->pub.addr) &&
	       rds_access_peer(cp->pub.net, &cp->route);
}

bool rds_cpath_allowed(struct rds_cpath *cp)
{
	struct rds_path_addr route = *cp->pub.addr;
	const struct rds_net *rn = cp->conn->rn;

	spin_lock_bh(&cp->lock);
	if (READ_ONCE(cp->attaching))
		route = cp->route;
	spin_unlock_bh(&cp->lock);
	return rds_peers_judge(rn, cp->pub.addr) == RDS_DROP_NONE &&
	       rds_peers_judge(rn, &route) == RDS_DROP_NONE;
}

bool rds_cpath_is_free(struct rds_cpath *cp)
{
	bool is_free;

	spin_lock_bh(&cp->lock);
	is_free = !cp->nr_incoming && cp->state != RDS_PATH_UP &&
		  cp->state != RDS_PATH_DEAD &&
		  (!READ_ONCE(cp->attaching) || cp->state == RDS_PATH_CLOSING);
	spin_unlock_bh(&cp->lock);
	return is_free;
}

/* Take a connection of another path; of a blind peer any can be another's. */
static bool parked_misplaced(struct rds_cpath *cp, struct rds_parked *next)
{
	const struct rds_session *session = &cp->conn->session;
	unsigned int index;

	if (rds_session_is_blind(session))
		return rds_lanes_first_free(cp->conn, &index) &&
		       parked_next(cp, parked_behind, next);
	return !cp->pub.index && rds_session_paths(session) &&
	       parked_next(cp, parked_elsewhere, next);
}

/* Give connections of other paths to these, once the peer is known. */
static void parked_sort(struct rds_cpath *cp)
{
	struct rds_parked next;

	lockdep_assert_held(&cp->ctl);
	while (parked_misplaced(cp, &next)) {
		if (rds_conn_offer(cp->conn, &next) != RDS_OFFER_TAKEN)
			rds_parked_refuse(cp, &next);
	}
}

bool rds_parked_any(struct rds_cpath *cp)
{
	bool early, fits = false;
	unsigned int i;

	if (!READ_ONCE(cp->nr_incoming))
		return false;
	parked_sort(cp);
	spin_lock_bh(&cp->lock);
	for (i = 0; i < cp->nr_incoming && !fits; i++)
		fits = parked_fits(cp, i);
	early = cp->nr_incoming && !fits;
	spin_unlock_bh(&cp->lock);
	if (early)
		rds_cpath_control(cp, SORT_TIME);
	return fits;
}

/* The present connection is alive: the parked one does not belong here. */
static void parked_leave(struct rds_cpath *cp, const struct rds_parked *parked)
{
	if (rds_conn_pass_on(cp, parked) == RDS_OFFER_TAKEN)
		return;
	rds_drop(cp->pub.net, RDS_DROP_PEER_PARKED);
	rds_parked_refuse(cp, parked);
}

/*
 * The state is UP and the peer has opened another connection.  Either the peer
 * has forgotten the present one, or another process connects in its name.  A
 * map sent now makes the peer's TCP acknowledge or reset, and only an
 * acknowledgement of this map proves that the present connection is alive.  The
 * parked connection may hold messages that TCP has acknowledged, so it is
 * refused only with that proof; that of a blind peer, which may have lost
 * another path, only when there is the proof of all paths.  Returns the time
 * until the next look, in jiffies, 0 for none.
 */
unsigned long rds_parked_judge(struct rds_cpath *cp)
{
	struct rds_parked next;

	lockdep_assert_held(&cp->ctl);
	if (!cp->probing) {
		cp->probe_until = jiffies + PROBE_TIME;
		/*
		 * First: a sender may transmit the probe, and the peer
		 * acknowledge it, before this goes on.
		 */
		WRITE_ONCE(cp->probing, true);
		rds_txq_probe(&cp->txq);
		rds_cpath_kick(cp);
	} else if (rds_txq_probe_acked(&cp->txq)) {
		WRITE_ONCE(cp->probing, false);
		if (parked_next(cp, parked_fits, &next))
			parked_leave(cp, &next);
		rds_cpath_control(cp, 0);
		return 0;
	} else if (time_after_eq(jiffies, cp->probe_until)) {
		rds_path_lost(&cp->pub, RDS_DROP_PEER_REPLACED);
		return 0;
	}
	return max(1L, (long)(cp->probe_until - jiffies));
}

/*
 * The peer knocks: it has no connection to this host, although the state may be
 * UP.
 */
static void parked_knocked(struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_UP) {
		rds_cpath_want(cp);
		rds_pace_hope(cp);
	} else if (rds_txq_nudge(&cp->txq)) {
		rds_cpath_kick(cp);
	}
}

/*
 * Do both ends dial at once, and does this end's dial win?  The larger address
 * wins, where the transport has that rule, unless its dial was probably lost,
 * for instance while the peer's interface was down: then it is old, or the
 * peer, which was refused once, calls again.  It may be up already when the
 * peer's dial arrives, which the peer has given up for it.
 * @cp->lock keeps the state as the connection of the peer found it.
 */
static bool parked_crosses(const struct rds_cpath *cp)
{
	const struct rds_path_addr *addr = cp->pub.addr;

	lockdep_assert_held(&cp->lock);
	return cp->pub.trans->caps & RDS_CAP_LARGER_WINS &&
	       (cp->state == RDS_PATH_CONNECTING ||
		cp->state == RDS_PATH_UP) && !cp->attaching &&
	       !READ_ONCE(cp->crossed) &&
	       time_before(jiffies, READ_ONCE(cp->dialled) + CROSS_TIME) &&
	       memcmp(&addr->laddr, &addr->faddr, sizeof(addr->laddr)) > 0;
}

bool rds_cpath_incoming(struct rds_cpath *cp, const struct rds_parked *parked)
{
	bool taken = false, crossed;

	if (cp->pub.dials && cp->pub.trans->caps & RDS_CAP_SMALLER_DIALS) {
		parked_knocked(cp);
		return false;
	}
	spin_lock_bh(&cp->lock);
	crossed = parked_crosses(cp);
	if (crossed)
		WRITE_ONCE(cp->crossed, true);
	if (!crossed && !rds_cpath_is_gone(cp))
		taken = rds_parked_add(cp, parked);
	spin_unlock_bh(&cp->lock);
	if (crossed)
		rds_drop(cp->pub.net, RDS_DROP_CROSSED);
	if (taken)
		rds_cpath_control(cp, 0);
	return taken;
}
