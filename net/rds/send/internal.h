/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of send/ only. */
#ifndef _RDS_SEND_INTERNAL_H
#define _RDS_SEND_INTERNAL_H

#include <linux/jiffies.h>

#include "memop/memop.h"
#include "msg/message.h"
#include "send/txq.h"
#include "sock/state.h"

/*
 * From this size on, with header, a sender transmits unless another context
 * does so already.
 */
#define RDS_TXQ_DIRECT_BYTES	32768

/*
 * Bytes of one queue, and of all queues of a namespace, whose senders are not
 * charged any more.  More are kept on the charge of their senders.
 */
#define RDS_TXQ_PAID_BYTES	(2 * 1024 * 1024)
#define RDS_NET_PAID_BYTES	(64 * 1024 * 1024)
/* Bytes on `kept` from which on an acknowledgement is asked for */
#define RDS_TXQ_KEPT_ASK	(1024 * 1024)

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

/*
 * Move the first entries of a list, up to @last; none if that is NULL.  This
 * costs less than to move one after the other.
 */
static inline void rds_txq_move_up_to(struct list_head *last,
				      struct list_head *from,
				      struct list_head *to)
{
	LIST_HEAD(some);

	if (!last)
		return;
	list_cut_position(&some, from, last);
	list_splice_tail(&some, to);
}

/* Memory of a message that is kept */
static inline unsigned int rds_txq_kept_size(const struct rds_message *m)
{
	return m->tx.bytes + sizeof(*m);
}

/* The first message of a list that has a number, or NULL */
const struct rds_message *rds_txq_first_numbered(struct list_head *list);

/* A message was retired: was it the last one ahead of the fence? */
void rds_fence_look(struct rds_txq *txq);

/* A message went: was it the last one that the carrier had of the lane? */
void rds_carry_look(struct rds_txq *lane);

/* The peer's transport has more of what the gate, which is locked, has sent. */
void rds_carry_map_acked(struct rds_txq *gate);

/* Does a map that is due wait?  The gate is locked. */
bool rds_carry_holds_map(const struct rds_txq *gate);

/* Lock a lane, and first the gate that its messages go through; returns that */
struct rds_txq *rds_carry_lock(struct rds_txq *lane);
void rds_carry_unlock(struct rds_txq *gate, struct rds_txq *lane);

/*
 * The list that has a numbered message of the lane.  Both are locked.  The
 * numbers rise from `kept` to `inflight`, `sending` and `queue`.
 */
struct list_head *rds_carry_list_of(struct rds_txq *gate, struct rds_txq *lane,
				    const struct rds_message *m);

/* Get and lock the lane of the messages on the `sending` of a locked gate. */
struct rds_txq *rds_carry_source(struct rds_txq *gate);
void rds_carry_source_done(struct rds_txq *gate, struct rds_txq *lane);

/*
 * Take at most @most messages of the lane whose turn it is, if `sending` is
 * empty.
 */
void rds_carry_refill(struct rds_txq *gate, u64 most);

/*
 * Put the messages of a lane that are not acknowledged back to the front of its
 * `queue`; @gate is closed, and had them.  Both are locked.
 */
void rds_txq_take_back(struct rds_txq *gate, struct rds_txq *lane,
		       struct list_head *done);

/* Give the memory that is set aside for uncharged messages back. */
void rds_txq_return_room(struct rds_txq *txq);

/*
 * Probes of a queue, which has room for some.  Further ones take room that the
 * queues of the namespace share, see rds_net.shared_probes.
 */
void rds_txq_set_probes(struct rds_txq *txq, unsigned int nr);

/* Is there room for another probe? */
bool rds_txq_has_probe_room(const struct rds_txq *txq);

/* A message whose sender was not charged any more goes. */
static inline void rds_txq_unpay(struct rds_txq *txq,
				 const struct rds_message *m)
{
	txq->paid_bytes -= rds_txq_kept_size(m);
	if (!txq->paid_bytes)
		rds_txq_return_room(txq);
}

/* A dump has visited the message last, which is about to leave its list. */
void rds_visit_forget(struct rds_message *m);
/* All messages leave the lane, which is locked. */
void rds_visit_lose(struct rds_txq *lane);

