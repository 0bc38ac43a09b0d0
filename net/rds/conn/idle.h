/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that nobody uses, over all transports.
 *
 * A connection is idle while no message but pongs is queued, or waits for its
 * acknowledgement or for a reader, and neither end sends one with a number but
 * handshakes.  After the time
 * net.rds.connection_idle_ms this host ends all paths in an orderly way; one
 * that has only ever carried handshakes after some seconds.  The peer finds its
 * connection idle, too, and leaves it down.  If its own time is longer it dials
 * once more, and takes a second end of a connection that carried no message as
 * an answer.  A host that has to make room ends connections in the same way, so
 * more dials would take the room from others.  A peer that may not call here
 * is dialled again and again.  All that is for peers that acknowledge by
 * number.  An old peer dials again at once, or does not dial for a message that
 * waits while its connection ends; so a connection with it stays up.
 *
 * Over RDMA either end dials for a message, and messages are repeated and
 * recognised by their numbers, also with an old peer.  But only a host with
 * this module, which names a generation, is known to leave the connection down;
 * one with another peer stays up.  Operations of this host are queued with
 * their messages.  Those of peers do not show here, so while a socket of the
 * namespace has a key no connection ends.  What is left of one that has ended
 * is struct rds_conn with its numbers: one generation serves all connections,
 * so none is forgotten that has carried something.
 *
 * Over TCP a connection that is down and not wanted is forgotten when no number
 * of it is needed any more:
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
 * @since: when a message was there, as far as a look saw it, in jiffies; the
 *	lanes have when their last number was given
 * @stopped: @work is not queued any more
 * @work: looks from time to time
 */
struct rds_idle {
	spinlock_t		lock;
	unsigned long		since;
	bool			stopped;
	struct delayed_work	work;
};

void rds_idle_init(struct rds_conn *conn);

/* The connection is in the table.  Any context. */
void rds_idle_start(struct rds_conn *conn);

/*
 * Look in a second, and each second if a guest was evicted.  Any context; the
 * lock of a path may be held.
 */
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
 * far as this host can see, or had to make room, here or there?  Then it does
 * not come back without a message.  Of a path that is up, or whose control
 * mutex is not held, the answer is a guess.
 */
bool rds_idle_rests(struct rds_cpath *cp);

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
