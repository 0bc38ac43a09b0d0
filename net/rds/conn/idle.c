// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections that nobody uses; conn/idle.h has the rules. */
#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "conn/addrs.h"
#include "conn/conn.h"
#include "conn/guest.h"
#include "conn/idle.h"
#include "conn/internal.h"
#include "conn/pace.h"
#include "conn/path.h"
#include "conn/reach.h"
#include "msg/rxpeer.h"
#include "netns.h"
#include "peers.h"

/* Time after which a connection ends that has only carried handshakes */
#define GREETED_TIME	(10 * HZ)
/*
 * The peer has ended a connection that is idle for this time here: it may have
 * a shorter time than this host.
 */
#define REST_TIME	(30 * HZ)
/* Looks in the time of a connection, and the limits of what is between two */
#define LOOKS		8
#define LOOK_MIN	max(1, HZ / 10)
#define LOOK_MAX	(60 * HZ)
/*
 * A loopback connection ends when nothing was sent for this time, and at the
 * latest after twice the time.
 */
#define LOCAL_IDLE_TIME	(5 * HZ)
/*
 * A connection that had to make room before the peer was told of all that came
 * is known for this time.
 */
#define UNTOLD_TIME	(10 * HZ)
/* A peer that is out of reach for this time is forgotten. */
#define FORGET_TIME	(24 * 3600 * HZ)

void rds_idle_init(struct rds_conn *conn)
{
	spin_lock_init(&conn->idle.lock);
	conn->idle.since = jiffies;
}

static unsigned long idle_later(unsigned long one, unsigned long other)
{
	return time_after(one, other) ? one : other;
}

/* When a message got a number, in either direction, or @since if it is later */
static unsigned long idle_last_used(struct rds_conn *conn, unsigned long since)
{
	unsigned int nr = rds_conn_rx_lanes(conn), i;
	struct rds_cpath *cp;

	for (i = 0; i < nr; i++)
		since = idle_later(since, READ_ONCE(conn->rx_lanes[i].used));
	rds_conn_for_each_path(conn, i, cp)
		since = idle_later(since, READ_ONCE(cp->txq.numbered));
	return since;
}

static bool idle_is_quiet(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp) {
		if (rds_txq_is_needed(&cp->txq))
			return false;
	}
	return true;
}

unsigned long rds_idle_time(struct rds_conn *conn)
{
	bool quiet = idle_is_quiet(conn);
	struct rds_idle *idle = &conn->idle;
	unsigned long since, now;

	spin_lock_bh(&idle->lock);
	if (!quiet)
		idle->since = jiffies;
	since = idle->since;
	spin_unlock_bh(&idle->lock);
	since = idle_last_used(conn, since);
	/* Another processor may have written the time that it has now. */
	now = jiffies;
	return time_after(now, since) ? now - since : 0;
}

bool rds_idle_only_greeted(struct rds_conn *conn)
{
	unsigned int nr = rds_conn_rx_lanes(conn), i;
	struct rds_cpath *cp;

	for (i = 0; i < nr; i++) {
		if (!rds_rx_lane_only_greeted(&conn->rx_lanes[i]))
			return false;
	}
	rds_conn_for_each_path(conn, i, cp) {
		if (!rds_txq_only_probed(&cp->txq))
			return false;
	}
	return true;
}

/* Time after which the connection ends, in jiffies; 0: never */
static unsigned long idle_limit(struct rds_conn *conn)
{
	unsigned long limit = READ_ONCE(conn->rn->sysctl.connection_idle);

	if (limit && rds_idle_only_greeted(conn))
		limit = min_t(unsigned long, limit, GREETED_TIME);
	return limit;
}

/*
 * Does the peer leave an idle connection down, and dial for a message that
 * waits?  A transport that acknowledges messages itself has no handshakes, but
 * hosts with this module name a generation.
 */
static bool idle_peer_rests(const struct rds_conn *conn)
{
	if (conn->trans->caps & RDS_CAP_OWNS_ACK)
		return READ_ONCE(conn->session.named);
	return rds_conn_peer_kind(conn) == RDS_PEER_ACKS;
}

/*
 * May peers read or write memory of this host, which no message shows?  A key
 * is for whoever has its cookie, over any connection.
 */
