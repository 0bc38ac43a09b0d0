// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Remote memory operations.
 *
 * xmit, which may sleep, makes an operation ready; from then on it is on
 * rds_rdma_conn.ops (data.h).  It becomes as many work requests as its pieces
 * of memory need, all signalled.  They are posted in order, as far as there is
 * room; while some are not posted the operation stays on op_pending, xmit is
 * blocked, and nothing behind it is posted.
 *
 * Where a READ needs a key for the memory it goes to (iWARP), it is one work
 * request with one key, which a work request ahead of it makes and the READ
 * ends; both are posted together.  So xmit waits for no registrar.  Memory that
 * one key cannot describe is replaced by bounce pages, which are copied when
 * the key has ended.  A key whose READ fails is freed with the connection.
 *
 * Where a WRITE completes early (iWARP), a READ of one byte under the same rkey
 * follows, which the peer answers after it has placed the data before; the
 * WRITE is done when that READ is.  The key of the memory that these READs go
 * to is made ahead of the first WRITE and lives as long as the connection.
 *
 * Frames that must follow an operation: the device holds them back by
 * IB_SEND_FENCE, and on iWARP xmit does, counted by op_fenced.  On iWARP xmit
 * also holds back a Send with Invalidate, which must not overtake a READ under
 * the key that it ends, and every frame behind a WRITE that is confirmed: the
 * program that receives the message knows that its memory is written and may
 * end the key, while its device may still have to answer the confirming READ.
 *
 * The first completion with an error gives an operation its status.  It is a
 * success if all completions are; it is dropped if the queue pair is destroyed
 * before all have come.
 *
 * A device may refuse an operation when it is posted, also one that it has
 * announced, as some do with atomic operations.  Nothing has happened then, and
 * the operation ends alone: its message, which would tell the peer of it, is
 * not sent (rds_tx_request.silent), and the connection goes on.  A device that
 * has refused an atomic operation counts as one without.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "op.h"

/* adjacent pages share an SGE up to this size */
#define OP_MERGE	(64U * 1024)
#define OP_RETRIES	100		/* attempts to get memory and keys */

/* Unmap local memory that no key describes. */
static void op_unmap(struct rds_rdma_op *rop)
{
	unsigned int i;

	for (i = 0; i < rop->nr_sge && !rop->sink; i++)
		ib_dma_unmap_page(rop->conn->id.dev->ib, rop->sge[i].addr,
				  rop->sge[i].length, rop->dir);
}

static void op_free(struct rds_rdma_op *rop)
{
	unsigned int i;

	for (i = 0; i < rop->nr_bounce; i++)
		__free_page(rop->bounce[i].bv_page);
	kfree(rop->bounce);
	kvfree(rop);
}

/* Copy what a READ left in bounce pages to the operation's memory. */
static void op_copy_bounce(struct rds_rdma_op *rop)
{
	const struct rds_mem *mem = rop->op->mem;
	u32 left = rop->op->bytes, off = 0, done, part;
	unsigned int i;

	for (i = 0; i < mem->nr && left; i++) {
		for (done = 0; done < mem->bv[i].bv_len && left; done += part) {
			part = min3(mem->bv[i].bv_len - done, left,
				    (u32)(PAGE_SIZE - off % PAGE_SIZE));
			memcpy_to_page(mem->bv[i].bv_page,
				       mem->bv[i].bv_offset + done,
				       page_address(rop->bounce[off / PAGE_SIZE]
							    .bv_page) +
					       off % PAGE_SIZE,
				       part);
			off += part;
			left -= part;
		}
	}
}

/*
 * Finish an operation whose memory the device has left.  Any context but hard
 * interrupts.
 */
static void op_finish(void *arg)
{
	struct rds_rdma_op *rop = arg;
	struct rds_rdma_conn *conn = rop->conn;
	bool wake;

	if (rop->bounce && rop->status == RDS_OP_SUCCESS)
		op_copy_bounce(rop);
	rds_operation_done(conn->path, rop->op, rop->status);
	spin_lock_bh(&conn->tx_lock);
	conn->op_fenced -= rop->fenced;
	wake = conn->blocked & RDS_RDMA_NO_OP && !conn->op_fenced &&
	       !rds_dev_id_ends(&conn->id);
	if (wake)
		conn->blocked = 0;
	spin_unlock_bh(&conn->tx_lock);
	if (wake)
		rds_path_writable(conn->path);
	/*
	 * After this unlock rds_rdma_ops_stop() may return, and the connection
	 * be freed.
	 */
	spin_lock_bh(&conn->tx_lock);
	list_del(&rop->node);
	if (!--conn->nr_ops)
		wake_up(&conn->ops_idle);
	spin_unlock_bh(&conn->tx_lock);
	op_free(rop);
}

