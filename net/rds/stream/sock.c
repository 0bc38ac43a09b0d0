// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sockets: how they are made, shut and closed, and the tables of their calls.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/sock_reuseport.h>

#include <net/rds/dev_port.h>
#include <net/rds/family.h>

#include "inet.h"
#include "listen.h"
#include "main.h"
#include "net.h"
#include "rule.h"
#include "sock.h"
#include "tcp.h"

/* Shutdown and close */

void rds_ss_peek_drop(struct rds_ss_sock *ss)
{
	WRITE_ONCE(ss->peek.bytes, 0);
	kvfree(ss->peek.buf);
	ss->peek.buf = NULL;
}

/*
 * What has come can still be read after SHUT_RD, as with TCP, and what comes
 * then stays as well; so the engine is not told of it.
 */
static void shut_conn(struct sock *sk, struct rds_ss_conn *conn, int how)
{
	spin_lock_bh(&conn->lock);
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
	if (how & SEND_SHUTDOWN)
		rds_ss_on(&conn->e, RDS_SS_EV_SHUT_WR);
	rds_ss_pump(conn);
	sk->sk_state_change(sk);
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
}

/*
 * Without a word, also if it has come up by now: there may be a reader, who
 * looks at memory that goes when bye is said.
 */
static void give_up(struct rds_ss_conn *conn)
{
	spin_lock_bh(&conn->lock);
	rds_ss_conn_close(conn, 0);
	spin_unlock_bh(&conn->lock);
}

/* As TCP does: a listener listens no more, and an attempt is given up. */
static int shut_other(struct socket *sock, struct rds_ss_conn *conn, int how)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	struct rds_ss_listener *l = rds_ss_sock_listener(ss);

	if (l && (how & RCV_SHUTDOWN)) {
		RCU_INIT_POINTER(ss->listener, NULL);
		WRITE_ONCE(sock->sk->sk_state, TCP_CLOSE);
		rds_ss_listener_end(l);
		sock->sk->sk_state_change(sock->sk);
		return rds_ss_by_rule(ss) ?
			       rds_ss_tcp_shutdown(ss, how - 1) : 0;
	}
	if (conn && READ_ONCE(sock->sk->sk_state) == TCP_SYN_SENT) {
		rds_ss_rule_give_up(ss, conn);
		give_up(conn);
		return 0;
	}
	return l ? 0 : -ENOTCONN;
}

int rds_ss_shutdown(struct socket *sock, int how)
{
	struct sock *sk = sock->sk;
	struct rds_ss_sock *ss = rds_ss_sk(sk);
	struct rds_ss_conn *conn;
	int err = 0;

	/* SHUT_RD, SHUT_WR and SHUT_RDWR become bits. */
	how++;
	if (how & ~SHUTDOWN_MASK || !how)
		return -EINVAL;
	lock_sock(sk);
	if (rds_ss_by_tcp(ss)) {
		release_sock(sk);
		return rds_ss_tcp_shutdown(ss, how - 1);
	}
	conn = rds_ss_sock_owned(ss);
	if (conn && READ_ONCE(sk->sk_state) == TCP_ESTABLISHED)
		shut_conn(sk, conn, how);
	else
		err = shut_other(sock, conn, how);
	release_sock(sk);
	return err;
}

/* Does close() wait until all is sent? */
static bool lingers(const struct sock *sk)
{
	return sock_flag(sk, SOCK_LINGER) && sk->sk_lingertime &&
	       !(current->flags & PF_EXITING);
}

/*
 * SO_LINGER: wait until all is sent, or the time is over.  Users choose the
 * time, so nothing that work items wait for is held.
 */
static void linger(struct sock *sk, struct rds_ss_conn *conn)
{
	long timeo = sk->sk_lingertime;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	lockdep_assert(!lockdep_sock_is_held(sk));

	add_wait_queue(sk_sleep(sk), &wait);
	while (!READ_ONCE(conn->closed) && !READ_ONCE(conn->parting) &&
	       timeo && !signal_pending(current))
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	remove_wait_queue(sk_sleep(sk), &wait);
}

/*
 * Bytes that nobody will read, or a linger time of 0, end the connection at
 * once, as with TCP: the peer gets ECONNRESET.  Returns whether they do.
 */
static bool close_conn(struct sock *sk, struct rds_ss_conn *conn)
{
	bool now = (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime) ||
		   rds_ss_sock_unread(rds_ss_sk(sk), conn);

	rds_ss_clock_set(sk, 0);
	if (READ_ONCE(sk->sk_state) == TCP_SYN_SENT)
		rds_ss_rule_give_up(rds_ss_sk(sk), conn);
	rds_ss_conn_leave(conn, now);
	return now;
}

