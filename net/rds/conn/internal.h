/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of conn/ only. */
#ifndef _RDS_CONN_INTERNAL_H
#define _RDS_CONN_INTERNAL_H

#include <linux/types.h>

#include "conn/conn.h"
#include "recv/rx_state.h"
#include "send/txq.h"

struct rds_cpath;
struct rds_handshake;
struct rds_message;
struct rds_parked;
struct rds_path;
struct workqueue_struct;

/* Runs works of paths and connections that may sleep for long */
extern struct workqueue_struct *rds_conn_wq;

/* Transmits when no system call does */
extern struct workqueue_struct *rds_tx_wq;

/* The path of the index *@i, or the next one that was made; sets *@i. */
struct rds_cpath *rds_conn_next_path(const struct rds_conn *conn,
				     unsigned int *i);

/* Each path of @conn that was made: @i is its index, @cp the path. */
#define rds_conn_for_each_path(conn, i, cp) \
	for ((i) = 0; ((cp) = rds_conn_next_path(conn, &(i))); (i)++)

/* Number of rds_conn.rx_lanes */
static inline unsigned int rds_conn_rx_lanes(const struct rds_conn *conn)
{
	return conn->trans->caps & RDS_CAP_MULTIPATH && conn->lanes.max > 1 ?
		       RDS_MAX_PATHS :
		       1;
}

/* Make rds_conn.rx_lanes.  Process context; false without memory */
bool rds_conn_make_rx_lanes(struct rds_conn *conn);

/* Report all paths as lost, see rds_path_lost(). */
void rds_conn_lose_paths(struct rds_conn *conn, enum rds_drop_reason why);

/*
 * The peer named its generation over the path, or 0 for none, and its host
 * bits, or 0.  Returns whether the numbers of the peer begin anew.
 */
bool rds_conn_generation(struct rds_cpath *cp, u32 gen, u32 host);

/* Kind of the peer, for a connection that begins */
enum rds_peer_kind rds_conn_peer_kind(const struct rds_conn *conn);

/*
 * The path came up: queue a handshake with a number, unless the connection
 * began with one that every peer answers, or one is answered or on its way.
 */
void rds_conn_greet(struct rds_cpath *cp);

/*
 * The connection of the path has ended.  Not called for a further path whose
 * connection this end ended because of its place.
 */
void rds_conn_lost(struct rds_cpath *cp);

/*
 * The path is up: if the peer does not answer a handshake in time it counts as
 * an old one, as another host may have its address now.  The control mutex is
 * held.  Returns the time until the next call, in jiffies, 0 for none.
 */
unsigned long rds_conn_await_answer(struct rds_cpath *cp);

/*
 * The path is up: a peer that does not answer a raise over path 0 in time gets
 * another one.  Returns as rds_conn_await_answer().
 */
unsigned long rds_conn_await_raise(struct rds_cpath *cp);

/*
 * The path is up.  Once the peer acknowledges by number, let the transport find
 * out soon that the connection is dead: to give up one that is alive costs
 * nothing but time.  The control mutex is held.
 */
void rds_conn_watch(struct rds_cpath *cp);

/* Receive side, see struct rds_probe_vtable */
void rds_conn_ping(struct rds_path *path, u16 sport);
void rds_conn_handshake(struct rds_path *path, const struct rds_handshake *hs,
			bool ask, u64 have, bool restarted);
enum rds_gen_news rds_conn_learn(struct rds_path *path,
				 const struct rds_handshake *hs);
void rds_conn_heard(struct rds_path *path);
void rds_conn_misplaced(struct rds_path *path, const struct rds_handshake *hs);
void rds_conn_acked(struct rds_path *path, unsigned int lane, u64 seq, u64 pos);
void rds_conn_owes_ack(struct rds_path *path, bool now);

/*
 * Have acknowledgements sent that the peer takes and does not know.  Returns
 * whether rds_txq_run() has to be called.
 */
bool rds_conn_has_acks(struct rds_cpath *cp);

/* Send an acknowledgement, if the peer takes one and does not know it. */
void rds_conn_ack(struct rds_cpath *cp);

