// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections of paths: how they are made, come up, fail and end, and the
 * functions of &rds_transport for paths.  id.c does what any user of a device
 * needs; its states are in idfsm.c.
 *
 * Nothing is posted behind the drain of the queue pair: conn_close() takes
 * tx_lock after the id has ended, and the data path posts under tx_lock and
 * only while the id does not end.  The rings are freed when no completion runs
 * or will run: for a late id in .qp_gone, when the path may be gone.  The rings
 * do not refer to the path then, and completions do nothing once the id ends.
 */
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>

#include "rdma.h"

static const enum rds_drop_reason drop_of[RDS_DEV_NR_WHYS] = {
	[RDS_DEV_WHY_DEVICE]	= RDS_DROP_DEVICE_GONE,
	[RDS_DEV_WHY_ADDR]	= RDS_DROP_ADDR_GONE,
	[RDS_DEV_WHY_LINK]	= RDS_DROP_LOCAL_RECONFIG,
	[RDS_DEV_WHY_DIAL]	= RDS_DROP_DIAL_FAILED,
	[RDS_DEV_WHY_REFUSED]	= RDS_DROP_DIAL_FAILED,
	[RDS_DEV_WHY_REJECTED]	= RDS_DROP_PEER_REJECTED,
	[RDS_DEV_WHY_ANSWER]	= RDS_DROP_BAD_PRIVDATA,
	[RDS_DEV_WHY_CLOSED]	= RDS_DROP_PEER_CLOSED,
	[RDS_DEV_WHY_TIMEOUT]	= RDS_DROP_PEER_TIMEOUT,
	[RDS_DEV_WHY_QP]	= RDS_DROP_SEND_ERROR,
};

static struct rds_rdma_conn *conn_of(struct rds_dev_id *id)
{
	return container_of(id, struct rds_rdma_conn, id);
}

/*
 * An iWARP device ends a queue pair by a Terminate message, for an error of
 * either end.  It flushes what is posted, refuses what is posted later, and
 * reports an event; the first of the three ends the connection.  All count
 * under one reason, as their order is chance.  siw reports no event when it
 * finds no receive for a frame: if its CM is the first to tell, nothing shows
 * which end was at fault, and the connection was closed by the peer.
 */
static enum rds_drop_reason reason_of(const struct rds_rdma_conn *conn,
				      enum rds_drop_reason why)
{
	return why == RDS_DROP_SEND_ERROR && conn->id.dev->props.iwarp ?
		       RDS_DROP_TERMINATED : why;
}

/* Tell the path, if it has one by now; otherwise path_attach will. */
static void conn_lost(struct rds_rdma_conn *conn, enum rds_drop_reason why,
		      bool was_up)
{
	lockdep_assert_held(&conn->id.lock);
	conn->why = reason_of(conn, why);
	if (!conn->path)
		return;
	if (!was_up)
		rds_rdma_stats_inc(conn->path->net, rdma_conn_failed);
	rds_path_lost(conn->path, conn->why);
}

void rds_rdma_conn_fail(struct rds_rdma_conn *conn, enum rds_drop_reason why)
{
	bool up;

	spin_lock_bh(&conn->id.lock);
	up = rds_dev_id_is_up(&conn->id);
	if (rds_dev_id_move(&conn->id, RDS_DEV_ID_EV_END))
		conn_lost(conn, why, up);
	spin_unlock_bh(&conn->id.lock);
}

/* Functions of &rds_dev_id_ops; cm.c has .param and .answer */

static int conn_create_qp(struct rds_rdma_conn *conn)
{
	struct ib_qp_init_attr attr = { };
	int err;

	rds_rdma_data_attr(conn, &attr);
	err = rds_dev_cq_get(&conn->cq, conn->id.dev,
			     attr.cap.max_send_wr + attr.cap.max_recv_wr);
	if (err)
		return err;
	attr.send_cq = conn->cq.cq;
	attr.recv_cq = conn->cq.cq;
	err = rds_dev_id_create_qp(&conn->id, &attr);
	conn->max_inline = attr.cap.max_inline_data;
	return err;
}

static int conn_prepare(struct rds_dev_id *id)
{
	struct rds_rdma_conn *conn = conn_of(id);
	int err;

	err = rds_rdma_data_create(conn);
	if (!err)
		err = conn_create_qp(conn);
	if (!err)
		err = rds_rdma_data_start(conn);
	if (!err && id->accepted)
		rds_rdma_data_established(conn);
	return err;
}

static bool conn_up(struct rds_dev_id *id)
{
	struct rds_rdma_conn *conn = conn_of(id);

	if (conn->is_twin)
		return true;
	if (!rds_path_up(conn->path))
		return false;
	rds_rdma_stats_inc(conn->path->net, rdma_conn_up);
	return true;
}

static void conn_id_lost(struct rds_dev_id *id, enum rds_dev_why why,
			 bool was_up)
{
	conn_lost(conn_of(id), drop_of[why], was_up);
}

static void conn_qp_gone(struct rds_dev_id *id)
{
	struct rds_rdma_conn *conn = conn_of(id);

	rds_dev_cq_put(&conn->cq);
	if (rds_dev_id_is_late(id))
		rds_rdma_data_free(conn);
}

static void conn_gone(struct rds_dev_id *id)
{
	kfree(conn_of(id));
}

