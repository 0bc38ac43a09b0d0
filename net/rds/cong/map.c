// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Congestion maps; cong/map.h has the rules. */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "cong/map.h"
#include "netns.h"
#include "proto/congmap.h"

#define CONG_HASH_BITS	8

/* Monitors that are told at once, with bottom halves off */
#define MONITORS_AT_ONCE	64

/* Groups of ports, as RDS_CONG_MONITOR has them: all */
#define ALL_GROUPS	(~0ULL)

/**
 * struct rds_cong_table - maps of one namespace
 * @lock: guards the links of maps, @monitors and @untold
 * @generation: number of updates
 * @nr_monitors: length of @monitors; read without the lock, to skip an empty
 *	list
 * @monitors: sockets with RDS_CONG_MONITOR
 * @untold: groups of updates that @tell tells the monitors of
 * @tell: work for many monitors: any user can have them, and a peer may send
 *	maps all the time
 * @wait: pollers whose send failed with ENOBUFS
 * @seed: makes hash values that peers and users cannot choose
 * @maps: by address, RCU
 */
struct rds_cong_table {
	spinlock_t		lock;
	atomic_t		generation;
	unsigned int		nr_monitors;
	struct list_head	monitors;
	u64			untold;
	struct work_struct	tell;
	wait_queue_head_t	wait;
	u32			seed;
	DECLARE_HASHTABLE(maps, CONG_HASH_BITS);
};

static struct kmem_cache *cong_map_cache;
static struct workqueue_struct *cong_wq;

static u32 cong_hash(const struct rds_cong_table *table,
		     const struct in6_addr *addr)
{
	return jhash2((const u32 *)addr->s6_addr32, 4, table->seed);
}

static struct rds_cong_map *cong_find(struct rds_cong_table *table,
				      const struct in6_addr *addr, bool heard)
{
	struct rds_cong_map *map;

	hash_for_each_possible_rcu(table->maps, map, node,
				   cong_hash(table, addr)) {
		if (map->heard == heard && ipv6_addr_equal(&map->addr, addr) &&
		    refcount_inc_not_zero(&map->refs))
			return map;
	}
	return NULL;
}

static struct rds_cong_map *cong_alloc(struct rds_net *rn,
				       const struct in6_addr *addr, bool heard,
				       gfp_t gfp)
{
	struct rds_cong_map *map = kmem_cache_zalloc(cong_map_cache, gfp);

	if (!map)
		return NULL;
	map->addr = *addr;
	map->heard = heard;
	map->rn = rn;
	refcount_set(&map->refs, 1);
	spin_lock_init(&map->lock);
	INIT_LIST_HEAD(&map->subscribers);
	init_waitqueue_head(&map->wait);
	return map;
}

struct rds_cong_map *rds_cong_get(struct rds_net *rn,
				  const struct in6_addr *addr, bool heard,
				  gfp_t gfp)
{
	struct rds_cong_table *table = rn->cong;
	struct rds_cong_map *map, *fresh;

	rcu_read_lock();
	map = cong_find(table, addr, heard);
	rcu_read_unlock();
	if (map)
		return map;
	fresh = cong_alloc(rn, addr, heard, gfp);
	if (!fresh)
		return NULL;
	spin_lock_bh(&table->lock);
	map = cong_find(table, addr, heard);
	if (!map) {
		hash_add_rcu(table->maps, &fresh->node, cong_hash(table, addr));
		atomic_inc(&rn->nr_maps);
		map = fresh;
		fresh = NULL;
	}
	spin_unlock_bh(&table->lock);
	if (fresh)
		kmem_cache_free(cong_map_cache, fresh);
	return map;
}

static void cong_free_rcu(struct rcu_head *rcu)
{
	struct rds_cong_map *map = container_of(rcu, struct rds_cong_map, rcu);

	kfree(rcu_dereference_protected(map->bits, true));
	kmem_cache_free(cong_map_cache, map);
}

void rds_cong_put(struct rds_cong_map *map)
{
	struct rds_net *rn;

	if (!map || !refcount_dec_and_test(&map->refs))
		return;
	rn = map->rn;
	spin_lock_bh(&rn->cong->lock);
	hash_del_rcu(&map->node);
	spin_unlock_bh(&rn->cong->lock);
	atomic_dec(&rn->nr_maps);
	call_rcu(&map->rcu, cong_free_rcu);
}

