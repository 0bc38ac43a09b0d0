/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keys of memory: what a peer, or this host, needs to have a device read or
 * write it.  A key is of a domain, and belongs to who made it until it is
 * ended.  Ended keys are kept for later use, and pages stay pinned as long as a
 * device may still reach them.
 *
 * Keys for peers are made and ended by the registrar (rds_dev_mr_reg()).  A
 * sink is a key for a READ of this host's; the caller's own queue pair makes
 * and ends it (rds_dev_sink_take()).
 */
#ifndef _NET_RDS_DEV_KEY_H
#define _NET_RDS_DEV_KEY_H

#include <linux/bvec.h>
#include <linux/dma-direction.h>
#include <linux/types.h>

struct ib_reg_wr;
struct rds_dev_domain;
struct rds_dev_mr;
struct rds_dev_user;

/**
 * rds_dev_mr_reg - make a key of memory
 * @dom: domain
 * @bv: memory; entries lie within pages, only the first may start and only the
 *	last end inside one
 * @nr: entries of @bv
 * @bytes: length of all entries of @bv together
 * @access: IB_ACCESS_*
 * @dir: direction of the DMA mapping
 * @once: a peer may end the key by Send with Invalidate; if the device can do
 *	that, the address has the bits rds_dev_user.once
 * @out: the key, which the caller owns until rds_dev_mr_dereg()
 *
 * Waits for the registrar.  Context: process, may sleep.
 * Return: 0 with @out filled; -EMSGSIZE: more pages than a key of the device
 * can have; -ENOSPC: all keys of the domain are in use; -EINVAL: the device
 * cannot map this layout; -EOPNOTSUPP: the memory would be copied, or the
 * device refuses a key with these rights; -ENOMEM; -ENODEV: the domain ends;
 * -EAGAIN: the registrar is coming up or recovering; -EINTR.
 */
int rds_dev_mr_reg(struct rds_dev_domain *dom, const struct bio_vec *bv,
		   unsigned int nr, u32 bytes, int access,
		   enum dma_data_direction dir, bool once,
		   struct rds_dev_mr **out);

/*
 * End a key: it is invalidated, unmapped, and kept for later use.  May sleep.
 */
void rds_dev_mr_dereg(struct rds_dev_mr *mr);

u32 rds_dev_mr_rkey(const struct rds_dev_mr *mr);
u32 rds_dev_mr_lkey(const struct rds_dev_mr *mr);
/* address of the first byte for peers */
u64 rds_dev_mr_iova(const struct rds_dev_mr *mr);

/**
 * rds_dev_sink_take - prepare a key for the memory that a READ goes to
 * @dom: domain, in which the caller has an id entered until the sink is put
 * @bv: memory, as for rds_dev_mr_reg()
 * @nr: entries of @bv
 * @bytes: length of all entries of @bv together
 * @out: the sink, which the caller owns until rds_dev_sink_put()
 *
 * The memory is mapped, and has an address and an rkey.  The key is valid
 * behind the work request of rds_dev_sink_wr().
 *
 * Waits for memory and for nothing else.  Context: process, may sleep.
 * Return: 0 with @out filled; -EMSGSIZE, -ENOSPC, -EINVAL, -EOPNOTSUPP and
 * -ENOMEM as rds_dev_mr_reg().
 */
int rds_dev_sink_take(struct rds_dev_domain *dom, const struct bio_vec *bv,
		      unsigned int nr, u32 bytes, struct rds_dev_mr **out);

/*
 * Fill in the work request that makes the key, with the right to write, but for
 * what is of no concern to the key: completion and flags.  It may be posted
 * once, or again if the device refused it.
 */
void rds_dev_sink_wr(const struct rds_dev_mr *mr, struct ib_reg_wr *wr);

/*
 * Give a sink back.  @ended: its key was ended by a work request that has
 * completed, or never made; else the key may be in any state, and the queue
 * pair is destroyed or never had it.  On return no peer changes the memory,
 * which is unmapped.  May sleep, but does not wait for the registrar.
 */
void rds_dev_sink_put(struct rds_dev_mr *mr, bool ended);

/*
 * Have a worker do the same, and then call @after with @arg.  Any context but
 * hard interrupts.
 */
void rds_dev_sink_put_later(struct rds_dev_mr *mr, bool ended,
			    void (*after)(void *arg), void *arg);

/*
 * Note that a peer's Send with Invalidate has ended a key in the device.  Any
 * context.
 */
void rds_dev_mr_invalidated(struct rds_dev_domain *dom, u32 rkey);

/* Free ended keys of @user that are kept for later use.  May sleep. */
void rds_dev_mr_flush_all(const struct rds_dev_user *user);

#endif
