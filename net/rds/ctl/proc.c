// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /proc/net/rds/drops: counters of drop reasons, for unused input and lost
 * paths.  /proc/net/rds/held: what the namespace holds.
 */
#include <linux/cpumask.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>

#include "ctl/internal.h"
#include "netns.h"

static int drops_show(struct seq_file *seq, void *v)
{
	struct rds_net *rn = rds_net(seq_file_single_net(seq));
	unsigned int why;
	int cpu;

	for (why = RDS_DROP_NONE + 1; why < RDS_DROP_MAX; why++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(rn->counters, cpu)
						 ->drops[why]);
		seq_printf(seq, "%s %llu\n", rds_drop_name(why), sum);
	}
	return 0;
}

static int held_show(struct seq_file *seq, void *v)
{
	const struct rds_net *rn = rds_net(seq_file_single_net(seq));

	seq_printf(seq, "sockets %d\n", atomic_read(&rn->nr_sockets));
	seq_printf(seq, "connections %d\n", atomic_read(&rn->nr_conns));
	seq_printf(seq, "congestion_maps %d\n", atomic_read(&rn->nr_maps));
	seq_printf(seq, "uncharged_bytes %d\n", atomic_read(&rn->paid_bytes));
	return 0;
}

/**
 * rds_proc_net_init - make /proc/net/rds of a namespace
 * @rn: namespace
 *
 * Return: 0 or -ENOMEM.
 */
int rds_proc_net_init(struct rds_net *rn)
{
	struct proc_dir_entry *dir = proc_net_mkdir(rn->net, "rds",
						    rn->net->proc_net);

	if (!dir)
		return -ENOMEM;
	if (!proc_create_net_single("drops", 0444, dir, drops_show, NULL) ||
	    !proc_create_net_single("held", 0444, dir, held_show, NULL)) {
		rds_proc_net_exit(rn);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rds_proc_net_exit - remove /proc/net/rds of a namespace
 * @rn: namespace
 */
void rds_proc_net_exit(struct rds_net *rn)
{
	remove_proc_subtree("rds", rn->net->proc_net);
}
