/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State of RDS per network namespace.  Every folder has a table of its own in
 * struct rds_net, opaque to the other folders.  A struct rds_net lives as long
 * as its namespace, and holds all sockets, connections and maps.
 */
#ifndef _RDS_NETNS_H
#define _RDS_NETNS_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <net/net_namespace.h>

#include <net/rds/stats.h>

struct ctl_table_header;
struct rds_addrs_table;
struct rds_bind_table;
struct rds_cong_table;
struct rds_conn_table;
struct rds_guests;
struct rds_networks;
struct rds_use;

/* Counters of one namespace and CPU */
struct rds_counters {
	struct rds_stats	stats;
	u64			drops[RDS_DROP_MAX];
};

/**
 * struct rds_net_sysctl - /proc/sys/net/rds of a namespace
 * @reconnect_min: first step of the back-off, in jiffies
 * @reconnect_max: upper bound of the back-off, in jiffies
 * @max_unacked_packets: kept for programs that set it; rds_rdma has a constant,
 *	see protocol.rst 4.8.6
 * @max_unacked_bytes: kept for programs that set it; rds_rdma has a constant,
 *	see protocol.rst 4.8.6
 * @ping_enable: whether pings and handshakes are answered
 * @paths: number of paths to a peer that has several as well, 1 to
 *	RDS_MAX_PATHS; a number between two powers of two counts as the smaller
 * @paths_old: the same with a peer that counts paths and does not show which
 *	path a connection is; never more than @paths
 * @heartbeat_interval: time for a sign of life of a peer that acknowledges by
 *	number, in ms
 * @connection_idle: time after which a connection ends that nobody uses, in
 *	jiffies; 0: never
 * @peer_connections: number of connections that peers have made, above which
 *	the one ends that is idle for longest
 * @recv_queue_max: memory of received messages of a socket, in bytes, above
 *	which peers wait
 * @recv_peer_max: memory of the messages of a peer at congested ports, in
 *	bytes, above which the peer waits
 * @recv_queue_grace: time for which they wait before messages are dropped, in
 *	jiffies
 * @heartbeat_limit: number of such times without a sign of life after which a
 *	connection is given up; 0: the transport decides
 */
struct rds_net_sysctl {
	unsigned long	reconnect_min;
	unsigned long	reconnect_max;
	int		max_unacked_packets;
	int		max_unacked_bytes;
	int		ping_enable;
	int		paths;
	int		paths_old;
	int		heartbeat_interval;
	int		heartbeat_limit;
	unsigned long	connection_idle;
	int		peer_connections;
	unsigned long	recv_queue_max;
	unsigned long	recv_peer_max;
	unsigned long	recv_queue_grace;
};

/**
 * struct rds_access - who may use RDS in a namespace; see access.h
 * @level: enum rds_access_level
 * @lock: guards @group_low and @group_high, and writers of @level
 * @group_low: first group of the range, a number in the user namespace that
 *	owns the network namespace
 * @group_high: last group of the range, such a number; a range that ends before
 *	it begins is empty
 */
struct rds_access {
	int		level;
	seqlock_t	lock;
	gid_t		group_low;
	gid_t		group_high;
};

/**
 * struct rds_net - state of RDS in one namespace
 * @net: the namespace, without a reference, as struct rds_net is part of it
 * @counters: statistics and drop reasons, per CPU
 * @bind: bound sockets, of sock/
 * @cong: congestion maps, of cong/
 * @conns: connections, of conn/
 * @guests: connections that peers have made, of conn/
 * @addrs: addresses of this host that belong together, of conn/
 * @reports_lock: guards what sockets are told of peers, see sock/report.h
 * @info_lock: held while a snapshot walks, so that there is one at a time
 * @uses: use of transports by sockets, indexed by type of transport, of
 *	xprt/use.c
 * @sysctl: settings, of ctl/
 * @access: who may use RDS here, of access.c
 * @peer_networks: networks that peers may come from, of peers.c
 * @listen_networks: networks of the local addresses at which peers may connect
 * @sysctl_header: registration of @sysctl
 * @nr_keys: number of keys of sockets, by which peers reach memory, of memop/
 * @nr_sockets: number of sockets
 * @nr_conns: number of connections, in the table or out of it
 * @nr_maps: number of congestion maps
 * @paid_bytes: memory set aside for messages that are kept for the peer's core
 *	to acknowledge, and not charged to their senders
 * @shared_probes: probes that take the room that all queues share
 *
 * The last six are 0 at the end of the namespace; another value is a leak, and
 * gets a WARN.
 */
struct rds_net {
	struct net			*net;
	struct rds_counters __percpu	*counters;
	struct rds_bind_table		*bind;
	struct rds_cong_table		*cong;
	struct rds_conn_table		*conns;
	struct rds_guests		*guests;
	struct rds_addrs_table		*addrs;
	spinlock_t			reports_lock;
	struct mutex			info_lock;
	struct rds_use			*uses;
	struct rds_net_sysctl		sysctl;
	struct rds_access		access;
	struct rds_networks __rcu	*peer_networks;
	struct rds_networks __rcu	*listen_networks;
	struct ctl_table_header		*sysctl_header;
	atomic_t			nr_keys;
	atomic_t			nr_sockets;
	atomic_t			nr_conns;
	atomic_t			nr_maps;
	atomic_t			paid_bytes;
	atomic_t			shared_probes;
};

/*
 * Index of struct rds_net among the private parts of a namespace; main.c
 * registers it.
 */
extern unsigned int rds_net_id;

struct rds_net *rds_net(const struct net *net);

#define rds_stats_add(rn, field, n) \
	this_cpu_add((rn)->counters->stats.field, n)
#define rds_stats_inc(rn, field)	rds_stats_add(rn, field, 1)

#endif
