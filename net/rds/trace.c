// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Defines the tracepoints that trace/events/rds.h declares, once for the
 * module.
 */
#include <linux/types.h>

#include "conn/fsm.h"

#define CREATE_TRACE_POINTS
#include <trace/events/rds.h>
