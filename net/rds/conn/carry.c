// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which path carries which lane; send/carry.h has the rules. */
#include <linux/module.h>

#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "send/carry.h"
#include "send/txq.h"
#include <net/rds/join.h>

/* Do both hosts take messages of any lane over any path?  The paths know. */
static bool carry_is_possible(const struct rds_conn *conn)
{
	return READ_ONCE(conn->lanes.nr) > 1 && !READ_ONCE(conn->dead) &&
	       rds_session_paths(&conn->session) &&
	       !rds_session_is_counted(&conn->session);
}

/* Is the path up, and is its network there? */
static bool carry_is_whole(const struct rds_cpath *cp)
{
	return rds_cpath_state(cp) == RDS_PATH_UP && !READ_ONCE(cp->cut_off);
}

/* Let the next path that can carry the lane, by index.  Returns whether any. */
static bool carry_one(struct rds_conn *conn, struct rds_cpath *cp)
{
	struct rds_cpath *other;
	unsigned int n;

	lockdep_assert_held(&conn->lanes.lock);
	for (n = 1; n < RDS_MAX_PATHS; n++) {
		other = rds_conn_path(conn, (cp->pub.index + n) %
						    RDS_MAX_PATHS);
		if (other && carry_is_whole(other) &&
		    rds_carry_begin(&cp->txq, &other->txq))
			return true;
	}
	return false;
}

static void carry_all(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	lockdep_assert_held(&conn->lanes.lock);
	if (!carry_is_possible(conn))
		return;
	rds_conn_for_each_path(conn, i, cp) {
		/* The worker transmits over the other path. */
		if (carry_one(conn, cp))
			rds_cpath_kick(cp);
		/* Another path may be there now, so this one can be left. */
		if (unlikely(READ_ONCE(cp->cut_off)))
			rds_cpath_control(cp, 0);
	}
}

void rds_lanes_carry(struct rds_conn *conn)
{
	if (!carry_is_possible(conn))
		return;
	spin_lock_bh(&conn->lanes.lock);
	carry_all(conn);
	spin_unlock_bh(&conn->lanes.lock);
}

static void carry_kick_all(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp)
		rds_cpath_kick(cp);
}

bool rds_lanes_forsake(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->conn;
	bool moved;

	lockdep_assert_held(&cp->ctl);
	if (likely(READ_ONCE(conn->lanes.nr) == 1))
		return false;
	spin_lock_bh(&conn->lanes.lock);
	moved = rds_carry_forsake(&cp->txq);
	carry_all(conn);
	spin_unlock_bh(&conn->lanes.lock);
	if (!moved)
		return false;
	/*
	 * A lane may have gone back to its own path, which is up, or have
	 * waited to go back to this one.
	 */
	carry_kick_all(conn);
	return true;
}

bool rds_lanes_spare(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->conn;
	struct rds_cpath *other;
	unsigned int i;

	lockdep_assert_held(&cp->ctl);
	if (!carry_is_possible(conn) || !READ_ONCE(cp->txq.moves))
		return false;
	rds_conn_for_each_path(conn, i, other) {
		if (other != cp && carry_is_whole(other) &&
		    READ_ONCE(other->txq.moves))
			return true;
	}
	return false;
}

void rds_path_cut_off(struct rds_path *path, bool cut_off)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	WRITE_ONCE(cp->cut_off, cut_off);
	rds_lanes_carry(cp->conn);
	rds_cpath_control(cp, 0);
}
EXPORT_SYMBOL_NS_GPL(rds_path_cut_off, RDS_NS);

void rds_lanes_return(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->conn;
	bool back;

	spin_lock_bh(&conn->lanes.lock);
	back = rds_carry_return(&cp->txq);
	spin_unlock_bh(&conn->lanes.lock);
	if (!back)
		return;
	/* The worker of this path may have left messages of its carrier. */
	carry_kick_all(conn);
}
