// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The clock of a connection: when a peer is asked whether it is there, and when
 * it counts as gone.  Nothing else gives up a peer that is silent: a device may
 * repeat for ever, and a peer that has dialled says how often.
 *
 * An answer is the completion of a message: the device of the peer has it.  So
 * what is under way asks by itself, and is asked for no more often than the
 * device repeats it.  Where nothing is under way a sign of life is sent, a
 * write of no bytes: with SO_KEEPALIVE after TCP_KEEPIDLE without a word, and
 * while bytes wait for room, as TCP probes a window of 0, after 1 s, 2 s, ...
 * 2 min.
 * On iWARP a completion says that TCP has the message; there TCP's own clock
 * gives up, and this one ends what TCP does not take.
 *
 * The end is ETIMEDOUT, when one of these has lasted too long:
 *  - the peer has not taken bytes of the program: TCP_USER_TIMEOUT, from
 *    @moved;
 *  - what is under way has no answer: silent_ms, from @flown, but where
 *    TCP_USER_TIMEOUT decides;
 *  - with SO_KEEPALIVE the same, and no word came: TCP_KEEPCNT times
 *    TCP_KEEPINTVL behind TCP_KEEPIDLE, or TCP_USER_TIMEOUT in place of them.
 *
 * Owner: @clock_work alone asks and ends, and clock_arm() alone queues it, both
 * under rds_ss_conn.lock and only while @closing is not set.  conn_close_work()
 * begins when @closing is set, and cancels the work: nobody queues it after
 * that.  Who closes and who gives up take the same lock, and the first of them
 * sets @closing and the reason; the other one changes nothing.
 *
 * How often it runs: an idle connection without SO_KEEPALIVE has no clock.  One
 * in use has it once a second at most.  That is why an earlier time than the
 * one it is queued for is looked at only when an idle connection gets something
 * to do, not with each message.
 *
 * Nudges: siw is not told of bytes that come while it accepts, until more come
 * (Documentation/rdma.rst).  The end that has dialled sends first, and would
 * wait for an answer; so it sends such writes until one has come.
 */
#include <linux/module.h>

#include "net.h"
#include "sock.h"

/* Times between signs of life of a writer that waits */
#define PROBE_MIN	HZ
#define PROBE_MAX	(120 * HZ)
#define NEVER		LONG_MAX

/* After 250 ms, 750 ms, ... 7.75 s; who accepts waits 10 s */
#define NUDGE_TIME	(HZ / 4)
#define NUDGES		5

static unsigned long later(unsigned long a, unsigned long b)
{
	return time_after(a, b) ? a : b;
}

/* Jiffies until then; 0 or less: it is over */
static long until(unsigned long then)
{
	return (long)(then - jiffies);
}

/* What is under way, and what the peer has not taken */
static void clock_see(struct rds_ss_conn *conn)
{
	bool counts = conn->up && rds_ss_listens(conn->e.state);
	bool flies = counts && rds_ss_flies(&conn->e);
	bool pending = counts && conn->tx.bytes;

	if (flies && !conn->flies)
		conn->flown = jiffies;
	if (pending && !conn->pending)
		conn->moved = jiffies;
	conn->flies = flies;
	conn->pending = pending;
}

/* When SO_KEEPALIVE gives up what is under way */
static unsigned long keep_end(const struct rds_ss_conn *conn)
{
	if (conn->user_timeout)
		return later(conn->heard + conn->user_timeout,
			     conn->flown + conn->keep_intvl);
	return later(conn->heard + conn->keep_idle, conn->flown) +
	       conn->keep_cnt * conn->keep_intvl;
}

/* Time until the peer counts as gone */
static long clock_end(const struct rds_ss_conn *conn)
{
	unsigned int silent = READ_ONCE(conn->sn->silent_ms);
	long end = NEVER;

	if (conn->pending && conn->user_timeout)
		end = until(conn->moved + conn->user_timeout);
	else if (conn->flies)
		end = until(conn->flown + msecs_to_jiffies(silent));
	if (conn->flies && conn->keep_idle)
		end = min(end, until(keep_end(conn)));
	return end;
}

/* Time until a sign of life is due */
static long clock_probe(const struct rds_ss_conn *conn)
{
	unsigned long from = later(conn->moved, conn->probed);
	long due = NEVER;

	if (conn->flies)
		return due;
	if (conn->pending)
		due = until(from + clamp_t(unsigned long, from - conn->moved,
					   PROBE_MIN, PROBE_MAX));
	if (conn->keep_idle)
		due = min(due, until(later(conn->heard + conn->keep_idle,
					   conn->probed + conn->keep_intvl)));
	return due;
}

