// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDS_CANCEL_SENT_TO, the unacknowledged messages of a socket that closes, and
 * those to a peer that cannot be reached.
 */
#include <linux/sched.h>
#include <net/ipv6.h>

#include <net/rds/transport.h>
#include "send/cancel.h"
#include "send/internal.h"
#include "sock/state.h"

/* Messages of a socket that are looked at under one lock */
#define CANCEL_AT_ONCE	256

/*
 * Is the message in use by the transmitter or the transport?  A transport may
 * have taken the operations of a message and not yet posted all their work
 * requests.  The core calls a transport again for a message only, so the
 * message stays until it is sent.
 */
static bool cancel_in_use(const struct rds_txq *txq,
			  const struct rds_message *m)
{
	return txq->busy || rds_txq_is_partial(txq, m) ||
	       (m->request && m->request->tx.posted);
}

/* Can the message be taken off its list? */
static bool cancel_can_unlink(const struct rds_txq *gate,
			      const struct rds_txq *lane,
			      const struct rds_message *m,
			      const struct list_head *list)
{
	if (list == &gate->sending && cancel_in_use(gate, m))
		return false;
	/*
	 * TCP reads lent pages until the acknowledgement: neither unpin nor
	 * report them before.  On `kept` it has that.  What is on `queue` is
	 * for another connection, and would be sent over it.
	 */
	return list == &lane->kept || list == &lane->queue || !m->tx.lent ||
	       !(m->flags & RDS_MSG_STARTED);
}

/*
 * Mark a message that cannot be taken off its list: it is not retransmitted,
 * and its charge ends now.  Unless the socket closes, a zero-copy message keeps
 * owner and charge until its pages are unpinned, so that its cookie can be
 * reported.
 */
static void cancel_mark(struct rds_message *m, bool closing)
{
	struct rds_sock *rs = m->owner;

	m->flags |= RDS_MSG_CANCELLED;
	if (m->tx.lent && !closing)
		return;
	spin_lock(&rs->sent_lock);
	hlist_del(&m->own.node);
	spin_unlock(&rs->sent_lock);
	m->owner = NULL;
	rds_sock_sent(rs, rds_message_charge(m), 1);
}

/*
 * A message that is taken off its list may hold an acknowledgement, which is
 * sent alone then.
 */
static void cancel_ack(struct rds_txq *txq, const struct rds_message *m)
{
	if (txq->acks && m->tx.hdr->ack && !(m->flags & RDS_MSG_STARTED))
		txq->due |= RDS_DUE_ACK;
}

/* The batch goes on behind a message that is taken off its list. */
static void cancel_skip(struct rds_txq *gate, struct rds_message *m)
{
	struct rds_tx_msg *cur = &m->tx;

	if (gate->batch.cur == cur)
		gate->batch.cur = list_is_last(&cur->list, &gate->sending) ?
					  NULL :
					  list_next_entry(cur, list);
}

/* Drop a message of the lane that is on @list and has an owner. */
static void cancel_message(struct rds_txq *gate, struct rds_txq *lane,
			   struct rds_message *m, const struct list_head *list,
			   bool closing, struct list_head *done)
{
	if (!cancel_can_unlink(gate, lane, m, list)) {
		cancel_mark(m, closing);
		return;
	}
	if (list == &gate->sending) {
		cancel_skip(gate, m);
		lane->away -= lane != gate;
	}
	cancel_ack(lane, m);
	rds_txq_unlink(lane, m, done);
}

/**
 * struct cancel - which messages of a socket are dropped
 * @rs: socket; its sent_lock guards the cursor
 * @faddr: peer, or NULL for all
 * @dport: destination port, host order, or -1 for all
 * @closing: the socket closes
 * @unreached: the queues whose messages are dropped, as their peers could not
 *	be reached; or NULL
 * @at: cursor; the entries in front of it were looked at, or were sent after
 *	the begin
 * @done: messages that were taken off the lists of their queues, the last one
 *	that was sent first
 */
struct cancel {
	struct rds_sock		*rs;
	const struct in6_addr	*faddr;
	int			dport;
	bool			closing;
	const struct rds_unreached *unreached;
	struct rds_own		at;
	struct list_head	done;
};

static void cancel_begin(struct cancel *c)
{
	INIT_LIST_HEAD(&c->done);
	spin_lock_bh(&c->rs->sent_lock);
	hlist_add_head(&c->at.node, &c->rs->sent);
	spin_unlock_bh(&c->rs->sent_lock);
}

/* End the charge of the messages, and report operations, as they were sent. */
static void cancel_end(struct cancel *c)
{
	unsigned int n;
	LIST_HEAD(some);

	spin_lock_bh(&c->rs->sent_lock);
	hlist_del(&c->at.node);
	spin_unlock_bh(&c->rs->sent_lock);
	/* The caller has a reference to the owner, so no RCU read section. */
	while (!list_empty(&c->done)) {
		for (n = CANCEL_AT_ONCE; n && !list_empty(&c->done); n--)
			list_move_tail(c->done.prev, &some);
		rds_txq_release(&some);
		cond_resched();
	}
}

