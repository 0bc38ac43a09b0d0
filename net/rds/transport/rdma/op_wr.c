// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Work requests of remote memory operations, and their completions; op.c has
 * the rules.
 */
#include "op.h"

#define OP_CHAIN	8	/* most work requests in one ib_post_send() */

static bool op_is_atomic(const struct rds_tx_operation *op)
{
	return op->kind == RDS_OP_FADD || op->kind == RDS_OP_CSWP;
}

/* A work request of an operation, by its kind */
union op_wr {
	struct ib_rdma_wr	rdma;
	struct ib_atomic_wr	atomic;
	struct ib_reg_wr	reg;
};

struct op_chain {
	unsigned int	n;
	union op_wr	wr[OP_CHAIN];
};

static union op_wr *op_chain_add(struct op_chain *chain,
				 struct rds_rdma_op *rop, struct ib_sge *sge,
				 unsigned int nr)
{
	union op_wr *u = &chain->wr[chain->n];
	struct ib_send_wr *wr = &u->rdma.wr;

	BUILD_BUG_ON(offsetof(union op_wr, rdma.wr) !=
		     offsetof(union op_wr, atomic.wr));
	BUILD_BUG_ON(offsetof(union op_wr, rdma.wr) !=
		     offsetof(union op_wr, reg.wr));
	memset(u, 0, sizeof(*u));
	if (chain->n)
		chain->wr[chain->n - 1].rdma.wr.next = wr;
	wr->wr_cqe = &rop->cqe;
	wr->sg_list = sge;
	wr->num_sge = nr;
	wr->send_flags = IB_SEND_SIGNALED;
	chain->n++;
	return u;
}

static void op_chain_atomic(struct op_chain *chain, struct rds_rdma_op *rop)
{
	const struct rds_tx_operation *op = rop->op;
	struct ib_atomic_wr *a;

	a = &op_chain_add(chain, rop, rop->sge, rop->nr_sge)->atomic;
	rop->next = rop->nr_sge;
	a->remote_addr = op->raddr;
	a->rkey = op->rkey;
	if (op->kind == RDS_OP_FADD) {
		a->wr.opcode = op->masked ? IB_WR_MASKED_ATOMIC_FETCH_AND_ADD :
					    IB_WR_ATOMIC_FETCH_AND_ADD;
		a->compare_add = op->add;
		a->compare_add_mask = op->nocarry_mask;
		rds_rdma_count(rop->conn, ib_atomic_fadd);
		return;
	}
	a->wr.opcode = op->masked ? IB_WR_MASKED_ATOMIC_CMP_AND_SWP :
				    IB_WR_ATOMIC_CMP_AND_SWP;
	a->compare_add = op->compare;
	a->swap = op->swap;
	a->compare_add_mask = op->compare_mask;
	a->swap_mask = op->swap_mask;
	rds_rdma_count(rop->conn, ib_atomic_cswp);
}

static void op_chain_key(struct op_chain *chain, struct rds_rdma_op *rop,
			 const struct rds_dev_mr *key)
{
	rds_dev_sink_wr(key, &op_chain_add(chain, rop, NULL, 0)->reg);
}

static void op_chain_rdma(struct op_chain *chain, struct rds_rdma_op *rop)
{
	const struct rds_dev_props *props = &rop->conn->id.dev->props;
	bool read = rop->op->kind == RDS_OP_READ;
	unsigned int nr, i;
	struct ib_rdma_wr *r;

	nr = min_t(unsigned int, props->max_sge, RDS_RDMA_OP_SGE);
	if (read)
		nr = min(nr, props->max_sge_rd);
	nr = min(nr, rop->nr_sge - rop->next);
	r = &op_chain_add(chain, rop, &rop->sge[rop->next], nr)->rdma;
	r->wr.opcode = read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE;
	if (rop->sink) {
		r->wr.opcode = IB_WR_RDMA_READ_WITH_INV;
		r->wr.ex.invalidate_rkey = rds_dev_mr_lkey(rop->sink);
	}
	r->remote_addr = rop->op->raddr + rop->done;
	r->rkey = rop->op->rkey;
	for (i = 0; i < nr; i++)
		rop->done += rop->sge[rop->next++].length;
	if (read)
		rds_rdma_count(rop->conn, rdma_read);
	else
		rds_rdma_count(rop->conn, rdma_write);
}

static void op_chain_confirm(struct op_chain *chain, struct rds_rdma_op *rop,
			     struct ib_sge *sge)
{
	struct rds_rdma_conn *conn = rop->conn;
	struct ib_rdma_wr *r;

	sge->addr = rds_dev_mr_iova(conn->confirm);
	sge->length = 1;
	sge->lkey = rds_dev_mr_lkey(conn->confirm);
	r = &op_chain_add(chain, rop, sge, 1)->rdma;
	r->wr.opcode = IB_WR_RDMA_READ;
	r->remote_addr = rop->op->raddr;
	r->rkey = rop->op->rkey;
	rop->confirm = false;
	rds_rdma_count(conn, rdma_confirm);
}

/*
 * The key that the device must make ahead of the next work request, or NULL.  A
 * READ with a sink is posted whole, so its key is not made yet.
 */
