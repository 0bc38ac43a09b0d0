// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Order between queues; send/fence.h has the rules. */
#include "send/carry.h"
#include "send/fence.h"
#include "send/internal.h"

const struct rds_message *rds_txq_first_numbered(struct list_head *list)
{
	const struct rds_message *m;

	/*
	 * Of each kind RDS_DUE_* the list has at most one message that is not
	 * begun, see txq_insert().
	 */
	list_for_each_entry(m, list, tx.list) {
		if (!(m->flags & RDS_MSG_ONCE))
			return m;
	}
	return NULL;
}

/* The number of the oldest message, or of the next if there is none */
static u64 txq_oldest(struct rds_txq *txq)
{
	const struct rds_message *m;

	lockdep_assert_held(&txq->lock);
	m = rds_txq_first_numbered(&txq->kept) ?:
	    rds_txq_first_numbered(&txq->inflight);
	/* Those that a carrier transmits are older than those that wait. */
	if (!m && txq->away)
		return 0;
	if (!m && !txq->from)
		m = rds_txq_first_numbered(&txq->sending);
	m = m ?: rds_txq_first_numbered(&txq->queue);
	return m ? m->seq : txq->next_seq;
}

bool rds_fence_set(struct rds_txq *txq, unsigned int nr)
{
	bool wait;

	spin_lock_bh(&txq->lock);
	txq->lanes = nr;
	wait = txq_oldest(txq) < txq->next_seq;
	txq->fence = wait ? txq->next_seq : 0;
	spin_unlock_bh(&txq->lock);
	return wait;
}

void rds_fence_look(struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	if (txq_oldest(txq) < txq->fence)
		return;
	txq->fence = 0;
	txq->ops->at_fence(txq->path);
}

bool rds_fence_passed(struct rds_txq *txq)
{
	bool passed;

	spin_lock_bh(&txq->lock);
	passed = !txq->fence;
	spin_unlock_bh(&txq->lock);
	return passed;
}

bool rds_fence_admit(struct rds_txq *txq, unsigned int nr, bool wait)
{
	bool run;

	spin_lock_bh(&txq->lock);
	txq->lanes = nr;
	txq->fenced = wait;
	txq->fence = 0;
	run = !wait && rds_txq_wants_run(txq);
	spin_unlock_bh(&txq->lock);
	return run;
}

bool rds_fence_can_move(struct rds_txq *txq)
{
	bool can;

	spin_lock_bh(&txq->lock);
	can = rds_carry_is_free(txq);
	spin_unlock_bh(&txq->lock);
	return can;
}

/* The number of a message that was begun is written to its next header. */
static void fence_renumber(struct rds_txq *to, struct rds_message *m)
{
	lockdep_assert_held(&to->lock);
	m->seq = rds_txq_number(to, m);
	if (m->flags & RDS_MSG_STARTED)
		m->flags |= RDS_MSG_AGAIN;
	else
		m->tx.hdr->seq = cpu_to_be64(m->seq);
}

/* A message of @from is one of @to now. */
static void fence_move_one(struct rds_txq *from, struct rds_txq *to,
			   struct rds_message *m)
{
	WRITE_ONCE(m->own.lane, to);
	from->nr_messages--;
	to->nr_messages++;
	if (m->flags & RDS_MSG_PROBE) {
		rds_txq_set_probes(from, from->nr_probes - 1);
		rds_txq_set_probes(to, to->nr_probes + 1);
	}
	to->nr_again += !!(m->flags & RDS_MSG_AGAIN);
	to->want_ack |= m->tx.lent;
}

/* What is set aside for messages of the queue */
static void fence_move_room(struct rds_txq *from, struct rds_txq *to)
{
	from->nr_again = 0;
	to->paid_bytes += from->paid_bytes;
	from->paid_bytes = 0;
	to->paid_room += from->paid_room;
	from->paid_room = 0;
}

void rds_fence_move(struct rds_txq *from, struct rds_txq *to)
{
	struct rds_message *m;

	spin_lock_bh(&from->lock);
	spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
	from->lanes = 0;
	from->fenced = false;
	rds_visit_lose(from);
	list_for_each_entry(m, &from->queue, tx.list) {
		fence_renumber(to, m);
		fence_move_one(from, to, m);
	}
	list_splice_tail_init(&from->queue, &to->queue);
	fence_move_room(from, to);
	spin_unlock(&to->lock);
	spin_unlock_bh(&from->lock);
}
