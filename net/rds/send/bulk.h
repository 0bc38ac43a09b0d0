/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the choice of a lane asks its queue, without the lock. */
#ifndef _RDS_SEND_BULK_H
#define _RDS_SEND_BULK_H

#include <linux/jiffies.h>

#include "send/txq.h"

/* From this size on, with header, a message holds up the small ones behind. */
#define RDS_TXQ_BULK_BYTES	32768

/* Was a large message queued of late?  Any context. */
static inline bool rds_txq_has_bulk(const struct rds_txq *txq)
{
	return jiffies - READ_ONCE(txq->bulk) < HZ;
}

/* Would a small message that is queued now go soon?  Any context. */
static inline bool rds_txq_is_quick(const struct rds_txq *txq)
{
	return READ_ONCE(txq->rule) == RDS_TXQ_BY_NUMBER &&
	       !READ_ONCE(txq->held) && !READ_ONCE(txq->carrier) &&
	       !rds_txq_has_bulk(txq);
}

/* Number up to which the peer has said that all is delivered.  Any context. */
static inline u64 rds_txq_delivered(const struct rds_txq *txq)
{
	return READ_ONCE(txq->una_seq);
}

/* Number of the last message that was queued.  Any context. */
static inline u64 rds_txq_last(const struct rds_txq *txq)
{
	return READ_ONCE(txq->next_seq) - 1;
}

#endif
