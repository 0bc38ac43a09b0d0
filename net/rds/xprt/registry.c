// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Registered transports, and the choice of one for an address or a type. */
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <net/ipv6.h>

#include "access.h"
#include "xprt/registry.h"
#include <linux/rds.h>
#include <net/rds/transport.h>

/* Guards writes to the slots; readers use RCU. */
static DEFINE_MUTEX(registry_mutex);
static const struct rds_transport __rcu *transports[RDS_TRANS_SLOTS];

/* Modules to load for a type, with the names of in-tree's modules */
static const char *const transport_modules[RDS_TRANS_SLOTS] = {
	[RDS_TRANS_IB]	= "rds_rdma",
	[RDS_TRANS_TCP]	= "rds_tcp",
};

int rds_registry_add(const struct rds_transport *trans)
{
	int ret = 0;

	mutex_lock(&registry_mutex);
	if (rcu_access_pointer(transports[trans->type]))
		ret = -EEXIST;
	else
		rcu_assign_pointer(transports[trans->type], trans);
	mutex_unlock(&registry_mutex);
	return ret;
}

void rds_registry_remove(const struct rds_transport *trans)
{
	mutex_lock(&registry_mutex);
	RCU_INIT_POINTER(transports[trans->type], NULL);
	mutex_unlock(&registry_mutex);
	synchronize_rcu();
}

/*
 * Get the transport in a slot, with a reference to its module.  NULL if there
 * is none.
 */
static const struct rds_transport *transport_get(int type)
{
	const struct rds_transport *trans;

	rcu_read_lock();
	trans = rcu_dereference(transports[type]);
	if (trans && !try_module_get(trans->owner))
		trans = NULL;
	rcu_read_unlock();
	return trans;
}

void rds_transport_put(const struct rds_transport *trans)
{
	if (trans)
		module_put(trans->owner);
}

const struct rds_transport *rds_transport_by_type(struct rds_net *rn, int type)
{
	const struct rds_transport *trans;

	if (type < 0 || type >= RDS_TRANS_SLOTS)
		return NULL;
	trans = transport_get(type);
	if (trans || !transport_modules[type])
		return trans;
	if (!rds_access_may_load(rn, transport_modules[type]))
		return NULL;
	request_module("%s", transport_modules[type]);
	return transport_get(type);
}

bool rds_addr_is_loop(const struct in6_addr *addr)
{
	return ipv6_addr_loopback(addr) ||
	       (ipv6_addr_v4mapped(addr) &&
		ipv4_is_loopback(addr->s6_addr32[3]));
}

const struct rds_transport *
rds_transport_for_addr(struct net *net, const struct in6_addr *addr, u32 scope)
{
	const struct rds_transport *trans;
	int type;

	if (rds_addr_is_loop(addr))
		return transport_get(RDS_TRANS_LOOP);
	for (type = 0; type < RDS_TRANS_LOOP; type++) {
		trans = transport_get(type);
		if (trans && trans->addr_local(net, addr, scope))
			return trans;
		rds_transport_put(trans);
	}
	return NULL;
}

const struct rds_transport *rds_transport_loop(void)
{
	/*
	 * Registered before the first struct rds_net exists, removed after the
	 * last is gone.
	 */
	return rcu_dereference_protected(transports[RDS_TRANS_LOOP], true);
}

void rds_transport_visit(void (*fn)(const struct rds_transport *trans,
				    void *arg),
			 void *arg)
{
	const struct rds_transport *trans;
	int type;

	for (type = 0; type < RDS_TRANS_SLOTS; type++) {
		trans = transport_get(type);
		if (trans && trans->nr_stats)
			fn(trans, arg);
		rds_transport_put(trans);
	}
}
