// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections that the peer opened and that wait until their path is free.
 *
 * Path 0 also has those of a peer that is not known yet.  Once it is known, the
 * control worker of path 0 gives each to the path that its port tells.
 */
#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "netns.h"

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

bool rds_parked_add(struct rds_cpath *cp, u16 port, void *handle)
{
	lockdep_assert_held(&cp->lock);
	if (cp->nr_incoming == RDS_PATH_MAX_INCOMING)
		return false;
	if (!cp->nr_incoming)
		WRITE_ONCE(cp->parked, jiffies);
	cp->incoming[cp->nr_incoming] = handle;
	cp->ports[cp->nr_incoming++] = port;
	return true;
}

static struct rds_parked parked_take(struct rds_cpath *cp, unsigned int i)
{
	struct rds_parked taken = { cp->incoming[i], cp->ports[i] };
	unsigned int behind = --cp->nr_incoming - i;

	lockdep_assert_held(&cp->lock);
	memmove(&cp->incoming[i], &cp->incoming[i + 1],
		behind * sizeof(cp->incoming[0]));
	memmove(&cp->ports[i], &cp->ports[i + 1],
		behind * sizeof(cp->ports[0]));
	return taken;
}

static bool parked_any(const struct rds_cpath *cp, u16 port)
{
	return true;
}

/* Take the oldest parked connection with a port that fits. */
static bool parked_next(struct rds_cpath *cp,
			bool (*fits)(const struct rds_cpath *cp, u16 port),
			struct rds_parked *next)
{
	bool found = false;
	unsigned int i;

	spin_lock_bh(&cp->lock);
	for (i = 0; i < cp->nr_incoming && !found; i++) {
		found = fits(cp, cp->ports[i]);
		if (found)
			*next = parked_take(cp, i);
	}
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
static bool parked_fits(const struct rds_cpath *cp, u16 port)
{
	return !(port % RDS_MAX_PATHS) || !parked_early(cp);
}

static bool parked_elsewhere(const struct rds_cpath *cp, u16 port)
{
	return rds_conn_index_of(cp->conn, port) != cp->pub.index;
}

bool rds_parked_next(struct rds_cpath *cp, struct rds_parked *next)
{
	return parked_next(cp, parked_fits, next);
}

/* Give connections of other paths to these, once the peer is known. */
static void parked_sort(struct rds_cpath *cp)
{
	struct rds_parked next;

	lockdep_assert_held(&cp->ctl);
	if (cp->pub.index || !rds_session_paths(&cp->conn->session))
		return;
	while (parked_next(cp, parked_elsewhere, &next)) {
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
		fits = parked_fits(cp, cp->ports[i]);
	early = cp->nr_incoming && !fits;
	spin_unlock_bh(&cp->lock);
	if (early)
		rds_cpath_control(cp, SORT_TIME);
	return fits;
}

/*
 * The state is UP and the peer has opened another connection.  Either the peer
 * has forgotten the present one, or another process connects in its name.  A
 * map sent now makes the peer's TCP acknowledge or reset, and only an
 * acknowledgement of this map proves that the present connection is alive.  The
 * parked connection may hold messages that TCP has acknowledged, so it is
 * refused only with that proof.  Returns the time until the next look, in
 * jiffies, 0 for none.
 */
unsigned long rds_parked_judge(struct rds_cpath *cp)
{
	struct rds_parked next;

	lockdep_assert_held(&cp->ctl);
	if (!cp->probing) {
		cp->probe_until = jiffies + PROBE_TIME;
		rds_txq_probe(&cp->txq);
		WRITE_ONCE(cp->probing, true);
		rds_cpath_kick(cp);
	} else if (rds_txq_probe_acked(&cp->txq)) {
		WRITE_ONCE(cp->probing, false);
		rds_drop(cp->pub.net, RDS_DROP_PEER_PARKED);
		if (rds_parked_next(cp, &next))
			rds_parked_refuse(cp, &next);
		rds_cpath_control(cp, 0);
		return 0;
	} else if (time_after_eq(jiffies, cp->probe_until)) {
		rds_path_lost(&cp->pub, RDS_DROP_PEER_REPLACED);
		return 0;
	}
	return max(1L, (long)(cp->probe_until - jiffies));
}
