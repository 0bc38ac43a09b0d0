/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a path leaves the state CLOSING.
 *
 * A connection ends in two steps.  The first has the transport tell the peer,
 * which may take seconds to answer or never answer.  The path waits for that
 * without a worker: thousands of peers can fall silent at the same time, and
 * the workers also dial.  The second step takes the connection down.  Between
 * them the control worker runs at the latest at rds_cpath.drain_until; the
 * transport goes on with its upcalls, but nothing is transmitted.
 */
#ifndef _RDS_CONN_CLOSE_H
#define _RDS_CONN_CLOSE_H

#include <linux/types.h>

struct rds_cpath;

/**
 * rds_cpath_close_step - go on to close the connection of a path
 * @cp: path in the state CLOSING
 *
 * Context: process, may sleep; rds_cpath.ctl held.
 * Return: true if the path is down; false if the control worker is queued to
 * look again.
 */
bool rds_cpath_close_step(struct rds_cpath *cp);

/**
 * rds_cpath_close_now - cut the connection of a path
 * @cp: path in the state CLOSING, down on return
 *
 * Context: process, may sleep; rds_cpath.ctl held.
 */
void rds_cpath_close_now(struct rds_cpath *cp);

/*
 * Stop to be a source of the peer's congestion map.  Under rds_cpath.ctl, or
 * alone.
 */
void rds_cpath_unmap(struct rds_cpath *cp);

#endif