static inline void rds_txq_forget_marked(struct rds_txq *txq,
					 struct rds_message *m)
{
	txq->nr_again -= !!(m->flags & RDS_MSG_AGAIN);
	if (m->flags & RDS_MSG_VISITED)
		rds_visit_forget(m);
}

/*
 * The queue does not count the message any more.  The caller takes it off its
 * list, puts it on one for rds_txq_release(), and calls rds_txq_forgot() unless
 * the queue is being destroyed.
 */
static inline void rds_txq_forget(struct rds_txq *txq, struct rds_message *m)
{
	lockdep_assert_held(&txq->lock);
	txq->nr_messages--;
	if (m->flags & RDS_MSG_PROBE)
		rds_txq_set_probes(txq, txq->nr_probes - 1);
	if (unlikely(m->flags & (RDS_MSG_AGAIN | RDS_MSG_VISITED)))
		rds_txq_forget_marked(txq, m);
	if (m->flags & RDS_MSG_KEPT)
		txq->kept_bytes -= rds_txq_kept_size(m);
	if (m->flags & RDS_MSG_PAID)
		rds_txq_unpay(txq, m);
	if (unlikely(m->request))
		rds_request_detach(m->request);
	WRITE_ONCE(m->own.lane, NULL);
}

/* The queue has the message: enter it in the list of its owner, if any. */
static inline void rds_txq_own(struct rds_txq *txq, struct rds_message *m)
{
	struct rds_sock *rs = m->owner;

	lockdep_assert_held(&txq->lock);
	WRITE_ONCE(m->own.lane, txq);
	if (!rs)
		return;
	spin_lock(&rs->sent_lock);
	hlist_add_head(&m->own.node, &rs->sent);
	spin_unlock(&rs->sent_lock);
}

/* Messages were taken off the lists. */
static inline void rds_txq_forgot(struct rds_txq *txq)
{
	if (unlikely(txq->fence))
		rds_fence_look(txq);
	if (unlikely(txq->returning))
		rds_carry_look(txq);
}

/* Move a message from its list to @done, which rds_txq_release() frees. */
static inline void rds_txq_unlink(struct rds_txq *txq, struct rds_message *m,
				  struct list_head *done)
{
	rds_txq_forget(txq, m);
	list_move_tail(&m->tx.list, done);
	rds_txq_forgot(txq);
}

/*
 * Free messages that were taken off their queue, and end their charge.  The
 * caller does not hold the lock of the queue, and entered its RCU read section
 * before it took the messages off: their owners may close meanwhile.
 */
void rds_txq_release(struct list_head *done);

/* Move acknowledged messages from `inflight` to @done. */
void rds_txq_retire(struct rds_txq *txq, struct list_head *done);

/*
 * The messages of the list are about to be transmitted over the own gate: put
 * what the peer wants to know into the first, and what this host wants to know
 * into the last.
 */
void rds_txq_stamp(struct rds_txq *txq, struct list_head *list);

/*
 * Position up to which nobody waits for the peer's transport to have the bytes,
 * of those that are sent by now and in the next call of ->xmit().
 */
u64 rds_txq_quiet(struct rds_txq *txq);

/* Have the last message that a carrier takes of a lane acknowledged at once. */
void rds_txq_ask(struct rds_txq *lane, struct rds_message *m);

/* The number of a message that is queued now */
static inline u64 rds_txq_number(struct rds_txq *txq,
				 const struct rds_message *m)
{
	u64 seq = txq->next_seq;

	lockdep_assert_held(&txq->lock);
	WRITE_ONCE(txq->next_seq, seq + 1);
	if (likely(!(m->flags & RDS_MSG_PROBE)))
		WRITE_ONCE(txq->numbered, jiffies);
	return seq;
}

/* Wait for the peer to say by which rule it acknowledges. */
static inline void rds_txq_undecide(struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	txq->rule = RDS_TXQ_UNDECIDED;
	txq->undecided = jiffies;
}

/* Could a transmitter enter now, or that of the gate that carries the lane? */
static inline bool rds_txq_wants_run(const struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	return (txq->open && !txq->busy && !txq->blocked) || txq->carrier;
}

#endif
