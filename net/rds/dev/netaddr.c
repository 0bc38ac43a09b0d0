// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The addresses of a namespace, whether they lead to a device or not. */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>

#include "layer.h"

static void found_add(struct list_head *found, bool *missed, struct net *net,
		      int ifindex, const struct in6_addr *addr)
{
	struct rds_dev_found *f = kzalloc_obj(*f, GFP_ATOMIC);

	if (!f) {
		*missed = true;
		return;
	}
	f->la.net = net;
	f->la.ifindex = ifindex;
	f->la.addr = *addr;
	if (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL)
		f->la.scope = ifindex;
	list_add_tail(&f->node, found);
}

static void collect_v6(struct net *net, struct net_device *ndev,
		       struct list_head *found, bool *missed, bool *tentative)
{
	struct inet6_dev *idev = __in6_dev_get(ndev);
	struct inet6_ifaddr *ifa;

	if (!idev)
		return;
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa, &idev->addr_list, if_list) {
		if (ifa->flags & IFA_F_DADFAILED ||
		    ipv6_addr_loopback(&ifa->addr))
			continue;
		/*
		 * No notifier is called at the end of duplicate address
		 * detection.
		 */
		if (ifa->flags & IFA_F_TENTATIVE &&
		    !(ifa->flags & IFA_F_OPTIMISTIC))
			*tentative = true;
		else
			found_add(found, missed, net, ndev->ifindex,
				  &ifa->addr);
	}
	read_unlock_bh(&idev->lock);
}

void rds_dev_addr_collect(struct net *net, struct list_head *found,
			  bool *missed, bool *tentative)
{
	struct net_device *ndev;
	struct in_device *idev;
	struct in_ifaddr *ifa;
	struct in6_addr addr;

	rcu_read_lock();
	for_each_netdev_rcu(net, ndev) {
		idev = __in_dev_get_rcu(ndev);
		if (idev) {
			in_dev_for_each_ifa_rcu(ifa, idev) {
				if (ipv4_is_loopback(ifa->ifa_local))
					continue;
				ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
				found_add(found, missed, net, ndev->ifindex,
					  &addr);
			}
		}
		if (IS_ENABLED(CONFIG_IPV6))
			collect_v6(net, ndev, found, missed, tentative);
	}
	rcu_read_unlock();
}
