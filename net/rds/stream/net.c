// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Streams of a namespace: /proc/sys/net/rds/stream, counters in
 * /proc/net/rds_stream_stats, and the connections in /proc/net/rds_streams.
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/netns/generic.h>

#include "conn.h"
#include "listen.h"
#include "net.h"
#include "sock.h"
#include "tcp.h"

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

/* Connections */

static const char *const state_names[RDS_SS_NR_STATES] = {
	[RDS_SS_CONNECTING]	= "connecting",
	[RDS_SS_OPEN]		= "open",
	[RDS_SS_SHUTTING]	= "shutting",
	[RDS_SS_HALF_OUT]	= "half-out",
	[RDS_SS_HALF_IN]	= "half-in",
	[RDS_SS_CLOSING]	= "closing",
	[RDS_SS_ENDING]		= "ending",
	[RDS_SS_LEFT]		= "left",
	[RDS_SS_RESET]		= "reset",
	[RDS_SS_CLOSED]		= "closed",
};

/**
 * struct streams_iter - place in /proc/net/rds_streams, which has the head, the
 * connections over RDMA and those that TCP carries
 * @p: namespace
 * @tcp: the place is among the last ones
 */
struct streams_iter {
	struct seq_net_private	p;
	bool			tcp;
};

/* What is behind a place, or NULL */
static struct list_head *streams_behind(struct seq_file *seq,
					const struct list_head *at)
{
	struct rds_ss_net *sn = rds_ss_net(seq_file_net(seq));
	struct streams_iter *iter = seq->private;
	struct list_head *next = at->next;

	if (next == &sn->conns) {
		iter->tcp = true;
		next = sn->tcps.next;
	}
	return next == &sn->tcps ? NULL : next;
}

static void *streams_start(struct seq_file *seq, loff_t *pos)
	__acquires(&rds_ss_net(seq_file_net(seq))->conns_lock)
{
	struct rds_ss_net *sn = rds_ss_net(seq_file_net(seq));
	struct streams_iter *iter = seq->private;
	struct list_head *at = &sn->conns;
	loff_t n;

	spin_lock_bh(&sn->conns_lock);
	iter->tcp = false;
	for (n = *pos; n && at; n--)
		at = streams_behind(seq, at);
	return at;
}

static void *streams_next(struct seq_file *seq, void *v, loff_t *pos)
{
	++*pos;
	return streams_behind(seq, v);
}

static void streams_stop(struct seq_file *seq, void *v)
	__releases(&rds_ss_net(seq_file_net(seq))->conns_lock)
{
	spin_unlock_bh(&rds_ss_net(seq_file_net(seq))->conns_lock);
}

static u16 local_port(const struct rds_ss_conn *conn)
{
	if (conn->active)
		return READ_ONCE(conn->local_port);
	return conn->listener ? conn->listener->svc.port : 0;
}

/* A connection without the locks: each value is one that it had. */
static void conn_show(struct seq_file *seq, const struct rds_ss_conn *conn)
{
	const struct rds_ss_engine *e = &conn->e;

	seq_printf(seq, "%pI6c %u %pI6c %u rdma %s %s %s",
		   &conn->id.local.addr,
		   local_port(conn),
		   &conn->id.remote,
		   conn->active ? conn->id.port : conn->peer_port,
		   conn->active ? "out" : "in",
		   state_names[READ_ONCE(e->state)],
		   READ_ONCE(e->ours) ? "rds" : "rsocket");
	seq_printf(seq, " %u %u %u %u %u %u %u\n", READ_ONCE(conn->unread),
		   READ_ONCE(conn->tx.bytes), READ_ONCE(e->queued),
		   rds_ss_target_room(&e->target),
		   (u16)(READ_ONCE(e->flow.limit) - READ_ONCE(e->flow.sent)),
		   READ_ONCE(e->data), READ_ONCE(e->controls));
}

static int streams_show(struct seq_file *seq, void *v)
{
	struct rds_ss_net *sn = rds_ss_net(seq_file_net(seq));
	const struct streams_iter *iter = seq->private;

	if (v == &sn->conns)
		seq_puts(seq, "local port remote port carrier way state peer unread unacked queued room credits data controls\n");
	else if (iter->tcp)
		rds_ss_tcp_show(seq, list_entry(v, struct rds_ss_sock,
						tcp_node));
	else
		conn_show(seq, list_entry(v, struct rds_ss_conn, net_node));
	return 0;
}

static const struct seq_operations streams_ops = {
	.start	= streams_start,
	.next	= streams_next,
	.stop	= streams_stop,
	.show	= streams_show,
};

static int proc_init(struct net *net)
{
	if (!proc_create_net_single("rds_stream_stats", 0444, net->proc_net,
				    stats_show, NULL))
		return -ENOMEM;
	if (proc_create_net("rds_streams", 0440, net->proc_net, &streams_ops,
			    sizeof(struct streams_iter)))
		return 0;
	remove_proc_entry("rds_stream_stats", net->proc_net);
	return -ENOMEM;
}

static void proc_exit(struct net *net)
{
	remove_proc_entry("rds_streams", net->proc_net);
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
	spin_lock_init(&sn->conns_lock);
	INIT_LIST_HEAD(&sn->conns);
	INIT_LIST_HEAD(&sn->tcps);
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
