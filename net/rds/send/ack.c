// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Acknowledgement, in both directions; send/ack.h has the rules. */
#include "netns.h"
#include "send/internal.h"
#include "sock/state.h"
#include <net/rds/transport.h>

/* Bytes that the peer's transport has more than before, for a look at them */
#define KEEP_STEP	2048
/*
 * Messages that are retired at once.  An acknowledgement of more comes from a
 * peer that withheld it, and the transmit worker does the rest.
 */
#define RETIRE_AT_ONCE	1024
/* Memory of the namespace is set aside in steps of this size. */
#define PAID_STEP	(256 * 1024)

static struct rds_tx_msg *txq_first_inflight(struct rds_txq *txq)
{
	return list_first_entry_or_null(&txq->inflight, struct rds_tx_msg,
					list);
}

/* Charges of one sender that end together */
struct ack_paid {
	struct rds_sock	*owner;
	unsigned int	bytes;
};

static void paid_end(struct ack_paid *paid)
{
	if (paid->bytes)
		rds_sock_sent(paid->owner, paid->bytes, 0);
	paid->bytes = 0;
}

/* Set memory of the namespace aside, if it has any. */
static bool txq_take_room(struct rds_txq *txq)
{
	atomic_t *paid = &txq->rn->paid_bytes;

	lockdep_assert_held(&txq->lock);
	if (txq->paid_room >= RDS_TXQ_PAID_BYTES)
		return false;
	if (atomic_add_return(PAID_STEP, paid) > RDS_NET_PAID_BYTES) {
		atomic_sub(PAID_STEP, paid);
		return false;
	}
	txq->paid_room += PAID_STEP;
	return true;
}

void rds_txq_return_room(struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	if (txq->paid_room)
		atomic_sub(txq->paid_room, &txq->rn->paid_bytes);
	txq->paid_room = 0;
}

/* Is there memory for a message of @bytes whose sender is not charged? */
static bool txq_has_room(struct rds_txq *txq, unsigned int bytes)
{
	while (txq->paid_bytes + bytes > txq->paid_room) {
		if (txq_take_room(txq))
			continue;
		/* What is not used is for other queues. */
		if (!txq->paid_bytes)
			rds_txq_return_room(txq);
		return false;
	}
	return true;
}

/*
 * The peer's transport has the message: it is kept for its core to acknowledge.
 * The send buffer is for what the peer's transport does not have, as with an
 * old peer, so the charge for the bytes ends now, as long as not too much is
 * kept.  User pages stay charged.  The caller moves the message to `kept`.
 */
static void txq_keep(struct rds_txq *txq, struct rds_message *m,
		     struct ack_paid *paid)
{
	lockdep_assert_held(&txq->lock);
	m->flags |= RDS_MSG_KEPT;
	txq->kept_bytes += rds_txq_kept_size(m);
	if (!m->owner || m->tx.lent || m->flags & RDS_MSG_PAID ||
	    !txq_has_room(txq, rds_txq_kept_size(m)))
		return;
	txq->paid_bytes += rds_txq_kept_size(m);
	m->flags |= RDS_MSG_PAID;
	if (m->owner != paid->owner)
		paid_end(paid);
	paid->owner = m->owner;
	paid->bytes += m->len;
}

/*
 * Has the peer's transport got so much of `inflight` that it is worth a look?
 * The acknowledgement of the peer's core mostly comes with that of few bytes,
 * or soon after.
 */
static bool txq_should_keep(struct rds_txq *txq)
{
	const struct rds_tx_msg *m = txq_first_inflight(txq);

	return m && !txq->carrier && m->end <= txq->una &&
	       txq->una - m->end + m->bytes >= KEEP_STEP;
}

/*
 * In a dialogue with a peer that acknowledges by number, the position mostly
 * comes with the number, and alone it changes nothing until so much is under
 * way that it is worth to keep some.  But the acknowledgement of a probe is
 * waited for, and with several lanes the number may come over another path.
 */
u64 rds_txq_quiet(struct rds_txq *txq)
{
	const struct rds_tx_msg *m = txq_first_inflight(txq);
	u64 start = txq->batch.pos - txq->batch.off;

	lockdep_assert_held(&txq->lock);
	if (!txq->turn || txq->rule != RDS_TXQ_BY_NUMBER || txq->lanes != 1 ||
	    txq->nr_probes)
		return 0;
	if (m)
		start = m->end > m->bytes ? m->end - m->bytes : 0;
	return start + KEEP_STEP - 1;
}

