// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* User memory pinned for devices, and its charge to RLIMIT_MEMLOCK. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "memop/memop.h"

/* Largest number of pages pinned by one call */
#define PIN_BATCH	32

/*
 * Pieces that follow each other in the address space; a page in which two meet
 * is pinned once.
 */
struct pin_range {
	unsigned long	addr;
	unsigned long	bytes;
};

static bool next_range(const struct rds_iovec *vec, unsigned int nr,
		       unsigned int *i, struct pin_range *r)
{
	if (*i == nr)
		return false;
	r->addr = vec[*i].addr;
	r->bytes = vec[(*i)++].bytes;
	while (*i < nr && vec[*i].addr == r->addr + r->bytes)
		r->bytes += vec[(*i)++].bytes;
	return true;
}

static unsigned long range_pages(const struct pin_range *r)
{
	return DIV_ROUND_UP(offset_in_page(r->addr) + r->bytes, PAGE_SIZE);
}

static unsigned long count_pages(const struct rds_iovec *vec, unsigned int nr)
{
	unsigned long sum = 0;
	unsigned int i = 0;
	struct pin_range r;

	while (next_range(vec, nr, &i, &r))
		sum += range_pages(&r);
	return sum;
}

/* Allocate the record and charge the pages.  No page is pinned yet. */
static struct rds_pin *pin_alloc(unsigned long pages)
{
	/*
	 * mm_account_pinned_pages() charges two pages more than the whole pages
	 * in @charge.
	 */
	size_t charge = pages > 2 ? (pages - 2) * PAGE_SIZE : 1;
	struct rds_pin *pin = kzalloc_obj(*pin, GFP_KERNEL_ACCOUNT);

	if (!pin)
		return NULL;
	pin->mem.bv = kmalloc_array(pages, sizeof(*pin->mem.bv),
				    GFP_KERNEL_ACCOUNT);
	if (!pin->mem.bv)
		goto fail;
	if (!mm_account_pinned_pages(&pin->mmp, charge))
		return pin;
	/*
	 * Memory of finished operations is charged until the worker has
	 * released it.
	 */
	flush_workqueue(rds_memop_wq);
	if (!mm_account_pinned_pages(&pin->mmp, charge))
		return pin;
	kfree(pin->mem.bv);
fail:
	kfree(pin);
	return NULL;
}

static int pin_some(unsigned long start, unsigned long nr, bool write,
		    struct page **page)
{
	nr = min_t(unsigned long, nr, PIN_BATCH);
	if (write)
		return pin_user_pages_fast(start, nr,
					   FOLL_LONGTERM | FOLL_WRITE, page);
	return rds_pin_to_read(start, nr, page);
}

static int pin_pages(struct rds_mem *mem, const struct pin_range *r)
{
	unsigned long start = r->addr & PAGE_MASK, left = r->bytes,
		      pages = range_pages(r);
	unsigned int off = offset_in_page(r->addr);
	struct page *page[PIN_BATCH];
	int got, i;

	for (; pages; pages -= got, start += got * PAGE_SIZE) {
		got = pin_some(start, pages, mem->writable, page);
		if (got <= 0)
			return got == -ENOMEM ? got : -EFAULT;
		for (i = 0; i < got; i++, off = 0) {
			unsigned int part = min_t(unsigned long, left,
						  PAGE_SIZE - off);

			bvec_set_page(&mem->bv[mem->nr++], page[i], part, off);
			left -= part;
		}
	}
	mem->bytes += r->bytes;
	return 0;
}

static void pin_release(struct rds_pin *pin)
{
	struct rds_mem *mem = &pin->mem;
	unsigned int i;

	for (i = 0; i < mem->nr; i++) {
		if (mem->writable)
			unpin_user_pages_dirty_lock(&mem->bv[i].bv_page, 1,
						    true);
		else
			unpin_user_page(mem->bv[i].bv_page);
	}
	mm_unaccount_pinned_pages(&pin->mmp);
	kfree(mem->bv);
	kfree(pin);
}

static void pin_work(struct work_struct *work)
{
	pin_release(container_of(work, struct rds_pin, work));
}

void rds_pin_free(struct rds_pin *pin, bool may_sleep)
{
	if (may_sleep || !pin->mem.writable)
		pin_release(pin);
	else
		queue_work(rds_memop_wq, &pin->work);
}

struct rds_pin *rds_pin_user(const struct rds_iovec *vec, unsigned int nr,
			     bool write, unsigned int max)
{
	unsigned long pages = count_pages(vec, nr);
	struct rds_pin *pin;
	unsigned int i = 0;
	struct pin_range r;
	int err;

	if (!can_do_mlock())
		return ERR_PTR(-EPERM);
	if (pages > max)
		return ERR_PTR(-EMSGSIZE);
	pin = pin_alloc(pages);
	if (!pin)
		return ERR_PTR(-ENOMEM);
	INIT_WORK(&pin->work, pin_work);
	pin->mem.writable = write;
	while (next_range(vec, nr, &i, &r)) {
		err = pin_pages(&pin->mem, &r);
		if (err) {
			pin_release(pin);
			return ERR_PTR(err);
		}
	}
	return pin;
}
