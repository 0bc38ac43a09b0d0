// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Keys of memory, by fast registration.
 *
 * A key is one struct rds_rdma_mr with one ib_mr.  It is in use (in
 * rds_rdma_dev.mrs), kept in a pool for later use, or owned by the one call
 * that makes or ends it.  The context that removes a key from the hash, under
 * rds_rdma_dev.lock, ends it: its owner, by rds_rdma_mr_dereg(), or the removal
 * of the device, for which the owner then waits.
 *
 * A peer sees an address that is not the memory's: a random multiple of the
 * page size, plus the offset at which the memory begins in its page; see
 * RDS_MR_OFFSET_ONCE for bit 31.
 */
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "devlayer.h"
#include "rdma.h"

/* Most ended keys of each size that are kept for later use */
#define MR_KEEP_SMALL	512
#define MR_KEEP_LARGE	64

static unsigned int large_max = 4096;
module_param_named(rds_ib_mr_1m_pool_size, large_max, uint, 0444);
MODULE_PARM_DESC(rds_ib_mr_1m_pool_size,
		 "most keys of up to 1 MiB of one device");

static unsigned int small_max = 348160;
module_param_named(rds_ib_mr_8k_pool_size, small_max, uint, 0444);
MODULE_PARM_DESC(rds_ib_mr_8k_pool_size,
		 "most keys of up to 16 pages of one device");

/**
 * struct rds_rdma_mr - a key
 * @hash: entry in rds_rdma_dev.mrs while in use
 * @free: entry in rds_rdma_mr_pool.free
 * @dev: device of the key, counted while in use
 * @pool: pool that counts the key
 * @ib: MR of ib_core; NULL once the device is removed
 * @rkey: key for peers
 * @lkey: key for this host
 * @sg: the memory, with room for as many entries as the pool's keys have pages
 * @nr: entries of @sg
 * @mapped: @sg is mapped for DMA
 * @dir: direction of the DMA mapping
 * @iova: address of the first byte for peers
 * @invalidated: a peer's Send with Invalidate has ended the key; under
 *	rds_rdma_dev.lock
 * @swept: completed when the removal of the device has ended the key
 * @req: request to the registrar
 * @work: work of rds_rdma_mr_dereg_later()
 * @after: called by @work when the key has ended, or NULL
 * @arg: argument of @after
 */
struct rds_rdma_mr {
	struct hlist_node	hash;
	struct list_head	free;
	struct rds_rdma_dev	*dev;
	struct rds_rdma_mr_pool	*pool;
	struct ib_mr		*ib;
	u32			rkey;
	u32			lkey;
	struct scatterlist	*sg;
	unsigned int		nr;
	bool			mapped;
	enum dma_data_direction	dir;
	u64			iova;
	bool			invalidated;
	struct completion	swept;
	struct rds_rdma_reg_req	req;
	struct work_struct	work;
	void			(*after)(void *arg);
	void			*arg;
};

