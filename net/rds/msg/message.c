// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory of outgoing messages.
 *
 * Header and payload are page fragments, so a stream transport can hand over
 * any number of messages as one vector without copying.  A system call takes
 * them from the page fragment of the calling task, which needs a lock only when
 * a page is full (txpage.h).  Messages that are sent one after the other are
 * then adjacent in memory, and TCP merges them.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "msg/message.h"
#include "msg/txpage.h"
#include "proto/exthdr.h"
#include "proto/header.h"

/*
 * A message fits in two cache lines; a new field has to find a place in their
 * order.
 */
static_assert(sizeof(struct rds_message) <= 128);

#define HDR_SIZE	sizeof(struct rds_wire_header)

static struct kmem_cache *message_cache;

/* Bytes in front of an array that was allocated */
static size_t message_front(const struct rds_message *m)
{
	return m->tx.lent ? sizeof(struct rds_zcopy) : 0;
}

static bool message_alloc_bv(struct rds_message *m, unsigned int max_bv,
			     gfp_t gfp)
{
	size_t front = message_front(m);
	void *p;

	p = kmalloc(size_add(front, array_size(max_bv, sizeof(*m->tx.bv))),
		    gfp);
	if (!p)
		return false;
	m->tx.bv = p + front;
	if (front)
		*rds_message_zcopy_of(m) = (struct rds_zcopy){};
	return true;
}

static void message_free_bv(struct rds_message *m)
{
	if (m->tx.bv != &m->inline_bv)
		kfree((void *)m->tx.bv - message_front(m));
}

static struct rds_message *message_alloc(u32 len, unsigned int max_bv,
					 bool lent, gfp_t gfp)
{
	struct rds_message *m = kmem_cache_alloc(message_cache, gfp);

	if (!m)
		return NULL;
	m->tx.nr_bv = 0;
	m->tx.bytes = HDR_SIZE + len;
	m->tx.lent = lent;
	m->tx.want_ack = false;
	m->tx.request = NULL;
	m->tx.end = 0;
	m->tx.bv = &m->inline_bv;
	m->owner = NULL;
	m->len = len;
	m->flags = 0;
	m->seq = 0;
	m->request = NULL;
	m->own.lane = NULL;
	if (max_bv <= 1 && !lent)
		return m;
	if (message_alloc_bv(m, max_bv, gfp))
		return m;
	kmem_cache_free(message_cache, m);
	return NULL;
}

/*
 * Append a piece of the task's page fragment to the message: at most @want
 * bytes, and at least a page or all of @want.  Sets @got to the size of the
 * piece.  Returns its address, or NULL without memory.
 */
static void *message_add_frag(struct rds_message *m, struct rds_txpages *pages,
			      size_t want, size_t *got, gfp_t gfp)
{
	struct page_frag *frag = &current->task_frag;
	void *p;

	if (!rds_txpages_refill(pages, frag, min_t(size_t, want, PAGE_SIZE),
				gfp))
		return NULL;
	*got = min_t(size_t, want, frag->size - frag->offset);
	p = page_address(frag->page) + frag->offset;
	get_page(frag->page);
	bvec_set_page(&m->tx.bv[m->tx.nr_bv++], frag->page, *got, frag->offset);
	/* Align the start of the next header. */
	frag->offset += ALIGN(*got, 8);
	if (frag->offset > frag->size)
		frag->offset = frag->size;
	return p;
}

/*
 * Fill a fragment with payload from offset @skip on.  copy_from_iter() checks
 * its destination first, and copy_page_from_iter() works page by page: both
 * cost too much for a few bytes.  The fragment is one piece of a compound page
 * that message_add_frag() has measured.
 */
static bool message_fill(const struct bio_vec *bv, size_t skip,
			 struct iov_iter *from)
{
	size_t n = bv->bv_len - skip;

	return _copy_from_iter(page_address(bv->bv_page) + bv->bv_offset + skip,
			       n, from) == n;
}

