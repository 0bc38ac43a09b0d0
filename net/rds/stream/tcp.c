// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Streams that TCP carries; tcp.h has the rules. */
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/tcp.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include <net/rds/dev_port.h>

#include "list.h"
#include "sock.h"
#include "tcp.h"

/* What the kernel gives a TCP socket for &sock.sk_error_report */
static void (*tcp_report)(struct sock *sk);

/* Errors */

/*
 * The socket above, for a holder of sk_callback_lock, which the end of the TCP
 * socket waits for.  NULL if there is none: TCP has accepted, and accept() has
 * not taken it, or the socket above is closed.
 */
static struct rds_ss_sock *tcp_above(const struct sock *sk)
{
	const struct sock *above;
	struct socket_wq *wq;

	wq = rcu_dereference_protected(sk->sk_wq,
				       lockdep_is_held(&sk->sk_callback_lock));
	if (!wq)
		return NULL;
	above = READ_ONCE(container_of(wq, struct socket, wq)->sk);
	return above && above != sk ? rds_ss_sk(above) : NULL;
}

static void tcp_copy_error(struct sock *sk, struct rds_ss_sock *ss)
{
	spin_lock(&ss->told_lock);
	WRITE_ONCE(ss->sk.sk_err, READ_ONCE(sk->sk_err));
	WRITE_ONCE(ss->told, true);
	spin_unlock(&ss->told_lock);
}

/*
 * Implements &sock.sk_error_report of the TCP socket, except while TCP listens.
 * A parser of BPF reports with sk_callback_lock held for reading.
 */
static void tcp_error(struct sock *sk)
{
	struct rds_ss_sock *ss;

	read_lock_bh(&sk->sk_callback_lock);
	ss = tcp_above(sk);
	if (ss)
		tcp_copy_error(sk, ss);
	read_unlock_bh(&sk->sk_callback_lock);
	tcp_report(sk);
}

