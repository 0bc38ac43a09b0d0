// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lanes; conn/lane.h has the rules. */
#include <linux/jhash.h>
#include <linux/log2.h>
#include <linux/module.h>

#include "conn/addrs.h"
#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "msg/message.h"
#include "netns.h"
#include "send/carry.h"
#include "send/fence.h"

unsigned int rds_lanes_limit(int paths, unsigned int max)
{
	return rounddown_pow_of_two(clamp(paths, 1, (int)max));
}

void rds_lanes_init(struct rds_lanes *lanes, int paths)
{
	spin_lock_init(&lanes->lock);
	lanes->max = rds_lanes_limit(paths, RDS_MAX_PATHS);
	lanes->nr = 1;
}

/* The lane that the ports of a flow say */
static unsigned int lane_of(const struct rds_message *m, unsigned int nr)
{
	const struct rds_wire_header *hdr = m->tx.hdr;
	u32 ports = (u32)be16_to_cpu(hdr->sport) << 16 |
		    be16_to_cpu(hdr->dport);

	return jhash_1word(ports, 0) & (nr - 1);
}

struct rds_cpath *rds_conn_lane(struct rds_conn *conn,
				const struct rds_message *m, unsigned int *nr,
				struct rds_sock **user)
{
	unsigned int lane;

	*nr = READ_ONCE(conn->lanes.nr);
	*user = NULL;
	if (likely(*nr == 1))
		return conn->paths[0];
	lane = lane_of(m, *nr);
	if (m->owner)
		lane = rds_flowlet_begin(conn, m, lane, *nr, user);
	return rds_conn_make_path(conn, lane);
}

void rds_lanes_settle(struct rds_conn *conn)
{
	spin_lock_bh(&conn->lanes.lock);
	spin_unlock_bh(&conn->lanes.lock);
}

/*
 * A blind peer opens connections of further paths only when it has the number.
 * What comes before that is of path 0, whose connection it may have lost.
 */
bool rds_lanes_first_free(struct rds_conn *conn, unsigned int *index)
{
	unsigned int paths = rds_session_paths(&conn->session), i;
	struct rds_cpath *cp;

	if (READ_ONCE(conn->lanes.nr) != paths &&
	    !rds_session_is_raised(&conn->session))
		return false;
	for (i = 0; i < paths; i++) {
		cp = rds_conn_path(conn, i);
		if (!cp || rds_cpath_is_free(cp))
			break;
	}
	*index = i;
	return i < paths;
}

unsigned int rds_conn_index_of(const struct rds_conn *conn, u16 port)
{
	unsigned int paths = rds_session_paths(&conn->session);

	return paths ? port & (paths - 1) : 0;
}

/*
 * Number of lanes that the session has.  A peer that counts paths, and is told
 * their number again, keeps those that there are.
 */
static unsigned int lanes_of_session(const struct rds_conn *conn)
{
	u8 paths = READ_ONCE(conn->session.paths);
	unsigned int nr = paths & RDS_PATHS_NR;

	if (!nr)
		return 1;
	if (!(paths & RDS_PATHS_COUNTED))
		return conn->lanes.max;
	if (paths & RDS_PATHS_RAISED || READ_ONCE(conn->lanes.nr) == nr)
		return nr;
	return 1;
}

/*
 * A blind peer would take the connection for that of a lower path that is down
 * there.  What the peer has sent over a connection proves that it has a place.
 */
static bool lanes_in_turn(const struct rds_conn *conn, unsigned int index)
{
	const struct rds_cpath *cp;
	unsigned int i;

	if (!rds_session_is_blind(&conn->session) || !conn->paths[0]->pub.dials)
		return true;
	for (i = 0; i < index; i++) {
		cp = rds_conn_path(conn, i);
		if (!cp || rds_cpath_state(cp) != RDS_PATH_UP ||
		    !READ_ONCE(cp->rx.heard))
			return false;
	}
	return true;
}

bool rds_lanes_have(const struct rds_conn *conn, unsigned int index)
{
	unsigned int nr = READ_ONCE(conn->lanes.nr);

	if (!index)
		return true;
	/* Else the lanes fall, see lanes_fall(). */
	return index < rds_session_paths(&conn->session) &&
	       (nr == 1 || nr == lanes_of_session(conn)) &&
	       lanes_in_turn(conn, index);
}

