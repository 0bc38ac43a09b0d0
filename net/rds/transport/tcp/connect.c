// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A path gets its connection: one that is dialled here, or one that the core
 * hands over.
 */
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/tcp.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/rds/addr.h>
#include <net/rds/join.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/*
 * Time between two SYNs, so that a network that is back is used soon.  TCP
 * itself waits 1 s after the first and, on older kernels, twice as long after
 * each further one.  A listener answers a repeated SYN again only after 0.5 s.
 */
#define RDS_TCP_SYN_TIME	(HZ * 6 / 10)
/*
 * SYNs after the first: an attempt ends after about 7 s, and the core decides
 * when to dial again.
 */
#define RDS_TCP_SYN_RETRIES	11
/* Ports that one attempt tries to bind to */
#define RDS_TCP_PORT_TRIES	64

#if IS_ENABLED(CONFIG_IPV6)
static bool addr_local_v6(struct net *net, const struct in6_addr *addr,
			  u32 scope)
{
	struct net_device *dev = NULL;
	bool local = false;

	if (!ipv6_mod_enabled())
		return false;
	rcu_read_lock();
	if (scope)
		dev = dev_get_by_index_rcu(net, scope);
	if (dev || !scope)
		local = ipv6_chk_addr(net, addr, dev, 0);
	rcu_read_unlock();
	return local;
}
#else
static bool addr_local_v6(struct net *net, const struct in6_addr *addr,
			  u32 scope)
{
	return false;
}
#endif

/* Implements &rds_transport.addr_local */
bool rds_tcp_addr_local(struct net *net, const struct in6_addr *addr, u32 scope)
{
	if (ipv6_addr_v4mapped(addr))
		return inet_addr_type(net, addr->s6_addr32[3]) == RTN_LOCAL;
	return addr_local_v6(net, addr, scope);
}

/*
 * The kernel picks the port at connect, so that connections to several peers
 * can share a port.
 */
static int dial_bind_any(struct socket *sock, const struct rds_path_addr *addr)
{
	struct sockaddr_storage ss;
	int len = rds_addr_write(&ss, &addr->laddr, 0, addr->ifindex);
	int one = 1;

	sock->ops->setsockopt(sock, SOL_IP, IP_BIND_ADDRESS_NO_PORT,
			      KERNEL_SOCKPTR(&one), sizeof(one));
	return kernel_bind(sock, (struct sockaddr_unsized *)&ss, len);
}

static int dial_bind_port(struct socket *sock, const struct rds_path_addr *addr,
			  u16 port)
{
	struct sockaddr_storage ss;
	int len = rds_addr_write(&ss, &addr->laddr, htons(port), addr->ifindex);

	if (inet_is_local_reserved_port(sock_net(sock->sk), port))
		return -EADDRINUSE;
	return kernel_bind(sock, (struct sockaddr_unsized *)&ss, len);
}

/* Ports of which one is as good as another: @first, @first + @step and so on */
struct dial_ports {
	int	first;
	int	last;
	int	step;
};

/*
 * Bind to one of the ports.  They are shared with connections to other peers; a
 * listener, or the last connection to the same peer, may hold one.
 */
static int dial_bind_one(struct socket *sock, const struct rds_path_addr *route,
			 const struct dial_ports *ports)
{
	int nr = (ports->last - ports->first) / ports->step + 1;
	int i, err = -EADDRINUSE;
	u32 start;

	if (ports->first > ports->last)
		return -EADDRINUSE;
	sock_set_reuseaddr(sock->sk);
	start = get_random_u32_below(nr);
	for (i = 0; i < min(nr, RDS_TCP_PORT_TRIES) && err == -EADDRINUSE; i++)
		err = dial_bind_port(sock, route,
				     ports->first +
					     (start + i) % nr * ports->step);
	return err;
}

/*
 * A port tells the index of the path, where the peer looks at it.  Of the
 * privileged ports those are taken that sunrpc takes (RPC_DEF_MIN_RESVPORT).
 */
static int dial_bind(struct socket *sock, const struct rds_path *path,
		     const struct rds_path_addr *route)
{
	bool privileged = READ_ONCE(rds_tcp_net(path->net)->privileged);
	bool shows = rds_path_shows_index(path);
	struct dial_ports ports = { .first = 665, .last = PROT_SOCK - 1,
				    .step = 1 };

	if (!privileged && !shows)
		return dial_bind_any(sock, route);
	if (!privileged)
		inet_get_local_port_range(path->net, &ports.first, &ports.last);
	if (shows) {
		ports.step = RDS_MAX_PATHS;
		ports.first += (path->index - ports.first) &
			       (RDS_MAX_PATHS - 1);
	}
	return dial_bind_one(sock, route, &ports);
}

