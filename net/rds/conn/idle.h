/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that nobody uses, over TCP and over loopback.
 *
 * A connection is idle while no message but pongs is queued, or waits for its
 * acknowledgement, and neither end sends one with a number.  After the time
 * net.rds.connection_idle_ms this host ends all paths in an orderly way; one
 * that has only ever carried handshakes after some seconds.  The peer finds its
 * connection idle, too, and leaves it down.  That is for peers that acknowledge
 * by number.  An old peer dials again at once, or does not dial for a message
 * that waits while its connection ends; so a connection with it stays up.
 *
 * A connection that is down and not wanted is forgotten when no number of it is
 * needed any more:
 *
 *   - it has carried nothing but handshakes; or
 *   - it is idle, and each path has ended so that the peer has been told of all
 *     that is delivered here, and its transport has that; or
 *   - the peer has been out of reach, or could not be told, for a day, or the
 *     connection had to make room (conn/guest.h).  A message that the peer
 *     repeats after that is delivered again.
 *
 * A path that ended before the peer was told comes up for that, more and more
 * rarely, unless the peer is another incarnation meanwhile; and a path that has
 * just come up is not ended.
 *
 * The next connection to the peer has another generation number (conn.c), so
 * that the peer counts from its beginning.  A connection of which sockets want
 * reports (conn/reach.h) is neither ended nor forgotten.
 *
 * Lifetime: part of the connection.  The queued work holds a reference to the
 * connection.  rds_idle_stop() cancels the work when the connection leaves the
 * table, and nobody queues it again.
 *
 * Locks: rds_idle.lock guards all fields; innermost.
 */
#ifndef _RDS_CONN_IDLE_H
#define _RDS_CONN_IDLE_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct rds_conn;
struct rds_cpath;

/**
 * struct rds_idle - since when a connection is idle
 * @lock: guards all fields
 * @mark: sum of the numbers of all lanes, in both directions, at the last look
 * @since: when the sum had another value, or a message was there, in jiffies
 * @stopped: @work is not queued any more
 * @work: looks from time to time
 */
struct rds_idle {
	spinlock_t		lock;
	u64			mark;
	unsigned long		since;
	bool			stopped;
	struct delayed_work	work;
};

void rds_idle_init(struct rds_conn *conn);

/* The connection is in the table.  Any context. */
void rds_idle_start(struct rds_conn *conn);

/* Look in a second, and each second if a guest was evicted.  Any context. */
void rds_idle_hasten(struct rds_conn *conn);

/* The connection is out of the table: cancel the work.  May sleep. */
void rds_idle_stop(struct rds_conn *conn);

/*
 * Were handshakes all that either end has given a number?  What waits of them
 * is of no use after the connection for which it was made.  Any context but
 * hard interrupts.
 */
bool rds_idle_only_greeted(struct rds_conn *conn);

/*
 * Time for which the connection is idle, in jiffies.  Any context but hard
 * interrupts; takes rds_txq.lock of all paths.
 */
unsigned long rds_idle_time(struct rds_conn *conn);

/*
 * The connection of a path that was up is closed: see rds_cpath.told.  The
 * control mutex is held.
 */
void rds_idle_note_told(struct rds_cpath *cp);

/*
 * Did the last connection of the path end because the connection is idle, as
 * far as this host can see, or had to make room?  Then it does not come back
 * without a message.  Of a path that is up, or whose control mutex is not held,
 * the answer is a guess.
 */
bool rds_idle_rests(const struct rds_cpath *cp);

/*
 * Are the numbers of a connection whose paths are down of no use any more?  The
 * control mutex of path 0 is held.
 */
bool rds_idle_is_over(struct rds_conn *conn);

/*
 * A loopback connection is up that may be idle: it costs memory, any user can
 * make one to each address, and the next message makes another one.  Its
 * control mutex is held.  Returns the time to the next look, in jiffies, or 0
 * if the connection ends.
 */
unsigned long rds_idle_await_local(struct rds_cpath *cp);

#endif
