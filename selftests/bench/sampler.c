// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Samples of the code that a guest executes, for selftests/bench/profile.py.
 *
 * In a guest whose clock counts instructions, a timer that fires after PERIOD
 * nanoseconds on average takes one sample in PERIOD instructions. A sample is
 * the interrupted function and its owner: the innermost module among its
 * callers, so that copying or allocation belongs to the module that called it.
 * Without a module among the callers the owner is the kernel, the program or
 * idle.
 *
 * /proc/bench_sampler: write 1 to start anew, 0 to stop; read for lines
 * "owner function".
 */
#include <asm/irq_regs.h>
#include <linux/hrtimer.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/ptrace.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/stacktrace.h>
#include <linux/vmalloc.h>

#define PERIOD	5000	/* the mean: a fixed period could alias with the load */
#define DEPTH	40
#define SAMPLES	65000
/* Longest delay by disabled interrupts; a longer one is a jump of the clock */
#define LATE	(20 * PERIOD)

struct sample {
	unsigned int	times;	/* number of samples that this one stands for */
	unsigned int	nr;	/* entries of @ip; 0: the program */
	unsigned long	ip[DEPTH];
};

static struct sample *samples;
static unsigned int nr_samples;
static struct hrtimer timer;

static void take_sample(struct pt_regs *regs, struct sample *s)
{
	unsigned long ip[DEPTH + 12];
	unsigned int n, i;

	s->nr = 0;
	if (!regs || user_mode(regs))
		return;
	n = stack_trace_save(ip, ARRAY_SIZE(ip), 0);
	for (i = 0; i < n && ip[i] != regs->ip; i++)
		;
	/* The trace did not get through the interrupt: keep the function. */
	if (i == n) {
		ip[0] = regs->ip;
		i = 0;
		n = 1;
	}
	while (i < n && s->nr < DEPTH)
		s->ip[s->nr++] = ip[i++];
}

/*
 * The time to take a sample is not counted: the next period begins at its end.
 * A late sample was held up by code with interrupts disabled, and stands for
 * all samples that were due in that code.
 */
static enum hrtimer_restart take(struct hrtimer *t)
{
	s64 late = ktime_to_ns(hrtimer_cb_get_time(t)) -
		   ktime_to_ns(hrtimer_get_expires(t));
	struct sample *s;

	if (nr_samples == SAMPLES)
		return HRTIMER_NORESTART;
	s = &samples[nr_samples++];
	s->times = late < LATE ?
			   1 + (unsigned int)(late + PERIOD / 2) / PERIOD :
			   1;
	take_sample(get_irq_regs(), s);
	hrtimer_forward_now(t, 1);
	hrtimer_add_expires_ns(t, PERIOD / 2 + get_random_u32_below(PERIOD));
	return HRTIMER_RESTART;
}

static void show_sample(struct seq_file *m, const struct sample *s)
{
	char name[KSYM_SYMBOL_LEN], leaf[KSYM_NAME_LEN];
	unsigned int i;
	char *mod;

	if (!s->nr) {
		seq_puts(m, "program -\n");
		return;
	}
	snprintf(leaf, sizeof(leaf), "%ps", (void *)s->ip[0]);
	leaf[strcspn(leaf, " ")] = 0;
	for (i = 0; i < s->nr; i++) {
		sprint_symbol(name, s->ip[i]);
		mod = strchr(name, '[');
		if (mod) {
			mod[strcspn(mod, " ]")] = 0;
			seq_printf(m, "%s %s\n", mod + 1, leaf);
			return;
		}
		if (!strncmp(name, "cpuidle_idle_call", 17) ||
		    !strncmp(name, "do_idle", 7)) {
			seq_printf(m, "idle %s\n", leaf);
			return;
		}
	}
	seq_printf(m, "kernel %s\n", leaf);
}

static int show(struct seq_file *m, void *unused)
{
	unsigned int i, n;

	for (i = 0; i < nr_samples; i++)
		for (n = 0; n < samples[i].times; n++)
			show_sample(m, &samples[i]);
	return 0;
}

static int open(struct inode *inode, struct file *file)
{
	/*
	 * Only readers get memory for the text: a writer that starts sampling
	 * must not have its allocation measured.
	 */
	return file->f_mode & FMODE_READ ?
		       single_open_size(file, show, NULL, SAMPLES * 64) :
		       0;
}

static int release(struct inode *inode, struct file *file)
{
	return file->f_mode & FMODE_READ ? single_release(inode, file) : 0;
}

static ssize_t set(struct file *file, const char __user *buf, size_t len,
		   loff_t *pos)
{
	char c;

	if (!len || get_user(c, buf))
		return -EFAULT;
	hrtimer_cancel(&timer);
	if (c == '1') {
		nr_samples = 0;
		hrtimer_start(&timer, ns_to_ktime(PERIOD), HRTIMER_MODE_REL);
	}
	return len;
}

static const struct proc_ops ops = {
	.proc_open	= open,
	.proc_read	= seq_read,
	.proc_write	= set,
	.proc_lseek	= seq_lseek,
	.proc_release	= release,
};

static int __init sampler_init(void)
{
	samples = vzalloc(array_size(SAMPLES, sizeof(*samples)));
	if (!samples)
		return -ENOMEM;
	hrtimer_setup(&timer, take, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	if (proc_create("bench_sampler", 0600, NULL, &ops))
		return 0;
	vfree(samples);
	return -ENOMEM;
}

static void __exit sampler_exit(void)
{
	remove_proc_entry("bench_sampler", NULL);
	hrtimer_cancel(&timer);
	vfree(samples);
}

module_init(sampler_init);
module_exit(sampler_exit);
MODULE_DESCRIPTION("Samples where instructions go, for the benchmark of RDS");
MODULE_LICENSE("Dual BSD/GPL");
