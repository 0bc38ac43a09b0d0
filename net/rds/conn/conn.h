/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections: the state that a local address shares with one peer address.
 *
 * Lifetime: counted.  References are held by the table (while hashed), by every
 * socket that cached the connection, by a system call in progress, by each
 * path's pending work, and by the caller of a lookup.  A connection leaves the
 * table when its namespace or transport goes, or when it is down and its
 * numbers are not needed any more (conn/idle.h); one of loopback when nothing
 * was sent over it for some seconds.  After that a lookup gives no new
 * reference, the paths are closed for good, and the last reference drops the
 * messages that are left and frees the connection after a grace period.  A
 * connection points to its namespace without a reference: all connections of a
 * namespace are freed before the namespace is.
 *
 * A connection is forgotten in one step under rds_conn_table.lock: its queues
 * refuse messages, its paths refuse connections, and it leaves the table.  A
 * lookup without the lock may return a connection that is forgotten a moment
 * later and then refuses a message or a handle.  The caller then looks once
 * more under the lock, and hands over its message or handle before it unlocks.
 *
 * Locks, outermost first: rds_conn_table.lock (adding and removing) >
 * rds_cong_map.lock (the subscription of a connection that is added or
 * removed), rds_guests.lock, rds_lanes.lock, rds_cpath.lock > rds_txq.lock,
 * which is also taken directly inside the first.  rds_session.lock >
 * rds_cong_map.lock.  conn/lane.h has the place of rds_lanes.lock.  Lookups are
 * RCU.
 */
#ifndef _RDS_CONN_CONN_H
#define _RDS_CONN_CONN_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable-types.h>
#include <linux/workqueue.h>

#include <net/rds/transport.h>
#include "cong/map.h"
#include "conn/guest.h"
#include "conn/idle.h"
#include "conn/lane.h"
#include "conn/session.h"

struct rds_addr_set;
struct rds_cpath;
struct rds_message;
struct rds_net;
struct rds_reach;
struct rds_rx_lane;
struct rds_sock;

/**
 * struct rds_conn_addrs - further addresses of both hosts
 * @own: those of this host, or NULL if none are configured; constant
 * @peer: those of the peer, or NULL while it has told none; RCU, replaced under
 *	@lock
 * @awaited: the peer is about to tell its addresses; also read without @lock
 * @lock: innermost
 */
struct rds_conn_addrs {
	struct rds_addr_set		*own;
	struct rds_addr_set __rcu	*peer;
	bool				awaited;
	spinlock_t			lock;
};

/**
 * struct rds_conn - a connection
 * @node: entry in the table, by address, RCU
 * @of_all: the same among all
 * @ref: references, see Lifetime
 * @rn: namespace, not counted
 * @trans: transport
 * @addr: addresses, with interface and type of service
 * @lmap: congestion map of the local address
 * @fmap: congestion map of the peer's address
 * @sub: subscription to changes of @lmap
 * @omap: congestion map of the peer's address, as sockets of this namespace set
 *	it
 * @mirror: copies @omap to @fmap while @session.same is set
 * @session: what is known of the peer
 * @gen: generation number that the peer is told, as long as this connection is
 *	in the table; constant then
 * @idle: since when nobody uses the connection
 * @guest: place among those that peers have made
 * @dead: out of the table: its paths do not come up again
 * @drain_work: drops the messages that are left, in process context
 * @free_work: frees the connection a grace period after that
 * @addrs: addresses that further paths may use, beside @addr
 * @lanes: over which of @paths this host sends
 * @reach: sockets that are told of the peer, or NULL; see conn/reach.h
 * @rx_peer: count of what the peer makes sockets hold, see msg/rxpeer.h; NULL
 *	without RDS_CAP_RX_HOLDS
 * @rx_lanes: what the peer sends over its lanes: one, or RDS_MAX_PATHS of them
 *	if @lanes.max is more than 1
 * @paths: the paths, by index; NULL for those that were not made
 */
