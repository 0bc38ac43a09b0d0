// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Keeps the table of local addresses true.
 *
 * Notifiers may run in atomic context, so they note which namespace has changed
 * and queue one work item.  The work looks at the namespaces that were noted,
 * and at the GID tables that devices report to have changed; it probes
 * addresses that are new or whose interface or GID changed, and no others.
 *
 * ib_core changes the GIDs of a RoCE device in a work item of its own, some
 * time after the address or the interface changed, and then reports that the
 * table has changed.  A look-up of an address that leads to no device, and is
 * new, has ib_core add its GID at once.
 */
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "addr.h"

/*
 * Delays before another scan for what was not possible: a port was in use, an
 * address or a link not ready.  Most of these end soon, and some, as duplicate
 * address detection, end without a notifier.
 */
#define RETRY_TIME	(HZ / 20)
#define RETRY_TIME_MAX	(8 * HZ)	/* limit while nothing changes */
#define RETRY_TIME_LINK	(1UL * HZ)	/* limit while a link is waited for */
#define ANY_INTERFACE	-1
/* Namespaces that a turn of the work scans */
#define SCAN_NETS	64

static unsigned int addr_net_id;
LIST_HEAD(rds_dev_addr_nets);		/* under rds_dev_scan_lock */
static unsigned int stamp;		/* under rds_dev_scan_lock */
static unsigned long retry_time = RETRY_TIME;	/* under rds_dev_scan_lock */
static DEFINE_SPINLOCK(queue_lock);
static LIST_HEAD(nets_dirty);		/* under queue_lock */
static LIST_HEAD(nets_retry);		/* under queue_lock */
/* rds_dev_addr_kick() was called since the last scan */
static bool kicked;
/*
 * How often all addresses had to be probed, as a device was added, and how
 * often that was noted for each namespace, under rds_dev_scan_lock
 */
static atomic_t all_wanted = ATOMIC_INIT(0);
static int all_noted;

static void scan(struct work_struct *work);
static void scan_again(struct work_struct *work);
static DECLARE_WORK(scan_work, scan);
static DECLARE_DELAYED_WORK(retry_work, scan_again);

struct addr_net *rds_dev_addr_net(const struct net *net)
{
	return net_generic(net, addr_net_id);
}

void rds_dev_addr_kick(void)
{
	WRITE_ONCE(kicked, true);
	queue_work(rds_dev_wq, &scan_work);
}

static void note_locked(struct addr_net *an, int ifindex)
{
	lockdep_assert_held(&queue_lock);
	WRITE_ONCE(an->dirty, true);
	if (!an->ifindex || !ifindex)
		an->ifindex |= ifindex;
	else if (an->ifindex != ifindex)
		an->ifindex = ANY_INTERFACE;
	list_move_tail(&an->queue, &nets_dirty);
}

/*
 * Note that a namespace has changed: its addresses are looked at, and those of
 * an interface, or ANY_INTERFACE, are probed.  Any context but hard interrupts.
 */
static void note(const struct net *net, int ifindex)
{
	struct addr_net *an = rds_dev_addr_net(net);

	spin_lock_bh(&queue_lock);
	if (an->active)
		note_locked(an, ifindex);
	spin_unlock_bh(&queue_lock);
	rds_dev_addr_kick();
}

static bool all_due(void)
{
	return READ_ONCE(all_noted) != atomic_read(&all_wanted);
}

/*
 * The caller may be called with locks of ib_core under which rds_dev_scan_lock
 * must not be taken.
 */
void rds_dev_addr_probe_all(void)
{
	atomic_inc(&all_wanted);
	rds_dev_addr_kick();
}

static void note_all(void)
{
	int wanted = atomic_read(&all_wanted);
	struct addr_net *an;

	lockdep_assert_held(&rds_dev_scan_lock);
	if (!all_due())
		return;
	list_for_each_entry(an, &rds_dev_addr_nets, node)
		note(an->net, ANY_INTERFACE);
	WRITE_ONCE(all_noted, wanted);
}

/* Have a namespace scanned again, when time has passed. */
static void retry_net(struct addr_net *an)
{
	spin_lock_bh(&queue_lock);
	if (an->active && !an->dirty)
		list_move_tail(&an->queue, &nets_retry);
	spin_unlock_bh(&queue_lock);
}

