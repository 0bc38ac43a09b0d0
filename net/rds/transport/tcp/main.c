// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The TCP transport of RDS as a module: its description for the core, and its
 * life in every network namespace.
 */
#include <linux/module.h>
#include <linux/rds.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "tcp.h"

struct workqueue_struct *rds_tcp_wq;
static unsigned int rds_tcp_net_id;

#define RDS_TCP_STAT_NAME(name)	#name,
static const char *const rds_tcp_stat_names[] = {
	RDS_TCP_STATS(RDS_TCP_STAT_NAME)
};

#undef RDS_TCP_STAT_NAME

struct rds_tcp_net *rds_tcp_net(struct net *net)
{
	return net_generic(net, rds_tcp_net_id);
}

/*
 * Implements &rds_transport.map_tos: every requested type of service is valid,
 * all map to one.
 */
static u8 rds_tcp_map_tos(u8 tos)
{
	return 0;
}

/* Implements &rds_transport.path_free */
static void rds_tcp_path_free(struct rds_path *path)
{
	struct rds_tcp_path *tp = path->priv;

	WARN_ON_ONCE(tp->ts);
}

/* Implements &rds_transport.stats */
static void rds_tcp_stats(struct net *net, u64 *val)
{
	struct rds_tcp_net *tn = rds_tcp_net(net);
	const u64 *from;
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu) {
		from = (const u64 *)per_cpu_ptr(tn->stats, cpu);
		for (i = 0; i < RDS_TCP_NR_STATS; i++)
			val[i] += READ_ONCE(from[i]);
	}
}

/* Implements &rds_transport.net_listens */
static bool net_listens(struct net *net)
{
	const struct rds_tcp_net *tn = rds_tcp_net(net);

	return READ_ONCE(tn->listens) && !READ_ONCE(tn->listen_failed);
}

const struct rds_transport rds_tcp_transport = {
	.owner		= THIS_MODULE,
	.name		= "tcp",
	.type		= RDS_TRANS_TCP,
	.caps		= RDS_CAP_MULTIPATH | RDS_CAP_ZCOPY_TX | RDS_CAP_NETNS |
			  RDS_CAP_PREFER_LOOP | RDS_CAP_SMALLER_DIALS |
			  RDS_CAP_RX_HOLDS,
	.path_priv_size	= sizeof(struct rds_tcp_path),
	.nr_stats	= RDS_TCP_NR_STATS,
	.stat_names	= rds_tcp_stat_names,
	.addr_local	= rds_tcp_addr_local,
	.net_listens	= net_listens,
	.map_tos	= rds_tcp_map_tos,
	.path_free	= rds_tcp_path_free,
	.path_connect	= rds_tcp_path_connect,
	.path_attach	= rds_tcp_path_attach,
	.path_drain	= rds_tcp_path_drain,
	.path_close	= rds_tcp_path_close,
	.path_watch	= rds_tcp_path_watch,
	.refuse		= rds_tcp_refuse,
	.xmit		= rds_tcp_xmit,
	.stats		= rds_tcp_stats,
};

static int __net_init rds_tcp_net_init(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net(net);
	int err;

	tn->net = net;
	spin_lock_init(&tn->lock);
	rds_walk_list_init(&tn->socks);
	tn->stats = alloc_percpu(struct rds_tcp_stats);
	if (!tn->stats)
		return -ENOMEM;
	rds_transport_net_init(&rds_tcp_transport, net);
	rds_tcp_listen_init(tn);
	err = rds_tcp_sysctl_init(tn);
	if (err) {
		rds_transport_net_exit(&rds_tcp_transport, net);
		free_percpu(tn->stats);
		return err;
	}
	rds_tcp_listen_try(tn);
	return 0;
}

/* The network stack lets an RCU grace period pass between this and the exit. */
static void __net_exit rds_tcp_net_pre_exit(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net(net);

	rds_tcp_sysctl_exit(tn);
	rds_tcp_listen_stop(tn);
}

static void __net_exit rds_tcp_net_exit(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net(net);

	rds_tcp_listen_exit(tn);
	rds_transport_net_exit(&rds_tcp_transport, net);
	WARN_ON_ONCE(atomic_read(&tn->nr_socks));
	free_percpu(tn->stats);
}

static struct pernet_operations rds_tcp_net_ops = {
	.init		= rds_tcp_net_init,
	.pre_exit	= rds_tcp_net_pre_exit,
	.exit		= rds_tcp_net_exit,
	.id		= &rds_tcp_net_id,
	.size		= sizeof(struct rds_tcp_net),
};

static int __init rds_tcp_init(void)
{
	int err = rds_tcp_sock_init();

	if (err)
		return err;
	err = -ENOMEM;
	rds_tcp_wq = alloc_workqueue("rds_tcp", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rds_tcp_wq)
		goto out_ts;
	err = rds_transport_register(&rds_tcp_transport);
	if (err)
		goto out_wq;
	/* As a device: its exit runs while the namespace can still send. */
	err = register_pernet_device(&rds_tcp_net_ops);
	if (err)
		goto out_transport;
	/* The notifiers use what every namespace has. */
	err = rds_tcp_netdev_init();
	if (err)
		goto out_net;
	rds_tcp_info_init();
	return 0;

out_net:
	unregister_pernet_device(&rds_tcp_net_ops);
out_transport:
	rds_transport_unregister(&rds_tcp_transport);
out_wq:
	destroy_workqueue(rds_tcp_wq);
out_ts:
	rds_tcp_sock_exit();
	return err;
}
module_init(rds_tcp_init);

static void __exit rds_tcp_exit(void)
{
	rds_tcp_info_exit();
	rds_tcp_netdev_exit();
	unregister_pernet_device(&rds_tcp_net_ops);
	rds_transport_unregister(&rds_tcp_transport);
	destroy_workqueue(rds_tcp_wq);
	rds_tcp_sock_exit();
}
module_exit(rds_tcp_exit);

MODULE_DESCRIPTION("Reliable Datagram Sockets over TCP");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS("rds-transport-2");
MODULE_IMPORT_NS(RDS_NS);