static bool idle_serves(const struct rds_conn *conn)
{
	return conn->trans->memop && atomic_read(&conn->rn->nr_keys);
}

/* Numbers over such a transport are kept: nothing has to be told again. */
static bool idle_is_numbered(const struct rds_cpath *cp)
{
	return cp->pub.trans->caps & RDS_CAP_OWNS_ACK;
}

void rds_idle_note_told(struct rds_cpath *cp)
{
	bool told = idle_is_numbered(cp) ||
		    (!READ_ONCE(cp->rx.foreign) &&
		     rds_txq_all_told(&cp->txq,
				      READ_ONCE(cp->rx.lane->told)));

	lockdep_assert_held(&cp->ctl);
	WRITE_ONCE(cp->told_gen, READ_ONCE(cp->rx.gen) ?:
				 READ_ONCE(cp->conn->session.gen));
	WRITE_ONCE(cp->told, told);
	if (told || cp->steady)
		WRITE_ONCE(cp->told_again, false);
}

/*
 * Has the peer been told of all that came over a path that is down?  What came
 * from an incarnation of the peer that is over, the peer does not repeat.
 */
static bool idle_path_is_told(const struct rds_cpath *cp)
{
	u32 gen = READ_ONCE(cp->conn->session.gen);

	return READ_ONCE(cp->told) || READ_ONCE(cp->told_gen) != gen;
}

/*
 * Either end may have a path come up: one that is new is not ended.  Over RDMA
 * that costs queue pairs and rings, and a peer may dial again and again: for
 * its sockets want to know what becomes of this host, or it is an older build.
 */
static bool idle_path_is_old(const struct rds_cpath *cp, unsigned long limit)
{
	unsigned long least = idle_is_numbered(cp) ? limit :
						     min_t(unsigned long,
							   limit, HZ);

	return rds_cpath_state(cp) == RDS_PATH_UP &&
	       jiffies - READ_ONCE(cp->up_since) > least;
}

/*
 * A path was lost before the peer was told of what is delivered: have it come
 * up for that.  Again after the time of a connection, then after twice that and
 * so on, as long as the path does not carry more: whoever has the peer's
 * address may end each connection soon.
 */
static void idle_tell_again(struct rds_cpath *cp, unsigned long limit)
{
	bool again = READ_ONCE(cp->told_again);

	if (again && jiffies - cp->tell_time < cp->tell_wait)
		return;
	cp->tell_wait = again ? min(2 * cp->tell_wait, FORGET_TIME) : limit;
	cp->tell_time = jiffies;
	WRITE_ONCE(cp->told_again, true);
	rds_cpath_want(cp);
}

/*
 * A path whose messages wait for a reader does not end: the next connection
 * would begin to wait anew.  A path that was lost before the peer was told of
 * what is delivered comes up once more for that, and the others wait.  @up: one
 * of them is up.
 */
static bool idle_path_can_end(struct rds_cpath *cp, bool up,
			      unsigned long limit)
{
	switch (rds_cpath_state(cp)) {
	case RDS_PATH_UP:
		return !READ_ONCE(cp->rx.held) && idle_path_is_old(cp, limit);
	case RDS_PATH_DOWN:
		if (idle_path_is_told(cp) ||
		    !rds_lanes_dial(cp->conn, cp->pub.index))
			return true;
		/* The others do not wait for ever. */
		if (up && READ_ONCE(cp->told_again))
			return true;
		/* A peer that is gone is not dialled for that. */
		if (up || READ_ONCE(cp->reason) != RDS_DROP_DIAL_FAILED)
			idle_tell_again(cp, limit);
		return false;
	default:
		return false;
	}
}

static bool idle_ends(struct rds_conn *conn, unsigned long limit)
{
	bool can_end = true, up = false;
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp)
		up |= rds_cpath_state(cp) == RDS_PATH_UP;
	if (!limit || rds_reach_is_used(conn) ||
	    rds_idle_time(conn) < limit || !idle_peer_rests(conn) ||
	    idle_serves(conn))
		return false;
	rds_conn_for_each_path(conn, i, cp)
		can_end &= idle_path_can_end(cp, up, limit);
	return can_end;
}