/* Have the TCP socket report to the socket above, too, or not. */
static void tcp_hook(struct sock *sk, bool above)
{
	write_lock_bh(&sk->sk_callback_lock);
	if (above && sk->sk_error_report != tcp_error) {
		WRITE_ONCE(tcp_report, sk->sk_error_report);
		sk->sk_error_report = tcp_error;
	} else if (!above) {
		sk->sk_error_report = tcp_report;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

/*
 * TCP reports to the socket above unless it listens, or is about to, as what it
 * accepts are copies, which may go to listeners of others if this one ends
 * before accept().  @begun: by how many the calls of listen() change that are
 * under way.
 */
static void tcp_hook_right(struct rds_ss_sock *ss, int begun)
{
	struct sock *sk = ss->tcp->sk;

	lock_sock(sk);
	ss->tcp_begun += begun;
	tcp_hook(sk, !ss->tcp_begun && sk->sk_state != TCP_LISTEN);
	release_sock(sk);
}

/* An error is told once: who has read one of both takes the other off. */
static void tcp_errors(struct rds_ss_sock *ss, bool asked)
{
	struct sock *sk = ss->tcp->sk;
	struct sock *read = asked ? &ss->sk : sk;
	struct sock *other = asked ? sk : &ss->sk;

	if (likely(!READ_ONCE(ss->told)))
		return;
	spin_lock_bh(&ss->told_lock);
	if (ss->told && !READ_ONCE(read->sk_err)) {
		WRITE_ONCE(ss->told, false);
		WRITE_ONCE(other->sk_err, 0);
	}
	spin_unlock_bh(&ss->told_lock);
}

/* The program may have asked by SO_ERROR. */
static void tcp_asked(struct rds_ss_sock *ss)
{
	tcp_errors(ss, true);
}

/* After a call of TCP, which may have said the error. */
static void tcp_said(struct rds_ss_sock *ss)
{
	tcp_errors(ss, false);
}

/* Begin and end */

/*
 * Have the TCP socket wake @sock and tell its errors there.  SIGIO is that of
 * the socket above, whose list of files is asked.
 */
static void tcp_share(struct socket *tcp, struct socket *sock)
{
	struct sock *sk = tcp->sk;

	lock_sock(sk);
	tcp_hook(sk, true);
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_pointer(sk->sk_wq, &sock->wq);
	/* What came before accept() */
	if (READ_ONCE(sk->sk_err) && tcp_above(sk))
		tcp_copy_error(sk, tcp_above(sk));
	write_unlock_bh(&sk->sk_callback_lock);
	sock_set_flag(sk, SOCK_FASYNC);
	release_sock(sk);
}

/* A socket of AF_RDS has both families. */
static int tcp_family(const struct sock *sk)
{
	if (sk->sk_family != AF_RDS)
		return sk->sk_family;
	return ipv6_mod_enabled() ? AF_INET6 : AF_INET;
}

int rds_ss_tcp_create(struct rds_ss_sock *ss, struct socket *sock)
{
	struct sock *sk = &ss->sk;
	struct socket *tcp;
	int err;

	err = __sock_create(sock_net(sk), tcp_family(sk), SOCK_STREAM,
			    IPPROTO_TCP, &tcp, sk->sk_kern_sock);
	if (err)
		return err;
	if (sk->sk_family == AF_RDS)
		tcp->sk->sk_ipv6only = 0;
	tcp_share(tcp, sock);
	ss->tcp_follows = !rds_custom_sockopt(sock);
	ss->tcp = tcp;
	return 0;
}

#define BUF_LOCKS	(SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK)

/* Options of the level of the socket that TCP looks at */
static bool options_differ(const struct sock *sk, const struct sock *from)
{
	u8 locks = from->sk_userlocks & BUF_LOCKS;

	if ((locks & SOCK_SNDBUF_LOCK && sk->sk_sndbuf != from->sk_sndbuf) ||
	    (locks & SOCK_RCVBUF_LOCK && sk->sk_rcvbuf != from->sk_rcvbuf))
		return true;
	return sk->sk_rcvtimeo != from->sk_rcvtimeo ||
	       sk->sk_sndtimeo != from->sk_sndtimeo ||
	       sk->sk_rcvlowat != from->sk_rcvlowat ||
	       sk->sk_lingertime != from->sk_lingertime ||
	       sock_flag(sk, SOCK_LINGER) != sock_flag(from, SOCK_LINGER) ||
	       sock_flag(sk, SOCK_KEEPOPEN) != sock_flag(from, SOCK_KEEPOPEN) ||
	       sk->sk_reuse != from->sk_reuse ||
	       sk->sk_reuseport != from->sk_reuseport ||
	       sk->sk_mark != from->sk_mark ||
	       sk->sk_priority != from->sk_priority ||
	       sk->sk_bound_dev_if != from->sk_bound_dev_if;
}

/* Options that accept() does not take from the listener */
static void options_own(struct sock *sk, const struct sock *from)
{
	sk->sk_reuse = from->sk_reuse;
	sk->sk_reuseport = from->sk_reuseport;
	sk->sk_mark = from->sk_mark;
	sk->sk_priority = from->sk_priority;
	sk->sk_bound_dev_if = from->sk_bound_dev_if;
}

static void options_copy(struct rds_ss_sock *ss)
{
	struct sock *sk = ss->tcp->sk, *from = &ss->sk;
	bool keep = sock_flag(from, SOCK_KEEPOPEN);

	lock_sock(sk);
	if (sk->sk_rcvlowat != from->sk_rcvlowat)
		READ_ONCE(ss->tcp->ops)->set_rcvlowat(sk, from->sk_rcvlowat);
	rds_ss_sock_options(sk, from);
	options_own(sk, from);
	if (sock_flag(sk, SOCK_KEEPOPEN) != keep) {
		sk->sk_prot->keepalive(sk, keep);
		sock_valbool_flag(sk, SOCK_KEEPOPEN, keep);
	}
	release_sock(sk);
}

/*
 * The kernel may keep the level of the socket for itself.  Then TCP has before
 * each call what was set above it meanwhile.
 */
static void tcp_follow(struct rds_ss_sock *ss)
{
	if (unlikely(ss->tcp_follows) && options_differ(ss->tcp->sk, &ss->sk))
		options_copy(ss);
}

void rds_ss_tcp_options(struct rds_ss_sock *ss)
{
	struct sock *sk = ss->tcp->sk;

	if (ss->want.nodelay)
		tcp_sock_set_nodelay(sk);
	if (ss->cork)
		tcp_sock_set_cork(sk, true);
	tcp_sock_set_keepidle(sk, ss->keep_idle);
	tcp_sock_set_keepintvl(sk, ss->keep_intvl);
	tcp_sock_set_keepcnt(sk, ss->keep_cnt);
	tcp_sock_set_user_timeout(sk, ss->user_timeout);
	options_copy(ss);
}

void rds_ss_tcp_carries(struct rds_ss_sock *ss)
{
	lockdep_assert(lockdep_sock_is_held(&ss->sk));
	rds_dev_port_drop(ss->port);
	ss->port = NULL;
	/* Pairs with rds_ss_by_tcp(). */
	smp_store_release(&ss->carrier, RDS_SS_BY_TCP);
}

/*
 * There is, or will be, a connection.  The socket may have listened before.
 * Rules of a firewall may ask for the user of the file.
 */
static void tcp_enter(struct rds_ss_sock *ss)
{
	if (ss->sk.sk_socket)
		WRITE_ONCE(ss->tcp->file, ss->sk.sk_socket->file);
	tcp_hook_right(ss, 0);
	rds_ss_list_tcp(ss);
}

static void tcp_leave(struct rds_ss_sock *ss)
{
	rds_ss_unlist_tcp(ss);
	tcp_hook(ss->tcp->sk, false);
	ss->tcp->file = NULL;
}

void rds_ss_tcp_adopt(struct rds_ss_sock *ss, struct socket *sock,
		      struct socket *child)
{
	tcp_share(child, sock);
	ss->tcp_follows = !rds_custom_sockopt(sock);
	ss->tcp = child;
	tcp_enter(ss);
	lock_sock(&ss->sk);
	/* TCP has them from its listener. */
	if (ss->tcp_follows)
		options_own(&ss->sk, child->sk);
	rds_ss_tcp_carries(ss);
	WRITE_ONCE(ss->sk.sk_state, TCP_ESTABLISHED);
	release_sock(&ss->sk);
}

void rds_ss_tcp_end(struct rds_ss_sock *ss)
{
	struct socket *tcp = ss->tcp;

	if (!tcp)
		return;
	tcp_follow(ss);
	tcp_leave(ss);
	ss->tcp = NULL;
	sock_release(tcp);
}

/* Before a call of TCP */
static void tcp_begin(struct rds_ss_sock *ss)
{
	tcp_asked(ss);
	tcp_follow(ss);
}

/* Names */

/* The length of the name */
static int tcp_name(const struct rds_ss_sock *ss,
		    const struct rds_ss_name *name, struct sockaddr_storage *at)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)at;
	struct sockaddr_in *in = (struct sockaddr_in *)at;

	memset(at, 0, sizeof(*at));
	if (ss->tcp->sk->sk_family == AF_INET6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_addr = name->addr;
		in6->sin6_port = cpu_to_be16(name->port);
		in6->sin6_scope_id = name->scope;
		return sizeof(*in6);
	}
	/* One of IPv6 where there is none: TCP says what it thinks of it. */
	in->sin_family = ipv6_addr_v4mapped(&name->addr) ? AF_INET : AF_INET6;
	in->sin_addr.s_addr = name->addr.s6_addr32[3];
	in->sin_port = cpu_to_be16(name->port);
	return sizeof(*in);
}

