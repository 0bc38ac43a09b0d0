// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory of received messages. */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "msg/incoming.h"
#include "msg/rxpeer.h"

/*
 * Range of a socket buffer that belongs to a message; stored in the cb of the
 * clone.  The message is the only user of an own buffer, which has copies of
 * short ranges.
 */
struct inc_range {
	unsigned int	off;
	unsigned int	len;
	bool		own;
};

#define INC_RANGE(skb)	((struct inc_range *)(skb)->cb)

/* Memory of a message, and of a clone of a socket buffer, in bytes */
#define INC_SIZE	ALIGN(sizeof(struct rds_incoming), SMP_CACHE_BYTES)
#define CLONE_SIZE	ALIGN(sizeof(struct sk_buff), SMP_CACHE_BYTES)

/* Payload of an own socket buffer, and of the longest range that is copied */
#define OWN_MAX		SKB_MAX_ORDER(0, 0)
#define OWN_RANGE	(OWN_MAX / 2)

/* Bytes of socket buffers that one message may keep for others */
#define EXCESS_MAX	SZ_512K

static struct kmem_cache *incoming_cache;

/* Implements rds_rx_alloc(), see include/net/rds/rx.h. */
struct rds_incoming *rds_inc_alloc(u32 len, bool linear, gfp_t gfp)
{
	struct rds_incoming *inc = kmem_cache_alloc(incoming_cache,
						    gfp | __GFP_NOWARN);

	if (!inc)
		return NULL;
	refcount_set(&inc->refs, 1);
	inc->len = len;
	inc->nr = 0;
	inc->max = 0;
	inc->filled = 0;
	inc->truesize = INC_SIZE;
	inc->excess = 0;
	inc->peer = NULL;
	inc->cookie = 0;
	inc->tstamp = 0;
	inc->trace[0] = 0;
	inc->form = RDS_INC_BUFFER;
	inc->buf = inc->inl;
	if (len <= RDS_INC_INLINE)
		return inc;
	if (!linear) {
		inc->form = RDS_INC_SKBS;
		inc->skbs = NULL;
		inc->last = NULL;
		return inc;
	}
	inc->truesize += len;
	inc->buf = kmalloc(len, gfp | __GFP_NOWARN);
	if (inc->buf)
		return inc;
	kmem_cache_free(incoming_cache, inc);
	return NULL;
}

static void inc_free_skbs(struct sk_buff *skb)
{
	struct sk_buff *next;

	for (; skb; skb = next) {
		next = skb->next;
		skb->next = NULL;
		consume_skb(skb);
	}
}

/* Give back all that a message has but its own memory. */
static void inc_end(struct rds_incoming *inc)
{
	unsigned int i;

	switch ((enum rds_inc_form)inc->form) {
	case RDS_INC_BUFFER:
		if (inc->buf != inc->inl)
			kfree(inc->buf);
		break;
	case RDS_INC_SKBS:
		inc_free_skbs(inc->skbs);
		break;
	case RDS_INC_PAGES:
		for (i = 0; i < inc->nr; i++)
			put_page(inc->bv[i].bv_page);
		if (inc->bv != (struct bio_vec *)inc->inl)
			kfree(inc->bv);
		break;
	}
	if (unlikely(inc->peer))
		rds_rx_peer_give(inc->peer, inc->truesize);
}

void rds_rx_free(struct rds_incoming *inc)
{
	if (!inc)
		return;
	inc_end(inc);
	kmem_cache_free(incoming_cache, inc);
}
EXPORT_SYMBOL_NS_GPL(rds_rx_free, RDS_NS);

void rds_inc_put(struct rds_incoming *inc)
{
	if (refcount_dec_and_test(&inc->refs))
		rds_rx_free(inc);
}

void rds_inc_put_later(struct rds_incoming *inc, struct llist_head *spent)
{
	if (!refcount_dec_and_test(&inc->refs))
		return;
	inc_end(inc);
	llist_add(&inc->spent, spent);
}

void rds_inc_free_spent(struct llist_head *spent)
{
	struct llist_node *node = llist_del_all(spent);
	/* Mostly there are few messages: the rest is not cleared. */
	void *some[RDS_INC_SPENT] __uninitialized;
	unsigned int n = 0;

	while (node) {
		some[n++] = llist_entry(node, struct rds_incoming, spent);
		node = node->next;
		if (n < RDS_INC_SPENT && node)
			continue;
		kmem_cache_free_bulk(incoming_cache, n, some);
		n = 0;
	}
}

