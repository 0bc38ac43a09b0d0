// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ports that are kept: an id of rdma_cm that is bound and does nothing.
 *
 * On iWARP a listener, and a connection, is a port of TCP at the same address,
 * which the device takes when it listens or connects; rdma_cm does not look.
 * So there a socket of TCP keeps that as well, which is let go just before, and
 * a port that is free is chosen by TCP.
 *
 * Owner: who holds the port.  When the device goes, rdma_cm asks for the id to
 * be destroyed, which its handler does by its return value, unless
 * rds_dev_port_drop() has taken the id, and waits for the handler.  While
 * rdma_bind_addr() runs, which has no reference to the id, the handler only
 * says that the device has gone.  hold_lock guards rds_dev_port.cm_id and
 * .gone: who takes the id out of it destroys it.
 */
#include <linux/in.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>

#include <net/rds/dev_port.h>

#include "layer.h"

/**
 * struct rds_dev_port - port that is kept
 * @cm_id: id that is bound to it, or NULL
 * @gone: the device of the id has gone
 * @tcp: socket that is bound to the port of TCP, or NULL; the owner's
 */
struct rds_dev_port {
	struct rdma_cm_id	*cm_id;
	bool			gone;
	struct socket		*tcp;
};

/* Ports that are free of TCP, until one is free of RDMA, too */
#define FREE_TRIES	16

static DEFINE_SPINLOCK(hold_lock);

static struct rdma_cm_id *hold_take(struct rds_dev_port *p)
{
	struct rdma_cm_id *cm_id;

	spin_lock(&hold_lock);
	cm_id = p->cm_id;
	p->cm_id = NULL;
	spin_unlock(&hold_lock);
	return cm_id;
}

