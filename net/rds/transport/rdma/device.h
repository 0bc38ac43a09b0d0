/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA devices: what they can do, their protection domain, their keys, and the local addresses
 * that lead to them.
 *
 * Lifetime: a device is counted.  References: the list of devices, each local address, each
 * connection, each key.  When the ib_device goes (ib_client.remove), rds_rdma_dev.gone is set
 * under @lock: nothing new can be had, all connections are told to end and waited for, all keys
 * are ended and their handles left behind empty, then the protection domain goes.  The struct
 * outlives that for as long as references exist; its @ib is NULL then.
 *
 * Locks: rds_rdma_dev.lock (spin, bh) guards @gone, the lists of connections, @held, @users and the
 * keys; what may be taken under it: devlayer.h.
 */
#ifndef _RDS_RDMA_DEVICE_H
#define _RDS_RDMA_DEVICE_H

#include <linux/hashtable.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>

#include <net/rds/memop.h>

struct net;
struct rds_rdma_conn;
struct rds_rdma_mr;
struct rds_rdma_registrar;

/**
 * struct rds_rdma_props - what a device can do; filled once, consulted instead of names
 * @iwarp: RDMAP over TCP: a listener occupies a TCP port
 * @rnr: a Send without a posted receive is retried; otherwise it ends the connection
 * @atomics: 8-byte atomic operations
 * @masked: masked ones
 * @read_sink_mr: the sink of a READ needs a key with remote write access
 * @active_first: the accepting end stays silent until the first message
 * @write_early: a WRITE completes before the peer's memory has it
 * @remote_inv: takes and gives Send with Invalidate
 * @soft: a software device; its completions need care (cq.c): no queue is shared
 * @first_net_only: reaches peers of the first network namespace only
 * @max_sge: scatter entries of a Send or WRITE
 * @max_sge_rd: of a READ
 * @max_recv_sge: of a receive
 * @max_qp_wr: work requests of a queue
 * @max_fr_pages: pages of one key
 * @max_rd_atom: READs and atomics a peer may have under way to us
 * @max_init_rd_atom: and we to a peer
 */
struct rds_rdma_props {
	bool	iwarp;
	bool	rnr;
	bool	atomics;
	bool	masked;
	bool	read_sink_mr;
	bool	active_first;
	bool	write_early;
	bool	remote_inv;
	bool	soft;
	bool	first_net_only;
	u32	max_sge;
	u32	max_sge_rd;
	u32	max_recv_sge;
	u32	max_qp_wr;
	u32	max_fr_pages;
	u8	max_rd_atom;
	u8	max_init_rd_atom;
};

/**
 * struct rds_rdma_laddr - a local address
 * @net: namespace, no reference
 * @addr: IPv4 as v4-mapped
 * @scope: interface for link-local addresses, otherwise 0
 * @ifindex: interface that has it
 */
struct rds_rdma_laddr {
	struct net	*net;
	struct in6_addr	addr;
	u32		scope;
	int		ifindex;
};

/* Keys come in two sizes (pages) */
#define RDS_RDMA_MR_SMALL	16
#define RDS_RDMA_MR_LARGE	RDS_MEM_MAX_PAGES

/**
 * struct rds_rdma_mr_pool - keys of one size
 * @pages: size
 * @max: as many may exist
 * @nr: as many do
 * @nr_free: of them are kept in @free
 * @free: ended keys, kept for later use
 */
struct rds_rdma_mr_pool {
	unsigned int		pages;
	unsigned int		max;
	unsigned int		nr;
	unsigned int		nr_free;
	struct list_head	free;
};

/**
 * struct rds_rdma_dev - a device
 * @ref: see above
 * @node: in the list of devices
 * @serial: they are numbered in the order of that
 * @ib: the device; NULL once it is gone
 * @pd: protection domain of all that we have there
 * @props: what it can do
 * @lock: see above
 * @gone: it is being removed
 * @conns: connections that use it, rds_rdma_conn.dev_node
 * @walk: likewise, those that are still to be told something
 * @closing: likewise, those that are ending
 * @telling: connection that is being told something and must not leave meanwhile
 * @held: requests that were put off because their link was going, counts on (link.c)
 * @users: calls that use @ib right now (rds_rdma_dev_hold())
 * @idle: woken when @conns or @closing becomes empty, and @users, @telling and @held change
 * @mrs: keys that are in use, by rkey (mr.c)
 * @pools: keys kept for later use, small and large
 * @reg: registrar (registrar.c), connected when the first address leads here
 * @events: events of the device
 */
