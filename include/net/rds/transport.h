/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contract between the core of RDS and its transports.
 *
 * A *path* is one connection of a transport after the other, between a local
 * address and a peer's, in one network namespace.  The core owns paths: it
 * allocates each path with room for the transport's private part, and calls the
 * transport to connect and to close.  The transport reports when a path comes
 * up or is lost.  Numbering, retransmission and delivery to sockets are done by
 * the core alone.
 *
 * Order of calls for one path:
 *
 *	path_init
 *	  { path_connect | path_attach } -> rds_path_up() -> xmit ->
 *	    [ path_drain -> rds_path_drained() ] -> path_close
 *	    ... any number of times ...
 *	path_free
 *
 * path_connect, path_attach, path_drain and path_close of one path never
 * overlap: the core holds the path's control mutex.  xmit is called only
 * between rds_path_up() and path_drain or path_close, by one context at a time,
 * and these are not called before xmit has returned.  The transport may call
 * rds_path_up(), rds_path_lost(), rds_path_writable(), rds_path_acked(),
 * rds_path_drained() and the rx functions, also from softirq, from the call of
 * path_connect or path_attach until path_close returns.
 */
#ifndef _NET_RDS_TRANSPORT_H
#define _NET_RDS_TRANSPORT_H

#include <linux/in6.h>
#include <linux/module.h>
#include <linux/types.h>

#include <net/rds/info.h>
#include <net/rds/memop.h>
#include <net/rds/rx.h>
#include <net/rds/stats.h>
#include <net/rds/tx.h>

struct net;
struct rds_path;
struct rds_rx_state;
struct rds_txq;

/*
 * Loopback, after the numbers of the user ABI: a socket can read this number,
 * but not set it.
 */
#define RDS_TRANS_LOOP		3

/* Raised by any change of these headers that a compiled transport can notice */
#define RDS_TRANSPORT_API	12

/*
 * Properties of a transport; the core tests these bits and never the name of a
 * transport.
 */
/* takes part in the handshake of paths */
#define RDS_CAP_MULTIPATH	BIT(0)
/* MSG_ZEROCOPY: user pages are used until acknowledged */
#define RDS_CAP_ZCOPY_TX	BIT(1)
/* serves namespaces other than the initial one */
#define RDS_CAP_NETNS		BIT(2)
/* leaves local destinations to loopback */
#define RDS_CAP_PREFER_LOOP	BIT(3)
/* only the smaller address dials (protocol.rst 3.1) */
#define RDS_CAP_SMALLER_DIALS	BIT(4)
/* reaches this namespace only; no maps are sent */
#define RDS_CAP_LOCAL_ONLY	BIT(5)
/* fills ack, credit and checksum of headers */
#define RDS_CAP_OWNS_ACK	BIT(6)
/* of crossed attempts, that of the larger address wins */
#define RDS_CAP_LARGER_WINS	BIT(7)
/* waits for the reader of a full socket, see rds_rx_is_held() */
#define RDS_CAP_RX_HOLDS	BIT(8)

/**
 * struct rds_path_addr - identity of a connection within a namespace and
 * transport
 * @laddr: local address, IPv4 as v4-mapped
 * @faddr: address of the peer, IPv4 as v4-mapped
 * @ifindex: index of the interface for link-local addresses, else 0
 * @tos: type of service, as map_tos() returned it
 */
struct rds_path_addr {
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	int		ifindex;
	u8		tos;
};

/**
 * struct rds_path - part of a path that its transport uses
 * @trans: transport of the path
 * @net: namespace of the path; valid until path_free, but not counted
 * @addr: addresses, constant
 * @index: number of the path within its connection
 * @dials: a connection of path_connect is used; if not set, path_connect only
 *	knocks.  Always set without RDS_CAP_SMALLER_DIALS
 * @priv: private part of the transport, zeroed before path_init
 * @txq: transmit side, used by the core only
 * @rx: receive side, used by the core only
 */
