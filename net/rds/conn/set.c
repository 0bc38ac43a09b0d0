// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The connections of a namespace; conn/set.h has the rules. */
#include <linux/jhash.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>

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
	rds_walk_list_init(&set->all);
	return rhashtable_init(&set->by_addr, &set_params);
}

void rds_conn_set_exit(struct rds_conn_set *set)
{
	WARN_ON_ONCE(!list_empty(&set->all.entries));
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
	rds_walk_add(&set->all, &conn->of_all);
	return 0;
}

void rds_conn_set_del(struct rds_conn_set *set, struct rds_conn *conn)
{
	rhashtable_remove_fast(&set->by_addr, &conn->node, set_params);
	rds_walk_del(&set->all, &conn->of_all);
}

/* The next connection of a walk, with a reference, or NULL at the end */
static struct rds_conn *set_visit_next(struct rds_conn_set *set,
				       spinlock_t *lock, struct rds_walk *walk)
{
	struct rds_conn *conn = NULL;
	struct list_head *entry;

	spin_lock_bh(lock);
	entry = rds_walk_next(walk, &set->all);
	if (entry) {
		conn = list_entry(entry, struct rds_conn, of_all);
		kref_get(&conn->ref);
	} else {
		rds_walk_end(walk);
	}
	spin_unlock_bh(lock);
	return conn;
}

void rds_conn_set_visit(struct rds_conn_set *set, spinlock_t *lock,
			void (*fn)(struct rds_conn *conn, void *arg),
			void *arg)
{
	struct rds_conn *conn;
	struct rds_walk walk;

	spin_lock_bh(lock);
	rds_walk_begin(&walk, &set->all);
	spin_unlock_bh(lock);
	while ((conn = set_visit_next(set, lock, &walk))) {
		fn(conn, arg);
		rds_conn_put(conn);
		cond_resched();
	}
}
