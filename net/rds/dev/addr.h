/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of local addresses (addr.c), and what keeps it true (scan.c).
 *
 * The table has the addresses of the namespaces that devices serve, each with
 * the device that it leads to, or none.  An address is probed when it is new,
 * when its interface has changed, and when the GID table of a device says
 * something else; no change of one namespace makes addresses of another be
 * looked at.
 *
 * Ownership: an entry belongs to the namespace that has the address, from the
 * scan that finds it to the one that does not, or to the end of the namespace.
 * It has a reference to its device, and the listeners of services (service.c).
 *
 * Locks: rds_dev_scan_lock (mutex) serialises all changes.  addrs_lock
 * (addr.c, spin, bh) guards the look-ups against them: what is said to be
 * changed under both locks may be read under either.  queue_lock (scan.c, spin,
 * bh) guards what notifiers note; both are leaves.
 */
#ifndef _RDS_DEV_ADDR_H
#define _RDS_DEV_ADDR_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable-types.h>

#include "layer.h"

/**
 * struct rds_dev_addr - a local address in the table
 * @la: the address; its first two fields are the key of the table
 * @hash: entry in the table
 * @net_node: entry in addr_net.addrs
 * @dev_node: entry in rds_dev.addrs while @dev is set; changed under both
 *	locks
 * @dev: device that the address leads to, counted, or NULL; changed under both
 *	locks
 * @listeners: struct rds_dev_listener at the address
 * @lacking: a service may have no listener here, or one that is not open
 * @seen: number of the last scan that found the address
 * @gid_seen: number of the last walk over GIDs of @dev that found the address
 * @probe: the next scan has to find the device
 * @no_gid: the address may be so new that ib_core has no GID for it yet;
 *	look-ups read it without the lock
 * @used: users whose ids may hold the namespace of the address, a bit for each
 *	slot; changed under both locks
 * @rcu: frees the entry after look-ups in the table
 */
struct rds_dev_addr {
	struct rds_dev_laddr	la;
	struct rhlist_head	hash;
	struct list_head	net_node;
	struct list_head	dev_node;
	struct rds_dev		*dev;
	struct list_head	listeners;
	bool			lacking;
	unsigned int		seen;
	unsigned int		gid_seen;
	bool			probe;
	bool			no_gid;
	unsigned long		used;
	struct rcu_head		rcu;
};

/**
 * struct addr_net - the addresses of a namespace
 * @net: the namespace, not counted; NULL before its first scan
 * @node: entry in rds_dev_addr_nets
 * @addrs: addresses in the table, by rds_dev_addr.net_node
 * @used: users that have sockets there which use RDMA, a bit for each slot; all
 *	in the first namespace
 * @active: the namespace may be noted; from here on changed under queue_lock,
 *	but for the end of @busy
 * @dirty: the namespace has changed since its last scan, and is in nets_dirty
 * @busy: the namespace is being scanned
 * @queue: entry in nets_dirty or nets_retry, or empty
 * @ifindex: interface whose addresses have to be probed, 0 or ANY_INTERFACE
 */
struct addr_net {
	struct net		*net;
	struct list_head	node;
	struct list_head	addrs;
	unsigned long		used;

	bool			active;
	bool			dirty;
	bool			busy;
	struct list_head	queue;
	int			ifindex;
};

extern struct mutex rds_dev_scan_lock;

/* addr.c: all under rds_dev_scan_lock */

/* The entry of exactly this address, or NULL */
struct rds_dev_addr *rds_dev_addr_find(const struct rds_dev_laddr *la);

/*
 * Enter an address that leads to no device yet, to be probed.  -ENOSPC: too
 * many interfaces have it, and this one is left out; other errors: no memory.
 */
struct rds_dev_addr *rds_dev_addr_add(const struct rds_dev_laddr *la,
				      unsigned long used);

/*
 * Call @fn, which may sleep and removes no address, for all entries of an
 * address, whose number has a limit.
 */
void rds_dev_addr_each_at(struct net *net, const struct in6_addr *addr,
			  void (*fn)(struct rds_dev_addr *e, void *arg),
			  void *arg);

/*
 * Find the device that the address leads to now, and open its listeners.  If it
 * is another device than before, the listeners and the connections over the old
 * one end.  The caller has a reference to the namespace.  False if a listener
 * must be tried again.
 */
bool rds_dev_addr_probe(struct rds_dev_addr *e);

/*
 * Let ids of these users hold the namespace of the address, and end listeners
 * of others that do.  False: a listener must be tried again.
 */
bool rds_dev_addr_use(struct rds_dev_addr *e, unsigned long used);

/*
 * Take the device away from an address; if @dev_gone, the caller has its
 * connections ended.
 */
void rds_dev_addr_lose_dev(struct rds_dev_addr *e, bool dev_gone);

/* Remove an address, with @dev_gone as above. */
void rds_dev_addr_drop(struct rds_dev_addr *e, bool dev_gone);

int rds_dev_addrs_init(void);
void rds_dev_addrs_exit(void);

/* service.c: all under rds_dev_scan_lock */

/* Open the listeners that should be there and are not.  False: try again. */
bool rds_dev_addr_listen(struct rds_dev_addr *e);

/*
 * End all listeners at an address, or @unused_only those of services that do
 * not serve it any more.  On return no handler that uses them runs.
 */
void rds_dev_addr_listen_end(struct rds_dev_addr *e, bool unused_only);

/*
 * gids.c: call @probe for each address in the table that the GIDs of @dev, a
 * RoCE device that is held, do not agree with.  @stamp is the number of the
 * walk.  May sleep.
 */
void rds_dev_gids_compare(struct rds_dev *dev, unsigned int stamp,
			  void (*probe)(struct rds_dev_addr *e));

/*
 * netuse.c: call @fn, which may sleep and removes no address, for all addresses
 * of @net, or of all namespaces if that is NULL.
 */
void rds_dev_addr_each(const struct net *net,
		       void (*fn)(struct rds_dev_addr *e, void *arg),
		       void *arg);

/* scan.c */

extern struct list_head rds_dev_addr_nets;
struct addr_net *rds_dev_addr_net(const struct net *net);

/* Have the listeners of an address looked at again.  Any context. */
void rds_dev_addr_again(const struct rds_dev_addr *e);

/*
 * Bring the table up to date for one address, if it may be behind.  False if it
 * was not.  May sleep.
 */
bool rds_dev_scan_now(const struct rds_dev_laddr *la, bool no_gid);

#endif