static void idle_end(struct rds_conn *conn, unsigned long limit)
{
	struct rds_cpath *cp;
	unsigned int i;

	/*
	 * One may have come up meanwhile, or a socket have made a key.  Of a
	 * peer that already uses that key for an operation nothing is known.
	 */
	rds_conn_for_each_path(conn, i, cp) {
		if (idle_path_is_old(cp, limit) && !idle_serves(conn))
			rds_cpath_end_unused(cp);
	}
}

static void idle_arm(struct rds_conn *conn, unsigned long wait)
{
	struct rds_idle *idle = &conn->idle;

	spin_lock_bh(&idle->lock);
	if (!idle->stopped) {
		kref_get(&conn->ref);
		if (!queue_delayed_work(rds_conn_wq, &idle->work, wait))
			rds_conn_put(conn);
	}
	spin_unlock_bh(&idle->lock);
}

void rds_idle_hasten(struct rds_conn *conn)
{
	struct rds_idle *idle = &conn->idle;

	spin_lock_bh(&idle->lock);
	if (!idle->stopped) {
		kref_get(&conn->ref);
		if (mod_delayed_work(rds_conn_wq, &idle->work, HZ))
			rds_conn_put(conn);
	}
	spin_unlock_bh(&idle->lock);
}

static void idle_work(struct work_struct *work)
{
	struct rds_conn *conn = container_of(to_delayed_work(work),
					     struct rds_conn, idle.work);
	struct rds_cpath *first = conn->paths[0];
	unsigned long limit = idle_limit(conn);
	unsigned long look = limit ? limit / LOOKS : LOOK_MAX;

	if (rds_cpath_state(first) == RDS_PATH_DOWN)
		rds_cpath_control(first, 0);
	if (idle_ends(conn, limit))
		idle_end(conn, limit);
	rds_guest_make_room(conn);
	look = clamp_t(unsigned long, look, LOOK_MIN, LOOK_MAX);
	if (READ_ONCE(conn->guest.evicted))
		look = min_t(unsigned long, look, HZ);
	if (rds_idle_time(conn) < look)
		rds_guest_used(conn);
	idle_arm(conn, look);
	rds_conn_put(conn);
}

void rds_idle_start(struct rds_conn *conn)
{
	if (conn->trans->caps & RDS_CAP_LOCAL_ONLY)
		return;
	INIT_DELAYED_WORK(&conn->idle.work, idle_work);
	idle_arm(conn, GREETED_TIME / LOOKS);
}

void rds_idle_stop(struct rds_conn *conn)
{
	struct rds_idle *idle = &conn->idle;

	if (conn->trans->caps & RDS_CAP_LOCAL_ONLY)
		return;
	spin_lock_bh(&idle->lock);
	idle->stopped = true;
	spin_unlock_bh(&idle->lock);
	if (cancel_delayed_work_sync(&idle->work))
		rds_conn_put(conn);
}

/* Can the peer call when it has a message, as far as this host knows? */
static bool idle_can_call(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->conn;

	return (!conn->trans->net_listens ||
		conn->trans->net_listens(cp->pub.net)) &&
	       rds_peers_judge(conn->rn, cp->pub.addr) == RDS_DROP_NONE;
}

/*
 * Did the peer end a connection that this end had dialled for no message, and
 * that carried none?  It does not want one: its time for idle connections is
 * short, or it has to make room, which one more would take from another peer.
 * It is asked again for senders that wait for a port of the peer, for sockets
 * that watch it, and for another path (conn/addrs.h).
 */
static bool idle_is_unwanted(struct rds_cpath *cp)
{
	unsigned long dialled = READ_ONCE(cp->dialled);
	struct rds_conn *conn = cp->conn;

	return READ_ONCE(cp->dialled_idle) &&
	       idle_last_used(conn, dialled) == dialled &&
	       !rds_reach_is_used(conn) && !rds_addrs_keep(cp) &&
	       (!READ_ONCE(cp->rx.mapped) || rds_cong_is_clear(conn->fmap));
}

/* Was the connection idle for long? */
static bool idle_for_long(struct rds_conn *conn)
{
	unsigned long limit = idle_limit(conn);

	return rds_idle_time(conn) >= min_t(unsigned long, REST_TIME,
					    limit ? limit / 2 : REST_TIME);
}

