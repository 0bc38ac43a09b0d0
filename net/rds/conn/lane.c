// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lanes; conn/lane.h has the rules. */
#include <linux/jhash.h>
#include <linux/log2.h>
#include <linux/module.h>

#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "msg/message.h"
#include "netns.h"
#include "send/fence.h"

void rds_lanes_init(struct rds_lanes *lanes, int paths)
{
	spin_lock_init(&lanes->lock);
	lanes->max = rounddown_pow_of_two(clamp(paths, 1, RDS_MAX_PATHS));
	lanes->nr = 1;
}

/* The lane of a flow */
static unsigned int lane_of(const struct rds_message *m, unsigned int nr)
{
	const struct rds_wire_header *hdr = m->tx.hdr;
	u32 ports = (u32)be16_to_cpu(hdr->sport) << 16 |
		    be16_to_cpu(hdr->dport);

	return jhash_1word(ports, 0) & (nr - 1);
}

struct rds_cpath *rds_conn_lane(struct rds_conn *conn,
				const struct rds_message *m, unsigned int *nr)
{
	*nr = READ_ONCE(conn->lanes.nr);
	if (likely(*nr == 1))
		return conn->paths[0];
	return rds_conn_make_path(conn, lane_of(m, *nr));
}

void rds_lanes_settle(struct rds_conn *conn)
{
	spin_lock_bh(&conn->lanes.lock);
	spin_unlock_bh(&conn->lanes.lock);
}

unsigned int rds_conn_index_of(const struct rds_conn *conn, u16 port)
{
	if (!READ_ONCE(conn->session.paths) || conn->lanes.max == 1)
		return 0;
	return port % RDS_MAX_PATHS;
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

void rds_lanes_raise(struct rds_conn *conn)
{
	struct rds_lanes *lanes = &conn->lanes;

	if (lanes->max == 1)
		return;
	spin_lock_bh(&lanes->lock);
	if (lanes->nr == 1 && !READ_ONCE(conn->dead)) {
		lanes->waiting = rds_fence_set(&conn->paths[0]->txq,
					       lanes->max);
		WRITE_ONCE(lanes->nr, lanes->max);
		lanes_admit(conn);
	}
	spin_unlock_bh(&lanes->lock);
}

void rds_lanes_end(struct rds_conn *conn)
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
	if (lanes->nr > 1 && !READ_ONCE(conn->session.paths) &&
	    lanes_can_move(conn)) {
		lanes_move(conn);
		moved = true;
	}
	spin_unlock_bh(&lanes->lock);
	if (moved) {
		rds_cpath_want(conn->paths[0]);
		rds_cpath_kick(conn->paths[0]);
	}
}

void rds_lanes_step(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->conn;

	if (likely(READ_ONCE(conn->lanes.nr) == 1) || READ_ONCE(conn->dead))
		return;
	if (!READ_ONCE(conn->session.paths))
		lanes_fall(conn);
	else if (READ_ONCE(conn->lanes.waiting))
		lanes_pass(conn);
}
