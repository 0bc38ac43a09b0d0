// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /proc/sys/net/rds/ib, in the first namespace, for the whole host.
 *
 * Only max_unsignaled_wr has an effect.  The size of the rings follows the
 * traffic, and credits are used when the peer offers them, so the other files
 * exist only for scripts that write them; each keeps the value that was
 * written.
 */
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>

#include "data.h"
#include "rdma.h"

static unsigned long wr_min = 1, wr_max = U32_MAX;
static unsigned int unsignaled_min = 1, unsignaled_max = 64;

static unsigned long max_send_wr = 256;
static unsigned long max_recv_wr = 1024;
static unsigned long max_recv_allocation;
static int flow_control;
unsigned int rds_rdma_max_unsignaled = 16;

static struct ctl_table rds_rdma_sysctls[] = {
	{
		.procname	= "max_send_wr",
		.data		= &max_send_wr,
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
		.extra1		= &wr_min,
		.extra2		= &wr_max,
	},
	{
		.procname	= "max_recv_wr",
		.data		= &max_recv_wr,
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
		.extra1		= &wr_min,
		.extra2		= &wr_max,
	},
	{
		.procname	= "max_unsignaled_wr",
		.data		= &rds_rdma_max_unsignaled,
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= &unsignaled_min,
		.extra2		= &unsignaled_max,
	},
	{
		.procname	= "max_recv_allocation",
		.data		= &max_recv_allocation,
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
	{
		.procname	= "flow_control",
		.data		= &flow_control,
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
	{ }
};

static struct ctl_table_header *rds_rdma_sysctl;

int rds_rdma_sysctl_init(void)
{
	/*
	 * As in-tree shows it: a third of the memory, in units of RDS_RDMA_FRAG
	 */
	max_recv_allocation = totalram_pages() / 3 *
			      (PAGE_SIZE / RDS_RDMA_FRAG);
	rds_rdma_sysctl = register_net_sysctl_sz(&init_net, "net/rds/ib",
						 rds_rdma_sysctls,
						 ARRAY_SIZE(rds_rdma_sysctls) -
							 1);
	return rds_rdma_sysctl ? 0 : -ENOMEM;
}

void rds_rdma_sysctl_exit(void)
{
	unregister_net_sysctl_table(rds_rdma_sysctl);
}