struct rds_message *rds_message_copy(struct rds_txpages *pages,
				     struct iov_iter *from, u16 sport,
				     u16 dport, gfp_t gfp)
{
	size_t len = iov_iter_count(from);
	size_t left = HDR_SIZE + len, skip = HDR_SIZE, got;
	struct rds_message *m;
	void *p;

	/* Each entry but the last has at least PAGE_SIZE bytes. */
	m = message_alloc(len, left / PAGE_SIZE + 1, false, gfp);
	if (!m)
		return ERR_PTR(-ENOMEM);
	for (; left; left -= got) {
		p = message_add_frag(m, pages, left, &got, gfp);
		if (!p)
			goto nomem;
		if (skip) {
			m->tx.hdr = p;
			rds_header_init(p, 0, len, sport, dport, 0);
		}
		if (!message_fill(&m->tx.bv[m->tx.nr_bv - 1], skip, from))
			goto fault;
		skip = 0;
	}
	return m;

nomem:
	rds_message_free(m);
	return ERR_PTR(-ENOMEM);
fault:
	rds_message_free(m);
	return ERR_PTR(-EFAULT);
}

/* Pin the next pages of user memory and append them to the message. */
static int message_add_user(struct rds_message *m, struct iov_iter *from,
			    unsigned int max_bv)
{
	struct page *pages[16], **pp = pages;
	unsigned int want, n;
	size_t off, part;
	ssize_t got;

	want = min_t(unsigned int, ARRAY_SIZE(pages), max_bv - m->tx.nr_bv);
	got = iov_iter_extract_pages(from, &pp, iov_iter_count(from), want, 0,
				     &off);
	if (got <= 0)
		return got < 0 ? got : -EFAULT;
	for (n = 0; got > 0; n++, got -= part, off = 0) {
		part = min_t(size_t, got, PAGE_SIZE - off);
		bvec_set_page(&m->tx.bv[m->tx.nr_bv++], pages[n], part, off);
	}
	return 0;
}

struct rds_message *rds_message_zcopy(struct rds_txpages *pages,
				      struct iov_iter *from, u16 sport,
				      u16 dport, u32 cookie)
{
	size_t len = iov_iter_count(from), got;
	struct rds_zcopy *zcopy;
	struct rds_message *m;
	unsigned int max_bv;
	int ret = -ENOMEM;
	void *p;

	if (!iov_iter_extract_will_pin(from))
		return ERR_PTR(-EFAULT);
	max_bv = iov_iter_npages(from, INT_MAX - 1) + 1;
	m = message_alloc(len, max_bv, true, GFP_KERNEL_ACCOUNT);
	if (!m)
		return ERR_PTR(-ENOMEM);
	p = message_add_frag(m, pages, HDR_SIZE, &got, GFP_KERNEL_ACCOUNT);
	if (!p)
		goto fail;
	m->tx.hdr = p;
	rds_header_init(p, 0, len, sport, dport, 0);
	zcopy = rds_message_zcopy_of(m);
	zcopy->cookie = cookie;
	if (mm_account_pinned_pages(&zcopy->mmp, len))
		goto fail;
	while (iov_iter_count(from)) {
		ret = m->tx.nr_bv < max_bv ? message_add_user(m, from, max_bv) :
					     -EFAULT;
		if (ret)
			goto fail;
	}
	return m;

fail:
	rds_message_free(m);
	return ERR_PTR(ret);
}

struct rds_message *rds_message_kernel(u32 len, u16 sport, u16 dport,
				       void **payload, gfp_t gfp)
{
	struct rds_message *m = message_alloc(len, len ? 2 : 1, false, gfp);
	struct page *page;
	void *p;

	if (!m)
		return NULL;
	p = netdev_alloc_frag(HDR_SIZE);
	if (!p)
		goto fail;
	page = virt_to_head_page(p);
	bvec_set_page(&m->tx.bv[m->tx.nr_bv++], page, HDR_SIZE,
		      p - page_address(page));
	m->tx.hdr = p;
	rds_header_init(p, 0, len, sport, dport, 0);
	if (!len)
		return m;
	page = alloc_pages(gfp | __GFP_COMP | __GFP_ZERO, get_order(len));
	if (!page)
		goto fail;
	bvec_set_page(&m->tx.bv[m->tx.nr_bv++], page, len, 0);
	if (payload)
		*payload = page_address(page);
	return m;

fail:
	rds_message_free(m);
	return NULL;
}

