// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reports of peers; sock/report.h has the rules. */
#include <linux/sched.h>
#include <linux/slab.h>

#include "netns.h"
#include "sock/report.h"
#include "sock/state.h"

/* Reports of a connection that are looked at under one lock */
#define REPORTS_AT_ONCE		64

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
static bool report_enter(struct rds_report *rep, bool *entered)
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
		rds_walk_add(rep->list, &rep->of_conn);
		list_add_tail(&rep->of_sock, &rs->reports);
		WRITE_ONCE(rs->nr_reports, rs->nr_reports + 1);
	}
	spin_unlock_bh(&rs->rn->reports_lock);
	return !IS_ERR(old);
}

int rds_report_make(struct rds_sock *rs, const struct rds_conn *conn,
		    struct rds_walk_list *list, const struct in6_addr *faddr,
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
	rep->list = list;
	rep->faddr = *faddr;
	rep->scope = scope;
	rep->sent = true;
	INIT_LIST_HEAD(&rep->due);
	made = report_enter(rep, &entered);
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

static void report_restarted(struct rds_report *rep)
{
	if (rep->restarted)
		return;
	rep->restarted = true;
	report_tell(rep);
}

static struct rds_report *report_next(struct rds_walk *walk,
				      struct rds_walk_list *list)
{
	struct list_head *entry = rds_walk_next(walk, list);

	return entry ? list_entry(entry, struct rds_report, of_conn) : NULL;
}

/* Tell some sockets of the restart.  Returns whether more are left. */
static bool reports_restarted_some(struct rds_walk_list *list,
				   struct rds_walk *walk, bool *busy)
{
	struct rds_report *rep = NULL;
	unsigned int left = REPORTS_AT_ONCE;

	while (left-- && (rep = report_next(walk, list)))
		report_restarted(rep);
	if (!rep)
		rds_walk_end(walk);
	*busy = rep;
	return rep;
}

bool rds_reports_restarted(struct rds_net *rn, struct rds_walk_list *list,
			   struct rds_walk *walk, bool *busy)
{
	bool more;

	spin_lock_bh(&rn->reports_lock);
	if (*busy)
		rds_walk_end(walk);
	rds_walk_begin(walk, list);
	more = reports_restarted_some(list, walk, busy);
	spin_unlock_bh(&rn->reports_lock);
	return !more;
}

bool rds_reports_restarted_rest(struct rds_net *rn, struct rds_walk_list *list,
				struct rds_walk *walk, bool *busy)
{
	bool more;

	spin_lock_bh(&rn->reports_lock);
	more = *busy && reports_restarted_some(list, walk, busy);
	spin_unlock_bh(&rn->reports_lock);
	return more;
}

void rds_reports_begin(struct rds_net *rn, struct rds_walk_list *list,
		       struct rds_walk *walk)
{
	spin_lock_bh(&rn->reports_lock);
	rds_walk_begin(walk, list);
	spin_unlock_bh(&rn->reports_lock);
}

/* Is the time of a socket over that waits?  Else see when. */
static bool report_is_over(struct rds_report *rep, s64 elapsed,
			   unsigned int *wait)
{
	unsigned int limit = READ_ONCE(rep->key.rs->peer_timeout);

	if (!limit || !READ_ONCE(rep->sent))
		return false;
	if (limit > elapsed) {
		*wait = min_not_zero(*wait, limit - (unsigned int)elapsed);
		return false;
	}
	return true;
}

/*
 * The next report of a socket whose time is over among some; NULL if none is,
 * or at the @end.
 */
static struct rds_report *report_over(struct rds_walk_list *list,
				      struct rds_walk *walk, s64 elapsed,
				      unsigned int *wait, bool *end)
{
	unsigned int left = REPORTS_AT_ONCE;
	struct rds_report *rep = NULL;

	while (left-- && (rep = report_next(walk, list)))
		if (report_is_over(rep, elapsed, wait))
			return rep;
	*end = !rep;
	return NULL;
}

struct rds_sock *rds_reports_next(struct rds_net *rn,
				  struct rds_walk_list *list,
				  struct rds_walk *walk, s64 elapsed,
				  unsigned int *wait)
{
	struct rds_sock *rs = NULL;
	struct rds_report *rep;
	bool end = false;

	while (!rs && !end) {
		spin_lock_bh(&rn->reports_lock);
		rep = report_over(list, walk, elapsed, wait, &end);
		if (rep) {
			rs = rep->key.rs;
			sock_hold(&rs->sk);
		} else if (end) {
			rds_walk_end(walk);
		}
		spin_unlock_bh(&rn->reports_lock);
		cond_resched();
	}
	return rs;
}

void rds_sock_reports_each(struct rds_sock *rs,
			   void (*fn)(struct rds_report *rep, void *arg),
			   void *arg)
{
	struct rds_report *rep;

	spin_lock_bh(&rs->rn->reports_lock);
	list_for_each_entry(rep, &rs->reports, of_sock)
		if (!list_empty(&rep->of_conn))
			fn(rep, arg);
	spin_unlock_bh(&rs->rn->reports_lock);
}

void rds_sock_reports_dropped(struct rds_sock *rs)
{
	struct rds_report *rep;
	bool some = false;

	spin_lock_bh(&rs->rn->reports_lock);
	list_for_each_entry(rep, &rs->reports, of_sock) {
		if (!atomic_read(&rep->dropped))
			continue;
		some = true;
		if (list_empty(&rep->due))
			list_add_tail(&rep->due, &rs->reports_due);
	}
	spin_unlock_bh(&rs->rn->reports_lock);
	/* Once for all: any number of tasks may wait. */
	if (some)
		rds_sock_wake_all(rs);
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
	rds_walk_del(rep->list, &rep->of_conn);
}

/* Detach some reports.  Returns whether more are left. */
static bool reports_end_some(struct rds_walk_list *list)
{
	unsigned int left = REPORTS_AT_ONCE;
	struct rds_report *rep;

	while (left-- && !list_empty(&list->entries)) {
		rep = list_first_entry(&list->entries, struct rds_report,
				       of_conn);
		report_detach(rep);
		/* The look of another connection is about to tell it. */
		if (atomic_read(&rep->dropped))
			report_tell(rep);
		if (list_empty(&rep->due))
			report_free(rep);
	}
	return !list_empty(&list->entries);
}

void rds_reports_end(struct rds_net *rn, struct rds_walk_list *list)
{
	bool more;

	do {
		spin_lock_bh(&rn->reports_lock);
		more = reports_end_some(list);
		spin_unlock_bh(&rn->reports_lock);
		cond_resched();
	} while (more);
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