struct rds_rdma_dev {
	struct kref			ref;
	struct list_head		node;
	u64				serial;
	struct ib_device		*ib;
	struct ib_pd			*pd;
	struct rds_rdma_props		props;
	spinlock_t			lock;
	bool				gone;
	struct list_head		conns;
	struct list_head		walk;
	struct list_head		closing;
	struct rds_rdma_conn		*telling;
	unsigned int			held;
	unsigned int			users;
	wait_queue_head_t		idle;
	DECLARE_HASHTABLE(mrs, 8);
	struct rds_rdma_mr_pool		pools[2];
	struct rds_rdma_registrar	*reg;
	struct ib_event_handler		events;
};

/* The device of an ib_device, counted, or NULL if it is none of ours or is going. */
struct rds_rdma_dev *rds_rdma_dev_get(struct ib_device *ib);
void rds_rdma_dev_put(struct rds_rdma_dev *dev);

/*
 * The device a local address leads to, counted, or NULL.  May sleep, and waits for listeners to
 * end: not to be called from a CM handler.
 */
struct rds_rdma_dev *rds_rdma_dev_by_addr(struct net *net, const struct in6_addr *addr,
					  u32 scope);

/* The same, of @la; fills in its ifindex. */
struct rds_rdma_dev *rds_rdma_dev_by_laddr(struct rds_rdma_laddr *la);

/*
 * Enter a connection; false if the device is going.  While it is entered the device waits for
 * it: rds_rdma_conn_device_gone() is called once, and rds_rdma_dev_leave() must follow.
 *
 * From enter to rds_rdma_dev_closing(), which says that the connection is ending anyway, others
 * may come upon it: it is told of the device's end or of its address', and listed.  @conn->path
 * (NULL or constant), @conn->dev and @conn->id (likewise) must be valid all that time.  _closing
 * is optional for those whose path and id last until _leave.  Both may sleep.
 */
bool rds_rdma_dev_enter(struct rds_rdma_dev *dev, struct rds_rdma_conn *conn);
void rds_rdma_dev_closing(struct rds_rdma_dev *dev, struct rds_rdma_conn *conn);
void rds_rdma_dev_leave(struct rds_rdma_dev *dev, struct rds_rdma_conn *conn);

/* Implements &rds_transport.addr_local */
bool rds_rdma_addr_local(struct net *net, const struct in6_addr *addr, u32 scope);

/**
 * rds_rdma_mr_map - make a key of memory
 * @dev: device
 * @bv: memory, entries within pages; only the first may start and the last end inside a page
 * @nr: entries
 * @bytes: sum
 * @access: IB_ACCESS_*
 * @dir: direction for the DMA mapping
 * @once: mark the offset with RDS_MR_OFFSET_ONCE
 * @out: the key, counted for the caller
 *
 * Registers through the registrar and waits for it.  Context: process, may sleep.
 * Return: as &rds_memop_ops.mr_map.
 */
int rds_rdma_mr_map(struct rds_rdma_dev *dev, const struct bio_vec *bv, unsigned int nr,
		    u32 bytes, int access, enum dma_data_direction dir, bool once,
		    struct rds_rdma_mr **out);

/* End a key: invalidated, unmapped, kept for later use.  May sleep. */
void rds_rdma_mr_unmap(struct rds_rdma_mr *mr);

/* The same, done soon by a worker.  Any context but hard interrupts. */
void rds_rdma_mr_unmap_later(struct rds_rdma_mr *mr, void (*done)(void *arg), void *arg);

u32 rds_rdma_mr_rkey(const struct rds_rdma_mr *mr);
u32 rds_rdma_mr_lkey(const struct rds_rdma_mr *mr);
u64 rds_rdma_mr_iova(const struct rds_rdma_mr *mr);	/* of the first byte */

/* A peer's Send with Invalidate named this key: it needs no invalidation.  Any context. */
void rds_rdma_mr_invalidated(struct rds_rdma_dev *dev, u32 rkey);

extern const struct rds_memop_ops rds_rdma_memop_ops;

int rds_rdma_dev_init(void);
void rds_rdma_dev_exit(void);

#endif
