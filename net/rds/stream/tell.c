// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a connection tells its socket: bytes and room, its state, and the end
 * with its error.  conn.h has the rules of ownership.
 */
#include <linux/module.h>
#include <net/sock.h>

#include "conn.h"
#include "net.h"
#include "rule.h"
#include "sock.h"

struct sock *rds_ss_conn_sk(const struct rds_ss_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->sk || conn->left ||
	    rcu_access_pointer(rds_ss_sk(conn->sk)->conn) != conn)
		return NULL;
	return conn->sk;
}

void rds_ss_conn_unread(struct rds_ss_conn *conn)
{
	u32 bytes = 0;

	lockdep_assert_held(&conn->lock);
	if (rds_ss_may_read(conn->e.state))
		bytes = rds_ss_halves_unread(&conn->e.halves);
	WRITE_ONCE(conn->unread, bytes);
}

void rds_ss_conn_news(struct rds_ss_conn *conn, const struct rds_ss_news *news)
{
	struct sock *sk = rds_ss_conn_sk(conn);

	lockdep_assert_held(&conn->lock);
	rds_ss_conn_unread(conn);
	if (news->bytes) {
		rds_ss_count(conn->sn, RDS_SS_STAT_stream_bytes_in,
			     news->bytes);
		rds_ss_count(conn->sn, RDS_SS_STAT_stream_messages_in, 1);
	}
	if (!sk)
		return;
	if (news->end) {
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | RCV_SHUTDOWN);
		sk->sk_state_change(sk);
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	} else if (news->bytes) {
		sk->sk_data_ready(sk);
	}
}

void rds_ss_conn_space(struct rds_ss_conn *conn)
{
	struct sock *sk = rds_ss_conn_sk(conn);

	if (sk)
		sk->sk_write_space(sk);
}

void rds_ss_conn_tell(const struct rds_ss_conn *conn, struct sock *sk)
{
	u8 shut = sk->sk_shutdown;

	lockdep_assert_held(&conn->lock);
	if (conn->broken)
		WRITE_ONCE(sk->sk_err, conn->broken);
	if (conn->broken || (conn->closed && !conn->up))
		shut = SHUTDOWN_MASK;
	else if (conn->e.peer_done || conn->closed)
		shut |= RCV_SHUTDOWN;
	WRITE_ONCE(sk->sk_shutdown, shut);
	/* As with TCP a program may still shut what its peer has closed. */
	if (conn->closed && shut == SHUTDOWN_MASK)
		/* Pairs with connect(), which resets the error. */
		smp_store_release(&sk->sk_state, TCP_CLOSE);
	else if (conn->up)
		WRITE_ONCE(sk->sk_state, TCP_ESTABLISHED);
}

void rds_ss_conn_report(struct rds_ss_conn *conn)
{
	struct sock *sk = rds_ss_conn_sk(conn);

	lockdep_assert_held(&conn->lock);
	if (!sk || rds_ss_rule_failed(rds_ss_sk(sk), conn))
		return;
	rds_ss_conn_tell(conn, sk);
	if (conn->broken)
		sk_error_report(sk);
	sk->sk_state_change(sk);
	sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_HUP);
}

bool rds_ss_conn_own(struct rds_ss_conn *conn, struct sock *sk)
{
	u32 bytes = rds_ss_mem_bytes(conn);

	lockdep_assert_held(&conn->lock);
	sock_hold(sk);
	conn->sk = sk;
	if (!bytes || rds_ss_charge(conn, bytes, conn->charged))
		return true;
	conn->sk = NULL;
	sock_put(sk);
	return false;
}

bool rds_ss_conn_fails(const struct rds_ss_conn *conn)
{
	enum rds_ss_state state = READ_ONCE(conn->e.state);

	return READ_ONCE(conn->closing) && !READ_ONCE(conn->closed) &&
	       !READ_ONCE(conn->left) && state != RDS_SS_LEFT &&
	       state != RDS_SS_CLOSED;
}

void rds_ss_no_space(struct sock *sk)
{
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
}
