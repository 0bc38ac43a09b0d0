/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion maps: which ports of an address have more bytes queued than their
 * receive buffers allow.  An address may have two maps in a namespace.  The
 * local map is set by the sockets of this namespace, and loopback tests it
 * directly.  The heard map holds what a peer sent.  A heard map is delayed by
 * the network, so it must not undo a later change of a local map.  Between two
 * addresses of one namespace no map is sent: once a connection knows that its
 * peer is this namespace, the heard map mirrors the local one.
 *
 * Lifetime: counted.  A bound socket holds the map of its address, a connection
 * the maps of both its addresses.  The table holds no reference; the last put
 * unlinks a map, and the memory is freed after a grace period.
 *
 * Locks, outermost first: rds_cong_map.lock of a local map > that of a heard
 * map > rds_cong_table.lock.  The lock of the table guards its links and the
 * list of monitors; the lock of a map guards its list of subscribers.  Monitor
 * callbacks run under the lock of the table and may take a socket's spin locks;
 * subscriber callbacks run under the lock of a map and may take the lock of a
 * transmit queue.  Bits are tested without a lock, with preemption off.  A
 * sleeper is on the wait queue before it tests the bit, and a context that
 * clears a bit wakes the queue afterwards.
 */
#ifndef _RDS_CONG_MAP_H
#define _RDS_CONG_MAP_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <net/rds/wire.h>

struct rds_net;

/**
 * struct rds_cong_map - the ports of one address
 * @node: entry in the table, RCU
 * @addr: address of the ports
 * @heard: the map comes from peers; else sockets of this namespace set it
 * @rn: namespace, not counted
 * @refs: references, see Lifetime
 * @bits: little-endian bitmap; NULL until a port is congested, then kept until
 *	@sources is 0 or the map ends, and freed after a grace period
 * @lock: guards @subscribers, @mirrors, @sources, @groups, and writes to @bits
 * @groups: groups of ports in which a port may be congested; in the other
 *	groups none is
 * @mirrors: if @heard, number of mirrors of the local map; while it is not 0,
 *	maps from peers are ignored
 * @sources: if @heard, number of paths over which the peer sent its map and may
 *	change it; at 0 all bits go, as no peer is left that would clear them
 * @subscribers: called for each change: connections from this address, which
 *	send the map to their peers, and mirrors
 * @wait: senders that sleep until a port of this address is free
 * @local_senders: a connection over loopback led to this address; from then on
 *	a change by a socket wakes senders as a received map does
 * @rcu: frees the map after a grace period
 */
struct rds_cong_map {
	struct hlist_node	node;
	struct in6_addr		addr;
	bool			heard;
	struct rds_net		*rn;
	refcount_t		refs;
	unsigned long __rcu	*bits;
	spinlock_t		lock;
	u64			groups;
	unsigned int		mirrors;
	unsigned int		sources;
	struct list_head	subscribers;
	wait_queue_head_t	wait;
	bool			local_senders;
	struct rcu_head		rcu;
};

/* Called when a local bit changes.  fn: softirq, under the lock of the map. */
struct rds_cong_subscriber {
	struct list_head	node;
	void (*fn)(struct rds_cong_subscriber *sub, u16 port, bool on);
};

/**
 * struct rds_cong_mirror - copies the local map of an address to its heard map
 * @sub: subscription to @from, on its list while the mirror is on
 * @from: local map
 * @to: heard map of the same address
 *
 * Lifetime: part of its owner, which holds references to both maps and stops
 * the mirror before it drops them.
 */
struct rds_cong_mirror {
	struct rds_cong_subscriber	sub;
	struct rds_cong_map		*from;
	struct rds_cong_map		*to;
};

/*
 * Called with the groups of ports that became free.  fn: softirq, table lock
 * held.
 */
struct rds_cong_monitor {
	struct list_head	node;
	void (*fn)(struct rds_cong_monitor *mon, u64 groups);
};

/*
 * Find or make a map of an address; the caller gets a reference.  NULL without
 * memory.
 */
struct rds_cong_map *rds_cong_get(struct rds_net *rn,
				  const struct in6_addr *addr, bool heard,
				  gfp_t gfp);
