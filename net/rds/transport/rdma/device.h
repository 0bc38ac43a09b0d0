/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA devices: their properties, protection domain and keys, and the local
 * addresses that lead to them.
 *
 * Lifetime: a device is counted.  The list of devices, each local address, each
 * connection and each key in use has a reference.  When the ib_device is
 * removed (ib_client.remove), rds_rdma_dev.gone is set under @lock.  Then no
 * new object can be had, all connections are told to end and waited for, all
 * keys are ended, and the protection domain is freed.  struct rds_rdma_dev
 * stays until the last reference is put; its @ib is NULL then.  Keys that had
 * an owner stay, without an ib_mr, until the owner ends them.
 *
 * Locks: rds_rdma_dev.lock (spin, bh) guards @gone, the lists of connections,
 * @held, @users and the keys.  devlayer.h says which locks may be taken under
 * it.
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
 * struct rds_rdma_props - properties of a device, filled in once; code asks
 * these and no names
 * @iwarp: RDMAP over TCP; a listener occupies a TCP port
 * @rnr: a Send without a posted receive is retried; else it ends the connection
 * @atomics: the device has 8-byte atomic operations
 * @masked: the device has atomic operations with masks
 * @read_sink_mr: the memory a READ goes to needs a key with remote write access
 * @active_first: the accepting end must be silent until the first frame arrives
 * @write_early: a WRITE completes before the peer's memory has the data
 * @remote_inv: the device sends and receives Send with Invalidate
 * @soft: a software device, where no completion queue is shared (cq.c)
 * @first_net_only: the device reaches peers of the first network namespace only
 * @max_sge: most SGEs of a Send or WRITE
 * @max_sge_rd: most SGEs of a READ
 * @max_recv_sge: most SGEs of a receive
 * @max_qp_wr: most work requests in a queue of a queue pair
 * @max_fr_pages: most pages of one key
 * @max_rd_atom: most READs and atomic operations that a peer may have under way
 *	to this host
 * @max_init_rd_atom: most READs and atomic operations that this host may have
 *	under way to a peer
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
 * @net: namespace, not counted
 * @addr: IPv4 as v4-mapped
 * @scope: interface index for link-local addresses, else 0
 * @ifindex: index of the interface that has the address
 */
struct rds_rdma_laddr {
	struct net	*net;
	struct in6_addr	addr;
	u32		scope;
	int		ifindex;
};

/* Sizes of keys, in pages */
#define RDS_RDMA_MR_SMALL	16
#define RDS_RDMA_MR_LARGE	RDS_MEM_MAX_PAGES

/**
 * struct rds_rdma_mr_pool - keys of one size
 * @pages: most pages of a key of this pool
 * @max: most keys that may exist
 * @nr: number of keys that exist, in use or in @free
 * @nr_free: length of @free
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
 * @ref: number of references
 * @node: entry in the list of devices
 * @serial: number of the device, in the order of the list
 * @ib: the device in ib_core; NULL once it is removed
 * @pd: protection domain of all queue pairs and keys of this module
 * @props: properties
 * @lock: guards @gone, @held, @users, the lists of connections and the keys
 * @gone: the device is being removed
 * @conns: entered connections, by rds_rdma_conn.dev_node
 * @walk: entered connections that a walk has still to visit, by
 *	rds_rdma_conn.dev_node
 * @closing: connections that are closing, by rds_rdma_conn.dev_node
 * @telling: connection that a walk visits now and that must not leave meanwhile
 * @held: counts connection requests held until their link is usable (link.c);
 *	never lowered
 * @users: number of calls that use @ib, see rds_rdma_dev_hold()
 * @idle: woken when a connection leaves or need not be waited for any more
 *	(link.c), and when @users, @telling or @held changes
 * @mrs: keys in use, by rkey (mr.c)
 * @pools: small and large keys, and those of them kept for later use
 * @reg: registrar (registrar.c), connected when the first address leads to the
 *	device
 * @events: handler of the device's events
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

/*
 * The device of an ib_device, counted; NULL if RDS does not use it or it is
 * being removed.
 */
