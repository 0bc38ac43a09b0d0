// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /proc/sys/net/rds.  Every namespace has a table, which points to the values
 * of that namespace, so a write through an open file never changes the
 * namespace of the writing task instead.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/sysctl.h>

#include "ctl/internal.h"
#include "netns.h"
#include <net/rds/wire.h>

static unsigned long one_jiffy = 1;
static int max_paths = RDS_MAX_PATHS;

enum {
	CTL_RECONNECT_MIN,
	CTL_RECONNECT_MAX,
	CTL_UNACKED_PACKETS,
	CTL_UNACKED_BYTES,
	CTL_PING_ENABLE,
	CTL_PATHS,
	CTL_NR
};

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
};

static void sysctl_defaults(struct rds_net_sysctl *s)
{
	s->reconnect_min = msecs_to_jiffies(1);
	s->reconnect_max = msecs_to_jiffies(1000);
	s->max_unacked_packets = 8;
	s->max_unacked_bytes = 16 << 20;
	s->ping_enable = 1;
	s->paths = 1;
}

/*
 * Point the table to the values.  Each of the two delays is the limit of the
 * other one.
 */
static void sysctl_bind(struct ctl_table *table, struct rds_net_sysctl *s)
{
	table[CTL_RECONNECT_MIN].data = &s->reconnect_min;
	table[CTL_RECONNECT_MIN].extra1 = &one_jiffy;
	table[CTL_RECONNECT_MIN].extra2 = &s->reconnect_max;
	table[CTL_RECONNECT_MAX].data = &s->reconnect_max;
	table[CTL_RECONNECT_MAX].extra1 = &s->reconnect_min;
	table[CTL_UNACKED_PACKETS].data = &s->max_unacked_packets;
	table[CTL_UNACKED_BYTES].data = &s->max_unacked_bytes;
	table[CTL_PING_ENABLE].data = &s->ping_enable;
	table[CTL_PATHS].data = &s->paths;
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

	if (!table)
		return -ENOMEM;
	sysctl_defaults(&rn->sysctl);
	sysctl_bind(table, &rn->sysctl);
	rn->sysctl_header = register_net_sysctl_sz(rn->net, "net/rds", table,
						   CTL_NR);
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
