// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Streams of a namespace: /proc/sys/net/rds/stream, and counters in
 * /proc/net/rds_stream_stats.
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/netns/generic.h>

#include "conn.h"
#include "list.h"
#include "net.h"

#define MAX_CONNS	4096
#define ORPHAN_MS	10000
#define SILENT_MS	924600	/* as TCP: tcp_retries2 is 15 */
#define RDMA_MS		1000

static unsigned int net_id;

struct rds_ss_net *rds_ss_net(const struct net *net)
{
	return net_generic(net, net_id);
}

void rds_ss_net_use(struct rds_ss_net *sn, bool use)
{
	mutex_lock(&sn->use_lock);
	if (use && !sn->users++)
		rds_dev_net_use(&rds_ss_user, sn->net, true);
	else if (!use && !--sn->users)
		rds_dev_net_use(&rds_ss_user, sn->net, false);
	mutex_unlock(&sn->use_lock);
}

/* Settings */

static const unsigned int orphan_max = 3600000;
static const unsigned int silent_min = 1000;
static const unsigned int silent_max = 86400000;
static const unsigned int rdma_min = 1;
static const unsigned int rdma_max = 60000;

static const struct ctl_table table_of_net[] = {
	{
		.procname	= "max",
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	},
	{
		.procname	= "orphan_ms",
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra2		= (void *)&orphan_max,
	},
	{
		.procname	= "auto",
		.maxlen		= sizeof(u8),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_TWO,
	},
	{
		.procname	= "rdma_ms",
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= (void *)&rdma_min,
		.extra2		= (void *)&rdma_max,
	},
	{
		.procname	= "silent_ms",
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= (void *)&silent_min,
		.extra2		= (void *)&silent_max,
	},
	/* Of the host; the first namespace has it. */
	{
		.procname	= "mem",
		.data		= rds_ss_mem_limits,
		.maxlen		= sizeof(rds_ss_mem_limits),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
	{ }
};

static int sysctl_init(struct rds_ss_net *sn)
{
	size_t nr = ARRAY_SIZE(table_of_net) - 1;
	struct ctl_table *table;

	table = kmemdup(table_of_net, sizeof(table_of_net), GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;
	table[0].data = &sn->max_conns;
	table[1].data = &sn->orphan_ms;
	table[2].data = &sn->rule;
	table[3].data = &sn->rdma_ms;
	table[4].data = &sn->silent_ms;
	if (!net_eq(sn->net, &init_net)) {
		memset(&table[5], 0, sizeof(table[5]));
		nr--;
	}
	sn->sysctl = register_net_sysctl_sz(sn->net, "net/rds/stream", table,
					    nr);
	if (sn->sysctl)
		return 0;
	kfree(table);
	return -ENOMEM;
}

static void sysctl_exit(struct rds_ss_net *sn)
{
	const struct ctl_table *table = sn->sysctl->ctl_table_arg;

	unregister_net_sysctl_table(sn->sysctl);
	kfree(table);
}

/* Counters */

static const char *const stat_names[] = {
#define RDS_SS_STAT_NAME(name)	#name,
	RDS_SS_STATS(RDS_SS_STAT_NAME)
#undef RDS_SS_STAT_NAME
};

static u64 sum_at(const struct rds_ss_net *sn, size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(u64 *)((u8 *)per_cpu_ptr(sn->stats, cpu) +
					  offset));
	return sum;
}

static int stats_show(struct seq_file *seq, void *v)
{
	struct rds_ss_net *sn = rds_ss_net(seq_file_single_net(seq));
	unsigned int i;

	for (i = 0; i < RDS_SS_NR_STATS; i++)
		seq_printf(seq, "%s %llu\n", stat_names[i],
			   sum_at(sn, offsetof(struct rds_ss_stats, stat[0]) +
				      i * sizeof(u64)));
	for (i = RDS_SS_FINE + 1; i < RDS_SS_NR_WHYS; i++)
		seq_printf(seq, "%s %llu\n", rds_ss_why_name(i),
			   sum_at(sn, offsetof(struct rds_ss_stats, why[0]) +
				      i * sizeof(u64)));
	seq_printf(seq, "stream_connections %d\n",
		   atomic_read(&sn->nr_conns));
	return 0;
}

static int proc_init(struct net *net)
{
	int err;

	if (!proc_create_net_single("rds_stream_stats", 0444, net->proc_net,
				    stats_show, NULL))
		return -ENOMEM;
	err = rds_ss_list_begin(net);
	if (err)
		remove_proc_entry("rds_stream_stats", net->proc_net);
	return err;
}

static void proc_exit(struct net *net)
{
	rds_ss_list_end(net);
	remove_proc_entry("rds_stream_stats", net->proc_net);
}

/* Begin and end */

static int __net_init rds_ss_net_begin(struct net *net)
{
	struct rds_ss_net *sn = rds_ss_net(net);
	int err = -ENOMEM;

	sn->net = net;
	sn->max_conns = MAX_CONNS;
	sn->orphan_ms = ORPHAN_MS;
	sn->silent_ms = SILENT_MS;
	sn->rule = 1;
	sn->rdma_ms = RDMA_MS;
	rds_ss_hosts_init(&sn->hosts);
	mutex_init(&sn->use_lock);
	sn->stats = alloc_percpu_gfp(struct rds_ss_stats, GFP_KERNEL_ACCOUNT |
							  __GFP_ZERO);
	if (!sn->stats)
		return err;
	err = sysctl_init(sn);
	if (err)
		goto out_stats;
	err = proc_init(net);
	if (!err)
		return 0;
	sysctl_exit(sn);
out_stats:
	free_percpu(sn->stats);
	return err;
}

static void __net_exit rds_ss_net_end(struct net *net)
{
	struct rds_ss_net *sn = rds_ss_net(net);

	WARN_ON_ONCE(atomic_read(&sn->nr_conns) || sn->users);
	proc_exit(net);
	sysctl_exit(sn);
	rds_ss_hosts_free(&sn->hosts);
	free_percpu(sn->stats);
}

static struct pernet_operations net_ops = {
	.init	= rds_ss_net_begin,
	.exit	= rds_ss_net_end,
	.id	= &net_id,
	.size	= sizeof(struct rds_ss_net),
};

int rds_ss_net_init(void)
{
	return register_pernet_subsys(&net_ops);
}

void rds_ss_net_exit(void)
{
	unregister_pernet_subsys(&net_ops);
}
