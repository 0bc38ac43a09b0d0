// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The receive ring; frame.c reassembles messages, defer.c has frames that wait.
 *
 * A receive has room for a header, and a page for the bytes behind it; both are
 * one piece where the device wants that (rds_rdma_recv_order()).  Payload
 * of large messages stays in the page, which goes to the message and is
 * replaced (rxpage.c).  Small payload is copied, and the page is used again.
 * Receives are posted again in groups.
 *
 * The size of the ring follows the traffic: the first frame of a message tells
 * how many follow, and for a stream of small messages the frames of a jiffy are
 * counted.  Posted receives cannot be taken back, so the ring shrinks by not
 * posting again, after a second with little use.
 *
 * When softirq finds no page, the receive is left on rx.bare, the ring has one
 * receive less, and data_work, which may wait for memory, fills it.  A message
 * for which there is no memory fails the connection before it is acknowledged,
 * and is retransmitted.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "data.h"

/* receives that get pages between two holds of the lock */
#define RX_FILL		16

static struct rds_rdma_recv *recv_of(struct ib_recv_wr *wr)
{
	return container_of(wr, struct rds_rdma_recv, wr);
}

static void recv_push(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	struct ib_recv_wr **list = r->page ? &conn->rx.ready : &conn->rx.bare;

	lockdep_assert_held(&conn->tx_lock);
	r->wr.next = *list;
	*list = &r->wr;
	if (r->page)
		conn->rx.nr_ready++;
}

/* Post all receives on rx.ready, and count them as credits to be granted. */
static bool recv_post(struct rds_rdma_conn *conn)
{
	struct ib_recv_wr *list = conn->rx.ready;
	const struct ib_recv_wr *bad;
	unsigned int n = conn->rx.nr_ready;

	lockdep_assert_held(&conn->tx_lock);
	if (!list || rds_dev_id_ends(&conn->id))
		return true;
	conn->rx.ready = NULL;
	conn->rx.nr_ready = 0;
	conn->rx.posted += n;
	conn->credit.posted += n;
	return !ib_post_recv(conn->id.qp, list, &bad);
}

/*
 * Whether a quarter of the ring is ready, or the device has less than half of
 * it.
 */
static bool recv_post_due(const struct rds_rdma_conn *conn)
{
	return conn->rx.nr_ready * 4 >= conn->rx.target ||
	       rds_rdma_recv_free(conn) * 2 < conn->rx.target;
}

bool rds_rdma_recv_missing(const struct rds_rdma_conn *conn)
{
	lockdep_assert_held(&conn->tx_lock);
	return conn->rx.bare &&
	       conn->rx.posted + conn->rx.nr_ready + conn->rx.taken <
		       conn->rx.target;
}

bool rds_rdma_recv_fill(struct rds_rdma_conn *conn, gfp_t gfp)
{
	struct rds_rdma_recv *r[RX_FILL];
	bool ok = true, posted = true;
	unsigned int n, i;

	do {
		spin_lock_bh(&conn->tx_lock);
		for (n = 0; n < RX_FILL && rds_rdma_recv_missing(conn); n++) {
			r[n] = recv_of(conn->rx.bare);
			conn->rx.bare = conn->rx.bare->next;
			conn->rx.taken++;
		}
		spin_unlock_bh(&conn->tx_lock);
		for (i = 0; i < n && ok; i++)
			ok = rds_rdma_page_add(r[i], gfp);
		spin_lock_bh(&conn->tx_lock);
		conn->rx.taken -= n;
		for (i = 0; i < n; i++)
			recv_push(conn, r[i]);
		posted = recv_post(conn);
		spin_unlock_bh(&conn->tx_lock);
	} while (n == RX_FILL && ok && posted);
	if (!posted)
		rds_rdma_conn_fail(conn, RDS_DROP_SEND_ERROR);
	return ok && posted;
}

/* Enlarge the ring to @want receives. */
static void recv_grow(struct rds_rdma_conn *conn, unsigned int want)
{
	lockdep_assert_held(&conn->tx_lock);
	want = min(want, conn->lim.recv_max);
	if (want <= conn->rx.target)
		return;
	conn->rx.target = want;
	rds_rdma_count(conn, rdma_rx_grown);
}

/*
 * The receives of frames that wait count as posted, so a smaller ring would
 * take away those that are for the peer's acknowledgements and credits.
 */
static bool recv_may_shrink(const struct rds_rdma_conn *conn)
{
	return conn->rx.peak * 4 < conn->rx.target && !conn->rx.nr_waiting &&
	       conn->rx.target > RDS_RDMA_RECV_MIN;
}

/*
 * Adapt the size of the ring to the traffic.  @frames: as in
 * rds_rdma_recv_again()
 */
