// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The RDMA transport as a module: its description for the core, and its setup
 * and teardown in each network namespace.
 */
#include <linux/module.h>
#include <linux/rds.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "devlayer.h"
#include "rdma.h"

/**
 * struct rds_rdma_net - state of a network namespace
 * @stats: counters of the namespace
 */
struct rds_rdma_net {
	struct rds_rdma_stats __percpu	*stats;
};

struct workqueue_struct *rds_rdma_wq;
static unsigned int rds_rdma_net_id;

DEFINE_PER_CPU(struct rds_rdma_stats, rds_rdma_dev_stats);

unsigned int rds_rdma_retry_count = 1;
module_param_named(rds_ib_retry_count, rds_rdma_retry_count, uint, 0444);
MODULE_PARM_DESC(rds_ib_retry_count,
		 "how often a device sends again before a connection fails, at most 7");

#define RDS_RDMA_STAT_NAME(name)	#name,
static const char *const rds_rdma_stat_names[] = {
	RDS_RDMA_STATS(RDS_RDMA_STAT_NAME)
};

#undef RDS_RDMA_STAT_NAME

static struct rds_rdma_net *rds_rdma_net(struct net *net)
{
	return net_generic(net, rds_rdma_net_id);
}

struct rds_rdma_stats __percpu *rds_rdma_stats(struct net *net)
{
	return rds_rdma_net(net)->stats;
}

/*
 * Implements &rds_transport.net_use.  Ids of rdma_cm hold their namespace, so
 * listeners and connections exist only while sockets of the namespace hold it
 * as well.
 */
static int rds_rdma_net_use(struct net *net, bool use)
{
	rds_rdma_addr_net_use(net, use);
	if (use)
		return 0;
	/*
	 * No listener and no socket is left that could make a connection before
	 * the next use.
	 */
	rds_transport_net_exit(&rds_rdma_transport, net);
	rds_transport_net_init(&rds_rdma_transport, net);
	return 0;
}

/* Implements &rds_transport.map_tos: each type of service keeps its number. */
static u8 rds_rdma_map_tos(u8 tos)
{
	return tos;
}

static void stats_add(u64 *val, const struct rds_rdma_stats *stats)
{
	const u64 *from = (const u64 *)stats;
	unsigned int i;

	for (i = 0; i < RDS_RDMA_NR_STATS; i++)
		val[i] += READ_ONCE(from[i]);
}

/* Implements &rds_transport.stats */
static void rds_rdma_stats_sum(struct net *net, u64 *val)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		stats_add(val, per_cpu_ptr(rds_rdma_stats(net), cpu));
		if (net_eq(net, &init_net))
			stats_add(val, per_cpu_ptr(&rds_rdma_dev_stats, cpu));
	}
}

const struct rds_transport rds_rdma_transport = {
	.owner = THIS_MODULE,
	.name = "infiniband",
	.type = RDS_TRANS_IB,
	.caps = RDS_CAP_OWNS_ACK | RDS_CAP_NETNS | RDS_CAP_LARGER_WINS,
	.path_priv_size = sizeof(struct rds_rdma_path),
	.rx_copy_max = RDS_RDMA_COPY_MAX,
	.memop = &rds_rdma_memop_vtable,
	.nr_stats = RDS_RDMA_NR_STATS,
	.stat_names = rds_rdma_stat_names,
	.addr_local = rds_rdma_addr_local,
	.net_use = rds_rdma_net_use,
	.map_tos = rds_rdma_map_tos,
	.path_init = rds_rdma_path_init,
	.path_free = rds_rdma_path_free,
	.path_connect = rds_rdma_path_connect,
	.path_attach = rds_rdma_path_attach,
	.path_close = rds_rdma_path_close,
	.refuse = rds_rdma_refuse,
	.xmit = rds_rdma_xmit,
	.stats = rds_rdma_stats_sum,
};

static int __net_init rds_rdma_net_init(struct net *net)
{
	struct rds_rdma_net *rn = rds_rdma_net(net);
	int err;

	rn->stats = alloc_percpu(struct rds_rdma_stats);
	if (!rn->stats)
		return -ENOMEM;
	rds_transport_net_init(&rds_rdma_transport, net);
	err = rds_rdma_addr_net_init(net);
	if (err) {
		rds_transport_net_exit(&rds_rdma_transport, net);
		free_percpu(rn->stats);
	}
	return err;
}

/* On return no connection request of a peer comes in any more. */
static void __net_exit rds_rdma_net_pre_exit(struct net *net)
{
	rds_rdma_addr_net_exit(net);
}

static void __net_exit rds_rdma_net_exit(struct net *net)
{
	rds_transport_net_exit(&rds_rdma_transport, net);
	free_percpu(rds_rdma_net(net)->stats);
}

static struct pernet_operations rds_rdma_net_ops = {
	.init		= rds_rdma_net_init,
	.pre_exit	= rds_rdma_net_pre_exit,
	.exit		= rds_rdma_net_exit,
	.id		= &rds_rdma_net_id,
	.size		= sizeof(struct rds_rdma_net),
};

static int __init rds_rdma_init(void)
{
	int err;

	/* The retry count of a connection request has three bits. */
	rds_rdma_retry_count = min(rds_rdma_retry_count, 7U);
	rds_rdma_wq = alloc_workqueue("rds_rdma", WQ_UNBOUND | WQ_MEM_RECLAIM,
				      0);
	if (!rds_rdma_wq)
		return -ENOMEM;
	err = rds_transport_register(&rds_rdma_transport);
	if (err)
		goto out_wq;
	err = rds_rdma_dev_init();
	if (err)
		goto out_transport;
	/*
	 * Pernet devices leave a namespace while its protocols can still send.
	 */
	err = register_pernet_device(&rds_rdma_net_ops);
	if (err)
		goto out_dev;
	err = rds_rdma_sysctl_init();
	if (err)
		goto out_net;
	err = rds_rdma_info_init();
	if (err)
		goto out_sysctl;
	return 0;

out_sysctl:
	rds_rdma_sysctl_exit();
out_net:
	unregister_pernet_device(&rds_rdma_net_ops);
out_dev:
	rds_rdma_dev_exit();
out_transport:
	rds_transport_unregister(&rds_rdma_transport);
out_wq:
	destroy_workqueue(rds_rdma_wq);
	return err;
}
module_init(rds_rdma_init);

static void __exit rds_rdma_exit(void)
{
	rds_rdma_info_exit();
	rds_rdma_sysctl_exit();
	unregister_pernet_device(&rds_rdma_net_ops);
	rds_rdma_dev_exit();
	rds_transport_unregister(&rds_rdma_transport);
	destroy_workqueue(rds_rdma_wq);
}
module_exit(rds_rdma_exit);

MODULE_DESCRIPTION("Reliable Datagram Sockets over RDMA");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS("rds-transport-0");
MODULE_IMPORT_NS(RDS_NS);
