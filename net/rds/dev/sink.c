// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sinks: keys of the memory that this host's own READs go to, on devices that
 * ask for one (rds_dev_props.read_sink_mr).
 *
 * A sink belongs to one connection, whose queue pair makes the key by a work
 * request ahead of the READ.  So the key needs no registrar, and who posts does
 * not wait for one.  A READ can end the key of its sink
 * (IB_WR_RDMA_READ_WITH_INV, which each iWARP device has): its completion says
 * that the key is over, and nothing behind the READ is held back, as it would
 * be by a fenced invalidation.
 *
 * A sink whose READ has not succeeded may have a key that lives, and a device
 * may still be about to make it.  So it is given back when the queue pair is
 * destroyed, and its object freed, which ends a key in any state.
 *
 * Sinks are not in rds_dev_domain.mrs: the end of a domain waits for
 * connections, and a peer's Send with Invalidate that names a sink ends at most
 * the connection of the READ.
 */
#include <linux/module.h>

#include "mr.h"

int rds_dev_sink_take(struct rds_dev_domain *dom, const struct bio_vec *bv,
		      unsigned int nr, u32 bytes, struct rds_dev_mr **out)
{
	struct rds_dev_mr *mr;
	int err = rds_dev_mr_fits(dom, nr);

	if (err)
		return err;
	mr = rds_dev_mr_take(dom, bv, nr, bytes, DMA_FROM_DEVICE, false);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr_count(dom, mr->pool, used);
	kref_get(&dom->ref);
	mr->dom = dom;
	*out = mr;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_sink_take, RDS_DEV_NS);

void rds_dev_sink_wr(const struct rds_dev_mr *mr, struct ib_reg_wr *wr)
{
	wr->wr.opcode = IB_WR_REG_MR;
	wr->mr = mr->ib;
	wr->key = mr->rkey;
	wr->access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_sink_wr, RDS_DEV_NS);

void rds_dev_sink_put(struct rds_dev_mr *mr, bool ended)
{
	struct rds_dev_domain *dom = mr->dom;

	if (ended) {
		rds_dev_mr_wait_placed(dom);
		rds_dev_mr_give_back(dom, mr);
	} else {
		rds_dev_mr_destroy(dom, mr);
		rds_dev_mr_wait_placed(dom);
	}
	rds_dev_domain_put(dom);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_sink_put, RDS_DEV_NS);

/* @mr may be in use again, or be freed, when rds_dev_sink_put() returns. */
void rds_dev_sink_work(struct work_struct *work)
{
	struct rds_dev_mr *mr = container_of(work, struct rds_dev_mr, work);
	void (*after)(void *arg) = mr->after;
	void *arg = mr->arg;

	rds_dev_sink_put(mr, mr->ended);
	after(arg);
}

void rds_dev_sink_put_later(struct rds_dev_mr *mr, bool ended,
			    void (*after)(void *arg), void *arg)
{
	mr->ended = ended;
	mr->after = after;
	mr->arg = arg;
	queue_work(mr->dom->user->wq, &mr->work);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_sink_put_later, RDS_DEV_NS);