static void scan_again(struct work_struct *work)
{
	struct addr_net *an, *tmp;

	spin_lock_bh(&queue_lock);
	list_for_each_entry_safe(an, tmp, &nets_retry, queue)
		note_locked(an, 0);
	spin_unlock_bh(&queue_lock);
	queue_work(rds_dev_wq, &scan_work);
}

/* The kinds of all devices together */
struct kinds {
	bool	any;
	bool	other_nets;
};

static void kinds_of(struct rds_dev *dev, void *arg)
{
	struct kinds *k = arg;

	k->any = true;
	k->other_nets |= READ_ONCE(dev->all_nets);
}

/* Whether a device may serve the namespace */
static bool net_served(const struct net *net)
{
	struct kinds k = {};

	rds_dev_each(kinds_of, &k);
	return k.any && (k.other_nets || net_eq(net, &init_net));
}

/*
 * Enter addresses that are new, and mark those that were found.  Frees @found;
 * sets @missed without memory.
 */
static void take_found(struct addr_net *an, struct list_head *found,
		       bool *missed)
{
	struct rds_dev_found *f, *tmp;
	struct rds_dev_addr *e;

	list_for_each_entry_safe(f, tmp, found, node) {
		e = rds_dev_addr_find(&f->la);
		if (!e) {
			e = rds_dev_addr_add(&f->la, an->used);
			if (!IS_ERR(e))
				list_add_tail(&e->net_node, &an->addrs);
		}
		if (!IS_ERR(e))
			e->seen = stamp;
		else if (PTR_ERR(e) != -ENOSPC)
			*missed = true;
		list_del(&f->node);
		kfree(f);
		cond_resched();
	}
}

/* False if the address must be looked at again. */
static bool look_at(struct rds_dev_addr *e, int ifindex)
{
	if (e->probe || ifindex == ANY_INTERFACE || ifindex == e->la.ifindex)
		return rds_dev_addr_probe(e);
	/* The interface may have come up. */
	if (e->dev)
		rds_dev_domains_kick(e->dev);
	return rds_dev_addr_listen(e);
}

/* @net is counted. */
static void scan_net(struct addr_net *an, int ifindex)
{
	bool missed = false, tentative = false, ok = true;
	struct rds_dev_addr *e, *tmp;
	LIST_HEAD(found);

	lockdep_assert_held(&rds_dev_scan_lock);
	stamp++;
	if (net_served(an->net))
		rds_dev_addr_collect(an->net, &found, &missed, &tentative);
	take_found(an, &found, &missed);
	list_for_each_entry_safe(e, tmp, &an->addrs, net_node) {
		if (e->seen != stamp && !missed)
			rds_dev_addr_drop(e, false);
		else
			ok &= look_at(e, ifindex);
		cond_resched();
	}
	if (missed || tentative || !ok)
		retry_net(an);
}

/* Begin a scan, if the namespace has changed. */
static bool take_dirty(struct addr_net *an, int *ifindex)
{
	bool dirty;

	spin_lock_bh(&queue_lock);
	dirty = an->dirty;
	if (dirty) {
		list_del_init(&an->queue);
		*ifindex = an->ifindex;
		an->ifindex = 0;
		WRITE_ONCE(an->busy, true);
		/* Pairs with behind(). */
		smp_store_release(&an->dirty, false);
	}
	spin_unlock_bh(&queue_lock);
	return dirty;
}

static void scan_if_dirty(struct addr_net *an)
{
	int ifindex;

	lockdep_assert_held(&rds_dev_scan_lock);
	if (!take_dirty(an, &ifindex))
		return;
	/* Ids must not hold a namespace that is being removed. */
	if (maybe_get_net(an->net)) {
		scan_net(an, ifindex);
		put_net(an->net);
	}
	/* Pairs with behind(). */
	smp_store_release(&an->busy, false);
}

static struct addr_net *first_dirty(void)
{
	struct addr_net *an;

	spin_lock_bh(&queue_lock);
	an = list_first_entry_or_null(&nets_dirty, struct addr_net, queue);
	spin_unlock_bh(&queue_lock);
	return an;
}

static void probe(struct rds_dev_addr *e)
{
	struct net *net = maybe_get_net(e->la.net);

	if (!net)
		return;
	if (!rds_dev_addr_probe(e))
		retry_net(rds_dev_addr_net(net));
	put_net(net);
}

