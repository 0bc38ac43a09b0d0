// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Interfaces and addresses that go, and what must not be said to the CM then.
 *
 * rxe sends the packets of the CM as any others.  One that has no route, because the interface is
 * down or its address has gone, puts the management queue pair into the error state, which nobody
 * ends: no connection can be made over that device until it is removed and added.  So, on all
 * that is RoCE:
 *
 *   - Connections end before their interface goes down (NETDEV_GOING_DOWN), or their IPv4
 *     address is forgotten by the routing tables (our notifier is called before theirs).  The
 *     notifier waits, with a limit, until their disconnect requests have left:
 *     rdma_destroy_id() returns when they have, and when they will not be repeated.
 *   - None is begun over an interface that is down, or about to be.
 *   - An id that would say something when it is destroyed, and cannot, is parked until it can or
 *     until the device goes.  That is for links that break without notice, and for IPv6, where
 *     the notifier comes too late.  Ids in other namespaces are not parked, as they would hold
 *     those.
 *
 * iWARP is told early as well: the peer then hears of the end, and needs no time-out for it.
 *
 * Locks: notifiers are called under the RTNL, and link_lock is a leaf.  No lock under which
 * somebody waits for the RTNL may be taken here, devs_lock for instance.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "devlayer.h"
#include "rdma.h"

/* How long an interface or an address that goes waits for its connections */
#define GOING_TIME	HZ

/*
 * What is going right now.  One at a time, as all that happens under the RTNL.  It stays here
 * after the notifier: an interface counts as down before the next one is told to go.
 */
static DEFINE_SPINLOCK(link_lock);
static struct rds_rdma_laddr going;	/* net NULL: nothing; an address of :: means any */

static bool la_goes(const struct rds_rdma_laddr *la, const struct rds_rdma_laddr *what)
{
	return la->net == what->net && la->ifindex == what->ifindex &&
	       (ipv6_addr_any(&what->addr) || ipv6_addr_equal(&la->addr, &what->addr));
}

static bool dev_has_v6(const struct net_device *ndev, const struct in6_addr *addr)
{
	struct inet6_dev *idev = __in6_dev_get(ndev);
	struct inet6_ifaddr *ifa;
	bool has = false;

	if (!idev)
		return false;
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa, &idev->addr_list, if_list)
		has |= ipv6_addr_equal(&ifa->addr, addr);
	read_unlock_bh(&idev->lock);
	return has;
}

bool rds_rdma_link_ok(const struct rds_rdma_laddr *la)
{
	struct net_device *ndev;
	bool ok;

	rcu_read_lock();
	ndev = dev_get_by_index_rcu(la->net, la->ifindex);
	ok = ndev && netif_running(ndev) && netif_carrier_ok(ndev);
	if (ok && ipv6_addr_v4mapped(&la->addr))
		ok = __ip_dev_find(la->net, la->addr.s6_addr32[3], false);
	else if (ok && IS_ENABLED(CONFIG_IPV6))
		ok = dev_has_v6(ndev, &la->addr);
	rcu_read_unlock();
	return ok;
}

bool rds_rdma_link_usable(const struct rds_rdma_laddr *la)
{
	bool goes;

	spin_lock_bh(&link_lock);
	goes = la_goes(la, &going);
	spin_unlock_bh(&link_lock);
	return !goes && rds_rdma_link_ok(la);
}

static void set_going(const struct rds_rdma_laddr *what)
{
	spin_lock_bh(&link_lock);
	going = *what;
	spin_unlock_bh(&link_lock);
}

static void end_going(struct rds_rdma_conn *conn, void *arg)
{
	const struct rds_rdma_laddr *what = arg;

	if (la_goes(&conn->local, what))
		rds_rdma_conn_fail(conn, ipv6_addr_any(&what->addr) ? RDS_DROP_LOCAL_RECONFIG :
								    RDS_DROP_ADDR_GONE);
}

static bool list_has(const struct list_head *conns, const struct rds_rdma_laddr *what)
{
	const struct rds_rdma_conn *conn;

	list_for_each_entry(conn, conns, dev_node)
		if (la_goes(&conn->local, what) && !conn->cm.parked)
			return true;
	return false;
}

