// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Life of a path.  The control worker, or the context that kills the path, does
 * all that sleeps, under the path's control mutex.  Every other context reports
 * an event and queues the worker.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "conn/addrs.h"
#include "conn/close.h"
#include "conn/conn.h"
#include "conn/idle.h"
#include "conn/internal.h"
#include "conn/pace.h"
#include "conn/path.h"
#include "conn/reach.h"
#include "netns.h"
#include "send/carry.h"
#include "xprt/registry.h"
#include <trace/events/rds.h>

/* Time for which an acknowledgement waits for a message to travel with */
#define ACK_DELAY	max(1, HZ / 50)
/*
 * A connection that was up for this time is not one of a series that the peer
 * ends at once.
 */
#define STEADY_TIME	HZ

/*
 * Has the peer closed the connection?  A device may tell of that as of an
 * error; but who wants reports of the peer has to get them.
 */
static bool path_closed_by_peer(const struct rds_cpath *cp,
				enum rds_drop_reason why)
{
	if (why == RDS_DROP_PEER_CLOSED)
		return true;
	return cp->pub.trans->caps & RDS_CAP_OWNS_ACK &&
	       (why == RDS_DROP_SEND_ERROR || why == RDS_DROP_TERMINATED) &&
	       !rds_reach_is_used(cp->conn);
}

static void path_note_order(struct rds_cpath *cp, enum rds_drop_reason why)
{
	bool closed = path_closed_by_peer(cp, why);

	/* A peer that has said nothing before it closed refuses the path. */
	if (closed && !READ_ONCE(cp->rx.heard))
		return;
	WRITE_ONCE(cp->in_order, closed || why == RDS_DROP_IDLE);
}

/* The one writer of the state. */
static bool path_move(struct rds_cpath *cp, enum rds_cpath_event event,
		      enum rds_drop_reason why)
{
	int was = cp->state, next = rds_cpath_next(was, event);

	lockdep_assert_held(&cp->lock);
	if (next < 0)
		return false;
	if (cp->retiring && event != RDS_EV_KILL) {
		cp->refused = true;
		return false;
	}
	trace_rds_path_state(&cp->pub, was, next, why);
	if (event == RDS_EV_UP)
		WRITE_ONCE(cp->up_since, jiffies);
	if (event == RDS_EV_LOST && was == RDS_PATH_UP)
		rds_reach_leave(cp);
	/* Whoever sees that the path is up sees since when. */
	smp_store_release(&cp->state, next);
	switch (event) {
	case RDS_EV_DIAL:
		WRITE_ONCE(cp->dial_wanted, false);
		break;
	case RDS_EV_UP:
		rds_guest_back(cp->conn);
		/* A further path may come up without a dial of this end. */
		if (cp->pub.index)
			WRITE_ONCE(cp->dial_wanted, false);
		rds_txq_open(&cp->txq, rds_conn_peer_kind(cp->conn),
			     cp->joins ? RDS_DUE_JOIN : 0);
		break;
	case RDS_EV_LOST:
		WRITE_ONCE(cp->reason, why);
		cp->ended = was == RDS_PATH_UP;
		if (cp->ended)
			path_note_order(cp, why);
		cp->steady = was == RDS_PATH_UP &&
			     time_after(jiffies, cp->up_since + STEADY_TIME);
		rds_txq_shut(&cp->txq, false);
		if (was == RDS_PATH_UP) {
			rds_reach_lost(cp);
			rds_pace_hope_others(cp);
		}
		break;
	default:
		break;
	}
	return true;
}

bool rds_cpath_event(struct rds_cpath *cp, enum rds_cpath_event event,
		     enum rds_drop_reason why)
{
	bool moved;

	spin_lock_bh(&cp->lock);
	moved = path_move(cp, event, why);
	spin_unlock_bh(&cp->lock);
	return moved;
}

/* Are both ends on this host, so that no peer knows numbers of the path? */
static bool path_is_local(const struct rds_cpath *cp)
{
	return cp->pub.trans->caps & RDS_CAP_LOCAL_ONLY;
}

bool rds_cpath_retire_begin(struct rds_cpath *cp)
{
	bool begun;

	spin_lock_bh(&cp->lock);
	begun = cp->state == RDS_PATH_DOWN && !cp->nr_incoming &&
		!READ_ONCE(cp->attaching) && !cp->dial_wanted &&
		rds_txq_abandon(&cp->txq, false);
	if (begun)
		WRITE_ONCE(cp->retiring, true);
	cp->refused = false;
	spin_unlock_bh(&cp->lock);
	return begun;
}

