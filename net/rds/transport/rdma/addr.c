// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The local addresses that lead to a device, each with its listener.
 *
 * rdma_cm decides whether an address leads to a device: an id bound to the
 * address has the device or none.  Notifiers may run in atomic context, so all
 * queue one work item, which scans all addresses.
 *
 * Ids of rdma_cm hold their namespace, and a listener would keep it forever.
 * So listeners exist in the first namespace, and in others while sockets there
 * use RDMA.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "devlayer.h"
#include "rdma.h"

/*
 * Delays before another scan for what was not possible: a port was in use, an
 * address or a link not ready.  Most of these end soon, and some, as duplicate
 * address detection, end without a notifier.
 */
#define RETRY_TIME	(HZ / 20)
#define RETRY_TIME_MAX	(8 * HZ)	/* limit while nothing changes */
#define RETRY_TIME_LINK	(1UL * HZ)	/* limit while a link is waited for */
#define BACKLOG		128

/**
 * struct addr_entry - an address in the table
 * @node: entry in addrs
 * @la: the address
 * @dev: device that the address leads to, counted
 * @listener: listener at the address, or NULL
 * @seen: the present scan has found the address
 * @told: the log has a warning that the listener cannot be opened
 * @used: ids may hold the namespace of the address; changed under both locks
 */
struct addr_entry {
	struct list_head	node;
	struct rds_rdma_laddr	la;
	struct rds_rdma_dev	*dev;
	struct rdma_cm_id	*listener;
	bool			seen;
	bool			told;
	bool			used;
};

/**
 * struct addr_net - a namespace
 * @node: entry in nets
 * @net: the namespace, not counted
 * @used: the namespace is the first one, or sockets there use RDMA
 */
struct addr_net {
	struct list_head	node;
	struct net		*net;
	bool			used;
};

static DEFINE_MUTEX(scan_lock);
static LIST_HEAD(nets);			/* under scan_lock */
static DEFINE_SPINLOCK(addrs_lock);
/* changed under scan_lock and addrs_lock */
static LIST_HEAD(addrs);
static unsigned long retry_time = RETRY_TIME;	/* under scan_lock */
/* rds_rdma_addr_kick() was called since the last scan */
static bool kicked;
/* an address was added or removed since the last scan */
static bool fresh;

static void scan(struct work_struct *work);
static void scan_again(struct work_struct *work);
static DECLARE_WORK(scan_work, scan);
static DECLARE_DELAYED_WORK(retry_work, scan_again);

void rds_rdma_addr_kick(void)
{
	WRITE_ONCE(kicked, true);
	queue_work(rds_rdma_wq, &scan_work);
}

static void scan_again(struct work_struct *work)
{
	queue_work(rds_rdma_wq, &scan_work);
}

static bool la_same(const struct rds_rdma_laddr *a,
		    const struct rds_rdma_laddr *b)
{
	return net_eq(a->net, b->net) && a->scope == b->scope &&
	       a->ifindex == b->ifindex && ipv6_addr_equal(&a->addr, &b->addr);
}

static struct addr_entry *entry_find(struct net *net,
				     const struct in6_addr *addr, u32 scope)
{
	bool scoped = ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL;
	struct addr_entry *e;

	lockdep_assert_held(&addrs_lock);
	list_for_each_entry(e, &addrs, node)
		if (net_eq(e->la.net, net) &&
		    ipv6_addr_equal(&e->la.addr, addr) &&
		    (!scoped || !scope || e->la.scope == scope))
			return e;
	return NULL;
}

static struct rds_rdma_dev *lookup(struct rds_rdma_laddr *la)
{
	struct rds_rdma_dev *dev = NULL;
	struct addr_entry *e;

	spin_lock_bh(&addrs_lock);
	e = entry_find(la->net, &la->addr, la->scope);
	if (e) {
		la->ifindex = e->la.ifindex;
		dev = e->dev;
		kref_get(&dev->ref);
	}
	spin_unlock_bh(&addrs_lock);
	return dev;
}

struct rds_rdma_dev *rds_rdma_dev_by_laddr(struct rds_rdma_laddr *la)
{
	struct rds_rdma_dev *dev = lookup(la);

	/* A scan is queued or runs, and may find the address. */
	if (!dev && work_busy(&scan_work)) {
		flush_work(&scan_work);
		dev = lookup(la);
	}
	return dev;
}

struct rds_rdma_dev *
rds_rdma_dev_by_addr(struct net *net, const struct in6_addr *addr, u32 scope)
{
	struct rds_rdma_laddr la = { .net = net,
				     .addr = *addr,
				     .scope = scope };

	return rds_rdma_dev_by_laddr(&la);
}

