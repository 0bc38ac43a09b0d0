// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reliable Datagram Sockets: the order in which the parts of the module, and of
 * each network namespace, are set up and taken down.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "access.h"
#include "cong/map.h"
#include "conn/conn.h"
#include "ctl/ctl.h"
#include "memop/memop.h"
#include "msg/incoming.h"
#include "msg/message.h"
#include "netns.h"
#include "peers.h"
#include "proto/plat.h"
#include "sock/calls.h"
#include "sock/state.h"
#include "sock/table.h"
#include "transport/loop/loop.h"
#include "xprt/registry.h"
#include "xprt/use.h"
#include <net/rds/stream.h>
#include <net/rds/transport.h>

EXPORT_SYMBOL_NS_GPL(rds_stream_init, RDS_NS);
EXPORT_SYMBOL_NS_GPL(rds_stream_feed, RDS_NS);

static int __net_init rds_net_init(struct net *net)
{
	struct rds_net *rn = rds_net(net);
	int ret;

	rn->net = net;
	spin_lock_init(&rn->reports_lock);
	mutex_init(&rn->info_lock);
	rds_access_net_init(rn);
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
	rds_peers_net_exit(rn);
	WARN_ON_ONCE(atomic_read(&rn->nr_keys));
	WARN_ON_ONCE(atomic_read(&rn->nr_sockets));
	free_percpu(rn->counters);
}

static struct pernet_operations rds_net_ops = {
	.init	= rds_net_init,
	.exit	= rds_net_exit,
	.id	= &rds_net_id,
	.size	= sizeof(struct rds_net),
};

static int __init rds_init(void)
{
	int ret;

	ret = rds_message_init();
	if (ret)
		return ret;
	ret = rds_incoming_init();
	if (ret)
		goto err_message;
	ret = rds_cong_init();
	if (ret)
		goto err_incoming;
	ret = rds_sock_state_init();
	if (ret)
		goto err_cong;
	ret = rds_use_init();
	if (ret)
		goto err_sock_state;
	ret = rds_memop_init();
	if (ret)
		goto err_use;
	ret = rds_conn_init();
	if (ret)
		goto err_memop;
	ret = rds_ctl_init();
	if (ret)
		goto err_conn;
	ret = rds_loop_init();
	if (ret)
		goto err_ctl;
	ret = register_pernet_subsys(&rds_net_ops);
	if (ret)
		goto err_loop;
	ret = rds_family_init();
	if (ret)
		goto err_netns;
	return 0;

err_netns:
	unregister_pernet_subsys(&rds_net_ops);
err_loop:
	rds_loop_exit();
err_ctl:
	rds_ctl_exit();
err_conn:
	rds_conn_exit();
err_memop:
	rds_memop_exit();
err_use:
	rds_use_exit();
err_sock_state:
	rds_sock_state_exit();
err_cong:
	rds_cong_exit();
err_incoming:
	rds_incoming_exit();
err_message:
	rds_message_exit();
	return ret;
}
module_init(rds_init);

static void __exit rds_exit(void)
{
	rds_family_exit();
	unregister_pernet_subsys(&rds_net_ops);
	rds_loop_exit();
	rds_ctl_exit();
	rds_conn_exit();
	rds_memop_exit();
	rds_use_exit();
	rds_sock_state_exit();
	rds_cong_exit();
	rds_incoming_exit();
	rds_message_exit();
}
module_exit(rds_exit);

MODULE_DESCRIPTION("Reliable Datagram Sockets");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1");
