// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Life of a transmit queue; send/txq.h has the rules. */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "netns.h"
#include "send/internal.h"
#include "sock/state.h"
#include "sock/zrecord.h"
#include <net/rds/transport.h>

/*
 * Probes that each queue has room for, those that share the room of a
 * namespace, the part of what is left there that one queue can have, and the
 * most on one queue: a peer that pings and does not read makes this host keep a
 * pong for each ping.
 */
#define OWN_PROBES	16
#define SHARED_PROBES	16384
#define SHARED_PART	8
#define MAX_PROBES	1024

/* Messages that leave the list of their socket under one lock */
#define DISOWN_AT_ONCE	64
/* Messages that a queue frees at once at its end */
#define DRAIN_AT_ONCE	1024

void rds_txq_init(struct rds_txq *txq, struct rds_path *path,
		  struct rds_net *rn, const struct rds_txq_ops *ops,
		  const u64 *delivered)
{
	static struct lock_class_key __maybe_unused xmit_key;

	spin_lock_init(&txq->lock);
	txq->path = path;
	txq->rn = rn;
	INIT_LIST_HEAD(&txq->queue);
	INIT_LIST_HEAD(&txq->sending);
	INIT_LIST_HEAD(&txq->inflight);
	INIT_LIST_HEAD(&txq->kept);
	txq->batch.head = &txq->sending;
	txq->batch.cur = NULL;
	txq->next_seq = 1;
	txq->numbered = jiffies;
	txq->lanes = 1;
	txq->bulk = jiffies - HZ;
	txq->streams = &txq->last_send;
	txq->ops = ops;
	txq->delivered = delivered;
	init_waitqueue_head(&txq->idle);
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	lockdep_init_map(&txq->xmit_map, "rds_txq_xmit", &xmit_key, 0);
#endif
}

/* End the charge of several messages of one owner at once. */
static void txq_account(struct rds_sock *owner, unsigned int bytes,
			unsigned int msgs)
{
	if (owner)
		rds_sock_sent(owner, bytes, msgs);
}

/* Report the zero-copy cookie only after the pages are unpinned. */
static void txq_free(struct rds_message *m, struct rds_message_bin *bin)
{
	const struct rds_zcopy *zcopy = rds_message_zcopy_of(m);
	struct rds_sock *owner = zcopy ? m->owner : NULL;
	u32 cookie = zcopy ? zcopy->cookie : 0;

	/* Operations that were not posted end here. */
	if (unlikely(m->request))
		rds_request_release(m->request, m->flags & RDS_MSG_UNREACHED ?
							RDS_OP_DROPPED :
							RDS_OP_CANCELED);
	rds_message_bin_add(bin, m);
	if (owner)
		rds_sock_zcopy_done(owner, cookie);
}

/*
 * Messages of one owner that come one after the other, from @m on, leave its
 * list: at most DISOWN_AT_ONCE of them.
 */
static void txq_disown(struct list_head *done, struct rds_message *m)
{
	struct rds_sock *owner = m->owner;
	unsigned int n = DISOWN_AT_ONCE;

	spin_lock_bh(&owner->sent_lock);
	list_for_each_entry_from(m, done, tx.list) {
		if (m->owner != owner || !n--)
			break;
		__hlist_del(&m->own.node);
	}
	spin_unlock_bh(&owner->sent_lock);
}

void rds_txq_release(struct list_head *done)
{
	/* Mostly there are few messages: the rest is not cleared. */
	struct rds_message_bin bin __uninitialized;
	unsigned int bytes = 0, msgs = 0;
	struct rds_message *m, *next;
	struct rds_sock *owner = NULL;

	bin.nr = 0;
	list_for_each_entry_safe(m, next, done, tx.list) {
		if (m->owner != owner || msgs == DISOWN_AT_ONCE) {
			txq_account(owner, bytes, msgs);
			owner = m->owner;
			bytes = 0;
			msgs = 0;
			if (owner)
				txq_disown(done, m);
		}
		bytes += rds_message_charge(m);
		msgs++;
		txq_free(m, &bin);
	}
	rds_message_bin_empty(&bin);
	txq_account(owner, bytes, msgs);
	INIT_LIST_HEAD(done);
}