void rds_cpath_retire_end(struct rds_cpath *cp, bool dead)
{
	bool again;

	spin_lock_bh(&cp->lock);
	again = cp->retiring && !dead && cp->refused;
	if (cp->retiring && dead) {
		rds_txq_abandon(&cp->txq, true);
		path_move(cp, RDS_EV_KILL, RDS_DROP_NONE);
	} else if (cp->retiring) {
		rds_txq_readmit(&cp->txq);
		WRITE_ONCE(cp->retiring, false);
	}
	spin_unlock_bh(&cp->lock);
	/* What was refused meanwhile is looked at once more. */
	if (again)
		rds_cpath_control(cp, 0);
}

void rds_cpath_wait_no_more(struct rds_cpath *cp)
{
	if (cancel_delayed_work(&cp->ctl_work))
		rds_conn_put(cp->conn);
}

bool rds_cpath_is_gone(const struct rds_cpath *cp)
{
	return READ_ONCE(cp->retiring) ||
	       rds_cpath_state(cp) == RDS_PATH_DEAD;
}

enum rds_cpath_state rds_cpath_state(const struct rds_cpath *cp)
{
	/* Pairs with path_move(). */
	return smp_load_acquire(&cp->state);
}

bool rds_cpath_used(const struct rds_cpath *cp)
{
	return READ_ONCE(cp->txq.used) || READ_ONCE(cp->txq.met) ||
	       READ_ONCE(cp->rx.lane->expected);
}

/* Queued work holds a reference to the connection. */

void rds_cpath_control_by(struct rds_cpath *cp, unsigned long delay)
{
	kref_get(&cp->conn->ref);
	if (mod_delayed_work(rds_conn_wq, &cp->ctl_work, delay))
		rds_conn_put(cp->conn);
}

void rds_cpath_control(struct rds_cpath *cp, unsigned long delay)
{
	if (!delay) {
		rds_cpath_control_by(cp, 0);
		return;
	}
	kref_get(&cp->conn->ref);
	if (!queue_delayed_work(rds_conn_wq, &cp->ctl_work, delay))
		rds_conn_put(cp->conn);
}

void rds_cpath_kick(struct rds_cpath *cp)
{
	/*
	 * A pending work takes the lock of the queue later than the caller, and
	 * sees its changes.
	 */
	if (work_pending(&cp->tx_work))
		return;
	kref_get(&cp->conn->ref);
	if (!queue_work(rds_tx_wq, &cp->tx_work))
		rds_conn_put(cp->conn);
}

static void path_tx_work(struct work_struct *work)
{
	struct rds_cpath *cp = container_of(work, struct rds_cpath, tx_work);

	rds_txq_tidy(&cp->txq);
	/* The lane may go back to this path now. */
	if (unlikely(rds_carry_is_away(&cp->txq)) &&
	    rds_cpath_state(cp) == RDS_PATH_UP)
		rds_cpath_control(cp, 0);
	if (rds_txq_run(&cp->txq) == RDS_TXQ_MORE)
		rds_cpath_kick(cp);
	rds_conn_put(cp->conn);
}

/*
 * Mostly a message has taken the acknowledgement with it by now: that is found
 * out here, as a worker would cost more than all the rest.
 */
static void path_ack_timer(struct timer_list *timer)
{
	struct rds_cpath *cp = timer_container_of(cp, timer, ack_timer);

	rds_rx_state_disarm(&cp->rx);
	rds_conn_ack(cp);
	rds_conn_put(cp->conn);
}

void rds_cpath_ack_later(struct rds_cpath *cp)
{
	kref_get(&cp->conn->ref);
	if (mod_timer(&cp->ack_timer, jiffies + ACK_DELAY))
		rds_conn_put(cp->conn);
}

/* Upcalls */

/*
 * A peer that counts paths says its generation over path 0 only: a further path
 * expects the numbers of that generation when a connection begins.
 */
