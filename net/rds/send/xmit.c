// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The transmit loop.  A context that finds the gate free takes all queued
 * messages, but no more than send_batch_count, hands them to the transport in
 * one call, and looks at the queue again before it leaves.  No transmitter
 * holds a message back to make a later call larger.
 */
#include <linux/module.h>

#include "netns.h"
#include "proto/header.h"
#include "send/bulk.h"
#include "send/internal.h"
#include "sock/state.h"
#include <net/rds/transport.h>

/* Headers that are renewed without dropping the lock */
#define RENEW_AT_ONCE	64

static unsigned int rds_send_batch_count = 1024;
module_param_named(send_batch_count, rds_send_batch_count, uint, 0444);
MODULE_PARM_DESC(send_batch_count,
		 "messages one transmitter sends before it hands over; 0 means no limit");

/* Is there something to transmit that is not held back? */
static bool txq_has_work(const struct rds_txq *txq)
{
	return txq->due || txq->carried || !list_empty(&txq->sending) ||
	       (!list_empty(&txq->queue) && !txq->held && !txq->fenced &&
		!txq->carrier);
}

/* Become the transmitter, unless there is one or it could not send anything. */
static bool txq_enter(struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	if (!txq->open || txq->blocked)
		return false;
	if (txq->busy) {
		rds_stats_inc(txq->rn, send_lock_contention);
		return false;
	}
	if (!txq_has_work(txq)) {
		rds_stats_inc(txq->rn, send_queue_empty);
		return false;
	}
	txq->busy = true;
	return true;
}

/* Stop being the transmitter. */
static void txq_leave(struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	txq->busy = false;
	/*
	 * rds_txq_close() clears `open` under the lock before it waits, so no
	 * wake-up is missed.
	 */
	if (!txq->open)
		wake_up_all(&txq->idle);
}

/* Append messages to the batch, and clear @list. */
static void txq_append_list(struct rds_txq *txq, struct list_head *list)
{
	lockdep_assert_held(&txq->lock);
	if (!txq->batch.cur)
		txq->batch.cur = list_first_entry(list, struct rds_tx_msg,
						  list);
	if (txq->acks)
		rds_txq_stamp(txq, list);
	txq->taken_seq = max(txq->taken_seq, rds_txq_msg(list->prev)->seq);
	list_splice_tail_init(list, &txq->sending);
}

/*
 * Append queued messages as long as the batch has at most @most, by numbers:
 * some of these may be missing, as their messages were cancelled.
 */
static void txq_append_some(struct rds_txq *txq, u64 most)
{
	const struct rds_message *first = rds_txq_first_numbered(&txq->sending);
	struct rds_message *m;
	LIST_HEAD(some);
	bool want;
	u64 end;

	lockdep_assert_held(&txq->lock);
	end = (first ?: rds_txq_msg(txq->queue.next))->seq + most;
	list_for_each_entry(m, &txq->queue, tx.list)
		if (m->seq >= end)
			break;
	list_cut_before(&some, &txq->queue, &m->tx.list);
	if (list_empty(&some))
		return;
	/* What wants it may be among the messages that are left. */
	want = txq->want_ack && !list_empty(&txq->queue);
	txq_append_list(txq, &some);
	txq->want_ack |= want;
}

/* One less than the messages of a list, and of those that were cancelled */
static u64 txq_span(struct list_head *list)
{
	return rds_txq_msg(list->prev)->seq - rds_txq_msg(list->next)->seq;
}

/* Append queued messages to the batch, which has at most @most of them then. */
static void txq_refill(struct rds_txq *txq, u64 most)
{
	lockdep_assert_held(&txq->lock);
	if (unlikely(txq->carried || txq->carrier || txq->from ||
		     txq->tagged)) {
		rds_carry_refill(txq, most);
		return;
	}
	if (list_empty(&txq->queue) || txq->held || txq->fenced)
		return;
	if (likely(!txq->batch.cur && txq_span(&txq->queue) < most))
		txq_append_list(txq, &txq->queue);
	else
		txq_append_some(txq, most);
}

/*
 * Does the batch have messages that are sent again?  Those on it are counted,
 * whatever other contexts do with others of the lane.
 */
