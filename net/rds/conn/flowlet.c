// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Small messages go around lanes with large ones.
 *
 * A flow whose peer has delivered all of its messages has no order to keep with
 * a message that follows: this begins a flowlet, which may take another lane
 * than the ports of the flow say.  It stays there until all is delivered again.
 * Only acknowledgements by number tell that; with other peers no flow leaves
 * its lane.
 *
 * A socket remembers this of one flow, the one that it sends in: rds_sock.flow.
 * The messages of all others go over the lanes that their ports say.  A flow
 * that is on another lane is not forgotten before its flowlet is over.  So a
 * flow of the socket that is not remembered has nothing on another lane.  What
 * an earlier socket of the port has sent is not known.
 */
#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "msg/message.h"
#include "send/bulk.h"
#include "sock/state.h"

/* Has the peer delivered all messages of the flow? */
static bool flowlet_is_over(const struct rds_conn *conn,
			    const struct rds_sock_flow *f)
{
	const struct rds_cpath *cp = rds_conn_path(conn, f->lane);

	return cp && rds_txq_delivered(&cp->txq) >= f->last;
}

/*
 * Remember another flow of the socket.  Returns false if the present one has to
 * be kept.  It is not known yet what the peer has of the new one: an earlier
 * socket may have used the port.
 */
static bool flowlet_enter(struct rds_sock_flow *f, const struct rds_conn *conn,
			  u16 dport, unsigned int usual, unsigned int nr)
{
	bool away = f->conn && f->lane != f->usual;

	if (f->users)
		return false;
	if (away && (f->conn != conn || !flowlet_is_over(conn, f)))
		return false;
	f->last = U64_MAX;
	f->conn = conn;
	f->dport = dport;
	f->nr = nr;
	f->usual = usual;
	f->lane = usual;
	return true;
}

/*
 * Another number of lanes is fenced: what was queued before goes ahead of all
 * that follows, and a sender that has chosen has to choose again.
 */
static void flowlet_recount(struct rds_sock_flow *f, unsigned int usual,
			    unsigned int nr)
{
	if (f->nr == nr)
		return;
	f->last = U64_MAX;
	f->nr = nr;
	f->usual = usual;
	f->lane = usual;
}

/*
 * A lane of small messages instead of one that has large ones: of a path that
 * is up, or else of one that was not made yet.
 */
static unsigned int flowlet_lane(const struct rds_conn *conn,
				 unsigned int usual, unsigned int nr)
{
	const struct rds_cpath *cp = rds_conn_path(conn, usual);
	unsigned int n, i, other = usual;

	if (!cp || !rds_txq_has_bulk(&cp->txq))
		return usual;
	for (n = 1; n < nr; n++) {
		i = (usual + n) & (nr - 1);
		cp = rds_conn_path(conn, i);
		if (!cp && other == usual)
			other = i;
		if (cp && rds_cpath_state(cp) == RDS_PATH_UP &&
		    rds_txq_is_quick(&cp->txq))
			return i;
	}
	return other;
}

unsigned int rds_flowlet_begin(const struct rds_conn *conn,
			       const struct rds_message *m, unsigned int usual,
			       unsigned int nr, struct rds_sock **user)
{
	struct rds_sock_flow *f = &m->owner->flow;
	u16 dport = be16_to_cpu(m->tx.hdr->dport);
	bool small = m->tx.bytes < RDS_TXQ_BULK_BYTES;

	*user = m->owner;
	spin_lock(&m->owner->lock);
	if (f->conn == conn && f->dport == dport)
		flowlet_recount(f, usual, nr);
	else if (!flowlet_enter(f, conn, dport, usual, nr))
		goto out;
	if (!f->users && flowlet_is_over(conn, f))
		f->lane = small ? flowlet_lane(conn, usual, nr) : usual;
	usual = f->lane;
out:
	/* Senders in other flows count, too: these may be remembered next. */
	f->users++;
	spin_unlock(&m->owner->lock);
	return usual;
}

void rds_flowlet_end(struct rds_sock *user, const struct rds_cpath *cp)
{
	struct rds_sock_flow *f = &user->flow;

	spin_lock(&user->lock);
	f->users--;
	/*
	 * An upper bound: other flows of the lane may have sent since.  Numbers
	 * of another connection, or lane, say nothing about the flow.
	 */
	if (cp && cp->conn == f->conn && cp->pub.index == f->lane)
		f->last = rds_txq_last(&cp->txq);
	spin_unlock(&user->lock);
}
