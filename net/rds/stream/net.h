/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What streams have per namespace: counters, limits, and what
 * /proc/net/rds_streams lists, for which list.h has the rules.
 *
 * Lifetime: as long as the namespace.  Sockets hold it, and so do the
 * connections that outlive their socket, by the reference they have to it.
 *
 * Locks: use_lock (mutex) guards @users, as who uses devices first tells
 * rds_dev so, which sleeps.  conns_lock (spin, bh) guards @nr_tcps, and what a
 * reader of @conns and @tcps has found; xa_lock of these is taken inside.
 */
#ifndef _RDS_STREAM_NET_H
#define _RDS_STREAM_NET_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include <net/rds/dev.h>

#include "hosts.h"
#include "wire.h"

struct ctl_table_header;

/* Counters beyond those of enum rds_ss_why, with the names of both */
#define RDS_SS_STATS(_)		\
	_(stream_connected)	\
	_(stream_accepted)	\
	_(stream_connect_failed)	\
	_(stream_reset)		\
	_(stream_backlog_full)	\
	_(stream_wrong_device)	\
	_(stream_limit)		\
	_(stream_share_limit)	\
	_(stream_no_memory)	\
	_(stream_grown)		\
	_(stream_orphan_late)	\
	_(stream_silent)	\
	_(stream_rdma_failed)	\
	_(stream_rdma_late)	\
	_(stream_tcp_connects)	\
	_(stream_tcp_accepted)	\
	_(stream_tcp_only)	\
	_(stream_bytes_in)	\
	_(stream_bytes_out)	\
	_(stream_messages_in)	\
	_(stream_messages_out)

enum rds_ss_stat {
#define RDS_SS_STAT_NR(name)	RDS_SS_STAT_##name,
	RDS_SS_STATS(RDS_SS_STAT_NR)
#undef RDS_SS_STAT_NR
	RDS_SS_NR_STATS
};

struct rds_ss_stats {
	u64	stat[RDS_SS_NR_STATS];
	u64	why[RDS_SS_NR_WHYS];
};

/**
 * struct rds_ss_net - streams of a namespace
 * @net: the namespace
 * @stats: counters
 * @nr_conns: number of connections, of peers' requests and orphans too
 * @max_conns: sysctl max; most of them
 * @shares: number of the connections of each share (share.h)
 * @orphan_ms: sysctl orphan_ms; time that a connection has to send what its
 *	closed socket left, in ms
 * @silent_ms: sysctl silent_ms; time that a message may be under way without an
 *	answer, in ms
 * @sysctl: sysctl net/rds/stream
 * @use_lock: guards @users
 * @users: sockets that can have listeners or connections
 * @conns_lock: see above
 * @conns: all connections, by rds_ss_conn.serial
 * @next_conn: serial to be given next in @conns; under its xa_lock
 * @tcps: sockets with connections that TCP carries, by rds_ss_sock.serial
 * @next_tcp: the same in @tcps
 * @nr_tcps: sockets in @tcps, at most @max_conns: others are not listed
 * @rule: sysctl auto; carriers of sockets of AF_INET and AF_INET6: 0 TCP, 1 as
 *	the rule says, 2 RDMA
 * @rdma_ms: sysctl rdma_ms; time that an attempt over RDMA has before TCP takes
 *	over, in ms
 * @hosts: hosts that were silent, or not
 */
struct rds_ss_net {
	struct net			*net;
	struct rds_ss_stats __percpu	*stats;
	atomic_t			nr_conns;
	unsigned int			max_conns;
	atomic_t			shares[RDS_DEV_SHARES];
	unsigned int			orphan_ms;
	unsigned int			silent_ms;
	struct ctl_table_header		*sysctl;
	struct mutex			use_lock;
	unsigned int			users;
	spinlock_t			conns_lock;
	struct xarray			conns;
	u32				next_conn;
	struct xarray			tcps;
	u32				next_tcp;
	unsigned int			nr_tcps;
	u8				rule;
	unsigned int			rdma_ms;
	struct rds_ss_hosts		hosts;
};

struct rds_ss_net *rds_ss_net(const struct net *net);

static inline void rds_ss_count(struct rds_ss_net *sn, enum rds_ss_stat nr,
				u64 by)
{
	this_cpu_add(sn->stats->stat[nr], by);
}

static inline void rds_ss_refused(struct rds_ss_net *sn, enum rds_ss_why why)
{
	this_cpu_inc(sn->stats->why[why]);
}

/* A socket begins or ends to use devices.  May sleep. */
void rds_ss_net_use(struct rds_ss_net *sn, bool use);

int rds_ss_net_init(void);
void rds_ss_net_exit(void);

#endif
