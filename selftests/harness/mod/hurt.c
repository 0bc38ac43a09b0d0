// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Commits a fault on load, selected by the parameter how, so that a test can
 * see the harness notice it. The file is built twice: rds_hurt counts as ours
 * by its name, foreign_hurt does not.
 */
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <net/net_namespace.h>

static char *how = "nothing";
module_param(how, charp, 0);

static DEFINE_MUTEX(lock_a);
static DEFINE_MUTEX(lock_b);
static DEFINE_SPINLOCK(spin);
static struct kmem_cache *cache;
static void *kept;

static noinline void hurt_oops(void)
{
	int *nowhere = (int *)8;

	OPTIMIZER_HIDE_VAR(nowhere);
	*nowhere = 1;
}

static noinline void hurt_warn(void)
{
	WARN(1, "hurt: a warning\n");
}

static noinline void hurt_locks(void)
{
	mutex_lock(&lock_a);
	mutex_lock(&lock_b);
	mutex_unlock(&lock_b);
	mutex_unlock(&lock_a);
	mutex_lock(&lock_b);
	mutex_lock(&lock_a);
	mutex_unlock(&lock_a);
	mutex_unlock(&lock_b);
}

static noinline void hurt_atomic(void)
{
	spin_lock(&spin);
	might_sleep();
	spin_unlock(&spin);
}

/* Leaves an object allocated in a cache, which the exit function destroys. */
static noinline void hurt_cache(void)
{
	cache = kmem_cache_create("rds_hurt_cache", 200, 0, 0, NULL);
	if (cache)
		kept = kmem_cache_alloc(cache, GFP_KERNEL);
}

static noinline void hurt_kmalloc(void)
{
	void *lost = kmalloc(333, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(lost);
}

/* Only reads: a write would corrupt the allocator's list of free objects. */
static noinline void hurt_uaf(void)
{
	char *p = kmalloc(64, GFP_KERNEL);

	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	if (p)
		(void)READ_ONCE(p[40]);
}

static noinline void hurt_shift(void)
{
	int by = 40;

	OPTIMIZER_HIDE_VAR(by);
	by = 1 << by;
	OPTIMIZER_HIDE_VAR(by);
}

static void hurt_timer_fn(struct timer_list *t)
{
}

/* Frees memory that contains an armed timer. */
static noinline void hurt_timer(void)
{
	struct timer_list *t = kmalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return;
	timer_setup(t, hurt_timer_fn, 0);
	mod_timer(t, jiffies + 1000 * HZ);
	kfree(t);
}

static noinline void hurt_list(void)
{
	struct list_head head, entry;

	INIT_LIST_HEAD(&head);
	list_add(&entry, &head);
	head.next = &head;
	list_del(&entry);
}

/* Keeps a reference to the network namespace of the loading process. */
static noinline void hurt_netns(void)
{
	kept = get_net(current->nsproxy->net_ns);
}

/* Keeps a reference to interface veth0 of the loading process's namespace. */
static noinline void hurt_dev(void)
{
	kept = dev_get_by_name(current->nsproxy->net_ns, "veth0");
}

static void hurt_spin(void *unused)
{
	local_irq_disable();
	for (;;)
		cpu_relax();
}

static noinline void hurt_hang(void)
{
	on_each_cpu(hurt_spin, NULL, 0);
}

static noinline void hurt_block(void)
{
	long left = 20 * HZ;

	while (left) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		left = schedule_timeout(left);
	}
}

static noinline void hurt_pin(void)
{
	__module_get(THIS_MODULE);
}

static const struct {
	const char *name;
	void (*fn)(void);
} ways[] = {
	{ "oops", hurt_oops }, { "warn", hurt_warn }, { "locks", hurt_locks },
	{ "atomic", hurt_atomic }, { "cache", hurt_cache }, { "kmalloc", hurt_kmalloc },
	{ "uaf", hurt_uaf }, { "shift", hurt_shift }, { "timer", hurt_timer },
	{ "list", hurt_list }, { "netns", hurt_netns }, { "dev", hurt_dev },
	{ "hang", hurt_hang }, { "block", hurt_block }, { "pin", hurt_pin },
};

static int __init hurt_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (strcmp(ways[i].name, how))
			continue;
		pr_info("hurt: %s\n", how);
		ways[i].fn();
		return 0;
	}
	return -EINVAL;
}

static void __exit hurt_exit(void)
{
	kmem_cache_destroy(cache);
}

module_init(hurt_init);
module_exit(hurt_exit);
MODULE_DESCRIPTION("Provokes what the test harness must notice");
MODULE_VERSION("1");
MODULE_LICENSE("Dual BSD/GPL");
