// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Transports come and go: what is checked and made before one is entered in the registry. */
#include <linux/module.h>
#include <linux/slab.h>

#include "conn/path.h"
#include "registry.h"

/* Set while the transport is registered or about to be */
static struct kmem_cache *path_caches[RDS_TRANS_SLOTS];

static bool memop_is_complete(const struct rds_memop_ops *ops)
{
	return !ops || (ops->mr_map && ops->mr_unmap && ops->mr_flush && ops->op_check);
}

static bool transport_is_complete(const struct rds_transport *t)
{
	return t->name && strlen(t->name) < 16 && t->type >= 0 && t->type < RDS_TRANS_SLOTS &&
	       t->addr_local && t->path_init && t->path_free && t->path_connect &&
	       t->path_attach && t->path_close && t->conn_drop && t->xmit &&
	       (!t->nr_stats || (t->stats && t->stat_names)) && memop_is_complete(t->memop);
}

int __rds_transport_register(const struct rds_transport *trans, unsigned int api, size_t size)
{
	struct kmem_cache *cache;
	int ret;

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
	/* of two that want the slot, one finds the cache of the other and is refused */
	if (cmpxchg(&path_caches[trans->type], NULL, cache)) {
		ret = -EEXIST;
		goto err_cache;
	}
	ret = rds_registry_add(trans);
	if (!ret)
		return 0;
	WRITE_ONCE(path_caches[trans->type], NULL);
err_cache:
	kmem_cache_destroy(cache);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(__rds_transport_register, RDS_NS);

void rds_transport_unregister(const struct rds_transport *trans)
{
	struct kmem_cache *cache = path_caches[trans->type];

	rds_registry_remove(trans);
	kmem_cache_destroy(cache);
	WRITE_ONCE(path_caches[trans->type], NULL);
}
EXPORT_SYMBOL_NS_GPL(rds_transport_unregister, RDS_NS);

struct kmem_cache *rds_cpath_cache(const struct rds_transport *trans)
{
	return path_caches[trans->type];
}