/*
 * Keep at most @budget messages that the peer's transport has.  A message that
 * is cancelled is not repeated, so nothing is left to wait for.  Returns what
 * is left of the budget.
 */
static unsigned int txq_keep_acked(struct rds_txq *txq, unsigned int budget,
				   struct list_head *done)
{
	struct rds_message *m, *next;
	struct list_head *last = NULL;
	struct ack_paid paid = {};

	lockdep_assert_held(&txq->lock);
	list_for_each_entry_safe(m, next, &txq->inflight, tx.list) {
		if (!budget || m->tx.end > txq->una)
			break;
		if (m->flags & RDS_MSG_CANCELLED) {
			rds_txq_unlink(txq, m, done);
		} else {
			txq_keep(txq, m, &paid);
			last = &m->tx.list;
		}
		budget--;
	}
	rds_txq_move_up_to(last, &txq->inflight, &txq->kept);
	paid_end(&paid);
	return budget;
}

/*
 * Retire at most @budget messages.  Returns what is left of the budget: 0 means
 * that there may be more.
 */
static unsigned int txq_retire_list(struct rds_txq *txq, struct list_head *list,
				    u64 seq, unsigned int budget,
				    struct list_head *done)
{
	struct list_head *last = NULL;
	struct rds_message *m;

	list_for_each_entry(m, list, tx.list) {
		if (!budget || m->tx.end > txq->una || m->seq > seq)
			break;
		rds_txq_forget(txq, m);
		last = &m->tx.list;
		budget--;
	}
	if (last) {
		rds_txq_move_up_to(last, list, done);
		rds_txq_forgot(txq);
	}
	return budget;
}

/*
 * Retire messages up to a number.  The messages on `inflight` have higher
 * numbers than those on `kept`.  Returns false if there may be more.
 */
static bool txq_retire_to(struct rds_txq *txq, u64 seq, struct list_head *done)
{
	unsigned int left;

	left = txq_retire_list(txq, &txq->kept, seq, RETIRE_AT_ONCE, done);
	if (left)
		left = txq_retire_list(txq, &txq->inflight, seq, left, done);
	return left;
}

/*
 * Retire what the peer has, and keep what its transport has, if it is enough.
 */
static void txq_retire_by_number(struct rds_txq *txq, struct list_head *done)
{
	if (!txq_retire_to(txq, txq->una_seq, done) ||
	    (txq_should_keep(txq) &&
	     !txq_keep_acked(txq, RETIRE_AT_ONCE, done)))
		txq->untidy = true;
}

/* Rule for the messages of the lane: a carrier's peer takes numbers. */
static enum rds_txq_rule txq_rule(const struct rds_txq *txq)
{
	return likely(!txq->carrier) ? txq->rule : RDS_TXQ_BY_NUMBER;
}

void rds_txq_retire(struct rds_txq *txq, struct list_head *done)
{
	const struct rds_tx_msg *first = txq_first_inflight(txq);

	lockdep_assert_held(&txq->lock);
	/* Mostly there is nothing yet, in a dialogue. */
	if (list_empty(&txq->kept) && (!first || first->end > txq->una))
		return;
	switch (txq_rule(txq)) {
	case RDS_TXQ_BY_POSITION:
		/* Else the worker is about to retire what is left. */
		if (!txq->untidy)
			txq->untidy = !txq_retire_to(txq, U64_MAX, done);
		break;
	case RDS_TXQ_BY_NUMBER:
		txq_retire_by_number(txq, done);
		break;
	case RDS_TXQ_UNDECIDED:
		break;
	}
}

/*
 * The peer has messages that an earlier connection carried: they are not
 * repeated.
 */
static void txq_retire_begun(struct rds_txq *txq, struct list_head *done)
{
	unsigned int budget = RETIRE_AT_ONCE;
	struct rds_message *m, *next;

	lockdep_assert_held(&txq->lock);
	list_for_each_entry_safe(m, next, &txq->queue, tx.list) {
		if (!(m->flags & RDS_MSG_STARTED) || m->seq > txq->una_seq)
			return;
		if (!budget--) {
			txq->untidy = true;
			return;
		}
		rds_txq_unlink(txq, m, done);
	}
}

