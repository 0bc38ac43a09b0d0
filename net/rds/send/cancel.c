// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDS_CANCEL_SENT_TO, and the unacknowledged messages of a socket that closes.
 */
#include "send/internal.h"
#include "sock/state.h"

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
static bool cancel_can_unlink(const struct rds_txq *txq,
			      const struct rds_message *m,
			      const struct list_head *list)
{
	if (list == &txq->sending && cancel_in_use(txq, m))
		return false;
	/*
	 * TCP reads lent pages until the acknowledgement: neither unpin nor
	 * report them before.  On `kept` it has that.  What is on `queue` is
	 * for another connection, and would be sent over it.
	 */
	return list == &txq->kept || list == &txq->queue || !m->zcopy ||
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
	if (m->zcopy && !closing)
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

static void cancel_list(struct rds_txq *txq, struct list_head *list,
			struct rds_sock *rs, int dport, struct list_head *done)
{
	struct rds_message *m, *next;

	list_for_each_entry_safe(m, next, list, tx.list) {
		if (m->owner != rs ||
		    (dport >= 0 && rds_message_dport(m) != dport))
			continue;
		if (!cancel_can_unlink(txq, m, list)) {
			cancel_mark(m, dport < 0);
			continue;
		}
		if (txq->batch.cur == &m->tx)
			txq->batch.cur = list_is_last(&m->tx.list, list) ?
						 NULL :
						 &next->tx;
		cancel_ack(txq, m);
		rds_txq_unlink(txq, m, done);
	}
}

void rds_txq_cancel(struct rds_txq *txq, struct rds_sock *rs, int dport)
{
	LIST_HEAD(done);

	rcu_read_lock();
	spin_lock_bh(&txq->lock);
	cancel_list(txq, &txq->kept, rs, dport, &done);
	cancel_list(txq, &txq->inflight, rs, dport, &done);
	cancel_list(txq, &txq->sending, rs, dport, &done);
	cancel_list(txq, &txq->queue, rs, dport, &done);
	spin_unlock_bh(&txq->lock);
	rds_txq_release(&done);
	rcu_read_unlock();
}
