// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reliable Datagram Sockets: what is set up, in which order, and taken down in the reverse. */
#include <linux/init.h>
#include <linux/module.h>

#include "cong/map.h"
#include "conn/conn.h"
#include "conn/use.h"
#include "ctl/ctl.h"
#include "endpoint/endpoint.h"
#include "memop/memop.h"
#include "msg/incoming.h"
#include "msg/message.h"
#include "netns.h"
#include "proto/plat.h"
#include "sock/sock.h"
#include "transport/loop/loop.h"
#include <net/rds/stream.h>

EXPORT_SYMBOL_NS_GPL(rds_stream_init, RDS_NS);
EXPORT_SYMBOL_NS_GPL(rds_stream_feed, RDS_NS);

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
	ret = rds_endpoint_init();
	if (ret)
		goto err_cong;
	ret = rds_use_init();
	if (ret)
		goto err_endpoint;
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
	ret = rds_netns_init();
	if (ret)
		goto err_loop;
	ret = rds_sock_init();
	if (ret)
		goto err_netns;
	return 0;

err_netns:
	rds_netns_exit();
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
err_endpoint:
	rds_endpoint_exit();
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
	rds_sock_exit();
	rds_netns_exit();
	rds_loop_exit();
	rds_ctl_exit();
	rds_conn_exit();
	rds_memop_exit();
	rds_use_exit();
	rds_endpoint_exit();
	rds_cong_exit();
	rds_incoming_exit();
	rds_message_exit();
}
module_exit(rds_exit);

MODULE_DESCRIPTION("Reliable Datagram Sockets");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1");
