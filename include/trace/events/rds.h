/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rds

#if !defined(_TRACE_RDS_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_RDS_H

#include <linux/tracepoint.h>

#include <net/rds/transport.h>

TRACE_EVENT(rds_path_state,

	TP_PROTO(const struct rds_path *path, int from, int to, int why),

	TP_ARGS(path, from, to, why),

	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(unsigned int, index)
		__field(int, from)
		__field(int, to)
		__field(int, why)
	),

	TP_fast_assign(
		memcpy(__entry->laddr, &path->addr->laddr, sizeof(struct in6_addr));
		memcpy(__entry->faddr, &path->addr->faddr, sizeof(struct in6_addr));
		__entry->index = path->index;
		__entry->from = from;
		__entry->to = to;
		__entry->why = why;
	),

	TP_printk("%pI6c > %pI6c [%u] state %d -> %d why %d", __entry->laddr, __entry->faddr,
		  __entry->index, __entry->from, __entry->to, __entry->why)
);

TRACE_EVENT(rds_drop,

	TP_PROTO(unsigned int netns, int why),

	TP_ARGS(netns, why),

	TP_STRUCT__entry(
		__field(unsigned int, netns)
		__field(int, why)
	),

	TP_fast_assign(
		__entry->netns = netns;
		__entry->why = why;
	),

	TP_printk("netns %u why %d", __entry->netns, __entry->why)
);

#endif

#include <trace/define_trace.h>