/*
 * Time until the next look at what is under way, which grows with the silence:
 * nobody queues the work when that ends, and bytes wait for room from then on.
 */
static long clock_step(const struct rds_ss_conn *conn)
{
	long step = clamp_t(long, -until(conn->flown), PROBE_MIN, PROBE_MAX);

	if (conn->user_timeout)
		step = min_t(unsigned long, step, conn->user_timeout);
	return step;
}

/* Queue the work for the next time that matters, if there is one. */
static void clock_arm(struct rds_ss_conn *conn)
{
	long time = min(clock_end(conn), clock_probe(conn));

	lockdep_assert_held(&conn->lock);
	if (conn->flies)
		time = min(time, clock_step(conn));
	if (time == NEVER || conn->closing || !conn->up ||
	    !rds_ss_listens(conn->e.state))
		return;
	time = max(time, 1L);
	conn->ticks = true;
	conn->tick_at = jiffies + time;
	mod_delayed_work(rds_ss_wq, &conn->clock_work, time);
}

void rds_ss_clock_look(struct rds_ss_conn *conn)
{
	bool idle = !conn->flies && !conn->pending;

	lockdep_assert_held(&conn->lock);
	clock_see(conn);
	if (likely(!idle || (!conn->flies && !conn->pending)))
		return;
	if (!conn->ticks || until(conn->tick_at) > clock_step(conn))
		clock_arm(conn);
}

void rds_ss_clock_begin(struct rds_ss_conn *conn)
{
	conn->heard = jiffies;
	conn->moved = jiffies;
	conn->flown = jiffies;
	conn->probed = jiffies;
	clock_arm(conn);
}

void rds_ss_clock_answer(struct rds_ss_conn *conn, bool moved)
{
	lockdep_assert_held(&conn->lock);
	conn->flown = jiffies;
	if (moved)
		conn->moved = jiffies;
	if (!conn->id.dev->props.iwarp)
		conn->heard = jiffies;
}

/* Give up, or ask if that is due. */
static void clock_tick(struct rds_ss_conn *conn)
{
	clock_see(conn);
	if (clock_end(conn) <= 0) {
		rds_ss_count(conn->sn, RDS_SS_STAT_stream_silent, 1);
		rds_ss_conn_close(conn, ETIMEDOUT);
		return;
	}
	if (clock_probe(conn) <= 0) {
		conn->probed = jiffies;
		rds_ss_keepalive(&conn->e);
		rds_ss_pump(conn);
	}
	clock_arm(conn);
}

void rds_ss_clock_work(struct work_struct *work)
{
	struct rds_ss_conn *conn = container_of(to_delayed_work(work),
						struct rds_ss_conn, clock_work);

	spin_lock_bh(&conn->lock);
	conn->ticks = false;
	if (!conn->closing)
		clock_tick(conn);
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
}

void rds_ss_nudge_work(struct work_struct *work)
{
	struct rds_ss_conn *conn = container_of(to_delayed_work(work),
						struct rds_ss_conn, nudge_work);
	unsigned long time;

	spin_lock_bh(&conn->lock);
	if (conn->nudges && !conn->closing) {
		rds_ss_keepalive(&conn->e);
		rds_ss_pump(conn);
		time = NUDGE_TIME << (NUDGES - --conn->nudges);
		if (conn->nudges)
			queue_delayed_work(rds_ss_wq, &conn->nudge_work, time);
	}
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
}

void rds_ss_nudge_begin(struct rds_ss_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->id.dev->props.iwarp || conn->closing)
		return;
	conn->nudges = NUDGES;
	queue_delayed_work(rds_ss_wq, &conn->nudge_work, NUDGE_TIME);
}

void rds_ss_clock_set(struct sock *sk, int keep)
{
	struct rds_ss_sock *ss = rds_ss_sk(sk);
	struct rds_ss_conn *conn = rds_ss_sock_conn(ss);

	if (!conn)
		return;
	spin_lock_bh(&conn->lock);
	conn->keep_idle = keep ? (unsigned long)ss->keep_idle * HZ : 0;
	conn->keep_intvl = (unsigned long)ss->keep_intvl * HZ;
	conn->keep_cnt = ss->keep_cnt;
	conn->user_timeout = msecs_to_jiffies(ss->user_timeout);
	clock_arm(conn);
	spin_unlock_bh(&conn->lock);
	rds_ss_conn_put(conn);
}
