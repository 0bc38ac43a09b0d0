/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_NET_NET_NAMESPACE_H
#define _RDS_COMPAT_NET_NET_NAMESPACE_H

#include_next <net/net_namespace.h>

/*
 * Kernels without a count stop at an empty entry: the table has one, which @n
 * does not count.
 */
#ifndef RDS_HAVE_NET_SYSCTL_SZ
#define register_net_sysctl_sz(net, path, table, n) \
	register_net_sysctl(net, path, table)
#endif

#endif
