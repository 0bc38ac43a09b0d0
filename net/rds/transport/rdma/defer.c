// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frames that wait in their receives, for one of two reasons:
 *
 *   - The connecting end received them before it knew that the connection is
 *     established, and which incarnation of the peer this is.
 *   - A message filled the socket of a reader, and the core makes the path wait
 *     (rds_rx_is_held()).
 *
 * A receive whose frame waits is not posted again, so a peer with credits runs
 * out of them, and the device of a peer without credits sends again until there
 * is a receive; it is told to do so without a limit (cm.c).  Nothing is lost,
 * and no more waits than the ring has receives: RDS_RDMA_RECV_MAX pages.
 *
 * While the path waits for a reader, the frames of the peer still say which of
 * this end's messages it has and how many more it takes.  That is taken over as
 * a frame arrives, and a frame that says nothing else does not wait: its
 * receive is posted again, and granted again.  For such frames the peer keeps
 * its last credit (credit.h).  So this end goes on to send, and two ends that
 * both wait do not wait for each other.  What only grants is sent with each
 * look for a reader, see ack.c.
 *
 * rds_rdma_rx.intake says which context takes frames in, under
 * rds_rdma_conn.tx_lock: completions while it is open; else the one that will
 * open it, which is rds_rdma_defer_open() at first, and hold_work from the time
 * when it was closed for a reader.  A reader is looked for again and again, as
 * the core's time of grace ends without an event.
 *
 * Frames that wait when the connection ends are dropped.  They are not
 * acknowledged, and the peer sends them again.
 */
#include <linux/sched.h>

#include "data.h"

bool rds_rdma_defer_put(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	struct rds_rdma_rx *rx = &conn->rx;

	lockdep_assert_held(&conn->tx_lock);
	if (rx->intake == RDS_RDMA_INTAKE_OPEN)
		return false;
	r->wr.next = NULL;
	*rx->waiting_end = &r->wr;
	rx->waiting_end = &r->wr.next;
	rx->nr_waiting++;
	return true;
}

/* The rest of a joined frame waits ahead of the frames behind it. */
static void defer_put_first(struct rds_rdma_rx *rx, struct rds_rdma_recv *r)
{
	r->wr.next = rx->waiting;
	if (!rx->waiting)
		rx->waiting_end = &r->wr.next;
	rx->waiting = &r->wr;
	rx->nr_waiting++;
}

void rds_rdma_defer_hold(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	lockdep_assert_held(&conn->tx_lock);
	if (r)
		defer_put_first(&conn->rx, r);
	if (conn->rx.intake != RDS_RDMA_INTAKE_HELD)
		conn->grant_next = jiffies;
	WRITE_ONCE(conn->rx.intake, RDS_RDMA_INTAKE_HELD);
	rds_rdma_data_later(&conn->hold_work, RDS_RDMA_HOLD_TIME);
}

/* The next frame that waits; without one the intake is opened. */
static struct rds_rdma_recv *defer_next(struct rds_rdma_conn *conn)
{
	struct rds_rdma_rx *rx = &conn->rx;
	struct ib_recv_wr *wr;

	spin_lock(&conn->tx_lock);
	wr = rx->waiting;
	if (wr) {
		rx->waiting = wr->next;
		if (!rx->waiting)
			rx->waiting_end = &rx->waiting;
		rx->nr_waiting--;
	} else {
		/* Pairs with rds_rdma_defer_is_open(). */
		smp_store_release(&rx->intake, RDS_RDMA_INTAKE_OPEN);
	}
	spin_unlock(&conn->tx_lock);
	return wr ? container_of(wr, struct rds_rdma_recv, wr) : NULL;
}

/* Send what is due to the peer, but could not be sent or had to wait. */
static void defer_tell(struct rds_rdma_conn *conn)
{
	bool ok;

	spin_lock_bh(&conn->tx_lock);
	ok = rds_rdma_ack_try(conn);
	spin_unlock_bh(&conn->tx_lock);
	if (!ok)
		rds_rdma_conn_fail(conn, RDS_DROP_SEND_ERROR);
}

void rds_rdma_defer_open(struct rds_rdma_conn *conn)
{
	struct rds_rdma_recv *r;
	unsigned int n = 0;
	bool more = true;

	while (more && n++ < RDS_RDMA_RECV_MAX) {
		local_bh_disable();
		r = defer_next(conn);
		more = r && !rds_dev_id_ends(&conn->id) &&
		       rds_rdma_frame_in(conn, r);
		local_bh_enable();
		cond_resched();
	}
	/* A peer that sends as fast as that does not keep this context. */
	if (more)
		rds_rdma_data_later(&conn->hold_work, 0);
	defer_tell(conn);
}

static void hold_work(struct work_struct *work)
{
	struct rds_rdma_conn *conn = container_of(work, struct rds_rdma_conn,
						  hold_work.work);
	bool held;

	if (rds_dev_id_ends(&conn->id))
		return;
	local_bh_disable();
	held = rds_rdma_frame_is_held(conn);
	local_bh_enable();
	if (!held) {
		rds_rdma_defer_open(conn);
		return;
	}
	defer_tell(conn);
	rds_rdma_data_later(&conn->hold_work, RDS_RDMA_HOLD_TIME);
}

void rds_rdma_defer(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	bool put;

	spin_lock(&conn->tx_lock);
	put = conn->rx.intake == RDS_RDMA_INTAKE_EARLY &&
	      rds_rdma_defer_put(conn, r);
	spin_unlock(&conn->tx_lock);
	/* Takes the frame in if the intake is open by now. */
	if (!put)
		rds_rdma_frame_hear(conn, r);
}

void rds_rdma_defer_create(struct rds_rdma_conn *conn)
{
	conn->rx.waiting_end = &conn->rx.waiting;
	INIT_DELAYED_WORK(&conn->hold_work, hold_work);
}

void rds_rdma_defer_stop(struct rds_rdma_conn *conn)
{
	cancel_delayed_work_sync(&conn->hold_work);
}
