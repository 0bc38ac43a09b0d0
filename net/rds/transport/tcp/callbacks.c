// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What TCP tells us, mostly in softirq, always with the socket locked.
 *
 * SOCK_NOSPACE is set while anything is unacknowledged, so that write_space comes with every
 * acknowledgement: that is how we learn what the peer has.  It costs no hop to another context.
 * An acknowledgement that comes with data is seen in data_ready first, and if it leaves nothing
 * to wait for, write_space is spared.
 */
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/**
 * rds_tcp_report_acked - tell the core what the peer has
 * @conn: connection
 *
 * Its own FIN counts one byte too many, after all messages: harmless.
 */
void rds_tcp_report_acked(struct rds_tcp_conn *conn)
{
	u32 una = READ_ONCE(tcp_sk(conn->sock->sk)->snd_una);

	if (!conn->up || una == conn->una)
		return;
	conn->una_pos += una - conn->una;
	WRITE_ONCE(conn->una, una);
	rds_path_acked(conn->path, conn->una_pos);
}

static enum rds_drop_reason end_reason(const struct rds_tcp_conn *conn)
{
	if (!conn->up)
		return RDS_DROP_DIAL_FAILED;
	switch (READ_ONCE(conn->sock->sk->sk_err)) {
	case 0:
		return RDS_DROP_PEER_CLOSED;
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return RDS_DROP_PEER_TIMEOUT;
	default:
		return RDS_DROP_PEER_RESET;
	}
}

/**
 * rds_tcp_established - the connection exists
 * @conn: connection, attached
 */
void rds_tcp_established(struct rds_tcp_conn *conn)
{
	struct tcp_sock *tp = tcp_sk(conn->sock->sk);

	if (conn->up || conn->closing)
		return;
	conn->una = tp->snd_una;
	conn->una_pos = 0;
	conn->last_start = tp->write_seq;
	conn->last_end = tp->write_seq;
	conn->up = true;
	if (!rds_path_up(conn->path)) {
		conn->up = false;
		return;
	}
	rds_tcp_receive(conn);
}

/**
 * rds_tcp_ended - the peer closed, or the connection broke
 * @conn: connection, attached
 */
void rds_tcp_ended(struct rds_tcp_conn *conn)
{
	rds_tcp_receive(conn);
	rds_tcp_report_acked(conn);
	if (!conn->closing)
		rds_path_lost(conn->path, end_reason(conn));
}

static void rds_tcp_data_ready(struct sock *sk)
{
	struct rds_tcp_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (conn) {
		rds_tcp_stat_inc(conn->tn, tcp_data_ready_calls);
		rds_tcp_receive(conn);
		rds_tcp_report_acked(conn);
		if (conn->una == tcp_sk(sk)->write_seq && !conn->tx_blocked && !conn->closing)
			clear_bit(SOCK_NOSPACE, &conn->sock->flags);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void rds_tcp_state_change(struct sock *sk)
{
	struct rds_tcp_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (!conn)
		goto out;
	switch (sk->sk_state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
	case TCP_FIN_WAIT1:
	case TCP_FIN_WAIT2:
		break;
	case TCP_ESTABLISHED:
		rds_tcp_established(conn);
		break;
	default:
		rds_tcp_ended(conn);
		break;
	}
	wake_up(&conn->wait);
out:
	read_unlock_bh(&sk->sk_callback_lock);
}

static void rds_tcp_unblock(struct rds_tcp_conn *conn)
{
	if (!conn->tx_blocked || !sk_stream_is_writeable(conn->sock->sk))
		return;
	conn->tx_blocked = false;
	rds_path_writable(conn->path);
}

static void rds_tcp_write_space(struct sock *sk)
{
	struct rds_tcp_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (conn) {
		rds_tcp_stat_inc(conn->tn, tcp_write_space_calls);
		rds_tcp_report_acked(conn);
		rds_tcp_unblock(conn);
		if (unlikely(conn->closing))
			wake_up(&conn->wait);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

/**
 * rds_tcp_retry_later - memory was short
 * @conn: connection
 */
void rds_tcp_retry_later(struct rds_tcp_conn *conn)
{
	if (!conn->closed)
		queue_delayed_work(rds_tcp_wq, &conn->retry, RDS_TCP_RETRY_TIME);
}

/**
 * rds_tcp_retry - receive what was left, send what found no memory
 * @work: of the connection
 */
void rds_tcp_retry(struct work_struct *work)
{
	struct rds_tcp_conn *conn = container_of(to_delayed_work(work), struct rds_tcp_conn, retry);
	struct sock *sk = conn->sock->sk;

	lock_sock(sk);
	if (!conn->closed) {
		if (conn->rx_stalled)
			rds_tcp_receive(conn);
		rds_tcp_unblock(conn);
		if (conn->tx_blocked && tcp_rtx_and_write_queues_empty(sk))
			rds_tcp_retry_later(conn);
		wake_up(&conn->wait);
	}
	release_sock(sk);
}

/**
 * rds_tcp_conn_attach - let TCP tell us
 * @conn: connection of a path; nothing was sent over it
 */
void rds_tcp_conn_attach(struct rds_tcp_conn *conn)
{
	struct sock *sk = conn->sock->sk;

	sock_owned_by_me(sk);
	write_lock_bh(&sk->sk_callback_lock);
	conn->data_ready = sk->sk_data_ready;
	conn->state_change = sk->sk_state_change;
	conn->write_space = sk->sk_write_space;
	rcu_assign_sk_user_data(sk, conn);
	sk->sk_data_ready = rds_tcp_data_ready;
	sk->sk_state_change = rds_tcp_state_change;
	sk->sk_write_space = rds_tcp_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	set_bit(SOCK_NOSPACE, &conn->sock->flags);
}

/**
 * rds_tcp_conn_detach - no callback of ours comes after this
 * @conn: connection
 */
void rds_tcp_conn_detach(struct rds_tcp_conn *conn)
{
	struct sock *sk = conn->sock->sk;

	sock_owned_by_me(sk);
	conn->closed = true;
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = conn->data_ready;
	sk->sk_state_change = conn->state_change;
	sk->sk_write_space = conn->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	clear_bit(SOCK_NOSPACE, &conn->sock->flags);
}
