/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_LINUX_SLAB_H
#define _RDS_COMPAT_LINUX_SLAB_H

#include_next <linux/slab.h>
#include <linux/overflow.h>

/* Allocation by type; the flags may be left out and are GFP_KERNEL then. */
#ifndef kzalloc_obj
#define __rds_gfp(dummy, gfp, ...)	gfp
#define rds_gfp(...)			__rds_gfp(0, ##__VA_ARGS__, GFP_KERNEL)

#define kmalloc_obj(what, ...)							\
	((typeof(what) *)kmalloc(sizeof(what), rds_gfp(__VA_ARGS__)))
#define kzalloc_obj(what, ...)							\
	((typeof(what) *)kzalloc(sizeof(what), rds_gfp(__VA_ARGS__)))
#define kmalloc_objs(what, n, ...)						\
	((typeof(what) *)kmalloc_array(n, sizeof(what), rds_gfp(__VA_ARGS__)))
#define kzalloc_objs(what, n, ...)						\
	((typeof(what) *)kcalloc(n, sizeof(what), rds_gfp(__VA_ARGS__)))
#define kvmalloc_objs(what, n, ...)						\
	((typeof(what) *)kvmalloc_array(n, sizeof(what), rds_gfp(__VA_ARGS__)))
#define kvzalloc_objs(what, n, ...)						\
	((typeof(what) *)kvcalloc(n, sizeof(what), rds_gfp(__VA_ARGS__)))
#define kzalloc_flex(what, member, n, ...)					\
	((typeof(what) *)kzalloc(struct_size((typeof(what) *)NULL, member, n),	\
				 rds_gfp(__VA_ARGS__)))
#endif

#endif
