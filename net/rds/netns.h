/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What RDS keeps per network namespace.  Every folder has a table of its own here, opaque to
 * the others.  A struct rds_net lives as long as its namespace; there is nothing outside.
 */
#ifndef _RDS_NETNS_H
#define _RDS_NETNS_H

#include <linux/atomic.h>
#include <linux/percpu.h>
#include <net/net_namespace.h>

#include <net/rds/stats.h>

struct ctl_table_header;
struct rds_bind_table;
struct rds_cong_table;
struct rds_conn_table;
struct rds_use;

/* Per-CPU counters */
struct rds_counters {
	struct rds_stats	stats;
	u64			drops[RDS_DROP_MAX];
};

/**
 * struct rds_net_sysctl - /proc/sys/net/rds of a namespace
 * @reconnect_min: first step of the back-off, in jiffies
 * @reconnect_max: its ceiling, in jiffies
 * @max_unacked_packets: see max_unacked_packets of the wire document, 4.8
 * @max_unacked_bytes: likewise
 * @ping_enable: answer pings and handshakes
 */
struct rds_net_sysctl {
	unsigned long	reconnect_min;
	unsigned long	reconnect_max;
	int		max_unacked_packets;
	int		max_unacked_bytes;
	int		ping_enable;
};

/**
 * struct rds_net - RDS in one namespace
 * @net: the namespace; no reference, this is part of it
 * @counters: statistics and drop reasons
 * @bind: bound sockets, endpoint/
 * @cong: congestion maps, cong/
 * @conns: connections, conn/
 * @uses: by type, whether sockets use a transport, conn/use.h
 * @sysctl: settings, ctl/
 * @sysctl_header: their registration
 * @nr_sockets: sockets that exist
 * @nr_conns: connections that exist, looked up or not
 * @nr_maps: congestion maps that exist
 *
 * The last three are zero when the namespace is gone; anything else is a leak of ours and
 * gets a WARN.
 */
struct rds_net {
	struct net			*net;
	struct rds_counters __percpu	*counters;
	struct rds_bind_table		*bind;
	struct rds_cong_table		*cong;
	struct rds_conn_table		*conns;
	struct rds_use			*uses;
	struct rds_net_sysctl		sysctl;
	struct ctl_table_header		*sysctl_header;
	atomic_t			nr_sockets;
	atomic_t			nr_conns;
	atomic_t			nr_maps;
};

struct rds_net *rds_net(const struct net *net);

#define rds_stats_add(rn, field, n)	this_cpu_add((rn)->counters->stats.field, n)
#define rds_stats_inc(rn, field)	rds_stats_add(rn, field, 1)

int rds_netns_init(void);
void rds_netns_exit(void);

#endif
