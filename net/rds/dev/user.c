// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who uses devices.  There are devices and addresses while there is a user; a
 * look-up finds none before and after.
 *
 * Each user has a number, its slot, for which others keep a bit or an entry of
 * a table: which devices it can use, which namespaces, its domains and its
 * counters.  Slot 0 is that of who is no user, or not yet, and no device serves
 * it.  And a user has work queues, so that its end waits for what is done on
 * behalf of itself and of no other user.  One of them is for works that may
 * wait for minutes, which hold up no other works there.
 *
 * Lock: users_lock (mutex) is taken before all others of this module: one user
 * begins or ends at a time.  It is not held while one waits for its ids.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <net/net_namespace.h>

#include "layer.h"

static DEFINE_MUTEX(users_lock);
static const struct rds_dev_user *users[RDS_DEV_SLOTS];
static unsigned int nr_users;

DEFINE_PER_CPU(struct rds_dev_stats [RDS_DEV_SLOTS], rds_dev_stats);

void rds_dev_stats_sum(const struct rds_dev_user *user,
		       struct rds_dev_stats *sum)
{
	u64 *to = (u64 *)sum;
	const u64 *from;
	unsigned int i;
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		from = (const u64 *)&per_cpu(rds_dev_stats, cpu)[user->slot];
		for (i = 0; i < sizeof(*sum) / sizeof(u64); i++)
			to[i] += READ_ONCE(from[i]);
	}
}
EXPORT_SYMBOL_NS_GPL(rds_dev_stats_sum, RDS_DEV_NS);

static int __net_init rds_dev_net_init(struct net *net)
{
	rds_dev_addr_net_init(net);
	return 0;
}

/* On return no connection request of a peer comes in any more. */
static void __net_exit rds_dev_net_pre_exit(struct net *net)
{
	rds_dev_addr_net_exit(net);
}

static struct pernet_operations rds_dev_net_ops = {
	.init		= rds_dev_net_init,
	.pre_exit	= rds_dev_net_pre_exit,
};

static int dev_begin(void)
{
	int err = rds_dev_client_init();

	if (err)
		return err;
	/*
	 * Pernet devices leave a namespace while its protocols can still send.
	 */
	err = register_pernet_device(&rds_dev_net_ops);
	if (err)
		rds_dev_client_exit();
	return err;
}

static void dev_end(void)
{
	unregister_pernet_device(&rds_dev_net_ops);
	rds_dev_client_exit();
}

static void user_queues_end(struct rds_dev_user *user)
{
	if (user->late_wq)
		destroy_workqueue(user->late_wq);
	if (user->wq)
		destroy_workqueue(user->wq);
}

static bool user_queues(struct rds_dev_user *user)
{
	const unsigned int flags = WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS;

	user->wq = alloc_workqueue("rds_dev_%s", flags, 0, user->name);
	user->late_wq = alloc_workqueue("rds_late_%s", flags, WQ_MAX_ACTIVE,
					user->name);
	if (user->wq && user->late_wq)
		return true;
	user_queues_end(user);
	return false;
}

/* The slot for a user, or a negative errno */
static int slot_for(const struct rds_dev_user *user)
{
	int slot = -EUSERS, i;

	for (i = RDS_DEV_USERS; i > 0; i--) {
		if (users[i] == user)
			return -EBUSY;
		if (!users[i])
			slot = i;
	}
	return slot;
}

static int user_begin(struct rds_dev_user *user)
{
	int slot = slot_for(user), cpu, err = 0;

	lockdep_assert_held(&users_lock);
	if (slot < 0)
		return slot;
	if (!user_queues(user))
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		memset(&per_cpu(rds_dev_stats, cpu)[slot], 0,
		       sizeof(struct rds_dev_stats));
	user->slot = slot;
	rds_dev_user_sees(user);
	if (!nr_users)
		err = dev_begin();
	if (err) {
		rds_dev_user_leaves(user);
		user->slot = 0;
		user_queues_end(user);
		return err;
	}
	users[slot] = user;
	nr_users++;
	return 0;
}

int __rds_dev_use(struct rds_dev_user *user, const struct rds_dev_abi *abi)
{
	static const struct rds_dev_abi mine = RDS_DEV_ABI;
	int err;

	if (abi->api != RDS_DEV_API || memcmp(abi, &mine, sizeof(mine)))
		return -EPROTONOSUPPORT;
	mutex_lock(&users_lock);
	err = user_begin(user);
	mutex_unlock(&users_lock);
	return err;
}
EXPORT_SYMBOL_NS_GPL(__rds_dev_use, RDS_DEV_NS);

void rds_dev_use_stop(struct rds_dev_user *user)
{
	rds_dev_services_gone(user);
	rds_dev_user_leaves(user);
	rds_dev_addr_user_leaves(user);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_use_stop, RDS_DEV_NS);

void rds_dev_use_end(struct rds_dev_user *user)
{
	rds_dev_user_domains_end(user);
	/* A work may be about to return to the user, which it told last. */
	user_queues_end(user);
	mutex_lock(&users_lock);
	WARN_ON_ONCE(users[user->slot] != user);
	users[user->slot] = NULL;
	user->slot = 0;
	if (!--nr_users)
		dev_end();
	mutex_unlock(&users_lock);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_use_end, RDS_DEV_NS);
