// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sockets of a namespace: all of them for dumps, and the bound ones by
 * address.
 *
 * Lookups are RCU.  Insertion and removal take the lock of the table, in
 * process context only.
 */
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "netns.h"
#include "sock/state.h"

#define BIND_BITS	10

/* Ports tried under one hold of the lock */
#define BIND_STRIDE	256

/* Ports 0 and 1 belong to the kernel. */
#define BIND_FIRST_PORT	2
#define BIND_NR_PORTS	(0x10000 - BIND_FIRST_PORT)

struct rds_bind_table {
	spinlock_t		lock;
	struct list_head	socks;
	struct hlist_head	heads[1 << BIND_BITS];
};

static struct hlist_head *bind_head(struct rds_bind_table *table,
				    const struct in6_addr *addr, __be16 port)
{
	u32 key = (__force u32)(addr->s6_addr32[2] ^ addr->s6_addr32[3]);

	key ^= (__force u32)port << 7;
	return &table->heads[hash_32(key, BIND_BITS)];
}

/**
 * rds_bind_lookup - find the socket that is bound to an address
 * @rn: namespace
 * @addr: local address
 * @port: RDS port, wire order
 * @scope: interface index for link-local addresses, else 0
 *
 * Context: within an RCU read section, or with the table locked.
 * Return: the socket, without a reference, or NULL.
 */
struct rds_sock *rds_bind_lookup(struct rds_net *rn,
				 const struct in6_addr *addr, __be16 port,
				 int scope)
{
	struct rds_bind_table *table = rn->bind;
	struct rds_sock *rs;

	hlist_for_each_entry_rcu(rs, bind_head(table, addr, port), bind_node,
				 lockdep_is_held(&table->lock)) {
		if (READ_ONCE(rs->bound_port) == port &&
		    rs->bound_scope == scope &&
		    ipv6_addr_equal(&rs->bound_addr, addr))
			return rs;
	}
	return NULL;
}

static bool bind_try(struct rds_sock *rs, const struct in6_addr *addr,
		     __be16 port, int scope)
{
	struct rds_bind_table *table = rs->rn->bind;

	lockdep_assert_held(&table->lock);
	if (rds_bind_lookup(rs->rn, addr, port, scope))
		return false;
	rs->bound_addr = *addr;
	rs->bound_scope = scope;
	/*
	 * From here on the socket is bound.  Pairs with the acquire in
	 * rds_sock_port().
	 */
	smp_store_release(&rs->bound_port, port);
	hlist_add_head_rcu(&rs->bind_node, bind_head(table, addr, port));
	return true;
}

/*
 * Try ports upwards from a random one.  The lock is dropped after each
 * BIND_STRIDE ports.
 */
static int bind_any(struct rds_sock *rs, const struct in6_addr *addr, int scope)
{
	u32 start = reciprocal_scale(get_random_u32(), BIND_NR_PORTS);
	struct rds_bind_table *table = rs->rn->bind;
	bool done = false;
	u32 i = 0;

	while (!done && i < BIND_NR_PORTS) {
		u32 end = min_t(u32, i + BIND_STRIDE, BIND_NR_PORTS);

		spin_lock(&table->lock);
		for (; !done && i < end; i++) {
			u32 port = BIND_FIRST_PORT +
				   (start + i) % BIND_NR_PORTS;

			done = bind_try(rs, addr, cpu_to_be16(port), scope);
		}
		spin_unlock(&table->lock);
		cond_resched();
	}
	return done ? 0 : -EADDRINUSE;
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
 * Return: 0 or -EADDRINUSE.
 */
int rds_bind_insert(struct rds_sock *rs, const struct in6_addr *addr,
		    __be16 port, int scope)
{
	struct rds_bind_table *table = rs->rn->bind;
	bool done;

	if (!port)
		return bind_any(rs, addr, scope);
	spin_lock(&table->lock);
	done = bind_try(rs, addr, port, scope);
	spin_unlock(&table->lock);
	return done ? 0 : -EADDRINUSE;
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

	spin_lock(&table->lock);
	hlist_del_init_rcu(&rs->bind_node);
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
	list_add_tail_rcu(&rs->sock_node, &table->socks);
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
	list_del_rcu(&rs->sock_node);
	spin_unlock(&table->lock);
}

/**
 * rds_sock_visit - call a function for each socket of a namespace, in the order
 * of creation
 * @rn: namespace
 * @fn: function, called within an RCU read section
 * @arg: argument of @fn
 */
void rds_sock_visit(struct rds_net *rn,
		    void (*fn)(struct rds_sock *rs, void *arg), void *arg)
{
	struct rds_sock *rs;

	rcu_read_lock();
	list_for_each_entry_rcu(rs, &rn->bind->socks, sock_node)
		fn(rs, arg);
	rcu_read_unlock();
}

/**
 * rds_bind_net_init - allocate the table of a namespace
 * @rn: namespace
 *
 * Return: 0 or -ENOMEM.
 */
int rds_bind_net_init(struct rds_net *rn)
{
	struct rds_bind_table *table = kvzalloc(sizeof(*table), GFP_KERNEL);

	if (!table)
		return -ENOMEM;
	spin_lock_init(&table->lock);
	INIT_LIST_HEAD(&table->socks);
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
	WARN_ON_ONCE(!list_empty(&rn->bind->socks));
	kvfree(rn->bind);
	rn->bind = NULL;
}