static void recv_resize(struct rds_rdma_conn *conn, unsigned int frames)
{
	unsigned long now = jiffies;

	lockdep_assert_held(&conn->tx_lock);
	if (now != conn->rx.jiffy) {
		conn->rx.jiffy = now;
		conn->rx.frames = 0;
		if (time_after_eq(now, conn->rx.second + HZ)) {
			conn->rx.second = now;
			if (recv_may_shrink(conn)) {
				conn->rx.target = max_t(unsigned int,
							conn->rx.target / 2,
							RDS_RDMA_RECV_MIN);
				rds_rdma_count(conn, rdma_rx_shrunk);
			}
			conn->rx.peak = 0;
		}
	}
	conn->rx.frames++;
	conn->rx.peak = max3(conn->rx.peak, conn->rx.frames, frames);
	if (conn->rx.frames > conn->rx.target)
		recv_grow(conn, conn->rx.target * 2);
	if (frames * 2 > conn->rx.target)
		recv_grow(conn, frames * 2);
}

bool rds_rdma_recv_again(struct rds_rdma_conn *conn, struct rds_rdma_recv *r,
			 unsigned int frames)
{
	conn->rx.posted--;
	recv_resize(conn, frames);
	recv_push(conn, r);
	if (unlikely(!rds_rdma_recv_free(conn)))
		rds_rdma_count(conn, ib_rx_ring_empty);
	return !recv_post_due(conn) || recv_post(conn);
}

static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_rdma_recv *r = container_of(wc->wr_cqe, struct rds_rdma_recv,
					       cqe);
	struct rds_rdma_conn *conn = r->conn;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rds_rdma_wc_failed(conn, wc);
		return;
	}
	/*
	 * RDS has no immediate data: the frame counts as too short, and is
	 * invalid.
	 */
	r->bytes = wc->wc_flags & IB_WC_WITH_IMM ? 0 : wc->byte_len;
	r->retired = wc->wc_flags & IB_WC_WITH_INVALIDATE ?
			     wc->ex.invalidate_rkey :
			     0;
	r->heard = false;
	r->joined = 0;
	/*
	 * No frame is taken in after the connection has failed.  If there was
	 * no memory for a message and the next one were delivered, the core
	 * would drop the first one as a duplicate when it is retransmitted.
	 */
	if (unlikely(rds_dev_id_ends(&conn->id)))
		return;
	if (likely(rds_rdma_defer_is_open(conn)))
		rds_rdma_frame_in(conn, r);
	else
		rds_rdma_defer(conn, r);
}

int rds_rdma_recv_create(struct rds_rdma_conn *conn)
{
	struct ib_device *ib = conn->id.dev->ib;
	size_t bytes = conn->lim.recv_max * RDS_RDMA_HDR;
	const bool one = conn->id.dev->props.recv_one;
	struct rds_rdma_recv *r;
	struct ib_sge *sge;
	void *hdr;
	int i;

	conn->rx.target = RDS_RDMA_RECV_MIN;
	conn->rx.second = jiffies;
	conn->rx.recvs = vzalloc(array_size(conn->lim.recv_max,
					    sizeof(*conn->rx.recvs)));
	hdr = alloc_pages_exact(bytes, GFP_KERNEL | __GFP_ZERO);
	if (!conn->rx.recvs || !hdr)
		goto nomem;
	conn->rx.hdr_dma = ib_dma_map_single(ib, hdr, bytes, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ib, conn->rx.hdr_dma))
		goto nomem;
	conn->rx.hdr = hdr;
	for (i = conn->lim.recv_max - 1; i >= 0; i--) {
		r = &conn->rx.recvs[i];
		r->conn = conn;
		r->cqe.done = recv_done;
		r->wr.wr_cqe = &r->cqe;
		r->wr.sg_list = one ? &r->sge[RDS_RDMA_RECV_PAGE] : r->sge;
		r->wr.num_sge = one ? 1 : 2;
		sge = &r->sge[RDS_RDMA_RECV_HDR];
		sge->addr = conn->rx.hdr_dma + i * RDS_RDMA_HDR;
		sge->length = RDS_RDMA_HDR;
		sge->lkey = conn->id.dom->pd->local_dma_lkey;
		sge = &r->sge[RDS_RDMA_RECV_PAGE];
		sge->length = rds_rdma_recv_mapped(conn);
		sge->lkey = conn->id.dom->pd->local_dma_lkey;
		r->wr.next = conn->rx.bare;
		conn->rx.bare = &r->wr;
	}
	return 0;

nomem:
	if (hdr)
		free_pages_exact(hdr, bytes);
	return -ENOMEM;
}

void rds_rdma_recv_stop(struct rds_rdma_conn *conn)
{
	size_t bytes = conn->lim.recv_max * RDS_RDMA_HDR;
	unsigned int i;

	if (conn->rx.hdr) {
		for (i = 0; i < conn->lim.recv_max; i++)
			rds_rdma_page_free(&conn->rx.recvs[i]);
		ib_dma_unmap_single(conn->id.dev->ib, conn->rx.hdr_dma, bytes,
				    DMA_FROM_DEVICE);
		free_pages_exact(conn->rx.hdr, bytes);
		conn->rx.hdr = NULL;
	}
	vfree(conn->rx.recvs);
	conn->rx.recvs = NULL;
}
