// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The RDMA transport as a module: its description for the core, and its setup
 * and teardown in each network namespace.
 */
#include <linux/module.h>
#include <linux/rds.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "rdma.h"

/**
 * struct rds_rdma_net - state of a network namespace
 * @stats: counters of the namespace
 */
struct rds_rdma_net {
	struct rds_rdma_stats __percpu	*stats;
};

/* Requests that the CM keeps at an address */
#define RDS_RDMA_BACKLOG	128

struct workqueue_struct *rds_rdma_data_wq;
static unsigned int rds_rdma_net_id;

unsigned int rds_rdma_retry_count = 1;
module_param_named(rds_ib_retry_count, rds_rdma_retry_count, uint, 0444);
MODULE_PARM_DESC(rds_ib_retry_count,
		 "how often a device sends again before a connection fails, at most 7");

static bool soft_netns;
module_param(soft_netns, bool, 0644);
MODULE_PARM_DESC(soft_netns,
		 "software devices that come from now on serve all network namespaces (rxe: from kernel 7.2)");

/* Not changed once the module is loaded */
struct rds_dev_user rds_rdma_user = {
	.name	    = "rds_rdma",
	.lacks	    = rds_rdma_data_lacks,
	.once	    = RDS_MR_OFFSET_ONCE,
	.small_keys = 348160,
	.large_keys = 4096,
	.tos_is_sl  = true,
	.soft_netns = &soft_netns,
};

static struct rds_dev_service service = {
	.user	 = &rds_rdma_user,
	.port_on = rds_rdma_listen_port,
	.backlog = RDS_RDMA_BACKLOG,
	.retry	 = true,
	.request = rds_rdma_request,
};

module_param_named(rds_ib_mr_1m_pool_size, rds_rdma_user.large_keys, uint,
		   0444);
MODULE_PARM_DESC(rds_ib_mr_1m_pool_size,
		 "most keys of up to 1 MiB of one device");
module_param_named(rds_ib_mr_8k_pool_size, rds_rdma_user.small_keys, uint,
		   0444);
MODULE_PARM_DESC(rds_ib_mr_8k_pool_size,
		 "most keys of up to 16 pages of one device");

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
	rds_dev_net_use(&rds_rdma_user, net, use);
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

/* Implements &rds_transport.addr_local */
static bool rds_rdma_addr_local(struct net *net, const struct in6_addr *addr,
				u32 scope)
{
	return rds_dev_addr_local(&rds_rdma_user, net, addr, scope);
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

#define RDS_RDMA_STAT_OF_DEV(name)			\
	offsetof(struct rds_rdma_stats, name) / sizeof(u64),
/* The number of each counter of devices among those of the transport */
static const u8 stats_of_dev[] = { RDS_DEV_STATS(RDS_RDMA_STAT_OF_DEV) };

#undef RDS_RDMA_STAT_OF_DEV

static void stats_add_dev(u64 *val)
{
	struct rds_dev_stats dev;
	const u64 *from = (const u64 *)&dev;
	unsigned int i;

	BUILD_BUG_ON(sizeof(dev) != ARRAY_SIZE(stats_of_dev) * sizeof(u64));
	rds_dev_stats_sum(&rds_rdma_user, &dev);
	for (i = 0; i < ARRAY_SIZE(stats_of_dev); i++)
		val[stats_of_dev[i]] += from[i];
}

/* Implements &rds_transport.stats */
static void rds_rdma_stats_sum(struct net *net, u64 *val)
{
	int cpu;

	for_each_possible_cpu(cpu)
		stats_add(val, per_cpu_ptr(rds_rdma_stats(net), cpu));
	/* Devices belong to no namespace: the first one has their counters. */
	if (net_eq(net, &init_net))
		stats_add_dev(val);
}

const struct rds_transport rds_rdma_transport = {
	.owner = THIS_MODULE,
	.name = "infiniband",
	.type = RDS_TRANS_IB,
	.caps = RDS_CAP_OWNS_ACK | RDS_CAP_NETNS | RDS_CAP_LARGER_WINS |
		RDS_CAP_RX_HOLDS,
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

	rn->stats = alloc_percpu(struct rds_rdma_stats);
	if (!rn->stats)
		return -ENOMEM;
	rds_transport_net_init(&rds_rdma_transport, net);
	return 0;
}

static void __net_exit rds_rdma_net_exit(struct net *net)
{
	rds_transport_net_exit(&rds_rdma_transport, net);
	free_percpu(rds_rdma_net(net)->stats);
}

static struct pernet_operations rds_rdma_net_ops = {
	.init		= rds_rdma_net_init,
	.exit		= rds_rdma_net_exit,
	.id		= &rds_rdma_net_id,
	.size		= sizeof(struct rds_rdma_net),
};

static void rds_rdma_end(void)
{
	rds_rdma_info_exit();
	rds_rdma_sysctl_exit();
	rds_dev_use_stop(&rds_rdma_user);
	unregister_pernet_device(&rds_rdma_net_ops);
	rds_dev_use_end(&rds_rdma_user);
	rds_transport_unregister(&rds_rdma_transport);
	destroy_workqueue(rds_rdma_data_wq);
}

static int __init rds_rdma_init(void)
{
	int err;

	/* The retry count of a connection request has three bits. */
	rds_rdma_retry_count = min(rds_rdma_retry_count, 7U);
	rds_rdma_data_wq = alloc_workqueue("rds_rdma_data",
					   WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rds_rdma_data_wq)
		return -ENOMEM;
	err = rds_transport_register(&rds_rdma_transport);
	if (err)
		goto out_wq;
	/*
	 * Pernet devices leave a namespace while its protocols can still send.
	 */
	err = register_pernet_device(&rds_rdma_net_ops);
	if (err)
		goto out_transport;
	err = rds_rdma_sysctl_init();
	if (err)
		goto out_net;
	err = rds_rdma_info_init();
	if (err)
		goto out_sysctl;
	err = rds_dev_use(&rds_rdma_user);
	if (err)
		goto out_info;
	err = rds_dev_service_add(&service);
	if (err)
		rds_rdma_end();
	return err;

out_info:
	rds_rdma_info_exit();
out_sysctl:
	rds_rdma_sysctl_exit();
out_net:
	unregister_pernet_device(&rds_rdma_net_ops);
out_transport:
	rds_transport_unregister(&rds_rdma_transport);
out_wq:
	destroy_workqueue(rds_rdma_data_wq);
	return err;
}
module_init(rds_rdma_init);

static void __exit rds_rdma_exit(void)
{
	rds_dev_service_del(&service);
	rds_rdma_end();
}
module_exit(rds_rdma_exit);

MODULE_DESCRIPTION("Reliable Datagram Sockets over RDMA");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS("rds-transport-0");
MODULE_IMPORT_NS(RDS_NS);
MODULE_IMPORT_NS(RDS_DEV_NS);
