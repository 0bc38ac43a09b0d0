/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA devices: their properties, and the local addresses that lead to them.
 * What a user has of a device is in its domain there (dev_domain.h).
 *
 * Lifetime: a device is counted.  The list of devices, each local address and
 * each domain has a reference.  When the ib_device is removed
 * (ib_client.remove), rds_dev.gone is set under @lock.  Then no new object can
 * be had, all connections are told to end, and all domains end.  struct rds_dev
 * stays until the last reference is put; its @ib is NULL then.
 *
 * Locks: rds_dev.lock (spin, bh) guards @gone, @served and @all_nets, the lists
 * of connections and of domains, @held, @users and what dev_domain.h names.
 * dev/layer.h says which locks may be taken under it.
 */
#ifndef _NET_RDS_DEV_H
#define _NET_RDS_DEV_H

#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

struct net;
struct rds_dev_id;
struct rds_dev_user;

/**
 * struct rds_dev_props - properties of a device, filled in once; code asks
 * these and no names.  @atomics and @masked are cleared when the device refuses
 * what it has announced
 * @iwarp: RDMAP over TCP; a listener occupies a TCP port
 * @roce: some port speaks RoCE.  The ports of a device may differ (mlx4)
 * @infiniband: some port speaks InfiniBand
 * @rnr: a Send without a posted receive is retried; else it ends the connection
 * @atomics: the device has 8-byte atomic operations
 * @masked: the device has atomic operations with masks
 * @read_sink_mr: the memory a READ goes to needs a key with remote write access
 * @active_first: the accepting end must be silent until the first frame arrives
 * @write_early: a WRITE completes before the peer's memory has the data
 * @remote_inv: the device sends and receives Send with Invalidate
 * @gsi_dies: a packet of the CM that the network stack does not take ends the
 *	device's use (quirks.c)
 * @reset_first: a queue pair is reset before it is destroyed (quirks.c)
 * @soft: a software device, where no completion queue is shared (cq.c)
 * @dial_waits: rdma_connect() waits for TCP (quirks.c)
 * @max_sge: most SGEs of a Send or WRITE
 * @max_sge_rd: most SGEs of a READ
 * @recv_one: a receive has one SGE, for header and payload in one piece
 * @max_wr: most work requests of a queue
 * @max_cqe: most entries of a completion queue
 * @reg_depth: most requests to the registrar under way
 * @max_fr_pages: most pages of one key
 * @max_rd_atom: most READs and atomic operations that a peer may have under way
 *	to this host
 * @max_init_rd_atom: most READs and atomic operations that this host may have
 *	under way to a peer
 */
struct rds_dev_props {
	bool	iwarp;
	bool	roce;
	bool	infiniband;
	bool	rnr;
	bool	atomics;
	bool	masked;
	bool	read_sink_mr;
	bool	active_first;
	bool	write_early;
	bool	remote_inv;
	bool	gsi_dies;
	bool	reset_first;
	bool	soft;
	bool	dial_waits;
	bool	recv_one;
	u32	max_sge;
	u32	max_sge_rd;
	u32	max_wr;
	u32	max_cqe;
	u32	reg_depth;
	u32	max_fr_pages;
	u8	max_rd_atom;
	u8	max_init_rd_atom;
};

/**
 * struct rds_dev_laddr - a local address
 * @net: namespace, not counted
 * @addr: IPv4 as v4-mapped
 * @scope: interface index for link-local addresses, else 0
 * @ifindex: index of the interface that has the address
 */
struct rds_dev_laddr {
	struct net	*net;
	struct in6_addr	addr;
	u32		scope;
	int		ifindex;
};

/* Lists of the ids of a device, by a hash of their interface */
#define RDS_DEV_ID_LISTS	256

/* Lists of late ids, by a hash of their owner, as a power of 2 */
#define RDS_DEV_LATE_BITS	6

/* Values of rds_dev_id.share */
#define RDS_DEV_SHARES	32

/**
 * enum rds_dev_place - whether an attempt may be dialled (admit.c)
 * @RDS_DEV_PLACE_NONE: it has not asked
 * @RDS_DEV_PLACE_WAITS: it waits in the line of its share
 * @RDS_DEV_PLACE_HAS: it has a place
 * @RDS_DEV_PLACE_SLOW: it goes on without, as it takes long
 * @RDS_DEV_PLACE_OVER: it is established or ends, and gets none
 * @RDS_DEV_PLACE_LATE: it has ended, and is among the late ids
 */
enum rds_dev_place {
	RDS_DEV_PLACE_NONE,
	RDS_DEV_PLACE_WAITS,
	RDS_DEV_PLACE_HAS,
	RDS_DEV_PLACE_SLOW,
	RDS_DEV_PLACE_OVER,
	RDS_DEV_PLACE_LATE,
};