/*
 * The name that TCP is given: what the program said, but for AF_RDS, whose
 * addresses of IPv4 are v4-mapped ones for TCP.  The length, or a negative
 * errno.
 */
static int tcp_name_said(struct rds_ss_sock *ss,
			 const struct sockaddr_unsized *uaddr, int len,
			 struct sockaddr_storage *at)
{
	struct rds_ss_name name;
	int err;

	if (ss->sk.sk_family != AF_RDS) {
		memcpy(at, uaddr, len);
		return len;
	}
	err = rds_ss_name_read(ss, uaddr, len, &name);
	if (err)
		return err;
	return tcp_name(ss, &name, at);
}

int rds_ss_tcp_local(const struct rds_ss_sock *ss, struct rds_ss_name *name)
{
	struct sockaddr_storage at = {};
	int err = kernel_getsockname(ss->tcp, (struct sockaddr *)&at);

	if (err < 0)
		return err;
	rds_ss_name_cm(name, &at);
	return 0;
}

int rds_ss_tcp_getname(struct rds_ss_sock *ss, struct sockaddr *uaddr,
		       int peer)
{
	struct sockaddr_storage at = {};
	struct rds_ss_name name;
	int err;

	err = READ_ONCE(ss->tcp->ops)->getname(ss->tcp, (struct sockaddr *)&at,
					       peer);
	if (err < 0)
		return err;
	rds_ss_name_cm(&name, &at);
	return rds_ss_name_write(ss, &name, uaddr);
}

