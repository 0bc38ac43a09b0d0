// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of a connection.
 *
 * What our TCP acknowledged, the peer takes for delivered, and the other way round.  So a
 * connection ends with a FIN; what the peer still sends is read up to its FIN, and what it has
 * acknowledged until then is reported, before the path goes on.
 */
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

static bool conn_ended_by_peer(const struct sock *sk)
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

static bool conn_drained(struct rds_tcp_conn *conn)
{
	struct sock *sk = conn->sock->sk;

	if (!conn_ended_by_peer(sk) || READ_ONCE(conn->rx_stalled))
		return false;
	/* The FIN is all that may be left on its way. */
	return READ_ONCE(sk->sk_state) == TCP_CLOSE ||
	       (int)(READ_ONCE(tcp_sk(sk)->write_seq) - READ_ONCE(tcp_sk(sk)->snd_una)) <= 1;
}

/* The callbacks go on receiving and reporting meanwhile, and wake us. */
static void conn_drain(struct rds_tcp_conn *conn)
{
	long timeout = conn_ended_by_peer(conn->sock->sk) ? RDS_TCP_LAST_ACK_TIME
							   : RDS_TCP_DRAIN_TIME;

	kernel_sock_shutdown(conn->sock, SHUT_WR);
	wait_event_timeout(conn->wait,
			   conn_drained(conn) || READ_ONCE(conn->rx_state) == RDS_TCP_RX_DEAD,
			   timeout);
}

/* Begin to close.  Returns whether there is somebody to say good-bye to. */
static bool conn_closing(struct rds_tcp_conn *conn)
{
	struct sock *sk = conn->sock->sk;
	bool drain;

	lock_sock(sk);
	conn->closing = true;
	rds_tcp_receive(conn);
	drain = conn->up && conn->rx_state != RDS_TCP_RX_DEAD &&
		(sk->sk_state != TCP_CLOSE || conn->rx_stalled);
	release_sock(sk);
	return drain;
}

static void path_clear_conn(struct rds_path *path, struct rds_tcp_conn *conn)
{
	struct rds_tcp_path *tp = path->priv;

	spin_lock_bh(&conn->tn->lock);
	tp->conn = NULL;
	list_del_init(&conn->node);
	spin_unlock_bh(&conn->tn->lock);
}

/* Implements &rds_transport.path_close */
void rds_tcp_path_close(struct rds_path *path, bool graceful)
{
	struct rds_tcp_path *tp = path->priv;
	struct rds_tcp_conn *conn = tp->conn;
	struct sock *sk;

	if (!conn)
		return;
	sk = conn->sock->sk;
	if (conn_closing(conn) && graceful)
		conn_drain(conn);

	lock_sock(sk);
	rds_tcp_receive(conn);
	rds_tcp_report_acked(conn);
	rds_tcp_conn_detach(conn);
	release_sock(sk);
	cancel_delayed_work_sync(&conn->retry);
	path_clear_conn(path, conn);

	rds_rx_free(conn->inc);
	if (graceful)
		rds_tcp_release_fin(conn->sock);
	else
		rds_tcp_release_rst(conn->sock);
	rds_tcp_conn_free(conn);
}
