// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frames that carry only an acknowledgement and credits (protocol.rst 4.8).
 *
 * At most one such frame is under way.  It has a header of its own behind those
 * of the slots, and is always signalled.  An acknowledgement or credits that
 * become due meanwhile are sent when it has completed, so a stream of messages
 * that all ask for acknowledgement causes no stream of such frames.  It needs a
 * credit like any other frame; without a credit it stays due until the peer's
 * next frame, which brings credits.
 *
 * A sender asks for an acknowledgement now and then only, and keeps its last
 * messages until it gets one.  So what came is acknowledged after ACK_TIME in
 * any case: the messages are freed, and a connection without traffic is idle at
 * both ends (the core's conn/idle.h).
 */
#include <linux/jiffies.h>

#include "data.h"

#define ACK_TIME	HZ

static struct rds_wire_header *ack_hdr(struct rds_rdma_conn *conn)
{
	return &conn->tx_hdr[RDS_RDMA_SEND_SLOTS];
}

static int ack_post(struct rds_rdma_conn *conn)
{
	struct rds_wire_header *h = ack_hdr(conn);
	struct ib_sge sge = {
		.addr	= conn->tx_hdr_dma + RDS_RDMA_SEND_SLOTS * sizeof(*h),
		.length	= sizeof(*h),
		.lkey	= conn->id.dom->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe		= &conn->ack_cqe,
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= IB_WR_SEND,
		.send_flags	= IB_SEND_SIGNALED | IB_SEND_SOLICITED,
	};
	const struct ib_send_wr *bad;

	rds_rdma_hdr_seal(conn, h);
	if (conn->max_inline >= sizeof(*h)) {
		sge.addr = (uintptr_t)h;
		wr.send_flags |= IB_SEND_INLINE;
	} else {
		ib_dma_sync_single_for_device(conn->id.dev->ib, sge.addr,
					      sge.length, DMA_TO_DEVICE);
	}
	return ib_post_send(conn->id.qp, &wr, &bad);
}

/*
 * Must a frame of its own grant credits?  While this end waits for a reader few
 * receives are left, and each that is posted again is due.  If the peer waits
 * as well, each grant would be answered by another at once, without end; so
 * there is one for each look whether there is a reader (defer.c).
 */
static bool ack_credits_due(const struct rds_rdma_conn *conn)
{
	if (!rds_rdma_credit_due(&conn->credit, rds_rdma_recv_free(conn)))
		return false;
	return likely(conn->rx.intake != RDS_RDMA_INTAKE_HELD) ||
	       !time_before(jiffies, conn->grant_next);
}

bool rds_rdma_ack_try(struct rds_rdma_conn *conn)
{
	bool credits = ack_credits_due(conn);

	lockdep_assert_held(&conn->tx_lock);
	if (likely(!conn->ack_due && !credits))
		return true;
	if (!conn->tx_open || conn->id.silent || rds_dev_id_ends(&conn->id))
		return true;
	if (conn->ack_busy || !rds_rdma_credit_take_last(&conn->credit)) {
		rds_rdma_count(conn, ib_ack_send_delayed);
		return true;
	}
	conn->ack_busy = true;
	if (ack_post(conn)) {
		rds_rdma_count(conn, ib_ack_send_failure);
		return false;
	}
	rds_rdma_count(conn, ib_ack_sent);
	conn->grant_next = jiffies + RDS_RDMA_HOLD_TIME;
	if (credits)
		rds_rdma_count(conn, ib_tx_credit_updates);
	return true;
}

static void ack_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_rdma_conn *conn = container_of(wc->wr_cqe,
						  struct rds_rdma_conn,
						  ack_cqe);
	bool ok;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rds_rdma_wc_failed(conn, wc);
		return;
	}
	spin_lock(&conn->tx_lock);
	conn->ack_busy = false;
	ok = rds_rdma_ack_try(conn);
	spin_unlock(&conn->tx_lock);
	if (!ok)
		rds_rdma_conn_fail(conn, RDS_DROP_SEND_ERROR);
}

static void ack_work(struct work_struct *work)
{
	struct rds_rdma_conn *conn = container_of(work, struct rds_rdma_conn,
						  ack_work.work);
	bool ok;

	spin_lock_bh(&conn->tx_lock);
	conn->ack_armed = false;
	if (conn->ack_told != conn->ack_seq)
		conn->ack_due = true;
	ok = rds_rdma_ack_try(conn);
	spin_unlock_bh(&conn->tx_lock);
	if (!ok)
		rds_rdma_conn_fail(conn, RDS_DROP_SEND_ERROR);
}

void rds_rdma_ack_later(struct rds_rdma_conn *conn)
{
	lockdep_assert_held(&conn->tx_lock);
	if (likely(conn->ack_armed))
		return;
	conn->ack_armed = true;
	rds_rdma_data_later(&conn->ack_work, ACK_TIME);
}

void rds_rdma_ack_create(struct rds_rdma_conn *conn)
{
	conn->ack_cqe.done = ack_done;
	INIT_DELAYED_WORK(&conn->ack_work, ack_work);
}

/* Frames do not come in any more. */
void rds_rdma_ack_stop(struct rds_rdma_conn *conn)
{
	cancel_delayed_work_sync(&conn->ack_work);
}
