// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The address family: creation and release of sockets. */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <net/rds/access.h>
#include <net/rds/family.h>
#include <net/rds/transport.h>

#include "access.h"
#include "conn/conn.h"
#include "memop/memop.h"
#include "netns.h"
#include "send/cancel.h"
#include "sock/calls.h"
#include "sock/rxmem.h"
#include "xprt/registry.h"
#include "xprt/use.h"

/*
 * Called a grace period after the last reference is dropped; @sk still holds
 * its namespace.
 */
static void sock_destruct(struct sock *sk)
{
	WARN_ON_ONCE(!hlist_empty(&rds_sk(sk)->sent));
	WARN_ON_ONCE(rds_sk(sk)->rx_raised || rds_sk(sk)->rx_spare);
	atomic_dec(&rds_sk(sk)->rn->nr_sockets);
}

/* Close a socket, in the order of steps in state.h. */
static int rds_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct rds_conn *conn;
	struct rds_sock *rs;

	if (!sk)
		return 0;
	rs = rds_sk(sk);
	sock_orphan(sk);
	rds_sock_kill(rs);
	rds_cancel(rs, NULL, -1);
	rds_sock_purge(rs);
	if (rs->memop_used)
		rds_mr_purge(rs);
	rds_txpages_end(&rs->tx_pages);
	conn = xchg(&rs->conn, NULL);
	if (conn)
		rds_conn_put(conn);
	if (rs->bound_port)
		rds_use_put(rs->rn, rs->trans);
	if (rs->trans)
		rds_transport_put(rs->trans);
	rds_rx_trace_off(rs);
	sock->sk = NULL;
	sock_put(sk);
	return 0;
}

static const struct proto_ops rds_proto_ops = {
	.family		= PF_RDS,
	.owner		= THIS_MODULE,
	.release	= rds_release,
	.bind		= rds_bind,
	.connect	= rds_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= sock_no_accept,
	.getname	= rds_getname,
	.poll		= rds_poll,
	.ioctl		= rds_ioctl,
	.listen		= sock_no_listen,
	.shutdown	= sock_no_shutdown,
	.setsockopt	= rds_setsockopt,
	.getsockopt	= rds_getsockopt,
	.sendmsg	= rds_sendmsg,
	.recvmsg	= rds_recvmsg,
	.mmap		= sock_no_mmap,
};

static struct proto rds_proto = {
	.name			= "RDS",
	.owner			= THIS_MODULE,
	.obj_size		= sizeof(struct rds_sock),
	.memory_allocated	= &rds_rxmem_pages,
	.per_cpu_fw_alloc	= &rds_rxmem_pages_here,
	.sysctl_mem		= rds_rxmem_limits,
	.sysctl_rmem		= &rds_rxmem_small,
	/* not used, but by the tracepoint sock_exceed_buf_limit */
	.sysctl_wmem		= &rds_rxmem_small,
};

/* SOCK_STREAM, or NULL; written under stream_lock */
static const struct rds_family_type __rcu *stream_type;
static DEFINE_MUTEX(stream_lock);

int rds_family_add(const struct rds_family_type *type)
{
	int err = 0;

	mutex_lock(&stream_lock);
	if (rcu_access_pointer(stream_type))
		err = -EEXIST;
	else
		rcu_assign_pointer(stream_type, type);
	mutex_unlock(&stream_lock);
	return err;
}
EXPORT_SYMBOL_NS_GPL(rds_family_add, RDS_NS);

void rds_family_del(const struct rds_family_type *type)
{
	mutex_lock(&stream_lock);
	WARN_ON_ONCE(rcu_access_pointer(stream_type) != type);
	RCU_INIT_POINTER(stream_type, NULL);
	mutex_unlock(&stream_lock);
	synchronize_rcu();
}
EXPORT_SYMBOL_NS_GPL(rds_family_del, RDS_NS);

int rds_family_may_open(struct net *net)
{
	return rds_access_check(rds_net(net));
}
EXPORT_SYMBOL_NS_GPL(rds_family_may_open, RDS_NS);

bool rds_family_peer(struct net *net, const struct in6_addr *laddr,
		     const struct in6_addr *faddr)
{
	const struct rds_path_addr addr = { .laddr = *laddr, .faddr = *faddr };

	return rds_access_peer(net, &addr);
}
EXPORT_SYMBOL_NS_GPL(rds_family_peer, RDS_NS);

/* A socket of the kernel belongs to no process. */
static int may_create(struct rds_net *rn, int kern)
{
	return kern ? 0 : rds_access_check(rn);
}

/*
 * The module of the type stays until it has made the socket.  Without one there
 * is no such type, whoever asks.
 */
static int stream_create(struct rds_net *rn, struct socket *sock, int protocol,
			 int kern)
{
	const struct rds_family_type *type;
	int err;

	rcu_read_lock();
	type = rcu_dereference(stream_type);
	if (type && !try_module_get(type->owner))
		type = NULL;
	rcu_read_unlock();
	if (!type)
		return -ESOCKTNOSUPPORT;
	err = may_create(rn, kern);
	if (!err)
		err = type->create(rn->net, sock, protocol, kern);
	module_put(type->owner);
	return err;
}

static int seqpacket_create(struct rds_net *rn, struct socket *sock, int kern)
{
	struct sock *sk;

	sk = sk_alloc(rn->net, AF_RDS, GFP_KERNEL, &rds_proto, kern);
	if (!sk)
		return -ENOMEM;
	sock_init_data(sock, sk);
	sock->ops = &rds_proto_ops;
	sock_set_flag(sk, SOCK_RCU_FREE);
	sk->sk_destruct = sock_destruct;
	atomic_inc(&rn->nr_sockets);
	rds_sock_setup(rds_sk(sk), rn);
	return 0;
}

static int rds_create(struct net *net, struct socket *sock, int protocol,
		      int kern)
{
	struct rds_net *rn = rds_net(net);
	int err;

	if (protocol)
		return -ESOCKTNOSUPPORT;
	if (sock->type == SOCK_STREAM)
		return stream_create(rn, sock, protocol, kern);
	if (sock->type != SOCK_SEQPACKET)
		return -ESOCKTNOSUPPORT;
	err = may_create(rn, kern);
	return err ?: seqpacket_create(rn, sock, kern);
}

static const struct net_proto_family rds_family_ops = {
	.family	= AF_RDS,
	.create	= rds_create,
	.owner	= THIS_MODULE,
};

/**
 * rds_family_init - register the address family, the last step of module start
 *
 * Return: 0 or an errno; -EEXIST if another module has the family.
 */
int rds_family_init(void)
{
	int err = proto_register(&rds_proto, 1);

	if (err)
		return err;
	err = sock_register(&rds_family_ops);
	if (err)
		proto_unregister(&rds_proto);
	return err;
}

/**
 * rds_family_exit - unregister the address family, after the last socket is
 * gone
 */
void rds_family_exit(void)
{
	sock_unregister(AF_RDS);
	proto_unregister(&rds_proto);
}
