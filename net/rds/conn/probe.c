// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages of the kernel's own: pongs, handshakes, congestion maps
 * (protocol.rst 2.5 to 2.7), and acknowledgements (wire.rst).
 */
#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "msg/message.h"
#include "netns.h"
#include "proto/exthdr.h"

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
	u32 caps = RDS_CAP_BITS_ACK;

	if (rds_path_shows_index(&cp->pub))
		caps |= RDS_CAP_BITS_PATHS |
			cp->pub.index << RDS_CAP_BITS_INDEX_SHIFT;
	return caps;
}

/*
 * Queue a probe.  The worker transmits it, because the caller may be in
 * softirq.
 */
static bool conn_send_probe(struct rds_cpath *cp, u16 sport, u16 dport,
			    bool handshake, u32 caps)
{
	struct rds_message *m = rds_message_kernel(0, sport, dport, NULL,
						   GFP_ATOMIC);

	if (!m) {
		rds_drop(cp->pub.net, RDS_DROP_NO_MEMORY);
		return false;
	}
	if (handshake)
		rds_handshake_build(m->tx.hdr->exthdr, RDS_OFFERED_PATHS,
				    rds_generation(&cp->pub), false, caps);
	rds_stats_inc(cp->conn->rn, send_pong);
	if (rds_txq_add_probe(&cp->txq, m))
		rds_cpath_kick(cp);
	return true;
}

void rds_conn_greet(struct rds_cpath *cp)
{
	struct rds_session *session = &cp->conn->session;

	if (!(cp->conn->trans->caps & RDS_CAP_MULTIPATH) ||
	    (READ_ONCE(cp->txq.greeted) && !READ_ONCE(cp->txq.dropped)) ||
	    !rds_session_ask(session))
		return;
	if (!conn_send_probe(cp, RDS_PROBE_PORT, RDS_PING_PORT, true,
			     conn_caps(cp)))
		rds_session_not_asked(session);
}

void rds_conn_ping(struct rds_path *path, u16 sport)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	if (!rds_cong_test(cp->conn->fmap, sport))
		conn_send_probe(cp, RDS_PING_PORT, sport, false, 0);
}

bool rds_conn_generation(struct rds_cpath *cp, u32 gen)
{
	struct rds_conn *conn = cp->conn;
	struct rds_session_news news;

	news = rds_session_generation(&conn->session, gen,
				      rds_generation(&cp->pub), &conn->mirror);
	/* Changes of the map that were not sent in between are due now. */
	if (news.same_ended &&
	    rds_txq_due(&conn->paths[0]->txq, RDS_DUE_MAP))
		rds_cpath_kick(conn->paths[0]);
	if (news.restarted)
		rds_drop(cp->pub.net, RDS_DROP_PEER_REBOOTED);
	return news.restarted;
}

void rds_conn_handshake(struct rds_path *path, const struct rds_handshake *hs,
			bool ask, u64 have)
{
	struct rds_cpath *cp = rds_to_cpath(path);
	bool acks = rds_handshake_acks(hs);
	unsigned long since;

	/* What an old peer does not know is not sent to it. */
	if (ask && !acks)
		conn_send_probe(cp, RDS_PING_PORT, RDS_PROBE_PORT, true, 0);
	rds_conn_generation(cp, hs->has_gen ? hs->gen : 0);
	/* The queue first, then the session: see conn_is_silent(). */
	if (!rds_session_is_outdated(&cp->conn->session, hs) &&
	    rds_txq_heard(&cp->txq, acks, ask, have))
		rds_cpath_kick(cp);
	rds_session_heard(&cp->conn->session, hs, RDS_OFFERED_PATHS);
	if (rds_handshake_paths(hs))
		rds_lanes_raise(cp->conn);
	else if (!READ_ONCE(cp->conn->session.paths))
		rds_lanes_end(cp->conn);
	if (rds_txq_undecided(&cp->txq, &since))
		rds_cpath_control(cp, RDS_PATH_ANSWER_TIME);
}

void rds_conn_misplaced(struct rds_path *path, const struct rds_handshake *hs)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	rds_conn_generation(cp, hs->gen);
	rds_session_heard(&cp->conn->session, hs, RDS_OFFERED_PATHS);
	rds_path_lost(path, RDS_DROP_WRONG_PATH);
	if (!READ_ONCE(cp->conn->session.paths))
		rds_lanes_end(cp->conn);
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
	rds_lanes_end(cp->conn);
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

void rds_conn_acked(struct rds_path *path, u64 seq)
{
	if (rds_txq_acked_number(path->txq, seq))
		rds_cpath_kick(rds_to_cpath(path));
}

void rds_conn_ack(struct rds_cpath *cp)
{
	if (rds_txq_ack_due(&cp->txq))
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

/*
 * A handshake without a number.  A peer that knows numbers of this host, and is
 * an old one after all, drops it as a duplicate.
 */
static struct rds_message *conn_make_handshake(struct rds_cpath *cp, bool ask)
{
	u32 caps = conn_caps(cp);
	struct rds_message *m;

	m = rds_message_kernel(0, ask ? RDS_PROBE_PORT : RDS_PING_PORT,
			       ask ? RDS_PING_PORT : RDS_PROBE_PORT, NULL,
			       GFP_KERNEL);
	if (!m)
		return NULL;
	if (READ_ONCE(cp->txq.used))
		m->tx.hdr->flags = RDS_WIRE_F_RETRANSMITTED;
	if (!ask)
		m->tx.hdr->ack = cpu_to_be64(READ_ONCE(cp->rx.delivered));
	else if (READ_ONCE(cp->txq.late))
		caps |= RDS_CAP_BITS_LATE;
	rds_handshake_build(m->tx.hdr->exthdr, RDS_OFFERED_PATHS,
			    rds_generation(&cp->pub), false, caps);
	rds_stats_inc(cp->conn->rn, send_pong);
	return m;
}

static struct rds_message *conn_make_ack(struct rds_cpath *cp)
{
	struct rds_message *m = rds_message_kernel(0, 0, 0, NULL, GFP_KERNEL);

	if (m)
		m->tx.hdr->ack = cpu_to_be64(READ_ONCE(cp->rx.delivered));
	return m;
}

struct rds_message *rds_conn_make(struct rds_path *path, unsigned int what)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	switch (what) {
	case RDS_DUE_GREETING:
	case RDS_DUE_ANSWER:
		return conn_make_handshake(cp, what == RDS_DUE_GREETING);
	case RDS_DUE_ACK:
		return conn_make_ack(cp);
	default:
		return conn_make_map(cp->conn);
	}
}