struct rds_path {
	const struct rds_transport	*trans;
	struct net			*net;
	const struct rds_path_addr	*addr;
	unsigned int			index;
	bool				dials;
	void				*priv;
	struct rds_txq			*txq;
	struct rds_rx_state		*rx;
};

/**
 * struct rds_transport - properties and functions of a transport
 * @owner: module of the transport
 * @name: name in dumps, at most 15 characters
 * @type: RDS_TRANS_* of the user ABI
 * @caps: RDS_CAP_*
 * @path_priv_size: bytes of the private part, rds_path.priv
 * @rx_copy_max: largest received payload in bytes that is copied and not
 *	referenced; 0 for RDS_RX_COPY_MAX
 * @memop: remote memory operations, or NULL if the transport has none
 * @nr_stats: number of counters of the transport, reported after those of the
 *	core
 * @stat_names: @nr_stats names of the counters
 *
 * @addr_local: Can a socket bind to the address over this transport?  @scope is
 *	the index of an interface or 0.
 *	Context: process, may sleep; the lock of an RDS socket may be held.
 * @net_listens: Can peers open connections to the namespace now, as far as the
 *	transport knows?  NULL: always.
 *	Context: any.
 * @net_use: The first socket of @net is about to be bound over the transport
 *	(@use), or there has been no bound socket for some time (not @use).  Not
 *	called for the initial namespace; NULL if no object of the transport
 *	holds a namespace.  Returns 0, or an errno for bind if @use.
 *	Context: process, may sleep; the lock of an RDS socket may be held.  One
 *	call at a time for a namespace, which exists until the return.
 * @map_tos: Translate a type of service.  NULL if the transport has no types of
 *	service.
 *	Context: any.
 * @path_init: Initialise the private part.  NULL if zeros are enough.  Returns
 *	0 or -ENOMEM.
 *	Context: process, may sleep.  The path is not used before the return.
 * @path_free: Release what path_init took.  NULL if there is nothing to
 *	release.
 *	Context: process, may sleep.  The path is closed.
 * @path_connect: Start to connect.  Returns 0 if the transport reports the
 *	outcome by rds_path_up() or rds_path_lost(), or has reported it already;
 *	or a negative errno if the transport reports nothing.
 *	Context: process, may sleep, control mutex of the path held.
 * @path_attach: Use a connection that the peer opened, see rds_path_incoming().
 *	The transport owns @handle from here on.  Calls rds_path_up() and then
 *	delivers messages that have been received already, or calls
 *	rds_path_lost().
 *	Context: process, may sleep, control mutex of the path held.
 * @path_drain: Begin to close the connection, if any, in good order: tell the
 *	peer that nothing more is sent.  Meanwhile the transport delivers what
 *	the peer sends, and reports what it acknowledges.  Returns for how long
 *	the core has to wait for that before it calls @path_close, in jiffies;
 *	0: not at all.  rds_path_drained() ends the wait.  NULL if there is
 *	nothing to wait for.
 *	Context: process, may sleep, but does not wait for the peer; control
 *	mutex of the path held.  No transmitter is inside @xmit.
 * @path_close: Close the connection, if any.  Before the return, messages are
 *	delivered that the peer may take for delivered, and acknowledgements of
 *	the peer are reported by rds_path_acked(), as far as both have come.  If
 *	not @graceful, the transport cuts the connection, and @path_drain may
 *	not have been called.  After the return the transport makes no upcall
 *	for this path until the next path_connect or path_attach.
 *	Context: process, may sleep, but does not wait for the peer; control
 *	mutex of the path held.  No transmitter is inside @xmit.
 * @path_watch: Find out soon that a connection is dead: the peer acknowledges
 *	messages by number and knows repeated ones, so no message is lost or
 *	doubled if the connection is given up too early.  A connection is lost
 *	(RDS_DROP_PEER_TIMEOUT) if the peer's transport has answered nothing for
 *	@limit times @interval milliseconds while it should have.  An idle
 *	connection is tried each @interval.  Until the call, and if NULL, the
 *	transport decides.
 *	Context: process, may sleep, control mutex of the path held; after
 *	rds_path_up() and before path_close, once for a connection.
 * @refuse: Refuse a connection that the peer opened.  The transport owns
 *	@handle from here on.
 *	Context: process, may sleep.
 * @xmit: Take as many messages as there is room for.
 *	Context: process, bottom halves on, may sleep, no locks held.  One call
 *	at a time for a path.  The core owns the messages, which remain in place
 *	until the return; for reads of their pages after that the transport
 *	takes references to the pages.
 * @stats: Add the transport's counters of a namespace to @val, @nr_stats
 *	values.
 *	Context: process, may sleep.
 */
