// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Peers that cannot be reached; conn/reach.h has the rules. */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "conn/reach.h"
#include "msg/message.h"
#include "netns.h"
#include "send/cancel.h"
#include "sock/report.h"
#include "sock/state.h"

/*
 * The work looks at all messages of the connection, so it does not follow the
 * last one sooner than this.
 */
#define REACH_STEP	(HZ / 10)
/* A limit that is changed meanwhile holds after this time. */
#define REACH_MAX_WAIT	HZ

/**
 * struct rds_reach - sockets that are told of a peer
 * @conn: connection
 * @lock: guards @since
 * @since: since when the peer cannot be reached, unless reach_is_up(), in ms
 *	of the monotonic clock; 0: nobody tries.  Also read without @lock
 * @reports: what the sockets are told, see sock/report.h
 * @work: drops the messages of sockets whose time is over
 */
struct rds_reach {
	struct rds_conn		*conn;
	spinlock_t		lock;
	s64			since;
	struct list_head	reports;
	struct delayed_work	work;
};

static s64 reach_now(void)
{
	return ktime_to_ms(ktime_get()) ?: 1;
}

/* Is a path up that has brought something?  Each kind of peer sends at once. */
static bool reach_is_up(const struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp)
		if (rds_cpath_state(cp) == RDS_PATH_UP &&
		    READ_ONCE(cp->rx.heard))
			return true;
	return false;
}

/* Does a path connect, or have a reason to? */
static bool reach_is_tried(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp)
		if (rds_cpath_state(cp) == RDS_PATH_CONNECTING ||
		    READ_ONCE(cp->dial_wanted) || rds_txq_is_needed(&cp->txq))
			return true;
	return false;
}

/* Returns since when the peer cannot be reached; 0: perhaps it can. */
static s64 reach_look(struct rds_reach *reach)
{
	s64 since = 0;

	spin_lock_bh(&reach->lock);
	if (!reach_is_up(reach->conn)) {
		if (!reach_is_tried(reach->conn))
			WRITE_ONCE(reach->since, 0);
		else if (!reach->since)
			WRITE_ONCE(reach->since, reach_now());
		since = reach->since;
	}
	spin_unlock_bh(&reach->lock);
	return since;
}

static void reach_arm(struct rds_reach *reach, unsigned long wait)
{
	struct rds_conn *conn = reach->conn;

	if (READ_ONCE(conn->dead))
		return;
	kref_get(&conn->ref);
	if (!queue_delayed_work(rds_conn_wq, &reach->work, wait))
		rds_conn_put(conn);
}

/* One look at the messages of a connection */
struct reach_pass {
	struct rds_reach	*reach;
	s64			since;
	s64			elapsed;
};

/* Is it a message of a socket whose time is over?  Then it is dropped. */
static bool reach_drops(const struct rds_message *m, void *arg)
{
	const struct reach_pass *pass = arg;
	struct rds_conn *conn = pass->reach->conn;
	struct rds_sock *rs = m->owner;
	struct rds_report *rep;
	unsigned int limit;

	if (!rs || m->flags & RDS_MSG_CANCELLED)
		return false;
	limit = READ_ONCE(rs->peer_timeout);
	if (!limit || pass->elapsed < limit)
		return false;
	/* The peer may be back meanwhile. */
	if (READ_ONCE(pass->reach->since) != pass->since || reach_is_up(conn))
		return false;
	rep = rds_report_find(rs, conn);
	if (!rep)
		return false;
	atomic_inc(&rep->dropped);
	rds_drop(conn->rn->net, RDS_DROP_UNREACHABLE);
	return true;
}

static void reach_drop(struct reach_pass *pass)
{
	struct rds_cpath *cp;
	unsigned int i;

	/* Messages may move to the first path meanwhile: it is last. */
	for (i = RDS_MAX_PATHS; i-- > 0;) {
		cp = rds_conn_path(pass->reach->conn, i);
		if (cp)
			rds_txq_drop(&cp->txq, reach_drops, pass);
	}
}

static void reach_work(struct work_struct *work)
{
	struct rds_reach *reach = container_of(to_delayed_work(work),
					       struct rds_reach, work);
	struct reach_pass pass = { reach, reach_look(reach) };
	struct rds_net *rn = reach->conn->rn;
	unsigned int wait;
	bool over;

	if (!pass.since)
		goto out;
	pass.elapsed = reach_now() - pass.since;
	wait = rds_reports_wait(rn, &reach->reports, pass.elapsed, &over);
	if (over) {
		reach_drop(&pass);
		rds_reports_dropped(rn, &reach->reports);
	}
	if (wait)
		reach_arm(reach, clamp(msecs_to_jiffies(wait), REACH_STEP,
				       REACH_MAX_WAIT));
out:
	rds_conn_put(reach->conn);
}

