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
 * Time for an orderly end: of a connection, and of one whose peer has sent its
 * FIN
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

static bool ts_drained(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;

	if (!ts_ended_by_peer(sk) || READ_ONCE(ts->rx_stalled))
		return false;
	/* The FIN is all that may be left on its way. */
	return READ_ONCE(sk->sk_state) == TCP_CLOSE ||
	       (int)(READ_ONCE(tcp_sk(sk)->write_seq) -
		     READ_ONCE(tcp_sk(sk)->snd_una)) <= 1;
}

/* Meanwhile the callbacks receive and report, and wake this waiter. */
static void ts_drain(struct rds_tcp_sock *ts)
{
	long timeout = ts_ended_by_peer(ts->sock->sk) ? RDS_TCP_LAST_ACK_TIME
						: RDS_TCP_DRAIN_TIME;

	kernel_sock_shutdown(ts->sock, SHUT_WR);
	wait_event_timeout(ts->wait,
			   ts_drained(ts) ||
				   READ_ONCE(ts->rx_state) == RDS_TCP_RX_DEAD,
			   timeout);
}

/* Begin to close.  Returns whether an orderly end with the peer is possible. */
static bool ts_closing(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;
	bool drain;

	lock_sock(sk);
	ts->closing = true;
	/* From here on each acknowledgement wakes ts_drain(). */
	set_bit(SOCK_NOSPACE, &ts->sock->flags);
	rds_tcp_receive(ts);
	drain = ts->up && ts->rx_state != RDS_TCP_RX_DEAD &&
		(sk->sk_state != TCP_CLOSE || ts->rx_stalled);
	release_sock(sk);
	return drain;
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
	list_del_init(&ts->node);
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
	if (ts_closing(ts) && graceful)
		ts_drain(ts);

	lock_sock(sk);
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
