// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds_cov.ko records which code of our modules runs, in any context.
 *
 * The modules of the kernel "cov" are compiled with
 * -fsanitize-coverage=trace-pc: each basic block begins with a call of
 * __sanitizer_cov_trace_pc().  A kernel with CONFIG_KCOV has that function, but
 * records for one task at a time.  Most of RDS's input is handled by interrupts
 * and work queues.  Debian's kernels do not have the function, so this module
 * is the one that exports it.
 *
 * /proc/rds_cov has a line for each block that was reached:
 * "function+0x10/0x80 [module]".
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/instruction_pointer.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

/* Several times the number of blocks of all modules together */
#define COV_BITS	17
#define COV_SIZE	(1 << COV_BITS)

/* A hash table of addresses; an entry never changes once it is not 0. */
static unsigned long cov_seen[COV_SIZE];

void __sanitizer_cov_trace_pc(void);

notrace void __sanitizer_cov_trace_pc(void)
{
	unsigned long pc = _RET_IP_, was;
	unsigned int at = hash_long(pc, COV_BITS), tries;

	for (tries = 0; tries < COV_SIZE; tries++) {
		was = READ_ONCE(cov_seen[at]);
		if (!was)
			was = cmpxchg(&cov_seen[at], 0, pc);
		if (!was || was == pc)
			return;
		at = (at + 1) % COV_SIZE;
	}
}
EXPORT_SYMBOL_GPL(__sanitizer_cov_trace_pc);

static void *cov_start(struct seq_file *seq, loff_t *pos)
{
	return *pos < COV_SIZE ? &cov_seen[*pos] : NULL;
}

static void *cov_next(struct seq_file *seq, void *v, loff_t *pos)
{
	++*pos;
	return cov_start(seq, pos);
}

static void cov_stop(struct seq_file *seq, void *v)
{
}

static int cov_show(struct seq_file *seq, void *v)
{
	unsigned long pc = READ_ONCE(*(unsigned long *)v);

	if (pc)
		seq_printf(seq, "%pS\n", (void *)pc);
	return 0;
}

static const struct seq_operations cov_ops = {
	.start	= cov_start,
	.next	= cov_next,
	.stop	= cov_stop,
	.show	= cov_show,
};

static int __init cov_init(void)
{
	return proc_create_seq("rds_cov", 0400, NULL, &cov_ops) ? 0 : -ENOMEM;
}
module_init(cov_init);

static void __exit cov_exit(void)
{
	remove_proc_entry("rds_cov", NULL);
}
module_exit(cov_exit);

MODULE_DESCRIPTION("Records which code of the RDS modules runs");
MODULE_LICENSE("Dual BSD/GPL");
