/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths: the core's side of a transport connection, and the worker that brings it up and down.
 *
 * Lifetime: a path is part of its connection and lives exactly as long.  Work queued for it
 * holds a reference to the connection; the upcalls of the transport need none, they end with
 * path_close.
 *
 * Locks, outermost first:
 *
 *	rds_cpath.ctl	mutex: dialling, attaching, closing; `backoff`, `attaching`, `probing`.
 *			Transport ops path_connect, path_attach and path_close run under it.
 *	  rds_txq.xmit_map  (waited for in teardown)
 *	    transport's own locks, such as TCP's socket lock
 *	      rds_cpath.lock	spin, bh: `state`, `reason`, which rds_path_event() alone
 *				writes; `incoming`, `nr_incoming`.
 *	      rds_txq.lock
 *
 * The state is UP from rds_path_up() until the first LOST; the transmit queue is open just as
 * long, because both change under rds_cpath.lock.
 */
#ifndef _RDS_CONN_PATH_H
#define _RDS_CONN_PATH_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <net/rds/transport.h>
#include "conn/fsm.h"
#include "recv/rxq.h"
#include "send/txq.h"

struct kmem_cache;
struct rds_conn;

/* Connections of the peer's that may wait; more are refused. */
#define RDS_PATH_MAX_INCOMING	8

/**
 * struct rds_cpath - a path, as the core sees it
 * @pub: what the transport sees
 * @conn: connection it is part of
 * @lock: guards @state, @reason
 * @state: see fsm.h
 * @reason: why it was lost last
 * @ctl: control mutex
 * @ctl_work: closes, attaches, dials: whatever the state asks for
 * @tx_work: transmits when no system call does
 * @backoff: upper bound of the wait before the next attempt, in jiffies; 0 means at once
 * @dialled: when, in jiffies, we dialled last
 * @crossed: a call of the peer's was refused in favour of the attempt we made last
 * @attaching: the connection coming up was opened by the peer
 * @dial_wanted: somebody has a message for the peer, or the peer asked us to dial
 * @backing_off: the control worker is due after a random wait
 * @incoming: connections that the peer opened, in that order, not yet attached
 * @nr_incoming: how many
 * @probing: the path is up with another connection in @incoming, and a map was sent over it to
 *	see which of them the peer knows
 * @probe_until: when, in jiffies, the present one is given up in favour of the next
 * @txq: transmit side
 * @rxq: receive side
 */
struct rds_cpath {
	struct rds_path		pub;
	struct rds_conn		*conn;
	spinlock_t		lock;
	enum rds_path_state	state;
	enum rds_drop_reason	reason;
	struct mutex		ctl;
	struct delayed_work	ctl_work;
	struct work_struct	tx_work;
	unsigned long		backoff;
	unsigned long		dialled;
	bool			crossed;
	bool			attaching;
	bool			dial_wanted;
	bool			backing_off;
	void			*incoming[RDS_PATH_MAX_INCOMING];
	unsigned int		nr_incoming;
	bool			probing;
	unsigned long		probe_until;
	struct rds_txq		txq;
	struct rds_rxq		rxq;
};

#define rds_to_cpath(path)	container_of(path, struct rds_cpath, pub)

/* Memory for the paths of a transport; NULL without memory. */
struct kmem_cache *rds_cpath_cache_create(const struct rds_transport *trans);

/* That memory, for a registered transport */
struct kmem_cache *rds_cpath_cache(const struct rds_transport *trans);

/**
 * rds_cpath_create - make a path
 * @conn: connection it will be part of; addresses, maps and transport are set
 * @index: its number there
 *
 * Context: process, may sleep.
 * Return: the path or ERR_PTR(-ENOMEM).
 */
struct rds_cpath *rds_cpath_create(struct rds_conn *conn, unsigned int index);

/* Free a path that is DEAD or never was used.  May sleep. */
void rds_cpath_destroy(struct rds_cpath *cp);

/* Take the path down for good: no upcall and no work of it runs afterwards.  May sleep. */
void rds_cpath_kill(struct rds_cpath *cp);

/* There is something to send: dial if the path is down.  Any context. */
void rds_cpath_want(struct rds_cpath *cp);

/* Have the queue run by the worker.  Any context. */
void rds_cpath_kick(struct rds_cpath *cp);

/* Have the control worker look at the path, at once or after a time.  Any context. */
void rds_cpath_control(struct rds_cpath *cp, unsigned long delay);

/* A connection that the peer opened; see rds_path_incoming().  Any context. */
bool rds_cpath_incoming(struct rds_cpath *cp, void *conn);

enum rds_path_state rds_cpath_state(const struct rds_cpath *cp);

/* Did the path ever carry a message?  Then its numbering is known to the peer. */
bool rds_cpath_used(const struct rds_cpath *cp);

/* Change the state; false if the event is refused.  @why matters for RDS_EV_LOST. */
bool rds_path_event(struct rds_cpath *cp, enum rds_path_event event, enum rds_drop_reason why);

#endif
