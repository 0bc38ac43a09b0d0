// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Callbacks of TCP, mostly in softirq, always with the socket locked.
 *
 * SOCK_NOSPACE is set while a byte is unacknowledged that the core waits for,
 * so that TCP calls write_space for every acknowledgement and the core learns
 * of it without a change of context.  An acknowledgement that comes with data
 * is reported in data_ready together with the data.  In a dialogue with a peer
 * that acknowledges by number the core waits for nothing else
 * (rds_tx_batch.quiet), so the call of write_space is avoided, which TCP mostly
 * makes ahead of that of data_ready.
 */
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/**
 * rds_tcp_look_acked - look for bytes that the peer has acknowledged
 * @ts: connection; the socket is locked
 *
 * The FIN of this host counts as one byte after all messages, which is
 * harmless.
 *
 * Return: whether rds_tcp_sock.una_pos is news, which has to be reported to the
 * core.
 */
bool rds_tcp_look_acked(struct rds_tcp_sock *ts)
{
	u32 una = READ_ONCE(tcp_sk(ts->sock->sk)->snd_una);

	if (!ts->up || una == ts->una)
		return false;
	ts->una_pos += una - ts->una;
	ts->alive = jiffies;
	WRITE_ONCE(ts->una, una);
	return true;
}

/**
 * rds_tcp_report_acked - report the acknowledged position to the core
 * @ts: connection; the socket is locked
 */
void rds_tcp_report_acked(struct rds_tcp_sock *ts)
{
	if (rds_tcp_look_acked(ts))
		rds_path_acked(ts->path, ts->una_pos);
}

