// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections of which it is to be known soon that they are dead, or alive
 * again.
 *
 * TCP's keepalive tries an idle connection.  If bytes are under way, and in
 * time none is acknowledged and no new one comes, the connection is given up
 * here: TCP's own time-out counts from the first retransmission, and kills a
 * connection whose peer answers that its window is closed.  TCP doubles the
 * time between two retransmissions, so a network that is back after some
 * seconds would be used seconds later; here the time stays short.
 */
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/*
 * Time between two looks at a connection that is watched and has bytes under
 * way
 */
#define RDS_TCP_PACE_TIME	(HZ * 3 / 10)
/* Shortest time for a sign of life: an acknowledgement may be delayed. */
#define RDS_TCP_WATCH_MIN	(HZ / 2)

/* Implements &rds_transport.path_watch */
void rds_tcp_path_watch(struct rds_path *path, unsigned int interval,
			unsigned int limit)
{
	struct rds_tcp_path *tp = path->priv;
	struct rds_tcp_sock *ts = tp->ts;
	struct sock *sk = ts->sock->sk;

	lock_sock(sk);
	/* The timer of the keepalive runs, and takes these when it ends. */
	WRITE_ONCE(tcp_sk(sk)->keepalive_time, msecs_to_jiffies(interval));
	WRITE_ONCE(tcp_sk(sk)->keepalive_intvl, msecs_to_jiffies(interval));
	WRITE_ONCE(tcp_sk(sk)->keepalive_probes, limit);
	ts->watched = max_t(unsigned long, msecs_to_jiffies(interval * limit),
			    RDS_TCP_WATCH_MIN);
	ts->alive = jiffies;
	ts->repeats = 0;
	rds_tcp_watch_send(ts);
	release_sock(sk);
}

static bool watch_waits(const struct rds_tcp_sock *ts)
{
	const struct tcp_sock *tp = tcp_sk(ts->sock->sk);

	return tp->snd_una != tp->write_seq;
}

/* The next look, in time for the end of the peer's time */
static void watch_again(struct rds_tcp_sock *ts)
{
	long left = ts->alive + ts->watched - jiffies;

	rds_tcp_retry_after(ts, clamp(left, 1L, (long)RDS_TCP_PACE_TIME));
}

/**
 * rds_tcp_watch_send - bytes are about to be sent: look at the connection while
 * any is under way
 * @ts: connection that is watched, attached; the socket is locked
 */
void rds_tcp_watch_send(struct rds_tcp_sock *ts)
{
	/* Not all acknowledgements are reported as they come. */
	rds_tcp_report_acked(ts);
	if (!watch_waits(ts))
		ts->alive = jiffies;
	if (ts->pacing)
		return;
	ts->pacing = true;
	watch_again(ts);
}

/*
 * A retransmission since the last look had no answer: let the next one follow
 * soon.  Only a retransmission sets the timer anew, or a look ahead of the
 * timer would postpone it for ever.
 */
static void watch_hurry(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;
	struct inet_connection_sock *icsk = inet_csk(sk);
	u8 repeats = icsk->icsk_retransmits;

	if (repeats && repeats != ts->repeats &&
	    icsk->icsk_pending == ICSK_TIME_RETRANS &&
	    icsk->icsk_rto > RDS_TCP_PACE_TIME) {
		icsk->icsk_rto = RDS_TCP_PACE_TIME;
		inet_csk_reset_xmit_timer(sk, ICSK_TIME_RETRANS,
					  RDS_TCP_PACE_TIME, TCP_RTO_MAX);
	}
	ts->repeats = repeats;
}

/*
 * Has the peer closed its window, and answered when TCP asked?  TCP asks in the
 * same way if the own host drops what it sends.
 */
static bool watch_is_closed(const struct sock *sk)
{
	return inet_csk(sk)->icsk_pending == ICSK_TIME_PROBE0 &&
	       !inet_csk(sk)->icsk_probes_out &&
	       tcp_sk(sk)->snd_wnd < tcp_sk(sk)->mss_cache;
}

/*
 * New bytes of the peer are a sign of life, too: its host may be too busy to
 * look at what has come.  A peer to which nothing gets through has soon sent
 * all that its window allows.  If only long segments are lost, which another
 * connection would not mend, TCP gives up.  Only a time within the wait counts:
 * TCP's clock has 32 bits, and may have wrapped since an earlier one.
 */
static void watch_heard(struct rds_tcp_sock *ts)
{
	u32 ago = tcp_jiffies32 -
		  inet_csk(ts->sock->sk)->icsk_ack.lrcvtime;
	unsigned long heard = jiffies - ago;

	if (ago < ts->watched && time_after(heard, ts->alive))
		ts->alive = heard;
}

/**
 * rds_tcp_pace - look at a connection that is watched
 * @ts: connection, attached; the socket is locked
 */
void rds_tcp_pace(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;

	sock_owned_by_me(sk);
	if (!ts->pacing)
		return;
	ts->pacing = sk->sk_state == TCP_ESTABLISHED && !ts->closing &&
		     watch_waits(ts);
	if (!ts->pacing)
		return;
	rds_tcp_report_acked(ts);
	if (watch_is_closed(sk))
		ts->alive = jiffies;
	watch_heard(ts);
	if (time_after_eq(jiffies, ts->alive + ts->watched)) {
		ts->pacing = false;
		rds_path_lost(ts->path, RDS_DROP_PEER_TIMEOUT);
		return;
	}
	watch_hurry(ts);
	watch_again(ts);
}
