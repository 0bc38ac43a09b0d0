/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contract between the core of RDS and its transports.
 *
 * A *path* is one connection of a transport between two addresses of one network namespace.
 * The core owns paths: it allocates them with room for the transport's private part, tells the
 * transport when to connect and to close, and is told when a path comes up or is lost.  What a
 * path is used for (numbering, retransmission, who gets a message) is the core's alone.
 *
 * Order of calls for one path:
 *
 *	path_init
 *	  { path_connect | path_attach }  ->  rds_path_up()  ->  xmit ...  ->  path_close
 *	    ... any number of times ...
 *	path_free
 *
 * path_connect, path_attach and path_close of one path never overlap: the core holds the
 * path's control mutex.  xmit is called only between rds_path_up() and path_close, by one
 * context at a time, and path_close is not called before it has returned.  The upcalls
 * rds_path_up, _lost, _writable, _acked and the rx functions may come from softirq, from the
 * moment path_connect or path_attach is called until path_close returns, and not after.
 */
#ifndef _NET_RDS_TRANSPORT_H
#define _NET_RDS_TRANSPORT_H

#include <linux/in6.h>
#include <linux/module.h>
#include <linux/types.h>

#include <net/rds/memop.h>
#include <net/rds/rx.h>
#include <net/rds/stats.h>
#include <net/rds/tx.h>

struct net;
struct rds_path;
struct rds_rxq;
struct rds_txq;

/* Changes with any change of this file, tx.h or rx.h that a compiled transport can notice. */
#define RDS_TRANSPORT_API	4

/* What a transport can do; the core asks for these and never for a transport's name. */
#define RDS_CAP_MULTIPATH	BIT(0)	/* several paths between two addresses; handshake */
#define RDS_CAP_ZCOPY_TX	BIT(1)	/* keeps user pages until acknowledged, MSG_ZEROCOPY */
#define RDS_CAP_NETNS		BIT(2)	/* serves other namespaces than the first */
#define RDS_CAP_PREFER_LOOP	BIT(3)	/* leaves local destinations to loopback */
#define RDS_CAP_SMALLER_DIALS	BIT(4)	/* only the smaller address connects (wire 3.1) */
#define RDS_CAP_LOCAL_ONLY	BIT(5)	/* loopback: reaches this host only, never congests */
#define RDS_CAP_OWNS_ACK	BIT(6)	/* fills ack, credit and checksum of headers */
#define RDS_CAP_LARGER_WINS	BIT(7)	/* of two attempts that cross, the larger address's stays */

/**
 * struct rds_path_addr - what identifies a connection within a namespace and transport
 * @laddr: local address, IPv4 as v4-mapped
 * @faddr: peer's address
 * @ifindex: interface for link-local addresses, otherwise 0
 * @tos: type of service, as map_tos() returned it
 */
struct rds_path_addr {
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	int		ifindex;
	u8		tos;
};

/**
 * struct rds_path - the part of a path that its transport sees
 * @trans: its transport
 * @net: its namespace; valid until path_free, but no reference
 * @addr: addresses, constant
 * @index: number of the path within its connection
 * @dials: this end is the one that connects (always true without RDS_CAP_SMALLER_DIALS)
 * @priv: the transport's private part, zeroed before path_init
 * @txq: the core's
 * @rxq: the core's
 */
struct rds_path {
	const struct rds_transport	*trans;
	struct net			*net;
	const struct rds_path_addr	*addr;
	unsigned int			index;
	bool				dials;
	void				*priv;
	struct rds_txq			*txq;
	struct rds_rxq			*rxq;
};

