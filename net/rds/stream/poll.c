// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poll() and ioctl() */
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sockios.h>
#include <linux/termios.h>
#include <linux/uaccess.h>

#include "listen.h"
#include "net.h"
#include "rule.h"
#include "sock.h"
#include "tcp.h"

static __poll_t poll_listener(struct file *file, struct rds_ss_sock *ss)
{
	const struct rds_ss_listener *l;
	__poll_t mask = 0;

	rcu_read_lock();
	l = rcu_dereference(ss->listener);
	if (l && READ_ONCE(l->nr_ready))
		mask = EPOLLIN | EPOLLRDNORM;
	rcu_read_unlock();
	return rds_ss_by_rule(ss) ? mask | rds_ss_tcp_poll(file, ss) : mask;
}

static __poll_t poll_read(struct rds_ss_sock *ss, struct rds_ss_conn *conn)
{
	struct sock *sk = &ss->sk;
	u32 unread = rds_ss_sock_unread(ss, conn);

	return unread && unread >= sock_rcvlowat(sk, 0, INT_MAX) ?
		       EPOLLIN | EPOLLRDNORM : 0;
}

static __poll_t poll_write(struct sock *sk, const struct rds_ss_conn *conn)
{
	/* A write that fails does not wait, either. */
	if (READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN)
		return EPOLLOUT | EPOLLWRNORM;
	/* Its end, with the error, wakes. */
	if (rds_ss_conn_fails(conn))
		return 0;
	if (!rds_ss_may_queue(READ_ONCE(conn->e.state)) ||
	    rds_ss_writeable(sk, conn))
		return EPOLLOUT | EPOLLWRNORM;
	rds_ss_no_space(sk);
	/* Pairs with the barrier of the one who makes room. */
	smp_mb__after_atomic();
	return rds_ss_writeable(sk, conn) ? EPOLLOUT | EPOLLWRNORM : 0;
}

static __poll_t poll_state(const struct sock *sk)
{
	u8 shut = READ_ONCE(sk->sk_shutdown);
	int state = READ_ONCE(sk->sk_state);
	__poll_t mask = 0;

	if (shut == SHUTDOWN_MASK || state == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (shut & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	/* An attempt has its error a moment before its end, which wakes. */
	if (state != TCP_SYN_SENT && READ_ONCE(sk->sk_err))
		mask |= EPOLLERR;
	return mask;
}

__poll_t rds_ss_poll(struct file *file, struct socket *sock,
		     struct poll_table_struct *wait)
{
	struct sock *sk = sock->sk;
	struct rds_ss_sock *ss = rds_ss_sk(sk);
	struct rds_ss_conn *conn;
	__poll_t mask;
	int state;

	sock_poll_wait(file, sock, wait);
	if (rds_ss_by_tcp(ss))
		return rds_ss_tcp_poll(file, ss);
	state = READ_ONCE(sk->sk_state);
	if (state == TCP_LISTEN)
		return poll_listener(file, ss);
	mask = poll_state(sk);
	conn = rds_ss_sock_conn(ss);
	if (!conn || state == TCP_CLOSE)
		mask |= EPOLLOUT | EPOLLWRNORM;
	else if (state != TCP_SYN_SENT)
		mask |= poll_write(sk, conn);
	if (conn) {
		mask |= poll_read(ss, conn);
		rds_ss_conn_put(conn);
	}
	/* Pairs with TCP's taking over, which changes what was seen. */
	smp_rmb();
	return rds_ss_by_tcp(ss) ? rds_ss_tcp_poll(file, ss) : mask;
}

int rds_ss_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	struct rds_ss_conn *conn;
	int answer = 0;

	if (rds_ss_by_tcp(ss))
		return rds_ss_tcp_ioctl(ss, cmd, arg);
	if (cmd != SIOCINQ && cmd != SIOCOUTQ && cmd != SIOCOUTQNSD)
		return -ENOIOCTLCMD;
	if (READ_ONCE(sock->sk->sk_state) == TCP_LISTEN)
		return -EINVAL;
	conn = rds_ss_sock_conn(ss);
	if (conn) {
		if (cmd == SIOCINQ)
			answer = rds_ss_sock_unread(ss, conn);
		else if (cmd == SIOCOUTQ)
			answer = READ_ONCE(conn->tx.bytes);
		else
			answer = READ_ONCE(conn->e.queued);
		rds_ss_conn_put(conn);
	}
	return put_user(answer, (int __user *)arg);
}