static enum rds_drop_reason end_reason(const struct rds_tcp_sock *ts)
{
	if (!ts->up)
		return RDS_DROP_DIAL_FAILED;
	switch (READ_ONCE(ts->sock->sk->sk_err)) {
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
 * rds_tcp_established - handle that TCP's handshake is complete
 * @ts: connection, attached
 */
void rds_tcp_established(struct rds_tcp_sock *ts)
{
	struct tcp_sock *tp = tcp_sk(ts->sock->sk);

	if (ts->up || ts->closing)
		return;
	ts->una = tp->snd_una;
	ts->una_pos = 0;
	ts->last_start = tp->write_seq;
	ts->last_end = tp->write_seq;
	ts->up = true;
	if (!rds_path_up(ts->path)) {
		ts->up = false;
		return;
	}
	rds_tcp_receive(ts);
}

/**
 * rds_tcp_ended - handle that the peer closed or the connection broke
 * @ts: connection, attached
 */
void rds_tcp_ended(struct rds_tcp_sock *ts)
{
	rds_tcp_receive(ts);
	rds_tcp_report_acked(ts);
	if (!ts->closing)
		rds_path_lost(ts->path, end_reason(ts));
}

static void rds_tcp_data_ready(struct sock *sk)
{
	struct rds_tcp_sock *ts;

	read_lock_bh(&sk->sk_callback_lock);
	ts = sk->sk_user_data;
	if (ts) {
		rds_tcp_stat_inc(ts->tn, tcp_data_ready_calls);
		if (likely(!ts->rx_paused))
			rds_tcp_receive(ts);
		rds_tcp_report_acked(ts);
		if (ts->una == tcp_sk(sk)->write_seq && !ts->tx_blocked &&
		    !ts->closing)
			clear_bit(SOCK_NOSPACE, &ts->sock->flags);
		rds_tcp_look_drained(ts);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void rds_tcp_state_change(struct sock *sk)
{
	struct rds_tcp_sock *ts;

	read_lock_bh(&sk->sk_callback_lock);
	ts = sk->sk_user_data;
	if (!ts)
		goto out;
	switch (sk->sk_state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
	case TCP_FIN_WAIT1:
	case TCP_FIN_WAIT2:
		break;
	case TCP_ESTABLISHED:
		rds_tcp_established(ts);
		break;
	default:
		rds_tcp_ended(ts);
		break;
	}
	rds_tcp_look_drained(ts);
out:
	read_unlock_bh(&sk->sk_callback_lock);
}

static void rds_tcp_unblock(struct rds_tcp_sock *ts)
{
	if (!ts->tx_blocked || !sk_stream_is_writeable(ts->sock->sk))
		return;
	ts->tx_blocked = false;
	rds_path_writable(ts->path);
}

static void rds_tcp_write_space(struct sock *sk)
{
	struct rds_tcp_sock *ts;

	read_lock_bh(&sk->sk_callback_lock);
	ts = sk->sk_user_data;
	if (ts) {
		rds_tcp_stat_inc(ts->tn, tcp_write_space_calls);
		rds_tcp_report_acked(ts);
		rds_tcp_unblock(ts);
		rds_tcp_look_drained(ts);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

/**
 * rds_tcp_retry_after - schedule another attempt
 * @ts: connection
 * @delay: wait, in jiffies
 */
void rds_tcp_retry_after(struct rds_tcp_sock *ts, unsigned long delay)
{
	if (!ts->closed)
		queue_delayed_work(rds_tcp_wq, &ts->retry, delay);
}

/**
 * rds_tcp_retry_later - have the worker go on with what is left
 * @ts: connection
 * @delay: time to wait, in jiffies
 */
void rds_tcp_retry_later(struct rds_tcp_sock *ts, unsigned long delay)
{
	/* The callbacks wait for the worker. */
	if (ts->rx_paused)
		delay = 0;
	/* A later time may be pending, from the pace of the SYNs. */
	if (!ts->closed)
		mod_delayed_work(rds_tcp_wq, &ts->retry, delay);
}

/**
 * rds_tcp_retry - receive and send what was left, and keep the pace of SYNs and
 * retransmissions
 * @work: rds_tcp_sock.retry
 */
void rds_tcp_retry(struct work_struct *work)
{
	struct rds_tcp_sock *ts = container_of(to_delayed_work(work),
					       struct rds_tcp_sock, retry);
	struct sock *sk = ts->sock->sk;

	lock_sock(sk);
	if (!ts->closed) {
		rds_tcp_dial_again(ts);
		rds_tcp_pace(ts);
		rds_tcp_netdev_step(ts);
		if (ts->rx_stalled)
			rds_tcp_receive(ts);
		rds_tcp_unblock(ts);
		if (ts->tx_blocked && tcp_rtx_and_write_queues_empty(sk))
			rds_tcp_retry_later(ts, RDS_TCP_RETRY_TIME);
		rds_tcp_look_drained(ts);
	}
	release_sock(sk);
}

/**
 * rds_tcp_sock_attach - install the callbacks
 * @ts: connection of a path, over which this host has sent no byte; the socket
 *	is locked
 */
void rds_tcp_sock_attach(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;

	sock_owned_by_me(sk);
	write_lock_bh(&sk->sk_callback_lock);
	ts->data_ready = sk->sk_data_ready;
	ts->state_change = sk->sk_state_change;
	ts->write_space = sk->sk_write_space;
	rcu_assign_sk_user_data(sk, ts);
	sk->sk_data_ready = rds_tcp_data_ready;
	sk->sk_state_change = rds_tcp_state_change;
	sk->sk_write_space = rds_tcp_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	set_bit(SOCK_NOSPACE, &ts->sock->flags);
}

/**
 * rds_tcp_sock_detach - remove the callbacks; none of them runs after the
 * return
 * @ts: connection; the socket is locked
 */
void rds_tcp_sock_detach(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;

	sock_owned_by_me(sk);
	ts->closed = true;
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = ts->data_ready;
	sk->sk_state_change = ts->state_change;
	sk->sk_write_space = ts->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	clear_bit(SOCK_NOSPACE, &ts->sock->flags);
}
