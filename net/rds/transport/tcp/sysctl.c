// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /proc/sys/net/rds/tcp, in every namespace.
 *
 * The handler finds its namespace through the table that was registered for it,
 * because a process of another namespace may write the file.
 */
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/sock.h>

#include "tcp.h"

static int rds_tcp_sndbuf_min = SOCK_MIN_SNDBUF;
static int rds_tcp_rcvbuf_min = SOCK_MIN_RCVBUF;

/* 0: TCP tunes the size.  Any write resets the connections of the namespace. */
static int buf_handler(RDS_CTL_CONST struct ctl_table *ctl, int write,
		       void *buffer, size_t *lenp, loff_t *ppos)
{
	int val = READ_ONCE(*(int *)ctl->data);
	struct ctl_table tmp = { .data = &val,
				 .maxlen = sizeof(val),
				 .mode = ctl->mode };
	int err = proc_dointvec(&tmp, write, buffer, lenp, ppos);
	struct rds_tcp_net *tn = ctl->extra2;

	if (err || !write)
		return err;
	if (val && val < *(int *)ctl->extra1)
		return -EINVAL;
	WRITE_ONCE(*(int *)ctl->data, val);
	rds_path_reset_all(&rds_tcp_transport, tn->net,
			   RDS_DROP_LOCAL_RECONFIG);
	return 0;
}

static const struct ctl_table rds_tcp_sysctls[] = {
	{
		.procname	= "rds_tcp_sndbuf",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= buf_handler,
		.extra1		= &rds_tcp_sndbuf_min,
	},
	{
		.procname	= "rds_tcp_rcvbuf",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= buf_handler,
		.extra1		= &rds_tcp_rcvbuf_min,
	},
};

int rds_tcp_sysctl_init(struct rds_tcp_net *tn)
{
	unsigned int n = ARRAY_SIZE(rds_tcp_sysctls), i;
	struct ctl_table *table = kzalloc_objs(*table, n + 1);

	if (!table)
		return -ENOMEM;
	memcpy(table, rds_tcp_sysctls, sizeof(rds_tcp_sysctls));
	for (i = 0; i < n; i++)
		table[i].extra2 = tn;
	table[0].data = &tn->sndbuf;
	table[1].data = &tn->rcvbuf;

	tn->sysctl_table = table;
	tn->sysctl = register_net_sysctl_sz(tn->net, "net/rds/tcp", table, n);
	if (tn->sysctl)
		return 0;
	kfree(table);
	return -ENOMEM;
}

/* No handler runs after the return. */
void rds_tcp_sysctl_exit(struct rds_tcp_net *tn)
{
	unregister_net_sysctl_table(tn->sysctl);
	kfree(tn->sysctl_table);
}
