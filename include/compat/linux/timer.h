/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_LINUX_TIMER_H
#define _RDS_COMPAT_LINUX_TIMER_H

#include_next <linux/timer.h>

#ifndef RDS_HAVE_TIMER_DELETE
#define timer_delete(t)			del_timer(t)
#define timer_delete_sync(t)		del_timer_sync(t)
#endif

#ifndef timer_container_of
#define timer_container_of(var, timer, field)	from_timer(var, timer, field)
#endif

#endif