static bool dev_clear(struct rds_rdma_dev *dev, const struct rds_rdma_laddr *what)
{
	bool clear;

	spin_lock_bh(&dev->lock);
	clear = !list_has(&dev->conns, what) && !list_has(&dev->walk, what) &&
		!list_has(&dev->closing, what);
	spin_unlock_bh(&dev->lock);
	return clear;
}

/* On return the connections concerned have ended, or have had their time. */
static void link_goes(struct net *net, int ifindex, const struct in6_addr *addr)
{
	struct rds_rdma_laddr what = { .net = net, .ifindex = ifindex, .addr = *addr };
	unsigned long until = jiffies + GOING_TIME;
	struct rds_rdma_dev *dev;
	u64 serial = 0;

	/* Whoever comes after this sees it; whoever came before is met by the walk. */
	set_going(&what);
	while ((dev = rds_rdma_dev_after(serial))) {
		serial = dev->serial;
		rds_rdma_dev_each_conn(dev, end_going, &what);
		wait_event_timeout(dev->idle, dev_clear(dev, &what),
				   max(1L, (long)(until - jiffies)));
		rds_rdma_dev_put(dev);
	}
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);
	static const struct rds_rdma_laddr none;

	if (event == NETDEV_GOING_DOWN)
		link_goes(dev_net(ndev), ndev->ifindex, &in6addr_any);
	else if (event == NETDEV_UP)
		set_going(&none);
	return NOTIFY_DONE;
}

/* The same address with another prefix stays: the routing tables leave its route alone. */
static bool addr_remains(const struct in_ifaddr *gone)
{
	const struct in_ifaddr *ifa;

	in_dev_for_each_ifa_rtnl(ifa, gone->ifa_dev)
		if (ifa != gone && ifa->ifa_local == gone->ifa_local)
			return true;
	return false;
}

static int inetaddr_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	static const struct rds_rdma_laddr none;
	const struct in_ifaddr *ifa = arg;
	struct in6_addr addr;

	if (event == NETDEV_DOWN && !addr_remains(ifa)) {
		ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
		link_goes(dev_net(ifa->ifa_dev->dev), ifa->ifa_dev->dev->ifindex, &addr);
	} else if (event == NETDEV_UP) {
		set_going(&none);
	}
	return NOTIFY_DONE;
}

bool rds_rdma_link_park(struct rds_rdma_conn *conn)
{
	struct rds_rdma_dev *dev = conn->dev;
	bool park;

	if (dev->props.iwarp || !net_eq(conn->local.net, &init_net) ||
	    rds_rdma_link_ok(&conn->local))
		return false;
	spin_lock_bh(&dev->lock);
	park = !dev->gone;
	conn->cm.parked = park;
	if (park)
		wake_up_all(&dev->idle);
	spin_unlock_bh(&dev->lock);
	/* It may have become good again just now. */
	if (park)
		rds_rdma_addr_kick();
	return park;
}

void rds_rdma_link_unpark(struct rds_rdma_dev *dev)
{
	struct rds_rdma_conn *conn;

	spin_lock_bh(&dev->lock);
	list_for_each_entry(conn, &dev->closing, dev_node) {
		if (!conn->cm.parked || !(dev->gone || rds_rdma_link_ok(&conn->local)))
			continue;
		conn->cm.parked = false;
		queue_work(rds_rdma_wq, &conn->cm.reap_work);
	}
	spin_unlock_bh(&dev->lock);
}

static struct notifier_block netdev_nb = { .notifier_call = netdev_event };
/* Before the one that takes the routes away */
static struct notifier_block inet_nb = {
	.notifier_call	= inetaddr_event,
	.priority	= INT_MAX,
};

int rds_rdma_link_init(void)
{
	int err = register_netdevice_notifier(&netdev_nb);

	if (err)
		return err;
	err = register_inetaddr_notifier(&inet_nb);
	if (err)
		unregister_netdevice_notifier(&netdev_nb);
	return err;
}

void rds_rdma_link_exit(void)
{
	unregister_inetaddr_notifier(&inet_nb);
	unregister_netdevice_notifier(&netdev_nb);
}