struct rds_rdma_dev *rds_rdma_dev_get(struct ib_device *ib);
void rds_rdma_dev_put(struct rds_rdma_dev *dev);

/*
 * The device that a local address leads to, counted, or NULL.  May sleep, and
 * waits for the destruction of listeners, so no CM handler may call this.
 */
struct rds_rdma_dev *
rds_rdma_dev_by_addr(struct net *net, const struct in6_addr *addr, u32 scope);

/*
 * The device that @la leads to, as rds_rdma_dev_by_addr(); fills in
 * la->ifindex.
 */
struct rds_rdma_dev *rds_rdma_dev_by_laddr(struct rds_rdma_laddr *la);

/*
 * Enter a connection; false if the device is being removed.  The removal of the
 * device calls rds_rdma_conn_device_gone() once for each entered connection,
 * and waits until the connection has left: each rds_rdma_dev_enter() needs a
 * rds_rdma_dev_leave().
 *
 * Until rds_rdma_dev_closing() walks may visit the connection, to end it with
 * its device or address, or to list it.  @conn->dev, @conn->path and @conn->id
 * must be valid for that time; the latter two are NULL or, once set, constant.
 * _closing may be left out if path and id are valid until _leave.  _closing and
 * _leave may sleep.
 */
bool rds_rdma_dev_enter(struct rds_rdma_dev *dev, struct rds_rdma_conn *conn);
void rds_rdma_dev_closing(struct rds_rdma_dev *dev, struct rds_rdma_conn *conn);
void rds_rdma_dev_leave(struct rds_rdma_dev *dev, struct rds_rdma_conn *conn);

/* Implements &rds_transport.addr_local */
bool rds_rdma_addr_local(struct net *net, const struct in6_addr *addr,
			 u32 scope);

/**
 * rds_rdma_mr_reg - make a key of memory
 * @dev: device
 * @bv: memory; entries lie within pages, only the first may start and only the
 *	last end inside one
 * @nr: entries of @bv
 * @bytes: length of all entries of @bv together
 * @access: IB_ACCESS_*
 * @dir: direction of the DMA mapping
 * @once: mark the offset with RDS_MR_OFFSET_ONCE
 * @out: the key, which the caller owns until rds_rdma_mr_dereg()
 *
 * Waits for the registrar.  Context: process, may sleep.
 * Return: as &rds_memop_vtable.mr_reg.
 */
int rds_rdma_mr_reg(struct rds_rdma_dev *dev, const struct bio_vec *bv,
		    unsigned int nr, u32 bytes, int access,
		    enum dma_data_direction dir, bool once,
		    struct rds_rdma_mr **out);

/*
 * End a key: it is invalidated, unmapped, and kept for later use.  May sleep.
 */
void rds_rdma_mr_dereg(struct rds_rdma_mr *mr);

/*
 * Have a worker end a key, and then call @done with @arg.  Any context but hard
 * interrupts.
 */
void rds_rdma_mr_dereg_later(struct rds_rdma_mr *mr, void (*done)(void *arg),
			     void *arg);

u32 rds_rdma_mr_rkey(const struct rds_rdma_mr *mr);
u32 rds_rdma_mr_lkey(const struct rds_rdma_mr *mr);
/* address of the first byte for peers */
u64 rds_rdma_mr_iova(const struct rds_rdma_mr *mr);

/*
 * Note that a peer's Send with Invalidate has ended a key in the device.  Any
 * context.
 */
void rds_rdma_mr_invalidated(struct rds_rdma_dev *dev, u32 rkey);

extern const struct rds_memop_vtable rds_rdma_memop_vtable;

int rds_rdma_dev_init(void);
void rds_rdma_dev_exit(void);

#endif