/* Calls */

int rds_ss_tcp_bind(struct rds_ss_sock *ss, struct sockaddr_unsized *uaddr,
		    int len)
{
	struct sockaddr_storage at;
	int err;

	len = tcp_name_said(ss, uaddr, len, &at);
	if (len < 0)
		return len;
	tcp_follow(ss);
	err = kernel_bind(ss->tcp, (void *)&at, len);
	if (!err && !ss->family)
		ss->family = ((struct sockaddr *)uaddr)->sa_family;
	return err;
}

/* Why an attempt of TCP could not begin; 0: all is told. */
static void tcp_tell(struct rds_ss_sock *ss, int err)
{
	struct sock *sk = ss->tcp->sk;

	spin_lock_bh(&ss->told_lock);
	WRITE_ONCE(sk->sk_err, err);
	WRITE_ONCE(ss->sk.sk_err, err);
	WRITE_ONCE(ss->told, err);
	spin_unlock_bh(&ss->told_lock);
	if (err)
		sk_error_report(sk);
}

/*
 * To the caller this may be the first call of connect(), and the attempt that
 * TCP is at already is the one that has followed RDMA's.
 */
int rds_ss_tcp_connect(struct socket *sock, struct sockaddr_unsized *uaddr,
		       int len, int flags)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	struct sockaddr_storage at;
	int err;

	len = tcp_name_said(ss, uaddr, len, &at);
	if (len < 0)
		return len;
	if (!ss->family)
		ss->family = ((struct sockaddr *)uaddr)->sa_family;
	tcp_enter(ss);
	tcp_begin(ss);
	err = xchg(&ss->dial_err, 0);
	if (err) {
		tcp_tell(ss, 0);
		return -err;
	}
	err = kernel_connect(ss->tcp, (void *)&at, len, flags);
	tcp_said(ss);
	return err;
}

static bool is_dialling(const struct rds_ss_sock *ss)
{
	return BIT(READ_ONCE(ss->tcp->sk->sk_state)) &
	       (TCPF_SYN_SENT | TCPF_SYN_RECV);
}

int rds_ss_tcp_wait(struct rds_ss_sock *ss, long timeo)
{
	/* TCP wakes the queue of the socket above. */
	long left = wait_event_interruptible_timeout(*sk_sleep(&ss->sk),
						     !is_dialling(ss), timeo);

	return left < 0 ? sock_intr_errno(timeo) : 0;
}

void rds_ss_tcp_dial(struct rds_ss_sock *ss, const struct rds_ss_name *to)
{
	struct sockaddr_storage at;
	int err, len = tcp_name(ss, to, &at);

	tcp_follow(ss);
	tcp_enter(ss);
	err = kernel_connect(ss->tcp, (void *)&at, len, O_NONBLOCK);
	if (!err || err == -EINPROGRESS || err == -EALREADY)
		return;
	WRITE_ONCE(ss->dial_err, -err);
	tcp_tell(ss, -err);
}

