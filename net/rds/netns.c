// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What RDS keeps per network namespace: made and taken down in one order. */
#include <linux/module.h>
#include <net/netns/generic.h>

#include "cong/map.h"
#include "conn/conn.h"
#include "conn/use.h"
#include "ctl/ctl.h"
#include "endpoint/endpoint.h"
#include "netns.h"
#include "registry.h"
#include <net/rds/transport.h>
#include <trace/events/rds.h>

static unsigned int rds_net_id;

struct rds_net *rds_net(const struct net *net)
{
	return net_generic(net, rds_net_id);
}

void rds_drop(struct net *net, enum rds_drop_reason why)
{
	this_cpu_inc(rds_net(net)->counters->drops[why]);
	trace_rds_drop(net->ns.inum, why);
}
EXPORT_SYMBOL_NS_GPL(rds_drop, RDS_NS);

static int __net_init rds_net_init(struct net *net)
{
	struct rds_net *rn = rds_net(net);
	int ret;

	rn->net = net;
	rn->counters = alloc_percpu(struct rds_counters);
	if (!rn->counters)
		return -ENOMEM;
	ret = rds_cong_net_init(rn);
	if (ret)
		goto err_counters;
	ret = rds_bind_net_init(rn);
	if (ret)
		goto err_cong;
	ret = rds_conn_net_init(rn);
	if (ret)
		goto err_bind;
	ret = rds_use_net_init(rn);
	if (ret)
		goto err_conn;
	ret = rds_ctl_net_init(rn);
	if (ret)
		goto err_use;
	rds_transport_net_init(rds_transport_loop(), net);
	return 0;

err_use:
	rds_use_net_exit(rn);
err_conn:
	rds_conn_net_exit(rn);
err_bind:
	rds_bind_net_exit(rn);
err_cong:
	rds_cong_net_exit(rn);
err_counters:
	free_percpu(rn->counters);
	return ret;
}

static void __net_exit rds_net_exit(struct net *net)
{
	struct rds_net *rn = rds_net(net);

	rds_ctl_net_exit(rn);
	rds_transport_net_exit(rds_transport_loop(), net);
	rds_use_net_exit(rn);
	rds_conn_net_exit(rn);
	rds_bind_net_exit(rn);
	rds_cong_net_exit(rn);
	WARN_ON_ONCE(atomic_read(&rn->nr_sockets));
	free_percpu(rn->counters);
}

static struct pernet_operations rds_net_ops = {
	.init	= rds_net_init,
	.exit	= rds_net_exit,
	.id	= &rds_net_id,
	.size	= sizeof(struct rds_net),
};

int __init rds_netns_init(void)
{
	return register_pernet_subsys(&rds_net_ops);
}

void rds_netns_exit(void)
{
	unregister_pernet_subsys(&rds_net_ops);
}
