// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sockets of a namespace: all of them for dumps, and the bound ones by
 * address.
 *
 * Lookups are RCU.  Insertion, removal and walks take the lock of the table, in
 * process context only.
 */
#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/rds/walk.h>

#include "netns.h"
#include "sock/state.h"
#include "sock/table.h"

/* Ports tried under one hold of the lock */
#define BIND_STRIDE	256

/* Ports 0 and 1 belong to the kernel. */
#define BIND_FIRST_PORT	2
#define BIND_NR_PORTS	(0x10000 - BIND_FIRST_PORT)

/**
 * struct rds_bind_table - sockets of one namespace
 * @lock: guards adding and removing, and @socks
 * @socks: all sockets
 * @bound: bound sockets, by address, RCU
 * @keys: random multipliers of bind_hash()
 */
struct rds_bind_table {
	spinlock_t		lock;
	struct rds_walk_list	socks;
	struct rhashtable	bound;
	u64			keys[5];
};

/* What a lookup compares */
struct bind_key {
	const struct in6_addr	*addr;
	__be16			port;
	int			scope;
	u32			hash;
};

static u32 bind_key_hash(const void *data, u32 len, u32 seed)
{
	return jhash_1word(((const struct bind_key *)data)->hash, seed);
}

/*
 * The hash value is a field, as the port is stored after the socket has its
 * place in the table.
 */
static u32 bind_sock_hash(const void *data, u32 len, u32 seed)
{
	return jhash_1word(((const struct rds_sock *)data)->bind_hash, seed);
}

static bool bind_is_at(const struct rds_sock *rs, const struct in6_addr *addr,
		       __be16 port, int scope)
{
	return READ_ONCE(rs->bound_port) == port && rs->bound_scope == scope &&
	       ipv6_addr_equal(&rs->bound_addr, addr);
}

static int bind_differs(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct bind_key *key = arg->key;

	return !bind_is_at(obj, key->addr, key->port, key->scope);
}

static const struct rhashtable_params bind_params = {
	.head_offset		= offsetof(struct rds_sock, bind_node),
	.hashfn			= bind_key_hash,
	.obj_hashfn		= bind_sock_hash,
	.obj_cmpfn		= bind_differs,
	.automatic_shrinking	= true,
};

/*
 * Multilinear hashing is universal (Carter and Wegman): of addresses that are
 * chosen by one who does not know the multipliers no two are more likely to
 * collide than random ones.  The table's own seed, mixed in by jhash_1word(),
 * breaks up regular sets of them, and another one when a list gets long.
 */
static u32 bind_hash(const struct rds_bind_table *table,
		     const struct in6_addr *addr, __be16 port)
{
	const u64 *k = table->keys;

	return (k[0] * (__force u32)addr->s6_addr32[0] +
		k[1] * (__force u32)addr->s6_addr32[1] +
		k[2] * (__force u32)addr->s6_addr32[2] +
		k[3] * (__force u32)addr->s6_addr32[3] +
		k[4] * (__force u16)port) >> 32;
}

/**
 * rds_bind_lookup - find the socket that is bound to an address
 * @rn: namespace
 * @addr: local address
 * @port: RDS port, wire order
 * @scope: interface index for link-local addresses, else 0
 *
 * Context: within an RCU read section.
 * Return: the socket, without a reference, or NULL.
 */
struct rds_sock *rds_bind_lookup(struct rds_net *rn,
				 const struct in6_addr *addr, __be16 port,
				 int scope)
{
	struct bind_key key = {
		.addr = addr, .port = port, .scope = scope,
		.hash = bind_hash(rn->bind, addr, port),
	};

	return rhashtable_lookup(&rn->bind->bound, &key, bind_params);
}

/**
 * rds_bind_lookup_near - find the socket that is bound to an address, which is
 * mostly the last one that was found
 * @rn: namespace
 * @last: socket that was found in the present RCU read section, or NULL
 * @addr: local address
 * @port: RDS port, wire order
 * @scope: interface index for link-local addresses, else 0
 *
 * A socket that closes is dead before another one can bind in its place.
 *
 * Context: within an RCU read section.
 * Return: the socket, without a reference, or NULL.
 */
struct rds_sock *rds_bind_lookup_near(struct rds_net *rn,
				      struct rds_sock *last,
				      const struct in6_addr *addr, __be16 port,
				      int scope)
{
	if (last && bind_is_at(last, addr, port, scope) &&
	    !sock_flag(&last->sk, SOCK_DEAD))
		return last;
	return rds_bind_lookup(rn, addr, port, scope);
}

static int bind_try(struct rds_sock *rs, const struct in6_addr *addr,
		    __be16 port, int scope)
{
	struct rds_bind_table *table = rs->rn->bind;
	bool taken;

	lockdep_assert_held(&table->lock);
	rcu_read_lock();
	taken = rds_bind_lookup(rs->rn, addr, port, scope);
	rcu_read_unlock();
	if (taken)
		return -EADDRINUSE;
	rs->bound_addr = *addr;
	rs->bound_scope = scope;
	rs->bind_hash = bind_hash(table, addr, port);
	if (rhashtable_insert_fast(&table->bound, &rs->bind_node,
				   bind_params)) {
		/* connect() reads the scope also of an unbound socket. */
		rs->bound_scope = 0;
		return -ENOMEM;
	}
	/*
	 * From here on the socket is bound.  Pairs with the acquire in
	 * rds_sock_port().
	 */
	smp_store_release(&rs->bound_port, port);
	return 0;
}

