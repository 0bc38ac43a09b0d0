// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections as objects, and what is common to all their sockets.
 */
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/* Spec 3.2: a peer that is gone is found out after 30 s of silence. */
#define RDS_TCP_KEEPALIVE_SECS		5
#define RDS_TCP_KEEPALIVE_PROBES	5

static struct kmem_cache *rds_tcp_conn_cache;

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
 * rds_tcp_tune - what every data socket gets, dialled or accepted
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
 * @sock: the socket, without callbacks of ours
 *
 * What is left to be sent, the FIN included, is TCP's business after this.  It can do that only
 * for a socket that keeps its namespace, for at most the time TCP gives orphans; a namespace
 * that is on its way out gets a reset instead.
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
		lock_sock(sk);
		sk_net_refcnt_upgrade(sk);
		release_sock(sk);
		put_net(net);
	}
	sock_release(sock);
}

/**
 * rds_tcp_release_rst - close a socket at once
 * @sock: the socket, without callbacks of ours
 */
void rds_tcp_release_rst(struct socket *sock)
{
	sock_no_linger(sock->sk);
	sock_release(sock);
}

/**
 * rds_tcp_conn_new - make the object for a socket
 * @tn: namespace
 * @sock: becomes the connection's
 *
 * Return: the connection, or NULL without memory; the socket stays the caller's then.
 */
struct rds_tcp_conn *rds_tcp_conn_new(struct rds_tcp_net *tn, struct socket *sock)
{
	struct rds_tcp_conn *conn = kmem_cache_zalloc(rds_tcp_conn_cache, GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->tn = tn;
	conn->sock = sock;
	INIT_LIST_HEAD(&conn->node);
	rds_stream_init(&conn->stream);
	INIT_DELAYED_WORK(&conn->retry, rds_tcp_retry);
	init_waitqueue_head(&conn->wait);
	atomic_inc(&tn->nr_conns);
	return conn;
}

/**
 * rds_tcp_conn_free - the connection is detached and its socket released
 * @conn: the connection
 */
void rds_tcp_conn_free(struct rds_tcp_conn *conn)
{
	atomic_dec(&conn->tn->nr_conns);
	kmem_cache_free(rds_tcp_conn_cache, conn);
}

/**
 * rds_tcp_conn_drop - refuse a connection the peer opened
 * @net: namespace
 * @handle: the connection, never attached
 *
 * A FIN and then at once a RST (wire document 3.1): the peer reads the end of the stream, and
 * nothing of the connection is left.
 */
void rds_tcp_conn_drop(struct net *net, void *handle)
{
	struct rds_tcp_conn *conn = handle;

	kernel_sock_shutdown(conn->sock, SHUT_RDWR);
	rds_tcp_release_rst(conn->sock);
	rds_tcp_conn_free(conn);
}

int __init rds_tcp_conn_init(void)
{
	rds_tcp_conn_cache = KMEM_CACHE(rds_tcp_conn, 0);
	return rds_tcp_conn_cache ? 0 : -ENOMEM;
}

void rds_tcp_conn_exit(void)
{
	kmem_cache_destroy(rds_tcp_conn_cache);
}
