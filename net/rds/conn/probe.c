// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages of the kernel's own: pongs, handshakes, congestion maps
 * (protocol.rst 2.5 to 2.7), and acknowledgements (wire.rst).
 */
#include <linux/module.h>

#include "conn/addrs.h"
#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "conn/reach.h"
#include "msg/message.h"
#include "netns.h"
#include "proto/exthdr.h"
#include "send/carry.h"

enum rds_peer_kind rds_conn_peer_kind(const struct rds_conn *conn)
{
	if (!(conn->trans->caps & RDS_CAP_MULTIPATH))
		return RDS_PEER_OLD;
	return READ_ONCE(conn->session.kind);
}

/*
 * CAP_BITS of a handshake over the path.  A peer that is known to be an old one
 * does not get them.
 */
static u32 conn_caps(const struct rds_cpath *cp)
{
	u32 caps = RDS_CAP_BITS_ACK | rds_conn_host_bits(cp->conn);

	if (rds_path_shows_index(&cp->pub))
		caps |= RDS_CAP_BITS_PATHS | RDS_CAP_BITS_LANES |
			cp->pub.index << RDS_CAP_BITS_INDEX_SHIFT;
	if (rds_path_shows_index(&cp->pub) && cp->conn->addrs.own)
		caps |= RDS_CAP_BITS_ADDRS;
	return caps;
}

/* For conn_send_probe(): a probe that is no handshake */
#define NO_HANDSHAKE	(-1)

static void conn_build(struct rds_cpath *cp, struct rds_message *m,
		       unsigned int npaths, u32 caps)
{
	rds_handshake_build(m->tx.hdr->exthdr, npaths, rds_generation(&cp->pub),
			    rds_path_shows_index(&cp->pub), caps);
	rds_stats_inc(cp->conn->rn, send_pong);
}

/*
 * Queue a probe.  The worker transmits it, because the caller may be in
 * softirq.  @npaths: of a handshake, 0 to say no number of paths; it is more
 * than 1 only for a peer that counts them, see rds_session_counts().
 */
static bool conn_send_probe(struct rds_cpath *cp, u16 sport, u16 dport,
			    int npaths, u32 caps)
{
	struct rds_message *m = rds_message_kernel(0, sport, dport, NULL,
						   GFP_ATOMIC);
	bool run;

	if (!m) {
		rds_drop(cp->pub.net, RDS_DROP_NO_MEMORY);
		return false;
	}
	if (npaths != NO_HANDSHAKE)
		conn_build(cp, m, npaths, caps);
	else
		rds_stats_inc(cp->conn->rn, send_pong);
	if (!rds_txq_add_probe(&cp->txq, m, &run))
		return false;
	if (run)
		rds_cpath_kick(cp);
	return true;
}

/*
 * Tell the peer the number of paths, or ask what it is, if that is due.  A
 * connection of path 0 begins with it.
 */
static void conn_raise(struct rds_conn *conn)
{
	struct rds_cpath *first = conn->paths[0];
	enum rds_raise raise;
	int npaths = 0;

	if (rds_cpath_state(first) != RDS_PATH_UP)
		return;
	raise = rds_session_raise(&conn->session);
	if (raise == RDS_RAISE_NONE)
		return;
	if (raise == RDS_RAISE_TELL)
		npaths = rds_session_paths(&conn->session);
	if (!conn_send_probe(first, RDS_PROBE_PORT, RDS_PING_PORT, npaths, 0))
		rds_session_not_raised(&conn->session);
	rds_cpath_control(first, RDS_PATH_ANSWER_TIME);
}

/*
 * A further path is up, and it is not known whether the peer still counts
 * paths.  If not, this may be its only connection.  A blind peer shows by its
 * answer that the connection has its place, if it sends nothing before.
 */
static void conn_ask(struct rds_cpath *cp)
{
	const struct rds_session *session = &cp->conn->session;
	bool blind = rds_session_is_blind(session);
	int npaths = 0;

	if (!cp->pub.index || !rds_session_is_counted(session) ||
	    (rds_session_is_raised(session) && !(blind && cp->pub.dials)))
		return;
	/*
	 * It may be path 0 of a blind peer that has restarted, and that opens
	 * no other one, nor that again, before it has the number.
	 */
	if (blind && !cp->pub.dials)
		npaths = rds_session_paths(session);
	conn_send_probe(cp, RDS_PROBE_PORT, RDS_PING_PORT, npaths, 0);
}

unsigned long rds_conn_await_raise(struct rds_cpath *cp)
{
	unsigned long wait;

	if (cp->pub.index)
		return 0;
	wait = rds_session_await(&cp->conn->session, RDS_PATH_ANSWER_TIME);
	if (wait)
		conn_raise(cp->conn);
	return wait;
}