/* Retire what an answer acknowledges, and hold back what is left of that. */
static void txq_retire_all(struct rds_txq *txq, struct list_head *done)
{
	lockdep_assert_held(&txq->lock);
	txq->untidy = false;
	rds_txq_retire(txq, done);
	txq_retire_begun(txq, done);
	txq->held = txq->untidy;
}

/* Retire some of the messages that were left.  Returns whether more are. */
static bool txq_tidy_some(struct rds_txq *txq)
{
	LIST_HEAD(done);
	bool more;

	rcu_read_lock();
	spin_lock_bh(&txq->lock);
	if (txq->rule == RDS_TXQ_BY_NUMBER) {
		txq_retire_all(txq, &done);
	} else if (txq->carrier) {
		txq->untidy = false;
		rds_txq_retire(txq, &done);
	} else {
		txq->untidy = txq->rule == RDS_TXQ_BY_POSITION &&
			      !txq_retire_to(txq, U64_MAX, &done);
	}
	more = txq->untidy;
	spin_unlock_bh(&txq->lock);
	rds_txq_release(&done);
	rcu_read_unlock();
	return more;
}

void rds_txq_tidy(struct rds_txq *txq)
{
	bool untidy;

	/*
	 * A context that finds this work pending has set the flag under the
	 * lock before.
	 */
	spin_lock_bh(&txq->lock);
	untidy = txq->untidy;
	spin_unlock_bh(&txq->lock);
	while (unlikely(untidy)) {
		untidy = txq_tidy_some(txq);
		cond_resched();
	}
}

/*
 * Note the number up to which the peer has all messages.  A number that no
 * transmitter has taken acknowledges nothing.  Returns whether the number is
 * news.
 */
static bool txq_note_number(struct rds_txq *txq, u64 seq)
{
	lockdep_assert_held(&txq->lock);
	if (seq > txq->taken_seq) {
		rds_drop(txq->rn->net, RDS_DROP_BAD_ACK);
		return false;
	}
	if (seq <= txq->una_seq)
		return false;
	WRITE_ONCE(txq->una_seq, seq);
	return true;
}

/* Apply what the peer has.  Returns whether there may be messages to retire. */
static bool txq_note_acked(struct rds_txq *txq, u64 seq, u64 pos)
{
	bool news = pos > txq->una;

	lockdep_assert_held(&txq->lock);
	if (news)
		txq->una = pos;
	/* Whatever the rule is: only a peer that goes by number says one. */
	if (seq)
		news |= txq_note_number(txq, seq);
	return news;
}

bool rds_txq_acked(struct rds_txq *txq, u64 seq, u64 pos)
{
	LIST_HEAD(done);
	bool untidy;

	rcu_read_lock();
	spin_lock_bh(&txq->lock);
	if (txq_note_acked(txq, seq, pos)) {
		rds_txq_retire(txq, &done);
		if (unlikely(txq->carried))
			rds_carry_map_acked(txq);
	}
	untidy = txq->untidy;
	spin_unlock_bh(&txq->lock);
	if (!list_empty(&done))
		rds_txq_release(&done);
	rcu_read_unlock();
	return untidy;
}

/*
 * Decide the rule.  Messages have been waiting for that, so the worker retires
 * them.  What a peer that acknowledges by number has is not repeated, so the
 * rest waits until the worker is done.
 */
static void txq_decide(struct rds_txq *txq, enum rds_txq_rule rule)
{
	lockdep_assert_held(&txq->lock);
	txq->rule = rule;
	txq->held = rule == RDS_TXQ_BY_NUMBER;
	txq->untidy = true;
}

/*
 * The peer acknowledges by number.  @ask: it wants to know what this host has.
 */
static void txq_heard_acks(struct rds_txq *txq, bool ask, bool moves, u64 have)
{
	lockdep_assert_held(&txq->lock);
	txq->acks = true;
	if (!ask) {
		txq->moves |= moves;
		txq_decide(txq, RDS_TXQ_BY_NUMBER);
		txq_note_number(txq, have);
		return;
	}
	txq->due |= RDS_DUE_ANSWER;
	if (txq->greeted)
		return;
	/* It was an old peer when this connection began. */
	txq->greeted = true;
	rds_txq_undecide(txq);
	txq->due |= RDS_DUE_GREETING;
}

