// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bind, connect, getsockname, getpeername, and SO_RDS_TRANSPORT. */
#include <linux/ratelimit.h>
#include <net/ipv6.h>
#include <net/rds/transport.h>

#include "netns.h"
#include "sock/addr.h"
#include "sock/calls.h"
#include "sock/table.h"
#include "xprt/registry.h"
#include "xprt/use.h"

static const int bind_errno[RDS_ADDR_FAULTS] = {
	[RDS_ADDR_SHORT]	= -EINVAL,
	[RDS_ADDR_FAMILY]	= -EINVAL,
	[RDS_ADDR_ANY4]		= -EINVAL,
	[RDS_ADDR_GROUP4]	= -EINVAL,
	[RDS_ADDR_BAD6]		= -EINVAL,
	[RDS_ADDR_NO_SCOPE]	= -EINVAL,
};

static const int connect_errno[RDS_ADDR_FAULTS] = {
	[RDS_ADDR_SHORT]	= -EINVAL,
	[RDS_ADDR_FAMILY]	= -EAFNOSUPPORT,
	[RDS_ADDR_ANY4]		= -EDESTADDRREQ,
	[RDS_ADDR_GROUP4]	= -EINVAL,
	[RDS_ADDR_BAD6]		= -EPROTOTYPE,
	[RDS_ADDR_NO_SCOPE]	= -EINVAL,
};

static int bind_choose(struct rds_sock *rs, const struct rds_sock_addr *to)
{
	struct net *net = sock_net(&rs->sk);

	if (rs->trans)
		return rs->trans->addr_local(net, &to->addr, to->scope) ?
			       0 :
			       -ENOPROTOOPT;
	rs->trans = rds_transport_for_addr(net, &to->addr, to->scope);
	if (!rs->trans) {
		pr_info_ratelimited("rds: no transport has the address %pI6c\n",
				    &to->addr);
		return -EADDRNOTAVAIL;
	}
	return 0;
}

/*
 * Set up all that receivers and senders use of a bound socket, and then publish
 * the binding.
 */
static int bind_finish(struct rds_sock *rs, const struct rds_sock_addr *to)
{
	int err;

	if (to->port == cpu_to_be16(RDS_PROBE_PORT))
		return -EINVAL;
	rs->lmap = rds_cong_get(rs->rn, &to->addr, false, GFP_KERNEL);
	if (!rs->lmap)
		return -ENOMEM;
	rs->local_only = rs->trans->caps & RDS_CAP_LOCAL_ONLY;
	err = rds_use_get(rs->rn, rs->trans);
	if (err)
		goto err_map;
	err = rds_bind_insert(rs, &to->addr, to->port, to->scope);
	if (!err)
		return 0;
	rds_use_put(rs->rn, rs->trans);
err_map:
	rds_cong_put(rs->lmap);
	rs->lmap = NULL;
	return err;
}

static int bind_locked(struct rds_sock *rs, const struct rds_sock_addr *to)
{
	const struct rds_transport *chosen = rs->trans;
	int err;

	if (rs->bound_port)
		return -EINVAL;
	if (rs->connected && rs->dest_scope && to->scope &&
	    rs->dest_scope != to->scope)
		return -EINVAL;
	err = bind_choose(rs, to);
	if (err)
		return err;
	err = bind_finish(rs, to);
	if (err && !chosen) {
		/*
		 * The next bind chooses by its own address; a choice of
		 * SO_RDS_TRANSPORT stays.
		 */
		rds_transport_put(rs->trans);
		rs->trans = NULL;
	}
	return err;
}

/**
 * rds_bind - bind(2)
 * @sock: socket
 * @uaddr: address to bind to
 * @len: length of @uaddr
 *
 * Return: 0 or the errno of protocol.rst 5.3.
 */
int rds_bind(struct socket *sock, struct sockaddr_unsized *uaddr, int len)
{
	struct rds_sock_addr to;
	int err = bind_errno[rds_addr_read(uaddr, len, &to)];

	if (err)
		return err;
	lock_sock(sock->sk);
	err = bind_locked(rds_sk(sock->sk), &to);
	release_sock(sock->sk);
	return err;
}