static bool txq_has_old_headers(const struct rds_txq *txq)
{
	return READ_ONCE((txq->from ?: txq)->nr_again);
}

/*
 * Give the messages of the batch that are sent again another header.  Drops the
 * lock now and then: messages stay on `sending` while its owner works.  Returns
 * false without memory.
 */
static bool txq_renew_headers(struct rds_txq *txq)
{
	struct rds_txq *lane = rds_carry_source(txq);
	struct rds_message *m;

	lockdep_assert_held(&txq->lock);
	list_for_each_entry(m, &txq->sending, tx.list) {
		if (!(m->flags & RDS_MSG_AGAIN))
			continue;
		if (!rds_message_renew_header(m, lane != txq,
					      lane->path->index))
			break;
		m->flags &= ~RDS_MSG_AGAIN;
		if (!--lane->nr_again)
			break;
		if (lane->nr_again % RENEW_AT_ONCE)
			continue;
		rds_carry_source_done(txq, lane);
		spin_unlock_bh(&txq->lock);
		cond_resched();
		spin_lock_bh(&txq->lock);
		/* The transmitter has the lane until it has sent the batch. */
		rds_carry_source(txq);
	}
	rds_carry_source_done(txq, lane);
	return list_entry_is_head(m, &txq->sending, tx.list) ||
	       !(m->flags & RDS_MSG_AGAIN);
}

/* Do both tell the same of this host, an older and a newer state of it? */
static bool txq_same_kind(const struct rds_message *a,
			  const struct rds_message *b)
{
	const struct rds_wire_header *x = a->tx.hdr, *y = b->tx.hdr;

	return x->sport == y->sport && x->dport == y->dport &&
	       x->len == y->len &&
	       rds_header_is_cong_map(x->flags) ==
		       rds_header_is_cong_map(y->flags);
}

/* The older message is not sent; if it is a probe, the newer one takes over. */
static void txq_supersede(struct rds_txq *txq, struct rds_message *old,
			  struct rds_message *m)
{
	LIST_HEAD(done);

	lockdep_assert_held(&txq->lock);
	if (old->flags & RDS_MSG_PROBE && !(m->flags & RDS_MSG_PROBE)) {
		m->flags |= RDS_MSG_PROBE;
		rds_txq_set_probes(txq, txq->nr_probes + 1);
	}
	rds_txq_unlink(txq, old, &done);
	rds_message_free(old);
}

/*
 * Put a message of the queue's own behind the others of that sort, and before
 * all messages with numbers that are not begun.  An older state must not arrive
 * after a newer one, so an older message of the kind that is not begun goes.
 */
static void txq_insert(struct rds_txq *txq, struct rds_message *m)
{
	struct list_head *pos = txq->sending.next;
	struct rds_tx_batch *batch = &txq->batch;
	struct rds_message *old;

	lockdep_assert_held(&txq->lock);
	/* `sending` begins with the position of the batch. */
	if (batch->off)
		pos = pos->next;
	while (pos != &txq->sending && rds_txq_msg(pos)->flags & RDS_MSG_ONCE) {
		old = rds_txq_msg(pos);
		pos = pos->next;
		if (txq_same_kind(old, m))
			txq_supersede(txq, old, m);
	}
	txq->nr_messages++;
	list_add_tail(&m->tx.list, pos);
	if (!batch->off)
		batch->cur = list_first_entry(&txq->sending, struct rds_tx_msg,
					      list);
}

/*
 * Make a message that is due, and insert it.  Drops the lock meanwhile.
 * Returns false without memory.
 */
static bool txq_add_due(struct rds_txq *txq, unsigned int what)
{
	bool probe = what == txq->probe_due;
	struct rds_message *m;

	lockdep_assert_held(&txq->lock);
	/*
	 * Clear the bit before the state is read that the message tells: a
	 * change after the read sets the bit again.
	 */
	txq->due &= ~what;
	if (what == RDS_DUE_MAP)
		txq->map_pos = U64_MAX;
	if (probe)
		txq->probe_due = 0;
	spin_unlock_bh(&txq->lock);
	m = txq->ops->make(txq->path, what);
	spin_lock_bh(&txq->lock);
	if (!m) {
		txq->due |= what;
		if (probe)
			txq->probe_due = what;
		return false;
	}
	m->flags |= RDS_MSG_ONCE;
	if (what == RDS_DUE_MAP)
		txq->map = m;
	if (probe) {
		m->flags |= RDS_MSG_PROBE;
		rds_txq_set_probes(txq, txq->nr_probes + 1);
	}
	txq->ack_sent = max(txq->ack_sent, be64_to_cpu(m->tx.hdr->ack));
	txq_insert(txq, m);
	return true;
}

