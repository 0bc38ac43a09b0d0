// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of a connection.
 *
 * A peer takes bytes that TCP has acknowledged for delivered.  So a connection
 * ends with a FIN: the received bytes are read up to the peer's FIN, and the
 * bytes that the peer has acknowledged until then are reported, before the path
 * gets another connection.
 */
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/*
 * Time for an orderly end, in jiffies: of a connection, and of one whose peer
 * has sent its FIN
 */
#define RDS_TCP_DRAIN_TIME	(2 * HZ)
#define RDS_TCP_LAST_ACK_TIME	(HZ / 10)

static bool ts_ended_by_peer(const struct sock *sk)
{
	switch (READ_ONCE(sk->sk_state)) {
	case TCP_CLOSE_WAIT:
	case TCP_LAST_ACK:
	case TCP_CLOSING:
	case TCP_TIME_WAIT:
	case TCP_CLOSE:
		return true;
	default:
		return false;
	}
}

/* Has all come that an orderly end waits for, or can no more come? */
static bool ts_is_over(const struct rds_tcp_sock *ts)
{
	const struct sock *sk = ts->sock->sk;

	if (ts->rx_state == RDS_TCP_RX_DEAD)
		return true;
	if (!ts_ended_by_peer(sk) || ts->rx_stalled)
		return false;
	/* The FIN is all that may be left on its way. */
	return sk->sk_state == TCP_CLOSE ||
	       (int)(tcp_sk(sk)->write_seq - tcp_sk(sk)->snd_una) <= 1;
}

/**
 * rds_tcp_look_drained - tell the core if it need not wait any more
 * @ts: connection, attached; the socket is locked
 *
 * The callbacks call this after they have received and reported.
 */
void rds_tcp_look_drained(struct rds_tcp_sock *ts)
{
	if (likely(!ts->closing) || ts->drained || !ts_is_over(ts))
		return;
	ts->drained = true;
	rds_path_drained(ts->path);
}

/*
 * Begin to close.  Returns how long an orderly end with the peer may take, in
 * jiffies, or 0 if none is possible.
 */
static unsigned long ts_closing(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;

	sock_owned_by_me(sk);
	ts->closing = true;
	/* From here on each acknowledgement calls rds_tcp_look_drained(). */
	set_bit(SOCK_NOSPACE, &ts->sock->flags);
	rds_tcp_receive(ts);
	if (!ts->up || ts->rx_state == RDS_TCP_RX_DEAD ||
	    (sk->sk_state == TCP_CLOSE && !ts->rx_stalled))
		return 0;
	if (ts_ended_by_peer(sk))
		return RDS_TCP_LAST_ACK_TIME;
	return RDS_TCP_DRAIN_TIME;
}

/* Implements &rds_transport.path_drain */
unsigned long rds_tcp_path_drain(struct rds_path *path)
{
	struct rds_tcp_path *tp = path->priv;
	struct rds_tcp_sock *ts = tp->ts;
	unsigned long wait;

	if (!ts)
		return 0;
	lock_sock(ts->sock->sk);
	wait = ts_closing(ts);
	release_sock(ts->sock->sk);
	if (!wait)
		return 0;
	kernel_sock_shutdown(ts->sock, SHUT_WR);
	/* The peer may have closed before, and then no callback comes. */
	lock_sock(ts->sock->sk);
	rds_tcp_look_drained(ts);
	release_sock(ts->sock->sk);
	return wait;
}

/* Take all that the peer has sent, in as many runs as it takes. */
static void ts_receive_last(struct rds_tcp_sock *ts)
{
	sock_owned_by_me(ts->sock->sk);
	ts->rx_last = true;
	while (rds_tcp_receive(ts))
		cond_resched();
}

static void path_clear_sock(struct rds_path *path, struct rds_tcp_sock *ts)
{
	struct rds_tcp_path *tp = path->priv;

	spin_lock_bh(&ts->tn->lock);
	tp->ts = NULL;
	rds_walk_del(&ts->tn->socks, &ts->node);
	spin_unlock_bh(&ts->tn->lock);
}

/* Implements &rds_transport.path_close */
void rds_tcp_path_close(struct rds_path *path, bool graceful)
{
	struct rds_tcp_path *tp = path->priv;
	struct rds_tcp_sock *ts = tp->ts;
	struct sock *sk;

	if (!ts)
		return;
	sk = ts->sock->sk;
	lock_sock(sk);
	ts->closing = true;
	ts->drained = true;
	ts_receive_last(ts);
	rds_tcp_report_acked(ts);
	rds_tcp_sock_detach(ts);
	release_sock(sk);
	/* No notifier queues the work once the list lacks the connection. */
	path_clear_sock(path, ts);
	cancel_delayed_work_sync(&ts->retry);

	rds_rx_free(ts->inc);
	if (graceful)
		rds_tcp_release_fin(ts->sock);
	else
		rds_tcp_release_rst(ts->sock);
	rds_tcp_sock_free(ts);
}
