/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion maps: which ports of an address have more queued than they want.  An address of a
 * namespace may have two of them: what its own sockets say, which in-memory traffic looks at as
 * it is, and what came over the wire.  The second is as old as the wire is long, and must not
 * undo what a socket has said since.  Between two addresses of one namespace no map travels: as
 * soon as a connection knows, what is heard mirrors what the sockets say.
 *
 * Lifetime: counted.  A bound socket holds the map of its address, a connection those of both
 * its ends.  The table holds no reference; the last put unlinks, and the memory goes after a
 * grace period.
 *
 * Locks, outermost first: rds_cong_map.lock of what sockets say > that of what is heard >
 * rds_cong_table.lock.  The table's guards its links and the list of monitors; a map's guards
 * its list of subscribers.  Monitor callbacks run under the first and may take a socket's own
 * spin locks; subscriber callbacks run under the second and may take the lock of a transmit
 * queue.
 * Bits are tested without a lock.  Whoever sleeps on a bit registers first and tests then;
 * whoever clears one wakes after clearing.
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
 * @node: in the table, RCU
 * @addr: whose ports
 * @heard: what came over the wire; otherwise what our sockets say
 * @rn: namespace
 * @refs: see above
 * @bits: little-endian bitmap, NULL while no port was ever congested; never freed before the map
 * @lock: guards @subscribers, @mirrors and the setting of @bits
 * @mirrors: if @heard, mirrors of what our own sockets say; while there are any, that is the
 *	truth, and what comes over the wire is not
 * @subscribers: who wants to know of changes: connections with this local address, to tell
 *	peers, and mirrors
 * @wait: senders that sleep until a port of this address is free
 * @local_senders: connections of this host that send to this address in memory.  While there
 *	are any, a local flip is at once an update received.
 * @rcu: for freeing
 */
struct rds_cong_map {
	struct hlist_node	node;
	struct in6_addr		addr;
	bool			heard;
	struct rds_net		*rn;
	refcount_t		refs;
	unsigned long __rcu	*bits;
	spinlock_t		lock;
	unsigned int		mirrors;
	struct list_head	subscribers;
	wait_queue_head_t	wait;
	atomic_t		local_senders;
	struct rcu_head		rcu;
};

/* Somebody who is told when a local bit flips.  fn: softirq, under the map's lock. */
struct rds_cong_subscriber {
	struct list_head	node;
	void (*fn)(struct rds_cong_subscriber *sub, u16 port, bool on);
};

/**
 * struct rds_cong_mirror - what is heard of an address is what our own sockets say
 * @sub: in the list of @from, if it is on
 * @from: what our sockets say
 * @to: what is heard, of the same address
 *
 * Lifetime: its owner's, who holds references to both maps and stops it before it lets go.
 */
struct rds_cong_mirror {
	struct rds_cong_subscriber	sub;
	struct rds_cong_map		*from;
	struct rds_cong_map		*to;
};

/* Somebody who is told which groups of ports became free.  fn: softirq, table lock held. */
struct rds_cong_monitor {
	struct list_head	node;
	void (*fn)(struct rds_cong_monitor *mon, u64 groups);
};

/* Find or make a map of an address; the reference is the caller's.  NULL without memory. */
struct rds_cong_map *rds_cong_get(struct rds_net *rn, const struct in6_addr *addr, bool heard,
				  gfp_t gfp);
void rds_cong_put(struct rds_cong_map *map);

/* Is the port congested?  @port in host order. */
static inline bool rds_cong_test(const struct rds_cong_map *map, u16 port)
{
	const unsigned long *bits = rcu_dereference_protected(map->bits, true);

	return bits && test_bit_le(port, bits);
}

/**
 * rds_cong_set - a local port became congested, or free
 * @map: map of the local address
 * @port: host order
 * @on: which
 *
 * Tells subscribers, local sleepers, pollers and monitors if the bit changed.
 * Context: any but hard interrupts.
 * Return: false without memory (the port stays uncongested in the map).
 */
bool rds_cong_set(struct rds_cong_map *map, u16 port, bool on);

/**
 * rds_cong_receive - a peer sent its map
 * @map: map of the peer's address, as heard
 * @bits: RDS_CONG_MAP_BYTES as they came
 *
 * Changes nothing while the map is a mirror.
 *
 * Context: softirq or process.
 * Return: false without memory.
 */
bool rds_cong_receive(struct rds_cong_map *map, const u8 *bits);

/* Copy the present state in wire layout. */
void rds_cong_snapshot(const struct rds_cong_map *map, u8 *bits);

/**
 * rds_cong_sleep - wait until a port is free
 * @map: map of the peer's address
 * @port: host order
 *
 * Context: process.
 * Return: 0, or -ERESTARTSYS for a signal.
 */
int rds_cong_sleep(struct rds_cong_map *map, u16 port);

void rds_cong_subscribe(struct rds_cong_map *map, struct rds_cong_subscriber *sub);
void rds_cong_unsubscribe(struct rds_cong_map *map, struct rds_cong_subscriber *sub);

/* Set up a mirror that is off. */
void rds_cong_mirror_init(struct rds_cong_mirror *mirror, struct rds_cong_map *from,
			  struct rds_cong_map *to);

/**
 * rds_cong_mirror_set - start or stop a mirror
 * @mirror: which
 * @on: whether it is on from here on; nothing changes if it is already
 *
 * When the last mirror stops no port is congested until the peer says so: nobody else would wake
 * a sender.
 * Context: any but hard interrupts.
 */
void rds_cong_mirror_set(struct rds_cong_mirror *mirror, bool on);

void rds_cong_monitor_add(struct rds_net *rn, struct rds_cong_monitor *mon);
void rds_cong_monitor_del(struct rds_net *rn, struct rds_cong_monitor *mon);

/* Number of updates so far in this namespace, and where to sleep until the next. */
u32 rds_cong_generation(const struct rds_net *rn);
wait_queue_head_t *rds_cong_waitq(struct rds_net *rn);

int rds_cong_net_init(struct rds_net *rn);
void rds_cong_net_exit(struct rds_net *rn);
int rds_cong_init(void);
void rds_cong_exit(void);

#endif