void *rds_rx_buffer(struct rds_incoming *inc)
{
	return inc->form == RDS_INC_BUFFER ? inc->buf : NULL;
}
EXPORT_SYMBOL_NS_GPL(rds_rx_buffer, RDS_NS);

/* The share of a range in the memory of a socket buffer */
static u32 inc_share(const struct sk_buff *skb, unsigned int len)
{
	if (len == skb->len)
		return skb->truesize;
	return max_t(u32, len, mul_u64_u32_div(skb->truesize, len, skb->len));
}

static void inc_append(struct rds_incoming *inc, struct sk_buff *skb,
		       struct inc_range range)
{
	*INC_RANGE(skb) = range;
	skb->next = NULL;
	if (inc->last)
		inc->last->next = skb;
	else
		inc->skbs = skb;
	inc->last = skb;
}

/* The rest of the memory of a socket buffer */
static u32 inc_excess(const struct sk_buff *skb, unsigned int len)
{
	u32 share = inc_share(skb, len);

	return skb->truesize > share ? skb->truesize - share : 0;
}

/*
 * Would the message keep too much that is not its own?  That takes many ranges
 * that are parts of socket buffers, as of segments that overlap.
 */
static bool inc_keeps_much(const struct rds_incoming *inc,
			   const struct sk_buff *skb, unsigned int len)
{
	return inc->excess + inc_excess(skb, len) > EXCESS_MAX;
}

/*
 * Is a range, not the first, so short that a copy mostly takes less memory?  A
 * peer chooses how short its segments are.
 */
static bool inc_should_copy(const struct rds_incoming *inc,
			    const struct sk_buff *skb, unsigned int len)
{
	return inc->last && len <= OWN_RANGE &&
	       (CLONE_SIZE + inc_share(skb, len) > 2 * len ||
		inc_keeps_much(inc, skb, len));
}

static void inc_copy_in(struct sk_buff *own, const struct sk_buff *skb,
			unsigned int off, unsigned int len)
{
	WARN_ON_ONCE(skb_copy_bits(skb, off, skb_put(own, len), len));
	INC_RANGE(own)->len += len;
}

/* Copy a range behind the last one; nothing is appended without memory. */
static bool inc_add_copy(struct rds_incoming *inc, const struct sk_buff *skb,
			 unsigned int off, unsigned int len, gfp_t gfp)
{
	struct sk_buff *last = inc->last, *fresh;
	unsigned int part = 0;

	if (INC_RANGE(last)->own)
		part = min_t(unsigned int, len, skb_tailroom(last));
	if (part < len) {
		fresh = alloc_skb(min_t(unsigned int, inc->len - inc->filled,
					OWN_MAX), gfp | __GFP_NOWARN);
		if (!fresh)
			return false;
		inc_append(inc, fresh, (struct inc_range){ .own = true });
		inc->truesize += fresh->truesize;
		inc_copy_in(fresh, skb, off + part, len - part);
	}
	if (part)
		inc_copy_in(last, skb, off, part);
	inc->filled += len;
	return true;
}

/*
 * Own socket buffers with a copy of a range of @skb, linked by next; NULL
 * without memory.
 */
static struct sk_buff *inc_copies(const struct sk_buff *skb,
				  struct inc_range range, gfp_t gfp)
{
	struct sk_buff *first = NULL, **end = &first, *own;
	unsigned int n;

	for (; range.len; range.off += n, range.len -= n) {
		n = min_t(unsigned int, range.len, OWN_MAX);
		own = alloc_skb(n, gfp | __GFP_NOWARN);
		if (!own) {
			inc_free_skbs(first);
			return NULL;
		}
		*INC_RANGE(own) = (struct inc_range){ .own = true };
		inc_copy_in(own, skb, range.off, n);
		own->next = NULL;
		*end = own;
		end = &own->next;
	}
	return first;
}

static void inc_add_clone(struct rds_incoming *inc, struct sk_buff *clone)
{
	unsigned int len = INC_RANGE(clone)->len;

	inc_append(inc, clone, *INC_RANGE(clone));
	inc->truesize += CLONE_SIZE + inc_share(clone, len);
	inc->excess += inc_excess(clone, len);
}

