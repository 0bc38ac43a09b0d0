// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Streams as a module: SOCK_STREAM of the family, over RDMA devices. */
#include <linux/module.h>

#include <net/rds/dev_user.h>

#include "conn.h"
#include "main.h"
#include "net.h"

struct workqueue_struct *rds_ss_wq;
struct workqueue_struct *rds_ss_close_wq;

static bool soft_netns;
module_param(soft_netns, bool, 0644);
MODULE_PARM_DESC(soft_netns,
		 "software devices that come from now on serve all network namespaces (rxe: from kernel 7.2)");

/*
 * Connections that were up and are closed at a time: the work items that move
 * data, as those of rxe, do not wait for hundreds of workers.  To close one
 * waits for the device and for no peer, nor for another that is closed; so each
 * gets its turn.
 */
#define CLOSES		16

/* Why streams cannot use a device, or NULL */
static const char *lacks(const struct rds_dev_props *props)
{
	unsigned int wrs = RDS_SS_SQ_MAX + RDS_SS_RQ + RDS_SS_RX_EXTRA + 2;

	if (props->max_wr < RDS_SS_RQ + RDS_SS_RX_EXTRA + 1 ||
	    props->max_cqe < wrs)
		return "its queues are too short";
	if (props->max_fr_pages < RDS_SS_BASE_PAGES)
		return "its keys are too small";
	return NULL;
}

/* Not changed once the module is loaded */
struct rds_dev_user rds_ss_user = {
	.name	    = "rds_stream",
	.lacks	    = lacks,
	.small_keys = 65536,
	.large_keys = 4096,
	.soft_netns = &soft_netns,
};

module_param_named(small_keys, rds_ss_user.small_keys, uint, 0444);
MODULE_PARM_DESC(small_keys, "most keys of up to 16 pages of one device");
module_param_named(large_keys, rds_ss_user.large_keys, uint, 0444);
MODULE_PARM_DESC(large_keys, "most keys of up to 1 MiB of one device");

static int __init wqs_begin(void)
{
	/* The administrator chooses whether they stand back, and where. */
	const unsigned int flags = WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS;

	rds_ss_wq = alloc_workqueue("rds_stream", flags, 0);
	if (!rds_ss_wq)
		return -ENOMEM;
	rds_ss_close_wq = alloc_workqueue("rds_stream_close", flags, CLOSES);
	if (rds_ss_close_wq)
		return 0;
	destroy_workqueue(rds_ss_wq);
	return -ENOMEM;
}

static void wqs_end(void)
{
	destroy_workqueue(rds_ss_close_wq);
	destroy_workqueue(rds_ss_wq);
}

static int __init rds_ss_init_module(void)
{
	int err;

	rds_ss_account_init();
	err = wqs_begin();
	if (err)
		return err;
	err = rds_ss_net_init();
	if (err)
		goto out_wq;
	err = rds_dev_use(&rds_ss_user);
	if (err)
		goto out_net;
	err = rds_ss_sock_init();
	if (err)
		goto out_use;
	err = rds_ss_inet_init();
	if (!err)
		return 0;
	rds_ss_sock_exit();
out_use:
	rds_dev_use_stop(&rds_ss_user);
	rds_dev_use_end(&rds_ss_user);
out_net:
	rds_ss_net_exit();
out_wq:
	wqs_end();
	return err;
}
module_init(rds_ss_init_module);

/*
 * Sockets hold the module, and connections hold their socket; so none is left
 * but what is about to be freed.
 */
static void __exit rds_ss_exit_module(void)
{
	rds_ss_inet_exit();
	rds_ss_sock_exit();
	rds_dev_use_stop(&rds_ss_user);
	rds_dev_use_end(&rds_ss_user);
	wqs_end();
	rds_ss_net_exit();
	rcu_barrier();
}
module_exit(rds_ss_exit_module);

MODULE_DESCRIPTION("Streams of the Reliable Datagram Sockets, over RDMA");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_IMPORT_NS(RDS_NS);
MODULE_IMPORT_NS(RDS_DEV_NS);
