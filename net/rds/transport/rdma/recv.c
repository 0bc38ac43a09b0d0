// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The receive ring; frame.c makes messages of what comes in.
 *
 * A receive is room for a header and a page for what follows it.  Payload of large messages stays
 * in the page, which goes to the message and is replaced (rxpage.c).  Small payload is copied, and
 * the page is used again.  Receives are posted again some at a time.
 *
 * The ring is as large as traffic asks for: the first frame of a message says how many follow,
 * and a stream of small messages shows by how many arrive within a tick.  Posted receives cannot
 * be taken back, so it shrinks by not posting again when a second passed with little use.
 *
 * When softirq finds no page, the receive is left on rx.bare, the ring runs with one less, and
 * data_work, which may wait for memory, fills it up.  A message that cannot be kept fails the
 * connection before it is acknowledged, and is sent again.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "data.h"

#define RX_FILL		16	/* receives that get their pages between two holds of the lock */

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

/* Give the device all that is ready, and have credits for it to tell of. */
static bool recv_post(struct rds_rdma_conn *conn)
{
	struct ib_recv_wr *list = conn->rx.ready;
	const struct ib_recv_wr *bad;
	unsigned int n = conn->rx.nr_ready;

	lockdep_assert_held(&conn->tx_lock);
	if (!list || conn->ending)
		return true;
	conn->rx.ready = NULL;
	conn->rx.nr_ready = 0;
	conn->rx.posted += n;
	conn->credit.posted += n;
	return !ib_post_recv(conn->qp, list, &bad);
}

/* Enough are ready, or the device runs low. */
static bool recv_post_due(const struct rds_rdma_conn *conn)
{
	return conn->rx.nr_ready * 4 >= conn->rx.target || conn->rx.posted * 2 < conn->rx.target;
}

