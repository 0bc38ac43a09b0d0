// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The data path as a whole: queue pair attributes, memory, start and stop.
 * data.h has the rules.
 */
#include "data.h"

#define DATA_RETRY_MS	20	/* delay before another attempt to get memory */

/*
 * What the code is made for, or as much of it as the device has room for.  Half
 * of a completion queue is for either direction.
 */
void rds_rdma_data_limits(struct rds_rdma_limits *lim,
			  const struct rds_dev_props *props)
{
	u32 most = min(props->max_wr, props->max_cqe / 2), left;
	u32 recvs = props->soft ? RDS_RDMA_RECV_MAX_SOFT : RDS_RDMA_RECV_MAX;

	lim->send_slots = props->soft ? RDS_RDMA_SEND_SLOTS_SOFT :
					RDS_RDMA_SEND_SLOTS;
	lim->op_wrs = props->soft ? RDS_RDMA_OP_WRS_SOFT : RDS_RDMA_OP_WRS;
	while (lim->send_slots && rds_rdma_send_wrs(lim) > most) {
		lim->send_slots /= 2;
		lim->op_wrs /= 2;
	}
	/* One of each queue is for the drain. */
	left = props->max_cqe -
	       min(props->max_cqe, rds_rdma_send_wrs(lim) + 1);
	lim->recv_max = min3(recvs, props->max_wr - 1, left);
}

const char *rds_rdma_data_lacks(const struct rds_dev_props *props)
{
	struct rds_rdma_limits lim;

	if (props->max_sge < RDS_RDMA_SEND_SGE)
		return "its Sends have too few elements";
	rds_rdma_data_limits(&lim, props);
	if (lim.send_slots < RDS_RDMA_SEND_SLOTS_MIN ||
	    lim.recv_max < RDS_RDMA_RECV_MIN)
		return "its queues are too short";
	return NULL;
}

void rds_rdma_data_attr(const struct rds_rdma_conn *conn,
			struct ib_qp_init_attr *attr)
{
	const struct rds_dev_props *props = &conn->id.dev->props;
	struct ib_qp_cap *cap = &attr->cap;

	/* The last entry of each queue is for the drain. */
	cap->max_send_wr = rds_rdma_send_wrs(&conn->lim);
	cap->max_recv_wr = conn->lim.recv_max + 1;
	cap->max_send_sge = min_t(u32, props->max_sge, RDS_RDMA_OP_SGE);
	cap->max_recv_sge = props->recv_one ? 1 : 2;
}

void rds_rdma_wc_failed(struct rds_rdma_conn *conn, const struct ib_wc *wc)
{
	enum rds_drop_reason why = RDS_DROP_SEND_ERROR;

	/*
	 * The work request was flushed by path_close, or an earlier error has
	 * been reported.
	 */
	if (rds_dev_id_ends(&conn->id))
		return;
	if (wc->status == IB_WC_REM_ACCESS_ERR)
		why = RDS_DROP_REMOTE_ACCESS;
	rds_rdma_conn_fail(conn, why);
}

void rds_rdma_data_kick(struct rds_rdma_conn *conn)
{
	rds_rdma_data_later(&conn->data_work, msecs_to_jiffies(DATA_RETRY_MS));
}

static void data_work(struct work_struct *work)
{
	struct rds_rdma_conn *conn = container_of(work, struct rds_rdma_conn,
						  data_work.work);
	bool wake, ok = true;

	rds_rdma_count(conn, ib_rx_refill_from_thread);
	if (!rds_rdma_recv_fill(conn, GFP_KERNEL))
		rds_rdma_data_kick(conn);
	spin_lock_bh(&conn->tx_lock);
	wake = conn->blocked;
	conn->blocked = 0;
	ok = rds_rdma_ack_try(conn);
	spin_unlock_bh(&conn->tx_lock);
	if (!ok)
		rds_rdma_conn_fail(conn, RDS_DROP_SEND_ERROR);
	else if (wake)
		rds_path_writable(conn->path);
}

int rds_rdma_data_create(struct rds_rdma_conn *conn)
{
	int ret;

	INIT_DELAYED_WORK(&conn->data_work, data_work);
	INIT_LIST_HEAD(&conn->ops);
	INIT_LIST_HEAD(&conn->op_pending);
	init_waitqueue_head(&conn->ops_idle);
	conn->stats = rds_rdma_stats(conn->path->net);
	rds_rdma_ack_create(conn);
	rds_rdma_page_create(conn);
	rds_rdma_defer_create(conn);
	ret = rds_rdma_send_create(conn);
	return ret ?: rds_rdma_recv_create(conn);
}

int rds_rdma_data_start(struct rds_rdma_conn *conn)
{
	if (!rds_rdma_recv_fill(conn, GFP_KERNEL))
		return -ENOMEM;
	conn->rx.offered = conn->credit.posted;
	return 0;
}

/*
 * Frames, and credits with them, may have arrived before the CM reported that
 * the connection is established; nothing has been sent.  The acknowledgement in
 * the private data belongs to another connection, of which nothing is under
 * way, and is ignored.
 */
void rds_rdma_data_established(struct rds_rdma_conn *conn)
{
	struct rds_rdma_credit *c = &conn->credit;
	bool ok;

	spin_lock_bh(&conn->tx_lock);
	if (conn->tx_open) {
		spin_unlock_bh(&conn->tx_lock);
		return;
	}
	c->on = conn->peer.credit && conn->rx.offered;
	c->single = conn->peer.credit == 1;
	c->posted -= conn->rx.offered;
	c->send += conn->peer.credit;
	conn->tx_open = true;
	ok = rds_rdma_ack_try(conn);
	spin_unlock_bh(&conn->tx_lock);
	if (!ok)
		rds_rdma_conn_fail(conn, RDS_DROP_SEND_ERROR);
	rds_rdma_defer_open(conn);
}

void rds_rdma_data_stop(struct rds_rdma_conn *conn)
{
	/* rds_rdma_data_create() was never called. */
	if (!conn->data_work.work.func)
		return;
	rds_rdma_defer_stop(conn);
	rds_rdma_ack_stop(conn);
	cancel_delayed_work_sync(&conn->data_work);
	rds_rdma_ops_stop(conn);
	rds_rdma_page_stop(conn);
	rds_rx_free(conn->rx.inc);
	conn->rx.inc = NULL;
}

void rds_rdma_data_free(struct rds_rdma_conn *conn)
{
	rds_rdma_send_stop(conn);
	rds_rdma_recv_stop(conn);
}