void rds_ss_sock_part(struct rds_ss_sock *ss)
{
	struct rds_ss_conn *conn = rds_ss_sock_owned(ss);

	if (!conn)
		return;
	spin_lock_bh(&conn->lock);
	RCU_INIT_POINTER(ss->conn, NULL);
	spin_unlock_bh(&conn->lock);
	rds_ss_conn_put(conn);
}

/*
 * The socket keeps its connection, which wakes who lingers.  Returns whether
 * there is nothing to linger for.
 */
static bool close_begin(struct sock *sk, struct rds_ss_sock *ss)
{
	struct rds_ss_listener *l = rds_ss_sock_listener(ss);

	if (l)
		rds_ss_listener_end(l);
	RCU_INIT_POINTER(ss->listener, NULL);
	return !rds_ss_sock_owned(ss) ||
	       close_conn(sk, rds_ss_sock_owned(ss));
}

static void close_end(struct sock *sk, struct rds_ss_sock *ss)
{
	rds_ss_sock_part(ss);
	rds_dev_port_drop(ss->port);
	ss->port = NULL;
	/* Else the destructor, which sleeps, would be a callback of RCU. */
	if (rcu_access_pointer(sk->sk_reuseport_cb))
		reuseport_detach_sock(sk);
	sock_orphan(sk);
}

int rds_ss_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct rds_ss_conn *conn;
	bool now;

	if (!sk)
		return 0;
	lock_sock(sk);
	now = close_begin(sk, rds_ss_sk(sk));
	release_sock(sk);
	conn = rds_ss_sock_conn(rds_ss_sk(sk));
	if (conn && !now && lingers(sk))
		linger(sk, conn);
	if (conn) {
		rds_ss_conn_orphan(conn);
		rds_ss_conn_put(conn);
	}
	lock_sock(sk);
	close_end(sk, rds_ss_sk(sk));
	release_sock(sk);
	rds_ss_rule_end(rds_ss_sk(sk));
	rds_ss_tcp_end(rds_ss_sk(sk));
	rds_ss_peek_drop(rds_ss_sk(sk));
	sock->sk = NULL;
	sock_put(sk);
	return 0;
}

/* Tables */

/*
 * No more than what is sure to come if nothing is read: a half is published
 * again when all of it was read.  What is there may be enough now.
 */
int rds_ss_set_rcvlowat(struct sock *sk, int val)
{
	WRITE_ONCE(sk->sk_rcvlowat, clamp(val, 1, RDS_SS_HALF_MIN));
	sk->sk_data_ready(sk);
	return 0;
}

static const struct proto_ops rds_ss_ops = {
	.family		= PF_RDS,
	.owner		= THIS_MODULE,
	.release	= rds_ss_release,
	.bind		= rds_ss_bind,
	.connect	= rds_ss_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= rds_ss_accept,
	.getname	= rds_ss_getname,
	.poll		= rds_ss_poll,
	.ioctl		= rds_ss_ioctl,
	.listen		= rds_ss_listen,
	.shutdown	= rds_ss_shutdown,
	.setsockopt	= rds_ss_setsockopt,
	.getsockopt	= rds_ss_getsockopt,
	.sendmsg	= rds_ss_sendmsg,
	.recvmsg	= rds_ss_recvmsg,
	RDS_SPLICE_EOF(rds_ss_splice_eof)
	.set_rcvlowat	= rds_ss_set_rcvlowat,
	.mmap		= sock_no_mmap,
};

bool rds_ss_memory_free(const struct sock *sk, int wake)
{
	return READ_ONCE(sk->sk_wmem_queued) < READ_ONCE(sk->sk_sndbuf);
}

static struct proto rds_ss_proto = {
	.name			= "RDS-STREAM",
	.owner			= THIS_MODULE,
	.obj_size		= sizeof(struct rds_ss_sock),
	.keepalive		= rds_ss_clock_set,
	.stream_memory_free	= rds_ss_memory_free,
	.memory_allocated	= &rds_ss_mem_pages,
	.per_cpu_fw_alloc	= &rds_ss_mem_pages_here,
	.sysctl_mem		= rds_ss_mem_limits,
	.sysctl_rmem		= &rds_ss_mem_small,
	.sysctl_wmem		= &rds_ss_mem_small,
};

void rds_ss_sock_destruct(struct sock *sk)
{
	/*
	 * Linux 6.1 allows SO_RESERVE_MEM for any socket with an account, under
	 * another lock than ours.  All else is given back by now.
	 */
	sk->sk_forward_alloc = sk->sk_reserved_mem;
	if (sk->sk_forward_alloc > 0)
		__sk_mem_reclaim(sk, sk->sk_forward_alloc);
	WARN_ON_ONCE(sk->sk_wmem_queued);
	/* Of a socket that its family has not let come to be */
	rds_ss_tcp_end(rds_ss_sk(sk));
	rds_ss_net_use(rds_ss_sk(sk)->sn, false);
}

