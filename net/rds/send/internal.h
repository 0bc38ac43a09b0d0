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

/* Has the transport taken a part of the message, and not all of it? */
static inline bool rds_txq_is_partial(const struct rds_txq *txq,
				      const struct rds_message *m)
{
	return txq->batch.cur == &m->tx && txq->batch.off;
}

/* Move a message from its list to @done, which rds_txq_release() frees. */
static inline void rds_txq_unlink(struct rds_txq *txq, struct rds_message *m,
				  struct list_head *done)
{
	lockdep_assert_held(&txq->lock);
	if (m->flags & RDS_MSG_PROBE)
		txq->nr_probes--;
	if (unlikely(m->request))
		rds_request_detach(m->request);
	list_move_tail(&m->tx.list, done);
}

/*
 * Free messages that were taken off their queue, and end their charge.  The
 * caller does not hold the lock of the queue, and entered its RCU read section
 * before it took the messages off: their owners may close meanwhile.
 */
void rds_txq_release(struct list_head *done);

/* Move acknowledged messages from `inflight` to @done. */
void rds_txq_retire(struct rds_txq *txq, struct list_head *done);

#endif
