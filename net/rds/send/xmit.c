// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The transmit loop.  Whoever finds the gate free takes everything that is queued, hands it to
 * the transport in one call, and looks again before it leaves; nothing is ever held back to
 * become part of a larger call.
 */
#include <linux/module.h>

#include "endpoint/endpoint.h"
#include "netns.h"
#include "send/internal.h"
#include <net/rds/transport.h>

unsigned int rds_send_batch_count = 1024;
module_param_named(send_batch_count, rds_send_batch_count, uint, 0444);
MODULE_PARM_DESC(send_batch_count,
		 "messages one transmitter sends before it hands over; 0 means no limit");

unsigned int rds_tx_fill_bvec(const struct rds_tx_batch *batch, struct bio_vec *bv,
			      unsigned int max, size_t *bytes)
{
	struct rds_tx_msg *m = batch->cur;
	unsigned int skip = batch->off, n = 0, i;
	size_t sum = 0;

	for (; m && n < max; m = list_is_last(&m->list, batch->head) ? NULL :
						list_next_entry(m, list)) {
		for (i = 0; i < m->nr_bv && n < max; i++) {
			const struct bio_vec *v = &m->bv[i];

			if (skip >= v->bv_len) {
				skip -= v->bv_len;
				continue;
			}
			bvec_set_page(&bv[n], v->bv_page, v->bv_len - skip, v->bv_offset + skip);
			sum += bv[n++].bv_len;
			skip = 0;
		}
	}
	*bytes = sum;
	return n;
}
EXPORT_SYMBOL_NS_GPL(rds_tx_fill_bvec, RDS_NS);

void rds_tx_advance(struct rds_tx_batch *batch, size_t bytes)
{
	struct rds_tx_msg *m = batch->cur;
	unsigned int left;

	while (m && bytes) {
		left = m->bytes - batch->off;
		if (bytes < left) {
			batch->off += bytes;
			batch->pos += bytes;
			break;
		}
		bytes -= left;
		batch->pos += left;
		batch->off = 0;
		m->end = batch->pos;
		m = list_is_last(&m->list, batch->head) ? NULL : list_next_entry(m, list);
	}
	batch->cur = m;
}
EXPORT_SYMBOL_NS_GPL(rds_tx_advance, RDS_NS);

/* Become the transmitter, if there is none and there is a use for one.  The lock is held. */
static bool txq_enter(struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	if (!txq->open || txq->blocked)
		return false;
	if (txq->busy) {
		rds_stats_inc(txq->rn, send_lock_contention);
		return false;
	}
	if (list_empty(&txq->queue) && list_empty(&txq->sending) && !txq->map_due) {
		rds_stats_inc(txq->rn, send_queue_empty);
		return false;
	}
	txq->busy = true;
	return true;
}

/* Stop being it.  The lock is held. */
static void txq_leave(struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	txq->busy = false;
	/* rds_txq_close() cleared open under the lock before it began to wait */
	if (!txq->open)
		wake_up_all(&txq->idle);
}

/* Everything that waits joins the batch. */
static void txq_refill(struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	if (!txq->batch.cur && !list_empty(&txq->queue))
		txq->batch.cur = list_first_entry(&txq->queue, struct rds_tx_msg, list);
	list_splice_tail_init(&txq->queue, &txq->sending);
}

/* Make the map that is due and put it in front of all that is not begun.  Drops the lock. */
static bool txq_add_map(struct rds_txq *txq)
{
	struct rds_tx_batch *batch = &txq->batch;
	struct rds_message *map;
	bool probe;

	lockdep_assert_held(&txq->lock);
	/* first forget, then look at the map: a change after the look sets it again */
	txq->map_due = false;
	probe = txq->probe_due;
	txq->probe_due = false;
	spin_unlock_bh(&txq->lock);
	map = txq->map_fn(txq->path);
	spin_lock_bh(&txq->lock);
	if (!map) {
		txq->map_due = true;
		txq->probe_due = probe;
		return false;
	}
	map->flags |= RDS_MSG_MAP;
	if (probe) {
		map->flags |= RDS_MSG_PROBE;
		txq->nr_probes++;
	}
	if (batch->cur && batch->off) {
		list_add(&map->tx.list, &batch->cur->list);
	} else {
		list_add_tail(&map->tx.list, batch->cur ? &batch->cur->list : &txq->sending);
		batch->cur = &map->tx;
	}
	return true;
}

/* Messages the transport has taken wait for their acknowledgement, maps have none. */
static unsigned int txq_collect(struct rds_txq *txq, struct list_head *done)
{
	struct rds_message *m, *next;
	unsigned int n = 0;

	lockdep_assert_held(&txq->lock);
	list_for_each_entry_safe(m, next, &txq->sending, tx.list) {
		if (&m->tx == txq->batch.cur)
			break;
		n++;
		m->flags |= RDS_MSG_STARTED;
		if (m->flags & RDS_MSG_MAP) {
			if (m->flags & RDS_MSG_PROBE)
				txq->map_end = m->tx.end;
			rds_txq_unlink(txq, m, done);
		} else if (unlikely(m->memop) && rds_memop_over(m->memop)) {
			rds_txq_unlink(txq, m, done);
		} else {
			list_move_tail(&m->tx.list, &txq->inflight);
			txq->used = true;
		}
	}
	/* what was acknowledged meanwhile could not be retired while it was ours */
	rds_txq_retire(txq, done);
	return n;
}