/**
 * struct rds_dev_share - attempts of a user at a device that have one
 * rds_dev_id.share; under rds_dev_admit.lock
 * @line: attempts that wait for a place, by rds_dev_id.admit_node
 * @node: entry in rds_dev_admit.ready
 * @nr: attempts that have a place
 * @nr_slow: attempts that are under way without one
 * @nr_late: late ids
 */
struct rds_dev_share {
	struct list_head	line;
	struct list_head	node;
	unsigned int		nr;
	unsigned int		nr_slow;
	unsigned int		nr_late;
};

/**
 * struct rds_dev_admit - which attempts of a user at a device are dialled;
 * admit.c has the rules.  All is under @lock
 * @lock: spin, bh
 * @nr: attempts that have a place
 * @nr_slow: attempts that are under way without one
 * @ready: shares that have attempts in their line and may have a further place;
 *	the first for which there is one gets it
 * @share: shares, by rds_dev_id.share
 * @late: late ids, by rds_dev_id.admit_node, by owner
 */
struct rds_dev_admit {
	spinlock_t		lock;
	unsigned int		nr;
	unsigned int		nr_slow;
	struct list_head	ready;
	struct rds_dev_share	share[RDS_DEV_SHARES];
	struct list_head	late[1 << RDS_DEV_LATE_BITS];
};

/**
 * struct rds_dev - a device
 * @ref: number of references
 * @node: entry in the list of devices
 * @serial: number of the device, in the order of the list
 * @ib: the device in ib_core; NULL once it is removed
 * @props: properties
 * @lock: guards @gone to @all_nets, @goes, @nr_going, @held, @nr_mrs, @users,
 *	the lists of connections and of domains
 * @gone: the device is being removed
 * @served: users that can use the device, a bit for each slot; a user may be
 *	asked whether it has the bit without the lock
 * @all_nets: those of them that use it in all namespaces, likewise; who has
 *	left may still be among them
 * @domains: domains of users, by rds_dev_domain.node
 * @ids: entered ids, by rds_dev_id.dev_node, by namespace and interface
 * @walk: ids of one of these lists that a walk has still to visit
 * @shelf: shelved ids, by rds_dev_id.shelf_node (quirks.c)
 * @telling: id that a walk visits now and that must not leave meanwhile
 * @addrs: addresses that lead to the device, by rds_dev_addr.dev_node
 * @gids_changed: addresses have to be compared with the GID table (scan.c)
 * @goes: number of the last interface or address that went down (link.c)
 * @nr_going: number of its connections that may still send packets
 * @due: ids that end for a notifier, by rds_dev_id.due_node
 * @due_work: ends them (link.c)
 * @held: counts requests held until their link is usable (quirks.c);
 *	never lowered
 * @nr_mrs: number of objects for keys that all domains have (mr.c)
 * @max_mrs: most of them
 * @users: number of calls that use @ib, see rds_dev_hold()
 * @idle: woken when a connection leaves or need not be waited for any more
 *	(quirks.c), and when @users, @telling, @held, @domains or the users of a
 *	domain change
 * @events: handler of the device's events
 * @admit: which attempts of each user are dialled, with a lock each, by slot,
 *	of which dev_user.h has the number (admit.c)
 */
struct rds_dev {
	struct kref			ref;
	struct list_head		node;
	u64				serial;
	struct ib_device		*ib;
	struct rds_dev_props		props;
	spinlock_t			lock;
	bool				gone;
	unsigned long			served;
	unsigned long			all_nets;
	struct list_head		domains;
	struct list_head		ids[RDS_DEV_ID_LISTS];
	struct list_head		walk;
	struct list_head		shelf;
	struct rds_dev_id		*telling;
	struct list_head		addrs;
	bool				gids_changed;
	unsigned int			goes;
	unsigned int			nr_going;
	struct list_head		due;
	struct work_struct		due_work;
	unsigned int			held;
	unsigned int			nr_mrs;
	unsigned int			max_mrs;
	unsigned int			users;
	wait_queue_head_t		idle;
	struct ib_event_handler		events;
	struct rds_dev_admit		admit[];
};

/*
 * The device refuses atomic operations, or keys for them, that it announces: it
 * counts as one without.  Any context; @dev->ib is valid.
 */
void rds_dev_no_atomics(struct rds_dev *dev);

/* Does a device serve a local address of the user's?  May sleep. */
bool rds_dev_addr_local(const struct rds_dev_user *user, struct net *net,
			const struct in6_addr *addr, u32 scope);

/*
 * Note that sockets of the user's in @net use devices, or that none does any
 * more.  In the second case, on return no service of all namespaces has a
 * listener in @net, and no registrar has an id of @net, for this user.  May
 * sleep.
 */
void rds_dev_net_use(const struct rds_dev_user *user, struct net *net,
		     bool use);

#endif
