// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The local addresses, and the device that each leads to.
 *
 * rdma_cm decides whether an address leads to a device: an id bound to the
 * address has the device or none.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>

#include "addr.h"

/*
 * Most interfaces of a namespace that may share an address: look-ups walk over
 * them.
 */
#define SAME_MAX	64

DEFINE_MUTEX(rds_dev_scan_lock);
static DEFINE_SPINLOCK(addrs_lock);
/* changed under rds_dev_scan_lock */
static struct rhltable addrs;

static const struct rhashtable_params addrs_params = {
	.head_offset	= offsetof(struct rds_dev_addr, hash),
	.key_offset	= offsetof(struct rds_dev_addr, la.net),
	.key_len	= offsetofend(struct rds_dev_laddr, addr),
	.automatic_shrinking = true,
};

static bool la_same(const struct rds_dev_laddr *a,
		    const struct rds_dev_laddr *b)
{
	return net_eq(a->net, b->net) && a->scope == b->scope &&
	       a->ifindex == b->ifindex && ipv6_addr_equal(&a->addr, &b->addr);
}

struct rds_dev_addr *rds_dev_addr_find(const struct rds_dev_laddr *la)
{
	struct rds_dev_addr *e, *found = NULL;
	struct rhlist_head *list, *pos;

	lockdep_assert_held(&rds_dev_scan_lock);
	rcu_read_lock();
	list = rhltable_lookup(&addrs, la, addrs_params);
	rhl_for_each_entry_rcu(e, pos, list, hash)
		if (la_same(&e->la, la))
			found = e;
	rcu_read_unlock();
	return found;
}

void rds_dev_addr_each_at(struct net *net, const struct in6_addr *addr,
			  void (*fn)(struct rds_dev_addr *e, void *arg),
			  void *arg)
{
	const struct rds_dev_laddr la = { .net = net, .addr = *addr };
	struct rds_dev_addr *e, *at[SAME_MAX];
	struct rhlist_head *list, *pos;
	unsigned int n = 0, i;

	lockdep_assert_held(&rds_dev_scan_lock);
	rcu_read_lock();
	list = rhltable_lookup(&addrs, &la, addrs_params);
	rhl_for_each_entry_rcu(e, pos, list, hash)
		if (n < SAME_MAX)
			at[n++] = e;
	rcu_read_unlock();
	for (i = 0; i < n; i++)
		fn(at[i], arg);
}

/*
 * The entry that a socket or path means by an address: interfaces may share it,
 * so one with a device is preferred.  Under RCU and addrs_lock.
 */
static struct rds_dev_addr *find_meant(const struct rds_dev_laddr *la)
{
	bool scoped = ipv6_addr_type(&la->addr) & IPV6_ADDR_LINKLOCAL;
	struct rds_dev_addr *e, *found = NULL;
	struct rhlist_head *list, *pos;

	lockdep_assert_held(&addrs_lock);
	list = rhltable_lookup(&addrs, la, addrs_params);
	rhl_for_each_entry_rcu(e, pos, list, hash) {
		if (scoped && la->scope && e->la.scope != la->scope)
			continue;
		if (!found || (e->dev && !found->dev))
			found = e;
	}
	return found;
}

/*
 * The device of an address, counted, or NULL.  Sets @no_gid if the table may
 * miss that of a new address.
 */
static struct rds_dev *lookup(struct rds_dev_laddr *la, bool *no_gid)
{
	struct rds_dev *dev = NULL;
	struct rds_dev_addr *e;

	rcu_read_lock();
	spin_lock_bh(&addrs_lock);
	e = find_meant(la);
	*no_gid = e && !e->dev && READ_ONCE(e->no_gid);
	if (e && e->dev) {
		la->ifindex = e->la.ifindex;
		dev = e->dev;
		kref_get(&dev->ref);
	}
	spin_unlock_bh(&addrs_lock);
	rcu_read_unlock();
	return dev;
}

