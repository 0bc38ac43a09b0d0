// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* listen() and accept(), and requests of peers; listen.h has the rules. */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/inet_sock.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include <net/rds/dev_domain.h>
#include <net/rds/dev_port.h>
#include <net/rds/family.h>

#include "listen.h"
#include "net.h"
#include "rule.h"
#include "sock.h"
#include "tcp.h"

static void listener_free(struct kref *ref)
{
	struct rds_ss_listener *l = container_of(ref, struct rds_ss_listener,
						 ref);

	kfree_rcu(l, rcu);
}

void rds_ss_listener_put(struct rds_ss_listener *l)
{
	kref_put(&l->ref, listener_free);
}

/* Requests */

/*
 * Whether peers reach the listener at an interface, by the rules of TCP for
 * SO_BINDTODEVICE, which may be set at any time, and for VRFs
 */
static bool listener_is_at(const struct rds_ss_listener *l,
			   const struct rds_dev_laddr *at)
{
	int master = l3mdev_master_ifindex_by_index(at->net, at->ifindex);

	lockdep_assert_held(&l->lock);
	return inet_sk_bound_dev_eq(at->net,
				    READ_ONCE(l->sk->sk_bound_dev_if),
				    master ?: at->ifindex,
				    master ? at->ifindex : 0);
}

/*
 * Have the id own the request, and give it a place in the backlog: both or
 * neither, as the listener may end the connection from then on.
 */
static bool listener_enter(struct rds_ss_listener *l, struct rds_ss_conn *conn)
{
	bool room, good, here;

	spin_lock_bh(&conn->id.lock);
	spin_lock(&l->lock);
	here = l->sk && listener_is_at(l, &conn->id.local);
	room = l->sk && l->nr < l->backlog;
	good = here && room && rds_dev_id_own(&conn->id, conn);
	if (good) {
		l->nr++;
		list_add_tail(&conn->queue_node, &l->half);
		kref_get(&l->ref);
		conn->listener = l;
		conn->owned = true;
	}
	spin_unlock(&l->lock);
	spin_unlock_bh(&conn->id.lock);
	if (!room)
		rds_ss_count(l->sn, RDS_SS_STAT_stream_backlog_full, 1);
	else if (!here)
		rds_ss_count(l->sn, RDS_SS_STAT_stream_wrong_device, 1);
	return good;
}

void rds_ss_listener_ready(struct rds_ss_conn *conn)
{
	struct rds_ss_listener *l = conn->listener;

	lockdep_assert_held(&conn->lock);
	spin_lock(&l->lock);
	/* Not if the listener has taken it off, and ends it. */
	if (l->sk && !list_empty(&conn->queue_node)) {
		list_move_tail(&conn->queue_node, &l->ready);
		WRITE_ONCE(l->nr_ready, l->nr_ready + 1);
		kref_get(&conn->ref);
		conn->waits = true;
		l->sk->sk_data_ready(l->sk);
	}
	spin_unlock(&l->lock);
}

void rds_ss_listener_lost(struct rds_ss_conn *conn)
{
	struct rds_ss_listener *l = conn->listener;

	spin_lock_bh(&l->lock);
	if (!conn->waits && !list_empty(&conn->queue_node)) {
		list_del_init(&conn->queue_node);
		l->nr--;
	}
	spin_unlock_bh(&l->lock);
}

static void request_addrs(const struct rdma_cm_id *cm_id,
			  struct rds_dev_laddr *local,
			  struct rds_ss_name *remote)
{
	const struct rdma_addr *ra = &cm_id->route.addr;
	struct rds_ss_name me;

	rds_ss_name_cm(&me, &ra->src_addr);
	rds_ss_name_cm(remote, &ra->dst_addr);
	local->net = ra->dev_addr.net;
	local->addr = me.addr;
	local->ifindex = ra->dev_addr.bound_dev_if;
	local->scope = 0;
	if ((ipv6_addr_type(&me.addr) | ipv6_addr_type(&remote->addr)) &
	    IPV6_ADDR_LINKLOCAL)
		local->scope = ra->dev_addr.bound_dev_if;
}

