/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What listens for peers on behalf of a socket.
 *
 * Ownership: counted, by the socket and by each connection whose request came
 * for it.  A connection is in @half until it is up, then in @ready until it is
 * accepted, and @ready has the reference that its socket will have.  When the
 * socket is closed, @sk becomes NULL, and what is in the queues is ended.
 *
 * Lock: rds_ss_listener.lock (spin, bh) guards all but @svc; within
 * rds_dev_id.lock and rds_ss_conn.lock.
 */
#ifndef _RDS_STREAM_LISTEN_H
#define _RDS_STREAM_LISTEN_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include <net/rds/dev_service.h>

#include "conn.h"

/**
 * struct rds_ss_listener - listener
 * @ref: number of references
 * @rcu: poll() looks without a reference
 * @svc: service
 * @served: there is the service; without it TCP alone listens
 * @sn: namespace
 * @lock: see above
 * @sk: socket, or NULL when it is closed
 * @half: connections that come up, by rds_ss_conn.queue_node
 * @ready: connections that can be accepted, likewise
 * @nr: length of both
 * @nr_ready: length of @ready; for reading without the lock
 * @backlog: most connections in both
 * @want: what connections begin with
 */
struct rds_ss_listener {
	struct kref		ref;
	struct rcu_head		rcu;
	struct rds_dev_service	svc;
	bool			served;
	struct rds_ss_net	*sn;
	spinlock_t		lock;
	struct sock		*sk;
	struct list_head	half;
	struct list_head	ready;
	unsigned int		nr;
	unsigned int		nr_ready;
	unsigned int		backlog;
	struct rds_ss_want	want;
};

void rds_ss_listener_put(struct rds_ss_listener *l);

/* The connection is up.  conn->lock is held. */
void rds_ss_listener_ready(struct rds_ss_conn *conn);

/* The connection has ended: it is not waited for any more. */
void rds_ss_listener_lost(struct rds_ss_conn *conn);

/* End a listener and what waits there.  May sleep. */
void rds_ss_listener_end(struct rds_ss_listener *l);

#endif
