/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All names from outside that the engine of streams may use.  The unit tests
 * compile the engine in user space, behind proto/plat.h; what proto/plat.h
 * lacks is here.
 */
#ifndef _RDS_STREAM_PLAT_H
#define _RDS_STREAM_PLAT_H

#include <linux/swab.h>
#include <linux/types.h>

#ifdef __KERNEL__

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#else

#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

#endif

static inline u32 rds_ss_min(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 rds_ss_max(u32 a, u32 b)
{
	return a > b ? a : b;
}

#endif
