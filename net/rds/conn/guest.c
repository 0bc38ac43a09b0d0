// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections that peers have made; conn/guest.h has the rules. */
#include <linux/bits.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "conn/conn.h"
#include "conn/guest.h"
#include "conn/idle.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "conn/reach.h"
#include "netns.h"

/* Share of one network, and what there may be more for a moment */
#define GUEST_SHARE	4
#define GUEST_SLACK	8
/* A guest that was used in this time may owe the peer an acknowledgement. */
#define GUEST_SETTLED	max(1, HZ / 4)
/* More than any time for which one is idle */
#define GUEST_PREFERRED	BIT_ULL(40)
/* Guests that are looked at to find one that can end */
#define GUEST_TRIES	8

/**
 * struct rds_guest_group - guests from one network
 * @rcu: for freeing
 * @node: in rds_guests.groups
 * @network: address of the network
 * @nr: number of @guests
 * @leaving: number of those that make room
 * @guests: the longest idle first
 */
struct rds_guest_group {
	struct rcu_head		rcu;
	struct rhash_head	node;
	struct in6_addr		network;
	unsigned int		nr;
	unsigned int		leaving;
	struct list_head	guests;
};

/**
 * struct rds_guests - guests of a namespace
 * @lock: see guest.h
 * @nr: number of @all
 * @leaving: number of those that make room
 * @all: the longest idle first
 * @groups: by network
 * @rest: guests for whose group the table had no memory
 */
struct rds_guests {
	spinlock_t		lock;
	unsigned int		nr;
	unsigned int		leaving;
	struct list_head	all;
	struct rhashtable	groups;
	struct rds_guest_group	rest;
};

static const struct rhashtable_params group_params = {
	.key_len		= sizeof(struct in6_addr),
	.key_offset		= offsetof(struct rds_guest_group, network),
	.head_offset		= offsetof(struct rds_guest_group, node),
	.automatic_shrinking	= true,
};

static void guest_network(struct in6_addr *network, const struct in6_addr *addr)
{
	int bits = ipv6_addr_v4mapped(addr) ? 96 + 24 : 64;

	ipv6_addr_prefix(network, addr, bits);
}

static struct rds_guest_group *group_find(struct rds_guests *guests,
					  const struct in6_addr *network)
{
	lockdep_assert_held(&guests->lock);
	return rhashtable_lookup_fast(&guests->groups, network, group_params);
}

static void guest_touch(struct rds_guests *guests, struct rds_guest *guest)
{
	lockdep_assert_held(&guests->lock);
	list_move_tail(&guest->node, &guests->all);
	list_move_tail(&guest->of_group, &guest->group->guests);
}

/*
 * How well can the connection end?  0: it cannot, or does so already; else the
 * time for which it is idle, and more unless something may wait for its peer.
 */
static u64 guest_rank(struct rds_conn *conn)
{
	unsigned long idle = rds_idle_time(conn);
	bool waits = conn->paths[0]->pub.dials &&
		     rds_conn_peer_kind(conn) == RDS_PEER_OLD;

	if (READ_ONCE(conn->guest.evicted) || rds_reach_is_used(conn) ||
	    idle < GUEST_SETTLED)
		return 0;
	return idle + (waits ? 0 : GUEST_PREFERRED);
}

/* The guest of a group, or of all if that is NULL, that is idle for longest */
static struct rds_conn *guest_oldest(struct rds_guests *guests,
				     struct rds_guest_group *group)
{
	struct rds_guest *guest;

	lockdep_assert_held(&guests->lock);
	if (group)
		guest = list_first_entry(&group->guests, struct rds_guest,
					 of_group);
	else
		guest = list_first_entry(&guests->all, struct rds_guest, node);
	guest_touch(guests, guest);
	return container_of(guest, struct rds_conn, guest);
}

/* Note that a guest has to make room, or has come back all the same. */
static void guest_mark(struct rds_guests *guests, struct rds_guest *guest,
		       bool evicted)
{
	lockdep_assert_held(&guests->lock);
	if (guest->evicted == evicted)
		return;
	if (guest->group) {
		guest->group->leaving += evicted ? 1 : -1;
		guests->leaving += evicted ? 1 : -1;
	}
	WRITE_ONCE(guest->since, jiffies);
	/* Whoever sees the flag sees the time. */
	smp_store_release(&guest->evicted, evicted);
}

/*
 * Choose a guest to end, with a reference, and mark it; NULL if there is none
 * to be seen.
 */
static struct rds_conn *guests_choose(struct rds_guests *guests,
				      struct rds_guest_group *group)
{
	struct rds_conn *conn, *best = NULL;
	u64 rank, highest = 0;
	unsigned int i;

	lockdep_assert_held(&guests->lock);
	for (i = 0; i < GUEST_TRIES; i++) {
		conn = guest_oldest(guests, group);
		rank = guest_rank(conn);
		if (rank <= highest)
			continue;
		highest = rank;
		best = conn;
	}
	/* What is listed is in the table, which has a reference. */
	if (best) {
		guest_mark(guests, &best->guest, true);
		kref_get(&best->ref);
	}
	return best;
}

static unsigned int guests_share(unsigned int max)
{
	return max(1U, max / GUEST_SHARE);
}

/* Returns whether there is room, or will be when @victim has ended. */
static bool guests_have_room(struct rds_guests *guests, unsigned int max,
			     const struct in6_addr *network,
			     struct rds_conn **victim)
{
	unsigned int share = guests_share(max);
	struct rds_guest_group *group;
	bool full, at_share, room = true;

