// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The listeners of a namespace, and connections that peers open.
 *
 * Normally one dual-stack socket listens.  If the port is taken for one family,
 * or IPv6 does not exist, a socket listens for the other family alone; a
 * missing one is opened again every second.
 */
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/tcp.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/rds/access.h>
#include <net/rds/addr.h>
#include <net/rds/join.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

#define RDS_TCP_BACKLOG		64
/* At most one line in this time says that a port was refused. */
#define RDS_TCP_LOG_TIME	(60 * HZ)
/*
 * Whether a namespace listens that is made, or that exists as the module is
 * loaded.  A parameter of the module and no sysctl, as access_new of rds.
 */
static bool listen_new = true;
module_param(listen_new, bool, 0644);
MODULE_PARM_DESC(listen_new,
		 "net.rds.tcp.listen of network namespaces but the first");

/*
 * The namespace of a listener; NULL for a detached one, and for children not
 * accepted yet
 */
static struct rds_tcp_net *listener_net(struct sock *sk)
{
	return (void *)((uintptr_t)sk->sk_user_data & SK_USER_DATA_PTRMASK);
}

/* Called under the lock of the new connection, not of the listener */
static void listen_data_ready(struct sock *sk)
{
	struct rds_tcp_net *tn;

	read_lock_bh(&sk->sk_callback_lock);
	tn = listener_net(sk);
	if (tn)
		queue_work(rds_tcp_wq, &tn->accept_work);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* The listener was aborted, as sock_diag can do: open another one. */
static void listen_state_change(struct sock *sk)
{
	struct rds_tcp_net *tn;

	read_lock_bh(&sk->sk_callback_lock);
	tn = listener_net(sk);
	if (tn && sk->sk_state == TCP_CLOSE)
		mod_delayed_work(rds_tcp_wq, &tn->listen_work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void listener_attach(struct rds_tcp_net *tn, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	tn->def_data_ready = sk->sk_data_ready;
	tn->def_state_change = sk->sk_state_change;
	__rcu_assign_sk_user_data_with_flags(sk, tn, SK_USER_DATA_NOCOPY);
	sk->sk_data_ready = listen_data_ready;
	sk->sk_state_change = listen_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void listener_detach(struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

static int listener_bind(struct socket *sock, int family)
{
	struct in6_addr any = in6addr_any;
	struct sockaddr_storage ss;
	int len;

	if (family == AF_INET)
		ipv6_addr_set_v4mapped(htonl(INADDR_ANY), &any);
	len = rds_addr_write(&ss, &any, htons(RDS_TCP_PORT), 0);
	return kernel_bind(sock, (struct sockaddr_unsized *)&ss, len);
}

/*
 * The sysctl bindv6only must not decide whether IPv4 is served: set the option
 * in both cases.
 */
static int listener_set_v6only(struct socket *sock, int v6only)
{
	return sock->ops->setsockopt(sock, SOL_IPV6, IPV6_V6ONLY,
				     KERNEL_SOCKPTR(&v6only), sizeof(v6only));
}

static int listener_open(struct rds_tcp_net *tn, int family, int v6only,
			 struct socket **res)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(tn->net, family, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (err)
		return err;
	sock_set_reuseaddr(sock->sk);
	tcp_sock_set_nodelay(sock->sk);
	if (family == AF_INET6)
		err = listener_set_v6only(sock, v6only);
	if (!err)
		err = listener_bind(sock, family);
	if (!err) {
		listener_attach(tn, sock->sk);
		err = kernel_listen(sock, RDS_TCP_BACKLOG);
	}
	if (err) {
		listener_detach(sock->sk);
		sock_release(sock);
		return err;
	}
	*res = sock;
	return 0;
}

static bool listener_serves_v4(const struct rds_tcp_net *tn)
{
	const struct socket *v6 = tn->listener[RDS_TCP_LISTEN_V6];

	return tn->listener[RDS_TCP_LISTEN_V4] || (v6 && !v6->sk->sk_ipv6only);
}

/* Returns 0 when both families are served. */
static int listen_complete(struct rds_tcp_net *tn)
{
	bool has_v6 = IS_ENABLED(CONFIG_IPV6) && ipv6_mod_enabled();
	struct socket **v6 = &tn->listener[RDS_TCP_LISTEN_V6];
	struct socket **v4 = &tn->listener[RDS_TCP_LISTEN_V4];
	int err = 0;

	lockdep_assert_held(&tn->listen_lock);
	if (has_v6 && !*v6 && !*v4 && !listener_open(tn, AF_INET6, 0, v6))
		return 0;
	if (!listener_serves_v4(tn))
		err = listener_open(tn, AF_INET, 0, v4);
	if (has_v6 && !*v6) {
		int err6 = listener_open(tn, AF_INET6, 1, v6);

		err = err ? err : err6;
	}
	return err;
}

static void listener_close(struct socket **sock)
{
	if (!*sock)
		return;
	listener_detach((*sock)->sk);
	/*
	 * A child that just arrived may be about to call listen_data_ready().
	 */
	synchronize_rcu();
	sock_release(*sock);
	*sock = NULL;
}

/* Close what has been aborted, or all that is not wanted any more. */
static void listen_tidy(struct rds_tcp_net *tn, bool wanted)
{
	int i;

	lockdep_assert_held(&tn->listen_lock);
	for (i = 0; i < RDS_TCP_LISTENERS; i++)
		if (tn->listener[i] &&
		    (!wanted || tn->listener[i]->sk->sk_state != TCP_LISTEN))
			listener_close(&tn->listener[i]);
}

/**
 * rds_tcp_listen_try - listen as the sysctl says
 * @tn: namespace
 *
 * A port that is taken is no failure: it is tried again every second.
 *
 * Context: process, may sleep.
 */
void rds_tcp_listen_try(struct rds_tcp_net *tn)
{
	bool wanted;
	int err;

	mutex_lock(&tn->listen_lock);
	wanted = READ_ONCE(tn->listens);
	listen_tidy(tn, wanted);
	err = !wanted || READ_ONCE(tn->stopping) ? 0 : listen_complete(tn);
	if (err) {
		if (!tn->listen_failed)
			net_warn_ratelimited("rds_tcp: cannot listen on port %u (%d), trying again\n",
					     RDS_TCP_PORT, err);
		queue_delayed_work(rds_tcp_wq, &tn->listen_work, HZ);
	} else if (wanted && tn->listen_failed) {
		net_info_ratelimited("rds_tcp: listening on port %u\n",
				     RDS_TCP_PORT);
	}
	/* A namespace that is told not to listen, and to, logs it once. */
	if (wanted)
		WRITE_ONCE(tn->listen_failed, err);
	mutex_unlock(&tn->listen_lock);
	queue_work(rds_tcp_wq, &tn->accept_work);
}

static void listen_worker(struct work_struct *work)
{
	rds_tcp_listen_try(container_of(to_delayed_work(work),
					struct rds_tcp_net, listen_work));
}

/**
 * rds_tcp_listen_kick - try to open missing listeners now, as the namespace is
 * in use
 * @tn: namespace
 */
void rds_tcp_listen_kick(struct rds_tcp_net *tn)
{
	if (unlikely(READ_ONCE(tn->listen_failed)) && !READ_ONCE(tn->stopping))
		mod_delayed_work(rds_tcp_wq, &tn->listen_work, 0);
}

/**
 * rds_tcp_sock_addr - get the addresses of a socket in the form of the core
 * @sk: socket, accepted or connected
 * @addr: set to the addresses
 */
void rds_tcp_sock_addr(const struct sock *sk, struct rds_path_addr *addr)
{
	const struct inet_sock *inet = inet_sk(sk);

	memset(addr, 0, sizeof(*addr));
	if (sk->sk_family == AF_INET) {
		ipv6_addr_set_v4mapped(inet->inet_rcv_saddr, &addr->laddr);
		ipv6_addr_set_v4mapped(inet->inet_daddr, &addr->faddr);
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	addr->laddr = sk->sk_v6_rcv_saddr;
	addr->faddr = sk->sk_v6_daddr;
	/*
	 * Only link-local addresses need an interface.  A socket that is bound
	 * to one for another reason (VRF) must find the connection that was
	 * made by dialling.
	 */
	if (!((ipv6_addr_type(&addr->laddr) | ipv6_addr_type(&addr->faddr)) &
	      IPV6_ADDR_LINKLOCAL))
		return;
	addr->ifindex = READ_ONCE(sk->sk_bound_dev_if);
	if (!addr->ifindex)
		addr->ifindex = READ_ONCE(inet6_sk(sk)->mcast_oif);
#endif
}

/* The connection is over, and no received byte is left to deliver. */
static bool accepted_stale(const struct sock *sk)
{
	return sk->sk_state == TCP_CLOSE &&
	       skb_queue_empty_lockless(&sk->sk_receive_queue);
}

/* An accepted socket starts with copies of the listener's callbacks. */
static void accepted_reset_callbacks(struct rds_tcp_net *tn, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = tn->def_data_ready;
	sk->sk_state_change = tn->def_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * rds_tcp_accepted - hand a connection to the core
 * @ts: accepted connection, the caller's until here
 */
void rds_tcp_accepted(struct rds_tcp_sock *ts)
{
	struct rds_tcp_net *tn = ts->tn;
	struct rds_path_addr addr;

	rds_tcp_sock_addr(ts->sock->sk, &addr);
	/* It may have waited while the networks were changed. */
	if (!rds_access_peer(tn->net, &addr)) {
		rds_tcp_refuse(tn->net, ts);
		return;
	}
	if (rds_path_incoming(&rds_tcp_transport, tn->net, &addr,
			      ntohs(inet_sk(ts->sock->sk)->inet_dport), ts))
		return;
	rds_tcp_stat_inc(tn, tcp_connect_raced);
	rds_tcp_refuse(tn->net, ts);
}

/*
 * Only a privileged process of the peer's host can have a port below 1024.  A
 * refusal is logged now and then.
 */
static bool accepted_port_allowed(const struct rds_tcp_net *tn,
				  const struct sock *sk,
				  const struct rds_path_addr *addr)
{
	static RDS_DEFINE_LOG_LIMIT(limit, RDS_TCP_LOG_TIME);
	u16 port = ntohs(inet_sk(sk)->inet_dport);

	if (!READ_ONCE(tn->privileged) || port < PROT_SOCK)
		return true;
	rds_drop(tn->net, RDS_DROP_PEER_DENIED);
	if (__ratelimit(&limit))
		pr_info("rds_tcp: no connection from %pI6c, port %u, in network namespace %u, see net.rds.tcp.peer_port_privileged\n",
			&addr->faddr, port, tn->net->ns.inum);
	return false;
}

static void accept_one(struct rds_tcp_net *tn, struct socket *sock)
{
	struct rds_tcp_sock *ts = NULL;
	struct rds_path_addr addr;

	accepted_reset_callbacks(tn, sock->sk);
	rds_tcp_sock_addr(sock->sk, &addr);
	if (rds_tcp_addr_local(tn->net, &addr.faddr, addr.ifindex)) {
		rds_drop(tn->net, RDS_DROP_SELF_CONNECT);
		rds_tcp_release_fin(sock);
		return;
	}
	if (!rds_access_peer(tn->net, &addr) ||
	    !accepted_port_allowed(tn, sock->sk, &addr)) {
		rds_tcp_release_rst(sock);
		return;
	}
	if (accepted_stale(sock->sk))
		rds_tcp_stat_inc(tn, tcp_listen_closed_stale);
	else
		ts = rds_tcp_sock_new(tn, sock);
	if (!ts) {
		rds_tcp_release_rst(sock);
		return;
	}
	rds_tcp_tune(tn, sock);
	if (rds_path_may_join(tn->net))
		rds_tcp_join_wait(ts);
	else
		rds_tcp_accepted(ts);
}

static struct socket *accept_next(struct rds_tcp_net *tn)
{
	struct socket *sock = NULL;
	int i, err;

	mutex_lock(&tn->listen_lock);
	for (i = 0; i < RDS_TCP_LISTENERS && !sock; i++) {
		if (!tn->listener[i])
			continue;
		do {
			err = kernel_accept(tn->listener[i], &sock, O_NONBLOCK);
		} while (err == -ECONNABORTED);
		if (!err)
			continue;
		sock = NULL;
		/* Short of memory: the rest stays in the backlog. */
		if (err != -EAGAIN && !tn->stopping)
			queue_delayed_work(rds_tcp_wq, &tn->listen_work,
					   HZ / 10);
	}
	mutex_unlock(&tn->listen_lock);
	return sock;
}

static void accept_worker(struct work_struct *work)
{
	struct rds_tcp_net *tn = container_of(work, struct rds_tcp_net,
					      accept_work);
	struct socket *sock;

	while (!READ_ONCE(tn->stopping)) {
		sock = accept_next(tn);
		if (!sock)
			break;
		accept_one(tn, sock);
		cond_resched();
	}
	if (!READ_ONCE(tn->stopping))
		rds_tcp_join_step(tn);
}

/**
 * rds_tcp_listen_init - prepare a namespace for rds_tcp_listen_try()
 * @tn: namespace
 */
void rds_tcp_listen_init(struct rds_tcp_net *tn)
{
	mutex_init(&tn->listen_lock);
	INIT_DELAYED_WORK(&tn->listen_work, listen_worker);
	INIT_WORK(&tn->accept_work, accept_worker);
	rds_tcp_join_init(tn);
	tn->listens = net_eq(tn->net, &init_net) || READ_ONCE(listen_new);
}

/**
 * rds_tcp_listen_stop - accept no more connections
 * @tn: namespace
 *
 * An RCU grace period passes before rds_tcp_listen_exit(): listen_data_ready()
 * is not called under the listener's lock.
 */
void rds_tcp_listen_stop(struct rds_tcp_net *tn)
{
	int i;

	mutex_lock(&tn->listen_lock);
	WRITE_ONCE(tn->stopping, true);
	for (i = 0; i < RDS_TCP_LISTENERS; i++)
		if (tn->listener[i])
			listener_detach(tn->listener[i]->sk);
	mutex_unlock(&tn->listen_lock);
}

/**
 * rds_tcp_listen_exit - close the listeners
 * @tn: namespace, after rds_tcp_listen_stop() and a grace period
 */
void rds_tcp_listen_exit(struct rds_tcp_net *tn)
{
	int i;

	/* Each of the two works can queue the other. */
	cancel_work_sync(&tn->accept_work);
	cancel_delayed_work_sync(&tn->listen_work);
	cancel_work_sync(&tn->accept_work);
	rds_tcp_join_exit(tn);
	cancel_work_sync(&tn->accept_work);
	for (i = 0; i < RDS_TCP_LISTENERS; i++)
		if (tn->listener[i])
			sock_release(tn->listener[i]);
}
