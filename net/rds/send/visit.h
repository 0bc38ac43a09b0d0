/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks at all messages of a queue, for dumps */
#ifndef _RDS_SEND_VISIT_H
#define _RDS_SEND_VISIT_H

#include <linux/types.h>

struct rds_message;
struct rds_txq;

/**
 * rds_txq_visit - call a function for the numbered messages of a queue
 * @txq: queue; one context at a time does this, rds_net.info_lock sees to it
 * @started: for those that a transport has begun to send, or for the others
 * @fn: function, called under the lock of the queue
 * @arg: for @fn
 *
 * Others choose how many messages there are, so the lock is released now and
 * then.  Messages that stay in the queue are visited once, in the order of
 * their numbers, and those that were queued after the call was made are not.
 *
 * Context: process, may sleep.
 */
void rds_txq_visit(struct rds_txq *txq, bool started,
		   void (*fn)(const struct rds_message *m, void *arg),
		   void *arg);

#endif