/*
 * Try ports upwards from a random one.  The lock is dropped after each
 * BIND_STRIDE ports.
 */
static int bind_any(struct rds_sock *rs, const struct in6_addr *addr, int scope)
{
	u32 start = reciprocal_scale(get_random_u32(), BIND_NR_PORTS);
	struct rds_bind_table *table = rs->rn->bind;
	int ret = -EADDRINUSE;
	u32 i = 0;

	while (ret == -EADDRINUSE && i < BIND_NR_PORTS) {
		u32 end = min_t(u32, i + BIND_STRIDE, BIND_NR_PORTS);

		spin_lock(&table->lock);
		for (; ret == -EADDRINUSE && i < end; i++) {
			u32 port = BIND_FIRST_PORT +
				   (start + i) % BIND_NR_PORTS;

			ret = bind_try(rs, addr, cpu_to_be16(port), scope);
		}
		spin_unlock(&table->lock);
		cond_resched();
	}
	return ret;
}

/**
 * rds_bind_insert - bind a socket
 * @rs: unbound socket, ready to receive: its first message may be queued before
 *	the return
 * @addr: address of this host
 * @port: RDS port, wire order; 0 to choose a free one
 * @scope: interface index for link-local addresses, else 0
 *
 * Context: process, socket locked.
 * Return: 0, -EADDRINUSE or -ENOMEM.
 */
int rds_bind_insert(struct rds_sock *rs, const struct in6_addr *addr,
		    __be16 port, int scope)
{
	struct rds_bind_table *table = rs->rn->bind;
	int ret;

	if (!port)
		return bind_any(rs, addr, scope);
	spin_lock(&table->lock);
	ret = bind_try(rs, addr, port, scope);
	spin_unlock(&table->lock);
	return ret;
}

/**
 * rds_bind_remove - take a socket out of the bind table
 * @rs: socket, bound or not
 *
 * A context that found the socket before may use it until its RCU read section
 * ends.
 */
void rds_bind_remove(struct rds_sock *rs)
{
	struct rds_bind_table *table = rs->rn->bind;

	if (!rs->bound_port)
		return;
	spin_lock(&table->lock);
	rhashtable_remove_fast(&table->bound, &rs->bind_node, bind_params);
	spin_unlock(&table->lock);
}

/**
 * rds_sock_list_add - show a socket in dumps
 * @rs: new socket
 */
void rds_sock_list_add(struct rds_sock *rs)
{
	struct rds_bind_table *table = rs->rn->bind;

	spin_lock(&table->lock);
	rds_walk_add(&table->socks, &rs->sock_node);
	spin_unlock(&table->lock);
}

/**
 * rds_sock_list_del - hide a socket from dumps
 * @rs: socket that rds_sock_list_add() added
 */
void rds_sock_list_del(struct rds_sock *rs)
{
	struct rds_bind_table *table = rs->rn->bind;

	spin_lock(&table->lock);
	rds_walk_del(&table->socks, &rs->sock_node);
	spin_unlock(&table->lock);
}

/* The next socket of a walk, with a reference, or NULL at the end */
static struct rds_sock *sock_visit_next(struct rds_bind_table *table,
					struct rds_walk *walk)
{
	struct rds_sock *rs = NULL;
	struct list_head *entry;

	spin_lock(&table->lock);
	entry = rds_walk_next(walk, &table->socks);
	if (entry) {
		rs = list_entry(entry, struct rds_sock, sock_node);
		sock_hold(&rs->sk);
	} else {
		rds_walk_end(walk);
	}
	spin_unlock(&table->lock);
	return rs;
}

/**
 * rds_sock_visit - call a function for each socket of a namespace, in the order
 * of creation
 * @rn: namespace
 * @fn: function, called with a reference to the socket, which may close
 *	meanwhile
 * @arg: argument of @fn
 *
 * Context: process, may sleep.
 */
void rds_sock_visit(struct rds_net *rn,
		    void (*fn)(struct rds_sock *rs, void *arg), void *arg)
{
	struct rds_bind_table *table = rn->bind;
	struct rds_walk walk;
	struct rds_sock *rs;

	spin_lock(&table->lock);
	rds_walk_begin(&walk, &table->socks);
	spin_unlock(&table->lock);
	while ((rs = sock_visit_next(table, &walk))) {
		fn(rs, arg);
		sock_put(&rs->sk);
		cond_resched();
	}
}

/**
 * rds_bind_net_init - allocate the table of a namespace
 * @rn: namespace
 *
 * Return: 0 or -ENOMEM.
 */
int rds_bind_net_init(struct rds_net *rn)
{
	struct rds_bind_table *table = kzalloc(sizeof(*table), GFP_KERNEL);

	if (!table)
		return -ENOMEM;
	if (rhashtable_init(&table->bound, &bind_params)) {
		kfree(table);
		return -ENOMEM;
	}
	get_random_bytes(table->keys, sizeof(table->keys));
	spin_lock_init(&table->lock);
	rds_walk_list_init(&table->socks);
	rn->bind = table;
	return 0;
}

/**
 * rds_bind_net_exit - free the table of a namespace
 * @rn: namespace without sockets, each of which would hold it
 */
void rds_bind_net_exit(struct rds_net *rn)
{
	if (!rn->bind)
		return;
	WARN_ON_ONCE(!list_empty(&rn->bind->socks.entries));
	rhashtable_destroy(&rn->bind->bound);
	kfree(rn->bind);
	rn->bind = NULL;
}