void rds_cong_put(struct rds_cong_map *map);

/* Is the port congested?  @port in host order. */
static inline bool rds_cong_test(const struct rds_cong_map *map, u16 port)
{
	const unsigned long *bits;
	bool on;

	if (!rcu_access_pointer(map->bits))
		return false;
	/* Costs less than rcu_read_lock(), and call_rcu() waits for it, too. */
	rcu_read_lock_sched();
	bits = rcu_dereference_sched(map->bits);
	on = bits && test_bit_le(port, bits);
	rcu_read_unlock_sched();
	return on;
}

/**
 * rds_cong_set - set or clear the bit of a local port
 * @map: local map
 * @port: host order
 * @on: whether the port is congested
 *
 * If the bit changes, subscribers are called; while loopback sends to the
 * address, sleepers, pollers and monitors are woken, too.
 * Context: any but hard interrupts.
 * Return: false without memory: the bit stays clear.
 */
bool rds_cong_set(struct rds_cong_map *map, u16 port, bool on);

/**
 * rds_cong_receive - replace a heard map by one that the peer sent
 * @map: heard map of the peer's address
 * @bits: RDS_CONG_MAP_BYTES in wire layout
 *
 * Changes no bit while the map is a mirror.  Sleepers, pollers and monitors are
 * woken only if a port became free.
 *
 * Context: softirq or process.
 * Return: false without memory.
 */
bool rds_cong_receive(struct rds_cong_map *map, const u8 *bits);

/**
 * rds_cong_source_add - count a path over which the peer sends its map
 * @map: heard map of the peer's address
 *
 * Context: any but hard interrupts.
 */
void rds_cong_source_add(struct rds_cong_map *map);

/**
 * rds_cong_source_del - undo rds_cong_source_add()
 * @map: heard map of the peer's address
 *
 * With the last source all bits go, with their memory, and senders are woken,
 * as no peer is left to do it; not while the map is a mirror.
 * Context: any but hard interrupts.
 */
void rds_cong_source_del(struct rds_cong_map *map);

/* Is no port congested?  Any context but hard interrupts. */
bool rds_cong_is_clear(struct rds_cong_map *map);

/* Copy the present state in wire layout. */
void rds_cong_snapshot(const struct rds_cong_map *map, u8 *bits);

/**
 * rds_cong_sleep - wait until a port is free
 * @map: map of the peer's address
 * @port: host order
 * @timeo: longest wait in jiffies, not 0; on return the rest of it
 *
 * Context: process.
 * Return: 0, -ETIMEDOUT, or -ERESTARTSYS or -EINTR for a signal.
 */
int rds_cong_sleep(struct rds_cong_map *map, u16 port, long *timeo);

void rds_cong_subscribe(struct rds_cong_map *map,
			struct rds_cong_subscriber *sub);
void rds_cong_unsubscribe(struct rds_cong_map *map,
			  struct rds_cong_subscriber *sub);

/* Set up a mirror that is off. */
void rds_cong_mirror_init(struct rds_cong_mirror *mirror,
			  struct rds_cong_map *from, struct rds_cong_map *to);

/**
 * rds_cong_mirror_set - start or stop a mirror
 * @mirror: mirror
 * @on: whether to start; without effect if the mirror is in that state
 *
 * When the last mirror of a heard map stops, all its bits are cleared and
 * senders woken.
 * Context: any but hard interrupts.
 */
void rds_cong_mirror_set(struct rds_cong_mirror *mirror, bool on);

void rds_cong_monitor_add(struct rds_net *rn, struct rds_cong_monitor *mon);
void rds_cong_monitor_del(struct rds_net *rn, struct rds_cong_monitor *mon);

/*
 * Number of updates of maps in this namespace, and the wait queue for the next.
 */
u32 rds_cong_generation(const struct rds_net *rn);
wait_queue_head_t *rds_cong_waitq(struct rds_net *rn);

int rds_cong_net_init(struct rds_net *rn);
void rds_cong_net_exit(struct rds_net *rn);
int rds_cong_init(void);
void rds_cong_exit(void);

#endif