void rds_txq_operation_done(struct rds_txq *txq, struct rds_operation *op)
{
	struct rds_message *m;
	LIST_HEAD(done);

	rcu_read_lock();
	spin_lock_bh(&txq->lock);
	m = op->msg;
	/*
	 * Before STARTED is set the transmitter owns the message; txq_collect()
	 * retires it.
	 */
	if (m && m->flags & RDS_MSG_STARTED && rds_request_over(m->request))
		rds_txq_unlink(txq, m, &done);
	spin_unlock_bh(&txq->lock);
	rds_txq_release(&done);
	rcu_read_unlock();
}

void rds_operation_done(struct rds_path *path, struct rds_tx_operation *op,
			enum rds_operation_status status)
{
	struct rds_operation *o = rds_to_operation(op);

	rds_operation_finish(o, status);
	/*
	 * Only the message of a silent operation ends with it: no
	 * acknowledgement comes for it.
	 */
	if (o->silent)
		rds_txq_operation_done(path->txq, o);
	rds_operation_put(o);
}
EXPORT_SYMBOL_NS_GPL(rds_operation_done, RDS_NS);

/* Was the first message begun, so that the peer may have it? */
static bool txq_repeats_first(struct rds_txq *txq)
{
	struct rds_message *m;

	m = list_first_entry_or_null(&txq->queue, struct rds_message, tx.list);
	return m && m->flags & RDS_MSG_STARTED;
}

/* What a connection to a peer of this kind begins with, see send/ack.c */
static void txq_begin(struct rds_txq *txq, enum rds_peer_kind peer)
{
	lockdep_assert_held(&txq->lock);
	txq->rule = RDS_TXQ_BY_POSITION;
	if (peer == RDS_PEER_UNKNOWN || peer == RDS_PEER_ACKS)
		rds_txq_undecide(txq);
	/*
	 * A repeat ahead of the handshake would be compared with the numbers of
	 * an earlier incarnation of this host.
	 */
	txq->greeted = peer != RDS_PEER_OLD;
	txq->late |= !txq->greeted;
	/* An old peer that has messages drops it, see conn_make_handshake(). */
	txq->dropped = peer != RDS_PEER_ACKS && txq->used;
	/*
	 * A message must not go over a further path to a peer that has one: see
	 * rds_fence_move().
	 */
	txq->held = peer == RDS_PEER_ACKS &&
		    (txq->path->index || txq_repeats_first(txq));
	txq->acks = false;
	txq->moves = false;
	txq->ack_sent = 0;
	if (!txq->carrier)
		txq->asked = 0;
	/* Of the maps that two paths carry, an older one could come last. */
	txq->due = txq->ops->make && !txq->path->index && !txq->carrier ?
			   RDS_DUE_MAP :
			   0;
	if (txq->greeted) {
		txq->met = true;
		txq->due |= RDS_DUE_GREETING;
	}
}

void rds_txq_open(struct rds_txq *txq, enum rds_peer_kind peer, u8 due)
{
	spin_lock_bh(&txq->lock);
	txq->batch.cur = NULL;
	txq->batch.off = 0;
	txq->batch.pos = 0;
	txq->batch.quiet = 0;
	txq->una = 0;
	txq->blocked = false;
	txq->probe_due = 0;
	txq->map_end = U64_MAX;
	txq->map_pos = 0;
	txq_begin(txq, peer);
	txq->due |= due;
	txq->open = true;
	spin_unlock_bh(&txq->lock);
}

static bool txq_is_needed(const struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	return txq->away || txq->nr_messages > txq->nr_probes;
}

bool rds_txq_shut(struct rds_txq *txq, bool unused)
{
	bool needed;

	spin_lock_bh(&txq->lock);
	needed = txq_is_needed(txq);
	if (!needed || !unused)
		txq->open = false;
	spin_unlock_bh(&txq->lock);
	return !needed;
}

void rds_txq_close(struct rds_txq *txq)
{
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	/*
	 * Tell lockdep that this waits for the transmitter as for the holder of
	 * a lock.
	 */
	lock_map_acquire(&txq->xmit_map);
	lock_map_release(&txq->xmit_map);
#endif
	rds_txq_shut(txq, false);
	wait_event(txq->idle, !READ_ONCE(txq->busy));
}

