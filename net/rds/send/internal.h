/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of send/ only. */
#ifndef _RDS_SEND_INTERNAL_H
#define _RDS_SEND_INTERNAL_H

#include "memop/memop.h"
#include "msg/message.h"
#include "send/txq.h"

static inline struct rds_message *rds_txq_msg(struct list_head *node)
{
	return list_entry(node, struct rds_message, tx.list);
}

/* Did the transport take the first bytes of the message the transmitter stands at? */
static inline bool rds_txq_is_partial(const struct rds_txq *txq, const struct rds_message *m)
{
	return txq->batch.cur == &m->tx && txq->batch.off;
}

/* Take a message off its list for good.  The lock is held. */
static inline void rds_txq_unlink(struct rds_txq *txq, struct rds_message *m,
				  struct list_head *done)
{
	lockdep_assert_held(&txq->lock);
	if (m->flags & RDS_MSG_PROBE)
		txq->nr_probes--;
	if (unlikely(m->memop))
		rds_memop_detach(m->memop);
	list_move_tail(&m->tx.list, done);
}

/*
 * Free messages that are on no queue and account for them.  No locks held; the caller has been
 * in one RCU read section since before it took them off their queue.
 */
void rds_txq_release(struct list_head *done);

/* Move what is acknowledged from inflight to @done.  The lock is held. */
void rds_txq_retire(struct rds_txq *txq, struct list_head *done);

#endif
