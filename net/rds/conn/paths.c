// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The paths of one connection; conn/lane.h says when they are made. */
#include <linux/jiffies.h>
#include <linux/slab.h>

#include <linux/rds.h>

#include "conn/conn.h"
#include "conn/idle.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "netns.h"
#include "send/fence.h"
#include "send/visit.h"

bool rds_conn_make_rx_lanes(struct rds_conn *conn)
{
	unsigned int nr = rds_conn_rx_lanes(conn), i;

	conn->rx_lanes = kcalloc(nr, sizeof(*conn->rx_lanes),
				 GFP_KERNEL_ACCOUNT);
	for (i = 0; conn->rx_lanes && i < nr; i++) {
		spin_lock_init(&conn->rx_lanes[i].lock);
		conn->rx_lanes[i].used = jiffies;
	}
	return conn->rx_lanes;
}

struct rds_cpath *rds_conn_path(const struct rds_conn *conn,
				unsigned int index)
{
	/* Pairs with the release in conn_publish(). */
	return smp_load_acquire(&conn->paths[index]);
}

struct rds_cpath *rds_conn_next_path(const struct rds_conn *conn,
				     unsigned int *i)
{
	struct rds_cpath *cp;

	for (; *i < RDS_MAX_PATHS; (*i)++) {
		cp = rds_conn_path(conn, *i);
		if (cp)
			return cp;
	}
	return NULL;
}

/*
 * Enter a path, unless another context was faster, or the connection has been
 * forgotten, so that rds_transport_net_exit() does not see the path.
 */
static bool conn_publish(struct rds_conn *conn, struct rds_cpath *cp)
{
	unsigned int index = cp->pub.index;
	bool entered;

	spin_lock_bh(&conn->lanes.lock);
	entered = !conn->paths[index] && !READ_ONCE(conn->dead);
	if (entered) {
		cp->txq.streams = &conn->paths[0]->txq.last_send;
		rds_fence_admit(&cp->txq, conn->lanes.nr, conn->lanes.waiting);
		/* Pairs with rds_conn_path(): the path is whole. */
		smp_store_release(&conn->paths[index], cp);
	}
	spin_unlock_bh(&conn->lanes.lock);
	return entered;
}

struct rds_cpath *rds_conn_make_path(struct rds_conn *conn, unsigned int index)
{
	struct rds_cpath *cp = rds_conn_path(conn, index);

	if (likely(cp))
		return cp;
	cp = rds_cpath_create(conn, index);
	if (IS_ERR(cp))
		return NULL;
	if (!conn_publish(conn, cp))
		rds_cpath_destroy(cp);
	else
		rds_lanes_carry(conn);
	return rds_conn_path(conn, index);
}

static enum rds_offer conn_offer_path(struct rds_conn *conn,
				      unsigned int index,
				      const struct rds_parked *offer)
{
	struct rds_cpath *cp = rds_conn_make_path(conn, index);

	if (!cp && READ_ONCE(conn->dead))
		return RDS_OFFER_GONE;
	if (!cp) {
		rds_drop(conn->rn->net, RDS_DROP_NO_MEMORY);
		return RDS_OFFER_REFUSED;
	}
	if (rds_cpath_incoming(cp, offer))
		return RDS_OFFER_TAKEN;
	return rds_cpath_is_gone(cp) ? RDS_OFFER_GONE : RDS_OFFER_REFUSED;
}

enum rds_offer rds_conn_offer(struct rds_conn *conn,
			      const struct rds_parked *offer)
{
	unsigned int index;

	if (!rds_session_is_blind(&conn->session))
		index = rds_conn_index_of(conn, offer->port);
	else if (conn->paths[0]->pub.dials ||
		 !rds_lanes_first_free(conn, &index))
		index = 0;
	return conn_offer_path(conn, index, offer);
}

enum rds_offer rds_conn_pass_on(struct rds_cpath *cp,
				const struct rds_parked *offer)
{
	struct rds_conn *conn = cp->conn;
	unsigned int index;

	if (!rds_session_is_blind(&conn->session))
		return RDS_OFFER_REFUSED;
	if (!rds_lanes_first_free(conn, &index))
		index = cp->pub.index + 1;
	if (index >= rds_session_paths(&conn->session))
		return RDS_OFFER_REFUSED;
	return conn_offer_path(conn, index, offer);
}

/* Did the connection ever carry a message?  Loopback keeps no numbers of it. */
static bool conn_is_used(const struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	if (conn->trans->caps & RDS_CAP_LOCAL_ONLY)
		return false;
	rds_conn_for_each_path(conn, i, cp) {
		if (rds_cpath_used(cp))
			return true;
	}
	return false;
}

void rds_conn_lose_paths(struct rds_conn *conn, enum rds_drop_reason why)
{
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp)
		rds_path_lost(&cp->pub, why);
}

static bool conn_is_over(struct rds_conn *conn)
{
	return rds_idle_is_over(conn) || !conn_is_used(conn);
}

bool rds_conn_retire(struct rds_conn *conn)
{
	bool begun = conn_is_over(conn);
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp)
		begun &= rds_cpath_state(cp) == RDS_PATH_DOWN;
	if (!begun)
		return false;
	/* No path is made meanwhile, nor afterwards. */
	spin_lock_bh(&conn->lanes.lock);
	/* The first is last, as it is there that a connection is offered. */
	for (i = RDS_MAX_PATHS; begun && i-- > 0;) {
		cp = rds_conn_path(conn, i);
		begun = !cp || rds_cpath_retire_begin(cp);
	}
	/* A path may have come up and ended before it was stopped. */
	begun = begun && conn_is_over(conn);
	rds_conn_for_each_path(conn, i, cp)
		rds_cpath_retire_end(cp, begun);
	if (begun)
		WRITE_ONCE(conn->dead, true);
	spin_unlock_bh(&conn->lanes.lock);
	return begun;
}

void rds_conn_info(struct rds_conn *conn, struct rds_conn_info *info)
{
	struct rds_cpath *cp = conn->paths[0];

	info->next_tx_seq = rds_txq_next_seq(&cp->txq);
	info->next_rx_seq = READ_ONCE(cp->rx.lane->expected);
	info->flags = 0;
	if (READ_ONCE(cp->txq.busy))
		info->flags |= RDS_INFO_CONNECTION_FLAG_SENDING;
	if (rds_cpath_state(cp) == RDS_PATH_CONNECTING)
		info->flags |= RDS_INFO_CONNECTION_FLAG_CONNECTING;
	if (rds_cpath_state(cp) == RDS_PATH_UP)
		info->flags |= RDS_INFO_CONNECTION_FLAG_CONNECTED;
}

void rds_conn_visit_messages(struct rds_conn *conn, bool started,
			     void (*fn)(const struct rds_message *m, void *arg),
			     void *arg)
{
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp)
		rds_txq_visit(&cp->txq, started, fn, arg);
}