/* The entry behind the cursor, NULL at the end */
static struct rds_own *cancel_next(struct cancel *c)
{
	lockdep_assert_held(&c->rs->sent_lock);
	return hlist_entry_safe(c->at.node.next, struct rds_own, node);
}

static void cancel_pass(struct cancel *c, struct rds_own *own)
{
	lockdep_assert_held(&c->rs->sent_lock);
	hlist_del(&c->at.node);
	hlist_add_behind(&c->at.node, &own->node);
}

/* The queue of an entry, if that is a message to the peer, or NULL */
static struct rds_txq *cancel_lane(const struct cancel *c,
				   const struct rds_own *own)
{
	struct rds_txq *lane = READ_ONCE(own->lane);

	if (!lane)
		return NULL;
	if (c->unreached && !c->unreached->is_over(c->unreached, c->rs, lane))
		return NULL;
	if (c->faddr && !ipv6_addr_equal(&lane->path->addr->faddr, c->faddr))
		return NULL;
	return lane;
}

/*
 * Put the cursor in front of a message to the peer, and set @lane to its queue.
 * The queue had the message within this RCU section, and is freed a grace
 * period after it has dropped all messages; but the message may move, or be
 * acknowledged, before the queue is locked.  Sets @lane to NULL if there was
 * none of many.  Returns false at the end.
 */
static bool cancel_find(struct cancel *c, struct rds_txq **lane)
{
	unsigned int n = CANCEL_AT_ONCE;
	struct rds_own *own;

	*lane = NULL;
	spin_lock_bh(&c->rs->sent_lock);
	while ((own = cancel_next(c)) && n--) {
		*lane = cancel_lane(c, own);
		if (*lane)
			break;
		cancel_pass(c, own);
	}
	spin_unlock_bh(&c->rs->sent_lock);
	return own;
}

/*
 * The message behind the cursor, if the lane, which is locked, has it; the
 * cursor goes behind it.  While the lane is locked no other context takes the
 * message off its list.  Other cursors are passed: two contexts that look for
 * a lane again and again would only overtake each other.
 */
static struct rds_message *cancel_step(struct cancel *c,
				       const struct rds_txq *lane)
{
	unsigned int n = CANCEL_AT_ONCE;
	struct rds_own *own;

	lockdep_assert_held(&lane->lock);
	spin_lock(&c->rs->sent_lock);
	while ((own = cancel_next(c)) && !READ_ONCE(own->lane) && n--)
		cancel_pass(c, own);
	if (own && READ_ONCE(own->lane) == lane)
		cancel_pass(c, own);
	else
		own = NULL;
	spin_unlock(&c->rs->sent_lock);
	return own ? container_of(own, struct rds_message, own) : NULL;
}

static bool cancel_fits(const struct cancel *c, const struct rds_txq *lane,
			struct rds_message *m)
{
	const struct rds_unreached *u = c->unreached;

	if (!u)
		return c->dport < 0 || rds_message_dport(m) == c->dport;
	/* A zero-copy message stays in the list when it is cancelled. */
	if (m->flags & RDS_MSG_CANCELLED || !u->is_over(u, c->rs, lane) ||
	    !u->drops(u, c->rs, lane))
		return false;
	m->flags |= RDS_MSG_UNREACHED;
	return true;
}

/* Drop some of the messages behind the cursor, which the lane may have. */
static void cancel_some(struct cancel *c, struct rds_txq *lane)
{
	unsigned int n = CANCEL_AT_ONCE;
	struct rds_message *m;
	struct rds_txq *gate;

	gate = rds_carry_lock(lane);
	while (n-- && (m = cancel_step(c, lane))) {
		if (cancel_fits(c, lane, m))
			cancel_message(gate, lane, m,
				       rds_carry_list_of(gate, lane, m),
				       c->closing, &c->done);
	}
	rds_carry_unlock(gate, lane);
}

static void cancel_all(struct cancel *c)
{
	struct rds_txq *lane;
	bool more;

	if (!rds_sock_nr_sent(c->rs))
		return;
	cancel_begin(c);
	do {
		rcu_read_lock();
		more = cancel_find(c, &lane);
		if (lane)
			cancel_some(c, lane);
		rcu_read_unlock();
		cond_resched();
	} while (more);
	cancel_end(c);
}

void rds_cancel(struct rds_sock *rs, const struct in6_addr *faddr, int dport)
{
	struct cancel c = {
		.rs = rs, .faddr = faddr, .dport = dport, .closing = dport < 0,
	};

	cancel_all(&c);
}

void rds_cancel_unreached(struct rds_sock *rs, const struct rds_unreached *u)
{
	struct cancel c = { .rs = rs, .dport = -1, .unreached = u };

	cancel_all(&c);
}
