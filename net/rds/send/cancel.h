/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDS_CANCEL_SENT_TO, the unacknowledged messages of a socket that closes, and
 * those to a peer that cannot be reached.
 */
#ifndef _RDS_SEND_CANCEL_H
#define _RDS_SEND_CANCEL_H

#include <linux/types.h>

struct in6_addr;
struct rds_message;
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
 * rds_txq_drop - drop messages as rds_cancel() does
 * @txq: queue
 * @fits: called for each message, under the lock of the queue and in an
 *	RCU read section: true for one that is dropped, which must have an
 *	owner, and no RDS_MSG_CANCELLED
 * @arg: for @fits
 *
 * The lock is released in between.
 * Context: process, may sleep.
 */
void rds_txq_drop(struct rds_txq *txq,
		  bool (*fits)(const struct rds_message *m, void *arg),
		  void *arg);

#endif
