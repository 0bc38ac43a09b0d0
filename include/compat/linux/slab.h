/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_LINUX_SLAB_H
#define _RDS_COMPAT_LINUX_SLAB_H

#include_next <linux/slab.h>

/* Allocation by type; without flags it uses GFP_KERNEL. */
#ifndef kzalloc_obj
#define __rds_gfp(dummy, gfp, ...)	gfp
#define rds_gfp(...)			__rds_gfp(0, ##__VA_ARGS__, GFP_KERNEL)

#define kzalloc_obj(what, ...)						\
	((typeof(what) *)kzalloc(sizeof(what), rds_gfp(__VA_ARGS__)))
#define kzalloc_objs(what, n, ...)					\
	((typeof(what) *)kcalloc(n, sizeof(what), rds_gfp(__VA_ARGS__)))
#endif

#endif