/**
 * rds_connect - connect(2): record the destination of sends without a name
 * @sock: socket
 * @uaddr: destination
 * @len: length of @uaddr
 * @flags: file flags, not used
 *
 * Return: 0 or the errno of protocol.rst 5.4.
 */
int rds_connect(struct socket *sock, struct sockaddr_unsized *uaddr, int len,
		int flags)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	struct rds_sock_addr to;
	int err = connect_errno[rds_addr_read(uaddr, len, &to)];

	if (err)
		return err;
	lock_sock(sock->sk);
	if (to.scope && rs->bound_scope && to.scope != rs->bound_scope) {
		err = -EINVAL;
	} else {
		spin_lock(&rs->lock);
		rs->dest = to.addr;
		rs->dest_port = to.port;
		WRITE_ONCE(rs->dest_scope, to.scope);
		rs->connected = true;
		spin_unlock(&rs->lock);
		sock->state = SS_CONNECTED;
	}
	release_sock(sock->sk);
	return err;
}

/*
 * Name of an unbound socket: family 0, or zeros of the peer's family if it is
 * connected.
 */
static int unbound_name(struct rds_sock *rs, void *to)
{
	if (!rs->connected) {
		memset(to, 0, sizeof(struct sockaddr_in));
		return sizeof(struct sockaddr_in);
	}
	if (ipv6_addr_v4mapped(&rs->dest)) {
		struct in6_addr any;

		ipv6_addr_set_v4mapped(htonl(INADDR_ANY), &any);
		return rds_addr_write(to, &any, 0, 0);
	}
	return rds_addr_write(to, &in6addr_any, 0, 0);
}

/**
 * rds_getname - getsockname(2) and getpeername(2)
 * @sock: socket
 * @uaddr: result, with room for any address
 * @peer: whether the name of the peer is wanted, as by getpeername(2)
 *
 * Return: length of the name, or -ENOTCONN.
 */
int rds_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	int ret;

	lock_sock(sock->sk);
	if (!peer && rs->bound_port)
		ret = rds_addr_write(uaddr, &rs->bound_addr, rs->bound_port,
				     rs->bound_scope);
	else if (!peer)
		ret = unbound_name(rs, uaddr);
	else if (rs->connected)
		ret = rds_addr_write(uaddr, &rs->dest, rs->dest_port,
				     rds_sock_scope(rs));
	else
		ret = -ENOTCONN;
	release_sock(sock->sk);
	return ret;
}

/* Choose a transport.  Outside the initial namespace it needs RDS_CAP_NETNS. */
static int transport_attach(struct rds_sock *rs, int type)
{
	const struct rds_transport *trans = rds_transport_by_type(rs->rn, type);
	bool first = net_eq(sock_net(&rs->sk), &init_net);

	if (!trans)
		return first ? -ENOPROTOOPT : -EPROTOTYPE;
	if (!first && !(trans->caps & RDS_CAP_NETNS)) {
		rds_transport_put(trans);
		return -EPROTOTYPE;
	}
	rs->trans = trans;
	return 0;
}

/**
 * rds_transport_set - set SO_RDS_TRANSPORT
 * @rs: socket
 * @optval: int with the type of the transport
 * @optlen: size of @optval
 *
 * Return: 0 or the errno of protocol.rst 5.15.
 */
int rds_transport_set(struct rds_sock *rs, sockptr_t optval,
		      unsigned int optlen)
{
	int type, err;

	lock_sock(&rs->sk);
	if (rs->trans)
		err = -EOPNOTSUPP;
	else if (optlen != sizeof(type))
		err = -EINVAL;
	else if (copy_from_sockptr(&type, optval, sizeof(type)))
		err = -EFAULT;
	else if (type < 0 || type >= RDS_TRANS_COUNT)
		err = -EINVAL;
	else
		err = transport_attach(rs, type);
	release_sock(&rs->sk);
	return err;
}

/**
 * rds_transport_get - read SO_RDS_TRANSPORT
 * @rs: socket
 *
 * Return: type of the transport, or RDS_TRANS_NONE.
 */
int rds_transport_get(struct rds_sock *rs)
{
	int type;

	lock_sock(&rs->sk);
	type = rs->trans ? rs->trans->type : RDS_TRANS_NONE;
	release_sock(&rs->sk);
	return type;
}
