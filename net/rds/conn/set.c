// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The connections of a namespace; conn/set.h has the rules. */
#include <linux/jhash.h>
#include <linux/rculist.h>
#include <linux/rhashtable.h>

#include "conn/conn.h"
#include "conn/set.h"

/* What a lookup compares */
struct set_key {
	const struct rds_transport	*trans;
	const struct rds_path_addr	*addr;
};

static u32 set_addr_hash(const struct rds_path_addr *addr, u32 seed)
{
	seed = jhash_2words(addr->ifindex, addr->tos, seed);
	seed = jhash2((const u32 *)addr->laddr.s6_addr32, 4, seed);
	return jhash2((const u32 *)addr->faddr.s6_addr32, 4, seed);
}

static u32 set_key_hash(const void *data, u32 len, u32 seed)
{
	return set_addr_hash(((const struct set_key *)data)->addr, seed);
}

static u32 set_conn_hash(const void *data, u32 len, u32 seed)
{
	return set_addr_hash(&((const struct rds_conn *)data)->addr, seed);
}

static int set_differs(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct set_key *key = arg->key;
	const struct rds_conn *conn = obj;

	return conn->trans != key->trans || !rds_conn_matches(conn, key->addr);
}

static const struct rhashtable_params set_params = {
	.head_offset		= offsetof(struct rds_conn, node),
	.hashfn			= set_key_hash,
	.obj_hashfn		= set_conn_hash,
	.obj_cmpfn		= set_differs,
	.automatic_shrinking	= true,
};

int rds_conn_set_init(struct rds_conn_set *set)
{
	INIT_LIST_HEAD(&set->all);
	return rhashtable_init(&set->by_addr, &set_params);
}

void rds_conn_set_exit(struct rds_conn_set *set)
{
	WARN_ON_ONCE(!list_empty(&set->all));
	rhashtable_destroy(&set->by_addr);
}

struct rds_conn *rds_conn_set_find(struct rds_conn_set *set,
				   const struct rds_transport *trans,
				   const struct rds_path_addr *addr)
{
	const struct set_key key = { trans, addr };
	struct rds_conn *conn;

	rcu_read_lock();
	conn = rhashtable_lookup(&set->by_addr, &key, set_params);
	if (conn && !kref_get_unless_zero(&conn->ref))
		conn = NULL;
	rcu_read_unlock();
	return conn;
}

int rds_conn_set_add(struct rds_conn_set *set, struct rds_conn *conn)
{
	/* An insertion fails without memory, or while the table is rebuilt. */
	if (rhashtable_insert_fast(&set->by_addr, &conn->node, set_params))
		return -ENOMEM;
	kref_get(&conn->ref);
	list_add_tail_rcu(&conn->of_all, &set->all);
	return 0;
}

void rds_conn_set_del(struct rds_conn_set *set, struct rds_conn *conn)
{
	rhashtable_remove_fast(&set->by_addr, &conn->node, set_params);
	list_del_rcu(&conn->of_all);
}
