// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDMA devices as a module. */
#include <linux/module.h>

#include "layer.h"

struct workqueue_struct *rds_dev_wq;

static int __init rds_dev_init(void)
{
	int err;

	rds_dev_wq = alloc_workqueue("rds_dev", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rds_dev_wq)
		return -ENOMEM;
	err = rds_dev_services_init();
	if (err)
		goto out_wq;
	err = rds_dev_addr_init();
	if (err)
		goto out_services;
	err = rds_dev_link_init();
	if (!err)
		return 0;
	rds_dev_addr_exit();
out_services:
	rds_dev_services_exit();
out_wq:
	destroy_workqueue(rds_dev_wq);
	return err;
}
module_init(rds_dev_init);

static void __exit rds_dev_exit(void)
{
	rds_dev_link_exit();
	rds_dev_addr_exit();
	rds_dev_services_exit();
	destroy_workqueue(rds_dev_wq);
}
module_exit(rds_dev_exit);

MODULE_DESCRIPTION("RDMA devices for Reliable Datagram Sockets");
MODULE_LICENSE("Dual BSD/GPL");
