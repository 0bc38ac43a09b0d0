/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Acknowledgement of the messages of a transmit queue, and of those that came
 * the other way; send/txq.h has the locks.
 *
 * The rule says when a message is acknowledged.  By position: when the peer's
 * transport has all its bytes.  By number: when the peer's core has delivered
 * it, which the peer says in headers; that rule holds on a connection from the
 * peer's answer to the handshake of this host on.  Until then the rule is
 * undecided, if the peer may be of that kind: no message is retired.
 *
 * In the other direction this host says what it has delivered, once the peer
 * has sent a handshake on the present connection that asks for it: in the first
 * message of each batch, or in a message of its own.
 */
#ifndef _RDS_SEND_ACK_H
#define _RDS_SEND_ACK_H

#include <linux/types.h>

struct rds_txq;

/**
 * enum rds_peer_kind - how a peer acknowledges messages of the core
 * @RDS_PEER_UNKNOWN: no handshake of the peer has come
 * @RDS_PEER_OLD: not at all: a message that its transport has counts as
 *	acknowledged
 * @RDS_PEER_ACKS: by number, once a message is delivered (wire.rst)
 * @RDS_PEER_SILENT: it answered no handshake in time, so it counts as an old
 *	one, but each connection begins with a handshake, as it may have been
 *	the network
 */
enum rds_peer_kind {
	RDS_PEER_UNKNOWN,
	RDS_PEER_OLD,
	RDS_PEER_ACKS,
	RDS_PEER_SILENT,
};

/**
 * enum rds_txq_rule - when a message is acknowledged, see send/ack.c
 * @RDS_TXQ_BY_POSITION: when the transport says that the peer has its bytes, or
 *	the message
 * @RDS_TXQ_UNDECIDED: the peer may acknowledge by number: no message is retired
 *	before its handshake has come
 * @RDS_TXQ_BY_NUMBER: when the peer's core says so as well
 */
enum rds_txq_rule {
	RDS_TXQ_BY_POSITION,
	RDS_TXQ_UNDECIDED,
	RDS_TXQ_BY_NUMBER,
};

/*
 * The peer's core has delivered all messages up to the number @seq, and its
 * transport has what ends at @pos or before; 0 if one is unknown.  Returns
 * whether rds_txq_tidy() has to be called.
 */
bool rds_txq_acked(struct rds_txq *txq, u64 seq, u64 pos);

/*
 * Retire the messages that are left of a large acknowledgement.  May sleep, no
 * locks held.
 */
void rds_txq_tidy(struct rds_txq *txq);

/**
 * rds_txq_heard - apply a handshake of the peer to the present connection
 * @txq: queue
 * @acks: the peer acknowledges by number
 * @ask: the handshake asks for an answer
 * @moves: the peer takes messages of any lane over this connection
 * @have: if not @ask: number up to which the peer has delivered all messages
 *
 * Context: any but hard interrupts.
 * Return: whether rds_txq_tidy() and rds_txq_run() have to be called.
 */
bool rds_txq_heard(struct rds_txq *txq, bool acks, bool ask, bool moves,
		   u64 have);

/*
 * Is a handshake of the peer waited for, and since when (in jiffies)?
 * rds_txq_silent() ends that, and returns whether it was waited for;
 * rds_txq_run() has to be called then.
 */
bool rds_txq_undecided(struct rds_txq *txq, unsigned long *since);
bool rds_txq_silent(struct rds_txq *txq);

/*
 * Have what is delivered acknowledged, if the peer takes that and does not know
 * it.  Returns whether rds_txq_run() has to be called.
 */
bool rds_txq_ack_due(struct rds_txq *txq);

/*
 * Have what is delivered of all lanes acknowledged, if the peer takes that.
 * Returns as rds_txq_ack_due().
 */
bool rds_txq_lanes_due(struct rds_txq *txq);

/*
 * The gate is closed: has the peer's transport all that went through it, and
 * was the peer told of all that is delivered of the lane?  Other gates have
 * told it up to the number @told.
 */
bool rds_txq_all_told(struct rds_txq *txq, u64 told);

/* Were all messages that were numbered here probes? */
bool rds_txq_only_probed(struct rds_txq *txq);

#endif