/* Append copies of a range of @skb; nothing without memory. */
static bool inc_add_copies(struct rds_incoming *inc, const struct sk_buff *skb,
			   struct inc_range range, gfp_t gfp)
{
	struct sk_buff *own = inc_copies(skb, range, gfp), *next;

	if (!own)
		return false;
	inc->filled += range.len;
	for (; own; own = next) {
		next = own->next;
		inc->truesize += own->truesize;
		inc_append(inc, own, *INC_RANGE(own));
	}
	return true;
}

bool rds_rx_copy_skb(struct rds_incoming *inc, const struct sk_buff *skb,
		     unsigned int off, unsigned int len, gfp_t gfp)
{
	struct inc_range range = { .off = off, .len = len };

	if (WARN_ON_ONCE(inc->form != RDS_INC_SKBS))
		return false;
	return inc_add_copies(inc, skb, range, gfp);
}
EXPORT_SYMBOL_NS_GPL(rds_rx_copy_skb, RDS_NS);

bool rds_rx_add_skb(struct rds_incoming *inc, struct sk_buff *skb,
		    unsigned int off, unsigned int len, gfp_t gfp)
{
	struct inc_range range = { .off = off, .len = len };
	struct sk_buff *clone;

	if (WARN_ON_ONCE(inc->form != RDS_INC_SKBS))
		return false;
	if (inc_should_copy(inc, skb, len))
		return inc_add_copy(inc, skb, off, len, gfp);
	if (unlikely(inc_keeps_much(inc, skb, len)))
		return inc_add_copies(inc, skb, range, gfp);
	clone = skb_clone(skb, gfp | __GFP_NOWARN);
	if (!clone)
		return false;
	*INC_RANGE(clone) = range;
	inc_add_clone(inc, clone);
	inc->filled += len;
	return true;
}
EXPORT_SYMBOL_NS_GPL(rds_rx_add_skb, RDS_NS);

/*
 * Put copies in the place of the socket buffer at @link.  Returns the last of
 * them, or the socket buffer without memory.
 */
static struct sk_buff *inc_replace(struct rds_incoming *inc,
				   struct sk_buff **link, gfp_t gfp)
{
	struct sk_buff *skb = *link, *own;

	own = inc_copies(skb, *INC_RANGE(skb), gfp);
	if (!own)
		return skb;
	inc->truesize -= CLONE_SIZE + inc_share(skb, INC_RANGE(skb)->len);
	inc->excess -= inc_excess(skb, INC_RANGE(skb)->len);
	*link = own;
	for (;;) {
		inc->truesize += own->truesize;
		if (!own->next)
			break;
		own = own->next;
	}
	own->next = skb->next;
	consume_skb(skb);
	return own;
}

void rds_inc_own(struct rds_incoming *inc, gfp_t gfp)
{
	struct sk_buff **link = &inc->skbs, *skb;

	if (!inc->excess || WARN_ON_ONCE(inc->form != RDS_INC_SKBS))
		return;
	while ((skb = *link)) {
		if (!INC_RANGE(skb)->own &&
		    inc_excess(skb, INC_RANGE(skb)->len))
			skb = inc_replace(inc, link, gfp);
		inc->last = skb;
		link = &skb->next;
	}
	inc->truesize += inc->excess;
	inc->excess = 0;
}

/*
 * Make room for one more page fragment.  The first entries are in @inl, the
 * place of a short payload.  A larger array has an entry for each page of the
 * payload, and doubles if that is not enough because fragments are smaller.
 */
