// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The objects of TCP connections, and the settings that all their sockets
 * share.
 */
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/* protocol.rst 3.2: a peer that is gone is detected after 30 s of silence. */
#define RDS_TCP_KEEPALIVE_SECS		5
#define RDS_TCP_KEEPALIVE_PROBES	5

static struct kmem_cache *rds_tcp_sock_cache;

static void rds_tcp_set_buffers(struct rds_tcp_net *tn, struct sock *sk)
{
	int sndbuf = READ_ONCE(tn->sndbuf);
	int rcvbuf = READ_ONCE(tn->rcvbuf);

	lock_sock(sk);
	if (sndbuf) {
		WRITE_ONCE(sk->sk_sndbuf, sndbuf);
		sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	}
	if (rcvbuf) {
		WRITE_ONCE(sk->sk_rcvbuf, rcvbuf);
		sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	}
	release_sock(sk);
}

/**
 * rds_tcp_tune - set the options of a data socket, dialled or accepted
 * @tn: namespace
 * @sock: the socket
 */
void rds_tcp_tune(struct rds_tcp_net *tn, struct socket *sock)
{
	struct sock *sk = sock->sk;

	tcp_sock_set_nodelay(sk);
	tcp_sock_set_keepidle(sk, RDS_TCP_KEEPALIVE_SECS);
	tcp_sock_set_keepintvl(sk, RDS_TCP_KEEPALIVE_SECS);
	tcp_sock_set_keepcnt(sk, RDS_TCP_KEEPALIVE_PROBES);
	sock_set_keepalive(sk);
	rds_tcp_set_buffers(tn, sk);
}

/**
 * rds_tcp_release_fin - close a socket in good order
 * @sock: the socket, detached
 *
 * TCP sends the remaining bytes and the FIN after this, within the time that it
 * gives orphans.  For that the socket takes a reference to its namespace.
 * Where the namespace is being dismantled the socket is reset instead.
 */
void rds_tcp_release_fin(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct net *net = sock_net(sk);

	if (sk->sk_state != TCP_CLOSE) {
		if (!maybe_get_net(net)) {
			rds_tcp_release_rst(sock);
			return;
		}
		/*
		 * Without TCP's lock, which may be taken where memory is
		 * reclaimed: a kernel that tracks references allocates here.
		 */
		sk_net_refcnt_upgrade(sk);
		put_net(net);
	}
	sock_release(sock);
}

/**
 * rds_tcp_release_rst - close a socket at once
 * @sock: the socket, detached
 */
void rds_tcp_release_rst(struct socket *sock)
{
	sock_no_linger(sock->sk);
	sock_release(sock);
}

/**
 * rds_tcp_sock_new - allocate the object for a socket
 * @tn: namespace
 * @sock: owned by the connection on success
 *
 * Return: the connection, or NULL without memory: the caller keeps @sock then.
 */
struct rds_tcp_sock *rds_tcp_sock_new(struct rds_tcp_net *tn,
				      struct socket *sock)
{
	struct rds_tcp_sock *ts = kmem_cache_zalloc(rds_tcp_sock_cache,
						    GFP_KERNEL);

	if (!ts)
		return NULL;
	ts->tn = tn;
	ts->sock = sock;
	INIT_LIST_HEAD(&ts->node);
	rds_stream_init(&ts->stream);
	INIT_DELAYED_WORK(&ts->retry, rds_tcp_retry);
	atomic_inc(&tn->nr_socks);
	return ts;
}

/**
 * rds_tcp_sock_free - free the object
 * @ts: a connection that is detached, its socket released
 */
void rds_tcp_sock_free(struct rds_tcp_sock *ts)
{
	atomic_dec(&ts->tn->nr_socks);
	kmem_cache_free(rds_tcp_sock_cache, ts);
}

/**
 * rds_tcp_refuse - refuse a connection the peer opened
 * @net: namespace
 * @handle: the connection, never attached
 *
 * Sends a FIN and then at once a RST (protocol.rst 3.1): the peer reads the end
 * of the stream, and neither host keeps state of the connection.
 */
void rds_tcp_refuse(struct net *net, void *handle)
{
	struct rds_tcp_sock *ts = handle;

	kernel_sock_shutdown(ts->sock, SHUT_RDWR);
	rds_tcp_release_rst(ts->sock);
	rds_tcp_sock_free(ts);
}

int __init rds_tcp_sock_init(void)
{
	rds_tcp_sock_cache = KMEM_CACHE(rds_tcp_sock, 0);
	return rds_tcp_sock_cache ? 0 : -ENOMEM;
}

void rds_tcp_sock_exit(void)
{
	kmem_cache_destroy(rds_tcp_sock_cache);
}
