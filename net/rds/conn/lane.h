/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lanes: the paths over which this host distributes the messages that it sends
 * to one peer.
 *
 * A flow is the messages from one port to another of the two addresses of a
 * connection.  All messages of a flow take the same lane, so they stay in
 * order.  Each host chooses lanes for what it sends, and takes from the peer
 * what comes over any path.  There is one lane until the peer has said that it
 * takes connections of further paths (wire.rst), and one again when the peer is
 * replaced by a host that does not, or that has another number of them.
 *
 * Paths beyond the first are made when a message or a connection of the peer
 * needs them, and live as long as the connection.  A peer that counts paths
 * cannot ask for one, so all of them are made, and the end that dials keeps
 * them up.
 *
 * A blind peer (conn/session.h) takes each connection for the first of its
 * paths that is down.  So this host does the same with a connection of such a
 * peer, and dials one path after the other, each when the peer has sent
 * something over the one before.  As long as both ends know the same
 * connections, they agree which path each is.  If they do not after a loss, one
 * end may take a repeat of one path for a duplicate of another.
 *
 * Locks: rds_lanes.lock guards `nr`, `waiting` and the entries of
 * rds_conn.paths, and is held while queues are told of another number of lanes.
 * It is taken inside the control mutex of a path and rds_conn_table.lock, and
 * outside rds_cpath.lock and rds_txq.lock.
 * `nr` is also read without it: rds_txq_send() refuses a message whose sender
 * read another number than the queue was told.
 */
#ifndef _RDS_CONN_LANE_H
#define _RDS_CONN_LANE_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct rds_conn;
struct rds_cpath;
struct rds_message;
struct rds_parked;
struct rds_path;

/**
 * struct rds_lanes - lanes of a connection
 * @lock: see Locks
 * @max: largest number of lanes, a power of two, from the sysctl at the time
 *	when the connection was made: what a peer was told holds as long as the
 *	connection; constant
 * @nr: number of lanes, a power of two
 * @waiting: lanes beyond the first wait for the fence of the first
 */
struct rds_lanes {
	spinlock_t	lock;
	u8		max;
	u8		nr;
	bool		waiting;
};

/* @paths: value of the sysctl */
void rds_lanes_init(struct rds_lanes *lanes, int paths);

/* The number of paths for the value of a sysctl: a power of two up to @max */
unsigned int rds_lanes_limit(int paths, unsigned int max);

/**
 * rds_conn_path - get a path of a connection
 * @conn: connection
 * @index: number of the path, less than RDS_MAX_PATHS
 *
 * Context: any.
 * Return: the path, valid as long as the connection, or NULL if it was not
 * made; path 0 always exists.
 */
struct rds_cpath *rds_conn_path(const struct rds_conn *conn,
				unsigned int index);

/*
 * Get a path, and make it if necessary.  Process context.  NULL without memory.
 */
struct rds_cpath *rds_conn_make_path(struct rds_conn *conn, unsigned int index);

/**
 * rds_conn_lane - get the path for a message
 * @conn: connection
 * @m: message
 * @nr: set to the number of lanes that the choice is for, for rds_txq_send()
 * @user: set to the socket whose flow may not change its lane until
 *	rds_flowlet_end(), or to NULL
 *
 * Context: process, may sleep.
 * Return: the path, or NULL without memory.
 */
struct rds_cpath *rds_conn_lane(struct rds_conn *conn,
				const struct rds_message *m, unsigned int *nr,
				struct rds_sock **user);

/*
 * Wait until queues have been told of a change.  A message was refused for it.
 */
void rds_lanes_settle(struct rds_conn *conn);

/**
 * enum rds_offer - what became of a connection that the peer opened
 * @RDS_OFFER_TAKEN: a path has it
 * @RDS_OFFER_REFUSED: it is the caller's
 * @RDS_OFFER_GONE: it is the caller's, and the connection was forgotten
 */
enum rds_offer { RDS_OFFER_TAKEN, RDS_OFFER_REFUSED, RDS_OFFER_GONE };

/*
 * Offer a connection that the peer opened to the path that it belongs to.
 * Process context.
 */
enum rds_offer rds_conn_offer(struct rds_conn *conn,
			      const struct rds_parked *offer);

/*
 * The path has a connection that the peer opened, which is not that of path 0.
 * Offer the connection to a path without one, or else to the next path.
 * Process context.
 */
enum rds_offer rds_conn_pass_on(struct rds_cpath *cp,
				const struct rds_parked *offer);

/*
 * Index of the path of a connection that the peer opened, by its source port;
 * means nothing with a blind peer
 */
unsigned int rds_conn_index_of(const struct rds_conn *conn, u16 port);

/*
 * Does a connection of a blind peer, which this host accepts, belong to a path
 * that has none?  If so, @index is that of the first one.
 */
bool rds_lanes_first_free(struct rds_conn *conn, unsigned int *index);

/*
 * The session may have changed: use the lanes that it has; or end further
 * paths, whose messages the first takes over.  Any context.
 */
void rds_lanes_follow(struct rds_conn *conn);

/*
 * A peer that counts paths has restarted, or another kind of peer has become
 * one or takes its place.  Such a peer takes any connection for path 0 at
 * first, so the others end, and wait until it knows their number.
 */
void rds_lanes_restart(struct rds_conn *conn);

/* May there be a connection of this path, and may this end open it? */
bool rds_lanes_have(const struct rds_conn *conn, unsigned int index);
bool rds_lanes_dial(const struct rds_conn *conn, unsigned int index);

/*
 * The first message came over the connection of the path, so the connection has
 * its place at a blind peer: the next path may dial.  Any context.
 */
void rds_lanes_placed(struct rds_cpath *cp);

/* The connection of the path has ended: a parked one may take its place. */
void rds_lanes_down(struct rds_cpath *cp);

/* The peer has told its further addresses: paths may dial now.  Any context. */
void rds_lanes_told(struct rds_conn *conn);

/*
 * A further path that may not dial has messages: path 0 has to be up for that.
 * rds_lanes_need() tells path 0 that, and the worker of the other path queues
 * that of path 0 by rds_lanes_call().
 */
bool rds_lanes_need(const struct rds_cpath *first);
void rds_lanes_call(const struct rds_cpath *cp);

/*
 * Let other paths carry lanes whose path is down, to a peer that takes that.
 * Any context.
 */
void rds_lanes_carry(struct rds_conn *conn);

/*
 * The path is closed: other paths go on with its lane, and with those that it
 * carries.  After rds_txq_close(); process context.  Returns whether they may:
 * then the connection has nothing left that is worth a wait.
 */
bool rds_lanes_forsake(struct rds_cpath *cp);

/*
 * The first lane has passed its fence, or a lane can go back to its path, see
 * rds_txq_ops.at_fence.
 */
void rds_lanes_at_fence(struct rds_path *path);

/*
 * The control worker of a path: let the other lanes transmit once the first has
 * passed its fence; make the paths of a peer that counts them; and if there are
 * other lanes than the session has, use one once the other paths are down.  A
 * lane goes back to its path.
 */
void rds_lanes_step(struct rds_cpath *cp);

#endif