	spin_lock_bh(&guests->lock);
	group = group_find(guests, network);
	full = guests->nr >= max;
	at_share = group && group->nr >= share;
	if (full || at_share) {
		*victim = guests_choose(guests, at_share ? group : NULL);
		room = *victim && guests->nr < max + max / GUEST_SLACK &&
		       (!group || group->nr < share + share / GUEST_SLACK + 1);
	}
	spin_unlock_bh(&guests->lock);
	return room;
}

/* End a guest that guests_choose() has chosen. */
static void guest_evict(struct rds_conn *conn)
{
	rds_drop(conn->rn->net, RDS_DROP_PEER_LIMIT);
	rds_conn_lose_paths(conn, RDS_DROP_IDLE);
	rds_cpath_control(conn->paths[0], 0);
	rds_idle_hasten(conn);
	rds_conn_put(conn);
}

void rds_guest_back(struct rds_conn *conn)
{
	struct rds_guests *guests = conn->rn->guests;

	if (likely(!READ_ONCE(conn->guest.evicted)))
		return;
	spin_lock_bh(&guests->lock);
	guest_mark(guests, &conn->guest, false);
	spin_unlock_bh(&guests->lock);
	rds_idle_hasten(conn);
}

void rds_guest_make_room(struct rds_conn *conn)
{
	unsigned int max = READ_ONCE(conn->rn->sysctl.peer_connections);
	struct rds_guests *guests = conn->rn->guests;
	struct rds_conn *victim = NULL;
	struct rds_guest_group *group;
	bool full, at_share;

	spin_lock_bh(&guests->lock);
	group = conn->guest.group;
	full = group && guests->nr - guests->leaving > max;
	at_share = group && group != &guests->rest &&
		   group->nr - group->leaving > guests_share(max);
	if (full || at_share)
		victim = guests_choose(guests, at_share ? group : NULL);
	spin_unlock_bh(&guests->lock);
	if (victim)
		guest_evict(victim);
}

struct rds_guest_group *rds_guests_admit(struct rds_net *rn,
					 const struct in6_addr *faddr)
{
	unsigned int max = READ_ONCE(rn->sysctl.peer_connections);
	struct rds_guest_group *fresh;
	struct rds_conn *victim = NULL;
	bool room;

	fresh = kzalloc_obj(*fresh, GFP_KERNEL);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&fresh->guests);
	guest_network(&fresh->network, faddr);
	room = guests_have_room(rn->guests, max, &fresh->network, &victim);
	if (victim)
		guest_evict(victim);
	if (room)
		return fresh;
	rds_drop(rn->net, RDS_DROP_PEER_LIMIT);
	kfree(fresh);
	return ERR_PTR(-EUSERS);
}

/* The group of a network, which may be @fresh, that is NULL then */
static struct rds_guest_group *group_get(struct rds_guests *guests,
					 struct rds_guest_group **fresh)
{
	struct rds_guest_group *group = group_find(guests, &(*fresh)->network);

	if (group)
		return group;
	if (rhashtable_insert_fast(&guests->groups, &(*fresh)->node,
				   group_params))
		return &guests->rest;
	swap(group, *fresh);
	return group;
}

void rds_guest_begin(struct rds_conn *conn, struct rds_guest_group **fresh)
{
	struct rds_guests *guests = conn->rn->guests;
	struct rds_guest_group *group;

	spin_lock_bh(&guests->lock);
	group = group_get(guests, fresh);
	conn->guest.group = group;
	group->nr++;
	guests->nr++;
	list_add_tail(&conn->guest.node, &guests->all);
	list_add_tail(&conn->guest.of_group, &group->guests);
	spin_unlock_bh(&guests->lock);
}

void rds_guest_used(struct rds_conn *conn)
{
	struct rds_guests *guests = conn->rn->guests;

	spin_lock_bh(&guests->lock);
	if (conn->guest.group)
		guest_touch(guests, &conn->guest);
	spin_unlock_bh(&guests->lock);
}

void rds_guest_end(struct rds_conn *conn)
{
	struct rds_guest_group *group = conn->guest.group;
	struct rds_guests *guests = conn->rn->guests;

	if (!group)
		return;
	spin_lock_bh(&guests->lock);
	list_del(&conn->guest.node);
	list_del(&conn->guest.of_group);
	if (conn->guest.evicted) {
		group->leaving--;
		guests->leaving--;
	}
	conn->guest.group = NULL;
	guests->nr--;
	if (--group->nr || group == &guests->rest)
		group = NULL;
	else
		rhashtable_remove_fast(&guests->groups, &group->node,
				       group_params);
	spin_unlock_bh(&guests->lock);
	kfree_rcu(group, rcu);
}

int rds_guests_net_init(struct rds_net *rn)
{
	struct rds_guests *guests = kzalloc_obj(*guests, GFP_KERNEL);
	int err;

	if (!guests)
		return -ENOMEM;
	spin_lock_init(&guests->lock);
	INIT_LIST_HEAD(&guests->all);
	INIT_LIST_HEAD(&guests->rest.guests);
	err = rhashtable_init(&guests->groups, &group_params);
	if (err) {
		kfree(guests);
		return err;
	}
	rn->guests = guests;
	return 0;
}

void rds_guests_net_exit(struct rds_net *rn)
{
	WARN_ON_ONCE(rn->guests->nr);
	rhashtable_destroy(&rn->guests->groups);
	kfree(rn->guests);
}