bool rds_lanes_dial(const struct rds_conn *conn, unsigned int index)
{
	const struct rds_session *s = &conn->session;

	if (!index)
		return true;
	return rds_lanes_have(conn, index) &&
	       (!rds_session_is_counted(s) || rds_session_is_raised(s)) &&
	       !READ_ONCE(conn->addrs.awaited);
}

bool rds_lanes_need(const struct rds_cpath *first)
{
	struct rds_conn *conn = first->conn;
	struct rds_cpath *cp;
	unsigned int i;

	if (first->pub.index || (!rds_session_is_counted(&conn->session) &&
				 !READ_ONCE(conn->addrs.awaited)))
		return false;
	rds_conn_for_each_path(conn, i, cp) {
		if (i && rds_txq_is_needed(&cp->txq))
			return true;
	}
	return false;
}

void rds_lanes_call(const struct rds_cpath *cp)
{
	struct rds_cpath *first = cp->conn->paths[0];

	if (rds_cpath_state(first) == RDS_PATH_DOWN && rds_lanes_need(first))
		rds_cpath_control(first, 0);
}

/* Tell the queues beyond the first how many there are. */
static void lanes_admit(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	lockdep_assert_held(&conn->lanes.lock);
	rds_conn_for_each_path(conn, i, cp) {
		if (!i)
			continue;
		if (rds_fence_admit(&cp->txq, conn->lanes.nr,
				    conn->lanes.waiting))
			rds_cpath_kick(cp);
		/* It may have been wanted while the peer had no such path. */
		rds_cpath_control(cp, 0);
	}
}

static void lanes_raise(struct rds_conn *conn)
{
	struct rds_lanes *lanes = &conn->lanes;
	unsigned int nr;

	spin_lock_bh(&lanes->lock);
	nr = lanes_of_session(conn);
	if (lanes->nr == 1 && nr > 1 && !READ_ONCE(conn->dead)) {
		lanes->waiting = rds_fence_set(&conn->paths[0]->txq, nr);
		WRITE_ONCE(lanes->nr, nr);
		lanes_admit(conn);
		/* The worker of path 0 makes those of a counted session. */
		rds_cpath_control(conn->paths[0], 0);
	}
	spin_unlock_bh(&lanes->lock);
}

static void lanes_end(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp) {
		if (!i)
			continue;
		rds_path_lost(&cp->pub, RDS_DROP_WRONG_PATH);
		/* It may be down already. */
		rds_cpath_control(cp, 0);
	}
}

void rds_lanes_placed(struct rds_cpath *cp)
{
	struct rds_cpath *other;
	unsigned int i;

	if (!cp->pub.dials || !rds_session_is_blind(&cp->conn->session))
		return;
	rds_conn_for_each_path(cp->conn, i, other) {
		if (i > cp->pub.index &&
		    rds_cpath_state(other) == RDS_PATH_DOWN)
			rds_cpath_control(other, 0);
	}
}

void rds_lanes_down(struct rds_cpath *cp)
{
	struct rds_cpath *other;
	unsigned int i;

	if (!rds_session_is_blind(&cp->conn->session))
		return;
	rds_conn_for_each_path(cp->conn, i, other) {
		if (READ_ONCE(other->nr_incoming))
			rds_cpath_control(other, 0);
	}
}

/* Paths that may dial now may have had messages before. */
static void lanes_wake(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp) {
		if (i && rds_cpath_state(cp) == RDS_PATH_DOWN &&
		    rds_txq_is_needed(&cp->txq))
			rds_cpath_control(cp, 0);
	}
}

void rds_lanes_follow(struct rds_conn *conn)
{
	unsigned int nr = READ_ONCE(conn->lanes.nr);

	if (!rds_session_paths(&conn->session) ||
	    (nr > 1 && nr != lanes_of_session(conn)))
		lanes_end(conn);
	else if (nr == 1)
		lanes_raise(conn);
	lanes_wake(conn);
	/*
	 * There the further paths of a peer that counts them are made, and
	 * parked connections are sorted.
	 */
	if (rds_session_is_raised(&conn->session) ||
	    READ_ONCE(conn->paths[0]->nr_incoming))
		rds_cpath_control(conn->paths[0], 0);
}

