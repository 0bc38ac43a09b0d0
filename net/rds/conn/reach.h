/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Peers that cannot be reached, for sockets with RDS_PEER_TIMEOUT.
 *
 * A peer is unreachable while no path is up that has brought anything, and one
 * is tried: it is being dialled, or a message waits.  The time runs from the
 * first look that finds this; each loss of a path and each message of a socket
 * with a limit makes a look.
 * When the time of a socket is over, its messages to the peer are dropped as
 * RDS_CANCEL_SENT_TO drops them, and the socket gets a report
 * (sock/report.h).
 *
 * Ownership: rds_conn.reach is made with the first report and lives as long as
 * the connection.  Its queued work holds a reference to the connection, for
 * little more than REACH_MAX_WAIT if nobody cancels it.
 *
 * Locks: rds_reach.lock guards the time.  It is taken inside rds_cpath.lock of
 * any path, and outside rds_txq.lock.
 */
#ifndef _RDS_CONN_REACH_H
#define _RDS_CONN_REACH_H

#include <linux/types.h>

struct rds_conn;
struct rds_cpath;
struct rds_sock;

/**
 * rds_reach_admit - may a socket with a limit send to a peer?
 * @conn: connection to the peer
 * @rs: socket with RDS_PEER_TIMEOUT, not closed
 *
 * Enters the socket for reports.
 *
 * Context: process, may sleep, no locks held.
 * Return: 0; -EHOSTUNREACH if the time of the socket is over; -ENOMEM;
 * -ENOSPC: the socket has too many peers.
 */
int rds_reach_admit(struct rds_conn *conn, struct rds_sock *rs);

/**
 * rds_reach_queued - note that a message of a socket with a limit is queued
 * @conn: connection that has the message
 * @rs: socket with RDS_PEER_TIMEOUT, not closed
 *
 * Context: process, may sleep, no locks held.
 */
void rds_reach_queued(struct rds_conn *conn, struct rds_sock *rs);

/* A path that was up is about to be lost.  Under rds_cpath.lock. */
void rds_reach_leave(struct rds_cpath *cp);

/* A path that was up is lost.  Under rds_cpath.lock. */
void rds_reach_lost(struct rds_cpath *cp);

/* A path is down and not wanted up.  Any context. */
void rds_reach_look(struct rds_conn *conn);

/* The peer has restarted.  Any context. */
void rds_reach_restarted(struct rds_conn *conn);

/* Do sockets want reports of the peer?  Any context. */
bool rds_reach_is_used(const struct rds_conn *conn);

/* The connection is out of the table: cancel the work.  May sleep. */
void rds_reach_stop(struct rds_conn *conn);

/* Free what the connection has.  No other context uses the connection. */
void rds_reach_end(struct rds_conn *conn);

#endif