/* Wakes who has seen that there is no room. */
static void write_space(struct sock *sk)
{
	const struct rds_ss_conn *conn;
	struct socket_wq *wq;
	struct socket *sock;

	rcu_read_lock();
	conn = rcu_dereference(rds_ss_sk(sk)->conn);
	sock = READ_ONCE(sk->sk_socket);
	wq = rcu_dereference(sk->sk_wq);
	/* Pairs with those who set the bit and look again. */
	smp_mb();
	if (sock && wq && conn && test_bit(SOCK_NOSPACE, &sock->flags) &&
	    rds_ss_writeable(sk, conn)) {
		clear_bit(SOCK_NOSPACE, &sock->flags);
		wake_up_interruptible_poll(&wq->wait, EPOLLOUT | EPOLLWRNORM |
						      EPOLLWRBAND);
		sock_wake_async(wq, SOCK_WAKE_SPACE, POLL_OUT);
	}
	rcu_read_unlock();
}

void rds_ss_sock_setup(struct sock *sk)
{
	struct rds_ss_sock *ss = rds_ss_sk(sk);

	sk->sk_state = TCP_CLOSE;
	sk->sk_destruct = rds_ss_sock_destruct;
	sk->sk_write_space = write_space;
	ss->sn = rds_ss_net(sock_net(sk));
	ss->want.rq = RDS_SS_RQ;
	ss->want.sq = RDS_SS_SQ;
	ss->want.shares = rds_ss_shares_of_current(ss->sn);
	ss->keep_idle = 7200;
	ss->keep_intvl = 75;
	ss->keep_cnt = 9;
	spin_lock_init(&ss->account);
	spin_lock_init(&ss->told_lock);
	mutex_init(&ss->tx_mutex);
	mutex_init(&ss->rx_mutex);
	INIT_DELAYED_WORK(&ss->rule_work, rds_ss_rule_work);
	rds_ss_net_use(ss->sn, true);
}

void rds_ss_sock_options(struct sock *sk, const struct sock *from)
{
	u8 locks = from->sk_userlocks & (SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);

	/* The others are about the port, which is the socket's own. */
	sk->sk_userlocks |= locks;
	if (locks & SOCK_SNDBUF_LOCK)
		WRITE_ONCE(sk->sk_sndbuf, from->sk_sndbuf);
	if (locks & SOCK_RCVBUF_LOCK)
		WRITE_ONCE(sk->sk_rcvbuf, from->sk_rcvbuf);
	sk->sk_rcvlowat = from->sk_rcvlowat;
	sk->sk_sndtimeo = from->sk_sndtimeo;
	sk->sk_rcvtimeo = from->sk_rcvtimeo;
	sk->sk_lingertime = from->sk_lingertime;
	sock_valbool_flag(sk, SOCK_LINGER, sock_flag(from, SOCK_LINGER));
}

struct sock *rds_ss_sock_like(const struct sock *from, struct socket *sock,
			      int kern)
{
	struct sock *sk;

	sk = sk_alloc(sock_net(from), from->sk_family, GFP_KERNEL,
		      from->sk_prot, kern);
	if (!sk)
		return NULL;
	sock_init_data(sock, sk);
	rds_custom_sockopt(sock);
	rds_ss_sock_setup(sk);
	if (sk->sk_family != AF_RDS)
		rds_ss_inet_like(sk, from);
	/* What a security module knows of the listener holds for it, too. */
	security_sk_clone(from, sk);
	security_sock_graft(sk, sock);
	return sk;
}

static int rds_ss_create(struct net *net, struct socket *sock, int protocol,
			 int kern)
{
	struct sock *sk;

	sk = sk_alloc(net, AF_RDS, GFP_KERNEL, &rds_ss_proto, kern);
	if (!sk)
		return -ENOMEM;
	sock_init_data(sock, sk);
	sock->ops = &rds_ss_ops;
	/* The kernel would grant SO_ZEROCOPY to any socket of AF_RDS. */
	rds_custom_sockopt(sock);
	rds_ss_sock_setup(sk);
	return 0;
}

static const struct rds_family_type rds_ss_type = {
	.owner	= THIS_MODULE,
	.create = rds_ss_create,
};

u32 rds_ss_sock_max_half(const struct sock *sk)
{
	u32 half = READ_ONCE(sk->sk_rcvbuf) / 2;

	/* A power of 2, see "What is missing" in stream.rst. */
	half = clamp_t(u32, half, RDS_SS_HALF_MIN, RDS_SS_HALF_MAX);
	return rounddown_pow_of_two(half);
}

/* From here on sockets can be made, and none any more. */
int rds_ss_sock_init(void)
{
	int err = proto_register(&rds_ss_proto, 1);

	if (err)
		return err;
	err = rds_family_add(&rds_ss_type);
	if (err)
		proto_unregister(&rds_ss_proto);
	return err;
}

void rds_ss_sock_exit(void)
{
	rds_family_del(&rds_ss_type);
	proto_unregister(&rds_ss_proto);
}
