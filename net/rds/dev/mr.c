// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The objects that keys are made of.
 *
 * A key is one struct rds_dev_mr with one ib_mr.  An object is with an owner
 * (mr.h), or kept in a pool for later use.  It belongs to no queue pair: any
 * one of the protection domain makes a key of it.
 *
 * The completion of a peer's Send with Invalidate names the rkey, and must not
 * be taken for the end of a later key: an object is used fewer times than there
 * are rkeys for it, which differ in their last byte.
 *
 * A device may refuse to end a key, which then may live.  Such a key is kept,
 * with references to its pages, so that nobody else gets what a peer can write
 * to; it is on rds_dev_domain.stuck until the domain ends, which tries once
 * more.  A domain that keeps MR_STUCK_MAX keys makes no further ones.
 *
 * A peer sees an address that is not the memory's: a random multiple of the
 * page size, plus the offset at which the memory begins in its page; see
 * rds_dev_user.once for bit 31.
 */
#include <linux/dma-direct.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "mr.h"

/* Most ended keys of each size that are kept for later use */
#define MR_KEEP_SMALL	512
#define MR_KEEP_LARGE	64
/* Most keys that a device may fail to end, before it makes no more */
#define MR_STUCK_MAX	64
/* Most keys that one object is in turn; its rkeys come again after 256 */
#define MR_USES		250

static struct rds_dev_mr *mr_alloc(struct rds_dev_domain *dom,
				   struct rds_dev_mr_pool *pool)
{
	struct rds_dev_mr *mr = kzalloc_obj(*mr);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->pool = pool;
	INIT_WORK(&mr->work, rds_dev_sink_work);
	mr->sg = kvcalloc(pool->pages, sizeof(*mr->sg), GFP_KERNEL);
	mr->ib = ib_alloc_mr(dom->pd, IB_MR_TYPE_MEM_REG, pool->pages);
	if (mr->sg && !IS_ERR(mr->ib)) {
		mr_count(dom, pool, alloc);
		return mr;
	}
	if (!IS_ERR(mr->ib))
		ib_dereg_mr(mr->ib);
	kvfree(mr->sg);
	kfree(mr);
	return ERR_PTR(-ENOMEM);
}

static void mr_unmap_sg(struct rds_dev_domain *dom, struct rds_dev_mr *mr)
{
	if (mr->mapped)
		ib_dma_unmap_sg(dom->dev->ib, mr->sg, mr->nr, mr->dir);
	mr->mapped = false;
}

/* The pages of a key that may live, while nobody else has them pinned */
static void mr_pages_get(struct rds_dev_mr *mr)
{
	unsigned int i;

	for (i = 0; i < mr->nr && mr->mapped; i++)
		get_page(sg_page(&mr->sg[i]));
}

static void mr_pages_put(struct rds_dev_mr *mr)
{
	unsigned int i;

	for (i = 0; i < mr->nr && mr->mapped; i++)
		put_page(sg_page(&mr->sg[i]));
}

/*
 * Take room for one more object in a pool, which the device counts for all its
 * domains; false if there is none.
 */
static bool room_take_locked(struct rds_dev_domain *dom,
			     struct rds_dev_mr_pool *pool)
{
	struct rds_dev *dev = dom->dev;

	lockdep_assert_held(&dev->lock);
	if (pool->nr >= pool->max || dev->nr_mrs >= dev->max_mrs ||
	    dom->nr_stuck >= MR_STUCK_MAX)
		return false;
	pool->nr++;
	dev->nr_mrs++;
	return true;
}

/* Give the room back: the device has the object no more. */
static void room_put(struct rds_dev_domain *dom, struct rds_dev_mr_pool *pool)
{
	struct rds_dev *dev = dom->dev;

	spin_lock_bh(&dev->lock);
	pool->nr--;
	dev->nr_mrs--;
	spin_unlock_bh(&dev->lock);
}

/*
 * Free what the device has of a key that is on no list.  The rkey is ended, in
 * any of its states, before the memory is unmapped.  False: the device did not
 * end it, and has a reference to the pages now.
 */
bool rds_dev_mr_empty(struct rds_dev_domain *dom, struct rds_dev_mr *mr)
{
	int err = ib_dereg_mr(mr->ib);

	if (err) {
		pr_warn_ratelimited("rds_dev: the device keeps a key: error %d\n",
				    err);
		rds_dev_stats_inc(dom, rdma_mr_stuck);
		mr_pages_get(mr);
		return false;
	}
	mr_count(dom, mr->pool, free);
	mr_unmap_sg(dom, mr);
	mr->ib = NULL;
	kvfree(mr->sg);
	mr->sg = NULL;
	room_put(dom, mr->pool);
	return true;
}

void rds_dev_mr_destroy(struct rds_dev_domain *dom, struct rds_dev_mr *mr)
{
	if (rds_dev_mr_empty(dom, mr)) {
		kfree(mr);
		return;
	}
	spin_lock_bh(&dom->dev->lock);
	list_add(&mr->free, &dom->stuck);
	dom->nr_stuck++;
	spin_unlock_bh(&dom->dev->lock);
}