/* Make all that is due. */
static bool txq_make_due(struct rds_txq *txq)
{
	unsigned int what;

	for (what = 1; what < BIT(RDS_DUE_KINDS); what <<= 1) {
		if (!(txq->due & what) ||
		    (what == RDS_DUE_MAP && rds_carry_holds_map(txq)))
			continue;
		if (!txq_add_due(txq, what))
			return false;
	}
	return true;
}

/* The transport has taken a message of the queue's own. */
static void txq_sent_once(struct rds_txq *txq, const struct rds_message *m)
{
	lockdep_assert_held(&txq->lock);
	if (m->flags & RDS_MSG_PROBE) {
		txq->map_end = m->tx.end;
		if (txq->una >= m->tx.end)
			txq->ops->probe_acked(txq->path);
	}
	if (m == txq->map) {
		txq->map_pos = m->tx.end;
		txq->map = NULL;
	}
}

/*
 * The transport has taken @n messages, up to @last, which move from the batch
 * to their lane.
 */
static void txq_began(struct rds_txq *gate, struct rds_txq *lane,
		      struct list_head *last, unsigned int n)
{
	if (!n)
		return;
	rds_txq_move_up_to(last, &gate->sending, &lane->inflight);
	lane->used = true;
	if (unlikely(lane != gate))
		lane->away -= n;
}

/*
 * Sort the messages that the transport has taken.  Those of this connection
 * only, which are not acknowledged, and messages that end with their operations
 * go to @done, all others to `inflight`.  Returns their number.
 */
static unsigned int txq_collect(struct rds_txq *txq, struct list_head *done)
{
	struct rds_txq *lane = rds_carry_source(txq);
	struct list_head *last = NULL;
	struct rds_message *m, *next;
	unsigned int n = 0, began = 0;

	lockdep_assert_held(&txq->lock);
	list_for_each_entry_safe(m, next, &txq->sending, tx.list) {
		if (&m->tx == txq->batch.cur)
			break;
		n++;
		m->flags |= RDS_MSG_STARTED;
		if (m->flags & RDS_MSG_ONCE) {
			txq_sent_once(txq, m);
			rds_txq_unlink(txq, m, done);
		} else if (unlikely(m->request) &&
			   rds_request_over(m->request)) {
			rds_txq_unlink(txq, m, done);
		} else {
			/* Positions are those of the own path. */
			if (unlikely(lane != txq))
				m->tx.end = 0;
			last = &m->tx.list;
			began++;
		}
	}
	txq_began(txq, lane, last, began);
	/*
	 * The peer may have acknowledged messages while they were on `sending`.
	 */
	rds_txq_retire(lane, done);
	rds_carry_source_done(txq, lane);
	/* So may a map. */
	if (unlikely(txq->carried))
		rds_carry_map_acked(txq);
	return n;
}

/* Call the transport once.  Drops the lock meanwhile. */
static enum rds_tx_result txq_call(struct rds_txq *txq, unsigned int *sent)
	__must_hold(&txq->lock)
{
	struct rds_path *path = txq->path;
	enum rds_tx_result res;
	LIST_HEAD(done);

	txq->room = false;
	txq->batch.quiet = rds_txq_quiet(txq);
	spin_unlock_bh(&txq->lock);
	res = path->trans->xmit(path, &txq->batch);
	spin_lock_bh(&txq->lock);
	*sent += txq_collect(txq, &done);
	if (!list_empty(&done)) {
		/*
		 * Owners are used after the lock is dropped, so the RCU section
		 * begins before.
		 */
		rcu_read_lock();
		spin_unlock_bh(&txq->lock);
		rds_txq_release(&done);
		rcu_read_unlock();
		spin_lock_bh(&txq->lock);
	}
	return res;
}