/* The device that @la leads @user to, counted, or NULL */
static struct rds_dev *dev_of(const struct rds_dev_user *user,
			      struct rds_dev_laddr *la)
{
	struct rds_dev *dev;
	bool no_gid;

	dev = lookup(la, &no_gid);
	if (!dev && rds_dev_scan_now(la, no_gid))
		dev = lookup(la, &no_gid);
	if (dev && !rds_dev_serves(dev, user, la->net)) {
		rds_dev_put(dev);
		dev = NULL;
	}
	return dev;
}

struct rds_dev_domain *rds_dev_by_laddr(const struct rds_dev_user *user,
					struct rds_dev_laddr *la)
{
	struct rds_dev *dev = dev_of(user, la);
	struct rds_dev_domain *dom;

	if (!dev)
		return NULL;
	dom = rds_dev_domain_get(dev, user);
	rds_dev_put(dev);
	return dom;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_by_laddr, RDS_DEV_NS);

struct rds_dev_domain *
rds_dev_by_addr(const struct rds_dev_user *user, struct net *net,
		const struct in6_addr *addr, u32 scope)
{
	struct rds_dev_laddr la = { .net = net,
				     .addr = *addr,
				     .scope = scope };

	return rds_dev_by_laddr(user, &la);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_by_addr, RDS_DEV_NS);

/* The table has no loopback addresses. */
bool rds_dev_addr_local(const struct rds_dev_user *user, struct net *net,
			const struct in6_addr *addr, u32 scope)
{
	struct rds_dev_laddr la = { .net = net,
				     .addr = *addr,
				     .scope = scope };
	struct rds_dev *dev = dev_of(user, &la);

	if (dev)
		rds_dev_put(dev);
	return dev;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_addr_local, RDS_DEV_NS);

/*
 * How suitable an address is for the registrar of a user, 0: not at all.  Under
 * RCU.
 */
