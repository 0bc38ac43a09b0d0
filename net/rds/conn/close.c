// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The end of a connection, see close.h. */
#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "conn/close.h"
#include "conn/conn.h"
#include "conn/idle.h"
#include "conn/internal.h"
#include "conn/pace.h"
#include "conn/path.h"
#include "netns.h"
#include "send/carry.h"

/* Longest wait for the peer of a connection that has to make room */
#define ROOM_TIME	(HZ / 4)

void rds_cpath_unmap(struct rds_cpath *cp)
{
	if (!cp->rx.mapped)
		return;
	WRITE_ONCE(cp->rx.mapped, false);
	rds_cong_source_del(cp->rx.fmap);
}

/* The peer is silent, and takes repeats: nothing is worth a wait. */
static bool close_is_in_vain(const struct rds_cpath *cp)
{
	return cp->watched && (cp->reason == RDS_DROP_PEER_TIMEOUT ||
			       cp->reason == RDS_DROP_NETWORK_GONE);
}

/*
 * How long to wait for the peer's end, if the transport would wait for @wait.
 * Hosts that do not answer must not keep their place from those that come.  An
 * old peer may send its first message now, and does not repeat what TCP has
 * acknowledged, so it gets the time to see the FIN; one that leaves a handshake
 * unanswered counts as old.  A peer that acknowledges by number repeats the
 * message.  A peer that has just connected and says nothing has no message.
 */
static unsigned long close_patience(struct rds_conn *conn, unsigned long wait)
{
	enum rds_peer_kind kind = rds_conn_peer_kind(conn);

	if (!READ_ONCE(conn->guest.evicted))
		return wait;
	if (rds_idle_only_greeted(conn) &&
	    (kind == RDS_PEER_ACKS || kind == RDS_PEER_UNKNOWN))
		return 0;
	return min_t(unsigned long, wait, ROOM_TIME);
}

/* Stop to transmit, and have the transport tell the peer. */
static void close_begin(struct rds_cpath *cp, bool graceful)
{
	unsigned long wait = 0;
	bool moved;

	lockdep_assert_held(&cp->ctl);
	cp->closing = true;
	rds_txq_close(&cp->txq);
	/*
	 * Other paths go on with the messages, and the peer knows repeats,
	 * unless all of them end for there are no messages.
	 */
	moved = rds_lanes_forsake(cp);
	cp->graceful = graceful && !close_is_in_vain(cp) &&
		       (!moved || rds_idle_rests(cp));
	WRITE_ONCE(cp->drained, false);
	if (cp->graceful && cp->pub.trans->path_drain)
		wait = cp->pub.trans->path_drain(&cp->pub);
	cp->drain_until = jiffies + close_patience(cp->conn, wait);
}

/* Forget what was true of the closed connection alone. */
static void close_forget(struct rds_cpath *cp)
{
	WRITE_ONCE(cp->attaching, false);
	WRITE_ONCE(cp->watched, false);
	WRITE_ONCE(cp->cut_off, false);
	WRITE_ONCE(cp->probing, false);
	/* A peer that is gone does not clear the bits of its map. */
	if (!cp->rx.heard)
		rds_cpath_unmap(cp);
	rds_pace_lost(cp);
	WRITE_ONCE(cp->rx.heard, false);
	cp->closing = false;
}

/*
 * CLOSING to DOWN: received messages are delivered, unacknowledged ones are
 * queued again.
 */
static void close_end(struct rds_cpath *cp)
{
	lockdep_assert_held(&cp->ctl);
	cp->pub.trans->path_close(&cp->pub, cp->graceful);
	/* What is acknowledged is not sent again. */
	rds_txq_tidy(&cp->txq);
	if (cp->ended)
		rds_idle_note_told(cp);
	rds_txq_rewind(&cp->txq);
	rds_lanes_carry(cp->conn);
	rds_rx_state_end(&cp->rx);
	if (!cp->pub.index || cp->reason != RDS_DROP_WRONG_PATH)
		rds_conn_lost(cp);
	close_forget(cp);
	if (cp->reason != RDS_DROP_IDLE)
		rds_stats_inc(cp->conn->rn, conn_reset);
	rds_cpath_event(cp, RDS_EV_CLOSED, RDS_DROP_NONE);
}

/* Time until the peer is not waited for any more, in jiffies */
static long close_wait(const struct rds_cpath *cp)
{
	return READ_ONCE(cp->drained) ? 0 : cp->drain_until - jiffies;
}

bool rds_cpath_close_step(struct rds_cpath *cp)
{
	long wait;

	if (!cp->closing)
		close_begin(cp, true);
	wait = close_wait(cp);
	if (wait <= 0) {
		close_end(cp);
		return true;
	}
	rds_cpath_control_by(cp, wait);
	/* The worker may have been queued at once, by rds_path_drained(). */
	if (READ_ONCE(cp->drained))
		rds_cpath_control(cp, 0);
	return false;
}

void rds_cpath_close_now(struct rds_cpath *cp)
{
	if (!cp->closing)
		close_begin(cp, false);
	cp->graceful = false;
	close_end(cp);
}

void rds_path_drained(struct rds_path *path)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	WRITE_ONCE(cp->drained, true);
	rds_cpath_control(cp, 0);
}
EXPORT_SYMBOL_NS_GPL(rds_path_drained, RDS_NS);
