/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_LINUX_NET_H
#define _RDS_COMPAT_LINUX_NET_H

#include_next <linux/net.h>

/* &proto_ops.accept: its head, and what its last parameters say */
#ifdef RDS_HAVE_ACCEPT_ARG
#define RDS_ACCEPT(name)						\
	int name(struct socket *sock, struct socket *newsock,		\
		 struct proto_accept_arg *arg)
#define RDS_ACCEPT_FLAGS	(arg->flags)
#define RDS_ACCEPT_KERN		(arg->kern)
#else
#define RDS_ACCEPT(name)						\
	int name(struct socket *sock, struct socket *newsock, int flags, \
		 bool kern)
#define RDS_ACCEPT_FLAGS	flags
#define RDS_ACCEPT_KERN		kern
#endif

/*
 * Have &proto_ops.setsockopt called for SOL_SOCKET, too.  False: the kernel
 * keeps that level for itself.
 */
static inline bool rds_custom_sockopt(struct socket *sock)
{
#ifdef RDS_HAVE_CUSTOM_SOCKOPT
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
	return true;
#else
	return false;
#endif
}

/* &proto_ops.splice_eof, in a table of calls and as TCP has it */
#ifdef RDS_HAVE_SPLICE_EOF
#define RDS_SPLICE_EOF(fn)	.splice_eof = (fn),
#define rds_splice_eof(ops)	((ops)->splice_eof)
#else
#define RDS_SPLICE_EOF(fn)
#define rds_splice_eof(ops)	((void (*)(struct socket *))NULL)
#endif

#endif
