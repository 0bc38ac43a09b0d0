/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rcvq.c: the receive queue of a socket; rds_sock.rx_lock guards it. */
#ifndef _RDS_SOCK_RCVQ_H
#define _RDS_SOCK_RCVQ_H

#include <linux/types.h>

struct rds_incoming;
struct rds_rx_peer;
struct rds_sock;

/**
 * enum rds_queued - what became of a received message
 * @RDS_QUEUED: it is queued
 * @RDS_QUEUED_HOLD: it is queued, and exceeds the bound: the transport waits
 *	while rds_sock_holds()
 * @RDS_QUEUED_FULL: it is not queued, as it exceeds the bound and the time of
 *	grace is over
 * @RDS_QUEUED_FULL_PEER: likewise, for the bound of the peer
 * @RDS_QUEUED_DEAD: it is not queued, as the socket is closed
 */
enum rds_queued {
	RDS_QUEUED,
	RDS_QUEUED_HOLD,
	RDS_QUEUED_FULL,
	RDS_QUEUED_FULL_PEER,
	RDS_QUEUED_DEAD,
};

static inline bool rds_is_queued(enum rds_queued queued)
{
	return queued < RDS_QUEUED_FULL;
}

enum rds_queued rds_sock_queue(struct rds_sock *rs, struct rds_incoming *inc,
			       struct rds_rx_peer *peer);
bool rds_sock_holds(struct rds_sock *rs, struct rds_rx_peer *peer);
struct rds_incoming *rds_sock_dequeue(struct rds_sock *rs, bool *more);
void rds_sock_rx_done(struct rds_sock *rs, struct rds_incoming *inc);
struct rds_incoming *rds_sock_peek(struct rds_sock *rs);
void rds_sock_requeue(struct rds_sock *rs, struct rds_incoming *inc);
void rds_sock_rx_purge(struct rds_sock *rs);
void rds_sock_visit_rx(struct rds_sock *rs,
		       void (*fn)(const struct rds_incoming *inc, void *arg),
		       void *arg);

#endif