/* The bitmap, allocated for the first congested port. */
static unsigned long *cong_bits(struct rds_cong_map *map)
{
	unsigned long *bits = rcu_dereference_protected(map->bits, true);

	lockdep_assert_held(&map->lock);
	if (bits)
		return bits;
	bits = kzalloc(RDS_CONG_MAP_BYTES,
		       GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (bits)
		rcu_assign_pointer(map->bits, bits);
	return bits;
}

/* Tell the first monitors of the list, which become the last ones. */
static void cong_tell_some(struct rds_cong_table *table, unsigned int nr,
			   u64 groups)
{
	struct rds_cong_monitor *mon;

	lockdep_assert_held(&table->lock);
	while (nr-- && !list_empty(&table->monitors)) {
		mon = list_first_entry(&table->monitors,
				       struct rds_cong_monitor, node);
		mon->fn(mon, groups);
		list_move_tail(&mon->node, &table->monitors);
	}
}

/*
 * Those that are not told yet stay ahead of those that are, and of those that
 * come meanwhile.
 */
static void cong_tell_work(struct work_struct *work)
{
	struct rds_cong_table *table = container_of(work, struct rds_cong_table,
						    tell);
	unsigned int left, some;
	u64 groups;

	spin_lock_bh(&table->lock);
	groups = table->untold;
	table->untold = 0;
	for (left = table->nr_monitors; left; left -= some) {
		some = min(left, MONITORS_AT_ONCE);
		cong_tell_some(table, some, groups);
		spin_unlock_bh(&table->lock);
		cond_resched();
		spin_lock_bh(&table->lock);
	}
	spin_unlock_bh(&table->lock);
}

static void cong_tell_monitors(struct rds_cong_table *table, u64 groups)
{
	if (!READ_ONCE(table->nr_monitors))
		return;
	spin_lock_bh(&table->lock);
	if (table->nr_monitors <= MONITORS_AT_ONCE) {
		cong_tell_some(table, table->nr_monitors, groups);
	} else {
		table->untold |= groups;
		queue_work(cong_wq, &table->tell);
	}
	spin_unlock_bh(&table->lock);
}

/* Wake all that wait for a change of the map in these groups of ports. */
static void cong_updated(struct rds_cong_map *map, u64 groups)
{
	struct rds_cong_table *table = map->rn->cong;

	/*
	 * The bits are written before wq_has_sleeper(), whose barrier pairs
	 * with the one of a sleeper between its entry on the wait queue and its
	 * test of the bit.
	 */
	atomic_inc(&table->generation);
	if (wq_has_sleeper(&map->wait))
		wake_up_all(&map->wait);
	if (wq_has_sleeper(&table->wait))
		wake_up_all(&table->wait);
	cong_tell_monitors(table, groups);
}

/* Write one bit.  Returns false without memory. */
static bool cong_flip(struct rds_cong_map *map, u16 port, bool on,
		      bool *flipped)
{
	unsigned long *bits;

	lockdep_assert_held(&map->lock);
	bits = on ? cong_bits(map) : rcu_dereference_protected(map->bits, true);
	if (!bits)
		return !on;
	if (on) {
		map->groups |= BIT_ULL(port % 64);
		*flipped = !test_and_set_bit_le(port, bits);
	} else {
		*flipped = test_and_clear_bit_le(port, bits);
	}
	return true;
}

bool rds_cong_set(struct rds_cong_map *map, u16 port, bool on)
{
	struct rds_cong_subscriber *sub;
	bool done, flipped = false;

	spin_lock_bh(&map->lock);
	done = cong_flip(map, port, on, &flipped);
	if (flipped) {
		list_for_each_entry(sub, &map->subscribers, node)
			sub->fn(sub, port, on);
	}
	spin_unlock_bh(&map->lock);
	if (flipped && READ_ONCE(map->local_senders))
		cong_updated(map, ALL_GROUPS);
	return done;
}

/*
 * The groups in which a port becomes free with @wire, which has ports of
 * @groups.  Mostly one port changes, and the two maps need not be compared.
 */
static u64 cong_cleared(const struct rds_cong_map *map,
			const unsigned long *bits, const u8 *wire, u64 groups)
{
	lockdep_assert_held(&map->lock);
	if (!(map->groups & groups))
		return map->groups;
	return rds_congmap_cleared_groups((const u8 *)bits, wire);
}

/* No port was congested, so that none becomes free.  False without memory. */
static bool cong_fill(struct rds_cong_map *map, const u8 *wire)
{
	unsigned long *bits = rcu_dereference_protected(map->bits, true);

	lockdep_assert_held(&map->lock);
	if (!bits && !rds_congmap_groups(wire))
		return true;
	bits = cong_bits(map);
	if (bits)
		map->groups = rds_congmap_copy((u8 *)bits, wire);
	return bits;
}

/*
 * Replace all bits by those of @wire, and set @cleared to the groups in which a
 * port became free.  Returns false without memory.
 */
static bool cong_copy(struct rds_cong_map *map, const u8 *wire, u64 *cleared)
{
	unsigned long *bits = rcu_dereference_protected(map->bits, true);
	u64 groups;

	lockdep_assert_held(&map->lock);
	*cleared = 0;
	if (!map->groups)
		return cong_fill(map, wire);
	groups = rds_congmap_groups(wire);
	*cleared = cong_cleared(map, bits, wire, groups);
	if (groups)
		memcpy(bits, wire, RDS_CONG_MAP_BYTES);
	else
		memset(bits, 0, RDS_CONG_MAP_BYTES);
	map->groups = groups;
	return true;
}

bool rds_cong_receive(struct rds_cong_map *map, const u8 *wire)
{
	u64 cleared = 0;
	bool done;

	spin_lock_bh(&map->lock);
	done = map->mirrors || cong_copy(map, wire, &cleared);
	spin_unlock_bh(&map->lock);
	rds_stats_inc(map->rn, cong_update_received);
	/* A peer may send any number of maps that free no port. */
	if (cleared)
		cong_updated(map, cleared);
	return done;
}

/* Clear all bits. */
static void cong_clear(struct rds_cong_map *map)
{
	lockdep_assert_held(&map->lock);
	map->groups = 0;
	if (rcu_access_pointer(map->bits))
		memset(rcu_dereference_protected(map->bits, true), 0,
		       RDS_CONG_MAP_BYTES);
}

/* A bitmap that nobody tests any more after a grace period */
struct cong_spent {
	struct rcu_head	rcu;
	unsigned long	*bits;
};

static void cong_spent_rcu(struct rcu_head *rcu)
{
	struct cong_spent *spent = container_of(rcu, struct cong_spent, rcu);

	kfree(spent->bits);
	kfree(spent);
}

/*
 * Clear all bits, and give their memory back: peers that are gone choose how
 * much it is.  Without memory for that it stays.
 */
static void cong_drop(struct rds_cong_map *map)
{
	struct cong_spent *spent = NULL;

	cong_clear(map);
	if (rcu_access_pointer(map->bits))
		spent = kmalloc(sizeof(*spent), GFP_ATOMIC | __GFP_NOWARN);
	if (!spent)
		return;
	spent->bits = rcu_replace_pointer(map->bits, NULL,
					  lockdep_is_held(&map->lock));
	call_rcu(&spent->rcu, cong_spent_rcu);
}

void rds_cong_source_add(struct rds_cong_map *map)
{
	spin_lock_bh(&map->lock);
	map->sources++;
	spin_unlock_bh(&map->lock);
}

void rds_cong_source_del(struct rds_cong_map *map)
{
	bool last;

	spin_lock_bh(&map->lock);
	last = !--map->sources && !map->mirrors;
	if (last)
		cong_drop(map);
	spin_unlock_bh(&map->lock);
	if (last)
		cong_updated(map, ALL_GROUPS);
}

/* Copy a changed bit of a mirrored map, under the lock of that map. */
static void cong_mirror_fn(struct rds_cong_subscriber *sub, u16 port, bool on)
{
	struct rds_cong_mirror *mirror =
		container_of(sub, struct rds_cong_mirror, sub);
	struct rds_cong_map *to = mirror->to;
	bool flipped = false;

	lockdep_assert_held(&mirror->from->lock);
	spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
	if (!cong_flip(to, port, on, &flipped))
		rds_drop(to->rn->net, RDS_DROP_NO_MEMORY);
	spin_unlock(&to->lock);
	/* A mirror of another connection may have copied the bit before. */
	if (flipped)
		cong_updated(to, ALL_GROUPS);
}

void rds_cong_mirror_init(struct rds_cong_mirror *mirror,
			  struct rds_cong_map *from, struct rds_cong_map *to)
{
	INIT_LIST_HEAD(&mirror->sub.node);
	mirror->sub.fn = cong_mirror_fn;
	mirror->from = from;
	mirror->to = to;
}

static void cong_mirror_start(struct rds_cong_mirror *mirror)
{
	struct rds_cong_map *to = mirror->to;
	const unsigned long *bits =
		rcu_dereference_protected(mirror->from->bits, true);
	u64 cleared;

	lockdep_assert_held(&mirror->from->lock);
	spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
	to->mirrors++;
	if (!bits)
		cong_clear(to);
	else if (!cong_copy(to, (const u8 *)bits, &cleared))
		rds_drop(to->rn->net, RDS_DROP_NO_MEMORY);
	spin_unlock(&to->lock);
	list_add_tail(&mirror->sub.node, &mirror->from->subscribers);
	cong_updated(to, ALL_GROUPS);
}

static void cong_mirror_stop(struct rds_cong_mirror *mirror)
{
	lockdep_assert_held(&mirror->from->lock);
	list_del_init(&mirror->sub.node);
	spin_lock_nested(&mirror->to->lock, SINGLE_DEPTH_NESTING);
	if (!--mirror->to->mirrors && mirror->to->sources)
		cong_clear(mirror->to);
	else if (!mirror->to->mirrors)
		cong_drop(mirror->to);
	spin_unlock(&mirror->to->lock);
	cong_updated(mirror->to, ALL_GROUPS);
}

void rds_cong_mirror_set(struct rds_cong_mirror *mirror, bool on)
{
	spin_lock_bh(&mirror->from->lock);
	if (on && list_empty(&mirror->sub.node))
		cong_mirror_start(mirror);
	else if (!on && !list_empty(&mirror->sub.node))
		cong_mirror_stop(mirror);
	spin_unlock_bh(&mirror->from->lock);
}

bool rds_cong_is_clear(struct rds_cong_map *map)
{
	bool clear;

	spin_lock_bh(&map->lock);
	clear = !map->groups;
	spin_unlock_bh(&map->lock);
	return clear;
}

void rds_cong_snapshot(const struct rds_cong_map *map, u8 *wire)
{
	const unsigned long *bits = rcu_dereference_protected(map->bits, true);

	if (bits)
		memcpy(wire, bits, RDS_CONG_MAP_BYTES);
	else
		memset(wire, 0, RDS_CONG_MAP_BYTES);
}

int rds_cong_sleep(struct rds_cong_map *map, u16 port, long *timeo)
{
	long left;

	left = wait_event_interruptible_timeout(map->wait,
						!rds_cong_test(map, port),
						*timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	return left ? 0 : -ETIMEDOUT;
}

void rds_cong_subscribe(struct rds_cong_map *map,
			struct rds_cong_subscriber *sub)
{
	spin_lock_bh(&map->lock);
	list_add_tail(&sub->node, &map->subscribers);
	spin_unlock_bh(&map->lock);
}

void rds_cong_unsubscribe(struct rds_cong_map *map,
			  struct rds_cong_subscriber *sub)
{
	spin_lock_bh(&map->lock);
	list_del(&sub->node);
	spin_unlock_bh(&map->lock);
}

void rds_cong_monitor_add(struct rds_net *rn, struct rds_cong_monitor *mon)
{
	spin_lock_bh(&rn->cong->lock);
	list_add_tail(&mon->node, &rn->cong->monitors);
	WRITE_ONCE(rn->cong->nr_monitors, rn->cong->nr_monitors + 1);
	spin_unlock_bh(&rn->cong->lock);
}

void rds_cong_monitor_del(struct rds_net *rn, struct rds_cong_monitor *mon)
{
	spin_lock_bh(&rn->cong->lock);
	list_del(&mon->node);
	WRITE_ONCE(rn->cong->nr_monitors, rn->cong->nr_monitors - 1);
	spin_unlock_bh(&rn->cong->lock);
}

u32 rds_cong_generation(const struct rds_net *rn)
{
	return atomic_read(&rn->cong->generation);
}

wait_queue_head_t *rds_cong_waitq(struct rds_net *rn)
{
	return &rn->cong->wait;
}

int rds_cong_net_init(struct rds_net *rn)
{
	struct rds_cong_table *table = kzalloc_obj(struct rds_cong_table);

	if (!table)
		return -ENOMEM;
	spin_lock_init(&table->lock);
	INIT_LIST_HEAD(&table->monitors);
	INIT_WORK(&table->tell, cong_tell_work);
	init_waitqueue_head(&table->wait);
	hash_init(table->maps);
	table->seed = get_random_u32();
	rn->cong = table;
	return 0;
}

void rds_cong_net_exit(struct rds_net *rn)
{
	WARN_ON_ONCE(atomic_read(&rn->nr_maps));
	cancel_work_sync(&rn->cong->tell);
	kfree(rn->cong);
}

int __init rds_cong_init(void)
{
	cong_map_cache = KMEM_CACHE(rds_cong_map, SLAB_ACCOUNT);
	if (!cong_map_cache)
		return -ENOMEM;
	cong_wq = alloc_workqueue("rds_cong", WQ_UNBOUND, 0);
	if (cong_wq)
		return 0;
	kmem_cache_destroy(cong_map_cache);
	return -ENOMEM;
}

void rds_cong_exit(void)
{
	destroy_workqueue(cong_wq);
	/* Wait for maps that are freed after a grace period. */
	rcu_barrier();
	kmem_cache_destroy(cong_map_cache);
}
