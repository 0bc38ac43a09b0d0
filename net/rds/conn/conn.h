/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections: what this host shares with one address of another (or of its own).
 *
 * Lifetime: counted.  References are held by the table (while hashed), by every socket that
 * cached the connection, by a system call in progress, by each path's pending work, and by
 * whoever got one from a lookup.  A connection leaves the table when its namespace or transport
 * goes, or when it comes down without ever having carried a message and with none waiting; after
 * that no new reference can be had, its paths are closed for good, and the last reference frees
 * it after a grace period.
 * It refers to its namespace without a reference: connections are dead before that is.
 *
 * Locks, outermost first: rds_conn_table.lock (adding and removing) > rds_cong_map.lock (the
 * subscription of a connection that is added or removed).
 * Lookups are RCU.
 */
#ifndef _RDS_CONN_CONN_H
#define _RDS_CONN_CONN_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include <net/rds/transport.h>
#include "cong/map.h"

struct rds_cpath;
struct rds_message;
struct rds_net;
struct rds_sock;

/**
 * struct rds_conn - a connection
 * @node: in the table, RCU
 * @ref: see above
 * @rn: namespace
 * @trans: transport
 * @addr: addresses, with interface and TOS
 * @lmap: congestion map of the local address
 * @fmap: congestion map of the peer's
 * @sub: tells us when @lmap changes
 * @omap: congestion map of the peer's address, as our own sockets say it
 * @mirror: from @omap to @fmap; on while @same
 * @same: the peer is this namespace, by its generation number: maps do not travel
 * @peer_gen: generation number of the peer, 0 while unknown
 * @npaths: paths the peer agreed to, 0 while unknown
 * @handshake_sent: a handshake ping is on its way
 * @dead: unhashed; paths do not come up any more
 * @nr_paths: entries of @paths
 * @free_work: frees after a grace period, where sleeping is allowed
 * @paths: the paths
 */
struct rds_conn {
	struct hlist_node		node;
	struct kref			ref;
	struct rds_net			*rn;
	const struct rds_transport	*trans;
	struct rds_path_addr		addr;
	struct rds_cong_map		*lmap;
	struct rds_cong_map		*fmap;
	struct rds_cong_subscriber	sub;
	struct rds_cong_map		*omap;
	struct rds_cong_mirror		mirror;
	bool				same;
	u32				peer_gen;
	u8				npaths;
	bool				handshake_sent;
	bool				dead;
	unsigned int			nr_paths;
	struct rcu_work			free_work;
	struct rds_cpath		*paths[] __counted_by(nr_paths);
};

/**
 * rds_conn_get - find or make the connection to a peer
 * @rn: namespace
 * @trans: transport of the sending socket; a transport that prefers loopback for local
 *	destinations is replaced by loopback here
 * @addr: addresses
 *
 * Context: process, may sleep.
 * Return: a counted connection, or ERR_PTR: -ENOMEM; -ENETDOWN if the transport is leaving.
 */
struct rds_conn *rds_conn_get(struct rds_net *rn, const struct rds_transport *trans,
			      const struct rds_path_addr *addr);

/* Does the connection lead to these addresses, as rds_conn_get() would choose it? */
bool rds_conn_matches(const struct rds_conn *conn, const struct rds_path_addr *addr);

void rds_conn_put(struct rds_conn *conn);

/**
 * rds_conn_send - queue a message and transmit
 * @conn: where to
 * @m: owner and ports are set; the connection's from here on, unless this fails
 *
 * Context: process, may sleep, no locks held.
 * Return: 0, or -EAGAIN if the connection is being destroyed and no other can be had.
 */
int rds_conn_send(struct rds_conn *conn, struct rds_message *m);

/**
 * rds_conn_cancel - drop a socket's messages
 * @rn: namespace
 * @rs: socket, bound
 * @laddr: its address
 * @faddr: to this peer only, or NULL for all
 * @dport: to this port only, host order; -1 for all
 *
 * On return no message refers to @rs any more but those that another context is retiring in
 * an RCU read section (all if @faddr is NULL).
 * Context: process.
 */
void rds_conn_cancel(struct rds_net *rn, struct rds_sock *rs, const struct in6_addr *laddr,
		     const struct in6_addr *faddr, int dport);

/* Snapshot of a path for RDS_INFO_CONNECTIONS */
struct rds_conn_info {
	u64	next_tx_seq;
	u64	next_rx_seq;
	u8	flags;		/* RDS_INFO_CONNECTION_FLAG_* */
};

/* For dumps: fn runs under rcu_read_lock() for every connection of the namespace. */
void rds_conn_visit(struct rds_net *rn, void (*fn)(struct rds_conn *conn, void *arg), void *arg);

void rds_conn_info(struct rds_conn *conn, struct rds_conn_info *info);

/* For dumps: all messages of a connection, those a transport has begun or those it has not. */
void rds_conn_visit_messages(struct rds_conn *conn, bool started,
			     void (*fn)(const struct rds_message *m, void *arg), void *arg);

/* Has the transport set itself up in the namespace, its counters included? */
bool rds_conn_ready(struct rds_net *rn, const struct rds_transport *trans);

int rds_conn_net_init(struct rds_net *rn);
void rds_conn_net_exit(struct rds_net *rn);
int rds_conn_init(void);
void rds_conn_exit(void);

#endif