static const struct rds_dev_mr *op_key(const struct rds_rdma_op *rop)
{
	const struct rds_rdma_conn *conn = rop->conn;

	if (rop->sink)
		return rop->sink;
	return rop->confirm && !conn->confirm_keyed ? conn->confirm : NULL;
}

/*
 * Chain as many work requests of an operation as there is room for, and @key
 * ahead of them.
 */
static void op_chain(struct op_chain *chain, struct rds_rdma_op *rop,
		     const struct rds_dev_mr *key, unsigned int room,
		     struct ib_sge *confirm)
{
	/* Room for both comes: rds_rdma_limits.op_wrs is 5 at least. */
	if (key && room < 2)
		return;
	if (key)
		op_chain_key(chain, rop, key);
	while (chain->n < room && rop->next < rop->nr_sge) {
		if (op_is_atomic(rop->op))
			op_chain_atomic(chain, rop);
		else
			op_chain_rdma(chain, rop);
	}
	if (chain->n < room && rop->confirm)
		op_chain_confirm(chain, rop, confirm);
}

/*
 * Post as many work requests of the first pending operation as there is room
 * for.
 */
static int op_post(struct rds_rdma_conn *conn, struct rds_rdma_op *rop)
{
	const struct rds_dev_mr *key = op_key(rop);
	const struct ib_send_wr *bad = NULL;
	struct op_chain chain = { .n = 0 };
	unsigned int room = min_t(unsigned int, OP_CHAIN,
				  conn->lim.op_wrs - conn->op_wrs);
	struct ib_sge confirm;
	int err;

	lockdep_assert_held(&conn->tx_lock);
	op_chain(&chain, rop, key, room, &confirm);
	if (!chain.n)
		return -EAGAIN;
	rop->wrs += chain.n;
	conn->op_wrs += chain.n;
	if (rop->next == rop->nr_sge && !rop->confirm)
		list_del_init(&rop->pending);
	err = ib_post_send(conn->id.qp, &chain.wr[0].rdma.wr, &bad);
	if (likely(!err)) {
		conn->confirm_keyed |= key && key == conn->confirm;
		return 0;
	}
	/*
	 * The requests that the device took are flushed with the queue pair.
	 */
	if (bad != &chain.wr[0].rdma.wr ||
	    (err != -EINVAL && err != -EOPNOTSUPP))
		return -EIO;
	rop->wrs -= chain.n;
	conn->op_wrs -= chain.n;
	if (list_empty(&rop->pending))
		list_add(&rop->pending, &conn->op_pending);
	return rds_rdma_ops_refused(conn) ? 0 : -EIO;
}

int rds_rdma_ops_post(struct rds_rdma_conn *conn)
{
	struct rds_rdma_op *rop;
	int ret = 0;

	spin_lock_bh(&conn->tx_lock);
	while (!ret && !list_empty(&conn->op_pending)) {
		rop = list_first_entry(&conn->op_pending, struct rds_rdma_op,
				       pending);
		ret = rds_dev_id_ends(&conn->id) ? -EIO : op_post(conn, rop);
	}
	if (ret == -EAGAIN)
		conn->blocked |= RDS_RDMA_NO_OP;
	spin_unlock_bh(&conn->tx_lock);
	return ret;
}

static enum rds_operation_status op_status(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_SUCCESS:
		return RDS_OP_SUCCESS;
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
		return RDS_OP_REMOTE_ERROR;
	case IB_WC_WR_FLUSH_ERR:
		return RDS_OP_DROPPED;
	default:
		return RDS_OP_OTHER_ERROR;
	}
}

/*
 * An operation ends here only if it succeeds.  After an error the queue pair is
 * unusable, and siw may complete a READ that it could not send twice, with the
 * error and again when it flushes: such an operation stays until
 * rds_rdma_ops_stop(), after which no completion comes.
 */
void rds_rdma_op_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_rdma_op *rop = container_of(wc->wr_cqe, struct rds_rdma_op,
					       cqe);
	struct rds_rdma_conn *conn = rop->conn;
	bool end, wake;

	spin_lock(&conn->tx_lock);
	if (rop->status == RDS_OP_SUCCESS)
		rop->status = op_status(wc->status);
	if (likely(rop->status == RDS_OP_SUCCESS)) {
		conn->op_wrs--;
		rop->wrs--;
	}
	end = !rop->wrs && list_empty(&rop->pending) &&
	      rop->status == RDS_OP_SUCCESS;
	rop->ending = end;
	/* Wake xmit for work requests that are still to be posted. */
	wake = conn->blocked & RDS_RDMA_NO_OP &&
	       !list_empty(&conn->op_pending) &&
	       conn->op_wrs <= conn->lim.op_wrs / 2;
	if (wake)
		conn->blocked = 0;
	spin_unlock(&conn->tx_lock);
	if (unlikely(wc->status != IB_WC_SUCCESS))
		rds_rdma_wc_failed(conn, wc);
	if (end)
		rds_rdma_op_end(rop);
	if (wake)
		rds_path_writable(conn->path);
}
