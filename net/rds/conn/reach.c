// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Peers that cannot be reached; conn/reach.h has the rules. */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "conn/reach.h"
#include "netns.h"
#include "send/cancel.h"
#include "sock/report.h"
#include "sock/state.h"

/*
 * The work looks at all messages of sockets, so it does not follow the last one
 * sooner than this.  It runs at multiples of this time, so that those of all
 * connections find out at once which sockets' time is over.
 */
#define REACH_STEP	(HZ / 10)
/* A limit that is changed meanwhile holds after one second. */
#define REACH_MAX_WAIT	(HZ - REACH_STEP)

/**
 * struct rds_reach - sockets that are told of a peer
 * @conn: connection
 * @lock: guards @since
 * @since: since when the peer cannot be reached, unless reach_is_up(), in ms
 *	of the monotonic clock; 0: nobody tries.  Also read without @lock
 * @reports: what the sockets are told, see sock/report.h
 * @restarting: @restart is in use; guarded as @reports
 * @restart: those of @reports that @restart_work is to tell of a restart
 * @restart_work: tells of a restart if there are many
 * @work: drops the messages of sockets whose time is over
 */
struct rds_reach {
	struct rds_conn		*conn;
	spinlock_t		lock;
	s64			since;
	struct rds_walk_list	reports;
	bool			restarting;
	struct rds_walk		restart;
	struct work_struct	restart_work;
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
	unsigned long now = jiffies;

	/* The look of another connection may find one that is being freed. */
	if (READ_ONCE(conn->dead) || !kref_get_unless_zero(&conn->ref))
		return;
	wait = roundup(now + wait, REACH_STEP) - now;
	if (!queue_delayed_work(rds_conn_wq, &reach->work, wait))
		rds_conn_put(conn);
}

/* Time of a look at the messages of a socket, on the clock of reach_now() */
struct reach_look {
	struct rds_unreached	u;
	s64			now;
};

/* Is the time of the socket over that it gives the peer? */
static bool reach_is_over(const struct rds_conn *conn, struct rds_sock *rs,
			  s64 now)
{
	const struct rds_reach *reach = READ_ONCE(conn->reach);
	unsigned int limit = READ_ONCE(rs->peer_timeout);
	s64 since = reach ? READ_ONCE(reach->since) : 0;

	if (!since || !limit || now - since < limit || reach_is_up(conn))
		return false;
	/*
	 * The path may have been lost just now.  Pairs with path_move(): who
	 * sees that sees that the time began anew.
	 */
	smp_rmb();
	return READ_ONCE(reach->since) == since;
}

static struct rds_conn *reach_conn_of(const struct rds_txq *lane)
{
	return rds_to_cpath(lane->path)->conn;
}

static bool reach_lane_over(const struct rds_unreached *u, struct rds_sock *rs,
			    const struct rds_txq *lane)
{
	const struct reach_look *look = container_of(u, struct reach_look, u);

	return reach_is_over(reach_conn_of(lane), rs, look->now);
}

/* Messages from before the option was set stay, as nobody could be told. */
static bool reach_drops(const struct rds_unreached *u, struct rds_sock *rs,
			const struct rds_txq *lane)
{
	struct rds_report *rep = rds_report_find(rs, reach_conn_of(lane));

	if (!rep)
		return false;
	atomic_inc(&rep->dropped);
	rds_drop(rs->rn->net, RDS_DROP_UNREACHABLE);
	return true;
}

static void reach_mark(struct rds_report *rep, void *arg)
{
	const struct reach_look *look = arg;

	if (reach_is_over(rep->key.conn, rep->key.rs, look->now))
		WRITE_ONCE(rep->sent, false);
}

/* The peer may have come back before all messages were dropped. */
static void reach_unmark(struct rds_report *rep, void *arg)
{
	const struct reach_look *look = arg;

	if (READ_ONCE(rep->sent) ||
	    reach_is_over(rep->key.conn, rep->key.rs, look->now))
		return;
	WRITE_ONCE(rep->sent, true);
	/* Its work may have run meanwhile, and found nothing to wait for. */
	reach_arm(READ_ONCE(rep->key.conn->reach), REACH_STEP);
}

/*
 * Drop the messages of a socket to all peers whose time is over, so that one
 * look at what the socket has sent serves all of them, and looks are as rare as
 * REACH_STEP says.  Nothing of other sockets is looked at.
 */
static void reach_drop(struct rds_sock *rs)
{
	struct reach_look look = {
		.u = { reach_lane_over, reach_drops }, .now = reach_now(),
	};

	rds_sock_reports_each(rs, reach_mark, &look);
	rds_cancel_unreached(rs, &look.u);
	rds_sock_reports_each(rs, reach_unmark, &look);
	rds_sock_reports_dropped(rs);
}

/*
 * Drop the messages of those sockets whose time is over.  Returns the time
 * until that of another one is over, in ms; 0: there is none.
 */
static unsigned int reach_look_over(struct rds_reach *reach, s64 since)
{
	struct rds_net *rn = reach->conn->rn;
	unsigned int wait = 0;
	struct rds_walk walk;
	struct rds_sock *rs;

	rds_reports_begin(rn, &reach->reports, &walk);
	while ((rs = rds_reports_next(rn, &reach->reports, &walk,
				      reach_now() - since, &wait))) {
		reach_drop(rs);
		sock_put(&rs->sk);
	}
	return wait;
}

static void reach_work(struct work_struct *work)
{
	struct rds_reach *reach = container_of(to_delayed_work(work),
					       struct rds_reach, work);
	s64 since = reach_look(reach);
	unsigned int wait;

	if (!since)
		goto out;
	wait = reach_look_over(reach, since);
	if (wait)
		reach_arm(reach, clamp(msecs_to_jiffies(wait), REACH_STEP,
				       REACH_MAX_WAIT));
out:
	rds_conn_put(reach->conn);
}

static void reach_restart_work(struct work_struct *work)
{
	struct rds_reach *reach = container_of(work, struct rds_reach,
					       restart_work);

	while (rds_reports_restarted_rest(reach->conn->rn, &reach->reports,
					  &reach->restart, &reach->restarting))
		cond_resched();
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
	rds_walk_list_init(&reach->reports);
	INIT_WORK(&reach->restart_work, reach_restart_work);
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

void rds_reach_leave(struct rds_cpath *cp)
{
	struct rds_reach *reach = READ_ONCE(cp->conn->reach);

	lockdep_assert_held(&cp->lock);
	if (!reach || !READ_ONCE(cp->rx.heard))
		return;
	spin_lock_bh(&reach->lock);
	WRITE_ONCE(reach->since, 0);
	spin_unlock_bh(&reach->lock);
}

void rds_reach_lost(struct rds_cpath *cp)
{
	struct rds_reach *reach = READ_ONCE(cp->conn->reach);

	lockdep_assert_held(&cp->lock);
	if (reach && reach_look(reach))
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

	if (!reach || rds_reports_restarted(conn->rn, &reach->reports,
					    &reach->restart,
					    &reach->restarting))
		return;
	kref_get(&conn->ref);
	if (!queue_work(rds_conn_wq, &reach->restart_work))
		rds_conn_put(conn);
}

bool rds_reach_is_used(const struct rds_conn *conn)
{
	const struct rds_reach *reach = READ_ONCE(conn->reach);

	return reach && !list_empty(&reach->reports.entries);
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