/**
 * struct rds_transport - what a transport is and does
 * @owner: its module
 * @name: for dumps, at most 15 characters
 * @type: RDS_TRANS_* of the user ABI
 * @caps: RDS_CAP_*
 * @path_priv_size: bytes at rds_path.priv
 * @rx_copy_max: received payload up to here is copied and not referenced; 0 for RDS_RX_COPY_MAX
 * @memop: remote memory operations, or NULL if it has none
 * @nr_stats: counters of its own, reported after the core's
 * @stat_names: their names, @nr_stats of them
 *
 * @addr_local: Is the address one that a socket can bind to over this transport?
 *	Context: process, may sleep.  No locks held.  @scope is an interface index or 0.
 * @net_use: Sockets of @net are bound over the transport from now on, or (not @use) have not been
 *	for a while.  NULL if it keeps no namespace; not for the first one.  0 or bind's errno.
 *	Context: process, may sleep; one call at a time for a namespace, which stays meanwhile.
 * @map_tos: Translate a type of service.  NULL if the transport has none.
 *	Context: any.
 * @path_init: Prepare the private part.  Returns 0 or -ENOMEM.
 *	Context: process, may sleep.  Nothing of the path is used before it returns.
 * @path_free: Release what path_init took.  The path is closed.
 *	Context: process, may sleep.
 * @path_connect: Start to connect.  Returns 0 if an outcome will be reported through
 *	rds_path_up() or rds_path_lost() (also when that has happened already), or a negative
 *	errno if nothing was started.
 *	Context: process, may sleep, control mutex of the path held.
 * @path_attach: Use a connection that the peer opened, see rds_path_incoming().  Owns @conn
 *	from here on, whatever happens.  Calls rds_path_up() and then delivers what has been
 *	received already, or calls rds_path_lost().
 *	Context: as path_connect.
 * @path_close: Give up the connection, if any.  What the peer may believe to be delivered is
 *	delivered, and what it acknowledged is reported by rds_path_acked(), before this returns;
 *	@graceful allows a bounded wait for that, else the peer is cut off at once.  After the
 *	return no upcall comes for this path until the next path_connect or path_attach.
 *	Context: as path_connect.  No transmitter is inside @xmit.
 * @conn_drop: Refuse a connection that the peer opened; owns @conn.
 *	Context: process, may sleep.
 * @xmit: Take messages, as many as there is room for.
 *	Context: process, bottom halves on, may sleep; no locks held.  Never two at a time for one
 *	path.  The messages stay the core's and remain in place until the call returns; later
 *	reads of their pages are the transport's, which takes page references as it needs them.
 * @stats: Add up the transport's counters for a namespace into @val.
 *	Context: process.
 */
struct rds_transport {
	struct module		*owner;
	const char		*name;
	int			type;
	u32			caps;
	size_t			path_priv_size;
	u32			rx_copy_max;
	const struct rds_memop_ops *memop;
	unsigned int		nr_stats;
	const char *const	*stat_names;

	bool (*addr_local)(struct net *net, const struct in6_addr *addr, u32 scope);
	int (*net_use)(struct net *net, bool use);
	u8 (*map_tos)(u8 tos);

	int (*path_init)(struct rds_path *path);
	void (*path_free)(struct rds_path *path);
	int (*path_connect)(struct rds_path *path);
	void (*path_attach)(struct rds_path *path, void *conn);
	void (*path_close)(struct rds_path *path, bool graceful);
	void (*conn_drop)(struct net *net, void *conn);

	enum rds_tx_result (*xmit)(struct rds_path *path, struct rds_tx_batch *batch);

	void (*stats)(struct net *net, u64 *val);
};

/**
 * __rds_transport_register - make a transport known to the core
 * @trans: constant and valid until rds_transport_unregister()
 * @api: RDS_TRANSPORT_API the transport was compiled with
 * @size: its sizeof(struct rds_transport)
 *
 * Context: process, may sleep.  Use rds_transport_register().
 * Return: 0; -EPROTONOSUPPORT if @api or @size are not the core's; -EINVAL if an op is
 * missing or the name too long; -EEXIST if the type is taken; -ENOMEM.
 */
int __rds_transport_register(const struct rds_transport *trans, unsigned int api, size_t size);

#define rds_transport_register(trans) \
	__rds_transport_register(trans, RDS_TRANSPORT_API, sizeof(struct rds_transport))

/**
 * rds_transport_unregister - forget a transport
 * @trans: no socket uses it (they hold its module), and rds_transport_net_exit() was called
 *	for every namespace
 */
void rds_transport_unregister(const struct rds_transport *trans);

/**
 * rds_transport_net_init - a transport is ready in a namespace
 * @trans: registered
 * @net: from now on connections may be made there
 */
void rds_transport_net_init(const struct rds_transport *trans, struct net *net);

