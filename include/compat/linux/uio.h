/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_LINUX_UIO_H
#define _RDS_COMPAT_LINUX_UIO_H

#include_next <linux/uio.h>

#ifndef RDS_HAVE_EXTRACT_PAGES
#include <linux/mm.h>

typedef unsigned int iov_iter_extraction_t;

static inline bool iov_iter_extract_will_pin(const struct iov_iter *iter)
{
	return user_backed_iter(iter);
}

/*
 * Return the user address at the position of @iter, and limit @len to the bytes
 * up to a gap.
 */
static inline unsigned long rds_iter_segment(const struct iov_iter *iter,
					     size_t *len)
{
	size_t skip = iter->iov_offset;
	const struct iovec *iov;

	if (iter_is_ubuf(iter)) {
		*len = min(*len, iov_iter_count(iter));
		return (unsigned long)iter->ubuf + skip;
	}
	for (iov = iter->iov; skip >= iov->iov_len; iov++)
		skip = 0;
	*len = min3(*len, iov->iov_len - skip, iov_iter_count(iter));
	return (unsigned long)iov->iov_base + skip;
}

/*
 * Pin user pages, as the function of newer kernels does, with three limits:
 * other iterators are refused, the caller provides the array of pages, and one
 * call handles at most one segment, as the caller has a loop.
 */
static inline ssize_t
iov_iter_extract_pages(struct iov_iter *iter, struct page ***pages,
		       size_t maxsize, unsigned int maxpages,
		       iov_iter_extraction_t flags, size_t *offset0)
{
	unsigned long addr;
	int got;

	if (!user_backed_iter(iter) || !*pages)
		return -EFAULT;
	if (!maxsize || !maxpages || !iov_iter_count(iter))
		return 0;
	addr = rds_iter_segment(iter, &maxsize);
	*offset0 = offset_in_page(addr);
	maxpages = min_t(size_t, maxpages,
			 DIV_ROUND_UP(*offset0 + maxsize, PAGE_SIZE));
	got = pin_user_pages_fast(addr - *offset0, maxpages,
				  iov_iter_rw(iter) == READ ? FOLL_WRITE : 0,
				  *pages);
	if (got <= 0)
		return got ? got : -EFAULT;
	maxsize = min(maxsize, got * PAGE_SIZE - *offset0);
	iov_iter_advance(iter, maxsize);
	return maxsize;
}
#endif

#endif