/* Is the message retransmitted over the next connection of the path? */
static bool txq_repeats(struct rds_message *m)
{
	if (m->flags & (RDS_MSG_CANCELLED | RDS_MSG_ONCE))
		return false;
	if (likely(!m->request))
		return true;
	if (!rds_request_again(m->request))
		return false;
	if (m->request->tx.posted)
		m->tx.request = NULL;
	return true;
}

/*
 * Was the message begun with the header that it has?  One that was sent twice
 * has a header that fits every later time.
 */
static bool txq_needs_header(const struct rds_message *m)
{
	return m->flags & RDS_MSG_STARTED && !(m->flags & RDS_MSG_AGAIN) &&
	       !(m->tx.hdr->flags & RDS_WIRE_F_RETRANSMITTED);
}

/* The message leaves `kept`, to be sent again. */
static void txq_keep_no_more(struct rds_txq *txq, struct rds_message *m)
{
	if (m->flags & RDS_MSG_KEPT)
		txq->kept_bytes -= rds_txq_kept_size(m);
	m->flags &= ~RDS_MSG_KEPT;
}

/* Probes that wait say nothing that was for the last connection. */
static void txq_untell_probes(struct rds_txq *txq)
{
	struct rds_message *m;

	lockdep_assert_held(&txq->lock);
	if (!txq->nr_probes)
		return;
	list_for_each_entry(m, &txq->queue, tx.list) {
		if (m->flags & RDS_MSG_PROBE)
			rds_message_untell(m);
	}
}

/*
 * Messages that were begun get another header, which flags them as
 * retransmitted, before they are handed over again; the others are not changed.
 * The transport has called rds_operation_done() for each operation that it
 * posted.
 */
static void txq_again(struct rds_txq *lane, struct rds_message *m)
{
	txq_keep_no_more(lane, m);
	m->tx.end = 0;
	if (!(m->flags & RDS_MSG_STARTED))
		rds_message_untell(m);
	if (txq_needs_header(m)) {
		m->flags |= RDS_MSG_AGAIN;
		lane->nr_again++;
	}
}

/* Take the messages on `sending`, which are of one lane or the gate's own. */
static void txq_take_batch(struct rds_txq *gate, struct list_head *again,
			   struct list_head *done)
{
	struct rds_message *m, *next;

	lockdep_assert_held(&gate->lock);
	if (gate->batch.off)
		rds_tx_to_message(gate->batch.cur)->flags |= RDS_MSG_STARTED;
	gate->batch.cur = NULL;
	gate->batch.off = 0;
	list_for_each_entry_safe(m, next, &gate->sending, tx.list) {
		if (m->flags & RDS_MSG_ONCE)
			rds_txq_unlink(gate, m, done);
	}
	list_splice_tail_init(&gate->sending, again);
}

/* Prepare the first messages of `queue`, up to @last, to be sent again. */
static void txq_again_up_to(struct rds_txq *lane, struct list_head *last,
			    struct list_head *done)
{
	struct rds_message *m, *next;

	lockdep_assert_held(&lane->lock);
	list_for_each_entry_safe(m, next, &lane->queue, tx.list) {
		bool over = &m->tx.list == last;

		if (txq_repeats(m)) {
			txq_again(lane, m);
		} else {
			txq_keep_no_more(lane, m);
			rds_txq_unlink(lane, m, done);
		}
		if (over)
			break;
	}
}

void rds_txq_take_back(struct rds_txq *gate, struct rds_txq *lane,
		       struct list_head *done)
{
	struct list_head *last;
	LIST_HEAD(again);
	u64 fence;

	lockdep_assert_held(&lane->lock);
	WARN_ON_ONCE(gate->open || gate->busy);
	/* The lists are not in order before the end. */
	fence = lane->fence;
	lane->fence = 0;
	lane->returning = false;
	list_splice_tail_init(&lane->kept, &again);
	list_splice_tail_init(&lane->inflight, &again);
	if ((gate->from ?: gate) == lane)
		txq_take_batch(gate, &again, done);
	lane->away = 0;
	txq_untell_probes(lane);
	last = again.prev;
	list_splice(&again, &lane->queue);
	if (last != &again)
		txq_again_up_to(lane, last, done);
	lane->fence = fence;
	if (fence)
		rds_fence_look(lane);
}

