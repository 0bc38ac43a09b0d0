// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reports of peers; sock/report.h has the rules. */
#include <linux/slab.h>

#include "netns.h"
#include "sock/report.h"
#include "sock/state.h"

static const struct rhashtable_params report_params = {
	.head_offset		= offsetof(struct rds_report, node),
	.key_offset		= offsetof(struct rds_report, key),
	.key_len		= sizeof(struct rds_report_key),
	.automatic_shrinking	= true,
};

static struct rhashtable report_table;

struct rds_report *rds_report_find(struct rds_sock *rs,
				   const struct rds_conn *conn)
{
	struct rds_report_key key = { rs, conn };

	return rhashtable_lookup(&report_table, &key, report_params);
}

/*
 * Enter a report, unless the socket has one or wants none; false without
 * memory.
 */
static bool report_enter(struct rds_report *rep, struct list_head *list,
			 bool *entered)
{
	struct rds_sock *rs = rep->key.rs;
	struct rds_report *old;

	*entered = false;
	spin_lock_bh(&rs->rn->reports_lock);
	/* Who switches the option off purges the reports after that. */
	if (!READ_ONCE(rs->peer_timeout)) {
		spin_unlock_bh(&rs->rn->reports_lock);
		return true;
	}
	old = rhashtable_lookup_get_insert_fast(&report_table, &rep->node,
						report_params);
	*entered = !old;
	if (!old) {
		list_add_tail(&rep->of_conn, list);
		list_add_tail(&rep->of_sock, &rs->reports);
		WRITE_ONCE(rs->nr_reports, rs->nr_reports + 1);
	}
	spin_unlock_bh(&rs->rn->reports_lock);
	return !IS_ERR(old);
}

int rds_report_make(struct rds_sock *rs, const struct rds_conn *conn,
		    struct list_head *list, const struct in6_addr *faddr,
		    int scope)
{
	struct rds_report *rep;
	bool entered, made;

	if (READ_ONCE(rs->nr_reports) >= RDS_MAX_REPORTS)
		return -ENOSPC;
	rep = kzalloc_obj(*rep, GFP_KERNEL_ACCOUNT);
	if (!rep)
		return -ENOMEM;
	rep->key.rs = rs;
	rep->key.conn = conn;
	rep->faddr = *faddr;
	rep->scope = scope;
	rep->sent = true;
	INIT_LIST_HEAD(&rep->due);
	made = report_enter(rep, list, &entered);
	if (!entered)
		kfree(rep);
	return made ? 0 : -ENOMEM;
}

static void report_tell(struct rds_report *rep)
{
	struct rds_sock *rs = rep->key.rs;

	lockdep_assert_held(&rs->rn->reports_lock);
	if (list_empty(&rep->due))
		list_add_tail(&rep->due, &rs->reports_due);
	rds_sock_wake_all(rs);
}

void rds_reports_restarted(struct rds_net *rn, struct list_head *list)
{
	struct rds_report *rep;

	spin_lock_bh(&rn->reports_lock);
	list_for_each_entry(rep, list, of_conn) {
		if (rep->restarted)
			continue;
		rep->restarted = true;
		report_tell(rep);
	}
	spin_unlock_bh(&rn->reports_lock);
}

void rds_reports_dropped(struct rds_net *rn, struct list_head *list)
{
	struct rds_report *rep;

	spin_lock_bh(&rn->reports_lock);
	list_for_each_entry(rep, list, of_conn)
		if (atomic_read(&rep->dropped))
			report_tell(rep);
	spin_unlock_bh(&rn->reports_lock);
}

unsigned int rds_reports_wait(struct rds_net *rn, struct list_head *list,
			      s64 elapsed, bool *over)
{
	struct rds_report *rep;
	unsigned int next = 0;

	*over = false;
	spin_lock_bh(&rn->reports_lock);
	list_for_each_entry(rep, list, of_conn) {
		unsigned int limit = READ_ONCE(rep->key.rs->peer_timeout);

		if (!limit || !READ_ONCE(rep->sent))
			continue;
		if (limit > elapsed) {
			next = min_not_zero(next,
					    limit - (unsigned int)elapsed);
			continue;
		}
		WRITE_ONCE(rep->sent, false);
		*over = true;
	}
	spin_unlock_bh(&rn->reports_lock);
	return next;
}

/* The report is on none of the connection's lists any more. */
static void report_free(struct rds_report *rep)
{
	struct rds_sock *rs = rep->key.rs;

	lockdep_assert_held(&rs->rn->reports_lock);
	list_del(&rep->of_sock);
	list_del(&rep->due);
	WRITE_ONCE(rs->nr_reports, rs->nr_reports - 1);
	kfree_rcu(rep, rcu);
}

static void report_detach(struct rds_report *rep)
{
	lockdep_assert_held(&rep->key.rs->rn->reports_lock);
	if (list_empty(&rep->of_conn))
		return;
	rhashtable_remove_fast(&report_table, &rep->node, report_params);
	list_del_init(&rep->of_conn);
}

void rds_reports_end(struct rds_net *rn, struct list_head *list)
{
	struct rds_report *rep, *next;

	spin_lock_bh(&rn->reports_lock);
	list_for_each_entry_safe(rep, next, list, of_conn) {
		report_detach(rep);
		if (list_empty(&rep->due))
			report_free(rep);
	}
	spin_unlock_bh(&rn->reports_lock);
}

void rds_sock_reports_purge(struct rds_sock *rs)
{
	struct rds_report *rep, *next;

	spin_lock_bh(&rs->rn->reports_lock);
	list_for_each_entry_safe(rep, next, &rs->reports, of_sock) {
		report_detach(rep);
		report_free(rep);
	}
	spin_unlock_bh(&rs->rn->reports_lock);
}

bool rds_sock_report_peek(struct rds_sock *rs, struct rds_report_news *news)
{
	struct rds_report *rep;

	sock_owned_by_me(&rs->sk);
	spin_lock_bh(&rs->rn->reports_lock);
	rep = list_first_entry_or_null(&rs->reports_due, struct rds_report,
				       due);
	if (rep) {
		news->faddr = rep->faddr;
		news->scope = rep->scope;
		news->dropped = atomic_read(&rep->dropped);
	}
	spin_unlock_bh(&rs->rn->reports_lock);
	return rep;
}

void rds_sock_report_done(struct rds_sock *rs,
			  const struct rds_report_news *news)
{
	struct rds_report *rep;

	sock_owned_by_me(&rs->sk);
	spin_lock_bh(&rs->rn->reports_lock);
	rep = list_first_entry(&rs->reports_due, struct rds_report, due);
	if (news->dropped)
		atomic_sub(news->dropped, &rep->dropped);
	else
		rep->restarted = false;
	if (!atomic_read(&rep->dropped) && !rep->restarted) {
		list_del_init(&rep->due);
		if (list_empty(&rep->of_conn))
			report_free(rep);
	}
	spin_unlock_bh(&rs->rn->reports_lock);
}

/**
 * rds_report_init - make the table of reports, at module start
 *
 * Return: 0 or -ENOMEM.
 */
int rds_report_init(void)
{
	return rhashtable_init(&report_table, &report_params);
}

/**
 * rds_report_exit - destroy the table of reports, after the last socket is gone
 */
void rds_report_exit(void)
{
	rhashtable_destroy(&report_table);
}
