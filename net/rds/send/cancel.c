// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDS_CANCEL_SENT_TO, the unacknowledged messages of a socket that closes, and
 * those to a peer that cannot be reached.
 */
#include <linux/sched.h>

#include "send/cancel.h"
#include "send/internal.h"
#include "sock/state.h"

/* Messages that are dropped under the lock, by rds_txq_drop() */
#define DROP_AT_ONCE	1024

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

/**
 * struct cancel - which messages are dropped
 * @fits: is a message one of them?  It has an owner then.
 * @arg: for @fits
 * @closing: the owner closes
 * @flags: RDS_MSG_* that the messages get
 * @left: so many more may be dropped before the lock is released
 * @done: those that were taken off their lists
 */
struct cancel {
	bool (*fits)(const struct rds_message *m, void *arg);
	void			*arg;
	bool			closing;
	u32			flags;
	unsigned int		left;
	struct list_head	done;
};

/* @gate has the messages of the lane on its list `sending`. */
static void cancel_list(struct rds_txq *gate, struct rds_txq *lane,
			struct list_head *list, struct cancel *c)
{
	struct rds_message *m, *next;

	list_for_each_entry_safe(m, next, list, tx.list) {
		if (!c->left)
			break;
		if (!c->fits(m, c->arg))
			continue;
		c->left--;
		m->flags |= c->flags;
		if (!cancel_can_unlink(gate, lane, m, list)) {
			cancel_mark(m, c->closing);
			continue;
		}
		if (list == &gate->sending) {
			cancel_skip(gate, m);
			lane->away -= lane != gate;
		}
		cancel_ack(lane, m);
		rds_txq_unlink(lane, m, &c->done);
	}
}

static void cancel_lists(struct rds_txq *txq, struct cancel *c)
{
	struct rds_txq *gate;

	INIT_LIST_HEAD(&c->done);
	rcu_read_lock();
	gate = rds_carry_lock(txq);
	cancel_list(gate, txq, &txq->kept, c);
	cancel_list(gate, txq, &txq->inflight, c);
	if ((gate->from ?: gate) == txq)
		cancel_list(gate, txq, &gate->sending, c);
	cancel_list(gate, txq, &txq->queue, c);
	rds_carry_unlock(gate, txq);
	rds_txq_release(&c->done);
	rcu_read_unlock();
}

/* The messages of a socket, to one port or to all */
struct cancel_owner {
	const struct rds_sock	*rs;
	int			dport;
};

static bool cancel_fits(const struct rds_message *m, void *arg)
{
	const struct cancel_owner *o = arg;

	return m->owner == o->rs &&
	       (o->dport < 0 || rds_message_dport(m) == o->dport);
}

void rds_txq_cancel(struct rds_txq *txq, struct rds_sock *rs, int dport)
{
	struct cancel_owner owner = { rs, dport };
	struct cancel c = {
		.fits = cancel_fits, .arg = &owner, .closing = dport < 0,
		.left = rds_sock_nr_sent(rs),
	};

	/* Other sockets may have any number of messages here. */
	if (c.left)
		cancel_lists(txq, &c);
}

void rds_txq_drop(struct rds_txq *txq,
		  bool (*fits)(const struct rds_message *m, void *arg),
		  void *arg)
{
	struct cancel c = {
		.fits = fits, .arg = arg, .flags = RDS_MSG_UNREACHED,
	};

	do {
		c.left = DROP_AT_ONCE;
		cancel_lists(txq, &c);
		cond_resched();
	} while (!c.left);
}
