// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who uses devices in which namespace.  Ids of rdma_cm hold their namespace, so
 * those that nobody asked for there, of listeners and registrars, exist in the
 * first namespace, and in others while a user says that sockets hold them.
 */
#include <linux/module.h>
#include <net/net_namespace.h>

#include "addr.h"
#include "registrar.h"

static void each_of(struct addr_net *an,
		    void (*fn)(struct rds_dev_addr *e, void *arg), void *arg)
{
	struct rds_dev_addr *e;

	list_for_each_entry(e, &an->addrs, net_node) {
		fn(e, arg);
		cond_resched();
	}
}

void rds_dev_addr_each(const struct net *net,
		       void (*fn)(struct rds_dev_addr *e, void *arg),
		       void *arg)
{
	struct addr_net *an;

	lockdep_assert_held(&rds_dev_scan_lock);
	if (net) {
		an = rds_dev_addr_net(net);
		if (an->net)
			each_of(an, fn, arg);
		return;
	}
	list_for_each_entry(an, &rds_dev_addr_nets, node)
		each_of(an, fn, arg);
}

static void net_use(struct addr_net *an, const struct rds_dev_user *user,
		    bool use)
{
	unsigned long bit = BIT(user->slot);
	struct rds_dev_addr *e;

	lockdep_assert_held(&rds_dev_scan_lock);
	if (!an->net || net_eq(an->net, &init_net))
		return;
	an->used = use ? an->used | bit : an->used & ~bit;
	list_for_each_entry(e, &an->addrs, net_node)
		if (!rds_dev_addr_use(e, an->used))
			rds_dev_addr_again(e);
}

void rds_dev_net_use(const struct rds_dev_user *user, struct net *net,
		     bool use)
{
	struct rds_dev_domain *dom;
	struct rds_dev *dev;
	u64 serial = 0;

	mutex_lock(&rds_dev_scan_lock);
	net_use(rds_dev_addr_net(net), user, use);
	mutex_unlock(&rds_dev_scan_lock);
	/* The first namespace is always used. */
	if (net_eq(net, &init_net))
		return;
	while (!use && (dev = rds_dev_after(serial))) {
		serial = dev->serial;
		dom = rds_dev_domain_find(dev, user->slot);
		rds_dev_put(dev);
		if (!dom)
			continue;
		rds_dev_registrar_leave(dom, net);
		rds_dev_domain_put(dom);
	}
}
EXPORT_SYMBOL_NS_GPL(rds_dev_net_use, RDS_DEV_NS);

void rds_dev_addr_user_leaves(const struct rds_dev_user *user)
{
	struct addr_net *an;

	mutex_lock(&rds_dev_scan_lock);
	list_for_each_entry(an, &rds_dev_addr_nets, node)
		net_use(an, user, false);
	mutex_unlock(&rds_dev_scan_lock);
}
