/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of a connection that deals with the CM, shared by conn.c, cm.c and
 * link.c.
 *
 * Lifetime and ownership: embedded in struct rds_rdma_conn.
 *
 * Lock: rds_rdma_cm.lock (spin, bh) guards @connecting, and of the connection
 * @path,
 * @established, @silent, @up and @ending.  rds_path_up() and rds_path_lost()
 * are called under it, so that neither call is in progress once path_close has
 * set @ending.  Locks of the core may be taken under it, but no other lock of
 * this transport.
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
 * struct rds_rdma_cm - the CM state of a connection
 * @lock: guards @connecting and the state of the connection that CM events
 *	change
 * @why: reason of the failure that ended the connection
 * @connecting: the CM of an iWARP device was asked to connect or to accept and
 *	has not answered; rdma_destroy_id() would wait for the answer
 * @late_of: path of a connection that was closed while @connecting, else NULL;
 *	compared only
 * @waits: the attempt is dialled when its link is usable (link.c); the context
 *	that clears @waits dials
 * @held: the connection request arrived while its link was not usable, and is
 *	refused when the link is usable (link.c); set before
 *	rds_rdma_dev_closing()
 * @silent_end: the peer gave up, so that destroying the id sends no packet
 * @shelved: only the id is left, and its destruction is deferred (link.c);
 *	under rds_rdma_dev.lock
 * @offered: number of posted receives that the private data of this end tell
 * @self_node: entry in self_attempts (cm.c)
 * @responder_resources: READs and atomic operations that the peer may have
 *	under way
 * @initiator_depth: READs and atomic operations that this end may have under
 *	way; lowered to the peer's limit when the connection is established
 * @timer: fails an attempt that takes too long, and reports @qp_error outside
 *	hard interrupts
 * @qp_error: the queue pair reported an error that @timer has to report
 * @reap_work: the part of path_close that would wait for the CM or the link
 */
struct rds_rdma_cm {
	spinlock_t		lock;
	enum rds_drop_reason	why;
	bool			connecting;
	const void		*late_of;
	bool			waits;
	bool			held;
	bool			silent_end;
	bool			shelved;
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
 * Make a connection from @local to @remote and enter it at @dev.  NULL without
 * memory, or if the device is being removed.
 */
struct rds_rdma_conn *rds_rdma_conn_new(struct rds_rdma_dev *dev,
					const struct rds_rdma_laddr *local,
					const struct in6_addr *remote);

/* Free a connection that never had a path or a queue pair; its id stays. */
void rds_rdma_conn_free(struct rds_rdma_conn *conn);

/*
 * Refuse a connection request that no path gets, called from its CM handler.
 * The id is destroyed, and the peer thereby refused, when the link is usable.
 */
void rds_rdma_conn_refuse_later(struct rds_rdma_conn *conn);

/*
 * Begin the time within which the connection must come up, or it fails.  Each
 * end of a connection has its own time.  The caller makes sure that the
 * connection is not freed meanwhile: it is connect_work, or an operation that
 * the core calls for the path, or it holds self_lock, which path_close takes
 * before it frees a twin.  Does not sleep.
 */
void rds_rdma_conn_limit(struct rds_rdma_conn *conn);

/* Queue connect_work, unless the connection is ending.  Does not sleep. */
void rds_rdma_conn_continue(struct rds_rdma_conn *conn);

/*
 * Note that the CM is about to be asked to connect or accept; false if the
 * connection is ending.
 */
bool rds_rdma_conn_ask(struct rds_rdma_conn *conn);

/*
 * Note that the CM has answered, or could not be asked; false if the connection
 * is ending.
 */
bool rds_rdma_conn_answered(struct rds_rdma_conn *conn);

/*
 * Handle RDMA_CM_EVENT_ESTABLISHED, after peer.gen, credits and limits have
 * been taken over.
 */
void rds_rdma_conn_established(struct rds_rdma_conn *conn);

/* link.c */

/* Whether a call that makes the CM send a packet for @conn is safe. */
bool rds_rdma_link_may_speak(const struct rds_rdma_conn *conn);

/*
 * Handle that the peer gave up: destroying the id of @conn sends no packet from
 * now on.
 */
void rds_rdma_link_peer_gone(struct rds_rdma_conn *conn);

/*
 * Defer the destruction of the id of @conn, which is closing and has nothing
 * but the id.  True if the id cannot be destroyed now; reap_work is queued when
 * it can.
 */
bool rds_rdma_link_shelve(struct rds_rdma_conn *conn);

/* cm.c */

/* Create an id and start to resolve the addresses of the path. */
int rds_rdma_cm_dial(struct rds_rdma_conn *conn);

/* Connect or accept; the queue pair is ready. */
int rds_rdma_cm_open(struct rds_rdma_conn *conn);

/* Refuse the connection request of @id. */
void rds_rdma_cm_reject(struct rdma_cm_id *id);

/*
 * Prevent that @conn gets a twin from now on; returns the twin that it has, or
 * NULL.
 */
struct rds_rdma_conn *rds_rdma_cm_forget_self(struct rds_rdma_conn *conn);

#endif