static void path_count(struct rds_cpath *cp)
{
	struct rds_session *session = &cp->conn->session;
	struct rds_rx_lane *lane = cp->rx.lane;
	u32 gen = READ_ONCE(session->gen);

	if (!cp->pub.index || !rds_session_is_counted(session))
		return;
	rds_rx_lock(&cp->rx, lane);
	if (lane->gen != gen) {
		rds_rx_lane_forget(lane);
		WRITE_ONCE(lane->gen, gen);
	}
	rds_rx_unlock(&cp->rx, lane);
}

bool rds_path_up(struct rds_path *path)
{
	struct rds_cpath *cp = rds_to_cpath(path);
	unsigned long since;

	if (!path->dials && !cp->attaching) {
		/*
		 * This end only knocked: the peer dials, and this connection is
		 * not used.
		 */
		rds_path_lost(path, RDS_DROP_WRONG_DIALLER);
		return false;
	}
	if (!rds_lanes_have(cp->conn, path->index)) {
		rds_path_lost(path, RDS_DROP_WRONG_PATH);
		return false;
	}
	path_count(cp);
	cp->rx.doubted = cp->joins;
	if (!rds_cpath_event(cp, RDS_EV_UP, RDS_DROP_NONE))
		return false;
	rds_conn_greet(cp);
	rds_cpath_kick(cp);
	rds_pace_hope_others(cp);
	if (READ_ONCE(cp->nr_incoming) || path_is_local(cp))
		rds_cpath_control(cp, 0);
	else if (rds_txq_undecided(&cp->txq, &since))
		rds_cpath_control(cp, RDS_PATH_ANSWER_TIME);
	return true;
}
EXPORT_SYMBOL_NS_GPL(rds_path_up, RDS_NS);

void rds_path_lost(struct rds_path *path, enum rds_drop_reason why)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	if (!rds_cpath_event(cp, RDS_EV_LOST, why))
		return;
	rds_drop(path->net, why);
	rds_cpath_control(cp, 0);
}
EXPORT_SYMBOL_NS_GPL(rds_path_lost, RDS_NS);

void rds_path_writable(struct rds_path *path)
{
	if (rds_txq_unblock(path->txq))
		rds_cpath_kick(rds_to_cpath(path));
}
EXPORT_SYMBOL_NS_GPL(rds_path_writable, RDS_NS);

void rds_cpath_end_unused(struct rds_cpath *cp)
{
	bool ended;

	spin_lock_bh(&cp->lock);
	ended = cp->state == RDS_PATH_UP && rds_txq_shut(&cp->txq, true) &&
		path_move(cp, RDS_EV_LOST, RDS_DROP_IDLE);
	spin_unlock_bh(&cp->lock);
	if (!ended)
		return;
	rds_drop(cp->pub.net, RDS_DROP_IDLE);
	rds_cpath_control(cp, 0);
}

/* The control worker */

static void path_attach(struct rds_cpath *cp)
{
	struct rds_parked next;

	lockdep_assert_held(&cp->ctl);
	if (!rds_parked_claim(cp, &next))
		return;
	cp->joins = false;
	cp->port = next.port;
	if (rds_parked_may_attach(cp) &&
	    rds_cpath_event(cp, RDS_EV_CLAIM, RDS_DROP_NONE)) {
		cp->pub.trans->path_attach(&cp->pub, next.handle);
		/* rds_conn_reset_denied() may have come before the event. */
		if (!rds_cpath_allowed(cp))
			rds_path_lost(&cp->pub, RDS_DROP_LOCAL_RECONFIG);
		return;
	}
	WRITE_ONCE(cp->attaching, false);
	rds_parked_refuse(cp, &next);
}

/* A further path is not wanted: the first may be, or all may be over. */
static void path_rested(struct rds_cpath *cp)
{
	rds_lanes_call(cp);
	if (rds_idle_rests(cp))
		rds_cpath_control(cp->conn->paths[0], 0);
}

static void path_dial(struct rds_cpath *cp)
{
	lockdep_assert_held(&cp->ctl);
	rds_pace_dial(cp);
	WRITE_ONCE(cp->dialled_idle, !cp->needed);
	WRITE_ONCE(cp->crossed, false);
	cp->port = cp->pub.index;
	cp->joins = false;
	if (!rds_cpath_event(cp, RDS_EV_DIAL, RDS_DROP_NONE))
		return;
	if (cp->pub.trans->path_connect(&cp->pub))
		rds_path_lost(&cp->pub, RDS_DROP_DIAL_FAILED);
}