/*
 * The domain ends: end what the device kept of it.  What it does not end now is
 * lost, with its pages.
 */
static void stuck_end(struct rds_dev_domain *dom)
{
	struct rds_dev_mr *mr, *next;

	list_for_each_entry_safe(mr, next, &dom->stuck, free) {
		list_del(&mr->free);
		if (ib_dereg_mr(mr->ib))
			continue;
		room_put(dom, mr->pool);
		mr_pages_put(mr);
		mr_unmap_sg(dom, mr);
		kvfree(mr->sg);
		kfree(mr);
	}
}

/* Take a kept key of a pool, or make a new one. */
static struct rds_dev_mr *pool_get(struct rds_dev_domain *dom,
				   struct rds_dev_mr_pool *pool)
{
	struct rds_dev_mr *mr;
	bool full = false;

	spin_lock_bh(&dom->dev->lock);
	mr = list_first_entry_or_null(&pool->free, struct rds_dev_mr, free);
	if (mr) {
		list_del(&mr->free);
		pool->nr_free--;
	} else {
		full = !room_take_locked(dom, pool);
	}
	spin_unlock_bh(&dom->dev->lock);
	if (mr) {
		mr_count(dom, pool, reused);
	} else if (full) {
		mr_count(dom, pool, pool_depleted);
		mr = ERR_PTR(-ENOSPC);
	} else {
		mr = mr_alloc(dom, pool);
		if (IS_ERR(mr))
			room_put(dom, pool);
	}
	return mr;
}

/*
 * Keep an object, if it can be used again and not too many are kept, or free
 * it.
 */
static void pool_put(struct rds_dev_domain *dom, struct rds_dev_mr *mr)
{
	struct rds_dev_mr_pool *pool = mr->pool;
	unsigned int keep = pool->pages > RDS_DEV_MR_SMALL ? MR_KEEP_LARGE :
							      MR_KEEP_SMALL;
	bool reuse;

	spin_lock_bh(&dom->dev->lock);
	reuse = !rds_dev_domain_ends(dom) && pool->nr_free < keep &&
		mr->uses < MR_USES;
	/* What is kept is room that other domains do not have. */
	reuse &= dom->dev->nr_mrs < dom->dev->max_mrs;
	if (reuse) {
		list_add(&mr->free, &pool->free);
		pool->nr_free++;
	}
	spin_unlock_bh(&dom->dev->lock);
	if (!reuse)
		rds_dev_mr_destroy(dom, mr);
}

/*
 * Return: 0; -EINVAL: @bv has parts of pages between its ends, or not @bytes.
 */
static int mr_fill(struct rds_dev_mr *mr, const struct bio_vec *bv,
		   unsigned int nr, u32 bytes)
{
	unsigned int i;

	sg_init_table(mr->sg, nr);
	for (i = 0; i < nr; i++) {
		if ((i && bv[i].bv_offset) || !bv[i].bv_len ||
		    bytes < bv[i].bv_len ||
		    (i < nr - 1 && bv[i].bv_offset + bv[i].bv_len != PAGE_SIZE))
			return -EINVAL;
		sg_set_page(&mr->sg[i], bv[i].bv_page, bv[i].bv_len,
			    bv[i].bv_offset);
		bytes -= bv[i].bv_len;
	}
	mr->nr = nr;
	return bytes ? -EINVAL : 0;
}

/*
 * Whether the device reaches another memory than the owner's, as that has to
 * be copied for it (swiotlb).  A key lives for longer than one transfer, and
 * nobody knows when a peer uses it, so there is no time to copy.  Pieces that
 * were joined, so that there are fewer, are not copied.
 */
static bool mr_bounced(struct rds_dev_domain *dom, const struct rds_dev_mr *mr,
		       unsigned int n)
{
	struct device *dma = dom->dev->ib->dma_device;
	struct iommu_domain *domain;
	struct scatterlist *sg;
	phys_addr_t phys;
	unsigned int i;

	if (!dma || n != mr->nr)
		return false;
	domain = iommu_get_domain_for_dev(dma);
	/* Others, as that of POWER, cannot be asked. */
	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY &&
	    !(domain->type & __IOMMU_DOMAIN_PAGING))
		return false;
	for_each_sg(mr->sg, sg, n, i) {
		phys = domain ? iommu_iova_to_phys(domain, sg_dma_address(sg)) :
				dma_to_phys(dma, sg_dma_address(sg));
		if (phys != sg_phys(sg))
			return true;
	}
	return false;
}

/* Map the memory, and describe it by @mr->ib under a new rkey and address. */
static int mr_describe(struct rds_dev_domain *dom, struct rds_dev_mr *mr,
		       enum dma_data_direction dir, bool once)
{
	u64 iova = (u64)get_random_u32_below(BIT(31) / PAGE_SIZE - 1) *
			   PAGE_SIZE +
		   PAGE_SIZE;
	int n = ib_dma_map_sg(dom->dev->ib, mr->sg, mr->nr, dir);

