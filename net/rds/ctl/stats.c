// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDS_INFO_COUNTERS: the core's counters, summed up over all CPUs, then those
 * of transports.
 */
#include <linux/cpumask.h>
#include <linux/rds.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/rds/transport.h>

#include "conn/conn.h"
#include "ctl/info.h"
#include "ctl/internal.h"
#include "netns.h"
#include "xprt/registry.h"

static_assert(sizeof(struct rds_info_counter) == 40);

static const char *const core_names[] = {
#define STAT_NAME(name)	#name,
	RDS_STATS(STAT_NAME)
#undef STAT_NAME
};

static_assert(ARRAY_SIZE(core_names) == RDS_NR_STATS);

struct stats_dump {
	struct net		*net;
	struct rds_info_sink	*sink;
};

/*
 * Emit one group of counters, which is copied to the program completely or not
 * at all.
 */
static void stats_put(struct rds_info_sink *sink, const char *const *names,
		      const u64 *val, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct rds_info_counter c = { .value = val[i] };

		strscpy_pad(c.name, names[i], sizeof(c.name));
		rds_info_put(sink, &c);
	}
	rds_info_mark(sink);
}

static void stats_put_transport(const struct rds_transport *trans, void *arg)
{
	struct stats_dump *d = arg;
	u64 *val;

	/*
	 * A transport is registered before its counters in this namespace are
	 * allocated.
	 */
	if (!rds_conn_ready(rds_net(d->net), trans))
		return;
	val = kcalloc(trans->nr_stats, sizeof(*val), GFP_KERNEL);
	if (!val)
		return;
	trans->stats(d->net, val);
	stats_put(d->sink, trans->stat_names, val, trans->nr_stats);
	kfree(val);
}

/**
 * rds_stats_dump - emit the records of RDS_INFO_COUNTERS
 * @net: namespace
 * @sink: snapshot
 */
void rds_stats_dump(struct net *net, struct rds_info_sink *sink)
{
	struct rds_counters __percpu *counters = rds_net(net)->counters;
	struct stats_dump d = { .net = net, .sink = sink };
	u64 sum[RDS_NR_STATS] = { };
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu) {
		const u64 *val =
			(const u64 *)&per_cpu_ptr(counters, cpu)->stats;

		for (i = 0; i < RDS_NR_STATS; i++)
			sum[i] += READ_ONCE(val[i]);
	}
	stats_put(sink, core_names, sum, RDS_NR_STATS);
	rds_transport_visit(stats_put_transport, &d);
}
