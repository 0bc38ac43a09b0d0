// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shares of users; share.h has the rules. */
#include <linux/cred.h>
#include <linux/jhash.h>
#include <linux/net.h>
#include <linux/reciprocal_div.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>

#include <net/rds/dev.h>

#include "net.h"
#include "share.h"

static bool is_root(struct user_namespace *base, kuid_t uid)
{
	return uid_eq(uid, GLOBAL_ROOT_UID) ||
	       uid_eq(uid, make_kuid(base, 0));
}

/*
 * Who @uid of @ns is for the parent of @ns.  A user namespace of root's without
 * a root of its own, as of a sandbox that maps its user alone, leaves the user
 * what it is.
 */
static kuid_t party_of(struct user_namespace *base, struct user_namespace *ns,
		       kuid_t uid)
{
	kuid_t root = make_kuid(ns, 0);

	if (!is_root(base, ns->owner))
		return ns->owner;
	return uid_valid(root) && !is_root(base, root) ? root : uid;
}

/*
 * Who this process is for @base: the user namespace that is directly below
 * counts.  A process that is not below @base is who it is for the host.
 */
static kuid_t current_party(struct user_namespace *base)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_euid();

	for (; ns != base && ns->parent; ns = ns->parent)
		uid = party_of(base, ns, uid);
	return uid;
}

static u8 share_in(struct user_namespace *base)
{
	kuid_t uid = current_party(base);
	static u32 secret __read_mostly;

	net_get_random_once(&secret, sizeof(secret));
	if (is_root(base, uid))
		return RDS_SS_SHARE_ROOT;
	return 2 + reciprocal_scale(jhash_1word(__kuid_val(uid), secret),
				    RDS_DEV_SHARES - 2);
}

struct rds_ss_shares rds_ss_shares_of_current(const struct rds_ss_net *sn)
{
	return (struct rds_ss_shares){
		.dev = share_in(&init_user_ns),
		.net = share_in(sn->net->user_ns),
	};
}

static bool share_is_full(const struct rds_ss_net *sn, u8 share,
			  unsigned int nr)
{
	unsigned int most = READ_ONCE(sn->max_conns);

	return share != RDS_SS_SHARE_ROOT && nr > most - most / 4;
}

static bool enter(struct rds_ss_net *sn, u8 share)
{
	if (!share_is_full(sn, share, atomic_inc_return(&sn->shares[share])))
		return true;
	rds_ss_count(sn, RDS_SS_STAT_stream_share_limit, 1);
	atomic_dec(&sn->shares[share]);
	return false;
}

bool rds_ss_share_enter(struct rds_ss_net *sn, u8 share, bool request)
{
	if (atomic_inc_return(&sn->nr_conns) > READ_ONCE(sn->max_conns)) {
		rds_ss_count(sn, RDS_SS_STAT_stream_limit, 1);
		goto out_nr;
	}
	if (!enter(sn, share))
		goto out_nr;
	if (!request || enter(sn, RDS_SS_SHARE_PEERS))
		return true;
	atomic_dec(&sn->shares[share]);
out_nr:
	atomic_dec(&sn->nr_conns);
	return false;
}

void rds_ss_share_leave(struct rds_ss_net *sn, u8 share, bool request)
{
	if (request)
		atomic_dec(&sn->shares[RDS_SS_SHARE_PEERS]);
	atomic_dec(&sn->shares[share]);
	atomic_dec(&sn->nr_conns);
}

void rds_ss_share_accepted(struct rds_ss_net *sn, bool *request)
{
	if (*request)
		atomic_dec(&sn->shares[RDS_SS_SHARE_PEERS]);
	*request = false;
}