/* Returns false if the caller must refuse the request. */
static bool request_begin(struct rds_ss_listener *l,
			  struct rds_dev_domain *dom, struct rdma_cm_id *cm_id,
			  const struct rdma_conn_param *param,
			  const struct rds_ss_hello *peer)
{
	struct rds_dev_laddr local;
	struct rds_ss_name remote;
	struct rds_ss_conn *conn;
	enum rds_dev_take take;
	bool taken;

	request_addrs(cm_id, &local, &remote);
	rds_ss_host_heard(&l->sn->hosts, &remote.addr);
	if (!rds_family_peer(local.net, &local.addr, &remote.addr))
		return false;
	conn = rds_ss_conn_new(l->sn, dom, &local, &remote.addr, &l->want,
			       true);
	if (!conn)
		return false;
	conn->peer = *peer;
	conn->peer_port = remote.port;
	take = rds_dev_id_take(&conn->id, cm_id, param);
	taken = take == RDS_DEV_TAKE_HELD;
	if (take == RDS_DEV_TAKE_YES && listener_enter(l, conn)) {
		rds_dev_id_accept_later(&conn->id);
		taken = true;
	}
	if (!taken)
		rds_dev_id_forget(&conn->id);
	rds_ss_conn_put(conn);
	return taken;
}

static bool request_take(struct rds_ss_listener *l, struct rds_dev_domain *dom,
			 struct rdma_cm_id *cm_id,
			 const struct rdma_conn_param *param)
{
	struct rds_ss_hello peer;
	enum rds_ss_why why;

	why = rds_ss_hello_get(param->private_data, param->private_data_len,
			       &peer);
	if (!why)
		return request_begin(l, dom, cm_id, param, &peer);
	rds_ss_refused(l->sn, why);
	return false;
}

/* Implements &rds_dev_service.request */
static int listener_request(struct rds_dev_service *svc,
			    struct rds_dev_domain *dom,
			    struct rdma_cm_id *cm_id,
			    const struct rdma_conn_param *param)
{
	struct rds_ss_listener *l = container_of(svc, struct rds_ss_listener,
						 svc);

	if (request_take(l, dom, cm_id, param))
		return 0;
	rdma_reject(cm_id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	return -ECONNREFUSED;
}

/* Begin and end */

/* Once the socket has its name */
static struct rds_ss_listener *listener_new(struct rds_ss_sock *ss)
{
	struct rds_ss_listener *l = kzalloc_obj(*l, GFP_KERNEL_ACCOUNT);

	if (!l)
		return NULL;
	kref_init(&l->ref);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->half);
	INIT_LIST_HEAD(&l->ready);
	l->sn = ss->sn;
	l->sk = &ss->sk;
	l->want = ss->want;
	l->want.max_half = rds_ss_sock_max_half(&ss->sk);
	l->svc.user = &rds_ss_user;
	l->svc.net = ss->sn->net;
	l->svc.addr = ss->local.addr;
	l->svc.scope = ss->local.scope;
	l->svc.v6only = ss->sk.sk_ipv6only;
	l->svc.port = ss->local.port;
	l->svc.request = listener_request;
	/* Where TCP listens, too, what RDMA does not have is no failure. */
	l->svc.no_iwarp = rds_ss_by_rule(ss);
	l->svc.retry = rds_ss_by_rule(ss);
	return l;
}

/* The first connection of a queue, with its reference if it has one */
static struct rds_ss_conn *listener_pop(struct rds_ss_listener *l,
					struct list_head *queue)
{
	struct rds_ss_conn *conn;

	lockdep_assert_held(&l->lock);
	conn = list_first_entry_or_null(queue, struct rds_ss_conn, queue_node);
	if (!conn)
		return NULL;
	list_del_init(&conn->queue_node);
	l->nr--;
	if (queue == &l->ready)
		WRITE_ONCE(l->nr_ready, l->nr_ready - 1);
	else
		kref_get(&conn->ref);
	return conn;
}

static void listener_empty(struct rds_ss_listener *l, struct list_head *queue)
{
	struct rds_ss_conn *conn;

	for (;;) {
		spin_lock_bh(&l->lock);
		conn = listener_pop(l, queue);
		spin_unlock_bh(&l->lock);
		if (!conn)
			break;
		rds_ss_conn_leave(conn, true);
		rds_ss_conn_put(conn);
		cond_resched();
	}
}

void rds_ss_listener_end(struct rds_ss_listener *l)
{
	spin_lock_bh(&l->lock);
	WRITE_ONCE(l->sk, NULL);
	spin_unlock_bh(&l->lock);
	if (l->served)
		rds_dev_service_del(&l->svc);
	listener_empty(l, &l->half);
	listener_empty(l, &l->ready);
	rds_ss_listener_put(l);
}

/* Calls */