	if (n <= 0)
		return -ENOMEM;
	mr->dir = dir;
	mr->mapped = true;
	if (mr_bounced(dom, mr, n)) {
		mr_unmap_sg(dom, mr);
		return -EOPNOTSUPP;
	}
	if (ib_map_mr_sg(mr->ib, mr->sg, n, NULL, PAGE_SIZE) != n) {
		mr_unmap_sg(dom, mr);
		return -EINVAL;
	}
	/* A bounce buffer begins at another offset in its page. */
	iova |= mr->ib->iova & ~PAGE_MASK;
	mr->once = once && dom->dev->props.remote_inv;
	if (mr->once)
		iova |= dom->user->once;
	mr->iova = iova;
	mr->ib->iova = iova;
	ib_update_fast_reg_key(mr->ib, ib_inc_rkey(mr->ib->rkey));
	mr->uses++;
	mr->rkey = mr->ib->rkey;
	mr->lkey = mr->ib->lkey;
	return 0;
}

int rds_dev_mr_fits(const struct rds_dev_domain *dom, unsigned int nr)
{
	if (!nr)
		return -EINVAL;
	return nr > dom->pools[1].pages ? -EMSGSIZE : 0;
}

struct rds_dev_mr *rds_dev_mr_take(struct rds_dev_domain *dom,
				   const struct bio_vec *bv, unsigned int nr,
				   u32 bytes, enum dma_data_direction dir,
				   bool once)
{
	struct rds_dev_mr *mr;
	int err;

	mr = pool_get(dom, &dom->pools[nr > dom->pools[0].pages]);
	if (IS_ERR(mr))
		return mr;
	err = mr_fill(mr, bv, nr, bytes);
	if (!err)
		err = mr_describe(dom, mr, dir, once);
	if (!err)
		return mr;
	pool_put(dom, mr);
	return ERR_PTR(err);
}

void rds_dev_mr_give_back(struct rds_dev_domain *dom, struct rds_dev_mr *mr)
{
	mr_unmap_sg(dom, mr);
	pool_put(dom, mr);
}

/*
 * siw looks whether a key is valid, and then places what one packet has
 * brought; ending the key does not wait for that.  siw does both under
 * sk_callback_lock (siw_qp_llp_data_ready()), which is a section that a grace
 * period waits for.  After this no WRITE changes the memory.
 */
void rds_dev_mr_wait_placed(const struct rds_dev_domain *dom)
{
	if (dom->dev->props.soft && dom->dev->props.iwarp)
		synchronize_rcu_expedited();
}

/* Free all kept keys of a pool. */
static void pool_flush(struct rds_dev_domain *dom, struct rds_dev_mr_pool *pool)
{
	struct rds_dev_mr *mr, *tmp;
	LIST_HEAD(gone);

	spin_lock_bh(&dom->dev->lock);
	list_splice_init(&pool->free, &gone);
	pool->nr_free = 0;
	spin_unlock_bh(&dom->dev->lock);
	list_for_each_entry_safe(mr, tmp, &gone, free)
		rds_dev_mr_destroy(dom, mr);
}

static void pool_init(struct rds_dev_mr_pool *pool, unsigned int pages,
		      unsigned int max)
{
	pool->pages = pages;
	pool->max = max;
	INIT_LIST_HEAD(&pool->free);
}

void rds_dev_mr_dev_init(struct rds_dev *dev)
{
	int max_mr = dev->ib->attrs.max_mr;
	unsigned int all = max_mr > 0 ? max_mr : U16_MAX;

	/* One eighth of the device's MRs is left for others. */
	dev->max_mrs = all - all / 8;
}

void rds_dev_mr_domain_init(struct rds_dev_domain *dom)
{
	unsigned int all = dom->dev->max_mrs;
	unsigned int large = min(dom->user->large_keys, all / 4),
		     fr = dom->dev->props.max_fr_pages;

	hash_init(dom->mrs);
	INIT_LIST_HEAD(&dom->stuck);
	pool_init(&dom->pools[0], min_t(unsigned int, RDS_DEV_MR_SMALL, fr),
		  min(dom->user->small_keys, all - large));
	pool_init(&dom->pools[1], min_t(unsigned int, RDS_DEV_MR_LARGE, fr),
		  large);
}

void rds_dev_mr_free_kept(struct rds_dev_domain *dom)
{
	pool_flush(dom, &dom->pools[0]);
	pool_flush(dom, &dom->pools[1]);
	stuck_end(dom);
}

/* Free all kept keys of a domain. */
static void flush_domain(struct rds_dev_domain *dom, void *arg)
{
	/* The end of the domain waits until no object is on the way. */
	if (!rds_dev_domain_hold(dom))
		return;
	mr_count(dom, &dom->pools[0], pool_flush);
	mr_count(dom, &dom->pools[1], pool_flush);
	pool_flush(dom, &dom->pools[0]);
	pool_flush(dom, &dom->pools[1]);
	rds_dev_domain_release(dom);
}

void rds_dev_mr_flush_all(const struct rds_dev_user *user)
{
	rds_dev_each_domain(user, flush_domain, NULL);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_mr_flush_all, RDS_DEV_NS);
