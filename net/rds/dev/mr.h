/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects that keys are made of: mr.c has them and their pools, key.c makes
 * keys of them by the registrar, and sink.c gives them to connections, which
 * make keys of them by their own queue pairs.  In each case an object belongs
 * to one owner from rds_dev_mr_take() to _give_back() or _destroy().
 */
#ifndef _RDS_DEV_MR_H
#define _RDS_DEV_MR_H

#include <linux/completion.h>
#include <linux/workqueue.h>

#include "layer.h"
#include "registrar.h"

/**
 * struct rds_dev_mr - a key
 * @hash: entry in rds_dev_domain.mrs while in use, but for a sink
 * @free: entry in rds_dev_mr_pool.free or rds_dev_domain.stuck
 * @dom: domain of the key, counted while in use
 * @pool: pool that counts the key
 * @ib: MR of ib_core; NULL once the domain has ended
 * @rkey: key for peers
 * @lkey: key for this host
 * @sg: the memory, with room for as many entries as the pool's keys have pages
 * @nr: entries of @sg
 * @mapped: @sg is mapped for DMA
 * @dir: direction of the DMA mapping
 * @iova: address of the first byte for peers
 * @uses: number of keys that the object was
 * @once: a peer may end the key by Send with Invalidate
 * @invalidated: a peer's Send with Invalidate has ended the key; under
 *	rds_dev.lock
 * @swept: completed when the end of the domain has ended the key
 * @req: request to the registrar
 * @work: work of rds_dev_sink_put_later()
 * @ended: the device has ended the key, for @work
 * @after: called by @work when the object is back
 * @arg: argument of @after
 */
struct rds_dev_mr {
	struct hlist_node	hash;
	struct list_head	free;
	struct rds_dev_domain	*dom;
	struct rds_dev_mr_pool	*pool;
	struct ib_mr		*ib;
	u32			rkey;
	u32			lkey;
	struct scatterlist	*sg;
	unsigned int		nr;
	bool			mapped;
	enum dma_data_direction	dir;
	u64			iova;
	unsigned int		uses;
	bool			once;
	bool			invalidated;
	struct completion	swept;
	struct rds_dev_reg_req	req;
	struct work_struct	work;
	bool			ended;
	void			(*after)(void *arg);
	void			*arg;
};

#define mr_count(dom, pool, what)					\
	do {								\
		if ((pool)->pages <= RDS_DEV_MR_SMALL)			\
			rds_dev_stats_inc(dom, ib_rdma_mr_8k_##what);	\
		else							\
			rds_dev_stats_inc(dom, ib_rdma_mr_1m_##what);	\
	} while (0)

/*
 * Whether a key can have @nr pages: 0; -EINVAL: none; -EMSGSIZE: more than any
 * key of the domain.
 */
int rds_dev_mr_fits(const struct rds_dev_domain *dom, unsigned int nr);

/*
 * Take an object of the pools, or make one; it describes memory, which is
 * mapped, under a new rkey and address.  The key is not made.  The parameters
 * are those of rds_dev_mr_reg(), and rds_dev_mr_fits() has allowed @nr.  May
 * sleep for memory, and for nothing else.  ERR_PTR(): -ENOSPC, -EINVAL,
 * -EOPNOTSUPP and -ENOMEM as rds_dev_mr_reg().
 */
struct rds_dev_mr *rds_dev_mr_take(struct rds_dev_domain *dom,
				   const struct bio_vec *bv, unsigned int nr,
				   u32 bytes, enum dma_data_direction dir,
				   bool once);

/*
 * Give back an object whose key has ended, or was never made: it is unmapped,
 * and kept for later use or freed.  May sleep.
 */
void rds_dev_mr_give_back(struct rds_dev_domain *dom, struct rds_dev_mr *mr);

/*
 * Free an object whose key may be in any state, or keep it, with its pages, if
 * the device does not end the key.  May sleep.  _empty: the same, but the
 * caller frees @mr, or, if false, keeps it.
 */
void rds_dev_mr_destroy(struct rds_dev_domain *dom, struct rds_dev_mr *mr);
bool rds_dev_mr_empty(struct rds_dev_domain *dom, struct rds_dev_mr *mr);

/*
 * Wait, after a key has ended, until no peer changes its memory any more.  May
 * sleep.
 */
void rds_dev_mr_wait_placed(const struct rds_dev_domain *dom);

/* Free what is kept of a domain that ends. */
void rds_dev_mr_free_kept(struct rds_dev_domain *dom);

/* sink.c: work function of every object */
void rds_dev_sink_work(struct work_struct *work);

#endif