static int listen_begin(struct rds_ss_sock *ss, unsigned int backlog)
{
	/* Somebody else has the port of RDMA, or no device has the address. */
	bool alone = rds_ss_by_rule(ss) && ss->bound && !ss->port;
	struct rds_ss_listener *l = listener_new(ss);
	int err;

	if (!l)
		return -ENOMEM;
	l->backlog = backlog;
	l->svc.backlog = backlog;
	/* The port is free between the two. */
	rds_dev_port_drop(ss->port);
	ss->port = NULL;
	err = rds_dev_service_add(&l->svc);
	l->served = !err;
	if (err && !rds_ss_by_rule(ss)) {
		/* One of several addresses may have let a request in. */
		rds_ss_listener_end(l);
		rds_ss_port_again(ss);
		return err;
	}
	if (err || alone)
		rds_ss_count(ss->sn, RDS_SS_STAT_stream_tcp_only, 1);
	rds_ss_sock_part(ss);
	rcu_assign_pointer(ss->listener, l);
	ss->sk.sk_max_ack_backlog = backlog;
	WRITE_ONCE(ss->sk.sk_state, TCP_LISTEN);
	return 0;
}

static int listen_again(struct socket *sock, struct rds_ss_listener *l,
			unsigned int backlog)
{
	spin_lock_bh(&l->lock);
	l->backlog = backlog;
	spin_unlock_bh(&l->lock);
	return rds_ss_by_rule(rds_ss_sk(sock->sk)) ?
		       rds_ss_tcp_listen(sock, backlog) : 0;
}

/* A socket that was not bound gets a port. */
static int listen_bind(struct socket *sock, unsigned int backlog)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	struct in6_addr any;

	if (rds_ss_by_rule(ss))
		return rds_ss_rule_listen(sock, backlog);
	if (ss->local.port)
		return 0;
	if (!ss->family)
		ss->family = AF_INET;
	if (ss->family == AF_INET && ipv6_addr_any(&ss->local.addr)) {
		ipv6_addr_set_v4mapped(0, &any);
		ss->local.addr = any;
	}
	return rds_dev_port_hold(ss->sn->net, &ss->local.addr, ss->local.scope,
				 ss->sk.sk_ipv6only, &ss->local.port,
				 &ss->port);
}

int rds_ss_listen(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;
	struct rds_ss_sock *ss = rds_ss_sk(sk);
	unsigned int max = backlog < 1 ? 1 : backlog;
	int err = -EINVAL;

	lock_sock(sk);
	if (rds_ss_by_tcp(ss)) {
		release_sock(sk);
		return rds_ss_tcp_listen(sock, backlog);
	}
	if (rds_ss_sock_listener(ss)) {
		err = listen_again(sock, rds_ss_sock_listener(ss), max);
	} else if (sock->state == SS_UNCONNECTED &&
		   sk->sk_state == TCP_CLOSE) {
		err = listen_bind(sock, max);
		if (!err)
			err = listen_begin(ss, max);
		if (err && rds_ss_by_rule(ss))
			rds_ss_tcp_shutdown(ss, SHUT_RDWR);
	}
	release_sock(sk);
	return err;
}

static struct rds_ss_conn *accept_next(struct rds_ss_listener *l)
{
	struct rds_ss_conn *conn;

	spin_lock_bh(&l->lock);
	conn = listener_pop(l, &l->ready);
	spin_unlock_bh(&l->lock);
	return conn;
}

/**
 * struct incoming - what accept() takes; one of them
 * @conn: connection over RDMA
 * @tcp: connection over TCP
 */
struct incoming {
	struct rds_ss_conn	*conn;
	struct socket		*tcp;
};

static int accept_rdma(struct rds_ss_listener *l, struct incoming *in)
{
	in->conn = accept_next(l);
	if (in->conn)
		return 0;
	return READ_ONCE(l->sk) ? -EAGAIN : -EINVAL;
}

static int accept_tcp(struct rds_ss_sock *ss, struct incoming *in)
{
	return kernel_accept(ss->tcp, &in->tcp, O_NONBLOCK);
}

/*
 * The next connection: 0, -EAGAIN if there is none, or an error.  The queues
 * take turns.
 */
static int accept_one(struct rds_ss_sock *ss, struct rds_ss_listener *l,
		      struct incoming *in)
{
	bool tcp_first = READ_ONCE(ss->tcp_turn);
	int err = -EAGAIN;

	if (!l)
		return accept_tcp(ss, in);
	if (!rds_ss_by_rule(ss))
		return accept_rdma(l, in);
	if (tcp_first)
		err = accept_tcp(ss, in);
	if (err == -EAGAIN)
		err = accept_rdma(l, in);
	if (err == -EAGAIN && !tcp_first)
		err = accept_tcp(ss, in);
	WRITE_ONCE(ss->tcp_turn, !!in->conn);
	return err;
}

/*
 * Wait for the next connection.  The socket stays, as its file does; the caller
 * has a reference to the listener, which may end.
 */