struct rds_transport {
	struct module		*owner;
	const char		*name;
	int			type;
	u32			caps;
	size_t			path_priv_size;
	u32			rx_copy_max;
	const struct rds_memop_vtable *memop;
	unsigned int		nr_stats;
	const char *const	*stat_names;

	bool (*addr_local)(struct net *net, const struct in6_addr *addr,
			   u32 scope);
	bool (*net_listens)(struct net *net);
	int (*net_use)(struct net *net, bool use);
	u8 (*map_tos)(u8 tos);

	int (*path_init)(struct rds_path *path);
	void (*path_free)(struct rds_path *path);
	int (*path_connect)(struct rds_path *path);
	void (*path_attach)(struct rds_path *path, void *handle);
	unsigned long (*path_drain)(struct rds_path *path);
	void (*path_close)(struct rds_path *path, bool graceful);
	void (*path_watch)(struct rds_path *path, unsigned int interval,
			   unsigned int limit);
	void (*refuse)(struct net *net, void *handle);

	enum rds_tx_result (*xmit)(struct rds_path *path,
				   struct rds_tx_batch *batch);

	void (*stats)(struct net *net, u64 *val);
};

/**
 * __rds_transport_register - make a transport known to the core
 * @trans: transport; constant, and valid until rds_transport_unregister()
 * @api: RDS_TRANSPORT_API that the transport was compiled with
 * @size: sizeof(struct rds_transport) that the transport was compiled with
 *
 * Transports call the macro rds_transport_register().
 *
 * Context: process, may sleep.
 * Return: 0; -EPROTONOSUPPORT: @api or @size differ from the core's; -EINVAL: a
 * function or the names of counters are missing, the name is too long, or the
 * type is out of range; -EEXIST: the type is taken; -ENOMEM.
 */
int __rds_transport_register(const struct rds_transport *trans,
			     unsigned int api, size_t size);

#define rds_transport_register(trans)                      \
	__rds_transport_register(trans, RDS_TRANSPORT_API, \
				 sizeof(struct rds_transport))

/**
 * rds_transport_unregister - undo rds_transport_register()
 * @trans: registered transport that no socket uses, as sockets hold its module,
 *	and for which rds_transport_net_exit() was called for every namespace
 *
 * Context: process, may sleep.
 */
void rds_transport_unregister(const struct rds_transport *trans);

/**
 * rds_transport_net_init - report that a transport is ready in a namespace
 * @trans: registered transport
 * @net: namespace in which connections may be made from now on
 *
 * Context: any but hard interrupts.
 */
void rds_transport_net_init(const struct rds_transport *trans, struct net *net);

/**
 * rds_transport_net_exit - undo rds_transport_net_init()
 * @trans: registered transport, which accepts no connection of @net any more
 * @net: namespace; on return all its connections over @trans are closed and
 *	freed, and none can be made
 *
 * Context: process, may sleep.
 */
void rds_transport_net_exit(const struct rds_transport *trans, struct net *net);

