/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_NET_IPV6_H
#define _RDS_COMPAT_NET_IPV6_H

#include_next <net/ipv6.h>

/* Kernels in which IPv6 can be a module offer its functions in a table. */
#ifdef RDS_HAVE_IPV6_STUBS
#include <net/ipv6_stubs.h>
#define ip6_dst_lookup_flow(net, sk, fl6, dst) \
	ipv6_stub->ipv6_dst_lookup_flow(net, sk, fl6, dst)
#endif

#endif
