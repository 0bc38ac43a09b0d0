// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The one place that makes the bodies of our tracepoints. */
#include <linux/types.h>
#define CREATE_TRACE_POINTS
#include <trace/events/rds.h>
