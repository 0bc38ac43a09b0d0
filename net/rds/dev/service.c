// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Services of users, and their listeners at local addresses.
 *
 * A listener is of one service and one address.  It exists from the moment
 * when the address leads to a device and the service serves it, also if it
 * cannot be opened.  So who looks at an address whose listeners are all there
 * has nothing to walk over (rds_dev_addr.lacking).  A request finds its service
 * by the context of its id, which is the listener, as rdma_destroy_id() of the
 * listening id waits for the handlers of its requests.
 *
 * Ids of rdma_cm hold their namespace, and a listener would keep it forever.
 * So a service of all namespaces has listeners in the first one, and in others
 * while its user says that sockets there hold it; a service of one namespace is
 * deleted before who holds that lets go.
 *
 * Programs choose how many services there are.  A user has a limit for each
 * namespace, on services and on listeners; a service of all namespaces is the
 * choice of a module and counts in none.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <rdma/rdma_cm.h>

#include "addr.h"

/**
 * struct rds_dev_listener - a service at an address
 * @svc: the service
 * @at: the address
 * @dom: domain of the service's user at the device that the address leads to,
 *	counted, or NULL if there was no memory for it
 * @id: listening id, or NULL if it could not be opened
 * @told: the log has a warning that it cannot be opened
 * @addr_node: entry in @at's listeners
 * @svc_node: entry in @svc's listeners
 */
struct rds_dev_listener {
	struct rds_dev_service	*svc;
	struct rds_dev_addr	*at;
	struct rds_dev_domain	*dom;
	struct rdma_cm_id	*id;
	bool			told;
	struct list_head	addr_node;
	struct list_head	svc_node;
};

/**
 * struct service_net - services of one namespace alone
 * @services: by rds_dev_service.node
 * @nr: number of @services of each user
 * @nr_listeners: listeners of @services of each user
 */
struct service_net {
	struct list_head	services;
	unsigned int		nr[RDS_DEV_SLOTS];
	unsigned int		nr_listeners[RDS_DEV_SLOTS];
};

/* All under rds_dev_scan_lock */
static unsigned int service_net_id;
static LIST_HEAD(services_all);		/* those of all namespaces */
static unsigned int nr_all[RDS_DEV_SLOTS];
static unsigned int nr_of_user[RDS_DEV_SLOTS];	/* of all kinds */
static unsigned int marks;

static struct service_net *service_net(const struct net *net)
{
	return net_generic(net, service_net_id);
}

/* The number of services that share a limit with this one */
static unsigned int *nr_services(const struct rds_dev_service *svc)
{
	unsigned int slot = svc->user->slot;

	return svc->net ? &service_net(svc->net)->nr[slot] : &nr_all[slot];
}