/*
 * Make the header an entry of its own, where payload follows it in the same
 * entry.
 */
static bool message_split_header(struct rds_message *m)
{
	unsigned int n = m->tx.nr_bv;
	struct bio_vec *bv;

	/* The header of a message with user pages always is one. */
	if (m->tx.bv[0].bv_len == HDR_SIZE)
		return true;
	bv = kmalloc_array(n + 1, sizeof(*bv), GFP_ATOMIC);
	if (!bv)
		return false;
	memcpy(bv + 1, m->tx.bv, n * sizeof(*bv));
	bvec_set_page(&bv[0], bv[1].bv_page, HDR_SIZE, bv[1].bv_offset);
	bv[1].bv_offset += HDR_SIZE;
	bv[1].bv_len -= HDR_SIZE;
	get_page(bv[0].bv_page);
	message_free_bv(m);
	m->tx.bv = bv;
	m->tx.nr_bv = n + 1;
	return true;
}

static void message_untell(struct rds_wire_header *hdr)
{
	rds_message_drop_ack(hdr);
	rds_handshake_drop_npaths(hdr->exthdr);
	rds_lane_untag(hdr->exthdr);
}

void rds_message_untell(struct rds_message *m)
{
	message_untell(m->tx.hdr);
}

bool rds_message_renew_header(struct rds_message *m, bool tag,
			      unsigned int lane)
{
	struct rds_wire_header *hdr = netdev_alloc_frag(HDR_SIZE);
	struct page *page;

	if (!hdr)
		return false;
	if (!message_split_header(m)) {
		skb_free_frag(hdr);
		return false;
	}
	*hdr = *m->tx.hdr;
	hdr->seq = cpu_to_be64(m->seq);
	hdr->flags |= RDS_WIRE_F_RETRANSMITTED;
	message_untell(hdr);
	if (tag)
		rds_lane_tag(hdr->exthdr, lane);
	page = virt_to_head_page(hdr);
	put_page(m->tx.bv[0].bv_page);
	bvec_set_page(&m->tx.bv[0], page, HDR_SIZE,
		      (void *)hdr - page_address(page));
	m->tx.hdr = hdr;
	return true;
}

/* Give back all that a message has but its own memory. */
static void message_end(struct rds_message *m)
{
	struct rds_zcopy *zcopy = rds_message_zcopy_of(m);
	unsigned int i;

	for (i = 0; i < m->tx.nr_bv; i++) {
		/* The first entry of a zero-copy message is only its header. */
		if (i && zcopy)
			unpin_user_page(m->tx.bv[i].bv_page);
		else
			put_page(m->tx.bv[i].bv_page);
	}
	if (zcopy)
		mm_unaccount_pinned_pages(&zcopy->mmp);
	message_free_bv(m);
}

void rds_message_free(struct rds_message *m)
{
	message_end(m);
	kmem_cache_free(message_cache, m);
}

void rds_message_bin_add(struct rds_message_bin *bin, struct rds_message *m)
{
	message_end(m);
	bin->m[bin->nr++] = m;
	if (bin->nr == ARRAY_SIZE(bin->m))
		rds_message_bin_empty(bin);
}

void rds_message_bin_empty(struct rds_message_bin *bin)
{
	if (bin->nr == 1)
		kmem_cache_free(message_cache, bin->m[0]);
	else if (bin->nr)
		kmem_cache_free_bulk(message_cache, bin->nr, bin->m);
	bin->nr = 0;
}

int __init rds_message_init(void)
{
	message_cache = KMEM_CACHE(rds_message,
				   SLAB_ACCOUNT | SLAB_HWCACHE_ALIGN);
	return message_cache ? 0 : -ENOMEM;
}

void rds_message_exit(void)
{
	kmem_cache_destroy(message_cache);
}
