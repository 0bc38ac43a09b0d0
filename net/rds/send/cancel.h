/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDS_CANCEL_SENT_TO, the unacknowledged messages of a socket that closes, and
 * those to a peer that cannot be reached.
 */
#ifndef _RDS_SEND_CANCEL_H
#define _RDS_SEND_CANCEL_H

#include <linux/types.h>

struct in6_addr;
struct rds_sock;
struct rds_txq;

/**
 * rds_cancel - drop the unacknowledged messages of a socket
 * @rs: socket that owns the messages
 * @faddr: peer whose messages are dropped, or NULL for all peers
 * @dport: destination port of the messages, host order; -1 for all, as the
 *	socket closes
 *
 * Messages that are being handed to the transport, and zero-copy messages that
 * were begun, stay on their lists, but are not retransmitted.  Their charge
 * ends here, except that of zero-copy messages of a socket that does not close.
 *
 * The time depends on the messages of this socket only.  If the socket closes,
 * then after the return only messages refer to it that another context is
 * retiring in an RCU read section.
 *
 * Context: process, may sleep.
 */
void rds_cancel(struct rds_sock *rs, const struct in6_addr *faddr, int dport);

/**
 * struct rds_unreached - how rds_cancel_unreached() chooses messages
 * @is_over: are messages of the socket in this queue dropped?  Called under
 *	locks, in an RCU read section
 * @drops: called for each, likewise: may it be dropped, and is it counted then?
 */
struct rds_unreached {
	bool (*is_over)(const struct rds_unreached *u, struct rds_sock *rs,
			const struct rds_txq *lane);
	bool (*drops)(const struct rds_unreached *u, struct rds_sock *rs,
		      const struct rds_txq *lane);
};

/**
 * rds_cancel_unreached - drop messages of a socket as rds_cancel() does, as
 * their peers could not be reached
 * @rs: socket, to which the caller has a reference; it may close meanwhile
 * @u: which messages
 *
 * Context: process, may sleep.
 */
void rds_cancel_unreached(struct rds_sock *rs, const struct rds_unreached *u);

#endif
