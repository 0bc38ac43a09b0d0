// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bind(), connect() and names.  A socket whose attempt has failed can try
 * again: the next attempt is another connection.
 */
#include <linux/module.h>
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <net/ip.h>
#include <rdma/rdma_cm.h>

#include <net/rds/dev_domain.h>
#include <net/rds/dev_port.h>

#include "inet.h"
#include "net.h"
#include "rule.h"
#include "sock.h"
#include "tcp.h"

/*
 * Keep the port again that was let go for listening or dialling, which failed.
 * Who has it meanwhile keeps it, and the socket has none.
 */
void rds_ss_port_again(struct rds_ss_sock *ss)
{
	if (!ss->bound || ss->port || !ss->local.port)
		return;
	if (!rds_dev_port_hold(ss->sn->net, &ss->local.addr, ss->local.scope,
			       ss->sk.sk_ipv6only, &ss->local.port, &ss->port))
		return;
	ss->port = NULL;
	/* That of TCP stays, and TCP carries what is dialled from there. */
	if (rds_ss_by_rule(ss))
		return;
	memset(&ss->local, 0, sizeof(ss->local));
	ss->bound = false;
}

static int bind_to(struct rds_ss_sock *ss, struct rds_ss_name *name)
{
	bool later = !name->port && rds_ss_inet_no_port(ss);
	int err = rds_dev_port_hold(ss->sn->net, &name->addr, name->scope,
				    ss->sk.sk_ipv6only, &name->port, &ss->port);

	if (err)
		return err;
	if (later) {
		rds_dev_port_drop(ss->port);
		ss->port = NULL;
		name->port = 0;
	}
	ss->local = *name;
	ss->bound = true;
	return 0;
}

int rds_ss_bind(struct socket *sock, struct sockaddr_unsized *uaddr, int len)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	struct rds_ss_name name;
	int err;

	lock_sock(sock->sk);
	if (rds_ss_by_tcp(ss)) {
		release_sock(sock->sk);
		return rds_ss_tcp_bind(ss, uaddr, len);
	}
	err = rds_ss_name_read(ss, uaddr, len, &name);
	if (!err && (ss->local.port || sock->state != SS_UNCONNECTED ||
		     sock->sk->sk_state != TCP_CLOSE))
		err = -EINVAL;
	if (!err && name.port &&
	    inet_port_requires_bind_service(ss->sn->net, name.port) &&
	    !ns_capable(ss->sn->net->user_ns, CAP_NET_BIND_SERVICE))
		err = -EACCES;
	if (!err)
		err = bind_to(ss, &name);
	if (!err)
		ss->family = ((struct sockaddr *)uaddr)->sa_family;
	release_sock(sock->sk);
	return err;
}

/* Have the socket own an attempt; false if its id has ended already. */
static bool attempt_own(struct rds_ss_sock *ss, struct rds_ss_conn *conn)
{
	struct rds_ss_conn *old = rds_ss_sock_owned(ss);
	bool good;

	spin_lock_bh(&conn->id.lock);
	good = rds_dev_id_own(&conn->id, ss);
	conn->owned = good;
	if (good) {
		spin_lock(&conn->lock);
		/* It has no memory yet that would be charged. */
		rds_ss_conn_own(conn, &ss->sk);
		rcu_assign_pointer(ss->conn, conn);
		WRITE_ONCE(ss->sk.sk_state, TCP_SYN_SENT);
		WRITE_ONCE(ss->sk.sk_shutdown, 0);
		WRITE_ONCE(ss->sk.sk_err, 0);
		spin_unlock(&conn->lock);
	}
	spin_unlock_bh(&conn->id.lock);
	if (good && old)
		rds_ss_conn_put(old);
	return good;
}

static struct rds_ss_conn *attempt_new(struct rds_ss_sock *ss,
				       const struct rds_ss_name *to,
				       struct rds_dev_laddr *la)
{
	struct rds_ss_want want = ss->want;
	struct rds_dev_domain *dom;
	struct rds_ss_conn *conn;