void rds_txq_rewind(struct rds_txq *txq)
{
	LIST_HEAD(none);
	LIST_HEAD(done);

	rcu_read_lock();
	spin_lock_bh(&txq->lock);
	WARN_ON_ONCE(txq->carried);
	if (txq->carrier)
		txq_take_batch(txq, &none, &done);
	else
		rds_txq_take_back(txq, txq, &done);
	WARN_ON_ONCE(!list_empty(&none));
	spin_unlock_bh(&txq->lock);
	rds_txq_release(&done);
	rcu_read_unlock();
}

void rds_txq_set_probes(struct rds_txq *txq, unsigned int nr)
{
	unsigned int was = max_t(unsigned int, txq->nr_probes, OWN_PROBES);
	unsigned int is = max_t(unsigned int, nr, OWN_PROBES);

	lockdep_assert_held(&txq->lock);
	txq->nr_probes = nr;
	if (is != was)
		atomic_add(is - was, &txq->rn->shared_probes);
}

bool rds_txq_has_probe_room(const struct rds_txq *txq)
{
	int left = SHARED_PROBES - atomic_read(&txq->rn->shared_probes);
	unsigned int most = OWN_PROBES + max(left, 0) / SHARED_PART;

	lockdep_assert_held(&txq->lock);
	return txq->nr_probes < min_t(unsigned int, most, MAX_PROBES);
}

bool rds_txq_is_needed(struct rds_txq *txq)
{
	bool needed;

	spin_lock_bh(&txq->lock);
	needed = txq_is_needed(txq);
	spin_unlock_bh(&txq->lock);
	return needed;
}

bool rds_txq_abandon(struct rds_txq *txq, bool force)
{
	bool gone;

	spin_lock_bh(&txq->lock);
	gone = force || !txq_is_needed(txq);
	txq->gone |= gone;
	/* The connection may be freed: no context looks at the fence again. */
	if (force)
		txq->fence = 0;
	spin_unlock_bh(&txq->lock);
	return gone;
}

void rds_txq_readmit(struct rds_txq *txq)
{
	spin_lock_bh(&txq->lock);
	txq->gone = false;
	spin_unlock_bh(&txq->lock);
}

u64 rds_txq_next_seq(struct rds_txq *txq)
{
	u64 seq;

	spin_lock_bh(&txq->lock);
	seq = txq->next_seq;
	spin_unlock_bh(&txq->lock);
	return seq;
}

/* Take at most @budget messages off a list.  Returns what is left of it. */
static unsigned int txq_take(struct rds_txq *txq, struct list_head *list,
			     unsigned int budget, struct list_head *done)
{
	struct rds_message *m, *next;

	list_for_each_entry_safe(m, next, list, tx.list) {
		if (!budget)
			break;
		rds_txq_forget(txq, m);
		list_move_tail(&m->tx.list, done);
		budget--;
	}
	return budget;
}

/* Free some messages.  Returns false if none is left. */
static bool txq_drain(struct rds_txq *txq)
{
	unsigned int left = DRAIN_AT_ONCE;
	LIST_HEAD(done);

	rcu_read_lock();
	spin_lock_bh(&txq->lock);
	WARN_ON_ONCE(txq->open || txq->busy);
	txq->batch.cur = NULL;
	left = txq_take(txq, &txq->kept, left, &done);
	left = txq_take(txq, &txq->inflight, left, &done);
	left = txq_take(txq, &txq->sending, left, &done);
	left = txq_take(txq, &txq->queue, left, &done);
	spin_unlock_bh(&txq->lock);
	rds_txq_release(&done);
	rcu_read_unlock();
	return !left;
}

void rds_txq_destroy(struct rds_txq *txq)
{
	while (txq_drain(txq))
		cond_resched();
	spin_lock_bh(&txq->lock);
	WARN_ON_ONCE(txq->nr_messages || txq->nr_probes || txq->nr_again ||
		     txq->kept_bytes || txq->paid_bytes);
	rds_txq_return_room(txq);
	spin_unlock_bh(&txq->lock);
}