bool rds_rdma_recv_missing(const struct rds_rdma_conn *conn)
{
	lockdep_assert_held(&conn->tx_lock);
	return conn->rx.bare &&
	       conn->rx.posted + conn->rx.nr_ready + conn->rx.taken < conn->rx.target;
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

/* The ring is to hold @want receives.  The lock is held. */
static void recv_grow(struct rds_rdma_conn *conn, unsigned int want)
{
	want = min_t(unsigned int, want, RDS_RDMA_RECV_MAX);
	if (want <= conn->rx.target)
		return;
	conn->rx.target = want;
	rds_rdma_count(conn, rdma_rx_grown);
}

/* Judge the size of the ring by what arrives.  @frames: of the message that begins, or 0. */
static void recv_resize(struct rds_rdma_conn *conn, unsigned int frames)
{
	unsigned long now = jiffies;

	lockdep_assert_held(&conn->tx_lock);
	if (now != conn->rx.jiffy) {
		conn->rx.jiffy = now;
		conn->rx.frames = 0;
		if (time_after_eq(now, conn->rx.second + HZ)) {
			conn->rx.second = now;
			if (conn->rx.peak * 4 < conn->rx.target &&
			    conn->rx.target > RDS_RDMA_RECV_MIN) {
				conn->rx.target = max_t(unsigned int, conn->rx.target / 2,
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
	if (unlikely(!conn->rx.posted))
		rds_rdma_count(conn, ib_rx_ring_empty);
	return !recv_post_due(conn) || recv_post(conn);
}

/*
 * The connecting end may receive before it knows that the connection is established, and with it
 * which incarnation of the peer this is.  Until then frames wait.
 */
static bool recv_early(struct rds_rdma_conn *conn, struct rds_rdma_recv *r)
{
	bool early;

	if (likely(READ_ONCE(conn->rx.open)))
		return false;
	spin_lock(&conn->tx_lock);
	early = !conn->rx.open;
	if (early) {
		r->wr.next = NULL;
		*conn->rx.early_end = &r->wr;
		conn->rx.early_end = &r->wr.next;
	}
	spin_unlock(&conn->tx_lock);
	return early;
}

void rds_rdma_recv_open(struct rds_rdma_conn *conn)
{
	struct ib_recv_wr *wr, *next;

	local_bh_disable();
	for (;;) {
		spin_lock(&conn->tx_lock);
		wr = conn->rx.early;
		conn->rx.early = NULL;
		conn->rx.early_end = &conn->rx.early;
		if (!wr)
			WRITE_ONCE(conn->rx.open, true);
		spin_unlock(&conn->tx_lock);
		if (!wr)
			break;
		for (; wr; wr = next) {
			next = wr->next;
			if (!READ_ONCE(conn->ending))
				rds_rdma_frame_in(conn, recv_of(wr));
		}
	}
	local_bh_enable();
}

static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_rdma_recv *r = container_of(wc->wr_cqe, struct rds_rdma_recv, cqe);
	struct rds_rdma_conn *conn = r->conn;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rds_rdma_wc_failed(conn, wc);
		return;
	}
	/* nobody speaking RDS sends immediate data, which makes it a frame of no use */
	r->bytes = wc->wc_flags & IB_WC_WITH_IMM ? 0 : wc->byte_len;
	r->retired = wc->wc_flags & IB_WC_WITH_INVALIDATE ? wc->ex.invalidate_rkey : 0;
	/*
	 * Nothing is taken in once the connection has failed: behind a message that could not be
	 * kept, the next one would make a duplicate of it when it is sent again.
	 */
	if (likely(!READ_ONCE(conn->ending)) && likely(!recv_early(conn, r)))
		rds_rdma_frame_in(conn, r);
}

int rds_rdma_recv_create(struct rds_rdma_conn *conn)
{
	struct ib_device *ib = conn->dev->ib;
	size_t bytes = RDS_RDMA_RECV_MAX * RDS_RDMA_HDR;
	struct rds_rdma_recv *r;
	struct ib_sge *sge;
	void *hdr;
	int i;

	conn->rx.target = RDS_RDMA_RECV_MIN;
	conn->rx.second = jiffies;
	conn->rx.early_end = &conn->rx.early;
	conn->rx.recvs = vzalloc(array_size(RDS_RDMA_RECV_MAX, sizeof(*conn->rx.recvs)));
	hdr = alloc_pages_exact(bytes, GFP_KERNEL | __GFP_ZERO);
	if (!conn->rx.recvs || !hdr)
		goto nomem;
	conn->rx.hdr_dma = ib_dma_map_single(ib, hdr, bytes, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ib, conn->rx.hdr_dma))
		goto nomem;
	conn->rx.hdr = hdr;
	for (i = RDS_RDMA_RECV_MAX - 1; i >= 0; i--) {
		r = &conn->rx.recvs[i];
		r->conn = conn;
		r->cqe.done = recv_done;
		r->wr.wr_cqe = &r->cqe;
		r->wr.sg_list = r->sge;
		r->wr.num_sge = 2;
		sge = &r->sge[RDS_RDMA_RECV_HDR];
		sge->addr = conn->rx.hdr_dma + i * RDS_RDMA_HDR;
		sge->length = RDS_RDMA_HDR;
		sge->lkey = conn->dev->pd->local_dma_lkey;
		sge = &r->sge[RDS_RDMA_RECV_PAGE];
		sge->length = RDS_RDMA_FRAG;
		sge->lkey = conn->dev->pd->local_dma_lkey;
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
	size_t bytes = RDS_RDMA_RECV_MAX * RDS_RDMA_HDR;
	int i;

	rds_rx_free(conn->rx.inc);
	conn->rx.inc = NULL;
	if (conn->rx.hdr) {
		for (i = 0; i < RDS_RDMA_RECV_MAX; i++)
			rds_rdma_page_free(&conn->rx.recvs[i]);
		ib_dma_unmap_single(conn->dev->ib, conn->rx.hdr_dma, bytes, DMA_FROM_DEVICE);
		free_pages_exact(conn->rx.hdr, bytes);
		conn->rx.hdr = NULL;
	}
	vfree(conn->rx.recvs);
	conn->rx.recvs = NULL;
}