bool rds_txq_heard(struct rds_txq *txq, bool acks, bool ask, bool moves,
		   u64 have)
{
	bool run = false;

	spin_lock_bh(&txq->lock);
	if (txq->open) {
		if (acks)
			txq_heard_acks(txq, ask, moves, have);
		else if (txq->rule == RDS_TXQ_UNDECIDED && !txq->acks &&
			 !txq->path->index)
			txq_decide(txq, RDS_TXQ_BY_POSITION);
		run = rds_txq_wants_run(txq) || txq->untidy;
	} else if (acks && !ask && have) {
		/* The answer counts, although its connection ends. */
		txq_note_number(txq, have);
	}
	spin_unlock_bh(&txq->lock);
	return run;
}

bool rds_txq_silent(struct rds_txq *txq)
{
	bool silent;

	spin_lock_bh(&txq->lock);
	silent = txq->open && txq->rule == RDS_TXQ_UNDECIDED;
	if (silent)
		txq_decide(txq, RDS_TXQ_BY_POSITION);
	spin_unlock_bh(&txq->lock);
	return silent;
}

bool rds_txq_undecided(struct rds_txq *txq, unsigned long *since)
{
	bool undecided;

	spin_lock_bh(&txq->lock);
	undecided = txq->open && txq->rule == RDS_TXQ_UNDECIDED;
	*since = txq->undecided;
	spin_unlock_bh(&txq->lock);
	return undecided;
}

bool rds_txq_ack_due(struct rds_txq *txq)
{
	bool run = false;

	spin_lock_bh(&txq->lock);
	if (txq->acks && READ_ONCE(*txq->delivered) > txq->ack_sent) {
		txq->due |= RDS_DUE_ACK;
		run = rds_txq_wants_run(txq);
	}
	spin_unlock_bh(&txq->lock);
	return run;
}

bool rds_txq_lanes_due(struct rds_txq *txq)
{
	bool run = false;

	spin_lock_bh(&txq->lock);
	if (txq->acks) {
		txq->due |= RDS_DUE_LANES;
		run = rds_txq_wants_run(txq);
	}
	spin_unlock_bh(&txq->lock);
	return run;
}

/* A transport may still read the header of a message that was begun. */
static bool txq_may_stamp(const struct rds_message *m)
{
	return !(m->flags & RDS_MSG_STARTED);
}

static void txq_stamp_ack(struct rds_txq *txq, struct rds_message *m)
{
	u64 delivered = READ_ONCE(*txq->delivered);

	if (delivered <= txq->ack_sent || !txq_may_stamp(m))
		return;
	m->tx.hdr->ack = cpu_to_be64(delivered);
	txq->ack_sent = delivered;
	txq->due &= ~RDS_DUE_ACK;
}

/*
 * One request at a time: the next batch after its answer asks again, so a
 * stream does not pay for an answer to each batch.
 */
void rds_txq_ask(struct rds_txq *txq, struct rds_message *m)
{
	lockdep_assert_held(&txq->lock);
	if (txq->asked > txq->una_seq || !txq_may_stamp(m))
		return;
	m->tx.hdr->flags |= RDS_WIRE_F_ACK_REQUIRED;
	txq->want_ack = false;
	txq->asked = m->seq;
}

void rds_txq_stamp(struct rds_txq *txq, struct list_head *list)
{
	lockdep_assert_held(&txq->lock);
	txq_stamp_ack(txq, rds_txq_msg(list->next));
	if (txq->want_ack || txq->kept_bytes >= RDS_TXQ_KEPT_ASK)
		rds_txq_ask(txq, rds_txq_msg(list->prev));
}

bool rds_txq_all_told(struct rds_txq *txq, u64 told)
{
	u64 delivered = READ_ONCE(*txq->delivered);
	bool all;

	spin_lock_bh(&txq->lock);
	all = txq->una >= txq->batch.pos && list_empty(&txq->sending) &&
	      max(told, txq->ack_sent) >= delivered &&
	      !(txq->due & (RDS_DUE_ACK | RDS_DUE_LANES | RDS_DUE_ANSWER));
	spin_unlock_bh(&txq->lock);
	return all;
}

bool rds_txq_only_probed(struct rds_txq *txq)
{
	bool only;

	spin_lock_bh(&txq->lock);
	only = txq->next_seq == 1 + txq->probed;
	spin_unlock_bh(&txq->lock);
	return only;
}