struct rds_conn {
	struct rhash_head		node;
	struct list_head		of_all;
	struct kref			ref;
	bool				dead;
	struct rds_net			*rn;
	const struct rds_transport	*trans;
	struct rds_path_addr		addr;
	struct rds_cong_map		*lmap;
	struct rds_cong_map		*fmap;
	struct rds_cong_subscriber	sub;
	struct rds_cong_map		*omap;
	struct rds_cong_mirror		mirror;
	struct rds_session		session;
	u32				gen;
	struct rds_idle			idle;
	struct rds_guest		guest;
	struct work_struct		drain_work;
	struct rcu_work			free_work;
	struct rds_conn_addrs		addrs;
	struct rds_lanes		lanes;
	struct rds_reach		*reach;
	struct rds_rx_peer		*rx_peer;
	struct rds_rx_lane		*rx_lanes;
	struct rds_cpath		*paths[RDS_MAX_PATHS];
};

/**
 * rds_conn_get - find or make the connection to a peer
 * @rn: namespace
 * @trans: transport of the sending socket; a transport that prefers loopback
 *	for local destinations is replaced by loopback here
 * @addr: addresses
 *
 * Context: process, may sleep.
 * Return: a counted connection, or ERR_PTR: -ENOMEM; -ENETDOWN if the transport
 * is leaving.
 */
struct rds_conn *rds_conn_get(struct rds_net *rn,
			      const struct rds_transport *trans,
			      const struct rds_path_addr *addr);

/*
 * Does the connection lead to these addresses, as rds_conn_get() would choose
 * it?
 */
bool rds_conn_matches(const struct rds_conn *conn,
		      const struct rds_path_addr *addr);

void rds_conn_put(struct rds_conn *conn);

/**
 * rds_conn_send - queue a message and transmit
 * @conn: connection to the peer
 * @m: message with owner and ports set; owned by the connection unless the call
 *	fails
 *
 * Context: process, may sleep, no locks held.
 * Return: 0; or, if the connection was forgotten and cannot be made again,
 * -ENOMEM or -ENETDOWN with the meaning of rds_conn_get().
 */
int rds_conn_send(struct rds_conn *conn, struct rds_message *m);

/**
 * rds_conn_reset - end the connection that a peer has, and begin another
 * @rn: namespace
 * @laddr: local address
 * @faddr: address of the peer
 * @tos: type of service
 *
 * Messages that are not acknowledged are sent again.  Loopback has no
 * connection to end.
 *
 * Context: process, may sleep.
 * Return: whether there is a connection over any transport.
 */
bool rds_conn_reset(struct rds_net *rn, const struct in6_addr *laddr,
		    const struct in6_addr *faddr, u8 tos);

/*
 * Reset all paths that the peer may not open, see rds_access_peer().  Those
 * that this end dials come back.  Process context; may sleep.
 */
void rds_conn_reset_denied(struct rds_net *rn);

/* Snapshot of a path for RDS_INFO_CONNECTIONS */
struct rds_conn_info {
	u64	next_tx_seq;
	u64	next_rx_seq;
	u8	flags;		/* RDS_INFO_CONNECTION_FLAG_* */
};

/*
 * Call @fn for every connection of the namespace that is in the table now, if
 * it still is there then, with a reference and without a lock.  Process
 * context; may sleep.
 */
void rds_conn_visit(struct rds_net *rn,
		    void (*fn)(struct rds_conn *conn, void *arg), void *arg);

void rds_conn_info(struct rds_conn *conn, struct rds_conn_info *info);

/*
 * For dumps, one at a time: call @fn for all messages that a transport has
 * @started to send, or has not, see rds_txq_visit().  The caller holds a
 * reference.  Process context; may sleep.
 */
void rds_conn_visit_messages(struct rds_conn *conn, bool started,
			     void (*fn)(const struct rds_message *m, void *arg),
			     void *arg);

/*
 * Is the peer of a connection this namespace, as the number @gen is that of the
 * connection in the other direction?  Any context but hard interrupts.
 */
bool rds_conn_is_own(const struct rds_conn *conn, u32 gen);

/* What tells this host apart from itself after a restart: RDS_CAP_BITS_HOST */
u32 rds_conn_host_bits(const struct rds_conn *conn);

/* Is the transport initialised in the namespace, its counters included? */
bool rds_conn_ready(struct rds_net *rn, const struct rds_transport *trans);

int rds_conn_net_init(struct rds_net *rn);
void rds_conn_net_exit(struct rds_net *rn);
int rds_conn_init(void);
void rds_conn_exit(void);

#endif
