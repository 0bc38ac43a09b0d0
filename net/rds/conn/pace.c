// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * When a path that is down dials.
 *
 * The wait between two dials doubles up to reconnect_max, which is the pace for
 * a peer that is expected back soon.  A peer that cannot be reached for minutes
 * is dialled more and more rarely, and no more in the end unless a message
 * waits for it: thousands of peers that are gone must not cost a dial each
 * second.  The pace is the usual one again as soon as the peer knocks, or
 * another path to it comes up or is lost, or a message waits while none did.
 *
 * An old peer whose address is larger knocks only when a message is sent, so
 * one that it sent before may wait for this end.  Such a peer is given up last.
 */
#include <linux/minmax.h>
#include <linux/random.h>

#include "conn/addrs.h"
#include "conn/conn.h"
#include "conn/idle.h"
#include "conn/internal.h"
#include "conn/pace.h"
#include "conn/path.h"
#include "netns.h"

/* Connections in a row that the peer ends soon after it has sent something */
#define MAX_SHORT	8
/* Time for which a peer is dialled at the usual pace */
#define PATIENCE	(120 * HZ)
/* Longest wait; it is reached four times as long after PATIENCE. */
#define LONGEST_WAIT	(60 * HZ)
/* The same while no message waits */
#define LONGEST_REST	(600 * HZ)
/*
 * Times after which a peer is not dialled any more for which no message waits:
 * one that calls by itself, and one that may not
 */
#define GIVE_UP_TIME	(300 * HZ)
#define GIVE_UP_OLD	(24 * 3600 * HZ)

unsigned long rds_pace_failing(const struct rds_cpath *cp)
{
	return jiffies - READ_ONCE(cp->failing_since);
}

static unsigned long pace_max(const struct rds_cpath *cp)
{
	unsigned long max = READ_ONCE(cp->conn->rn->sysctl.reconnect_max);
	unsigned long failing = rds_pace_failing(cp);

	if (failing < PATIENCE)
		return max;
	return max(max, min_t(unsigned long, (failing - PATIENCE) / 4,
			      cp->needed ? LONGEST_WAIT : LONGEST_REST));
}

void rds_pace_dial(struct rds_cpath *cp)
{
	unsigned long min = READ_ONCE(cp->conn->rn->sysctl.reconnect_min);

	lockdep_assert_held(&cp->ctl);
	cp->backoff = clamp(cp->backoff * 2, min, max(min, pace_max(cp)));
	WRITE_ONCE(cp->dialled, jiffies);
}

/* Did the dial that failed take as long as the wait before the next one? */
static bool pace_dialled_long(const struct rds_cpath *cp)
{
	return cp->reason == RDS_DROP_DIAL_FAILED &&
	       time_after_eq(jiffies, cp->dialled + cp->backoff);
}

static void pace_set(struct rds_cpath *cp)
{
	cp->dial_after = jiffies;
	if (cp->backoff && !pace_dialled_long(cp))
		cp->dial_after += 1 + get_random_u32_below(cp->backoff);
}

/*
 * The peer is there if it sent over the connection, unless it has ended several
 * in a row soon after that.  The back-off starts anew after a connection that
 * was of use, that is, the peer sent over it and it lasted.  A peer that ends
 * each connection soon is dialled at growing intervals; one that does not
 * answer has been dialled all the time, and may be back.
 */
void rds_pace_lost(struct rds_cpath *cp)
{
	lockdep_assert_held(&cp->ctl);
	if (cp->steady)
		cp->short_ones = 0;
	if (cp->rx.heard && cp->short_ones < MAX_SHORT) {
		WRITE_ONCE(cp->failing_since, jiffies);
		cp->backoff = cp->steady ? 0 : min(cp->backoff, pace_max(cp));
		cp->short_ones += !cp->steady;
	}
	pace_set(cp);
}

/* Dial at the usual pace again, from now on. */
static void pace_anew(struct rds_cpath *cp)
{
	WRITE_ONCE(cp->failing_since, jiffies);
	cp->backoff = min(cp->backoff, pace_max(cp));
	if ((long)(cp->dial_after - jiffies) > (long)cp->backoff)
		pace_set(cp);
}

/* Does a message wait for this path, or the peer for a dial? */
static bool pace_is_needed(struct rds_cpath *cp)
{
	if (READ_ONCE(cp->dial_wanted) || rds_lanes_need(cp))
		return true;
	return rds_txq_is_needed(&cp->txq);
}

void rds_pace_look(struct rds_cpath *cp)
{
	bool needed = pace_is_needed(cp);
	bool news = needed && !cp->needed;

	lockdep_assert_held(&cp->ctl);
	cp->needed = needed;
	if (news)
		pace_anew(cp);
}

long rds_pace_wait(struct rds_cpath *cp)
{
	long wait;

	lockdep_assert_held(&cp->ctl);
	if (READ_ONCE(cp->hope)) {
		WRITE_ONCE(cp->hope, false);
		pace_anew(cp);
	}
	wait = cp->dial_after - jiffies;
	return wait <= (long)cp->backoff ? wait : 0;
}

/* Does the peer call as long as it has a message for this host? */
static bool pace_peer_calls(const struct rds_cpath *cp)
{
	return !(cp->pub.trans->caps & RDS_CAP_SMALLER_DIALS) ||
	       rds_conn_peer_kind(cp->conn) == RDS_PEER_ACKS;
}

bool rds_pace_is_over(const struct rds_cpath *cp)
{
	unsigned long limit = pace_peer_calls(cp) ? GIVE_UP_TIME : GIVE_UP_OLD;

	return rds_pace_failing(cp) >= limit && !READ_ONCE(cp->hope);
}

bool rds_pace_wants(struct rds_cpath *cp)
{
	bool local = cp->pub.trans->caps & RDS_CAP_LOCAL_ONLY;
	bool counted = cp->pub.index &&
		       rds_session_is_counted(&cp->conn->session);

	lockdep_assert_held(&cp->ctl);
	if (READ_ONCE(cp->conn->dead) ||
	    !rds_lanes_dial(cp->conn, cp->pub.index))
		return false;
	/* Such a peer does not notice a knock for a further path. */
	if (counted)
		return cp->pub.dials;
	if (cp->needed)
		return true;
	if (rds_idle_rests(cp))
		return false;
	if (rds_addrs_keep(cp))
		return true;
	/*
	 * An old peer does not ask for a dial, so the end that dials keeps a
	 * used path up.
	 */
	return cp->pub.dials && rds_cpath_used(cp) && !local &&
	       !rds_pace_is_over(cp);
}

void rds_pace_hope(struct rds_cpath *cp)
{
	enum rds_cpath_state state = rds_cpath_state(cp);

	if (state != RDS_PATH_DOWN && state != RDS_PATH_CONNECTING)
		return;
	if (rds_pace_failing(cp) < PATIENCE)
		return;
	WRITE_ONCE(cp->hope, true);
	rds_cpath_control(cp, 0);
}

void rds_pace_hope_others(struct rds_cpath *cp)
{
	struct rds_cpath *other;
	unsigned int i;

	rds_conn_for_each_path(cp->conn, i, other) {
		if (other != cp)
			rds_pace_hope(other);
	}
}
