/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guests: connections over TCP that exist as a peer has opened one, and no
 * program of this host had sent anything to that peer.
 *
 * A namespace has at most net.rds.peer_connections_max of them, and a quarter
 * of that from one network, which is an IPv4 prefix of 24 bits or an IPv6
 * prefix of 64.  Above that a newcomer ends the guest that is idle for longest
 * of some that are not used much: one of its own network if that has its share,
 * so that no network pushes all others out.  A guest with messages, or of which
 * sockets want reports, stays, and if possible one of an old peer that this end
 * dials: what such a peer sends at that moment waits for its next message.  A
 * guest that only greeted, and is no old peer, ends at once.  The end of others
 * takes a moment, and for that time there may be an eighth more.  A newcomer
 * beyond that, or that finds nobody to end among some, is refused.  Both count
 * as `peer_limit`.  A guest that was used a moment ago stays, as this host may
 * owe it an acknowledgement.  If a guest ends before it has been told what has
 * come, its numbers are kept for some seconds.  If it comes up again in that
 * time it has its place again, and another one ends within a second.
 *
 * Lifetime: struct rds_guest is part of the connection, and is listed from the
 * time when the connection is made until it leaves the table.  A group is made
 * for its first guest and freed with its last one; without memory a guest is in
 * one for all such.
 *
 * Locks: rds_guests.lock guards all fields; others read rds_guest.evicted and
 * rds_guest.since at any time.  It is taken inside rds_conn_table.lock and
 * rds_cpath.lock, and outside rds_txq.lock.
 */
#ifndef _RDS_CONN_GUEST_H
#define _RDS_CONN_GUEST_H

#include <linux/list.h>
#include <linux/types.h>

struct in6_addr;
struct rds_conn;
struct rds_guest_group;
struct rds_guests;
struct rds_net;

/**
 * struct rds_guest - place of a connection among the guests
 * @node: in the list of all guests, the longest idle first
 * @of_group: in the list of @group, in the same order
 * @group: guests from the same network; NULL: the connection is no guest
 * @evicted: another guest has taken the place: the connection does not come up
 *	again without a message
 * @since: when @evicted changed last, in jiffies
 */
struct rds_guest {
	struct list_head	node;
	struct list_head	of_group;
	struct rds_guest_group	*group;
	bool			evicted;
	unsigned long		since;
};

/**
 * rds_guests_admit - make room for a connection that a peer opens
 * @rn: namespace
 * @faddr: address of the peer
 *
 * Context: process, may sleep.
 * Return: a group for rds_guest_begin(), which owns it then; ERR_PTR: -ENOMEM,
 * or -EUSERS if there is no room.
 */
struct rds_guest_group *rds_guests_admit(struct rds_net *rn,
					 const struct in6_addr *faddr);

/*
 * The connection, which was just made, is a guest.  Under rds_conn_table.lock.
 * @fresh is NULL afterwards if its group is used, else for the caller to free
 * without the lock.
 */
void rds_guest_begin(struct rds_conn *conn, struct rds_guest_group **fresh);

/* The connection was used.  Any context. */
void rds_guest_used(struct rds_conn *conn);

/*
 * A path of the connection comes up, which may have been chosen to make room.
 * Any context; the lock of the path may be held.
 */
void rds_guest_back(struct rds_conn *conn);

/*
 * Have a guest end if there are too many that do not end already, in all or of
 * the network of this one.  May sleep.
 */
void rds_guest_make_room(struct rds_conn *conn);

/* The connection leaves the table.  Under rds_conn_table.lock. */
void rds_guest_end(struct rds_conn *conn);

/* 0 or -ENOMEM */
int rds_guests_net_init(struct rds_net *rn);
void rds_guests_net_exit(struct rds_net *rn);

#endif
