// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages of the kernel's own: pongs, handshakes, congestion maps
 * (protocol.rst 2.5 to 2.7).
 */
#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "msg/message.h"
#include "netns.h"
#include "proto/exthdr.h"

/*
 * Queue a probe.  The worker transmits it, because the caller may be in
 * softirq.
 */
static bool conn_send_probe(struct rds_cpath *cp, u16 sport, u16 dport,
			    bool handshake)
{
	struct rds_message *m = rds_message_kernel(0, sport, dport, NULL,
						   GFP_ATOMIC);

	if (!m) {
		rds_drop(cp->pub.net, RDS_DROP_NO_MEMORY);
		return false;
	}
	if (handshake)
		rds_handshake_build(m->tx.hdr->exthdr, cp->conn->nr_paths,
				    rds_generation(&cp->pub), false);
	rds_stats_inc(cp->conn->rn, send_pong);
	if (rds_txq_add_probe(&cp->txq, m))
		rds_cpath_kick(cp);
	return true;
}

void rds_conn_greet(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->conn;

	if (!(conn->trans->caps & RDS_CAP_MULTIPATH) || conn->npaths ||
	    conn->handshake_sent)
		return;
	conn->handshake_sent = conn_send_probe(cp, RDS_PROBE_PORT,
					       RDS_PING_PORT, true);
}

void rds_conn_ping(struct rds_path *path, u16 sport)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	if (!rds_cong_test(cp->conn->fmap, sport))
		conn_send_probe(cp, RDS_PING_PORT, sport, false);
}

/*
 * Record whether the peer is this namespace.  An address can move to this host
 * and away again, also to a host that names no generation.  Changes of the map
 * that were not sent in between are due then.
 */
static void conn_set_same(struct rds_conn *conn, bool same)
{
	if (conn->same == same)
		return;
	WRITE_ONCE(conn->same, same);
	rds_cong_mirror_set(&conn->mirror, same);
	if (!same && rds_txq_map_due(&conn->paths[0]->txq))
		rds_cpath_kick(conn->paths[0]);
}

/* Compare the peer's generation with the last one known. */
void rds_conn_generation(struct rds_conn *conn, u32 gen)
{
	unsigned int i;

	conn_set_same(conn, gen && gen == rds_generation(&conn->paths[0]->pub));
	if (!gen || gen == conn->peer_gen)
		return;
	if (conn->peer_gen) {
		rds_drop(conn->rn->net, RDS_DROP_PEER_REBOOTED);
		for (i = 0; i < conn->nr_paths; i++) {
			rds_txq_peer_rebooted(&conn->paths[i]->txq);
			conn->paths[i]->rx.expected = 0;
		}
	}
	conn->peer_gen = gen;
}

void rds_conn_handshake(struct rds_path *path, const struct rds_handshake *hs,
			bool answer)
{
	struct rds_cpath *cp = rds_to_cpath(path);
	struct rds_conn *conn = cp->conn;

	/* The answer is numbered before a new generation resets the numbers. */
	if (answer)
		conn_send_probe(cp, RDS_PING_PORT, RDS_PROBE_PORT, true);
	rds_conn_generation(conn, hs->has_gen ? hs->gen : 0);
	if (hs->has_npaths)
		conn->npaths = clamp_t(unsigned int, hs->npaths, 1,
				       conn->nr_paths);
	else if (!conn->npaths)
		conn->npaths = 1;
	conn->handshake_sent = false;
}

struct rds_message *rds_conn_make_map(struct rds_path *path)
{
	struct rds_conn *conn = rds_to_cpath(path)->conn;
	struct rds_message *m;
	void *bits;

	m = rds_message_kernel(RDS_CONG_MAP_BYTES, 0, 0, &bits, GFP_KERNEL);
	if (!m)
		return NULL;
	m->tx.hdr->flags = RDS_WIRE_F_CONG;
	rds_cong_snapshot(conn->lmap, bits);
	return m;
}
