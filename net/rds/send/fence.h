/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Order between the transmit queues of one connection, when the flows are
 * distributed anew (conn/lane.h).
 *
 * A queue takes messages only from senders that know the present number of
 * queues.  When that number rises, the first queue may have messages of flows
 * that go to other queues from now on: a fence in the first queue marks the end
 * of these messages, and the other queues wait behind it.  When the number
 * falls to 1, messages of the other queues move to the end of the first.
 *
 * Locks: rds_lanes.lock is held by all callers but rds_fence_passed(); the lock
 * of a queue is taken inside, that of the first queue last.
 */
#ifndef _RDS_SEND_FENCE_H
#define _RDS_SEND_FENCE_H

#include <linux/types.h>

struct rds_txq;

/**
 * rds_fence_set - distribute the flows of the first queue over more queues
 * @txq: first queue
 * @nr: number of queues from now on
 *
 * Return: whether the other queues have to wait until the first one has called
 * its operation at_fence.
 */
bool rds_fence_set(struct rds_txq *txq, unsigned int nr);

/* Has the first queue retired all messages ahead of its fence? */
bool rds_fence_passed(struct rds_txq *txq);

/*
 * Tell a queue that there are @nr queues; it transmits unless @wait.  Returns
 * whether rds_txq_run() has to be called.
 */
bool rds_fence_admit(struct rds_txq *txq, unsigned int nr, bool wait);

/* Is the path of the queue down, with no message under way? */
bool rds_fence_can_move(struct rds_txq *txq);

/**
 * rds_fence_move - move all messages of a queue to the end of the first
 * @from: queue of which rds_fence_can_move(), which takes no message any more
 * @to: first queue, the only one from now on
 */
void rds_fence_move(struct rds_txq *from, struct rds_txq *to);

#endif