/* Let TCP repeat its SYN after RDS_TCP_SYN_TIME, and look again after that. */
static void dial_pace(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;
	struct inet_connection_sock *icsk = inet_csk(sk);

	ts->repeats = icsk->icsk_retransmits;
	icsk->icsk_rto = RDS_TCP_SYN_TIME;
	inet_csk_reset_xmit_timer(sk, ICSK_TIME_RETRANS, RDS_TCP_SYN_TIME,
				  TCP_RTO_MAX);
	rds_tcp_retry_after(ts, RDS_TCP_SYN_TIME);
}

/**
 * rds_tcp_dial_again - keep the pace of the SYNs
 * @ts: connection, attached; the socket is locked
 *
 * Only a SYN that was repeated sets the timer anew, or a worker that is ahead
 * of the timer would postpone the SYN for ever.  The number of SYNs is limited
 * here, as newer kernels add a sysctl to the number that a socket has.
 */
void rds_tcp_dial_again(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;

	sock_owned_by_me(sk);
	if (sk->sk_state != TCP_SYN_SENT)
		return;
	if (inet_csk(sk)->icsk_retransmits > RDS_TCP_SYN_RETRIES)
		rds_path_lost(ts->path, RDS_DROP_DIAL_FAILED);
	else if (inet_csk(sk)->icsk_retransmits == ts->repeats)
		rds_tcp_retry_after(ts, RDS_TCP_RETRY_TIME);
	else
		dial_pace(ts);
}

static int dial_start(struct rds_tcp_sock *ts, const struct rds_path_addr *addr)
{
	struct sock *sk = ts->sock->sk;
	struct sockaddr_storage ss;
	int len = rds_addr_write(&ss, &addr->faddr, htons(RDS_TCP_PORT),
				 addr->ifindex);
	int err = kernel_connect(ts->sock, (struct sockaddr_unsized *)&ss, len,
				 O_NONBLOCK);

	lock_sock(sk);
	if (sk->sk_state == TCP_SYN_SENT)
		dial_pace(ts);
	release_sock(sk);
	return err == -EINPROGRESS ? 0 : err;
}

static void path_set_sock(struct rds_path *path, struct rds_tcp_sock *ts)
{
	struct rds_tcp_path *tp = path->priv;
	struct rds_tcp_net *tn = ts->tn;

	spin_lock_bh(&tn->lock);
	WARN_ON_ONCE(tp->ts);
	tp->ts = ts;
	ts->path = path;
	rds_walk_add(&tn->socks, &ts->node);
	spin_unlock_bh(&tn->lock);
}

static struct rds_tcp_sock *dial_sock(struct rds_path *path)
{
	int family = ipv6_addr_v4mapped(&path->addr->laddr) ? AF_INET :
							      AF_INET6;
	struct rds_tcp_net *tn = rds_tcp_net(path->net);
	struct rds_tcp_sock *ts;
	struct socket *sock;
	int err;

	err = sock_create_kern(path->net, family, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (err)
		return ERR_PTR(err);
	ts = rds_tcp_sock_new(tn, sock);
	if (!ts) {
		sock_release(sock);
		return ERR_PTR(-ENOMEM);
	}
	rds_tcp_tune(tn, sock);
	tcp_sock_set_syncnt(sock->sk, RDS_TCP_SYN_RETRIES);
	return ts;
}

/*
 * Implements &rds_transport.path_connect
 *
 * The larger address dials, too: the peer notices the attempt and dials back
 * (protocol.rst 3.1). rds_path_up() then returns false, and the core ends this
 * connection.
 */
int rds_tcp_path_connect(struct rds_path *path)
{
	struct rds_tcp_sock *ts = dial_sock(path);
	struct rds_path_addr route;
	struct sock *sk;
	int err;

	if (IS_ERR(ts))
		return PTR_ERR(ts);
	rds_tcp_listen_kick(ts->tn);
	sk = ts->sock->sk;
	path_set_sock(path, ts);
	lock_sock(sk);
	rds_tcp_sock_attach(ts);
	release_sock(sk);

	rds_path_route(path, &route);
	err = dial_bind(ts->sock, path, &route);
	if (!err)
		err = dial_start(ts, &route);
	if (err)
		rds_tcp_path_close(path, false);
	return err;
}

/*
 * Implements &rds_transport.path_attach
 *
 * The peer may have closed already.  Messages in the receive queue were
 * acknowledged by TCP, so they are delivered nevertheless.
 */
void rds_tcp_path_attach(struct rds_path *path, void *handle)
{
	struct rds_tcp_sock *ts = handle;
	struct sock *sk = ts->sock->sk;

	path_set_sock(path, ts);
	lock_sock(sk);
	rds_tcp_sock_attach(ts);
	if (sk->sk_state == TCP_ESTABLISHED ||
	    !skb_queue_empty(&sk->sk_receive_queue))
		rds_tcp_established(ts);
	if (sk->sk_state != TCP_ESTABLISHED)
		rds_tcp_ended(ts);
	release_sock(sk);
}