static void scan_gids(struct rds_dev *dev)
{
	if (!xchg(&dev->gids_changed, false) || !rds_dev_hold(dev))
		return;
	if (dev->props.roce) {
		mutex_lock(&rds_dev_scan_lock);
		rds_dev_gids_compare(dev, ++stamp, probe);
		mutex_unlock(&rds_dev_scan_lock);
	}
	/*
	 * InfiniBand: what its GIDs say of addresses only rdma_cm knows.  iWARP
	 * has no GIDs of addresses; its interface tells what changes.
	 */
	if (dev->props.infiniband)
		rds_dev_addr_probe_all();
	rds_dev_release(dev);
}

static void scan_devs(void)
{
	struct rds_dev *dev;
	u64 serial = 0;

	while ((dev = rds_dev_after(serial))) {
		serial = dev->serial;
		scan_gids(dev);
		rds_dev_put(dev);
	}
}

/* Scan what was noted.  False if more is left. */
static bool scan_dirty(void)
{
	struct addr_net *an;
	unsigned int n = 0;

	while (n++ < SCAN_NETS) {
		mutex_lock(&rds_dev_scan_lock);
		note_all();
		an = first_dirty();
		if (an)
			scan_if_dirty(an);
		mutex_unlock(&rds_dev_scan_lock);
		if (!an)
			return true;
	}
	return false;
}

static void scan(struct work_struct *work)
{
	bool links, retry;

	scan_devs();
	if (!scan_dirty())
		queue_work(rds_dev_wq, &scan_work);
	mutex_lock(&rds_dev_scan_lock);
	links = rds_dev_links_ready();
	spin_lock_bh(&queue_lock);
	retry = !list_empty(&nets_retry);
	spin_unlock_bh(&queue_lock);
	if (xchg(&kicked, false))
		retry_time = RETRY_TIME;
	if (retry || !links)
		mod_delayed_work(rds_dev_wq, &retry_work,
				 links ? retry_time :
					 min(retry_time, RETRY_TIME_LINK));
	retry_time = min_t(unsigned long, 2 * retry_time, RETRY_TIME_MAX);
	mutex_unlock(&rds_dev_scan_lock);
}

static void rescan_roce(struct rds_dev *dev, void *arg)
{
	if (dev->props.roce)
		rdma_roce_rescan_device(dev->ib);
}

/* Probe an address once more, now that ib_core has all GIDs. */
static void probe_new(struct addr_net *an, const struct in6_addr *addr)
{
	struct rds_dev_addr *e;

	list_for_each_entry(e, &an->addrs, net_node) {
		if (e->dev || !e->no_gid || !ipv6_addr_equal(&e->la.addr, addr))
			continue;
		WRITE_ONCE(e->no_gid, false);
		probe(e);
	}
}

/* Whether the table may be behind for a namespace */
static bool behind(const struct addr_net *an)
{
	/* Pairs with take_dirty(): @busy is set before @dirty is cleared. */
	if (all_due() || smp_load_acquire(&an->dirty))
		return true;
	/* Pairs with scan_if_dirty(): what the scan has entered is seen. */
	return smp_load_acquire(&an->busy);
}

bool rds_dev_scan_now(const struct rds_dev_laddr *la, bool no_gid)
{
	struct addr_net *an = rds_dev_addr_net(la->net);

	if (!no_gid && !behind(an))
		return false;
	mutex_lock(&rds_dev_scan_lock);
	note_all();
	if (READ_ONCE(an->active))
		scan_if_dirty(an);
	if (READ_ONCE(an->active) && no_gid) {
		rds_dev_each(rescan_roce, NULL);
		probe_new(an, &la->addr);
	}
	mutex_unlock(&rds_dev_scan_lock);
	return true;
}

void rds_dev_addr_dev_gone(struct rds_dev *dev)
{
	struct rds_dev_addr *e, *tmp;

	mutex_lock(&rds_dev_scan_lock);
	list_for_each_entry_safe(e, tmp, &dev->addrs, dev_node) {
		rds_dev_addr_lose_dev(e, true);
		/* Another device may have it. */
		e->probe = true;
		note(e->la.net, 0);
	}
	mutex_unlock(&rds_dev_scan_lock);
}