/*
 * Transmit until no message is left, there is no room, or send_batch_count is
 * reached.
 */
static enum rds_txq_state txq_loop(struct rds_txq *txq)
	__must_hold(&txq->lock)
{
	const unsigned int most = rds_send_batch_count ?: UINT_MAX;
	enum rds_tx_result res;
	unsigned int sent = 0;

	for (;;) {
		if (!txq->open)
			return RDS_TXQ_WAITS;
		if (unlikely(sent >= most))
			return txq_has_work(txq) ? RDS_TXQ_MORE : RDS_TXQ_IDLE;
		txq_refill(txq, most - sent);
		if (txq->due && !txq_make_due(txq))
			return RDS_TXQ_MORE;
		if (!txq->batch.cur)
			return RDS_TXQ_IDLE;
		if (unlikely(txq_has_old_headers(txq)) &&
		    !txq_renew_headers(txq))
			return RDS_TXQ_MORE;
		res = txq_call(txq, &sent);
		if (res == RDS_TX_FAILED)
			return RDS_TXQ_WAITS;
		if (res == RDS_TX_BLOCKED && !txq->room) {
			txq->blocked = true;
			return RDS_TXQ_WAITS;
		}
	}
}

/* Transmit, if the gate admits this context.  Releases the lock. */
static enum rds_txq_state txq_transmit(struct rds_txq *txq)
	__releases(&txq->lock)
{
	enum rds_txq_state state;

	lockdep_assert_held(&txq->lock);
	if (!txq_enter(txq)) {
		state = txq->open && !txq->blocked ? RDS_TXQ_IDLE :
						     RDS_TXQ_WAITS;
		spin_unlock_bh(&txq->lock);
		return state;
	}
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	spin_unlock_bh(&txq->lock);
	lock_map_acquire(&txq->xmit_map);
	spin_lock_bh(&txq->lock);
#endif
	state = txq_loop(txq);
	/* The worker retires what is left, see rds_txq_tidy(). */
	if (unlikely(txq->untidy) && state == RDS_TXQ_IDLE)
		state = RDS_TXQ_MORE;
	txq_leave(txq);
	spin_unlock_bh(&txq->lock);
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	lock_map_release(&txq->xmit_map);
#endif
	return state;
}

static void txq_append(struct rds_txq *txq, struct rds_message *m)
{
	lockdep_assert_held(&txq->lock);
	m->seq = rds_txq_number(txq, m);
	m->tx.hdr->seq = cpu_to_be64(m->seq);
	txq->want_ack |= m->tx.lent;
	txq->nr_messages++;
	rds_txq_own(txq, m);
	list_add_tail(&m->tx.list, &txq->queue);
}

/*
 * Is this message part of a stream, to one peer or to many, so that the worker
 * transmits it?  The worker runs beside the senders and takes at once all
 * messages that they queue until it is scheduled; one pass of TCP and one
 * wake-up of the receiver serve all of them.  In a dialogue the receiver may be
 * waiting for this very message, so its sender transmits it.  The sender also
 * transmits large messages, which gain nothing from a batch, and messages
 * within the host, where programs rely on a message being in the receive queue
 * when sendmsg() returns.
 */
static bool txq_hand_over(struct rds_txq *txq, const struct rds_message *m)
{
	txq->turn = false;
	if (m->tx.bytes >= RDS_TXQ_DIRECT_BYTES || !rds_txq_wants_run(txq) ||
	    txq->path->trans->caps & RDS_CAP_LOCAL_ONLY)
		return false;
	/*
	 * With RDS_CAP_OWNS_ACK dialogues have messages in flight, too: peers
	 * acknowledge late.  So they do by number, but not by position; a
	 * position up to `quiet` may not have been reported.
	 */
	if (!list_empty(&txq->inflight) &&
	    list_last_entry(&txq->inflight, struct rds_tx_msg, list)->end >
		    max(txq->una, txq->batch.quiet) &&
	    !(txq->path->trans->caps & RDS_CAP_OWNS_ACK))
		return true;
	txq->turn = rds_sock_turn(m->owner);
	return !txq->turn && rds_sock_streams(m->owner, txq->streams);
}