static int accept_wait(struct rds_ss_sock *ss, struct rds_ss_listener *l,
		       int flags, struct incoming *in)
{
	struct sock *sk = &ss->sk;
	long timeo = sock_rcvtimeo(sk, flags & O_NONBLOCK);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err;

	wait.flags |= WQ_FLAG_EXCLUSIVE;
	add_wait_queue_exclusive(sk_sleep(sk), &wait);
	for (;;) {
		err = accept_one(ss, l, in);
		if (err != -EAGAIN || !timeo)
			break;
		err = sock_intr_errno(timeo);
		if (signal_pending(current))
			break;
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return err;
}

static void accept_options(struct rds_ss_sock *ss,
			   const struct rds_ss_sock *from)
{
	struct sock *sk = &ss->sk;

	ss->accepted = true;
	ss->family = from->family;
	ss->want = from->want;
	ss->cork = from->cork;
	ss->keep_idle = from->keep_idle;
	ss->keep_intvl = from->keep_intvl;
	ss->keep_cnt = from->keep_cnt;
	ss->user_timeout = from->user_timeout;
	sk->sk_sndbuf = from->sk.sk_sndbuf;
	sk->sk_rcvbuf = from->sk.sk_rcvbuf;
	rds_ss_sock_options(sk, &from->sk);
	if (sock_flag(&from->sk, SOCK_KEEPOPEN))
		sock_set_flag(sk, SOCK_KEEPOPEN);
}

static void accept_names(struct rds_ss_sock *ss,
			 const struct rds_ss_sock *listener,
			 const struct rds_ss_conn *conn)
{
	ss->local.addr = conn->id.local.addr;
	ss->local.scope = conn->id.local.scope;
	ss->local.port = listener->local.port;
	ss->remote.addr = conn->id.remote;
	ss->remote.scope = conn->id.local.scope;
	ss->remote.port = conn->peer_port;
}

/* Give a connection to its socket, in the state that it is in by now. */
static int accept_give(struct sock *sk, struct rds_ss_conn *conn)
{
	struct rds_ss_sock *ss = rds_ss_sk(sk);
	int err = 0;

	spin_lock_bh(&conn->lock);
	if (!rds_ss_conn_own(conn, sk)) {
		err = -ENOBUFS;
	} else {
		rcu_assign_pointer(ss->conn, conn);
		rds_ss_share_accepted(ss->sn, &conn->is_request);
		rds_ss_tune(&conn->e, ss->want.nodelay, ss->cork);
		rds_ss_conn_tell(conn, sk);
	}
	spin_unlock_bh(&conn->lock);
	return err;
}

static int accept_conn(struct rds_ss_sock *listener, struct sock *sk,
		       struct rds_ss_conn *conn, struct socket *newsock)
{
	int err;

	accept_names(rds_ss_sk(sk), listener, conn);
	err = accept_give(sk, conn);
	/* From here on the release of @newsock frees the socket. */
	newsock->state = err ? SS_UNCONNECTED : SS_CONNECTED;
	if (err)
		return err;
	rds_ss_clock_set(sk, sock_flag(sk, SOCK_KEEPOPEN));
	rds_ss_count(listener->sn, RDS_SS_STAT_stream_accepted, 1);
	return 0;
}

static int accept_finish(struct rds_ss_sock *listener, struct incoming *in,
			 struct socket *newsock, bool kern)
{
	struct sock *sk;

	sk = rds_ss_sock_like(&listener->sk, newsock, kern);
	if (!sk)
		return -ENOMEM;
	accept_options(rds_ss_sk(sk), listener);
	if (in->conn)
		return accept_conn(listener, sk, in->conn, newsock);
	rds_ss_tcp_adopt(rds_ss_sk(sk), newsock, in->tcp);
	newsock->state = SS_CONNECTED;
	return 0;
}

/* The connection that no socket has got ends. */
static void accept_drop(struct incoming *in)
{
	if (in->conn) {
		rds_ss_conn_leave(in->conn, true);
		rds_ss_conn_put(in->conn);
	} else {
		sock_release(in->tcp);
	}
}

RDS_ACCEPT(rds_ss_accept)
{
	struct sock *sk = sock->sk;
	struct rds_ss_sock *ss = rds_ss_sk(sk);
	struct rds_ss_listener *l;
	struct incoming in = {};
	int err;

	lock_sock(sk);
	l = rds_ss_sock_listener(ss);
	if (l)
		kref_get(&l->ref);
	release_sock(sk);
	if (!l && !rds_ss_by_tcp(ss))
		return -EINVAL;
	err = accept_wait(ss, l, RDS_ACCEPT_FLAGS, &in);
	if (l)
		rds_ss_listener_put(l);
	if (err)
		return err;
	err = accept_finish(ss, &in, newsock, RDS_ACCEPT_KERN);
	if (err)
		accept_drop(&in);
	return err;
}