/* A socket of AF_RDS that was not bound listens for peers of IPv4. */
static int listen_bind(struct rds_ss_sock *ss)
{
	struct rds_ss_name any = {};
	struct sockaddr_storage at;
	int err, len;

	ipv6_addr_set_v4mapped(0, &any.addr);
	len = tcp_name(ss, &any, &at);
	err = kernel_bind(ss->tcp, (void *)&at, len);
	if (!err)
		ss->family = AF_INET;
	return err;
}

int rds_ss_tcp_listen(struct socket *sock, int backlog)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	int err = ss->family ? 0 : listen_bind(ss);

	if (err)
		return err;
	WRITE_ONCE(ss->tcp->file, sock->file);
	tcp_follow(ss);
	tcp_hook_right(ss, 1);
	err = kernel_listen(ss->tcp, backlog);
	/* For SO_ACCEPTCONN */
	if (!err)
		WRITE_ONCE(sock->sk->sk_state, TCP_LISTEN);
	tcp_hook_right(ss, -1);
	return err;
}

int rds_ss_tcp_shutdown(struct rds_ss_sock *ss, int how)
{
	int err = READ_ONCE(ss->tcp->ops)->shutdown(ss->tcp, how);

	if (!err && READ_ONCE(ss->sk.sk_state) == TCP_LISTEN &&
	    READ_ONCE(ss->tcp->sk->sk_state) != TCP_LISTEN)
		WRITE_ONCE(ss->sk.sk_state, TCP_CLOSE);
	return err;
}

int rds_ss_tcp_sendmsg(struct rds_ss_sock *ss, struct msghdr *msg, size_t len)
{
	int sent;

	if (unlikely(msg->msg_flags & MSG_FASTOPEN)) {
		/* Names of AF_RDS are not TCP's. */
		if (ss->sk.sk_family == AF_RDS)
			return -EOPNOTSUPP;
		tcp_enter(ss);
	}
	tcp_begin(ss);
	sent = READ_ONCE(ss->tcp->ops)->sendmsg(ss->tcp, msg, len);
	tcp_said(ss);
	return sent;
}

int rds_ss_tcp_recvmsg(struct rds_ss_sock *ss, struct msghdr *msg, size_t len,
		       int flags)
{
	int got;

	tcp_begin(ss);
	got = READ_ONCE(ss->tcp->ops)->recvmsg(ss->tcp, msg, len, flags);
	tcp_said(ss);
	return got;
}

/*
 * The caller has put itself into the wait queue, which is that of both.  An
 * attempt that fails has its error first and its end a moment later, of which
 * TCP wakes: who polls in between, as take-over had it woken, sees both then.
 */
__poll_t rds_ss_tcp_poll(struct file *file, struct rds_ss_sock *ss)
{
	const struct proto_ops *ops = READ_ONCE(ss->tcp->ops);
	__poll_t mask;

	tcp_begin(ss);
	mask = ops->poll(file, ss->tcp, NULL);
	if (likely(mask != EPOLLERR))
		return mask;
	return is_dialling(ss) ? 0 : ops->poll(file, ss->tcp, NULL);
}

int rds_ss_tcp_ioctl(struct rds_ss_sock *ss, unsigned int cmd,
		     unsigned long arg)
{
	return READ_ONCE(ss->tcp->ops)->ioctl(ss->tcp, cmd, arg);
}

int rds_ss_tcp_setsockopt(struct rds_ss_sock *ss, int level, int optname,
			  sockptr_t optval, unsigned int optlen)
{
	if (level == SOL_SOCKET)
		return sock_setsockopt(ss->tcp, level, optname, optval, optlen);
	return sock_common_setsockopt(ss->tcp, level, optname, optval, optlen);
}

int rds_ss_tcp_getsockopt(struct rds_ss_sock *ss, int level, int optname,
			  char __user *optval, int __user *optlen)
{
	return sock_common_getsockopt(ss->tcp, level, optname, optval, optlen);
}