	dom = rds_dev_by_laddr(&rds_ss_user, la);
	if (!dom)
		return ERR_PTR(-EADDRNOTAVAIL);
	want.max_half = rds_ss_sock_max_half(&ss->sk);
	conn = rds_ss_conn_new(ss->sn, dom, la, &to->addr, &want, false);
	rds_dev_domain_put(dom);
	if (!conn)
		return ERR_PTR(-ENOBUFS);
	conn->active = true;
	conn->id.lport = ss->local.port;
	conn->id.share = want.shares.dev;
	if (attempt_own(ss, conn))
		return conn;
	rds_dev_id_forget(&conn->id);
	rds_ss_conn_put(conn);
	return ERR_PTR(-ENETDOWN);
}

/*
 * An attempt that ends meanwhile waits for this.  What cannot be dialled, as
 * the port is in use by now, has that as its error.
 */
static void attempt_dial(struct rds_ss_conn *conn, u16 port, u8 tos)
{
	int err;

	mutex_lock(&conn->dial_lock);
	err = rds_dev_id_dial(&conn->id, port, tos);
	if (err)
		conn->prepared = -err;
	mutex_unlock(&conn->dial_lock);
	if (err)
		rds_dev_id_fail(&conn->id, RDS_DEV_WHY_DIAL);
}

/* Begin an attempt.  What fails later is told by .lost. */
static int attempt_begin(struct socket *sock, const struct rds_ss_name *to)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	struct rds_dev_laddr la;
	struct rds_ss_conn *conn;
	int err;

	if (!to->port)
		return -ECONNREFUSED;
	err = rds_ss_name_route(ss, to, &la);
	if (err)
		return err;
	/* The port is free between this and the attempt. */
	rds_dev_port_drop(ss->port);
	ss->port = NULL;
	conn = attempt_new(ss, to, &la);
	if (IS_ERR(conn)) {
		rds_ss_port_again(ss);
		return PTR_ERR(conn);
	}
	ss->remote = *to;
	ss->wanted = ss->local;
	ss->local.addr = la.addr;
	ss->local.scope = la.scope;
	sock->state = SS_CONNECTING;
	if (rds_ss_by_rule(ss))
		rds_ss_rule_begun(ss);
	attempt_dial(conn, to->port, rds_ss_inet_tos(ss, &to->addr));
	rds_ss_clock_set(sock->sk, sock_flag(sock->sk, SOCK_KEEPOPEN));
	return 0;
}

/* Wait until the attempt is over, and give up the socket lock meanwhile. */
static long attempt_wait(struct sock *sk, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	/* The socket leaves this state when TCP takes over, too. */
	while (READ_ONCE(sk->sk_state) == TCP_SYN_SENT && timeo &&
	       !signal_pending(current)) {
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return timeo;
}

/* The port that rdma_cm has chosen, once it has been asked to connect */
static void attempt_named(struct rds_ss_sock *ss)
{
	struct rds_ss_conn *conn = rds_ss_sock_owned(ss);

	if (conn && !ss->local.port)
		ss->local.port = READ_ONCE(conn->local_port);
}

void rds_ss_attempt_forget(struct rds_ss_sock *ss)
{
	ss->local = ss->wanted;
	rds_ss_port_again(ss);
	memset(&ss->remote, 0, sizeof(ss->remote));
}

static int attempt_result(struct socket *sock)
{
	struct sock *sk = sock->sk;
	int err;

	if (READ_ONCE(sk->sk_state) == TCP_ESTABLISHED) {
		sock->state = SS_CONNECTED;
		return 0;
	}
	err = sock_error(sk) ?: -ECONNABORTED;
	/* Another one that waited may have been here, and have bound since. */
	if (sock->state == SS_CONNECTING) {
		sock->state = SS_UNCONNECTED;
		rds_ss_attempt_forget(rds_ss_sk(sk));
	}
	return err;
}

/* Begin an attempt over RDMA, or leave it to TCP, as the rule says. */
static int connect_by_rule(struct socket *sock, const struct rds_ss_name *to)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);

	if (!rds_ss_rule_tries(ss, to) || attempt_begin(sock, to))
		rds_ss_tcp_carries(ss);
	return 0;
}