/*
 * The state is DOWN and no connection is parked: dial now, or later, or never.
 */
static void path_when_down(struct rds_cpath *cp)
{
	long wait;

	lockdep_assert_held(&cp->ctl);
	rds_pace_look(cp);
	wait = rds_pace_wait(cp);
	if (!rds_pace_wants(cp)) {
		rds_cpath_unmap(cp);
		rds_reach_look(cp->conn);
		/* Further paths go with the first. */
		if (!cp->pub.index)
			rds_conn_reap(cp->conn);
		else
			path_rested(cp);
	} else if (wait > 0) {
		rds_cpath_control(cp, wait);
	} else {
		path_dial(cp);
	}
}

/*
 * With RDS_CAP_OWNS_ACK the peer's core acknowledges messages and recognises
 * retransmitted ones, so no message is lost if a new connection of the peer
 * replaces the present one at once.
 */
static bool path_replaces(struct rds_cpath *cp)
{
	if (!(cp->pub.trans->caps & RDS_CAP_OWNS_ACK))
		return false;
	rds_path_lost(&cp->pub, RDS_DROP_PEER_REPLACED);
	return true;
}

/*
 * The state is UP.  Returns whether to look again at once; of two times the
 * earlier one counts.
 */
static bool path_when_up(struct rds_cpath *cp, bool incoming)
{
	unsigned long wait = min_not_zero(rds_conn_await_answer(cp),
					  rds_conn_await_raise(cp));
	unsigned long idle;

	rds_conn_watch(cp);
	if (incoming && path_replaces(cp))
		return true;
	if (READ_ONCE(cp->cut_off) && rds_lanes_spare(cp)) {
		rds_path_lost(&cp->pub, RDS_DROP_NETWORK_GONE);
		return true;
	}
	if (path_is_local(cp)) {
		idle = rds_idle_await_local(cp);
		if (!idle)
			return true;
		wait = min_not_zero(wait, idle);
	}
	/* A parked connection may have gone to its own path meanwhile. */
	if (!incoming)
		WRITE_ONCE(cp->probing, false);
	else
		wait = min_not_zero(wait, rds_parked_judge(cp));
	if (wait)
		rds_cpath_control(cp, wait);
	return false;
}

/*
 * Do the work that the state asks for.  Returns whether to look again at once.
 */
static bool path_step(struct rds_cpath *cp)
{
	bool incoming = rds_parked_any(cp);

	switch (rds_cpath_state(cp)) {
	case RDS_PATH_CLOSING:
		return rds_cpath_close_step(cp);
	case RDS_PATH_DOWN:
		if (incoming)
			path_attach(cp);
		else
			path_when_down(cp);
		return incoming;
	case RDS_PATH_CONNECTING:
		/*
		 * The attempt gives way: it was a knock, or the peer's is the
		 * one that stays.
		 */
		return incoming &&
		       rds_cpath_event(cp, RDS_EV_LOST, RDS_DROP_PEER_REPLACED);
	case RDS_PATH_UP:
		return path_when_up(cp, incoming);
	default:
		rds_parked_drop(cp);
		return false;
	}
}

static void path_control_work(struct work_struct *work)
{
	struct rds_cpath *cp = container_of(to_delayed_work(work),
					    struct rds_cpath, ctl_work);

	mutex_lock(&cp->ctl);
	while (path_step(cp))
		cond_resched();
	rds_lanes_step(cp);
	mutex_unlock(&cp->ctl);
	rds_conn_put(cp->conn);
}

/* The peer, or a message, wants the path while it is down. */
static void path_want(struct rds_cpath *cp)
{
	bool news;

	if (rds_cpath_state(cp) != RDS_PATH_DOWN || READ_ONCE(cp->dial_wanted))
		return;
	spin_lock_bh(&cp->lock);
	news = cp->state == RDS_PATH_DOWN && !cp->dial_wanted;
	if (news)
		WRITE_ONCE(cp->dial_wanted, true);
	spin_unlock_bh(&cp->lock);
	if (news)
		rds_cpath_control(cp, 0);
}

void rds_cpath_want(struct rds_cpath *cp)
{
	struct rds_cpath *first = cp->conn->paths[0];

	path_want(cp);
	/*
	 * Where this path may not dial, the first one does before it.  It also
	 * has to tell a peer that has forgotten the connection.
	 */
	if (cp != first)
		path_want(first);
}