/* One call of the transport.  Takes the lock away and gives it back. */
static enum rds_tx_result txq_call(struct rds_txq *txq, unsigned int *sent)
	__must_hold(&txq->lock)
{
	struct rds_path *path = txq->path;
	enum rds_tx_result res;
	LIST_HEAD(done);

	txq->room = false;
	spin_unlock_bh(&txq->lock);
	res = path->trans->xmit(path, &txq->batch);
	spin_lock_bh(&txq->lock);
	*sent += txq_collect(txq, &done);
	if (!list_empty(&done)) {
		/* from before the lock goes until the owners are done with */
		rcu_read_lock();
		spin_unlock_bh(&txq->lock);
		rds_txq_release(&done);
		rcu_read_unlock();
		spin_lock_bh(&txq->lock);
	}
	return res;
}

/* Transmit until nothing is left, there is no room, or the share is used up. */
static enum rds_txq_state txq_loop(struct rds_txq *txq)
	__must_hold(&txq->lock)
{
	enum rds_tx_result res;
	unsigned int sent = 0;

	for (;;) {
		if (!txq->open)
			return RDS_TXQ_WAITS;
		if (txq->map_due && !txq_add_map(txq))
			return RDS_TXQ_MORE;
		txq_refill(txq);
		if (!txq->batch.cur)
			return RDS_TXQ_IDLE;
		if (rds_send_batch_count && sent >= rds_send_batch_count)
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

/* The lock is held on entry and not on return. */
static enum rds_txq_state txq_transmit(struct rds_txq *txq)
	__releases(&txq->lock)
{
	enum rds_txq_state state;

	if (!txq_enter(txq)) {
		state = txq->open && !txq->blocked ? RDS_TXQ_IDLE : RDS_TXQ_WAITS;
		spin_unlock_bh(&txq->lock);
		return state;
	}
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	spin_unlock_bh(&txq->lock);
	lock_map_acquire(&txq->xmit_map);
	spin_lock_bh(&txq->lock);
#endif
	state = txq_loop(txq);
	txq_leave(txq);
	spin_unlock_bh(&txq->lock);
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	lock_map_release(&txq->xmit_map);
#endif
	return state;
}

/* Is there something that a run would get going?  The lock is held. */
static bool txq_wants_run(const struct rds_txq *txq)
{
	return txq->open && !txq->busy && !txq->blocked;
}

static void txq_append(struct rds_txq *txq, struct rds_message *m)
{
	lockdep_assert_held(&txq->lock);
	m->seq = txq->next_seq++;
	m->tx.hdr->seq = cpu_to_be64(m->seq);
	list_add_tail(&m->tx.list, &txq->queue);
}

/*
 * Is this message part of a stream, to one peer or to many?  Then the worker transmits it: it
 * runs beside the senders and takes at once whatever they have queued until it is scheduled, and
 * one pass of TCP and one wake-up of the receiver serve all of that.  Otherwise somebody may be
 * waiting for this very message, as in a dialogue, and its sender transmits it himself.  So he
 * does with large messages, which gain nothing from company, and within the host, where programs
 * know a message to be with its receiver when sendmsg() returns.
 */
static bool txq_hand_over(struct rds_txq *txq, const struct rds_message *m)
{
	if (m->tx.bytes >= RDS_TXQ_DIRECT_BYTES || !txq_wants_run(txq) ||
	    txq->path->trans->caps & RDS_CAP_LOCAL_ONLY)
		return false;
	/* peers that acknowledge now and then leave messages in flight after any dialogue */
	if (!list_empty(&txq->inflight) && !(txq->path->trans->caps & RDS_CAP_OWNS_ACK))
		return true;
	return rds_sock_streams(m->owner, &txq->last_send);
}

enum rds_txq_state rds_txq_send(struct rds_txq *txq, struct rds_message *m)
{
	spin_lock_bh(&txq->lock);
	if (unlikely(txq->gone)) {
		spin_unlock_bh(&txq->lock);
		return RDS_TXQ_GONE;
	}
	txq_append(txq, m);
	if (txq_hand_over(txq, m)) {
		spin_unlock_bh(&txq->lock);
		return RDS_TXQ_MORE;
	}
	return txq_transmit(txq);
}

enum rds_txq_state rds_txq_run(struct rds_txq *txq)
{
	spin_lock_bh(&txq->lock);
	return txq_transmit(txq);
}

bool rds_txq_add_probe(struct rds_txq *txq, struct rds_message *m)
{
	bool run;

	m->flags |= RDS_MSG_PROBE;
	spin_lock_bh(&txq->lock);
	if (txq->gone || txq->nr_probes >= RDS_TXQ_MAX_PROBES) {
		spin_unlock_bh(&txq->lock);
		rds_drop(txq->rn->net, RDS_DROP_PONG_LIMIT);
		rds_message_free(m);
		return false;
	}
	txq->nr_probes++;
	txq_append(txq, m);
	run = txq_wants_run(txq);
	spin_unlock_bh(&txq->lock);
	return run;
}

bool rds_txq_map_due(struct rds_txq *txq)
{
	bool run;

	spin_lock_bh(&txq->lock);
	txq->map_due = true;
	run = txq_wants_run(txq);
	spin_unlock_bh(&txq->lock);
	return run;
}

void rds_txq_probe(struct rds_txq *txq)
{
	spin_lock_bh(&txq->lock);
	txq->map_due = true;
	txq->probe_due = true;
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
	run = txq_wants_run(txq);
	spin_unlock_bh(&txq->lock);
	return run;
}