/**
 * rds_path_incoming - hand a connection that the peer opened to the core
 * @trans: transport of the connection
 * @net: namespace of the connection
 * @addr: addresses of the connection
 * @port: source port of the peer, which tells the index of its path if it has
 *	several; 0 if the transport has one path
 * @handle: handle by which the transport knows the connection
 *
 * The core finds or makes the path.  For a handle that it takes it calls
 * path_attach when the path has no other connection, or refuse if the path's
 * present connection turns out to be alive or the path is killed.  A transport
 * hands in the connections of one peer one after the other, in the order in
 * which they were made, as an earlier one may hold messages that its transport
 * has acknowledged.
 *
 * Context: process, may sleep, no spin locks held.  Does not wait for the path.
 * Return: true if the core owns @handle now; false if the connection is refused
 * and the caller still owns @handle: only this end dials (and now does so, if
 * the path is down), this end's own attempt wins (RDS_CAP_LARGER_WINS), too
 * many connections wait for the path, there is no memory, or the transport is
 * not ready in @net.
 */
bool rds_path_incoming(const struct rds_transport *trans, struct net *net,
		       const struct rds_path_addr *addr, u16 port,
		       void *handle);

/**
 * rds_path_shows_index - ask whether the source port tells the index
 * @path: path that is about to connect
 *
 * Context: any.
 * Return: whether the source port modulo RDS_MAX_PATHS has to be the index.
 */
bool rds_path_shows_index(const struct rds_path *path);

/**
 * rds_path_up - report that a connection is established
 * @path: path of the connection
 *
 * Context: any but hard interrupts.
 * Return: true if the path transmits from now on; false if the core does not
 * use the connection and will call path_close.
 */
bool rds_path_up(struct rds_path *path);

/**
 * rds_path_lost - report that a connection, or an attempt to connect, failed
 * @path: path of the connection; the core will call path_close
 * @why: reason, counted in /proc/net/rds/drops
 *
 * Only the first call for a connection has an effect.
 *
 * Context: any but hard interrupts.
 */
void rds_path_lost(struct rds_path *path, enum rds_drop_reason why);

/**
 * rds_path_writable - report that a transport has room again after
 * RDS_TX_BLOCKED
 * @path: path that was blocked
 *
 * Context: any but hard interrupts.
 */
void rds_path_writable(struct rds_path *path);

/**
 * rds_path_acked - report that the peer has all messages up to a position
 * @path: path of the messages
 * @pos: position, in the units of rds_tx_msg.end; one that is smaller than
 *	before has no effect
 *
 * Context: any but hard interrupts.
 */
void rds_path_acked(struct rds_path *path, u64 pos);

/**
 * rds_path_drained - report that all has come that path_drain said to wait for
 * @path: path whose connection is being closed
 *
 * The core calls path_close now.  A call at another time has no effect.
 *
 * Context: any but hard interrupts.
 */
void rds_path_drained(struct rds_path *path);

/**
 * rds_path_peer_gen - report the generation number of the peer, before
 * rds_path_up()
 * @path: path to the peer, which is not up and receives no message yet
 * @gen: generation number of the peer; 0 if the peer sent none
 *
 * If the number differs from the one before, the peer has restarted, and the
 * numbers of its messages start anew (protocol.rst 2.7).
 *
 * Context: any but hard interrupts.
 */
void rds_path_peer_gen(struct rds_path *path, u32 gen);

/**
 * rds_generation - get the generation number of this host for the peer of a
 * path
 * @path: path to the peer
 *
 * Over a transport with several paths each connection has another number, as
 * the state of an earlier one to the same peer is lost.  Else it is that of the
 * namespace, another one each time when the transport becomes ready.
 *
 * Context: any.
 * Return: the generation number to send to the peer; never 0.
 */
u32 rds_generation(const struct rds_path *path);

/**
 * rds_path_reset_all - close all paths of a namespace gracefully, so that they
 * come up again
 * @trans: transport of the paths
 * @net: namespace of the paths
 * @why: reason, counted for each path in /proc/net/rds/drops
 *
 * Context: process, may sleep.  Does not wait until the paths are closed.
 */
void rds_path_reset_all(const struct rds_transport *trans, struct net *net,
			enum rds_drop_reason why);

#endif