/* Has it ended in order, by a peer that dials, or knocks, for a message? */
static bool idle_ended_in_peace(const struct rds_cpath *cp)
{
	if (!READ_ONCE(cp->in_order) || !idle_peer_rests(cp->conn))
		return false;
	return READ_ONCE(cp->reason) == RDS_DROP_IDLE || !cp->pub.dials ||
	       idle_can_call(cp);
}

bool rds_idle_rests(struct rds_cpath *cp)
{
	if (READ_ONCE(cp->conn->guest.evicted))
		return true;
	return idle_ended_in_peace(cp) &&
	       (idle_for_long(cp->conn) || idle_is_unwanted(cp));
}

/*
 * The peer may have ended it for another reason, and not have read what this
 * host told it last; so the numbers are kept for a time while the path rests.
 */
static bool idle_is_settled(struct rds_cpath *cp)
{
	return READ_ONCE(cp->conn->guest.evicted) ||
	       (idle_ended_in_peace(cp) && idle_for_long(cp->conn));
}

/* Does the peer know what is delivered here? */
static bool idle_is_told(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	if (rds_conn_peer_kind(conn) != RDS_PEER_ACKS)
		return false;
	rds_conn_for_each_path(conn, i, cp) {
		if (!idle_path_is_told(cp) && rds_lanes_dial(conn, i))
			return false;
	}
	return true;
}

/* Does an old peer, which goes by what TCP has taken, know it? */
static bool idle_ended_in_order(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	if (rds_conn_peer_kind(conn) != RDS_PEER_OLD)
		return false;
	rds_conn_for_each_path(conn, i, cp) {
		if (!READ_ONCE(cp->in_order))
			return false;
	}
	return true;
}

/*
 * Did the connection have to make room, and is it certain that the peer repeats
 * nothing that came, or does it come late?
 */
static bool idle_made_room(struct rds_conn *conn)
{
	/* Pairs with guest_mark(), which writes `since` before. */
	if (!smp_load_acquire(&conn->guest.evicted))
		return false;
	return idle_ended_in_order(conn) || idle_is_told(conn) ||
	       time_after(jiffies, READ_ONCE(conn->guest.since) + UNTOLD_TIME);
}

/* Has the peer let nobody tell it for so long? */
static bool idle_is_forsaken(struct rds_conn *conn)
{
	return rds_conn_peer_kind(conn) == RDS_PEER_ACKS &&
	       rds_idle_time(conn) >= FORGET_TIME;
}

/*
 * Do sockets hold more of the peer than they should?  With another connection
 * the peer would begin a new count.
 */
static bool idle_is_owed(const struct rds_conn *conn)
{
	return conn->rx_peer && rds_rx_peer_held(conn->rx_peer);
}

bool rds_idle_is_over(struct rds_conn *conn)
{
	struct rds_cpath *first = conn->paths[0];

	if (!(conn->trans->caps & RDS_CAP_MULTIPATH) ||
	    rds_reach_is_used(conn))
		return false;
	if (idle_made_room(conn) || rds_pace_failing(first) >= FORGET_TIME ||
	    idle_is_forsaken(conn))
		return true;
	if (rds_session_is_counted(&conn->session))
		return false;
	return rds_idle_only_greeted(conn) ||
	       (idle_is_settled(first) && idle_is_told(conn) &&
		!idle_is_owed(conn));
}

/* Has loopback sent nothing since the last look? */
static bool idle_was_local(struct rds_cpath *cp)
{
	u64 seq = rds_txq_next_seq(&cp->txq);
	bool idle = cp->idle_seq == seq && !rds_txq_is_needed(&cp->txq);

	cp->idle_seq = seq;
	return idle;
}

unsigned long rds_idle_await_local(struct rds_cpath *cp)
{
	long wait = cp->idle_look - jiffies;

	lockdep_assert_held(&cp->ctl);
	if (wait > 0)
		return wait;
	cp->idle_look = jiffies + LOCAL_IDLE_TIME;
	if (!idle_was_local(cp))
		return LOCAL_IDLE_TIME;
	rds_path_lost(&cp->pub, RDS_DROP_IDLE);
	return 0;
}