/*
 * Parked connections of a path.  A connection that the peer opened is parked
 * under rds_cpath.lock; false if there are too many.
 */
bool rds_parked_add(struct rds_cpath *cp, const struct rds_parked *parked);

/*
 * Take the oldest one that does not have to wait until the peer is known, for
 * the path, which is down.  Sets rds_cpath.attaching in the same step, so that
 * no other connection finds the path free.  Under rds_cpath.ctl.
 */
bool rds_parked_claim(struct rds_cpath *cp, struct rds_parked *next);

/*
 * May the peer open the connection that was claimed?  It may have waited while
 * the lists of networks were changed.  Counts a refusal.  Process context.
 */
bool rds_parked_may_attach(const struct rds_cpath *cp);

/*
 * Could the peer open the present connection of the path now, no matter which
 * end has opened it?  Any context.
 */
bool rds_cpath_allowed(struct rds_cpath *cp);

/*
 * Can the path have a connection that the peer opened, at once or when its
 * present one is closed, and is none waiting for that?  Any context.
 */
bool rds_cpath_is_free(struct rds_cpath *cp);

/*
 * Is there one that does not have to wait?  Those of other paths go there
 * first, and the worker looks again when the wait is over.  Under
 * rds_cpath.ctl.
 */
bool rds_parked_any(struct rds_cpath *cp);

/*
 * The path is up, and one is parked that does not have to wait: find out which
 * of the two the peer uses.  Under rds_cpath.ctl.  Returns as
 * rds_conn_await_answer().
 */
unsigned long rds_parked_judge(struct rds_cpath *cp);

void rds_parked_refuse(struct rds_cpath *cp, const struct rds_parked *parked);
void rds_parked_drop(struct rds_cpath *cp);

/*
 * The lane goes back to its path, if it can.  The worker of the path calls
 * this.
 */
void rds_lanes_return(struct rds_cpath *cp);

/*
 * The network of the path is gone: do others carry its lane, and those that it
 * carries?  The control mutex is held.
 */
bool rds_lanes_spare(struct rds_cpath *cp);

/**
 * rds_flowlet_begin - choose the lane of a message
 * @conn: connection with several lanes
 * @m: message of a socket, not queued yet
 * @usual: lane that its ports say
 * @nr: number of lanes
 * @user: set to the socket: rds_flowlet_end() has to be called once the
 *	message is queued
 *
 * Context: process.  Takes rds_sock.lock.
 * Return: the lane.
 */
unsigned int rds_flowlet_begin(const struct rds_conn *conn,
			       const struct rds_message *m, unsigned int usual,
			       unsigned int nr, struct rds_sock **user);

/* The message was queued at @cp, or was not if that is NULL. */
void rds_flowlet_end(struct rds_sock *user, const struct rds_cpath *cp);

/* What the queues of a path ask, and those of a path that sends no maps */
extern const struct rds_txq_ops rds_conn_txq_ops, rds_conn_mapless_txq_ops;

/*
 * Path 0 is down and not wanted up: forget the connection if its numbers are
 * not needed any more.  The caller holds the path's control mutex and a
 * reference.
 */
void rds_conn_reap(struct rds_conn *conn);

/*
 * Make all paths of a connection dead, or none if one of them is needed: see
 * rds_cpath_retire_begin().  Returns whether they are dead.  Under
 * rds_conn_table.lock; takes rds_lanes.lock.
 */
bool rds_conn_retire(struct rds_conn *conn);

/* Find a connection; the caller gets a reference. */
struct rds_conn *rds_conn_lookup(struct rds_net *rn,
				 const struct rds_transport *trans,
				 const struct rds_path_addr *addr);

/*
 * Find or make the connection to a peer, and call @use for it while the table
 * is locked, with whether it was made.  A connection is forgotten under that
 * lock, so @use finds it alive.
 */
struct rds_conn *
rds_conn_get_alive(struct rds_net *rn, const struct rds_transport *trans,
		   const struct rds_path_addr *addr,
		   void (*use)(struct rds_conn *conn, bool fresh, void *arg),
		   void *arg);

#endif
