// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Operations on remote memory.
 *
 * An operation is made ready by xmit, which may sleep, and is on rds_rdma_conn.ops from then on
 * (data.h).  It becomes as many work requests as its pieces of memory need, all signalled.  They
 * are posted in order, as far as there is room; while some are missing the operation stays on
 * op_pending, xmit is blocked, and nothing behind it is posted.
 *
 * Where a READ needs a key for its sink (iWARP) it is one work request into one key.  Memory that
 * one key cannot describe is read into pages of our own and copied when the key has ended.
 *
 * Where a WRITE completes early (iWARP) it is followed by a READ of one byte under the same key,
 * which the peer answers after it has placed what came before; it is done when that is.
 *
 * Frames that must come after the operation: the device holds them back by IB_SEND_FENCE, except
 * on iWARP, where xmit does, counted by op_fenced.  There it does so as well ahead of a Send with
 * Invalidate, which must not overtake the reading of the key it ends, and behind every WRITE that
 * is confirmed: whoever reads the message knows that the memory is written and may end the key,
 * while his device may still be about to answer the READ.
 *
 * How it ended is what the first bad completion says.  Only when all were good is it a success;
 * when the queue pair is gone before they all came it is dropped.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "op.h"

#define OP_MERGE	(64U * 1024)	/* neighbouring pages are one entry up to this size */
#define OP_RETRIES	100		/* for memory and keys, before it is given up */

/* Local memory, and the pages it was read into, are left by the device. */
static void op_unmap(struct rds_rdma_op *rop)
{
	unsigned int i;

	for (i = 0; i < rop->nr_sge && !rop->sink; i++)
		ib_dma_unmap_page(rop->conn->dev->ib, rop->sge[i].addr, rop->sge[i].length,
				  rop->dir);
}

static void op_free(struct rds_rdma_op *rop)
{
	unsigned int i;

	for (i = 0; i < rop->nr_bounce; i++)
		__free_page(rop->bounce[i].bv_page);
	kfree(rop->bounce);
	kvfree(rop);
}

/* What was read into pages of our own goes to where it belongs. */
static void op_copy_bounce(struct rds_rdma_op *rop)
{
	const struct rds_mem *mem = rop->op->mem;
	u32 left = rop->op->bytes, off = 0, done, part;
	unsigned int i;

	for (i = 0; i < mem->nr && left; i++) {
		for (done = 0; done < mem->bv[i].bv_len && left; done += part) {
			part = min3(mem->bv[i].bv_len - done, left,
				    (u32)(PAGE_SIZE - off % PAGE_SIZE));
			memcpy_to_page(mem->bv[i].bv_page, mem->bv[i].bv_offset + done,
				       page_address(rop->bounce[off / PAGE_SIZE].bv_page) +
				       off % PAGE_SIZE, part);
			off += part;
			left -= part;
		}
	}
}

/* The end of an operation: the device has left its memory.  Any context but hard interrupts. */
static void op_finish(void *arg)
{
	struct rds_rdma_op *rop = arg;
	struct rds_rdma_conn *conn = rop->conn;
	bool wake;

	if (rop->bounce && rop->status == RDS_OP_SUCCESS)
		op_copy_bounce(rop);
	rds_op_done(conn->path, rop->op, rop->status);
	spin_lock_bh(&conn->tx_lock);
	conn->op_fenced -= rop->fenced;
	wake = conn->blocked & RDS_RDMA_NO_OP && !conn->op_fenced && !conn->ending;
	if (wake)
		conn->blocked = 0;
	spin_unlock_bh(&conn->tx_lock);
	if (wake)
		rds_path_writable(conn->path);
	/* ops_stop() may return, and the connection go, when the lock is free again */
	spin_lock_bh(&conn->tx_lock);
	list_del(&rop->node);
	if (!--conn->nr_ops)
		wake_up(&conn->ops_idle);
	spin_unlock_bh(&conn->tx_lock);
	op_free(rop);
}

void rds_rdma_op_end(struct rds_rdma_op *rop)
{
	struct rds_rdma_mr *sink = rop->sink;

	op_unmap(rop);
	if (sink)
		rds_rdma_mr_unmap_later(sink, op_finish, rop);
	else
		op_finish(rop);
}

static bool op_add_sge(struct rds_rdma_op *rop, struct page *page, unsigned int off, u32 len)
{
	struct ib_device *ib = rop->conn->dev->ib;
	struct ib_sge *sge = &rop->sge[rop->nr_sge];

	sge->addr = ib_dma_map_page(ib, page, off, len, rop->dir);
	if (ib_dma_mapping_error(ib, sge->addr))
		return false;
	sge->length = len;
	sge->lkey = rop->conn->dev->pd->local_dma_lkey;
	rop->nr_sge++;
	return true;
}