void rds_cpath_kill(struct rds_cpath *cp)
{
	mutex_lock(&cp->ctl);
	/* What is delivered is not sent again to the next incarnation. */
	if (rds_conn_has_acks(cp))
		rds_txq_run(&cp->txq);
	rds_cpath_event(cp, RDS_EV_LOST, RDS_DROP_LOCAL_EXIT);
	if (rds_cpath_state(cp) == RDS_PATH_CLOSING)
		rds_cpath_close_now(cp);
	rds_cpath_event(cp, RDS_EV_KILL, RDS_DROP_NONE);
	rds_parked_drop(cp);
	mutex_unlock(&cp->ctl);
	rds_txq_abandon(&cp->txq, true);
	if (cancel_delayed_work_sync(&cp->ctl_work))
		rds_conn_put(cp->conn);
	if (timer_delete_sync(&cp->ack_timer))
		rds_conn_put(cp->conn);
	if (cancel_work_sync(&cp->tx_work))
		rds_conn_put(cp->conn);
}

static const struct rds_probe_vtable path_probe_vtable = {
	.ping		= rds_conn_ping,
	.generation	= rds_conn_learn,
	.handshake	= rds_conn_handshake,
	.heard		= rds_conn_heard,
	.misplaced	= rds_conn_misplaced,
	.lost		= rds_path_lost,
	.acked		= rds_conn_acked,
	.owes_ack	= rds_conn_owes_ack,
	.told		= rds_addrs_told,
};

/*
 * Only the smaller address dials, where the transport has that rule
 * (protocol.rst 3.1).
 */
static bool path_dials(const struct rds_conn *conn)
{
	return !(conn->trans->caps & RDS_CAP_SMALLER_DIALS) ||
	       memcmp(&conn->addr.laddr, &conn->addr.faddr,
		      sizeof(conn->addr.laddr)) < 0;
}

struct rds_cpath *rds_cpath_create(struct rds_conn *conn, unsigned int index)
{
	struct kmem_cache *cache = rds_transport_path_cache(conn->trans);
	struct rds_cpath *cp = kmem_cache_zalloc(cache, GFP_KERNEL);
	bool maps = !(conn->trans->caps & RDS_CAP_LOCAL_ONLY);

	if (!cp)
		return ERR_PTR(-ENOMEM);
	cp->pub.trans = conn->trans;
	cp->pub.net = conn->rn->net;
	cp->pub.addr = &conn->addr;
	cp->pub.index = index;
	cp->pub.dials = path_dials(conn);
	cp->pub.priv = cp + 1;
	cp->pub.txq = &cp->txq;
	cp->pub.rx = &cp->rx;
	cp->conn = conn;
	cp->dial_after = jiffies;
	cp->failing_since = jiffies;
	cp->idle_look = jiffies;
	cp->told = true;
	spin_lock_init(&cp->lock);
	mutex_init(&cp->ctl);
	INIT_DELAYED_WORK(&cp->ctl_work, path_control_work);
	INIT_WORK(&cp->tx_work, path_tx_work);
	timer_setup(&cp->ack_timer, path_ack_timer, 0);
	rds_txq_init(&cp->txq, &cp->pub, conn->rn,
		     maps ? &rds_conn_txq_ops : &rds_conn_mapless_txq_ops,
		     &conn->rx_lanes[index].delivered);
	rds_rx_state_init(&cp->rx, &cp->pub, conn->rn, conn->fmap,
			  conn->rx_peer, &path_probe_vtable);
	rds_rx_state_set_lane(&cp->rx, conn->rx_lanes, rds_conn_rx_lanes(conn),
			      index, &conn->session.gen);
	if (!conn->trans->path_init || !conn->trans->path_init(&cp->pub))
		return cp;
	kmem_cache_free(cache, cp);
	return ERR_PTR(-ENOMEM);
}

void rds_cpath_destroy(struct rds_cpath *cp)
{
	WARN_ON_ONCE(cp->nr_incoming);
	rds_cpath_unmap(cp);
	rds_txq_destroy(&cp->txq);
	if (cp->pub.trans->path_free)
		cp->pub.trans->path_free(&cp->pub);
	mutex_destroy(&cp->ctl);
	kmem_cache_free(rds_transport_path_cache(cp->pub.trans), cp);
}
