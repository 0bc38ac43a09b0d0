/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_LINUX_MODULE_H
#define _RDS_COMPAT_LINUX_MODULE_H

#include_next <linux/module.h>
#include <linux/version.h>

/*
 * EXPORT_SYMBOL_NS*() and MODULE_IMPORT_NS() take an identifier before 6.13 and
 * a string since (commit cdd30ebb1b9f, "module: Convert symbol namespace to
 * string literal").  No macro tells the two apart, so the version does.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define RDS_NS RDS
#define RDS_DEV_NS RDS_DEV
#else
#define RDS_NS "RDS"
#define RDS_DEV_NS "RDS_DEV"
#endif

#endif
