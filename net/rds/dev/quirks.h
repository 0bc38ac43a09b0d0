/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is done for faults of single drivers; quirks.c has the faults. */
#ifndef _RDS_DEV_QUIRKS_H
#define _RDS_DEV_QUIRKS_H

#include <linux/types.h>

struct ib_qp;
struct rds_dev_id;
struct rds_dev;
struct rds_dev_props;

/* Fill in the quirks of a device whose other properties are known. */
void rds_dev_quirks_fill(struct rds_dev_props *p);

/* Prepare a queue pair, which is drained, for its destruction.  May sleep. */
void rds_dev_quirk_reset(const struct rds_dev *dev, struct ib_qp *qp);

/* Whether a call that makes the CM send a packet for @id is safe. */
bool rds_dev_quirk_may_speak(const struct rds_dev_id *id);

/*
 * Handle that the peer gave up: destroying @id->cm_id sends no packet from now
 * on.
 */
void rds_dev_quirk_peer_gone(struct rds_dev_id *id);

/*
 * Defer the destruction of @id->cm_id.  @id is closing and has nothing else.
 * True if @id->cm_id cannot be destroyed now; reap_work is queued when it can.
 */
bool rds_dev_quirk_shelve(struct rds_dev_id *id);

/*
 * Release shelved ids whose link is usable, and all whose domain ends.  False
 * if ids are left that can be released later.
 */
bool rds_dev_quirk_unshelve(struct rds_dev *dev);

/*
 * Wait until peers have stopped dialling.  Of the peers that were told of an
 * end, @nr at most, each dials once, soon or never, as its request is held.
 * @held: rds_dev.held from before they were told; @until: end of the wait, in
 * jiffies.
 */
void rds_dev_quirk_wait_peers(struct rds_dev *dev, unsigned int nr,
			      unsigned int held, unsigned long until);

#endif
