// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /proc/sys/net/rds.  Every namespace has a table, which points to the values
 * of that namespace, so a write through an open file never changes the
 * namespace of the writing task instead.
 */
#include <linux/jiffies.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysctl.h>

#include "conn/addrs.h"
#include "conn/conn.h"
#include "ctl/internal.h"
#include "netns.h"
#include "peers.h"
#include "sock/rxmem.h"
#include <net/rds/wire.h>

static unsigned long one_jiffy = 1;
static int max_paths = RDS_MAX_PATHS;
/* in milliseconds; a shorter time is that of one retransmission */
static int min_heartbeat = 100;
static int max_heartbeat = 60000;
static int max_heartbeats = 100;
/* A quarter of it has room for the largest message. */
static unsigned long min_queue = SZ_16M;
static unsigned long max_queue = SZ_1G;
static unsigned long no_jiffies;
static unsigned long max_grace = 60 * HZ;
/* Each network has a quarter of it. */
static int min_guests = 16;
static int max_guests = 1 << 20;
static unsigned long max_idle = 24 * 3600 * HZ;

enum {
	CTL_RECONNECT_MIN,
	CTL_RECONNECT_MAX,
	CTL_UNACKED_PACKETS,
	CTL_UNACKED_BYTES,
	CTL_PING_ENABLE,
	CTL_PATHS,
	CTL_PATHS_OLD,
	CTL_HEARTBEAT_INTERVAL,
	CTL_HEARTBEAT_LIMIT,
	CTL_PATH_ADDRESSES,
	CTL_ACCESS,
	CTL_ACCESS_GROUPS,
	CTL_PEER_NETWORKS,
	CTL_LISTEN_NETWORKS,
	CTL_CONNECTION_IDLE,
	CTL_PEER_CONNECTIONS,
	CTL_RECV_QUEUE_MAX,
	CTL_RECV_PEER_MAX,
	CTL_RECV_QUEUE_GRACE,
	/* of the host, in the first namespace only: the last of the table */
	CTL_MEM,
	CTL_NR
};

/**
 * struct sysctl_text - a setting that is a text with a form of its own
 * @set: reads the text, may change it, and returns 0 or an errno
 * @show: writes the text, to as many bytes as the table says
 */
struct sysctl_text {
	int	(*set)(struct rds_net *rn, char *text);
	void	(*show)(struct rds_net *rn, char *text);
};

/* A peer that may not open a connection loses the one that it has opened. */
static int networks_set(struct rds_net *rn, struct rds_networks __rcu **list,
			char *text)
{
	int err = rds_networks_set(list, text);

	if (!err)
		rds_conn_reset_denied(rn);
	return err;
}

static int peers_set(struct rds_net *rn, char *text)
{
	return networks_set(rn, &rn->peer_networks, text);
}

static void peers_show(struct rds_net *rn, char *text)
{
	rds_networks_show(&rn->peer_networks, text);
}

static int listen_set(struct rds_net *rn, char *text)
{
	return networks_set(rn, &rn->listen_networks, text);
}

static void listen_show(struct rds_net *rn, char *text)
{
	rds_networks_show(&rn->listen_networks, text);
}

static struct sysctl_text path_addresses = { rds_addrs_set, rds_addrs_show };
static struct sysctl_text peer_networks = { peers_set, peers_show };
static struct sysctl_text listen_networks = { listen_set, listen_show };

/* A struct sysctl_text, extra1 of the table */
static int sysctl_text(RDS_CTL_CONST struct ctl_table *table, int write,
		       void *buffer, size_t *lenp, loff_t *ppos)
{
	const struct sysctl_text *kind = table->extra1;
	struct ctl_table text = { .maxlen = table->maxlen };
	struct rds_net *rn = table->data;
	int err;

	/* A part of a list would be another list. */
	if (write && (*ppos || *lenp >= text.maxlen ||
		      strnlen(buffer, *lenp) < *lenp))
		return -EINVAL;
	text.data = kzalloc(text.maxlen, GFP_KERNEL);
	if (!text.data)
		return -ENOMEM;
	if (write) {
		memcpy(text.data, buffer, *lenp);
		err = kind->set(rn, text.data);
		*ppos += err ? 0 : *lenp;
	} else {
		kind->show(rn, text.data);
		err = proc_dostring(&text, 0, buffer, lenp, ppos);
	}
	kfree(text.data);
	return err;
}