/* Process context; NULL without memory */
static struct rds_reach *reach_get(struct rds_conn *conn)
{
	struct rds_reach *reach = READ_ONCE(conn->reach), *old;

	if (reach)
		return reach;
	reach = kzalloc_obj(*reach, GFP_KERNEL_ACCOUNT);
	if (!reach)
		return NULL;
	reach->conn = conn;
	spin_lock_init(&reach->lock);
	INIT_LIST_HEAD(&reach->reports);
	INIT_DELAYED_WORK(&reach->work, reach_work);
	old = cmpxchg(&conn->reach, NULL, reach);
	if (!old)
		return reach;
	kfree(reach);
	return old;
}

/* Have the socket told of the peer; @queued: a message of it is queued. */
static int reach_enter(struct rds_reach *reach, struct rds_sock *rs,
		       bool queued)
{
	const struct rds_conn *conn = reach->conn;
	struct rds_report *rep;
	bool known;

	rcu_read_lock();
	rep = rds_report_find(rs, conn);
	known = rep;
	if (rep && queued)
		WRITE_ONCE(rep->sent, true);
	rcu_read_unlock();
	return known ? 0 : rds_report_make(rs, conn, &reach->reports,
					   &conn->addr.faddr,
					   conn->addr.ifindex);
}

int rds_reach_admit(struct rds_conn *conn, struct rds_sock *rs)
{
	unsigned int limit = READ_ONCE(rs->peer_timeout);
	struct rds_reach *reach;
	s64 since;
	int err;

	if (!limit || conn->trans->caps & RDS_CAP_LOCAL_ONLY)
		return 0;
	reach = reach_get(conn);
	if (!reach)
		return -ENOMEM;
	err = reach_enter(reach, rs, false);
	if (err)
		return err;
	since = reach_look(reach);
	if (!since || reach_now() - since < limit)
		return 0;
	/* Messages from before the option was set may wait. */
	reach_arm(reach, REACH_STEP);
	rds_cpath_want(conn->paths[0]);
	return -EHOSTUNREACH;
}

void rds_reach_queued(struct rds_conn *conn, struct rds_sock *rs)
{
	struct rds_reach *reach;

	if (conn->trans->caps & RDS_CAP_LOCAL_ONLY ||
	    !READ_ONCE(rs->peer_timeout))
		return;
	reach = reach_get(conn);
	/* Without memory the next send enters the socket. */
	if (!reach || reach_enter(reach, rs, true))
		return;
	if (reach_look(reach))
		reach_arm(reach, REACH_STEP);
}

void rds_reach_lost(struct rds_cpath *cp)
{
	struct rds_reach *reach = READ_ONCE(cp->conn->reach);

	lockdep_assert_held(&cp->lock);
	if (!reach)
		return;
	if (READ_ONCE(cp->rx.heard)) {
		spin_lock_bh(&reach->lock);
		WRITE_ONCE(reach->since, 0);
		spin_unlock_bh(&reach->lock);
	}
	if (reach_look(reach))
		reach_arm(reach, REACH_STEP);
}

void rds_reach_look(struct rds_conn *conn)
{
	struct rds_reach *reach = READ_ONCE(conn->reach);

	if (reach)
		reach_look(reach);
}

void rds_reach_restarted(struct rds_conn *conn)
{
	struct rds_reach *reach = READ_ONCE(conn->reach);

	if (reach)
		rds_reports_restarted(conn->rn, &reach->reports);
}

bool rds_reach_is_used(const struct rds_conn *conn)
{
	const struct rds_reach *reach = READ_ONCE(conn->reach);

	return reach && !list_empty(&reach->reports);
}

void rds_reach_stop(struct rds_conn *conn)
{
	struct rds_reach *reach = READ_ONCE(conn->reach);

	if (reach && cancel_delayed_work_sync(&reach->work))
		rds_conn_put(conn);
}

void rds_reach_end(struct rds_conn *conn)
{
	if (!conn->reach)
		return;
	rds_reports_end(conn->rn, &conn->reach->reports);
	kfree(conn->reach);
}