static phys_addr_t op_phys(const struct bio_vec *bv)
{
	return page_to_phys(bv->bv_page) + bv->bv_offset;
}

/* Map local memory as it is; neighbouring pages become one entry. */
static int op_map(struct rds_rdma_op *rop)
{
	const struct rds_mem *mem = rop->op->mem;
	const struct bio_vec *bv = mem->bv, *end = bv + mem->nr, *from;
	u32 left = rop->op->bytes, len, part;
	phys_addr_t next;

	while (bv < end && left) {
		from = bv;
		next = op_phys(bv);
		len = 0;
		do {
			part = min(bv->bv_len, left);
			len += part;
			left -= part;
			next += part;
			bv++;
		} while (left && bv < end && op_phys(bv) == next &&
			 len + min(bv->bv_len, left) <= OP_MERGE && !PageHighMem(bv->bv_page));
		if (!op_add_sge(rop, from->bv_page, from->bv_offset, len))
			return -EAGAIN;
	}
	return WARN_ON_ONCE(left || !rop->nr_sge) ? -EINVAL : 0;
}

static int op_sink_key(struct rds_rdma_op *rop, const struct bio_vec *bv, unsigned int nr)
{
	int ret;

	ret = rds_rdma_mr_map(rop->conn->dev, bv, nr, rop->op->bytes,
			      IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, DMA_FROM_DEVICE,
			      false, &rop->sink);
	if (ret)
		return ret;
	rop->sge[0].addr = rds_rdma_mr_iova(rop->sink);
	rop->sge[0].length = rop->op->bytes;
	rop->sge[0].lkey = rds_rdma_mr_lkey(rop->sink);
	rop->nr_sge = 1;
	return 0;
}

static int op_bounce(struct rds_rdma_op *rop)
{
	unsigned int nr = DIV_ROUND_UP(rop->op->bytes, PAGE_SIZE);
	u32 left = rop->op->bytes;
	struct page *page;

	rop->bounce = kcalloc(nr, sizeof(*rop->bounce), GFP_KERNEL);
	if (!rop->bounce)
		return -ENOMEM;
	for (; left; left -= rop->bounce[rop->nr_bounce++].bv_len) {
		page = alloc_page(GFP_KERNEL | __GFP_NOWARN);
		if (!page)
			return -ENOMEM;
		bvec_set_page(&rop->bounce[rop->nr_bounce], page,
			      min_t(u32, left, PAGE_SIZE), 0);
	}
	return op_sink_key(rop, rop->bounce, nr);
}

/* Only the first entry may start and only the last may end inside a page. */
static bool op_one_key(const struct rds_rdma_op *rop)
{
	const struct rds_mem *mem = rop->op->mem;
	unsigned int i;

	if (mem->bytes != rop->op->bytes || mem->nr > rop->conn->dev->props.max_fr_pages)
		return false;
	for (i = 0; i < mem->nr; i++) {
		if ((i && mem->bv[i].bv_offset % PAGE_SIZE) ||
		    (i + 1 < mem->nr &&
		     (mem->bv[i].bv_offset + mem->bv[i].bv_len) % PAGE_SIZE))
			return false;
	}
	return true;
}

static int op_sink(struct rds_rdma_op *rop)
{
	const struct rds_mem *mem = rop->op->mem;
	int ret = -EINVAL;

	if (op_one_key(rop))
		ret = op_sink_key(rop, mem->bv, mem->nr);
	if (ret == -EINVAL || ret == -EMSGSIZE)
		ret = op_bounce(rop);
	return ret;
}

/* The byte that READs which confirm WRITEs go to. */
static int op_confirm_key(struct rds_rdma_conn *conn)
{
	struct bio_vec bv;

	if (conn->confirm)
		return 0;
	if (!conn->confirm_page)
		conn->confirm_page = alloc_page(GFP_KERNEL);
	if (!conn->confirm_page)
		return -ENOMEM;
	bvec_set_page(&bv, conn->confirm_page, 8, 0);
	return rds_rdma_mr_map(conn->dev, &bv, 1, 8,
			       IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, DMA_FROM_DEVICE,
			       false, &conn->confirm);
}

/* Make one operation ready; nothing is promised yet. */
static int op_create(struct rds_rdma_conn *conn, const struct rds_tx_ops *ops,
		     struct rds_op *op, struct rds_rdma_op **out)
{
	const struct rds_rdma_props *props = &conn->dev->props;
	struct rds_rdma_op *rop;
	int ret = 0;

