/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rds

#if !defined(_TRACE_RDS_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_RDS_H

#include <linux/tracepoint.h>

#include <net/rds/transport.h>

/*
 * Export the values of enumerators, as programs that read the format of an
 * event lack the names.
 */
#define RDS_TRACE_DROP_ENUM(id, name)	TRACE_DEFINE_ENUM(RDS_DROP_##id);
TRACE_DEFINE_ENUM(RDS_DROP_NONE);
RDS_DROP_REASONS(RDS_TRACE_DROP_ENUM)

#define RDS_TRACE_DROP_NAME(id, name)	{ RDS_DROP_##id, name },
#define rds_show_drop_reason(why)				\
	__print_symbolic(why,					\
		RDS_DROP_REASONS(RDS_TRACE_DROP_NAME)		\
		{ RDS_DROP_NONE, "none" })

/* States of a path; trace.c includes conn/fsm.h, which defines them. */
TRACE_DEFINE_ENUM(RDS_PATH_DOWN);
TRACE_DEFINE_ENUM(RDS_PATH_CONNECTING);
TRACE_DEFINE_ENUM(RDS_PATH_UP);
TRACE_DEFINE_ENUM(RDS_PATH_CLOSING);
TRACE_DEFINE_ENUM(RDS_PATH_DEAD);

#define rds_show_path_state(state)				\
	__print_symbolic(state,					\
		{ RDS_PATH_DOWN,	"down" },		\
		{ RDS_PATH_CONNECTING,	"connecting" },		\
		{ RDS_PATH_UP,		"up" },			\
		{ RDS_PATH_CLOSING,	"closing" },		\
		{ RDS_PATH_DEAD,	"dead" })

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
		memcpy(__entry->laddr, &path->addr->laddr,
		       sizeof(struct in6_addr));
		memcpy(__entry->faddr, &path->addr->faddr,
		       sizeof(struct in6_addr));
		__entry->index = path->index;
		__entry->from = from;
		__entry->to = to;
		__entry->why = why;
	),

	TP_printk("%pI6c > %pI6c [%u] state %s -> %s why %s",
		  __entry->laddr, __entry->faddr, __entry->index,
		  rds_show_path_state(__entry->from),
		  rds_show_path_state(__entry->to),
		  rds_show_drop_reason(__entry->why))
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

	TP_printk("netns %u why %s", __entry->netns,
		  rds_show_drop_reason(__entry->why))
);

#endif

#include <trace/define_trace.h>