static int listener_event(struct rdma_cm_id *cm_id, struct rdma_cm_event *ev)
{
	const struct rds_dev_listener *l = cm_id->context;

	if (ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	return l->svc->request(l->svc, l->dom, cm_id, &ev->param.conn);
}

static u16 port_at(const struct rds_dev_service *svc,
		   const struct rds_dev_addr *e)
{
	if (!svc->port_on)
		return svc->port;
	return svc->port_on(&e->dev->props,
			    !ipv6_addr_v4mapped(&e->la.addr));
}

static bool addr_any(const struct in6_addr *addr)
{
	return ipv6_addr_any(addr) ||
	       (ipv6_addr_v4mapped(addr) && !addr->s6_addr32[3]);
}

static bool addr_matches(const struct rds_dev_service *svc,
			 const struct rds_dev_laddr *la)
{
	if (ipv6_addr_any(&svc->addr))
		return !svc->v6only || !ipv6_addr_v4mapped(&la->addr);
	if (addr_any(&svc->addr))
		return ipv6_addr_v4mapped(&la->addr);
	return ipv6_addr_equal(&svc->addr, &la->addr) &&
	       (!svc->scope || svc->scope == la->scope);
}

static bool service_serves(const struct rds_dev_service *svc,
			   const struct rds_dev_addr *e)
{
	if (!e->dev || !rds_dev_serves(e->dev, svc->user, e->la.net) ||
	    (svc->net ? !net_eq(svc->net, e->la.net) :
			!(e->used & BIT(svc->user->slot))))
		return false;
	if (svc->no_iwarp && e->dev->props.iwarp)
		return false;
	return addr_matches(svc, &e->la) && port_at(svc, e);
}

/* Whether the service listens at the same address of another interface. */
static bool listens_there(const struct rds_dev_listener *l)
{
	const struct rds_dev_listener *other;

	list_for_each_entry(other, &l->svc->listeners, svc_node)
		if (other->id && other->at->la.net == l->at->la.net &&
		    other->at->la.scope == l->at->la.scope &&
		    ipv6_addr_equal(&other->at->la.addr, &l->at->la.addr))
			return true;
	return false;
}

static void tell(struct rds_dev_listener *l, const struct sockaddr_storage *ss,
		 int err)
{
	bool tcp = err == -EADDRINUSE && l->dom->dev->props.iwarp;

	if (!l->told)
		pr_warn_ratelimited("rds_dev: cannot listen on %pISpc: error %d%s\n",
				    ss, err,
				    tcp ? ", iWARP needs the TCP port of that number" :
					  "");
	l->told = true;
}

/* 0 or a negative errno, which the log has if @log. */
static int listener_open(struct rds_dev_listener *l, bool log)
{
	const struct rds_dev_laddr *la = &l->at->la;
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int err;

	if (!l->dom)
		l->dom = rds_dev_domain_get(l->at->dev, l->svc->user);
	if (!l->dom)
		return -ENOMEM;
	id = rdma_create_id(la->net, listener_event, l, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	rds_dev_sockaddr(&ss, &la->addr, la->scope, port_at(l->svc, l->at));
	/* So that a program may keep the wildcard of IPv4. */
	if (l->svc->net && ss.ss_family == AF_INET6)
		rdma_set_afonly(id, 1);
	err = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (!err)
		err = rdma_listen(id, l->svc->backlog);
	if (!err) {
		l->id = id;
		l->told = false;
		return 0;
	}
	rdma_destroy_id(id);
	if (log)
		tell(l, &ss, err);
	return err;
}

/* On return no handler that uses the listener runs. */
static void listener_free(struct rds_dev_listener *l)
{
	if (l->id)
		rdma_destroy_id(l->id);
	if (l->dom)
		rds_dev_domain_put(l->dom);
	list_del(&l->addr_node);
	list_del(&l->svc_node);
	if (l->svc->net)
		service_net(l->svc->net)->nr_listeners[l->svc->user->slot]--;
	kfree(l);
}

static struct rds_dev_listener *listener_new(struct rds_dev_service *svc,
					     struct rds_dev_addr *e)
{
	struct rds_dev_listener *l;
	unsigned int *nr = NULL;

	if (svc->net)
		nr = &service_net(svc->net)->nr_listeners[svc->user->slot];
	if (nr && *nr >= RDS_DEV_LISTENERS_MAX)
		return ERR_PTR(-ENOSPC);
	l = kzalloc_obj(*l, GFP_KERNEL_ACCOUNT);
	if (!l)
		return ERR_PTR(-ENOMEM);
	l->svc = svc;
	l->at = e;
	list_add_tail(&l->addr_node, &e->listeners);
	list_add_tail(&l->svc_node, &svc->listeners);
	if (nr)
		++*nr;
	return l;
}

/* Open what is missing.  False: try again. */
static bool listener_again(struct rds_dev_listener *l)
{
	if (l->id || (l->told && !l->svc->retry))
		return true;
	if (!listener_open(l, l->svc->retry || !listens_there(l)))
		return true;
	return l->told && !l->svc->retry;
}

/* Listen for those services of a list that the last walk did not meet. */
static bool listen_for(struct rds_dev_addr *e, const struct list_head *services)
{
	struct rds_dev_listener *l;
	struct rds_dev_service *svc;
	bool ok = true;

	list_for_each_entry(svc, services, node) {
		if (svc->mark == marks || !service_serves(svc, e))
			continue;
		l = listener_new(svc, e);
		if (!IS_ERR(l))
			ok &= listener_again(l);
		else
			ok &= PTR_ERR(l) == -ENOSPC;
		cond_resched();
	}
	return ok;
}

bool rds_dev_addr_listen(struct rds_dev_addr *e)
{
	struct rds_dev_listener *l;
	bool ok = true;

	lockdep_assert_held(&rds_dev_scan_lock);
	if (!e->dev || !e->lacking)
		return true;
	marks++;
	list_for_each_entry(l, &e->listeners, addr_node) {
		l->svc->mark = marks;
		ok &= listener_again(l);
		cond_resched();
	}
	ok &= listen_for(e, &services_all);
	ok &= listen_for(e, &service_net(e->la.net)->services);
	e->lacking = !ok;
	return ok;
}

void rds_dev_addr_listen_end(struct rds_dev_addr *e, bool unused_only)
{
	struct rds_dev_listener *l, *tmp;

	lockdep_assert_held(&rds_dev_scan_lock);
	list_for_each_entry_safe(l, tmp, &e->listeners, addr_node) {
		if (!unused_only || !service_serves(l->svc, e))
			listener_free(l);
		cond_resched();
	}
}

/* What a new service needs in a walk over addresses */
struct service_walk {
	struct rds_dev_service	*svc;
	int			err;
};

static void add_at(struct rds_dev_addr *e, void *arg)
{
	struct service_walk *w = arg;
	struct rds_dev_listener *l;
	int err;

	if ((w->err && !w->svc->retry) || !service_serves(w->svc, e))
		return;
	l = listener_new(w->svc, e);
	err = IS_ERR(l) ? PTR_ERR(l) : listener_open(l, w->svc->retry);
	if (!err)
		return;
	e->lacking = true;
	rds_dev_addr_again(e);
	if (IS_ERR(l) || !listens_there(l))
		w->err = err;
}

static int service_enter(struct rds_dev_service *svc)
{
	unsigned int *nr = nr_services(svc);

	if (!svc->request || !(svc->port || svc->port_on))
		return -EINVAL;
	if (*nr >= (svc->net ? RDS_DEV_SERVICES_MAX : RDS_DEV_SERVICES_ALL))
		return -ENOSPC;
	INIT_LIST_HEAD(&svc->listeners);
	svc->mark = marks;
	list_add_tail(&svc->node, svc->net ? &service_net(svc->net)->services :
					     &services_all);
	++*nr;
	nr_of_user[svc->user->slot]++;
	return 0;
}

static void service_leave(struct rds_dev_service *svc)
{
	struct rds_dev_listener *l, *tmp;

	list_for_each_entry_safe(l, tmp, &svc->listeners, svc_node) {
		listener_free(l);
		cond_resched();
	}
	list_del(&svc->node);
	--*nr_services(svc);
	nr_of_user[svc->user->slot]--;
}

void rds_dev_services_gone(const struct rds_dev_user *user)
{
	mutex_lock(&rds_dev_scan_lock);
	WARN_ONCE(nr_of_user[user->slot], "rds_dev: %s has services\n",
		  user->name);
	mutex_unlock(&rds_dev_scan_lock);
}

int rds_dev_service_add(struct rds_dev_service *svc)
{
	struct service_walk w = { .svc = svc };

	mutex_lock(&rds_dev_scan_lock);
	w.err = service_enter(svc);
	if (w.err)
		goto out;
	if (svc->net && !addr_any(&svc->addr))
		rds_dev_addr_each_at(svc->net, &svc->addr, add_at, &w);
	else
		rds_dev_addr_each(svc->net, add_at, &w);
	if (svc->retry)
		w.err = 0;
	if (w.err)
		service_leave(svc);
out:
	mutex_unlock(&rds_dev_scan_lock);
	return w.err;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_service_add, RDS_DEV_NS);

void rds_dev_service_del(struct rds_dev_service *svc)
{
	mutex_lock(&rds_dev_scan_lock);
	service_leave(svc);
	mutex_unlock(&rds_dev_scan_lock);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_service_del, RDS_DEV_NS);

static int __net_init service_net_init(struct net *net)
{
	INIT_LIST_HEAD(&service_net(net)->services);
	return 0;
}

static void __net_exit service_net_exit(struct net *net)
{
	WARN_ON_ONCE(!list_empty(&service_net(net)->services));
}

static struct pernet_operations service_net_ops = {
	.init	= service_net_init,
	.exit	= service_net_exit,
	.id	= &service_net_id,
	.size	= sizeof(struct service_net),
};

int rds_dev_services_init(void)
{
	return register_pernet_subsys(&service_net_ops);
}

void rds_dev_services_exit(void)
{
	unregister_pernet_subsys(&service_net_ops);
}
