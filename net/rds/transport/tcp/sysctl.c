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

/*
 * The sockets that listen are open, or closed, as the write returns.  The work
 * opens them, as the process that writes may not bind to the port.
 */
static int listen_handler(RDS_CTL_CONST struct ctl_table *ctl, int write,
			  void *buffer, size_t *lenp, loff_t *ppos)
{
	struct rds_tcp_net *tn = container_of(ctl->data, struct rds_tcp_net,
					      listens);
	int err = proc_dointvec_minmax(ctl, write, buffer, lenp, ppos);

	if (err || !write)
		return err;
	/* What TCP has acknowledged is accepted first. */
	flush_work(&tn->accept_work);
	mod_delayed_work(rds_tcp_wq, &tn->listen_work, 0);
	flush_delayed_work(&tn->listen_work);
	return 0;
}

enum { CTL_SNDBUF, CTL_RCVBUF, CTL_LISTEN, CTL_PRIVILEGED, CTL_NR };

static const struct ctl_table rds_tcp_sysctls[CTL_NR] = {
	[CTL_SNDBUF] = {
		.procname	= "rds_tcp_sndbuf",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= buf_handler,
		.extra1		= &rds_tcp_sndbuf_min,
	},
	[CTL_RCVBUF] = {
		.procname	= "rds_tcp_rcvbuf",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= buf_handler,
		.extra1		= &rds_tcp_rcvbuf_min,
	},
	[CTL_LISTEN] = {
		.procname	= "listen",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= listen_handler,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
	[CTL_PRIVILEGED] = {
		.procname	= "peer_port_privileged",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

int rds_tcp_sysctl_init(struct rds_tcp_net *tn)
{
	struct ctl_table *table = kzalloc_objs(*table, CTL_NR + 1);

	if (!table)
		return -ENOMEM;
	memcpy(table, rds_tcp_sysctls, sizeof(rds_tcp_sysctls));
	table[CTL_SNDBUF].data = &tn->sndbuf;
	table[CTL_SNDBUF].extra2 = tn;
	table[CTL_RCVBUF].data = &tn->rcvbuf;
	table[CTL_RCVBUF].extra2 = tn;
	table[CTL_LISTEN].data = &tn->listens;
	table[CTL_PRIVILEGED].data = &tn->privileged;

	tn->sysctl_table = table;
	tn->sysctl = register_net_sysctl_sz(tn->net, "net/rds/tcp", table,
					    CTL_NR);
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
