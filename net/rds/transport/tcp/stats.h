/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_TCP_STATS_H
#define _RDS_TCP_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

/* Counters of this transport, in the order of protocol.rst 6.8 */
#define RDS_TCP_STATS(_)		\
	_(tcp_data_ready_calls)		\
	_(tcp_write_space_calls)	\
	_(tcp_sndbuf_full)		\
	_(tcp_connect_raced)		\
	_(tcp_listen_closed_stale)

#define RDS_TCP_STATS_FIELD(name)	u64 name;
struct rds_tcp_stats { RDS_TCP_STATS(RDS_TCP_STATS_FIELD) };

#define RDS_TCP_NR_STATS	(sizeof(struct rds_tcp_stats) / sizeof(u64))

#define rds_tcp_stat_inc(tn, field)	this_cpu_inc((tn)->stats->field)

#endif
