// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages of receives.
 *
 * Where a device takes one SGE only, a receive has two pages in one piece, of
 * which all but the bytes in front of the second are unused: so the payload
 * begins a page there as well, and all that is said of a page is true of both.
 *
 * A page with payload of a large message is lent to the message, and stays
 * mapped.  Lent pages are remembered in the order in which they were lent.
 * When a receive needs a page, it gets the oldest one if its message is freed
 * by then, which avoids allocating, clearing and mapping another.  If the ring
 * is full and the message of the oldest page is not freed, the page is released
 * to the message alone.  When no page was lent for RX_LENT_HOLD, all are
 * released, so an idle connection keeps none.
 *
 * rds_rdma_conn.tx_lock guards the ring of lent pages, rds_rdma_rx.lent and its
 * indices.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "data.h"

#define RX_LENT_HOLD	HZ

bool rds_rdma_page_add(struct rds_rdma_recv *r, gfp_t gfp)
{
	struct ib_sge *sge = &r->sge[RDS_RDMA_RECV_PAGE];
	unsigned int order = rds_rdma_recv_order(r->conn);
	struct ib_device *ib = r->conn->id.dev->ib;
	struct page *page;
	u64 addr;

	page = alloc_pages(gfp | __GFP_NOWARN | (order ? __GFP_COMP : 0),
			   order);
	if (!page)
		return false;
	addr = ib_dma_map_page(ib, page, order ? PAGE_SIZE - RDS_RDMA_HDR : 0,
			       sge->length, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ib, addr)) {
		put_page(page);
		return false;
	}
	sge->addr = addr;
	r->page = order ? page + 1 : page;
	return true;
}

void rds_rdma_page_sync(struct rds_rdma_recv *r)
{
	const struct ib_sge *sge = &r->sge[RDS_RDMA_RECV_PAGE];

	ib_dma_sync_single_for_device(r->conn->id.dev->ib, sge->addr,
				      sge->length, DMA_FROM_DEVICE);
}

/*
 * Unmap and put a page.  The data that the device wrote were synchronised
 * before they were read.  The page may belong to a message now that has written
 * to it since: where mappings have bounce buffers, another synchronisation
 * would undo that.
 */
static void page_release(struct rds_rdma_conn *conn, struct page *page,
			 u64 addr)
{
	struct ib_device *ib = conn->id.dev->ib;

	if (!ib_uses_virt_dma(ib))
		dma_unmap_page_attrs(ib->dma_device, addr,
				     rds_rdma_recv_mapped(conn),
				     DMA_FROM_DEVICE, DMA_ATTR_SKIP_CPU_SYNC);
	put_page(page);
}

void rds_rdma_page_free(struct rds_rdma_recv *r)
{
	if (!r->page)
		return;
	page_release(r->conn, r->page, r->sge[RDS_RDMA_RECV_PAGE].addr);
	r->page = NULL;
}

/*
 * Take the oldest page off the ring; NULL if there is none.  tx_lock is held.
 */
static struct page *lent_pop(struct rds_rdma_rx *rx, u64 *addr)
{
	struct rds_rdma_conn *conn = container_of(rx, struct rds_rdma_conn, rx);
	struct rds_rdma_lent *l;

	lockdep_assert_held(&conn->tx_lock);
	if (rx->lent_tail == rx->lent_head)
		return NULL;
	l = &rx->lent[rx->lent_tail++ % RDS_RDMA_LENT];
	*addr = l->addr;
	return l->page;
}

/*
 * Whether the message of the oldest lent page is freed.  tx_lock is held.  Not
 * static, so that a test can make it return false (selftests/rdma/rds_stall.c).
 */
noinline bool rds_rdma_page_back(const struct rds_rdma_rx *rx)
{
	const struct rds_rdma_conn *conn =
		container_of(rx, struct rds_rdma_conn, rx);

	lockdep_assert_held(&conn->tx_lock);
	return rx->lent_tail != rx->lent_head &&
	       page_count(rx->lent[rx->lent_tail % RDS_RDMA_LENT].page) == 1;
}

void rds_rdma_page_lend(struct rds_rdma_recv *r)
{
	struct rds_rdma_conn *conn = r->conn;
	struct page *page = r->page, *old = NULL;
	struct rds_rdma_rx *rx = &conn->rx;
	u64 addr = r->sge[RDS_RDMA_RECV_PAGE].addr, old_addr;

	r->page = NULL;
	if (unlikely(!rx->lent))
		rx->lent = kmalloc_array(RDS_RDMA_LENT, sizeof(*rx->lent),
					 GFP_ATOMIC | __GFP_NOWARN);
	if (unlikely(!rx->lent)) {
		page_release(conn, page, addr);
		return;
	}
	spin_lock(&conn->tx_lock);
	if (rds_rdma_page_back(rx))
		r->page = lent_pop(rx, &r->sge[RDS_RDMA_RECV_PAGE].addr);
	else if (rx->lent_head - rx->lent_tail == RDS_RDMA_LENT)
		old = lent_pop(rx, &old_addr);
	rx->lent[rx->lent_head++ % RDS_RDMA_LENT] = (struct rds_rdma_lent){
		page, addr
	};
	spin_unlock(&conn->tx_lock);
	if (old)
		page_release(conn, old, old_addr);
	if (r->page)
		rds_rdma_page_sync(r);
	if (unlikely(!rx->lent_held)) {
		rx->lent_held = true;
		rds_rdma_data_later(&conn->lent_work, RX_LENT_HOLD);
	}
}

static void lent_drop(struct rds_rdma_conn *conn)
{
	struct page *page;
	u64 addr;

	for (;;) {
		spin_lock_bh(&conn->tx_lock);
		page = lent_pop(&conn->rx, &addr);
		spin_unlock_bh(&conn->tx_lock);
		if (!page)
			return;
		page_release(conn, page, addr);
	}
}

static void lent_work(struct work_struct *work)
{
	struct rds_rdma_conn *conn = container_of(work, struct rds_rdma_conn,
						  lent_work.work);
	struct rds_rdma_rx *rx = &conn->rx;
	bool quiet;

	spin_lock_bh(&conn->tx_lock);
	quiet = rx->lent_seen == rx->lent_head;
	rx->lent_seen = rx->lent_head;
	/* rds_rdma_page_lend() queues the work again from here on. */
	if (quiet)
		rx->lent_held = false;
	spin_unlock_bh(&conn->tx_lock);
	if (quiet)
		lent_drop(conn);
	else
		rds_rdma_data_later(&conn->lent_work, RX_LENT_HOLD);
}

void rds_rdma_page_create(struct rds_rdma_conn *conn)
{
	INIT_DELAYED_WORK(&conn->lent_work, lent_work);
}

void rds_rdma_page_stop(struct rds_rdma_conn *conn)
{
	cancel_delayed_work_sync(&conn->lent_work);
	lent_drop(conn);
	kfree(conn->rx.lent);
	conn->rx.lent = NULL;
}