static const struct rds_dev_id_ops conn_ops = {
	.prepare = conn_prepare,
	.param	 = rds_rdma_cm_param,
	.answer	 = rds_rdma_cm_answer,
	.up	 = conn_up,
	.lost	 = conn_id_lost,
	.qp_gone = conn_qp_gone,
	.gone	 = conn_gone,
};

struct rds_rdma_conn *rds_rdma_conn_new(struct rds_dev_domain *dom,
					const struct rds_dev_laddr *local,
					const struct in6_addr *remote)
{
	struct rds_rdma_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	spin_lock_init(&conn->tx_lock);
	INIT_LIST_HEAD(&conn->self_node);
	INIT_LIST_HEAD(&conn->ops);
	rds_rdma_data_limits(&conn->lim, &dom->dev->props);
	if (rds_dev_id_init(&conn->id, &conn_ops, dom, local, remote))
		return conn;
	kfree(conn);
	return NULL;
}

/* Functions of &rds_transport */

int rds_rdma_path_init(struct rds_path *path)
{
	struct rds_rdma_path *rp = path->priv;

	rp->path = path;
	return 0;
}

void rds_rdma_path_free(struct rds_path *path)
{
	struct rds_rdma_path *rp = path->priv;

	WARN_ON_ONCE(rp->conn);
}

/*
 * Returns false if the connection failed before, which was not reported to the
 * path.
 */
static bool path_set_conn(struct rds_path *path, struct rds_rdma_conn *conn)
{
	struct rds_rdma_path *rp = path->priv;

	WARN_ON_ONCE(rp->conn);
	rp->conn = conn;
	return rds_rdma_conn_own(conn, path, rp);
}

bool rds_rdma_conn_own(struct rds_rdma_conn *conn, struct rds_path *path,
		       struct rds_rdma_path *rp)
{
	bool good;

	spin_lock_bh(&conn->id.lock);
	conn->path = path;
	conn->rpath = rp;
	good = rds_dev_id_own(&conn->id, path);
	spin_unlock_bh(&conn->id.lock);
	return good;
}

static int path_dial(struct rds_path *path, struct rds_rdma_conn *conn)
{
	const struct rds_path_addr *addr = path->addr;
	bool v6 = !ipv6_addr_v4mapped(&addr->laddr);

	rds_rdma_cm_enter_self(conn);
	return rds_dev_id_dial(&conn->id,
			       rds_rdma_listen_port(&conn->id.dev->props, v6),
			       addr->tos);
}

int rds_rdma_path_connect(struct rds_path *path)
{
	struct rds_dev_laddr local = {
		.net	= path->net,
		.addr	= path->addr->laddr,
		.scope	= path->addr->ifindex,
	};
	struct rds_rdma_conn *conn;
	struct rds_dev_domain *dom;
	int err = -ENETDOWN;

	dom = rds_dev_by_laddr(&rds_rdma_user, &local);
	if (!dom)
		return -ENODEV;
	conn = rds_rdma_conn_new(dom, &local, &path->addr->faddr);
	rds_dev_domain_put(dom);
	if (!conn)
		return -ENOMEM;
	/*
	 * A walk may have failed it already, as its device, interface or
	 * address is going.
	 */
	if (path_set_conn(path, conn))
		err = path_dial(path, conn);
	if (err)
		rds_rdma_path_close(path, false);
	return err;
}

/*
 * The peer may have given up while its request waited in the core: then the
 * request has failed, or the CM will refuse to accept it.  In both cases the
 * path is lost and path_close cleans up.
 */
void rds_rdma_path_attach(struct rds_path *path, void *handle)
{
	struct rds_rdma_conn *conn = handle;

	if (!path_set_conn(path, conn)) {
		rds_path_lost(path, conn->why);
		return;
	}
	rds_path_peer_gen(path, conn->peer.gen);
	rds_dev_id_accept(&conn->id);
}

static void conn_close(struct rds_rdma_conn *conn)
{
	rds_dev_id_end(&conn->id);
	/*
	 * Posting contexts test the state under tx_lock: after this nothing is
	 * posted.
	 */
	spin_lock_bh(&conn->tx_lock);
	spin_unlock_bh(&conn->tx_lock);
	rds_dev_id_stop(&conn->id);
	rds_rdma_data_stop(conn);
	if (!rds_dev_id_is_late(&conn->id))
		rds_rdma_data_free(conn);
	spin_lock_bh(&conn->id.lock);
	conn->path = NULL;
	conn->rpath = NULL;
	spin_unlock_bh(&conn->id.lock);
	rds_dev_id_release(&conn->id);
}

/*
 * @graceful needs no wait: messages that the peer's RDS has not acknowledged
 * are retransmitted, and received duplicates are recognised.
 */
void rds_rdma_path_close(struct rds_path *path, bool graceful)
{
	struct rds_rdma_path *rp = path->priv;
	struct rds_rdma_conn *conn = rp->conn;
	struct rds_rdma_conn *twin;

	if (!conn)
		return;
	/* First, so that the end of the twin is no failure. */
	rds_dev_id_on(&conn->id, RDS_DEV_ID_EV_END);
	twin = rds_rdma_cm_forget_self(conn);
	if (twin)
		conn_close(twin);
	rp->conn = NULL;
	conn_close(conn);
}
