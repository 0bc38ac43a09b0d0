// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The data path as a whole: queue pair attributes, memory, start and stop.
 * data.h has the rules.
 */
#include "data.h"

#define DATA_RETRY_MS	20	/* delay before another attempt to get memory */

void rds_rdma_data_attr(const struct rds_rdma_dev *dev,
			struct ib_qp_init_attr *attr)
{
	const struct rds_rdma_props *props = &dev->props;
	struct ib_qp_cap *cap = &attr->cap;

	attr->qp_type = IB_QPT_RC;
	attr->sq_sig_type = IB_SIGNAL_REQ_WR;
	/* The last entry of each queue is for the drain. */
	cap->max_send_wr = RDS_RDMA_SEND_SLOTS + RDS_RDMA_OP_WRS +
			   RDS_RDMA_ACK_SLOTS + 1;
	cap->max_recv_wr = RDS_RDMA_RECV_MAX + 1;
	cap->max_send_sge = clamp_t(u32, props->max_sge, RDS_RDMA_SEND_SGE,
				    RDS_RDMA_OP_SGE);
	cap->max_recv_sge = 2;
}

void rds_rdma_wc_failed(struct rds_rdma_conn *conn, const struct ib_wc *wc)
{
	enum rds_drop_reason why = RDS_DROP_SEND_ERROR;

	/*
	 * The work request was flushed by path_close, or an earlier error has
	 * been reported.
	 */
	if (READ_ONCE(conn->ending))
		return;
	if (wc->status == IB_WC_REM_ACCESS_ERR)
		why = RDS_DROP_REMOTE_ACCESS;
	rds_rdma_conn_fail(conn, why);
}

void rds_rdma_data_kick(struct rds_rdma_conn *conn)
{
	queue_delayed_work(rds_rdma_wq, &conn->data_work,
			   msecs_to_jiffies(DATA_RETRY_MS));
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
	c->posted -= conn->rx.offered;
	c->send += conn->peer.credit;
	conn->tx_open = true;
	ok = rds_rdma_ack_try(conn);
	spin_unlock_bh(&conn->tx_lock);
	if (!ok)
		rds_rdma_conn_fail(conn, RDS_DROP_SEND_ERROR);
	rds_rdma_recv_open(conn);
}

void rds_rdma_data_stop(struct rds_rdma_conn *conn)
{
	/* rds_rdma_data_create() was never called. */
	if (!conn->data_work.work.func)
		return;
	cancel_delayed_work_sync(&conn->data_work);
	rds_rdma_ops_stop(conn);
	rds_rdma_send_stop(conn);
	rds_rdma_recv_stop(conn);
	rds_rdma_page_stop(conn);
}