void rds_conn_lost(struct rds_cpath *cp)
{
	struct rds_cpath *other;
	unsigned int i;

	rds_session_lost(&cp->conn->session, !cp->pub.index);
	rds_lanes_down(cp);
	conn_raise(cp->conn);
	if (cp->pub.index)
		return;
	rds_conn_for_each_path(cp->conn, i, other) {
		if (rds_cpath_state(other) == RDS_PATH_UP)
			conn_ask(other);
	}
}

void rds_conn_greet(struct rds_cpath *cp)
{
	struct rds_session *session = &cp->conn->session;

	if (!cp->pub.index)
		rds_session_begun(session, READ_ONCE(cp->txq.greeted),
				  READ_ONCE(cp->txq.dropped));
	conn_raise(cp->conn);
	conn_ask(cp);
	if (!(cp->conn->trans->caps & RDS_CAP_MULTIPATH) ||
	    (READ_ONCE(cp->txq.greeted) && !READ_ONCE(cp->txq.dropped)) ||
	    !rds_session_ask(session))
		return;
	if (!conn_send_probe(cp, RDS_PROBE_PORT, RDS_PING_PORT, 1,
			     conn_caps(cp)))
		rds_session_not_asked(session);
}

void rds_conn_ping(struct rds_path *path, u16 sport)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	if (!rds_cong_test(cp->conn->fmap, sport))
		conn_send_probe(cp, RDS_PING_PORT, sport, NO_HANDSHAKE, 0);
}

bool rds_conn_generation(struct rds_cpath *cp, u32 gen, u32 host)
{
	struct rds_conn *conn = cp->conn;
	struct rds_session_news news;

	news = rds_session_generation(&conn->session, gen, host,
				      rds_conn_is_own(conn, gen),
				      &conn->mirror);
	/* Changes of the map that were not sent in between are due now. */
	if (news.same_ended &&
	    rds_carry_map_due(&conn->paths[0]->txq))
		rds_cpath_kick(conn->paths[0]);
	if (news.anew)
		rds_addrs_forget(conn);
	if (news.restarted) {
		rds_drop(cp->pub.net, RDS_DROP_PEER_REBOOTED);
		rds_reach_restarted(conn);
	}
	return news.anew;
}

void rds_path_peer_gen(struct rds_path *path, u32 gen)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	WRITE_ONCE(cp->conn->session.named, gen);
	/* The path is not up, so there is no receiver. */
	if (rds_conn_generation(cp, gen, 0))
		rds_rx_lane_forget(cp->rx.lane);
}
EXPORT_SYMBOL_NS_GPL(rds_path_peer_gen, RDS_NS);

/*
 * The connection may be another path of a peer that counts them, and was not
 * known when it came.  Such a peer does not send again what this host's TCP
 * has: deliver that.
 */
static void conn_check_port(struct rds_cpath *cp)
{
	if (!rds_session_is_counted(&cp->conn->session) ||
	    rds_session_is_blind(&cp->conn->session) ||
	    rds_conn_index_of(cp->conn, cp->port) == cp->pub.index)
		return;
	cp->rx.astray = true;
	rds_path_lost(&cp->pub, RDS_DROP_WRONG_PATH);
}

/*
 * Other paths may carry the lane of this path.  So one incarnation of such a
 * peer follows the other at one point: where path 0 hears of it, whose
 * connections come one after the other.
 */
enum rds_gen_news rds_conn_learn(struct rds_path *path,
				 const struct rds_handshake *hs)
{
	struct rds_cpath *cp = rds_to_cpath(path);
	u32 gen = READ_ONCE(cp->conn->session.gen);

	/* The peer told this address, which may be another host's. */
	if (unlikely(cp->joins))
		return rds_handshake_moves(hs) && hs->gen == gen ?
			       RDS_GEN_SAME :
			       RDS_GEN_STALE;
	if (path->index && gen && rds_rx_is_shared(&cp->rx) &&
	    rds_handshake_moves(hs))
		return hs->gen == gen ? RDS_GEN_SAME : RDS_GEN_STALE;
	return rds_conn_generation(cp, hs->has_gen ? hs->gen : 0,
				   rds_handshake_host(hs)) ?
		       RDS_GEN_NEW :
		       RDS_GEN_SAME;
}

