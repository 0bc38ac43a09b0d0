/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_LINUX_SYSCTL_H
#define _RDS_COMPAT_LINUX_SYSCTL_H

#include_next <linux/sysctl.h>

/*
 * The first argument of a proc_handler is a "RDS_CTL_CONST struct ctl_table *".
 */
#ifdef RDS_HAVE_CONST_CTL_TABLE
#define RDS_CTL_CONST const
#else
#define RDS_CTL_CONST
#endif

#endif
