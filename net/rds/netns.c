// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * State of RDS per network namespace: the lookup of struct rds_net, and the
 * counters of drop reasons.  main.c sets the state up and takes it down.
 */
#include <linux/module.h>
#include <net/netns/generic.h>

#include "netns.h"
#include <net/rds/transport.h>
#include <trace/events/rds.h>

unsigned int rds_net_id;

struct rds_net *rds_net(const struct net *net)
{
	return net_generic(net, rds_net_id);
}

static const char *const drop_names[] = {
	"none",
#define DROP_NAME(id, name)	name,
	RDS_DROP_REASONS(DROP_NAME)
#undef DROP_NAME
};

static_assert(ARRAY_SIZE(drop_names) == RDS_DROP_MAX);

const char *rds_drop_name(enum rds_drop_reason why)
{
	return drop_names[why];
}
EXPORT_SYMBOL_NS_GPL(rds_drop_name, RDS_NS);

void rds_drop(struct net *net, enum rds_drop_reason why)
{
	this_cpu_inc(rds_net(net)->counters->drops[why]);
	trace_rds_drop(net->ns.inum, why);
}
EXPORT_SYMBOL_NS_GPL(rds_drop, RDS_NS);
