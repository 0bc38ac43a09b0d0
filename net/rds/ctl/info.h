/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Snapshots for RDS_INFO_*; transports register theirs through
 * include/net/rds/transport.h.
 */
#ifndef _RDS_CTL_INFO_H
#define _RDS_CTL_INFO_H

#include <linux/compiler.h>

struct net;
struct rds_info_sink;

int rds_info_getsockopt(struct net *net, int optname, char __user *optval,
			int __user *optlen, int len);

void rds_info_mark(struct rds_info_sink *sink);

#endif
