// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Transports: registration and choice. */
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "conn/path.h"
#include "registry.h"
#include <linux/rds.h>
#include <net/rds/transport.h>

/* Guards the slots against other writers; readers use RCU. */
static DEFINE_MUTEX(registry_mutex);
static const struct rds_transport __rcu *transports[RDS_TRANS_SLOTS];

/* Changed only while the slot of the transport is empty, used only while it is not */
static struct kmem_cache *path_caches[RDS_TRANS_SLOTS];

/* Modules that may bring a transport, as in-tree names them */
static const char *const transport_modules[RDS_TRANS_SLOTS] = {
	[RDS_TRANS_IB]	= "rds_rdma",
	[RDS_TRANS_TCP]	= "rds_tcp",
};

static bool transport_is_complete(const struct rds_transport *t)
{
	return t->name && strlen(t->name) < 16 && t->type >= 0 && t->type < RDS_TRANS_SLOTS &&
	       t->addr_local && t->path_init && t->path_free && t->path_connect &&
	       t->path_attach && t->path_close && t->conn_drop && t->xmit &&
	       (!t->nr_stats || (t->stats && t->stat_names));
}

int __rds_transport_register(const struct rds_transport *trans, unsigned int api, size_t size)
{
	struct kmem_cache *cache;
	int ret = 0;

	if (api != RDS_TRANSPORT_API || size != sizeof(*trans)) {
		pr_warn("rds: transport module built for interface %u of %zu bytes, this is %u of %zu\n",
			api, size, RDS_TRANSPORT_API, sizeof(*trans));
		return -EPROTONOSUPPORT;
	}
	if (!transport_is_complete(trans))
		return -EINVAL;
	cache = rds_cpath_cache_create(trans);
	if (!cache)
		return -ENOMEM;
	mutex_lock(&registry_mutex);
	if (rcu_access_pointer(transports[trans->type])) {
		ret = -EEXIST;
	} else {
		path_caches[trans->type] = cache;
		rcu_assign_pointer(transports[trans->type], trans);
	}
	mutex_unlock(&registry_mutex);
	if (ret)
		kmem_cache_destroy(cache);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(__rds_transport_register, RDS_NS);

void rds_transport_unregister(const struct rds_transport *trans)
{
	mutex_lock(&registry_mutex);
	RCU_INIT_POINTER(transports[trans->type], NULL);
	mutex_unlock(&registry_mutex);
	synchronize_rcu();
	kmem_cache_destroy(path_caches[trans->type]);
	path_caches[trans->type] = NULL;
}
EXPORT_SYMBOL_NS_GPL(rds_transport_unregister, RDS_NS);

struct kmem_cache *rds_transport_path_cache(const struct rds_transport *trans)
{
	return path_caches[trans->type];
}

/* The transport in a slot, with a reference to its module. */
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

const struct rds_transport *rds_transport_by_type(int type)
{
	const struct rds_transport *trans;

	if (type < 0 || type >= RDS_TRANS_SLOTS)
		return NULL;
	trans = transport_get(type);
	if (trans || !transport_modules[type])
		return trans;
	request_module("%s", transport_modules[type]);
	return transport_get(type);
}

bool rds_addr_is_loop(const struct in6_addr *addr)
{
	return ipv6_addr_loopback(addr) ||
	       (ipv6_addr_v4mapped(addr) && ipv4_is_loopback(addr->s6_addr32[3]));
}

const struct rds_transport *rds_transport_for_addr(struct net *net, const struct in6_addr *addr,
						   u32 scope)
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
	/* registered before the first socket, gone after the last */
	return rcu_dereference_protected(transports[RDS_TRANS_LOOP], true);
}

void rds_transport_visit(void (*fn)(const struct rds_transport *trans, void *arg), void *arg)
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
