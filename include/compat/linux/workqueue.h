/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_LINUX_WORKQUEUE_H
#define _RDS_COMPAT_LINUX_WORKQUEUE_H

#include_next <linux/workqueue.h>

/* Per-CPU is what a queue without WQ_UNBOUND used to be without saying so. */
#ifndef RDS_HAVE_WQ_PERCPU
#define WQ_PERCPU 0
#endif

#endif