/* Not 0: rdma_cm destroys the id. */
static int hold_event(struct rdma_cm_id *cm_id, struct rdma_cm_event *ev)
{
	struct rds_dev_port *p = cm_id->context;
	bool taken;

	if (ev->event != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return 0;
	spin_lock(&hold_lock);
	taken = p->cm_id;
	p->cm_id = NULL;
	p->gone = true;
	spin_unlock(&hold_lock);
	return taken ? -ENODEV : 0;
}

static u16 bound_port(const struct rdma_cm_id *cm_id)
{
	const struct sockaddr_storage *ss = &cm_id->route.addr.src_addr;

	return be16_to_cpu(ss->ss_family == AF_INET6 ?
			   ((const struct sockaddr_in6 *)ss)->sin6_port :
			   ((const struct sockaddr_in *)ss)->sin_port);
}

/* Have the port keep the id, unless the device has gone meanwhile. */
static int hold_keep(struct rds_dev_port *p, struct rdma_cm_id *cm_id,
		     u16 *port)
{
	int err = -EADDRNOTAVAIL;

	spin_lock(&hold_lock);
	if (!p->gone) {
		p->cm_id = cm_id;
		*port = bound_port(cm_id);
		err = 0;
	}
	spin_unlock(&hold_lock);
	return err;
}

/* TCP */

/* A socket of TCP that has the port; NULL if the port cannot be had. */
static struct socket *tcp_bind(struct net *net, const struct in6_addr *addr,
			       u32 scope, u16 port, u16 *got)
{
	struct sockaddr_storage ss;
	struct socket *tcp;

	rds_dev_sockaddr(&ss, addr, scope, port);
	if (sock_create_kern(net, ss.ss_family, SOCK_STREAM, IPPROTO_TCP,
			     &tcp))
		return NULL;
	/* As devices do: connections that are over are no obstacle. */
	sock_set_reuseaddr(tcp->sk);
	if (!kernel_bind(tcp, (void *)&ss, sizeof(ss))) {
		*got = inet_sk(tcp->sk)->inet_num;
		return tcp;
	}
	sock_release(tcp);
	return NULL;
}

/* Keep the port of TCP, too, if the device needs it; false: it is in use. */
static bool tcp_hold(struct rds_dev_port *p, struct net *net,
		     const struct in6_addr *addr, u32 scope, u16 port)
{
	bool needed;

	spin_lock(&hold_lock);
	needed = p->cm_id && p->cm_id->device &&
		 rdma_protocol_iwarp(p->cm_id->device, p->cm_id->port_num);
	spin_unlock(&hold_lock);
	if (needed && !p->tcp)
		p->tcp = tcp_bind(net, addr, scope, port, &port);
	if (!needed && p->tcp) {
		sock_release(p->tcp);
		p->tcp = NULL;
	}
	return !needed || p->tcp;
}

/* RDMA */

static int hold_bind(struct rds_dev_port *p, struct net *net,
		     const struct in6_addr *addr, u32 scope, bool v6only,
		     u16 *port)
{
	struct sockaddr_storage ss;
	struct rdma_cm_id *cm_id;
	int err;

	p->gone = false;
	cm_id = rdma_create_id(net, hold_event, p, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(cm_id))
		return PTR_ERR(cm_id);
	rds_dev_sockaddr(&ss, addr, scope, *port);
	if (ss.ss_family == AF_INET6)
		rdma_set_afonly(cm_id, v6only || !ipv6_addr_any(addr));
	err = rdma_bind_addr(cm_id, (struct sockaddr *)&ss) ?:
	      hold_keep(p, cm_id, port);
	if (!err)
		return 0;
	rdma_destroy_id(cm_id);
	return err == -ENODEV || err == -EINVAL ? -EADDRNOTAVAIL : err;
}

/*
 * rdma_cm says the same of an address that leads to no device, and of a port
 * that a wildcard has.  The port it was, if the address has another one.
 */
static bool hold_other(struct rds_dev_port *p, struct net *net,
		       const struct in6_addr *addr, u32 scope, bool v6only)
{
	struct rdma_cm_id *cm_id;
	u16 port = 0;

	if (hold_bind(p, net, addr, scope, v6only, &port))
		return false;
	cm_id = hold_take(p);
	if (cm_id)
		rdma_destroy_id(cm_id);
	return true;
}

static void hold_drop(struct rds_dev_port *p)
{
	struct rdma_cm_id *cm_id = hold_take(p);

	if (cm_id)
		rdma_destroy_id(cm_id);
	if (p->tcp)
		sock_release(p->tcp);
	p->tcp = NULL;
}

/* A port that is free of RDMA and, if the device needs that, of TCP */
static int hold_free(struct rds_dev_port *p, struct net *net,
		     const struct in6_addr *addr, u32 scope, bool v6only,
		     u16 *port)
{
	int err = -EADDRINUSE, n;

	for (n = 0; n < FREE_TRIES && err == -EADDRINUSE; n++) {
		p->tcp = tcp_bind(net, addr, scope, 0, port);
		/* Without TCP the choice is that of rdma_cm. */
		if (!p->tcp)
			*port = 0;
		err = hold_bind(p, net, addr, scope, v6only, port);
		if (!err && !tcp_hold(p, net, addr, scope, *port))
			err = -EADDRINUSE;
		if (err)
			hold_drop(p);
	}
	return err;
}

static int hold_given(struct rds_dev_port *p, struct net *net,
		      const struct in6_addr *addr, u32 scope, bool v6only,
		      u16 *port)
{
	int err = hold_bind(p, net, addr, scope, v6only, port);

	if (err == -EADDRNOTAVAIL && hold_other(p, net, addr, scope, v6only))
		return -EADDRINUSE;
	if (err || tcp_hold(p, net, addr, scope, *port))
		return err;
	hold_drop(p);
	return -EADDRINUSE;
}

int rds_dev_port_hold(struct net *net, const struct in6_addr *addr, u32 scope,
		      bool v6only, u16 *port, struct rds_dev_port **out)
{
	struct rds_dev_port *p = kzalloc_obj(*p, GFP_KERNEL_ACCOUNT);
	int err;

	if (!p)
		return -ENOMEM;
	err = *port ? hold_given(p, net, addr, scope, v6only, port) :
		      hold_free(p, net, addr, scope, v6only, port);
	if (err) {
		kfree(p);
		return err;
	}
	*out = p;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_port_hold, RDS_DEV_NS);

void rds_dev_port_drop(struct rds_dev_port *port)
{
	if (!port)
		return;
	hold_drop(port);
	kfree(port);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_port_drop, RDS_DEV_NS);