/* Implements &rds_transport.addr_local; the table has no loopback addresses. */
bool rds_rdma_addr_local(struct net *net, const struct in6_addr *addr,
			 u32 scope)
{
	struct rds_rdma_dev *dev = rds_rdma_dev_by_addr(net, addr, scope);

	if (dev)
		rds_rdma_dev_put(dev);
	return dev;
}

/* How suitable an address is for the registrar, 0: not at all.  Under RCU. */
static unsigned int rank(const struct addr_entry *e)
{
	const struct rds_rdma_laddr *la = &e->la;
	struct net_device *ndev;

	lockdep_assert_held(&addrs_lock);
	/* Ids of the registrar would hold the namespace forever. */
	if (!e->used)
		return 0;
	/*
	 * Sending over an interface that is down fails, and rxe does not
	 * recover from a failure of its GSI QP.
	 */
	ndev = dev_get_by_index_rcu(la->net, la->ifindex);
	if (!ndev || !(ndev->flags & IFF_UP))
		return 0;
	/*
	 * Prefer the first namespace, where ids may stay when the last socket
	 * is closed.
	 */
	if (!net_eq(la->net, &init_net))
		return 1;
	if (ipv6_addr_v4mapped(&la->addr))
		return 4;
	return la->scope ? 2 : 3;
}

/*
 * Find an address of a device for its registrar: the best one, or after @failed
 * attempts any in turn.  False if there is none.
 */
bool rds_rdma_addr_of_dev(struct rds_rdma_dev *dev, struct rds_rdma_laddr *la,
			  unsigned int failed)
{
	unsigned int best = 0, n = 0, pick, r;
	struct addr_entry *e;

	rcu_read_lock();
	spin_lock_bh(&addrs_lock);
	list_for_each_entry(e, &addrs, node)
		n += e->dev == dev && rank(e);
	pick = failed && n ? failed % n + 1 : 0;
	list_for_each_entry(e, &addrs, node) {
		r = e->dev == dev ? rank(e) : 0;
		if (!r || (pick ? --pick : r <= best))
			continue;
		*la = e->la;
		best = r;
		if (failed)
			break;
	}
	spin_unlock_bh(&addrs_lock);
	rcu_read_unlock();
	return best;
}

/* The id of probe() gets no events. */
static int probe_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	return 0;
}

/* The device that an address leads to, counted, or NULL */
static struct rds_rdma_dev *probe(const struct rds_rdma_laddr *la)
{
	struct rds_rdma_dev *dev = NULL;
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;

