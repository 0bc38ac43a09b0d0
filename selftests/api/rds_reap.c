// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Delays the reaping of a connection, and measures how deep sends nest in the
 * meantime.
 *
 * rds_txq_abandon() is the first step of reaping: a kretprobe delays its return
 * when it has shut a queue.  rds_conn_send() is probed at entry and return.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

/*
 * Sending tasks are told apart by PID modulo TASKS; fewer than TASKS processes
 * are started at a time, so that no two of them share a slot.
 */
#define TASKS	4096

static unsigned int delay_us = 500;
module_param(delay_us, uint, 0644);
MODULE_PARM_DESC(delay_us, "how long the reaper is held back");

static atomic_t shut = ATOMIC_INIT(0);
static atomic_t sends = ATOMIC_INIT(0);
static atomic_t deepest = ATOMIC_INIT(0);
static atomic_t depth[TASKS];

static int counter_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read((atomic_t *)kp->arg));
}

static const struct kernel_param_ops counter_ops = { .get = counter_get };
module_param_cb(shut, &counter_ops, &shut, 0444);
MODULE_PARM_DESC(shut, "queues that were shut for good");
module_param_cb(sends, &counter_ops, &sends, 0444);
MODULE_PARM_DESC(sends, "calls of rds_conn_send()");
module_param_cb(deepest, &counter_ops, &deepest, 0444);
MODULE_PARM_DESC(deepest, "most calls of rds_conn_send() by one task at a time");

static int abandon_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if ((u8)regs_return_value(regs)) {
		atomic_inc(&shut);
		udelay(delay_us);
	}
	return 0;
}

static struct kretprobe abandon = {
	.kp.symbol_name	= "rds_txq_abandon",
	.handler	= abandon_ends,
	.maxactive	= 64,
};

static int send_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	int now = atomic_inc_return(&depth[current->pid % TASKS]);
	int seen = atomic_read(&deepest);

	atomic_inc(&sends);
	while (now > seen && !atomic_try_cmpxchg(&deepest, &seen, now))
		;
	return 0;
}

static int send_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_dec(&depth[current->pid % TASKS]);
	return 0;
}

static struct kretprobe conn_send = {
	.kp.symbol_name	= "rds_conn_send",
	.entry_handler	= send_begins,
	.handler	= send_ends,
	.maxactive	= TASKS,
};

static int __init reap_init(void)
{
	struct kretprobe *probes[] = { &abandon, &conn_send };

	return register_kretprobes(probes, ARRAY_SIZE(probes));
}

static void __exit reap_exit(void)
{
	struct kretprobe *probes[] = { &abandon, &conn_send };

	unregister_kretprobes(probes, ARRAY_SIZE(probes));
	if (abandon.nmissed || conn_send.nmissed)
		pr_info("rds_reap: missed %d ends and %d sends\n", abandon.nmissed,
			conn_send.nmissed);
}

module_init(reap_init);
module_exit(reap_exit);
MODULE_DESCRIPTION("holds back who forgets connections of RDS, for tests");
MODULE_LICENSE("Dual BSD/GPL");