void rds_conn_handshake(struct rds_path *path, const struct rds_handshake *hs,
			bool ask, u64 have, bool restarted)
{
	struct rds_cpath *cp = rds_to_cpath(path);
	bool acks = rds_handshake_acks(hs);
	struct rds_session *session = &cp->conn->session;
	bool counted = rds_session_is_counted(session);
	unsigned long since;

	/* What an old peer does not know is not sent to it. */
	if (ask && !acks)
		conn_send_probe(cp, RDS_PING_PORT, RDS_PROBE_PORT,
				max(1U, rds_session_counts(session, hs)), 0);
	/* The queue first, then the session: see conn_is_silent(). */
	if (!rds_session_is_outdated(session, hs) &&
	    rds_txq_heard(&cp->txq, acks, ask, rds_handshake_moves(hs), have))
		rds_cpath_kick(cp);
	rds_addrs_heard(cp, hs);
	rds_session_heard(session, hs, !cp->pub.index);
	if (!ask && !cp->pub.index)
		rds_session_answered(session);
	if (restarted && (counted || rds_session_is_counted(session)))
		rds_lanes_restart(cp->conn);
	conn_raise(cp->conn);
	rds_lanes_follow(cp->conn);
	rds_lanes_carry(cp->conn);
	if (acks && !READ_ONCE(cp->watched))
		rds_cpath_control(cp, 0);
	conn_check_port(cp);
	if (rds_txq_undecided(&cp->txq, &since))
		rds_cpath_control(cp, RDS_PATH_ANSWER_TIME);
}

void rds_conn_heard(struct rds_path *path)
{
	rds_lanes_placed(rds_to_cpath(path));
}

void rds_conn_misplaced(struct rds_path *path, const struct rds_handshake *hs)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	/* Another host than the peer says nothing of the peer. */
	if (unlikely(cp->joins)) {
		rds_path_lost(path, RDS_DROP_WRONG_PATH);
		return;
	}
	rds_conn_generation(cp, hs->gen, rds_handshake_host(hs));
	rds_session_heard(&cp->conn->session, hs, !path->index);
	rds_path_lost(path, RDS_DROP_WRONG_PATH);
	rds_lanes_follow(cp->conn);
}

/*
 * Time for the peer's answer to a handshake.  One that is known to answer may
 * have parked the connection until another one was found dead, and drained
 * that.
 */
static unsigned long answer_time(const struct rds_cpath *cp)
{
	return rds_conn_peer_kind(cp->conn) == RDS_PEER_ACKS ?
		       2 * RDS_PATH_ANSWER_TIME :
		       RDS_PATH_ANSWER_TIME;
}

/*
 * An answer that comes meanwhile decides the rule before it tells the session,
 * so either the queue does not wait any more, or the session knows better
 * later.
 */
static void conn_is_silent(struct rds_cpath *cp, unsigned int heard)
{
	if (!rds_txq_silent(&cp->txq))
		return;
	rds_session_silent(&cp->conn->session, heard);
	rds_lanes_follow(cp->conn);
	rds_cpath_kick(cp);
}

unsigned long rds_conn_await_answer(struct rds_cpath *cp)
{
	struct rds_session *session = &cp->conn->session;
	unsigned int heard = rds_session_count(session);
	unsigned long since;
	long wait;

	lockdep_assert_held(&cp->ctl);
	if (!rds_txq_undecided(&cp->txq, &since))
		return 0;
	wait = since + answer_time(cp) - jiffies;
	if (wait > 0)
		return wait;
	/*
	 * What was begun over one path must not go over another one to the same
	 * incarnation: with several lanes the first path tries once more.
	 */
	if (cp->pub.index || (READ_ONCE(cp->conn->lanes.nr) > 1 &&
			      rds_session_try_again(session)))
		rds_path_lost(&cp->pub, RDS_DROP_PEER_TIMEOUT);
	else
		conn_is_silent(cp, heard);
	return 0;
}

/* The probe may have been acknowledged, see rds_parked_judge(). */
static void conn_probe_acked(struct rds_path *path)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	if (unlikely(READ_ONCE(cp->probing)))
		rds_cpath_control(cp, 0);
}

void rds_conn_acked(struct rds_path *path, unsigned int lane, u64 seq, u64 pos)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	if (lane != path->index)
		cp = rds_conn_path(cp->conn, lane);
	if (!cp)
		return;
	if (rds_txq_acked(&cp->txq, seq, pos))
		rds_cpath_kick(cp);
	if (pos)
		conn_probe_acked(&cp->pub);
}

void rds_path_acked(struct rds_path *path, u64 pos)
{
	rds_conn_acked(path, path->index, 0, pos);
}
EXPORT_SYMBOL_NS_GPL(rds_path_acked, RDS_NS);

bool rds_conn_has_acks(struct rds_cpath *cp)
{
	bool run = rds_txq_ack_due(&cp->txq);

	if (unlikely(READ_ONCE(cp->rx.foreign)))
		run |= rds_txq_lanes_due(&cp->txq);
	return run;
}

void rds_conn_ack(struct rds_cpath *cp)
{
	if (rds_conn_has_acks(cp))
		rds_cpath_kick(cp);
}