	*out = NULL;
	if (!op)
		return 0;
	rop = kvzalloc(struct_size(rop, sge, op->mem->nr), GFP_KERNEL);
	if (!rop)
		return -ENOMEM;
	*out = rop;
	INIT_LIST_HEAD(&rop->pending);
	rop->cqe.done = rds_rdma_op_done;
	rop->conn = conn;
	rop->op = op;
	/*
	 * Posted to a peer that takes none it would wait for ever.  iWARP need not say how many it
	 * takes (RFC 6581, section 5).
	 */
	if (op->kind != RDS_OP_WRITE && !conn->cm.initiator_depth && !props->iwarp)
		return -EOPNOTSUPP;
	rop->dir = op->kind == RDS_OP_WRITE ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
	rop->confirm = op->kind == RDS_OP_WRITE && props->write_early;
	rop->fenced = rop->confirm || (props->iwarp &&
				       (op->fence || (ops->retire && props->remote_inv)));
	if (op->kind == RDS_OP_READ && props->read_sink_mr)
		return op_sink(rop);
	if (rop->confirm)
		ret = op_confirm_key(conn);
	return ret ?: op_map(rop);
}

/* Undo op_create(). */
static void op_destroy(struct rds_rdma_op *rop)
{
	if (!rop)
		return;
	op_unmap(rop);
	if (rop->sink)
		rds_rdma_mr_unmap(rop->sink);
	op_free(rop);
}

static void op_enter(struct rds_rdma_conn *conn, struct rds_rdma_op *rop)
{
	if (!rop)
		return;
	rds_op_get(rop->op);
	spin_lock_bh(&conn->tx_lock);
	list_add_tail(&rop->node, &conn->ops);
	list_add_tail(&rop->pending, &conn->op_pending);
	conn->nr_ops++;
	conn->op_fenced += rop->fenced;
	spin_unlock_bh(&conn->tx_lock);
}

/* It can never be carried out. */
static void op_refuse(struct rds_rdma_conn *conn, struct rds_op *op)
{
	if (!op)
		return;
	rds_op_get(op);
	rds_op_done(conn->path, op, RDS_OP_OTHER_ERROR);
}

int rds_rdma_ops_prepare(struct rds_rdma_conn *conn, struct rds_tx_ops *ops)
{
	struct rds_rdma_op *rdma, *atomic = NULL;
	int ret;

	/* the connection says nothing of the message, which may find another */
	if (READ_ONCE(conn->ending))
		return -EIO;
	ret = op_create(conn, ops, ops->rdma, &rdma);
	if (!ret)
		ret = op_create(conn, ops, ops->atomic, &atomic);
	if (!ret) {
		conn->op_retries = 0;
		ops->posted = true;
		op_enter(conn, rdma);
		op_enter(conn, atomic);
		return 0;
	}
	op_destroy(rdma);
	op_destroy(atomic);
	/* -EINTR: whoever transmits was killed, which says nothing about the operation */
	if ((ret == -EAGAIN || ret == -ENOMEM || ret == -ENOSPC || ret == -EINTR) &&
	    !READ_ONCE(conn->ending) && conn->op_retries++ < OP_RETRIES) {
		spin_lock_bh(&conn->tx_lock);
		conn->blocked |= RDS_RDMA_NO_MEM;
		spin_unlock_bh(&conn->tx_lock);
		rds_rdma_data_kick(conn);
		return -EAGAIN;
	}
	if (READ_ONCE(conn->ending) || ret == -ENODEV)
		return -EIO;
	ops->posted = true;
	op_refuse(conn, ops->rdma);
	op_refuse(conn, ops->atomic);
	return -EIO;
}

/* The queue pair is drained: no completion comes any more. */
void rds_rdma_ops_stop(struct rds_rdma_conn *conn)
{
	struct rds_rdma_op *rop, *next;
	LIST_HEAD(left);

	spin_lock_bh(&conn->tx_lock);
	list_for_each_entry_safe(rop, next, &conn->ops, node) {
		if (rop->ending)
			continue;
		rop->ending = true;
		list_move_tail(&rop->pending, &left);
		if (rop->status == RDS_OP_SUCCESS)
			rop->status = RDS_OP_DROPPED;
	}
	spin_unlock_bh(&conn->tx_lock);
	list_for_each_entry_safe(rop, next, &left, pending)
		rds_rdma_op_end(rop);
	wait_event(conn->ops_idle, !READ_ONCE(conn->nr_ops));
	/* the last one may still be holding the lock */
	spin_lock_bh(&conn->tx_lock);
	spin_unlock_bh(&conn->tx_lock);
	if (conn->confirm)
		rds_rdma_mr_unmap(conn->confirm);
	conn->confirm = NULL;
	if (conn->confirm_page)
		__free_page(conn->confirm_page);
	conn->confirm_page = NULL;
}