enum rds_txq_state rds_txq_send(struct rds_txq *txq, struct rds_message *m,
				unsigned int lanes)
{
	spin_lock_bh(&txq->lock);
	if (unlikely(txq->gone || txq->lanes != lanes)) {
		enum rds_txq_state state = txq->gone ? RDS_TXQ_GONE :
						       RDS_TXQ_MOVED;

		spin_unlock_bh(&txq->lock);
		return state;
	}
	txq_append(txq, m);
	if (m->tx.bytes >= RDS_TXQ_BULK_BYTES)
		WRITE_ONCE(txq->bulk, jiffies);
	if (unlikely(txq->carrier)) {
		spin_unlock_bh(&txq->lock);
		return RDS_TXQ_AWAY;
	}
	if (txq_hand_over(txq, m)) {
		spin_unlock_bh(&txq->lock);
		return RDS_TXQ_MORE;
	}
	return txq_transmit(txq);
}

bool rds_txq_add(struct rds_txq *txq, struct rds_message *m,
		 unsigned int lanes)
{
	bool added;

	spin_lock_bh(&txq->lock);
	WARN_ON_ONCE(txq->gone);
	added = txq->lanes == lanes;
	if (added)
		txq_append(txq, m);
	spin_unlock_bh(&txq->lock);
	return added;
}

enum rds_txq_state rds_txq_run(struct rds_txq *txq)
{
	enum rds_txq_state state;
	struct rds_txq *gate;

	spin_lock_bh(&txq->lock);
	gate = txq->carrier;
	txq->turn = false;
	state = txq_transmit(txq);
	if (likely(!gate))
		return state;
	spin_lock_bh(&gate->lock);
	if (txq_transmit(gate) != RDS_TXQ_MORE)
		return state;
	/* The worker of the lane tidies its own, and would find this again. */
	rds_txq_tidy(gate);
	return RDS_TXQ_MORE;
}

bool rds_txq_add_probe(struct rds_txq *txq, struct rds_message *m, bool *run)
{
	m->flags |= RDS_MSG_PROBE;
	spin_lock_bh(&txq->lock);
	if (txq->gone || !rds_txq_has_probe_room(txq)) {
		spin_unlock_bh(&txq->lock);
		rds_drop(txq->rn->net, RDS_DROP_PONG_LIMIT);
		rds_message_free(m);
		return false;
	}
	rds_txq_set_probes(txq, txq->nr_probes + 1);
	txq->probed++;
	txq_append(txq, m);
	*run = rds_txq_wants_run(txq);
	spin_unlock_bh(&txq->lock);
	return true;
}

bool rds_txq_due(struct rds_txq *txq, unsigned int what)
{
	bool run;

	spin_lock_bh(&txq->lock);
	txq->due |= what;
	run = rds_txq_wants_run(txq);
	spin_unlock_bh(&txq->lock);
	return run;
}

/* Only the path of the first lane has maps. */
static unsigned int txq_probe_kind(const struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	return txq->path->index || txq->carrier ? RDS_DUE_GREETING :
						  RDS_DUE_MAP;
}

bool rds_txq_nudge(struct rds_txq *txq)
{
	bool run;

	spin_lock_bh(&txq->lock);
	txq->due |= txq_probe_kind(txq);
	run = rds_txq_wants_run(txq);
	spin_unlock_bh(&txq->lock);
	return run;
}

void rds_txq_probe(struct rds_txq *txq)
{
	spin_lock_bh(&txq->lock);
	txq->probe_due = txq_probe_kind(txq);
	txq->due |= txq->probe_due;
	txq->map_end = U64_MAX;
	spin_unlock_bh(&txq->lock);
}

bool rds_txq_probe_acked(struct rds_txq *txq)
{
	bool acked;

	spin_lock_bh(&txq->lock);
	acked = txq->una >= txq->map_end;
	spin_unlock_bh(&txq->lock);
	return acked;
}

bool rds_txq_unblock(struct rds_txq *txq)
{
	bool run;

	spin_lock_bh(&txq->lock);
	txq->room = true;
	txq->blocked = false;
	run = rds_txq_wants_run(txq);
	spin_unlock_bh(&txq->lock);
	return run;
}