void rds_conn_owes_ack(struct rds_path *path, bool now)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	if (now)
		rds_conn_ack(cp);
	else
		rds_cpath_ack_later(cp);
}

void rds_conn_watch(struct rds_cpath *cp)
{
	const struct rds_net_sysctl *sysctl = &cp->conn->rn->sysctl;
	unsigned int limit = READ_ONCE(sysctl->heartbeat_limit);

	lockdep_assert_held(&cp->ctl);
	if (cp->watched || !READ_ONCE(cp->txq.acks))
		return;
	WRITE_ONCE(cp->watched, true);
	if (limit && cp->pub.trans->path_watch)
		cp->pub.trans->path_watch(&cp->pub,
					  READ_ONCE(sysctl->heartbeat_interval),
					  limit);
}

static struct rds_message *conn_make_map(struct rds_conn *conn)
{
	struct rds_message *m;
	void *bits;

	m = rds_message_kernel(RDS_CONG_MAP_BYTES, 0, 0, &bits, GFP_KERNEL);
	if (!m)
		return NULL;
	m->tx.hdr->flags = RDS_WIRE_F_CONG;
	rds_cong_snapshot(conn->lmap, bits);
	return m;
}

static u64 conn_delivered(const struct rds_cpath *cp)
{
	return rds_rx_lane_delivered(&cp->rx, cp->rx.lane, false);
}

/*
 * A handshake without a number.  A peer that knows numbers of this host, and is
 * an old one after all, drops it as a duplicate.
 */
static struct rds_message *conn_make_handshake(struct rds_cpath *cp, bool ask)
{
	u32 caps = conn_caps(cp);
	unsigned int npaths = 1;
	struct rds_message *m;

	/* A probe of a further path of an old peer; the queue knows first. */
	if (cp->pub.index && rds_session_is_counted(&cp->conn->session) &&
	    !READ_ONCE(cp->txq.acks)) {
		caps = 0;
		npaths = 0;
	}
	m = rds_message_kernel(0, ask ? RDS_PROBE_PORT : RDS_PING_PORT,
			       ask ? RDS_PING_PORT : RDS_PROBE_PORT, NULL,
			       GFP_KERNEL);
	if (!m)
		return NULL;
	if (READ_ONCE(cp->txq.used))
		m->tx.hdr->flags = RDS_WIRE_F_RETRANSMITTED;
	if (!ask)
		m->tx.hdr->ack = cpu_to_be64(conn_delivered(cp));
	else if (READ_ONCE(cp->txq.late))
		caps |= RDS_CAP_BITS_LATE;
	conn_build(cp, m, npaths, caps);
	return m;
}

static struct rds_message *conn_make_ack(struct rds_cpath *cp)
{
	struct rds_message *m = rds_message_kernel(0, 0, 0, NULL, GFP_KERNEL);

	if (m)
		m->tx.hdr->ack = cpu_to_be64(conn_delivered(cp));
	return m;
}

/* A message of a lane that comes after this has the flag set again. */
static struct rds_message *conn_make_lanes_ack(struct rds_cpath *cp)
{
	struct rds_rx_lane *lanes = cp->rx.lanes;
	struct rds_message *m;
	__be64 *acks;
	unsigned int i;
	u64 delivered;

	m = rds_message_kernel(RDS_LANES_ACK_BYTES, 0, 0, (void **)&acks,
			       GFP_KERNEL);
	if (!m)
		return NULL;
	WRITE_ONCE(cp->rx.foreign, false);
	/* The receiver writes what is delivered, and then the flag. */
	smp_mb();
	m->tx.hdr->ack = cpu_to_be64(conn_delivered(cp));
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		delivered = rds_rx_lane_delivered(&cp->rx, &lanes[i], true);
		acks[i] = cpu_to_be64(delivered);
	}
	return m;
}

static struct rds_message *conn_make(struct rds_path *path, unsigned int what)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	switch (what) {
	case RDS_DUE_GREETING:
	case RDS_DUE_ANSWER:
		return conn_make_handshake(cp, what == RDS_DUE_GREETING);
	case RDS_DUE_ACK:
		return conn_make_ack(cp);
	case RDS_DUE_LANES:
		return conn_make_lanes_ack(cp);
	case RDS_DUE_JOIN:
		return rds_addrs_make_join(cp->conn);
	case RDS_DUE_ADDRS:
		return rds_addrs_make(cp->conn);
	default:
		return conn_make_map(cp->conn);
	}
}

const struct rds_txq_ops rds_conn_txq_ops = {
	.make		= conn_make,
	.at_fence	= rds_lanes_at_fence,
	.probe_acked	= conn_probe_acked,
};

const struct rds_txq_ops rds_conn_mapless_txq_ops = {
	.at_fence	= rds_lanes_at_fence,
};