static bool inc_grow_pages(struct rds_incoming *inc)
{
	unsigned int max = sizeof(inc->inl) / sizeof(*inc->bv);
	struct bio_vec *bv = (struct bio_vec *)inc->inl;

	if (inc->max) {
		max = max(inc->max * 2U, inc->len / PAGE_SIZE + 1);
		bv = krealloc(inc->bv == bv ? NULL : inc->bv, max * sizeof(*bv),
			      GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
		if (!bv)
			return false;
		inc->truesize += (max - inc->max) * sizeof(*bv);
		if (inc->bv == (struct bio_vec *)inc->inl)
			memcpy(bv, inc->inl, sizeof(inc->inl));
	}
	inc->form = RDS_INC_PAGES;
	inc->bv = bv;
	inc->max = max;
	return true;
}

bool rds_rx_add_page(struct rds_incoming *inc, struct page *page,
		     unsigned int off, unsigned int len, u32 truesize)
{
	/*
	 * A message of socket buffers becomes one of pages only before the
	 * first is appended.
	 */
	if (WARN_ON_ONCE(inc->form == RDS_INC_BUFFER ||
			 (inc->form == RDS_INC_SKBS && inc->skbs)))
		return false;
	if (inc->nr == inc->max && !inc_grow_pages(inc))
		return false;
	bvec_set_page(&inc->bv[inc->nr++], page, len, off);
	inc->filled += len;
	inc->truesize += truesize;
	return true;
}
EXPORT_SYMBOL_NS_GPL(rds_rx_add_page, RDS_NS);

/*
 * Copy a range of a socket buffer.  Large payloads are mostly in page fragments
 * only.
 */
static bool inc_copy_range(struct sk_buff *skb, unsigned int off,
			   struct iov_iter *to, size_t len)
{
	unsigned int head = skb_headlen(skb), i;
	size_t part;

	if (off < head || skb_has_frag_list(skb) || skb_zcopy(skb))
		return !skb_copy_datagram_iter(skb, off, to, len);
	off -= head;
	for (i = 0; i < skb_shinfo(skb)->nr_frags && len; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		if (off >= skb_frag_size(frag)) {
			off -= skb_frag_size(frag);
			continue;
		}
		part = min_t(size_t, len, skb_frag_size(frag) - off);
		if (copy_page_to_iter(skb_frag_page(frag),
				      skb_frag_off(frag) + off, part,
				      to) != part)
			return false;
		off = 0;
		len -= part;
	}
	return !len;
}

static bool inc_copy_skbs(struct rds_incoming *inc, struct iov_iter *to,
			  size_t left)
{
	struct sk_buff *skb;
	size_t part;

	for (skb = inc->skbs; skb && left; skb = skb->next, left -= part) {
		part = min_t(size_t, left, INC_RANGE(skb)->len);
		if (!inc_copy_range(skb, INC_RANGE(skb)->off, to, part))
			return false;
	}
	return !left;
}

static bool inc_copy_pages(struct rds_incoming *inc, struct iov_iter *to,
			   size_t left)
{
	unsigned int i;
	size_t part;

	for (i = 0; i < inc->nr && left; i++, left -= part) {
		part = min_t(size_t, left, inc->bv[i].bv_len);
		if (copy_page_to_iter(inc->bv[i].bv_page, inc->bv[i].bv_offset,
				      part, to) != part)
			return false;
	}
	return !left;
}

/*
 * Copy an inline payload.  copy_to_iter() would look up the slab and the place
 * of the payload in it, to find out whether it lies within @inl, which costs
 * more than to copy some bytes.
 */
static bool inc_copy_inline(struct rds_incoming *inc, struct iov_iter *to,
			    size_t len)
{
	if (WARN_ON_ONCE(len > sizeof(inc->inl)))
		return false;
	return _copy_to_iter(inc->inl, len, to) == len;
}

static bool inc_copy_buffer(struct rds_incoming *inc, struct iov_iter *to,
			    size_t len)
{
	if (inc->buf == inc->inl)
		return inc_copy_inline(inc, to, len);
	return copy_to_iter(inc->buf, len, to) == len;
}

ssize_t rds_inc_copy(struct rds_incoming *inc, struct iov_iter *to)
{
	size_t len = min_t(size_t, inc->len, iov_iter_count(to));
	bool ok = false;

	switch ((enum rds_inc_form)inc->form) {
	case RDS_INC_BUFFER:
		ok = inc_copy_buffer(inc, to, len);
		break;
	case RDS_INC_SKBS:
		ok = inc_copy_skbs(inc, to, len);
		break;
	case RDS_INC_PAGES:
		ok = inc_copy_pages(inc, to, len);
		break;
	}
	return ok ? len : -EFAULT;
}

int __init rds_incoming_init(void)
{
	const unsigned int inl = offsetof(struct rds_incoming, inl);

	/*
	 * User memory is filled from @inl only, see inc_copy_inline().  This
	 * also keeps the cache from being merged with others, whose allocations
	 * the fault injection of selftests/limits would make fail as well.
	 */
	incoming_cache = kmem_cache_create_usercopy("rds_incoming",
						    sizeof(struct rds_incoming),
						    0, SLAB_HWCACHE_ALIGN, inl,
						    RDS_INC_INLINE, NULL);
	return incoming_cache ? 0 : -ENOMEM;
}

void rds_incoming_exit(void)
{
	kmem_cache_destroy(incoming_cache);
}