/**
 * rds_transport_net_exit - a transport leaves a namespace
 * @trans: registered
 * @net: all its connections over @trans are closed and freed on return, and none can be made
 *
 * Context: process, may sleep.  The transport takes no more connections of @net in.
 */
void rds_transport_net_exit(const struct rds_transport *trans, struct net *net);

/**
 * rds_path_incoming - the peer opened a connection
 * @trans: over this transport
 * @net: in this namespace
 * @addr: between these addresses
 * @conn: the transport's handle of it
 *
 * The core finds or makes the path, and calls path_attach with @conn, now or when the path's
 * present connection has turned out to be dead.  In the end it calls either path_attach or
 * conn_drop.  Connections of one peer are handed in one after the other, in the order in which
 * they were made: the earlier may hold messages that its transport has acknowledged.
 *
 * Context: process, may sleep, no locks held.  Does not wait for the path.
 * Return: true if the core has @conn now; false if it is refused and still the caller's: this
 * end is the one that dials (which it now does), there is no memory, or the transport is not
 * (any more) ready in @net.
 */
bool rds_path_incoming(const struct rds_transport *trans, struct net *net,
		       const struct rds_path_addr *addr, void *conn);

/**
 * rds_path_up - a connection is established
 * @path: path of it
 *
 * Context: any but hard interrupts.
 * Return: true if the path transmits from now on; false if the core has other plans: it
 * will call path_close.
 */
bool rds_path_up(struct rds_path *path);

/**
 * rds_path_lost - a connection failed, or an attempt to connect did
 * @path: path of it; the core will call path_close
 * @why: reason, counted and shown
 *
 * Context: any but hard interrupts.  May be called any number of times.
 */
void rds_path_lost(struct rds_path *path, enum rds_drop_reason why);

/**
 * rds_path_writable - there is room again after RDS_TX_BLOCKED
 * @path: path of it
 *
 * Context: any but hard interrupts.
 */
void rds_path_writable(struct rds_path *path);

/**
 * rds_path_acked - the peer has everything before a position
 * @path: path of it
 * @pos: in the units of rds_tx_msg.end
 *
 * Context: any but hard interrupts.  Later calls with smaller positions are harmless.
 */
void rds_path_acked(struct rds_path *path, u64 pos);

/**
 * rds_path_peer_gen - the peer told which incarnation it is, ahead of rds_path_up()
 * @path: path of it
 * @gen: its generation number; 0 if it told none
 *
 * Numbering starts anew if it is another one than before, as after a handshake that says so
 * (wire 2.7).
 *
 * Context: any but hard interrupts; the path is not up and receives nothing yet.
 */
void rds_path_peer_gen(struct rds_path *path, u32 gen);

/**
 * rds_generation - which incarnation of us the peer of a path talks to
 * @path: path
 *
 * It is another one whenever what we knew of that peer may be gone: after the transport was
 * unloaded and loaded again, and in a namespace that is new.
 *
 * Context: any.
 * Return: the number to tell the peer; never 0.
 */
u32 rds_generation(const struct rds_path *path);

/**
 * rds_path_reset_all - close every path of a namespace in good order, so that it comes up anew
 * @trans: of this transport
 * @net: in this namespace
 * @why: reason, counted
 *
 * Context: process, may sleep.  Does not wait.
 */
void rds_path_reset_all(const struct rds_transport *trans, struct net *net,
			enum rds_drop_reason why);

/* Take part in RDS_INFO_*; see ctl/info.c for how a snapshot is made. */
struct rds_info_sink;

/**
 * typedef rds_info_fn - emit all records of one kind by rds_info_put()
 * @net: namespace they are wanted of
 * @sink: where they go
 *
 * Context: process; called twice for one snapshot.
 */
typedef void (*rds_info_fn)(struct net *net, struct rds_info_sink *sink);

/**
 * rds_info_register - answer an RDS_INFO_* option
 * @optname: which
 * @size: bytes of one record
 * @fn: emits the records of a namespace
 */
void rds_info_register(int optname, size_t size, rds_info_fn fn);
void rds_info_unregister(int optname);

/**
 * rds_info_put - add one record to a snapshot
 * @sink: given to the rds_info_fn
 * @record: as many bytes as were registered
 *
 * Context: any.
 */
void rds_info_put(struct rds_info_sink *sink, const void *record);

#endif
