/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What conn.c and cm.c share: the part of a connection that deals with the CM.
 *
 * Lifetime and ownership are those of struct rds_rdma_conn, in which it is embedded.
 *
 * Lock: rds_rdma_cm.lock (spin, bh) guards @path, @established, @silent, @up and @ending of the
 * connection, and @connecting.  rds_path_up() and rds_path_lost() are called under it, so that
 * none is under way once path_close has set @ending.  The core's locks come after it, and
 * none of ours.
 */
#ifndef _RDS_RDMA_CM_H
#define _RDS_RDMA_CM_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <net/rds/stats.h>

struct rdma_cm_event;
struct rdma_cm_id;
struct rds_rdma_conn;
struct rds_rdma_dev;
struct rds_rdma_laddr;

/**
 * struct rds_rdma_cm - a connection and the CM
 * @lock: see above
 * @why: reason, when the connection ended by a failure
 * @connecting: the CM of an iWARP device has been asked to connect or to accept and has not
 *	answered yet; destroying the id would wait for the answer
 * @late_of: the path it belonged to, when it is closed and @connecting; only to be compared
 * @waits: an attempt that is not dialled before its link is there (link.c); who clears it dials
 * @held: a request that came when its link was not usable, and is answered when it is (link.c);
 *	set before the connection is closing
 * @silent_end: the peer gave its attempt up, so that the end of the id says nothing
 * @parked: nothing is left but the id, whose end has to wait (link.c); under rds_rdma_dev.lock
 * @offered: receives that our private data tell of
 * @self_node: in the list of attempts to connect to an own address (cm.c)
 * @responder_resources: READs and atomics that the peer may have under way
 * @initiator_depth: and we, as far as the peer takes them once the connection is up
 * @timer: ends an attempt that takes too long, and takes errors out of hard interrupts
 * @qp_error: the queue pair reported an error, @timer is to say so
 * @reap_work: the rest of path_close, when that must not wait for the CM or the link
 */
struct rds_rdma_cm {
	spinlock_t		lock;
	enum rds_drop_reason	why;
	bool			connecting;
	const void		*late_of;
	bool			waits;
	bool			held;
	bool			silent_end;
	bool			parked;
	u32			offered;
	struct list_head	self_node;
	u8			responder_resources;
	u8			initiator_depth;
	struct timer_list	timer;
	bool			qp_error;
	struct work_struct	reap_work;
};

/* conn.c */

/*
 * A new connection of @local to @remote, entered at @dev; NULL without memory, or if the device
 * goes.
 */
struct rds_rdma_conn *rds_rdma_conn_new(struct rds_rdma_dev *dev,
					const struct rds_rdma_laddr *local,
					const struct in6_addr *remote);

/* End of a connection that never had a path nor a queue pair; its id is not touched. */
void rds_rdma_conn_free(struct rds_rdma_conn *conn);

/*
 * End of a request that no path gets, from its handler: the id goes, and the peer is told, when
 * the link is usable.
 */
void rds_rdma_conn_refuse_later(struct rds_rdma_conn *conn);

/* Have connect_work go on, unless the connection is ending.  Does not sleep. */
void rds_rdma_conn_continue(struct rds_rdma_conn *conn);

/* The CM is about to be asked to connect or accept; false if the connection is ending. */
bool rds_rdma_conn_ask(struct rds_rdma_conn *conn);

/* It has answered, or could not be asked; false if the connection is ending. */
bool rds_rdma_conn_answered(struct rds_rdma_conn *conn);

/* The CM says that the connection is established, and all that precedes that is done. */
void rds_rdma_conn_established(struct rds_rdma_conn *conn);

/* link.c */

/* May the CM be made to send something for @conn? */
bool rds_rdma_link_may_speak(const struct rds_rdma_conn *conn);

/* The CM says that the peer has given up: it has nothing to say of it any more itself. */
void rds_rdma_link_peer_gone(struct rds_rdma_conn *conn);

/*
 * A connection that is nothing but an id any more, and is entered as closing, ends: if the id
 * cannot be destroyed now, true, and reap_work comes when it can.
 */
bool rds_rdma_link_park(struct rds_rdma_conn *conn);

/* cm.c */

/* Make an id and start to resolve the path's addresses. */
int rds_rdma_cm_dial(struct rds_rdma_conn *conn);

/* Connect or accept, the queue pair being ready. */
int rds_rdma_cm_open(struct rds_rdma_conn *conn);

/* Refuse what came in on @id. */
void rds_rdma_cm_reject(struct rdma_cm_id *id);

/* From here on no twin comes to @conn; returns the one it has, or NULL. */
struct rds_rdma_conn *rds_rdma_cm_forget_self(struct rds_rdma_conn *conn);

#endif
