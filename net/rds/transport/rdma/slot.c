// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Slots of the send queue: the memory that each frame under way refers to, and
 * the completions that release it.  data.h has the rules.
 */
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "data.h"

void rds_rdma_slot_release(struct rds_rdma_conn *conn,
			   struct rds_rdma_slot *slot)
{
	struct ib_device *ib = conn->id.dev->ib;
	int i;

	for (i = 0; i < slot->wr.num_sge; i++) {
		if (!slot->page[i])
			continue;
		ib_dma_unmap_page(ib, slot->sge[i].addr, slot->sge[i].length,
				  DMA_TO_DEVICE);
		put_page(slot->page[i]);
		slot->page[i] = NULL;
	}
	slot->wr.num_sge = 0;
}

bool rds_rdma_slot_add(struct rds_rdma_conn *conn, struct rds_rdma_slot *slot,
		       const struct bio_vec *bv, unsigned int skip,
		       unsigned int len)
{
	struct ib_sge *sge = &slot->sge[slot->wr.num_sge];
	struct ib_device *ib = conn->id.dev->ib;
	u64 addr;

	addr = ib_dma_map_page(ib, bv->bv_page, bv->bv_offset + skip, len,
			       DMA_TO_DEVICE);
	if (unlikely(ib_dma_mapping_error(ib, addr)))
		return false;
	get_page(bv->bv_page);
	slot->page[slot->wr.num_sge++] = bv->bv_page;
	sge->addr = addr;
	sge->length = len;
	return true;
}

u8 *rds_rdma_slot_page(struct rds_rdma_conn *conn, struct rds_rdma_slot *slot,
		       unsigned int bytes)
{
	struct page *page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
	struct ib_device *ib = conn->id.dev->ib;

	if (!page)
		return NULL;
	slot->sge[0].addr = ib_dma_map_page(ib, page, 0, bytes, DMA_TO_DEVICE);
	if (unlikely(ib_dma_mapping_error(ib, slot->sge[0].addr))) {
		__free_page(page);
		return NULL;
	}
	slot->sge[0].length = bytes;
	slot->page[0] = page;
	slot->wr.num_sge = 1;
	return page_address(page);
}

/* A frame has completed, and with it all older ones. */
static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_rdma_slot *slot = container_of(wc->wr_cqe,
						  struct rds_rdma_slot, cqe);
	struct rds_rdma_conn *conn = slot->conn;
	unsigned int ahead, end, t;
	bool wake = false;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rds_rdma_wc_failed(conn, wc);
		return;
	}
	/* Of the frames under way, which are no more than there are slots */
	ahead = (slot - conn->slots) - conn->tx_tail;
	end = conn->tx_tail + (ahead & (conn->lim.send_slots - 1)) + 1;
	for (t = conn->tx_tail; t != end; t++)
		rds_rdma_slot_release(conn, rds_rdma_slot_of(conn, t));
	spin_lock(&conn->tx_lock);
	conn->tx_tail = end;
	/* Wake xmit only if at least half of the slots are free. */
	if (conn->blocked & RDS_RDMA_NO_SLOT &&
	    conn->tx_head - end <= conn->lim.send_slots / 2) {
		conn->blocked = 0;
		wake = true;
	}
	spin_unlock(&conn->tx_lock);
	if (wake)
		rds_path_writable(conn->path);
}

int rds_rdma_send_create(struct rds_rdma_conn *conn)
{
	struct ib_device *ib = conn->id.dev->ib;
	struct rds_rdma_slot *slot;
	unsigned int i, j;
	struct page *page;

	BUILD_BUG_ON((RDS_RDMA_SEND_SLOTS + RDS_RDMA_ACK_SLOTS) * RDS_RDMA_HDR >
		     PAGE_SIZE);
	conn->slots = vzalloc(array_size(conn->lim.send_slots,
					 sizeof(*conn->slots)));
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!conn->slots || !page)
		goto nomem;
	conn->tx_hdr_dma = ib_dma_map_page(ib, page, 0, PAGE_SIZE,
					   DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ib, conn->tx_hdr_dma))
		goto nomem;
	conn->tx_hdr = page_address(page);
	for (i = 0; i < conn->lim.send_slots; i++) {
		slot = &conn->slots[i];
		slot->conn = conn;
		slot->cqe.done = send_done;
		slot->wr.wr_cqe = &slot->cqe;
		slot->wr.sg_list = slot->sge;
		for (j = 0; j < RDS_RDMA_SEND_SGE; j++)
			slot->sge[j].lkey = conn->id.dom->pd->local_dma_lkey;
	}
	return 0;

nomem:
	if (page)
		__free_page(page);
	return -ENOMEM;
}

void rds_rdma_send_stop(struct rds_rdma_conn *conn)
{
	unsigned int t;

	for (t = conn->tx_tail; t != conn->tx_head; t++)
		rds_rdma_slot_release(conn, rds_rdma_slot_of(conn, t));
	conn->tx_tail = conn->tx_head;
	vfree(conn->slots);
	conn->slots = NULL;
	if (!conn->tx_hdr)
		return;
	ib_dma_unmap_page(conn->id.dev->ib, conn->tx_hdr_dma, PAGE_SIZE,
			  DMA_TO_DEVICE);
	free_page((unsigned long)conn->tx_hdr);
	conn->tx_hdr = NULL;
}
