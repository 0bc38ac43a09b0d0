// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Keys of memory for peers, made and ended by the registrar.
 *
 * A key is an object of mr.c.  It is in use (in rds_dev_domain.mrs), or owned
 * by the one call that makes or ends it.  The context that removes a key from
 * the hash, under rds_dev.lock, ends it: its owner, by rds_dev_mr_dereg(), or
 * the end of the domain, for which the owner then waits.
 *
 * A peer's Send with Invalidate ends a key before its completion says so.  So a
 * program may end, for the second time, a key that is over.  Local invalidation
 * of such a key is an error on some devices; so a key that a peer may end so is
 * freed, unless the completion has come.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "mr.h"

static int mr_register(struct rds_dev_domain *dom, struct rds_dev_mr *mr,
		       int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode	= IB_WR_REG_MR,
		.mr		= mr->ib,
		.key		= mr->ib->rkey,
		.access		= access,
	};
	int err = rds_dev_registrar_run(dom, &mr->req, &wr.wr);

	/* Some functions of adapters take no key with remote atomic access. */
	if (err == -EOPNOTSUPP && access & IB_ACCESS_REMOTE_ATOMIC) {
		wr.access &= ~IB_ACCESS_REMOTE_ATOMIC;
		err = rds_dev_registrar_run(dom, &mr->req, &wr.wr);
		if (!err)
			rds_dev_no_atomics(dom->dev);
	}
	return err == -EOPNOTSUPP ? -EINVAL : err;
}

static int mr_make(struct rds_dev_domain *dom, struct rds_dev_mr *mr,
		   int access)
{
	int err;

	mr->invalidated = false;
	err = mr_register(dom, mr, access);
	if (err) {
		/* The key may be in any state and cannot be used again. */
		rds_dev_mr_destroy(dom, mr);
		return err;
	}
	mr_count(dom, mr->pool, used);
	kref_get(&dom->ref);
	mr->dom = dom;
	init_completion(&mr->swept);
	spin_lock_bh(&dom->dev->lock);
	hash_add(dom->mrs, &mr->hash, mr->rkey);
	spin_unlock_bh(&dom->dev->lock);
	return 0;
}

static int mr_reg_held(struct rds_dev_domain *dom, const struct bio_vec *bv,
		       unsigned int nr, u32 bytes, int access,
		       enum dma_data_direction dir, bool once,
		       struct rds_dev_mr **out)
{
	struct rds_dev_mr *mr;
	int err;

	err = rds_dev_mr_fits(dom, nr);
	if (!err)
		err = rds_dev_registrar_wait(dom);
	if (err)
		return err;
	mr = rds_dev_mr_take(dom, bv, nr, bytes, dir, once);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	err = mr_make(dom, mr, access);
	if (!err)
		*out = mr;
	return err;
}

int rds_dev_mr_reg(struct rds_dev_domain *dom, const struct bio_vec *bv,
		   unsigned int nr, u32 bytes, int access,
		   enum dma_data_direction dir, bool once,
		   struct rds_dev_mr **out)
{
	int err;

	if (!rds_dev_domain_hold(dom))
		return -ENODEV;
	err = mr_reg_held(dom, bv, nr, bytes, access, dir, once, out);
	rds_dev_domain_release(dom);
	return err;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_mr_reg, RDS_DEV_NS);

/*
 * End a key that is not in the hash.  After the first step no peer can use it;
 * the second step unmaps the memory.
 */
static void mr_end(struct rds_dev_domain *dom, struct rds_dev_mr *mr,
		   bool invalidated)
{
	struct ib_send_wr wr = {
		.opcode			= IB_WR_LOCAL_INV,
		.ex.invalidate_rkey	= mr->rkey,
	};

	if (invalidated ||
	    (!mr->once && !rds_dev_registrar_run(dom, &mr->req, &wr))) {
		rds_dev_mr_wait_placed(dom);
		rds_dev_mr_give_back(dom, mr);
	} else {
		/*
		 * Without a registrar, or if the key may have ended, only
		 * freeing the MR ends the key.
		 */
		rds_dev_mr_destroy(dom, mr);
		rds_dev_mr_wait_placed(dom);
	}
}

void rds_dev_mr_dereg(struct rds_dev_mr *mr)
{
	struct rds_dev_domain *dom = mr->dom;
	bool mine, invalidated;

	spin_lock_bh(&dom->dev->lock);
	mine = hash_hashed(&mr->hash);
	invalidated = mr->invalidated;
	if (mine) {
		hash_del(&mr->hash);
		/*
		 * Counted also while the domain ends, which then waits for it.
		 */
		dom->users++;
	}
	spin_unlock_bh(&dom->dev->lock);
	if (mine) {
		mr_end(dom, mr, invalidated);
		rds_dev_domain_release(dom);
	} else {
		wait_for_completion(&mr->swept);
		kfree(mr);
	}
	rds_dev_domain_put(dom);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_mr_dereg, RDS_DEV_NS);

u32 rds_dev_mr_rkey(const struct rds_dev_mr *mr)
{
	return mr->rkey;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_mr_rkey, RDS_DEV_NS);

u32 rds_dev_mr_lkey(const struct rds_dev_mr *mr)
{
	return mr->lkey;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_mr_lkey, RDS_DEV_NS);

u64 rds_dev_mr_iova(const struct rds_dev_mr *mr)
{
	return mr->iova;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_mr_iova, RDS_DEV_NS);

void rds_dev_mr_invalidated(struct rds_dev_domain *dom, u32 rkey)
{
	struct rds_dev_mr *mr;

	spin_lock_bh(&dom->dev->lock);
	hash_for_each_possible(dom->mrs, mr, hash, rkey)
		if (mr->rkey == rkey)
			mr->invalidated = true;
	spin_unlock_bh(&dom->dev->lock);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_mr_invalidated, RDS_DEV_NS);

/*
 * End all keys of a domain that ends: no connection is left and no key can be
 * made.  An owner that ends its key from now on waits for this; one
 * that has begun before is counted in rds_dev_domain.users.
 */
void rds_dev_mr_domain_gone(struct rds_dev_domain *dom)
{
	struct rds_dev_mr *mr, *next;
	struct hlist_node *tmp;
	LIST_HEAD(left);
	int i;

	spin_lock_bh(&dom->dev->lock);
	hash_for_each_safe(dom->mrs, i, tmp, mr, hash) {
		hash_del(&mr->hash);
		list_add(&mr->free, &left);
	}
	spin_unlock_bh(&dom->dev->lock);
	list_for_each_entry_safe(mr, next, &left, free) {
		if (!rds_dev_mr_empty(dom, mr))
			mr->ib = NULL;
		complete(&mr->swept);	/* The owner may free @mr at once. */
	}
	rds_dev_mr_free_kept(dom);
}