	id = rdma_create_id(la->net, probe_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return NULL;
	rds_rdma_sockaddr(&ss, la, 0);
	if (!rdma_bind_addr(id, (struct sockaddr *)&ss))
		dev = rds_rdma_dev_get(id->device);
	rdma_destroy_id(id);
	if (dev && dev->props.first_net_only && !net_eq(la->net, &init_net)) {
		rds_rdma_dev_put(dev);
		dev = NULL;
	}
	return dev;
}

static u16 listen_port(const struct addr_entry *e)
{
	return e->dev->props.iwarp || ipv6_addr_v4mapped(&e->la.addr) ?
		       RDS_RDMA_PORT :
		       RDS_RDMA_PORT_IPV6;
}

/* Open the listener of an address.  Returns false if it must be tried again. */
static bool open_listener(struct addr_entry *e)
{
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int err;

	if (e->listener || !e->used)
		return true;
	id = rdma_create_id(e->la.net, rds_rdma_listen_event, e, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return false;
	rds_rdma_sockaddr(&ss, &e->la, listen_port(e));
	err = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (!err)
		err = rdma_listen(id, BACKLOG);
	if (!err) {
		e->listener = id;
		e->told = false;
		return true;
	}
	rdma_destroy_id(id);
	if (!e->told)
		pr_warn_ratelimited("rds_rdma: cannot listen on %pISpc: error %d%s\n",
				    &ss, err,
				    err == -EADDRINUSE && e->dev->props.iwarp ?
					    ", iWARP needs the TCP port of that number" :
					    "");
	e->told = true;
	return false;
}

static void end_conn(struct rds_rdma_conn *conn, void *arg)
{
	rds_rdma_conn_addr_gone(conn, arg);
}

/* Remove an address; if @dev_gone, the caller has its connections ended. */
static void entry_drop(struct addr_entry *e, bool dev_gone)
{
	lockdep_assert_held(&scan_lock);
	spin_lock_bh(&addrs_lock);
	list_del(&e->node);
	spin_unlock_bh(&addrs_lock);

	/* On return no handler that uses @e runs. */
	if (e->listener)
		rdma_destroy_id(e->listener);
	if (!dev_gone)
		rds_rdma_dev_each_conn(e->dev, end_conn, &e->la);
	rds_rdma_dev_put(e->dev);
	kfree(e);
}

static struct addr_net *net_find(const struct net *net)
{
	struct addr_net *an;

	lockdep_assert_held(&scan_lock);
	list_for_each_entry(an, &nets, node)
		if (net_eq(an->net, net))
			return an;
	return NULL;
}

/* Add an address to the table.  False if it leads to no device. */
static bool entry_add(const struct rds_rdma_laddr *la, bool *retry)
{
	struct rds_rdma_dev *dev = probe(la);
	struct addr_entry *e;

	if (!dev)
		return false;
	e = kzalloc_obj(*e);
	if (!e) {
		rds_rdma_dev_put(dev);
		*retry = true;
		return true;
	}
	e->la = *la;
	e->dev = dev;
	e->seen = true;
	e->used = net_find(la->net)->used;
	spin_lock_bh(&addrs_lock);
	list_add_tail(&e->node, &addrs);
	spin_unlock_bh(&addrs_lock);
	if (!open_listener(e))
		*retry = true;
	rds_rdma_registrar_kick(dev);
	return true;
}

/* The kinds of all devices together */
struct kinds {
	bool	any;
	bool	other_nets;
	bool	roce;
};

static void kinds_of(struct rds_rdma_dev *dev, void *arg)
{
	struct kinds *k = arg;

	k->any = true;
	k->other_nets |= !dev->props.first_net_only;
	k->roce |= rdma_protocol_roce(dev->ib, rdma_start_port(dev->ib));
}

/*
 * ib_core adds the GIDs of new RoCE addresses in a work item of its own, which
 * may run after the scan.  Have it add them now, or the scan would miss a new
 * address.
 */
static void rescan_roce(struct rds_rdma_dev *dev, void *arg)
{
	if (rdma_protocol_roce(dev->ib, rdma_start_port(dev->ib)))
		rdma_roce_rescan_device(dev->ib);
}

/*
 * Remove known addresses from @found, and from the table those that @found has
 * not.
 */
static void scan_old(struct list_head *found, bool missed, bool *retry)
{
	struct addr_entry *e, *tmp;
	struct rds_rdma_found *f, *ftmp;

	list_for_each_entry(e, &addrs, node)
		e->seen = false;
	list_for_each_entry_safe(f, ftmp, found, node) {
		list_for_each_entry(e, &addrs, node)
			if (la_same(&e->la, &f->la))
				break;
		if (list_entry_is_head(e, &addrs, node))
			continue;
		e->seen = true;
		list_del(&f->node);
		kfree(f);
	}
	list_for_each_entry_safe(e, tmp, &addrs, node) {
		if (!e->seen && !missed) {
			entry_drop(e, false);
			continue;
		}
		if (!open_listener(e))
			*retry = true;
		/* The interface may have come up. */
		rds_rdma_registrar_kick(e->dev);
	}
}

/*
 * Whether the table has the address: an interface may have one twice, with
 * different prefixes.
 */
static bool known(const struct rds_rdma_laddr *la)
{
	struct addr_entry *e;

	list_for_each_entry(e, &addrs, node)
		if (la_same(&e->la, la))
			return true;
	return false;
}

/* Move addresses that lead to a device from @found to the table. */
static void scan_new(struct list_head *found, bool *retry)
{
	struct rds_rdma_found *f, *tmp;

	list_for_each_entry_safe(f, tmp, found, node) {
		struct net *net = maybe_get_net(f->la.net);

		if (!net || known(&f->la) || entry_add(&f->la, retry)) {
			list_del(&f->node);
			kfree(f);
		}
		if (net)
			put_net(net);
	}
}

static void scan(struct work_struct *work)
{
	struct kinds kinds = {};
	struct rds_rdma_found *f, *tmp;
	struct addr_net *an;
	bool retry = false, missed = false, was_fresh, links;
	LIST_HEAD(found);

	mutex_lock(&scan_lock);
	was_fresh = xchg(&fresh, false);
	rds_rdma_dev_each(kinds_of, &kinds);
	list_for_each_entry(an, &nets, node)
		if (kinds.any &&
		    (kinds.other_nets || net_eq(an->net, &init_net)))
			rds_rdma_addr_collect(an->net, &found, &missed, &retry);
	scan_old(&found, missed, &retry);
	scan_new(&found, &retry);
	if (was_fresh && !list_empty(&found) && kinds.roce) {
		rds_rdma_dev_each(rescan_roce, NULL);
		scan_new(&found, &retry);
	}
	list_for_each_entry_safe(f, tmp, &found, node)
		kfree(f);
	links = rds_rdma_links_ready();
	if (xchg(&kicked, false))
		retry_time = RETRY_TIME;
	if (retry || missed || !links)
		mod_delayed_work(rds_rdma_wq, &retry_work,
				 links ? retry_time :
					 min(retry_time, RETRY_TIME_LINK));
	retry_time = min_t(unsigned long, 2 * retry_time, RETRY_TIME_MAX);
	mutex_unlock(&scan_lock);
}

void rds_rdma_addr_dev_gone(struct rds_rdma_dev *dev)
{
	struct addr_entry *e, *tmp;

	mutex_lock(&scan_lock);
	list_for_each_entry_safe(e, tmp, &addrs, node)
		if (e->dev == dev)
			entry_drop(e, true);
	mutex_unlock(&scan_lock);
}

/* Include @net in the scans from now on. */
int rds_rdma_addr_net_init(struct net *net)
{
	struct addr_net *an = kzalloc_obj(*an);

	if (!an)
		return -ENOMEM;
	an->net = net;
	an->used = net_eq(net, &init_net);
	mutex_lock(&scan_lock);
	list_add_tail(&an->node, &nets);
	mutex_unlock(&scan_lock);
	rds_rdma_addr_kick();
	return 0;
}

static void net_set_used(struct net *net, bool use)
{
	struct rdma_cm_id *id;
	struct addr_entry *e;

	lockdep_assert_held(&scan_lock);
	net_find(net)->used = use;
	list_for_each_entry(e, &addrs, node) {
		if (!net_eq(e->la.net, net))
			continue;
		spin_lock_bh(&addrs_lock);
		e->used = use;
		spin_unlock_bh(&addrs_lock);
		id = e->listener;
		if (use && !open_listener(e))
			rds_rdma_addr_kick();
		if (use)
			rds_rdma_registrar_kick(e->dev);
		if (use || !id)
			continue;
		e->listener = NULL;
		rdma_destroy_id(id);
	}
}

void rds_rdma_addr_net_use(struct net *net, bool use)
{
	struct rds_rdma_dev *dev;
	u64 serial = 0;

	mutex_lock(&scan_lock);
	net_set_used(net, use);
	mutex_unlock(&scan_lock);
	while (!use && (dev = rds_rdma_dev_after(serial))) {
		serial = dev->serial;
		rds_rdma_registrar_leave(dev, net);
		rds_rdma_dev_put(dev);
	}
}

/*
 * Remove @net; on return it has no listener.  The core ends the connections of
 * @net in good order, for which it may need the registrar.
 */
void rds_rdma_addr_net_exit(struct net *net)
{
	struct addr_entry *e, *etmp;
	struct addr_net *an, *tmp;

	mutex_lock(&scan_lock);
	list_for_each_entry_safe(an, tmp, &nets, node) {
		if (net_eq(an->net, net)) {
			list_del(&an->node);
			kfree(an);
		}
	}
	list_for_each_entry_safe(e, etmp, &addrs, node) {
		if (net_eq(e->la.net, net))
			entry_drop(e, true);
	}
	mutex_unlock(&scan_lock);
}

/* IPv6 may call this in atomic context. */
static int addr_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	WRITE_ONCE(fresh, true);
	rds_rdma_addr_kick();
	return NOTIFY_DONE;
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *arg)
{
	switch (event) {
	case NETDEV_UP:
	case NETDEV_REGISTER:
	case NETDEV_UNREGISTER:
	case NETDEV_CHANGEADDR:
	case NETDEV_CHANGE:
		rds_rdma_addr_kick();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block inet_nb = { .notifier_call = addr_event };
static struct notifier_block inet6_nb = { .notifier_call = addr_event };
static struct notifier_block netdev_nb = { .notifier_call = netdev_event };

int rds_rdma_addr_init(void)
{
	int err = register_netdevice_notifier(&netdev_nb);

	if (err)
		return err;
	err = register_inetaddr_notifier(&inet_nb);
	if (err)
		goto out_netdev;
	err = register_inet6addr_notifier(&inet6_nb);
	if (!err)
		return 0;
	unregister_inetaddr_notifier(&inet_nb);
out_netdev:
	unregister_netdevice_notifier(&netdev_nb);
	return err;
}

/* Called when no device and no namespace is left. */
void rds_rdma_addr_exit(void)
{
	unregister_inet6addr_notifier(&inet6_nb);
	unregister_inetaddr_notifier(&inet_nb);
	unregister_netdevice_notifier(&netdev_nb);
	cancel_delayed_work_sync(&retry_work);
	cancel_work_sync(&scan_work);
	/* The scan may have queued retry_work once more. */
	cancel_delayed_work_sync(&retry_work);
	cancel_work_sync(&scan_work);
	WARN_ON_ONCE(!list_empty(&addrs) || !list_empty(&nets));
}