#define mr_count(pool, what)						\
	do {								\
		if ((pool)->pages <= RDS_RDMA_MR_SMALL)			\
			rds_rdma_dev_stats_inc(ib_rdma_mr_8k_##what);	\
		else							\
			rds_rdma_dev_stats_inc(ib_rdma_mr_1m_##what);	\
	} while (0)

static void mr_unmap_work(struct work_struct *work);

static struct rds_rdma_mr *mr_alloc(struct rds_rdma_dev *dev,
				    struct rds_rdma_mr_pool *pool)
{
	struct rds_rdma_mr *mr = kzalloc_obj(*mr);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->pool = pool;
	INIT_WORK(&mr->work, mr_unmap_work);
	mr->sg = kvcalloc(pool->pages, sizeof(*mr->sg), GFP_KERNEL);
	mr->ib = ib_alloc_mr(dev->pd, IB_MR_TYPE_MEM_REG, pool->pages);
	if (mr->sg && !IS_ERR(mr->ib)) {
		mr_count(pool, alloc);
		return mr;
	}
	if (!IS_ERR(mr->ib))
		ib_dereg_mr(mr->ib);
	kvfree(mr->sg);
	kfree(mr);
	return ERR_PTR(-ENOMEM);
}

static void mr_unmap_sg(struct rds_rdma_dev *dev, struct rds_rdma_mr *mr)
{
	if (mr->mapped)
		ib_dma_unmap_sg(dev->ib, mr->sg, mr->nr, mr->dir);
	mr->mapped = false;
}

/*
 * Free what the device has of a key that is on no list.  The rkey is ended, in
 * any of its states, before the memory is unmapped.
 */
static void mr_empty(struct rds_rdma_dev *dev, struct rds_rdma_mr *mr)
{
	int err = ib_dereg_mr(mr->ib);

	if (err)
		pr_warn_ratelimited("rds_rdma: the device keeps a key: error %d\n",
				    err);
	mr_count(mr->pool, free);
	mr_unmap_sg(dev, mr);
	mr->ib = NULL;
	kvfree(mr->sg);
	mr->sg = NULL;
	spin_lock_bh(&dev->lock);
	mr->pool->nr--;
	spin_unlock_bh(&dev->lock);
}

static void mr_destroy(struct rds_rdma_dev *dev, struct rds_rdma_mr *mr)
{
	mr_empty(dev, mr);
	kfree(mr);
}

/* Take a kept key of a pool, or make a new one. */
static struct rds_rdma_mr *pool_get(struct rds_rdma_dev *dev,
				    struct rds_rdma_mr_pool *pool)
{
	struct rds_rdma_mr *mr;
	bool full = false;

	spin_lock_bh(&dev->lock);
	mr = list_first_entry_or_null(&pool->free, struct rds_rdma_mr, free);
	if (mr) {
		list_del(&mr->free);
		pool->nr_free--;
	} else {
		full = pool->nr >= pool->max;
		pool->nr += !full;
	}
	spin_unlock_bh(&dev->lock);
	if (mr) {
		mr_count(pool, reused);
	} else if (full) {
		mr_count(pool, pool_depleted);
		mr = ERR_PTR(-ENOSPC);
	} else {
		mr = mr_alloc(dev, pool);
		if (IS_ERR(mr)) {
			spin_lock_bh(&dev->lock);
			pool->nr--;
			spin_unlock_bh(&dev->lock);
		}
	}
	return mr;
}

/*
 * Keep an ended key, if it can be used again and not too many are kept, or free
 * it.
 */
static void pool_put(struct rds_rdma_dev *dev, struct rds_rdma_mr *mr,
		     bool reuse)
{
	struct rds_rdma_mr_pool *pool = mr->pool;
	unsigned int keep = pool->pages > RDS_RDMA_MR_SMALL ? MR_KEEP_LARGE :
							      MR_KEEP_SMALL;

	spin_lock_bh(&dev->lock);
	reuse = reuse && !dev->gone && pool->nr_free < keep;
	if (reuse) {
		list_add(&mr->free, &pool->free);
		pool->nr_free++;
	}
	spin_unlock_bh(&dev->lock);
	if (!reuse)
		mr_destroy(dev, mr);
}

/*
 * Return: 0; -EINVAL: @bv has parts of pages between its ends, or not @bytes.
 */
static int mr_fill(struct rds_rdma_mr *mr, const struct bio_vec *bv,
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

/* Map the memory, and describe it by @mr->ib under a new rkey and address. */
static int mr_describe(struct rds_rdma_dev *dev, struct rds_rdma_mr *mr,
		       enum dma_data_direction dir, bool once)
{
	u64 iova = (u64)get_random_u32_below(BIT(31) / PAGE_SIZE - 1) *
			   PAGE_SIZE +
		   PAGE_SIZE;
	int n = ib_dma_map_sg(dev->ib, mr->sg, mr->nr, dir);

	if (n <= 0)
		return -ENOMEM;
	mr->dir = dir;
	mr->mapped = true;
	if (ib_map_mr_sg(mr->ib, mr->sg, n, NULL, PAGE_SIZE) != n) {
		mr_unmap_sg(dev, mr);
		return -EINVAL;
	}
	iova |= mr->sg[0].offset;
	if (once && dev->props.remote_inv)
		iova |= RDS_MR_OFFSET_ONCE;
	mr->iova = iova;
	mr->ib->iova = iova;
	ib_update_fast_reg_key(mr->ib, ib_inc_rkey(mr->ib->rkey));
	mr->rkey = mr->ib->rkey;
	mr->lkey = mr->ib->lkey;
	return 0;
}

static int mr_register(struct rds_rdma_dev *dev, struct rds_rdma_mr *mr,
		       int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode	= IB_WR_REG_MR,
		.mr		= mr->ib,
		.key		= mr->ib->rkey,
		.access		= access,
	};

	return rds_rdma_registrar_run(dev, &mr->req, &wr.wr);
}

static int mr_make(struct rds_rdma_dev *dev, struct rds_rdma_mr *mr, int access,
		   enum dma_data_direction dir, bool once)
{
	int err = mr_describe(dev, mr, dir, once);

	if (err) {
		pool_put(dev, mr, true);
		return err;
	}
	mr->invalidated = false;
	err = mr_register(dev, mr, access);
	if (err) {
		/* The key may be in any state and cannot be used again. */
		mr_destroy(dev, mr);
		return err;
	}
	mr_count(mr->pool, used);
	kref_get(&dev->ref);
	mr->dev = dev;
	init_completion(&mr->swept);
	spin_lock_bh(&dev->lock);
	hash_add(dev->mrs, &mr->hash, mr->rkey);
	spin_unlock_bh(&dev->lock);
	return 0;
}

static int mr_map_held(struct rds_rdma_dev *dev, const struct bio_vec *bv,
		       unsigned int nr, u32 bytes, int access,
		       enum dma_data_direction dir, bool once,
		       struct rds_rdma_mr **out)
{
	struct rds_rdma_mr *mr;
	int err;

	if (!nr)
		return -EINVAL;
	if (nr > dev->pools[1].pages)
		return -EMSGSIZE;
	err = rds_rdma_registrar_wait(dev);
	if (err)
		return err;
	mr = pool_get(dev, &dev->pools[nr > dev->pools[0].pages]);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	err = mr_fill(mr, bv, nr, bytes);
	if (err)
		pool_put(dev, mr, true);
	else
		err = mr_make(dev, mr, access, dir, once);
	if (!err)
		*out = mr;
	return err;
}

int rds_rdma_mr_reg(struct rds_rdma_dev *dev, const struct bio_vec *bv,
		    unsigned int nr, u32 bytes, int access,
		    enum dma_data_direction dir, bool once,
		    struct rds_rdma_mr **out)
{
	int err;

	if (!rds_rdma_dev_hold(dev))
		return -ENODEV;
	err = mr_map_held(dev, bv, nr, bytes, access, dir, once, out);
	rds_rdma_dev_release(dev);
	return err;
}

/*
 * siw looks whether a key is valid, and then places what one packet has
 * brought; ending the key does not wait for that.  siw does both under
 * sk_callback_lock (siw_qp_llp_data_ready()), which is a section that a grace
 * period waits for.  After this no WRITE changes the memory.
 */
static void mr_wait_placed(const struct rds_rdma_dev *dev)
{
	if (dev->props.soft && dev->props.iwarp)
		synchronize_rcu_expedited();
}

/*
 * End a key that is not in the hash.  After the first step no peer can use it;
 * the second step unmaps the memory.
 */
static void mr_end(struct rds_rdma_dev *dev, struct rds_rdma_mr *mr,
		   bool invalidated)
{
	struct ib_send_wr wr = {
		.opcode			= IB_WR_LOCAL_INV,
		.ex.invalidate_rkey	= mr->rkey,
	};

	if (invalidated || !rds_rdma_registrar_run(dev, &mr->req, &wr)) {
		mr_wait_placed(dev);
		mr_unmap_sg(dev, mr);
		pool_put(dev, mr, true);
	} else {
		/* Without a registrar, only freeing the MR ends the key. */
		mr_destroy(dev, mr);
		mr_wait_placed(dev);
	}
}

void rds_rdma_mr_dereg(struct rds_rdma_mr *mr)
{
	struct rds_rdma_dev *dev = mr->dev;
	bool mine, invalidated;

	spin_lock_bh(&dev->lock);
	mine = hash_hashed(&mr->hash);
	invalidated = mr->invalidated;
	if (mine) {
		hash_del(&mr->hash);
		/*
		 * Counted also while the device is being removed, which then
		 * waits for it.
		 */
		dev->users++;
	}
	spin_unlock_bh(&dev->lock);
	if (mine) {
		mr_end(dev, mr, invalidated);
		rds_rdma_dev_release(dev);
	} else {
		wait_for_completion(&mr->swept);
		kfree(mr);
	}
	rds_rdma_dev_put(dev);
}

static void mr_unmap_work(struct work_struct *work)
{
	struct rds_rdma_mr *mr = container_of(work, struct rds_rdma_mr, work);
	void (*after)(void *arg) = mr->after;
	void *arg = mr->arg;

	rds_rdma_mr_dereg(mr);
	if (after)
		after(arg);
}

void rds_rdma_mr_dereg_later(struct rds_rdma_mr *mr, void (*done)(void *arg),
			     void *arg)
{
	mr->after = done;
	mr->arg = arg;
	queue_work(rds_rdma_wq, &mr->work);
}

u32 rds_rdma_mr_rkey(const struct rds_rdma_mr *mr)
{
	return mr->rkey;
}

u32 rds_rdma_mr_lkey(const struct rds_rdma_mr *mr)
{
	return mr->lkey;
}

u64 rds_rdma_mr_iova(const struct rds_rdma_mr *mr)
{
	return mr->iova;
}

void rds_rdma_mr_invalidated(struct rds_rdma_dev *dev, u32 rkey)
{
	struct rds_rdma_mr *mr;

	spin_lock_bh(&dev->lock);
	hash_for_each_possible(dev->mrs, mr, hash, rkey)
		if (mr->rkey == rkey)
			mr->invalidated = true;
	spin_unlock_bh(&dev->lock);
}

/* Free all kept keys of a pool. */
static void pool_flush(struct rds_rdma_dev *dev, struct rds_rdma_mr_pool *pool)
{
	struct rds_rdma_mr *mr, *tmp;
	LIST_HEAD(gone);

	spin_lock_bh(&dev->lock);
	list_splice_init(&pool->free, &gone);
	pool->nr_free = 0;
	spin_unlock_bh(&dev->lock);
	list_for_each_entry_safe(mr, tmp, &gone, free)
		mr_destroy(dev, mr);
}

static void pool_init(struct rds_rdma_mr_pool *pool, unsigned int pages,
		      unsigned int max)
{
	pool->pages = pages;
	pool->max = max;
	INIT_LIST_HEAD(&pool->free);
}

void rds_rdma_mr_dev_init(struct rds_rdma_dev *dev)
{
	/* One eighth of the device's MRs is left for its other users. */
	unsigned int all = dev->ib->attrs.max_mr > 0 ? dev->ib->attrs.max_mr :
						       U16_MAX;
	unsigned int large = min(large_max, all / 4),
		     fr = dev->props.max_fr_pages;

	hash_init(dev->mrs);
	pool_init(&dev->pools[0], min_t(unsigned int, RDS_RDMA_MR_SMALL, fr),
		  min(small_max, all - all / 8 - large));
	pool_init(&dev->pools[1], min_t(unsigned int, RDS_RDMA_MR_LARGE, fr),
		  large);
}

/*
 * End all keys of a device that is being removed: no connection is left and no
 * key can be made.  An owner that ends its key from now on waits for this; one
 * that has begun before is counted in rds_rdma_dev.users.
 */
void rds_rdma_mr_dev_gone(struct rds_rdma_dev *dev)
{
	struct rds_rdma_mr *mr, *next;
	struct hlist_node *tmp;
	LIST_HEAD(left);
	int i;

	spin_lock_bh(&dev->lock);
	hash_for_each_safe(dev->mrs, i, tmp, mr, hash) {
		hash_del(&mr->hash);
		list_add(&mr->free, &left);
	}
	spin_unlock_bh(&dev->lock);
	list_for_each_entry_safe(mr, next, &left, free) {
		mr_empty(dev, mr);
		complete(&mr->swept);	/* The owner may free @mr at once. */
	}
	pool_flush(dev, &dev->pools[0]);
	pool_flush(dev, &dev->pools[1]);
}

static void flush_dev(struct rds_rdma_dev *dev, void *arg)
{
	mr_count(&dev->pools[0], pool_flush);
	mr_count(&dev->pools[1], pool_flush);
	pool_flush(dev, &dev->pools[0]);
	pool_flush(dev, &dev->pools[1]);
}

/*
 * Implements &rds_memop_vtable.mr_flush for all namespaces, as devices have the
 * kept keys.
 */
static void memop_mr_flush(struct net *net)
{
	rds_rdma_dev_each(flush_dev, NULL);
}

/* Implements &rds_memop_vtable.mr_reg */
static int memop_mr_reg(struct net *net, const struct in6_addr *laddr,
			u32 scope, const struct rds_mem *mem, u32 rights,
			struct rds_mr_key *key)
{
	struct rds_rdma_dev *dev = rds_rdma_dev_by_addr(net, laddr, scope);
	enum dma_data_direction dir = DMA_TO_DEVICE;
	int access = 0, err;
	struct rds_rdma_mr *mr;

	if (!dev)
		return -ENODEV;
	if (rights & RDS_MR_REMOTE_READ)
		access |= IB_ACCESS_REMOTE_READ;
	if (rights & RDS_MR_REMOTE_WRITE) {
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
		if (dev->props.atomics)
			access |= IB_ACCESS_REMOTE_ATOMIC;
		dir = DMA_BIDIRECTIONAL;
	}
	err = WARN_ON_ONCE(dir != DMA_TO_DEVICE && !mem->writable) ? -EINVAL :
	      rds_rdma_mr_reg(dev, mem->bv, mem->nr, mem->bytes, access, dir,
			      rights & RDS_MR_USE_ONCE, &mr);
	if (!err) {
		key->rkey = rds_rdma_mr_rkey(mr);
		key->offset = lower_32_bits(rds_rdma_mr_iova(mr));
		key->handle = mr;
	}
	rds_rdma_dev_put(dev);
	return err;
}

/* Implements &rds_memop_vtable.mr_dereg */
static void memop_mr_dereg(void *handle)
{
	rds_rdma_mr_dereg(handle);
}

/* Implements &rds_memop_vtable.op_check */
static int memop_op_check(struct net *net, const struct in6_addr *laddr,
			  u32 scope, const struct rds_tx_operation *op)
{
	struct rds_rdma_dev *dev = rds_rdma_dev_by_addr(net, laddr, scope);
	bool atomic = op->kind == RDS_OP_FADD || op->kind == RDS_OP_CSWP;
	int err = 0;

	if (!dev)
		return -ENODEV;
	if (atomic &&
	    (!dev->props.atomics || (op->masked && !dev->props.masked)))
		err = -EOPNOTSUPP;
	rds_rdma_dev_put(dev);
	return err;
}

const struct rds_memop_vtable rds_rdma_memop_vtable = {
	.mr_reg		= memop_mr_reg,
	.mr_dereg	= memop_mr_dereg,
	.mr_flush	= memop_mr_flush,
	.op_check	= memop_op_check,
};
