/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_NET_SOCK_H
#define _RDS_COMPAT_NET_SOCK_H

#include_next <net/sock.h>

/* Give a kernel socket a reference to its namespace. */
#ifndef RDS_HAVE_NET_REFCNT_UPGRADE
static inline void sk_net_refcnt_upgrade(struct sock *sk)
{
	WARN_ON_ONCE(sk->sk_net_refcnt);
	sk->sk_net_refcnt = 1;
	get_net_track(sock_net(sk), &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(sock_net(sk), 1);
}
#endif

/*
 * Where a socket of AF_INET6 has its struct ipv6_pinfo.  Kernels that do not
 * ask take the end of the object.
 */
#ifdef RDS_HAVE_PINFO_OFFSET
#define RDS_PROTO_PINFO(offset)	.ipv6_pinfo_offset = (offset),
#else
#define RDS_PROTO_PINFO(offset)
#endif

#endif