void rds_lanes_restart(struct rds_conn *conn)
{
	lanes_end(conn);
}

bool rds_path_shows_index(const struct rds_path *path)
{
	const struct rds_conn *conn = rds_to_cpath(path)->conn;

	return conn->trans->caps & RDS_CAP_MULTIPATH && conn->lanes.max > 1;
}
EXPORT_SYMBOL_NS_GPL(rds_path_shows_index, RDS_NS);

void rds_lanes_at_fence(struct rds_path *path)
{
	rds_cpath_control(rds_to_cpath(path), 0);
}

static void lanes_pass(struct rds_conn *conn)
{
	struct rds_lanes *lanes = &conn->lanes;

	spin_lock_bh(&lanes->lock);
	if (lanes->waiting && rds_fence_passed(&conn->paths[0]->txq)) {
		lanes->waiting = false;
		lanes_admit(conn);
	}
	spin_unlock_bh(&lanes->lock);
}

static bool lanes_can_move(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	lockdep_assert_held(&conn->lanes.lock);
	rds_conn_for_each_path(conn, i, cp) {
		if (i && !rds_fence_can_move(&cp->txq))
			return false;
	}
	return true;
}

/*
 * Use one lane.  A sender whose flow had another lane is refused by its queue,
 * and waits for the lock; so its next message comes behind those that move.
 */
static void lanes_move(struct rds_conn *conn)
{
	struct rds_txq *first = &conn->paths[0]->txq;
	struct rds_cpath *cp;
	unsigned int i;

	lockdep_assert_held(&conn->lanes.lock);
	rds_conn_for_each_path(conn, i, cp) {
		if (i)
			rds_fence_move(&cp->txq, first);
	}
	conn->lanes.waiting = false;
	WRITE_ONCE(conn->lanes.nr, 1);
	rds_fence_admit(first, 1, false);
}

static void lanes_fall(struct rds_conn *conn)
{
	struct rds_lanes *lanes = &conn->lanes;
	bool moved = false;

	spin_lock_bh(&lanes->lock);
	if (lanes->nr > 1 && lanes->nr != lanes_of_session(conn) &&
	    lanes_can_move(conn)) {
		lanes_move(conn);
		moved = true;
	}
	spin_unlock_bh(&lanes->lock);
	if (!moved)
		return;
	rds_cpath_want(conn->paths[0]);
	rds_cpath_kick(conn->paths[0]);
	/* There may be another number of them. */
	lanes_raise(conn);
}

void rds_lanes_told(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	/* That of path 0 makes the paths that are kept up. */
	rds_conn_for_each_path(conn, i, cp)
		rds_cpath_control(cp, 0);
}

/* Make paths that are kept up; each dials if it has to. */
static void lanes_make(struct rds_conn *conn, unsigned int nr)
{
	struct rds_cpath *cp;
	unsigned int i;

	for (i = 1; i < nr; i++) {
		cp = rds_conn_make_path(conn, i);
		if (!cp && !READ_ONCE(conn->dead)) {
			rds_drop(conn->rn->net, RDS_DROP_NO_MEMORY);
			rds_cpath_control(conn->paths[0], HZ);
		} else if (cp && rds_cpath_state(cp) == RDS_PATH_DOWN &&
			   !rds_idle_rests(cp)) {
			/* One that rests has path 0 look: path_rested(). */
			rds_cpath_control(cp, 0);
		}
	}
}

void rds_lanes_step(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->conn;

	unsigned int nr = READ_ONCE(conn->lanes.nr);

	if (likely(nr == 1) || READ_ONCE(conn->dead))
		return;
	if (rds_carry_is_away(&cp->txq))
		rds_lanes_return(cp);
	if (nr != lanes_of_session(conn))
		lanes_fall(conn);
	else if (READ_ONCE(conn->lanes.waiting))
		lanes_pass(conn);
	if (cp->pub.index)
		return;
	/* A peer that counts paths cannot ask for one. */
	if (rds_session_is_raised(&conn->session))
		lanes_make(conn, nr);
	else
		lanes_make(conn, min(nr, rds_addrs_pairs(conn)));
}
