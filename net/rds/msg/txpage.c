// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reuse of the pages of outgoing messages; txpage.h has the rules. */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "msg/txpage.h"

static struct page **entry(const struct rds_txpages *p, unsigned int pos)
{
	return &p->ring[pos % RDS_TXPAGES];
}

static bool ring_make(struct rds_txpages *p, gfp_t gfp)
{
	struct page **ring;

	if (likely(READ_ONCE(p->ring)))
		return true;
	ring = kmalloc_array(RDS_TXPAGES, sizeof(*ring), gfp | __GFP_NOWARN);
	if (!ring)
		return false;
	/*
	 * Another task that sends from the socket may have set the ring
	 * meanwhile.
	 */
	if (cmpxchg(&p->ring, NULL, ring))
		kfree(ring);
	return true;
}

/* Bytes of messages that the peer's transport has, and its core soon */
#define TXPAGES_KEPT	(512 * 1024U)

/*
 * Number of pages to remember: enough for the messages of a full send buffer
 * with their headers, for unused ends of pages, for pages that a device still
 * refers to after the acknowledgement, and for messages that are kept until the
 * peer's core acknowledges.
 */
static unsigned int ring_max(const struct rds_txpages *p, unsigned int size)
{
	return min(READ_ONCE(*p->sndbuf) / size * 2 + TXPAGES_KEPT / size + 2,
		   RDS_TXPAGES);
}

/*
 * Remember the full page of @frag, and continue with the oldest if only the
 * ring refers to it.
 */
static void ring_turn(struct rds_txpages *p, struct page_frag *frag)
{
	struct page *full = frag->page, *old = NULL;

	spin_lock(&p->lock);
	frag->page = NULL;
	if (p->tail != p->head && page_ref_count(*entry(p, p->tail)) == 1)
		frag->page = *entry(p, p->tail++);
	else if (p->head - p->tail >= ring_max(p, frag->size))
		old = *entry(p, p->tail++);
	*entry(p, p->head++) = full;
	if (unlikely(!p->held)) {
		p->held = true;
		schedule_delayed_work(&p->work, RDS_TXPAGES_HOLD);
	}
	spin_unlock(&p->lock);
	if (old)
		put_page(old);
	if (!frag->page)
		return;
	frag->offset = 0;
	frag->size = page_size(frag->page);
}

/* Is the page of this NUMA node, and not of the emergency reserves? */
static bool page_wanted(struct page *page)
{
	return page_to_nid(page) == numa_mem_id() && !page_is_pfmemalloc(page);
}

bool rds_txpages_refill(struct rds_txpages *p, struct page_frag *frag,
			size_t want, gfp_t gfp)
{
	if (frag->page) {
		if (page_ref_count(frag->page) == 1) {
			frag->offset = 0;
			return true;
		}
		if (frag->offset + want <= frag->size)
			return true;
		if (page_wanted(frag->page) && ring_make(p, gfp))
			ring_turn(p, frag);
		if (frag->page && frag->offset + want <= frag->size)
			return true;
	}
	return skb_page_frag_refill(want, frag, gfp);
}

/* Drop the oldest pages until @keep are left. */
static void ring_drop(struct rds_txpages *p, unsigned int keep)
{
	struct page *page;

	do {
		spin_lock(&p->lock);
		page = p->head - p->tail > keep ? *entry(p, p->tail++) : NULL;
		spin_unlock(&p->lock);
		if (page)
			put_page(page);
	} while (page);
}

static void txpages_work(struct work_struct *work)
{
	struct rds_txpages *p = container_of(work, struct rds_txpages,
					     work.work);
	unsigned int filled;

	spin_lock(&p->lock);
	filled = p->head - p->seen;
	p->seen = p->head;
	/*
	 * If no page was filled, ring_turn() schedules the work again with the
	 * next full page.
	 */
	p->held = filled;
	if (filled)
		schedule_delayed_work(&p->work, RDS_TXPAGES_HOLD);
	spin_unlock(&p->lock);
	ring_drop(p, filled);
}

void rds_txpages_init(struct rds_txpages *p, const int *sndbuf)
{
	spin_lock_init(&p->lock);
	p->sndbuf = sndbuf;
	INIT_DELAYED_WORK(&p->work, txpages_work);
}

void rds_txpages_end(struct rds_txpages *p)
{
	cancel_delayed_work_sync(&p->work);
	ring_drop(p, 0);
	kfree(p->ring);
}
