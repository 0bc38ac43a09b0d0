/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pace.c: when a path that is down dials.  Process context, with the path's
 * control mutex held, unless a function says otherwise.
 */
#ifndef _RDS_CONN_PACE_H
#define _RDS_CONN_PACE_H

#include <linux/types.h>

struct rds_cpath;

/* A connection has ended: set the time of the next dial. */
void rds_pace_lost(struct rds_cpath *cp);

/* Dial now: set the upper bound of the wait before the next attempt. */
void rds_pace_dial(struct rds_cpath *cp);

/* Find out whether the path is needed (rds_cpath.needed). */
void rds_pace_look(struct rds_cpath *cp);

/* Is the path wanted up? */
bool rds_pace_wants(struct rds_cpath *cp);

/*
 * Time to wait before the next dial, in jiffies; 0 or less: none.  It holds,
 * whoever queues the worker meanwhile, unless there is hope.
 */
long rds_pace_wait(struct rds_cpath *cp);

/*
 * Time since the path was last of use, or began to be needed, in jiffies.  Any
 * context.
 */
unsigned long rds_pace_failing(const struct rds_cpath *cp);

/*
 * Has the peer been dialled for so long that it is dialled again only for a
 * message, or when there is hope?  For a path that is not needed.
 */
bool rds_pace_is_over(const struct rds_cpath *cp);

/* The peer has shown that it is there.  Any context. */
void rds_pace_hope(struct rds_cpath *cp);

/*
 * The same for the other paths of the connection: @cp came up, or was lost and
 * they are needed more.  Any context.
 */
void rds_pace_hope_others(struct rds_cpath *cp);

#endif