void rds_rdma_op_end(struct rds_rdma_op *rop)
{
	op_unmap(rop);
	/* A READ that succeeds has ended the key. */
	if (rop->sink)
		rds_dev_sink_put_later(rop->sink,
				       rop->status == RDS_OP_SUCCESS,
				       op_finish, rop);
	else
		op_finish(rop);
}

static bool op_add_sge(struct rds_rdma_op *rop, struct page *page,
		       unsigned int off, u32 len)
{
	struct ib_device *ib = rop->conn->id.dev->ib;
	struct ib_sge *sge = &rop->sge[rop->nr_sge];

	sge->addr = ib_dma_map_page(ib, page, off, len, rop->dir);
	if (ib_dma_mapping_error(ib, sge->addr))
		return false;
	sge->length = len;
	sge->lkey = rop->conn->id.dom->pd->local_dma_lkey;
	rop->nr_sge++;
	return true;
}

static phys_addr_t op_phys(const struct bio_vec *bv)
{
	return page_to_phys(bv->bv_page) + bv->bv_offset;
}

/* Map local memory; adjacent pages share an entry. */
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
			 len + min(bv->bv_len, left) <= OP_MERGE &&
			 !PageHighMem(bv->bv_page));
		if (!op_add_sge(rop, from->bv_page, from->bv_offset, len))
			return -EAGAIN;
	}
	return WARN_ON_ONCE(left || !rop->nr_sge) ? -EINVAL : 0;
}