/*
 * Kernels without register_net_sysctl_sz() look for an empty entry at the end
 * of the table.
 */
static const struct ctl_table sysctl_template[CTL_NR + 1] = {
	[CTL_RECONNECT_MIN] = {
		.procname	= "reconnect_min_delay_ms",
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_ms_jiffies_minmax,
	},
	[CTL_RECONNECT_MAX] = {
		.procname	= "reconnect_max_delay_ms",
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_ms_jiffies_minmax,
	},
	[CTL_UNACKED_PACKETS] = {
		.procname	= "max_unacked_packets",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
	[CTL_UNACKED_BYTES] = {
		.procname	= "max_unacked_bytes",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
	[CTL_PING_ENABLE] = {
		.procname	= "ping_enable",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
	[CTL_PATHS] = {
		.procname	= "paths",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ONE,
		.extra2		= &max_paths,
	},
	[CTL_PATHS_OLD] = {
		.procname	= "paths_old",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ONE,
		.extra2		= &max_paths,
	},
	[CTL_HEARTBEAT_INTERVAL] = {
		.procname	= "heartbeat_interval_ms",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &min_heartbeat,
		.extra2		= &max_heartbeat,
	},
	[CTL_HEARTBEAT_LIMIT] = {
		.procname	= "heartbeat_limit",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= &max_heartbeats,
	},
	[CTL_PATH_ADDRESSES] = {
		.procname	= "path_addresses",
		.maxlen		= RDS_ADDRS_TEXT,
		.mode		= 0644,
		.proc_handler	= sysctl_text,
		.extra1		= &path_addresses,
	},
	[CTL_ACCESS] = {
		.procname	= "access",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= rds_sysctl_access,
	},
	[CTL_ACCESS_GROUPS] = {
		.procname	= "access_group_range",
		.maxlen		= 2 * sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= rds_sysctl_access_groups,
	},
	[CTL_PEER_NETWORKS] = {
		.procname	= "peer_networks",
		.maxlen		= RDS_NETWORKS_TEXT,
		.mode		= 0644,
		.proc_handler	= sysctl_text,
		.extra1		= &peer_networks,
	},
	[CTL_LISTEN_NETWORKS] = {
		.procname	= "listen_networks",
		.maxlen		= RDS_NETWORKS_TEXT,
		.mode		= 0644,
		.proc_handler	= sysctl_text,
		.extra1		= &listen_networks,
	},
	[CTL_CONNECTION_IDLE] = {
		.procname	= "connection_idle_ms",
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_ms_jiffies_minmax,
		.extra1		= &no_jiffies,
		.extra2		= &max_idle,
	},
	[CTL_PEER_CONNECTIONS] = {
		.procname	= "peer_connections_max",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= &min_guests,
		.extra2		= &max_guests,
	},
	[CTL_RECV_QUEUE_MAX] = {
		.procname	= "recv_queue_max_bytes",
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
		.extra1		= &min_queue,
		.extra2		= &max_queue,
	},
	[CTL_RECV_PEER_MAX] = {
		.procname	= "recv_peer_max_bytes",
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
		.extra1		= &min_queue,
		.extra2		= &max_queue,
	},
	[CTL_RECV_QUEUE_GRACE] = {
		.procname	= "recv_queue_grace_ms",
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_ms_jiffies_minmax,
		.extra1		= &no_jiffies,
		.extra2		= &max_grace,
	},
	[CTL_MEM] = {
		.procname	= "mem",
		.data		= rds_rxmem_limits,
		.maxlen		= sizeof(rds_rxmem_limits),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
};

static void sysctl_defaults(struct rds_net_sysctl *s)
{
	s->reconnect_min = msecs_to_jiffies(1);
	s->reconnect_max = msecs_to_jiffies(1000);
	s->max_unacked_packets = 8;
	s->max_unacked_bytes = 16 << 20;
	s->ping_enable = 1;
	s->paths = 1;
	s->paths_old = 1;
	s->heartbeat_interval = 1000;
	s->heartbeat_limit = 3;
	s->connection_idle = 600 * HZ;
	s->peer_connections = 4096;
	s->recv_queue_max = SZ_64M;
	s->recv_peer_max = rds_rxmem_share();
	s->recv_queue_grace = 2 * HZ;
}

/*
 * Point the table to the values.  Each of the two delays is the limit of the
 * other one.
 */
static void sysctl_bind(struct ctl_table *table, struct rds_net *rn)
{
	struct rds_net_sysctl *s = &rn->sysctl;

	table[CTL_RECONNECT_MIN].data = &s->reconnect_min;
	table[CTL_RECONNECT_MIN].extra1 = &one_jiffy;
	table[CTL_RECONNECT_MIN].extra2 = &s->reconnect_max;
	table[CTL_RECONNECT_MAX].data = &s->reconnect_max;
	table[CTL_RECONNECT_MAX].extra1 = &s->reconnect_min;
	table[CTL_UNACKED_PACKETS].data = &s->max_unacked_packets;
	table[CTL_UNACKED_BYTES].data = &s->max_unacked_bytes;
	table[CTL_PING_ENABLE].data = &s->ping_enable;
	table[CTL_PATHS].data = &s->paths;
	table[CTL_PATHS_OLD].data = &s->paths_old;
	table[CTL_HEARTBEAT_INTERVAL].data = &s->heartbeat_interval;
	table[CTL_HEARTBEAT_LIMIT].data = &s->heartbeat_limit;
	table[CTL_PATH_ADDRESSES].data = rn;
	table[CTL_ACCESS].data = rn;
	table[CTL_ACCESS_GROUPS].data = rn;
	table[CTL_PEER_NETWORKS].data = rn;
	table[CTL_LISTEN_NETWORKS].data = rn;
	table[CTL_CONNECTION_IDLE].data = &s->connection_idle;
	table[CTL_PEER_CONNECTIONS].data = &s->peer_connections;
	table[CTL_RECV_QUEUE_MAX].data = &s->recv_queue_max;
	table[CTL_RECV_PEER_MAX].data = &s->recv_peer_max;
	table[CTL_RECV_QUEUE_GRACE].data = &s->recv_queue_grace;
}

/**
 * rds_sysctl_net_init - make /proc/sys/net/rds of a namespace, with default
 * values
 * @rn: namespace
 *
 * Return: 0 or -ENOMEM.
 */
int rds_sysctl_net_init(struct rds_net *rn)
{
	struct ctl_table *table = kmemdup(sysctl_template,
					  sizeof(sysctl_template), GFP_KERNEL);
	size_t nr = CTL_NR;

	if (!table)
		return -ENOMEM;
	sysctl_defaults(&rn->sysctl);
	sysctl_bind(table, rn);
	if (!net_eq(rn->net, &init_net)) {
		memset(&table[CTL_MEM], 0, sizeof(table[CTL_MEM]));
		nr = CTL_MEM;
	}
	rn->sysctl_header = register_net_sysctl_sz(rn->net, "net/rds", table,
						   nr);
	if (!rn->sysctl_header) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rds_sysctl_net_exit - remove /proc/sys/net/rds of a namespace
 * @rn: namespace; no handler runs on return
 */
void rds_sysctl_net_exit(struct rds_net *rn)
{
	const struct ctl_table *table = rn->sysctl_header->ctl_table_arg;

	unregister_net_sysctl_table(rn->sysctl_header);
	kfree(table);
}
