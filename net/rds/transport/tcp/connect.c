// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A path gets its connection: dialled here, or handed over by the core.
 */
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/tcp.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/* SYNs after the first: an attempt ends after 7 s, and the core dials again at its own pace. */
#define RDS_TCP_SYN_RETRIES	2

#if IS_ENABLED(CONFIG_IPV6)
static bool addr_local_v6(struct net *net, const struct in6_addr *addr, u32 scope)
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
static bool addr_local_v6(struct net *net, const struct in6_addr *addr, u32 scope)
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

/**
 * rds_tcp_sockaddr - an address as TCP takes it
 * @ss: filled in
 * @addr: IPv4 as v4-mapped
 * @port: TCP port
 * @ifindex: scope of an IPv6 address
 *
 * Return: bytes used in @ss.
 */
int rds_tcp_sockaddr(struct sockaddr_storage *ss, const struct in6_addr *addr, __be16 port,
		     int ifindex)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (ipv6_addr_v4mapped(addr)) {
		sin->sin_family = AF_INET;
		sin->sin_port = port;
		sin->sin_addr.s_addr = addr->s6_addr32[3];
		return sizeof(*sin);
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = port;
	sin6->sin6_addr = *addr;
	sin6->sin6_scope_id = ifindex;
	return sizeof(*sin6);
}

/* The kernel picks the port when the peer is known: ports are not used up by other peers. */
static int dial_bind(struct socket *sock, const struct rds_path_addr *addr)
{
	struct sockaddr_storage ss;
	int len = rds_tcp_sockaddr(&ss, &addr->laddr, 0, addr->ifindex);
	int one = 1;

	sock->ops->setsockopt(sock, SOL_IP, IP_BIND_ADDRESS_NO_PORT, KERNEL_SOCKPTR(&one),
			      sizeof(one));
	return kernel_bind(sock, (struct sockaddr_unsized *)&ss, len);
}

static int dial_start(struct socket *sock, const struct rds_path_addr *addr)
{
	struct sockaddr_storage ss;
	int len = rds_tcp_sockaddr(&ss, &addr->faddr, htons(RDS_TCP_PORT), addr->ifindex);
	int err = kernel_connect(sock, (struct sockaddr_unsized *)&ss, len, O_NONBLOCK);

	return err == -EINPROGRESS ? 0 : err;
}

static void path_set_conn(struct rds_path *path, struct rds_tcp_conn *conn)
{
	struct rds_tcp_path *tp = path->priv;
	struct rds_tcp_net *tn = conn->tn;

	spin_lock_bh(&tn->lock);
	WARN_ON_ONCE(tp->conn);
	tp->conn = conn;
	conn->path = path;
	list_add_tail(&conn->node, &tn->conns);
	spin_unlock_bh(&tn->lock);
}

static struct rds_tcp_conn *dial_conn(struct rds_path *path)
{
	int family = ipv6_addr_v4mapped(&path->addr->laddr) ? AF_INET : AF_INET6;
	struct rds_tcp_net *tn = rds_tcp_net(path->net);
	struct rds_tcp_conn *conn;
	struct socket *sock;
	int err;

	err = sock_create_kern(path->net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return ERR_PTR(err);
	conn = rds_tcp_conn_new(tn, sock);
	if (!conn) {
		sock_release(sock);
		return ERR_PTR(-ENOMEM);
	}
	rds_tcp_tune(tn, sock);
	tcp_sock_set_syncnt(sock->sk, RDS_TCP_SYN_RETRIES);
	return conn;
}

/*
 * Implements &rds_transport.path_connect
 *
 * Also for the larger address: what is wanted then is that the peer notices and dials itself
 * (wire document 3.1).  rds_path_up() tells, and the core ends the connection.
 */
int rds_tcp_path_connect(struct rds_path *path)
{
	struct rds_tcp_conn *conn = dial_conn(path);
	struct sock *sk;
	int err;

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	rds_tcp_listen_kick(conn->tn);
	sk = conn->sock->sk;
	path_set_conn(path, conn);
	lock_sock(sk);
	rds_tcp_conn_attach(conn);
	release_sock(sk);

	err = dial_bind(conn->sock, path->addr);
	if (!err)
		err = dial_start(conn->sock, path->addr);
	if (err)
		rds_tcp_path_close(path, false);
	return err;
}

/*
 * Implements &rds_transport.path_attach
 *
 * The peer may be gone again already, with messages left in the queue that our TCP has
 * acknowledged: they are delivered like any others.
 */
void rds_tcp_path_attach(struct rds_path *path, void *handle)
{
	struct rds_tcp_conn *conn = handle;
	struct sock *sk = conn->sock->sk;

	path_set_conn(path, conn);
	lock_sock(sk);
	rds_tcp_conn_attach(conn);
	if (sk->sk_state == TCP_ESTABLISHED || !skb_queue_empty(&sk->sk_receive_queue))
		rds_tcp_established(conn);
	if (sk->sk_state != TCP_ESTABLISHED)
		rds_tcp_ended(conn);
	release_sock(sk);
}
