// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Registration of transports: checks, and the cache for their paths. */
#include <linux/module.h>
#include <linux/slab.h>

#include "xprt/registry.h"
#include <net/rds/transport.h>

/* Bytes of the core's part of a path, see rds_transport_path_size() */
static size_t path_size;

/*
 * Caches for paths, by type; NULL if no transport of the type is registered, or
 * about to be
 */
static struct kmem_cache *path_caches[RDS_TRANS_SLOTS];

static bool memop_is_complete(const struct rds_memop_vtable *memop)
{
	return !memop || (memop->mr_reg && memop->mr_dereg &&
			  memop->mr_flush && memop->op_check);
}

static bool transport_is_complete(const struct rds_transport *t)
{
	return t->name && strlen(t->name) < 16 && t->type >= 0 &&
	       t->type < RDS_TRANS_SLOTS && t->addr_local && t->path_connect &&
	       t->path_attach && t->path_close && t->refuse && t->xmit &&
	       (!t->nr_stats || (t->stats && t->stat_names)) &&
	       memop_is_complete(t->memop);
}

/*
 * Make a cache for paths, with room for the transport's private part.  Whose
 * message needs a path is charged for it.  NULL without memory.
 */
static struct kmem_cache *path_cache_create(const struct rds_transport *trans)
{
	char name[32];

	snprintf(name, sizeof(name), "rds_path_%s", trans->name);
	return kmem_cache_create(name, path_size + trans->path_priv_size,
				 ARCH_KMALLOC_MINALIGN, SLAB_ACCOUNT, NULL);
}

int __rds_transport_register(const struct rds_transport *trans,
			     unsigned int api, size_t size)
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
	cache = path_cache_create(trans);
	if (!cache)
		return -ENOMEM;
	/*
	 * Of two transports that register for a type, the second finds the
	 * cache of the first.
	 */
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

void rds_transport_path_size(size_t size)
{
	path_size = size;
}

struct kmem_cache *rds_transport_path_cache(const struct rds_transport *trans)
{
	return path_caches[trans->type];
}