static unsigned int rank(const struct rds_dev_addr *e,
			 const struct rds_dev_domain *dom)
{
	const struct rds_dev_laddr *la = &e->la;
	struct net_device *ndev;

	lockdep_assert_held(&addrs_lock);
	/* Ids of the registrar would hold the namespace forever. */
	if (!(e->used & BIT(dom->slot)) ||
	    !rds_dev_serves(dom->dev, dom->user, la->net))
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
 * Find an address of a device for the registrar of a domain: the best one, or
 * after @failed attempts any in turn.  False if there is none.
 */
bool rds_dev_addr_of_domain(const struct rds_dev_domain *dom,
			    struct rds_dev_laddr *la, unsigned int failed)
{
	struct rds_dev *dev = dom->dev;
	unsigned int best = 0, n = 0, pick, r;
	struct rds_dev_addr *e;

	rcu_read_lock();
	spin_lock_bh(&addrs_lock);
	list_for_each_entry(e, &dev->addrs, dev_node)
		n += !!rank(e, dom);
	pick = failed && n ? failed % n + 1 : 0;
	list_for_each_entry(e, &dev->addrs, dev_node) {
		r = rank(e, dom);
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

/* The id of find_dev() gets no events. */
static int probe_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	return 0;
}

/* The device that an address leads to, counted, or NULL */
static struct rds_dev *find_dev(const struct rds_dev_laddr *la)
{
	struct rds_dev *dev = NULL;
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;

	id = rdma_create_id(la->net, probe_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return NULL;
	rds_dev_sockaddr(&ss, &la->addr, la->scope, 0);
	if (!rdma_bind_addr(id, (struct sockaddr *)&ss))
		dev = rds_dev_get(id->device);
	rdma_destroy_id(id);
	if (dev && !READ_ONCE(dev->all_nets) && !net_eq(la->net, &init_net)) {
		rds_dev_put(dev);
		dev = NULL;
	}
	return dev;
}

bool rds_dev_addr_use(struct rds_dev_addr *e, unsigned long used)
{
	bool more = used & ~e->used;

	lockdep_assert_held(&rds_dev_scan_lock);
	spin_lock_bh(&addrs_lock);
	e->used = used;
	spin_unlock_bh(&addrs_lock);
	if (!more) {
		rds_dev_addr_listen_end(e, true);
		return true;
	}
	if (e->dev)
		rds_dev_domains_kick(e->dev);
	e->lacking = true;
	return rds_dev_addr_listen(e);
}

static void end_id(struct rds_dev_id *id, void *arg)
{
	rds_dev_id_addr_gone(id, arg);
}

void rds_dev_addr_lose_dev(struct rds_dev_addr *e, bool dev_gone)
{
	struct rds_dev *dev = e->dev;

	lockdep_assert_held(&rds_dev_scan_lock);
	if (!dev)
		return;
	spin_lock_bh(&addrs_lock);
	e->dev = NULL;
	list_del(&e->dev_node);
	spin_unlock_bh(&addrs_lock);
	rds_dev_addr_listen_end(e, false);
	if (!dev_gone)
		rds_dev_each_id(dev, end_id, &e->la);
	rds_dev_put(dev);
}

/* Takes over the reference to @dev. */
static void addr_get_dev(struct rds_dev_addr *e, struct rds_dev *dev)
{
	spin_lock_bh(&addrs_lock);
	e->dev = dev;
	list_add_tail(&e->dev_node, &dev->addrs);
	spin_unlock_bh(&addrs_lock);
	e->lacking = true;
	rds_dev_domains_kick(dev);
}

bool rds_dev_addr_probe(struct rds_dev_addr *e)
{
	struct rds_dev *dev;

	lockdep_assert_held(&rds_dev_scan_lock);
	e->probe = false;
	dev = find_dev(&e->la);
	if (dev && dev == e->dev) {
		rds_dev_put(dev);
	} else {
		rds_dev_addr_lose_dev(e, false);
		if (dev)
			addr_get_dev(e, dev);
	}
	return rds_dev_addr_listen(e);
}

static unsigned int nr_same(const struct rds_dev_laddr *la)
{
	struct rhlist_head *list, *pos;
	struct rds_dev_addr *e;
	unsigned int n = 0;

	rcu_read_lock();
	list = rhltable_lookup(&addrs, la, addrs_params);
	rhl_for_each_entry_rcu(e, pos, list, hash)
		n++;
	rcu_read_unlock();
	return n;
}

struct rds_dev_addr *rds_dev_addr_add(const struct rds_dev_laddr *la,
				      unsigned long used)
{
	struct rds_dev_addr *e;
	int err;

	lockdep_assert_held(&rds_dev_scan_lock);
	if (nr_same(la) >= SAME_MAX)
		return ERR_PTR(-ENOSPC);
	e = kzalloc_obj(*e);
	if (!e)
		return ERR_PTR(-ENOMEM);
	e->la = *la;
	e->probe = true;
	e->no_gid = true;
	INIT_LIST_HEAD(&e->listeners);
	e->used = used;
	err = rhltable_insert(&addrs, &e->hash, addrs_params);
	if (!err)
		return e;
	kfree(e);
	return ERR_PTR(err);
}

void rds_dev_addr_drop(struct rds_dev_addr *e, bool dev_gone)
{
	rds_dev_addr_lose_dev(e, dev_gone);
	list_del(&e->net_node);
	rhltable_remove(&addrs, &e->hash, addrs_params);
	kfree_rcu(e, rcu);
}

int rds_dev_addrs_init(void)
{
	return rhltable_init(&addrs, &addrs_params);
}

/* Called when no namespace is left. */
void rds_dev_addrs_exit(void)
{
	WARN_ON_ONCE(atomic_read(&addrs.ht.nelems));
	rhltable_destroy(&addrs);
}
