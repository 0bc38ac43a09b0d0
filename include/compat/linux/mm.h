/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_LINUX_MM_H
#define _RDS_COMPAT_LINUX_MM_H

#include_next <linux/mm.h>
#include <linux/version.h>

/*
 * Pin pages of the calling task that a device only reads, for a long time.
 * Before 6.2 such a pin does not break copy-on-write of the zero page or of a
 * private file page: a later write of the task goes to another page, and the
 * device goes on reading the old one.  A pin for writing breaks copy-on-write.
 * Memory that the task cannot write to is pinned for reading.
 */
static inline int rds_pin_to_read(unsigned long start, int nr,
				  struct page **pages)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	int got = pin_user_pages_fast(start, nr, FOLL_LONGTERM | FOLL_WRITE,
				      pages);

	if (got > 0)
		return got;
#endif
	return pin_user_pages_fast(start, nr, FOLL_LONGTERM, pages);
}

#endif