static int op_sink_key(struct rds_rdma_op *rop, const struct bio_vec *bv,
		       unsigned int nr)
{
	int ret;

	ret = rds_dev_sink_take(rop->conn->id.dom, bv, nr, rop->op->bytes,
				&rop->sink);
	if (ret)
		return ret;
	rop->sge[0].addr = rds_dev_mr_iova(rop->sink);
	rop->sge[0].length = rop->op->bytes;
	rop->sge[0].lkey = rds_dev_mr_lkey(rop->sink);
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

/*
 * Whether one key can describe the memory: only its first and last entry may be
 * parts of pages.
 */
static bool op_one_key(const struct rds_rdma_op *rop)
{
	const struct rds_mem *mem = rop->op->mem;
	unsigned int i;

	if (mem->bytes != rop->op->bytes ||
	    mem->nr > rop->conn->id.dev->props.max_fr_pages)
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

/* Prepare the key of the byte that confirming READs go to. */
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
	return rds_dev_sink_take(conn->id.dom, &bv, 1, 8, &conn->confirm);
}

/* Prepare one operation; op_destroy() undoes it. */
static int op_create(struct rds_rdma_conn *conn, struct rds_tx_request *req,
		     struct rds_tx_operation *op, struct rds_rdma_op **out)
{
	const struct rds_dev_props *props = &conn->id.dev->props;
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
	rop->req = req;
	/*
	 * With a peer that takes no READs and atomic operations this one would
	 * wait forever.  An iWARP peer need not say how many it takes (RFC
	 * 6581, section 5).
	 */
	if (op->kind != RDS_OP_WRITE && !conn->id.initiator_depth &&
	    !props->iwarp)
		return -EOPNOTSUPP;
	rop->dir = op->kind == RDS_OP_WRITE ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
	rop->confirm = op->kind == RDS_OP_WRITE && props->write_early;
	rop->fenced = rop->confirm ||
		      (props->iwarp && (op->fence || (req->invalidate_rkey &&
						      props->remote_inv)));
	if (op->kind == RDS_OP_READ && props->read_sink_mr)
		return op_sink(rop);
	if (rop->confirm)
		ret = op_confirm_key(conn);
	return ret ?: op_map(rop);
}

/* Undo op_create() for an operation that was not entered. */
static void op_destroy(struct rds_rdma_op *rop)
{
	if (!rop)
		return;
	op_unmap(rop);
	/* Nobody has made the key. */
	if (rop->sink)
		rds_dev_sink_put(rop->sink, true);
	op_free(rop);
}

static void op_enter(struct rds_rdma_conn *conn, struct rds_rdma_op *rop)
{
	if (!rop)
		return;
	rds_operation_get(rop->op);
	spin_lock_bh(&conn->tx_lock);
	list_add_tail(&rop->node, &conn->ops);
	list_add_tail(&rop->pending, &conn->op_pending);
	conn->nr_ops++;
	conn->op_fenced += rop->fenced;
	spin_unlock_bh(&conn->tx_lock);
}

/* End an operation that can never be carried out. */
static void op_refuse(struct rds_rdma_conn *conn, struct rds_tx_operation *op)
{
	if (!op)
		return;
	rds_operation_get(op);
	rds_operation_done(conn->path, op, RDS_OP_OTHER_ERROR);
}

int rds_rdma_ops_prepare(struct rds_rdma_conn *conn, struct rds_tx_request *req)
{
	struct rds_rdma_op *rdma, *atomic = NULL;
	int ret;

	/*
	 * This error is of the connection: the message may be sent over another
	 * one.
	 */
	if (rds_dev_id_ends(&conn->id))
		return -EIO;
	ret = op_create(conn, req, req->rdma, &rdma);
	if (!ret)
		ret = op_create(conn, req, req->atomic, &atomic);
	if (!ret) {
		conn->op_retries = 0;
		req->posted = true;
		op_enter(conn, rdma);
		op_enter(conn, atomic);
		return 0;
	}
	op_destroy(rdma);
	op_destroy(atomic);
	if ((ret == -EAGAIN || ret == -ENOMEM || ret == -ENOSPC) &&
	    !rds_dev_id_ends(&conn->id) && conn->op_retries++ < OP_RETRIES) {
		spin_lock_bh(&conn->tx_lock);
		conn->blocked |= RDS_RDMA_NO_MEM;
		spin_unlock_bh(&conn->tx_lock);
		rds_rdma_data_kick(conn);
		return -EAGAIN;
	}
	if (rds_dev_id_ends(&conn->id))
		return -EIO;
	req->posted = true;
	req->silent = true;
	op_refuse(conn, req->rdma);
	op_refuse(conn, req->atomic);
	return 0;
}

/* A device refuses what it has announced: remember that. */
static void op_not_supported(struct rds_dev *dev,
			     const struct rds_tx_operation *op)
{
	if (op->kind != RDS_OP_FADD && op->kind != RDS_OP_CSWP)
		return;
	if (!op->masked)
		rds_dev_no_atomics(dev);
	WRITE_ONCE(dev->props.masked, false);
}

/* Whether the device has nothing of the operations of a message */
static bool op_all_pending(const struct rds_rdma_conn *conn,
			   const struct rds_tx_request *req)
{
	unsigned int n = !!req->rdma + !!req->atomic;
	const struct rds_rdma_op *rop;

	list_for_each_entry(rop, &conn->op_pending, pending)
		n -= !rop->wrs;
	return !n;
}

bool rds_rdma_ops_refused(struct rds_rdma_conn *conn)
	__must_hold(&conn->tx_lock)
{
	struct rds_rdma_op *rop, *next;
	LIST_HEAD(refused);

	lockdep_assert_held(&conn->tx_lock);
	rop = list_first_entry(&conn->op_pending, struct rds_rdma_op, pending);
	if (!op_all_pending(conn, rop->req))
		return false;
	op_not_supported(conn->id.dev, rop->op);
	rop->req->silent = true;
	list_splice_init(&conn->op_pending, &refused);
	list_for_each_entry(rop, &refused, pending) {
		rop->status = RDS_OP_OTHER_ERROR;
		rop->ending = true;
	}
	spin_unlock_bh(&conn->tx_lock);
	list_for_each_entry_safe(rop, next, &refused, pending)
		rds_rdma_op_end(rop);
	spin_lock_bh(&conn->tx_lock);
	return true;
}

/*
 * End all operations.  The queue pair is destroyed, so no completion comes any
 * more, and no key is made.  A late id has no operations.
 */
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
	/* Wait for op_finish(), which may still hold the lock. */
	spin_lock_bh(&conn->tx_lock);
	spin_unlock_bh(&conn->tx_lock);
	if (conn->confirm)
		rds_dev_sink_put(conn->confirm, false);
	conn->confirm = NULL;
	if (conn->confirm_page)
		__free_page(conn->confirm_page);
	conn->confirm_page = NULL;
}
