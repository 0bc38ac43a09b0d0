// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who may use RDS in a network namespace; access.h has the rules. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "access.h"
#include "netns.h"
#include <net/rds/access.h>

/* At most one line in this time says that a process was refused. */
#define ACCESS_LOG_TIME	(60 * HZ)

static int access_new = RDS_ACCESS_ROOT;

static int access_new_set(const char *val, const struct kernel_param *kp)
{
	int level, err = kstrtoint(val, 0, &level);

	if (err)
		return err;
	if (level < RDS_ACCESS_NOBODY || level > RDS_ACCESS_ALL)
		return -EINVAL;
	WRITE_ONCE(access_new, level);
	return 0;
}

static const struct kernel_param_ops access_new_ops = {
	.set	= access_new_set,
	.get	= param_get_int,
};

/*
 * A parameter of the module and no sysctl: it has to hold for namespaces that
 * exist before the module, and an administrator of the host alone can write it.
 */
module_param_cb(access_new, &access_new_ops, &access_new, 0644);
MODULE_PARM_DESC(access_new,
		 "net.rds.access of network namespaces but the first (0-3)");

void rds_access_net_init(struct rds_net *rn)
{
	struct rds_access *a = &rn->access;

	seqlock_init(&a->lock);
	a->level = net_eq(rn->net, &init_net) ? RDS_ACCESS_ALL :
						READ_ONCE(access_new);
	a->group_low = 1;
	a->group_high = 0;
}

/* No audit record: a dump is no attempt to get at more than it shows. */
bool rds_access_sees_all(struct net *net)
{
	return ns_capable_noaudit(net->user_ns, CAP_NET_ADMIN);
}
EXPORT_SYMBOL_NS_GPL(rds_access_sees_all, RDS_NS);

int rds_access_level(const struct rds_net *rn)
{
	return READ_ONCE(rn->access.level);
}

void rds_access_groups(struct rds_net *rn, gid_t *low, gid_t *high)
{
	struct rds_access *a = &rn->access;
	unsigned int seq;

	do {
		seq = read_seqbegin(&a->lock);
		*low = a->group_low;
		*high = a->group_high;
	} while (read_seqretry(&a->lock, seq));
}

/*
 * The range is one of numbers in the owner's user namespace.  Two numbers that
 * follow each other there may be far from each other in the kernel, with the
 * groups of other namespaces in between.
 */
static bool group_within(const struct rds_net *rn, kgid_t kgid, gid_t low,
			 gid_t high)
{
	gid_t gid = from_kgid(rn->net->user_ns, kgid);

	return gid != (gid_t)-1 && gid >= low && gid <= high;
}

/* Is the process in a group of the range? */
static bool access_by_group(struct rds_net *rn)
{
	const struct cred *cred = current_cred();
	const struct group_info *groups = cred->group_info;
	gid_t low, high;
	int i;

	rds_access_groups(rn, &low, &high);
	if (group_within(rn, cred->egid, low, high))
		return true;
	for (i = 0; i < groups->ngroups; i++) {
		if (group_within(rn, groups->gid[i], low, high))
			return true;
	}
	return false;
}

/* A process that is a member is not asked for its capability. */
static bool access_granted(struct rds_net *rn)
{
	int level = rds_access_level(rn);

	if (level == RDS_ACCESS_ALL)
		return true;
	if (level == RDS_ACCESS_GROUPS && access_by_group(rn))
		return true;
	return level >= RDS_ACCESS_ROOT &&
	       ns_capable(rn->net->user_ns, CAP_NET_ADMIN);
}

/*
 * Log that the process was refused @what, for want of @needed, unless @limit
 * has logged a refusal a short time ago.
 */
static void access_log(struct ratelimit_state *limit, const struct rds_net *rn,
		       const char *what, const char *needed)
{
	if (__ratelimit(limit))
		pr_info("rds: no %s for %s[%d] of user %u in network namespace %u, see %s\n",
			what, current->comm, task_pid_nr(current),
			from_kuid_munged(&init_user_ns, current_uid()),
			rn->net->ns.inum, needed);
}

int rds_access_check(struct rds_net *rn)
{
	static RDS_DEFINE_LOG_LIMIT(limit, ACCESS_LOG_TIME);

	if (access_granted(rn))
		return 0;
	rds_drop(rn->net, RDS_DROP_ACCESS_DENIED);
	access_log(&limit, rn, "socket", "net.rds.access");
	return -EACCES;
}

bool rds_access_may_load(struct rds_net *rn, const char *module)
{
	static RDS_DEFINE_LOG_LIMIT(limit, ACCESS_LOG_TIME);

	if (ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN) ||
	    ns_capable_noaudit(&init_user_ns, CAP_SYS_MODULE))
		return true;
	rds_drop(rn->net, RDS_DROP_LOAD_DENIED);
	access_log(&limit, rn, module, "capabilities(7)");
	return false;
}

/*
 * The root of a user namespace is root there because any user may make one.  It
 * must not undo what an administrator of the host has denied to it, so it may
 * lower its settings and not raise them.  A set-user-ID program that somebody
 * starts with the open file as its standard error has the real user ID of that
 * somebody.
 */
static bool access_may_raise(void)
{
	return uid_eq(current_uid(), GLOBAL_ROOT_UID) &&
	       capable(CAP_NET_ADMIN);
}

int rds_access_set_level(struct rds_net *rn, int level)
{
	struct rds_access *a = &rn->access;
	bool may_raise = access_may_raise();
	int err = 0;

	write_seqlock(&a->lock);
	if (level > a->level && !may_raise)
		err = -EPERM;
	else
		WRITE_ONCE(a->level, level);
	write_sequnlock(&a->lock);
	return err;
}

int rds_access_set_groups(struct rds_net *rn, gid_t low, gid_t high)
{
	struct rds_access *a = &rn->access;
	bool may_raise = access_may_raise();
	int err = 0;

	write_seqlock(&a->lock);
	if (low <= high && (low < a->group_low || high > a->group_high) &&
	    !may_raise) {
		err = -EPERM;
	} else {
		a->group_low = low;
		a->group_high = high;
	}
	write_sequnlock(&a->lock);
	return err;
}