void rds_dev_addr_again(const struct rds_dev_addr *e)
{
	note(e->la.net, 0);
}

/* Include @net in the scans from now on. */
void rds_dev_addr_net_init(struct net *net)
{
	struct addr_net *an = rds_dev_addr_net(net);

	an->net = net;
	INIT_LIST_HEAD(&an->addrs);
	INIT_LIST_HEAD(&an->queue);
	an->used = net_eq(net, &init_net) ? ~0UL : 0;
	mutex_lock(&rds_dev_scan_lock);
	list_add_tail(&an->node, &rds_dev_addr_nets);
	mutex_unlock(&rds_dev_scan_lock);
	spin_lock_bh(&queue_lock);
	an->active = true;
	spin_unlock_bh(&queue_lock);
	note(net, ANY_INTERFACE);
}

/*
 * Remove @net; on return it has no listener.  The core ends the connections of
 * @net in good order, for which it may need the registrar.
 */
void rds_dev_addr_net_exit(struct net *net)
{
	struct addr_net *an = rds_dev_addr_net(net);
	struct rds_dev_addr *e, *tmp;

	mutex_lock(&rds_dev_scan_lock);
	spin_lock_bh(&queue_lock);
	an->active = false;
	an->dirty = false;
	list_del_init(&an->queue);
	spin_unlock_bh(&queue_lock);
	list_del(&an->node);
	list_for_each_entry_safe(e, tmp, &an->addrs, net_node)
		rds_dev_addr_drop(e, true);
	mutex_unlock(&rds_dev_scan_lock);
}

static int inet_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	const struct in_ifaddr *ifa = arg;

	note(dev_net(ifa->ifa_dev->dev), 0);
	return NOTIFY_DONE;
}

/* IPv6 may call this in atomic context. */
static int inet6_event(struct notifier_block *nb, unsigned long event,
		       void *arg)
{
	const struct inet6_ifaddr *ifa = arg;

	note(dev_net(ifa->idev->dev), 0);
	return NOTIFY_DONE;
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *arg)
{
	const struct net_device *ndev = netdev_notifier_info_to_dev(arg);

	switch (event) {
	case NETDEV_UP:
	case NETDEV_REGISTER:
	case NETDEV_UNREGISTER:
	case NETDEV_CHANGEADDR:
	case NETDEV_CHANGE:
		note(dev_net(ndev), ndev->ifindex);
		break;
	/* Interfaces above this one may lead to other devices. */
	case NETDEV_CHANGEUPPER:
	case NETDEV_BONDING_FAILOVER:
		note(dev_net(ndev), ANY_INTERFACE);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block inet_nb = { .notifier_call = inet_event };
static struct notifier_block inet6_nb = { .notifier_call = inet6_event };
static struct notifier_block netdev_nb = { .notifier_call = netdev_event };

/*
 * Only for struct addr_net; user.c says when a namespace begins and ends.  A
 * subsystem has its memory before the first interface of a namespace is there,
 * for which the notifier is called, and keeps it until the last is gone.
 */
static struct pernet_operations addr_net_ops = {
	.id	= &addr_net_id,
	.size	= sizeof(struct addr_net),
};

static int notifiers_init(void)
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

int rds_dev_addr_init(void)
{
	int err = rds_dev_addrs_init();

	if (err)
		return err;
	err = register_pernet_subsys(&addr_net_ops);
	if (err)
		goto out_addrs;
	err = notifiers_init();
	if (!err)
		return 0;
	unregister_pernet_subsys(&addr_net_ops);
out_addrs:
	rds_dev_addrs_exit();
	return err;
}

/* Called when no device and no namespace is left. */
void rds_dev_addr_exit(void)
{
	unregister_inet6addr_notifier(&inet6_nb);
	unregister_inetaddr_notifier(&inet_nb);
	unregister_netdevice_notifier(&netdev_nb);
	cancel_delayed_work_sync(&retry_work);
	cancel_work_sync(&scan_work);
	/* The scan may have queued retry_work once more. */
	cancel_delayed_work_sync(&retry_work);
	cancel_work_sync(&scan_work);
	WARN_ON_ONCE(!list_empty(&rds_dev_addr_nets));
	unregister_pernet_subsys(&addr_net_ops);
	rds_dev_addrs_exit();
}