static int connect_begin(struct socket *sock, struct sockaddr_unsized *uaddr,
			 int len)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	struct rds_ss_name to;
	int err;

	err = rds_ss_name_read(ss, uaddr, len, &to);
	if (err)
		return err;
	/* Pairs with the end of the last attempt, which set sk_err before. */
	if (smp_load_acquire(&sock->sk->sk_state) != TCP_CLOSE)
		return -EISCONN;
	err = rds_ss_by_rule(ss) ? connect_by_rule(sock, &to) :
				   attempt_begin(sock, &to);
	if (!err)
		ss->family = ((struct sockaddr *)uaddr)->sa_family;
	return err;
}

/* @timeo: the time that the caller waits; what is left of it */
static int connect_go_on(struct socket *sock, bool first, long *timeo)
{
	struct sock *sk = sock->sk;

	if (READ_ONCE(sk->sk_state) == TCP_SYN_SENT) {
		if (!*timeo)
			return first ? -EINPROGRESS : -EALREADY;
		*timeo = attempt_wait(sk, *timeo);
	}
	if (rds_ss_by_tcp(rds_ss_sk(sk)))
		return 0;
	if (READ_ONCE(sk->sk_state) != TCP_SYN_SENT)
		return attempt_result(sock);
	return signal_pending(current) ? sock_intr_errno(*timeo) : -EINPROGRESS;
}

/* An attempt may be under way, begun where TCP has taken over. */
static int connect_tcp(struct socket *sock, struct sockaddr_unsized *uaddr,
		       int len, int flags, bool first)
{
	int err = rds_ss_tcp_connect(sock, uaddr, len, flags);

	return first && err == -EALREADY ? -EINPROGRESS : err;
}

/* TCP has taken over when a part of SO_SNDTIMEO was over. */
static int connect_tcp_rest(struct socket *sock, struct sockaddr_unsized *uaddr,
			    int len, int flags, long timeo)
{
	int err = rds_ss_tcp_wait(rds_ss_sk(sock->sk), timeo);

	return err ?: connect_tcp(sock, uaddr, len, flags | O_NONBLOCK, true);
}

int rds_ss_connect(struct socket *sock, struct sockaddr_unsized *uaddr, int len,
		   int flags)
{
	long all = sock_sndtimeo(sock->sk, flags & O_NONBLOCK), timeo = all;
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	bool first = sock->state == SS_UNCONNECTED;
	int err = 0;

	if (rds_ss_by_tcp(ss))
		return connect_tcp(sock, uaddr, len, flags, false);
	/* What was seen of the last connection */
	if (first && READ_ONCE(ss->peek.bytes)) {
		mutex_lock(&ss->rx_mutex);
		rds_ss_peek_drop(ss);
		mutex_unlock(&ss->rx_mutex);
	}
	lock_sock(sock->sk);
	if (rds_ss_by_tcp(ss))
		first = false;
	else if (sock->state == SS_CONNECTED)
		err = -EISCONN;
	else if (sock->state == SS_UNCONNECTED)
		err = connect_begin(sock, uaddr, len);
	if (!err)
		err = connect_go_on(sock, first, &timeo);
	release_sock(sock->sk);
	if (err || !rds_ss_by_tcp(ss))
		return err;
	if (timeo != all)
		return connect_tcp_rest(sock, uaddr, len, flags, timeo);
	return connect_tcp(sock, uaddr, len, flags, first);
}

int rds_ss_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	int err;

	lock_sock(sock->sk);
	if (rds_ss_by_tcp(ss)) {
		release_sock(sock->sk);
		return rds_ss_tcp_getname(ss, uaddr, peer);
	}
	attempt_named(ss);
	err = -ENOTCONN;
	if (!peer)
		err = rds_ss_name_write(ss, &ss->local, uaddr);
	else if (rds_ss_sock_owned(ss) &&
		 (peer == 2 || sock->sk->sk_state == TCP_ESTABLISHED))
		/* 2: accept(), also of what has ended since */
		err = rds_ss_name_write(ss, &ss->remote, uaddr);
	release_sock(sock->sk);
	return err;
}
