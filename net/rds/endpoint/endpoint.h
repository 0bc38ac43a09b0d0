/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The socket, as everything below the system calls sees it: what it is bound to, what it may
 * still send, what it has received, and whom to wake.
 *
 * Life and death.  A socket is found in two ways: by the bind table, and by rds_message.owner.
 * Both are read under RCU and give no reference; the memory goes a grace period after the last
 * reference (SOCK_RCU_FREE).  Closing takes these steps, in this order:
 *
 *   1. sock_orphan(): nobody polls or sleeps any more, the descriptor has no system call.
 *   2. rds_endpoint_kill(): out of the bind table, then `dead` under rx_lock.  Who found it before
 *	queues before the purge, or rds_sock_queue(), under the same lock, refuses.
 *   3. rds_conn_cancel(): no message has it as owner, except where a context that retires
 *	messages read the owner before, inside an RCU section.  That one may still lower `snd`
 *	(harmless) and hand in a cookie, which is refused for `dead`.
 *   4. rds_endpoint_purge(): queues freed, operations under way forget it; the congestion bit
 *	cleared; `lmap` becomes NULL under cong_lock, so that a context between flipping and
 *	publishing does nothing.  Keys end.
 *   5. Transport, connection and @tx_pages are put.  Nothing reached from softirq uses them.
 *
 * After 5 plain fields are left, which late readers of step 3 use until the grace period ends.
 *
 * Locks: all but the sleeping socket lock (bind, connect's peer, transport, TOS, options) are
 * leaves towards each other, except cong_lock > rds_cong_map's > mon_lock (of any socket).
 * Pointers of the binding are constant once bound_port is seen non-zero with acquire.
 */
#ifndef _RDS_ENDPOINT_ENDPOINT_H
#define _RDS_ENDPOINT_ENDPOINT_H

#include <linux/atomic.h>
#include <linux/in6.h>
#include <linux/jump_label.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/rds.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <net/sock.h>

#include "cong/map.h"
#include "msg/txpage.h"

struct rds_conn;
struct rds_incoming;
struct rds_net;
struct rds_transport;

/* On while any socket has SO_RDS_MSG_RXPATH_LATENCY: whoever receives fills rds_incoming.trace. */
DECLARE_STATIC_KEY_FALSE(rds_rx_trace_key);
#define rds_rx_traced()		static_branch_unlikely(&rds_rx_trace_key)

/* Cookies of zero-copy sends that are over, as recvmsg hands them out */
struct rds_zrecord {
	struct list_head		list;
	struct rds_zcopy_cookies	c;
};

/**
 * struct rds_sock - an RDS socket
 * @sk: the socket; first
 * @rn: namespace; the socket keeps it
 * @sock_node: in the namespace's list of sockets, RCU
 * @bind_node: in the bind table, RCU
 * @bound_addr: with @bound_scope and @bound_port, what it is bound to
 * @bound_scope: interface for link-local addresses
 * @bound_port: 0 until bound; stored last
 * @local_only: the transport never congests
 * @dead: closed; under @rx_lock
 * @tos: type of service for its connections
 * @recverr: RDS_RECVERR
 * @has_sent: a connection was looked up; the type of service is fixed
 * @trans: transport, chosen or by bind; holds its module
 * @lmap: congestion map of @bound_addr; pointer under @cong_lock once bound
 * @lock: guards @dest*
 * @dest: where to send without a name
 * @dest_port: its port
 * @dest_scope: its interface
 * @connected: @dest is set
 * @conn: last connection used, counted; whoever takes it out (xchg) owns the reference
 * @snd: messages (high half) and bytes (low half) sent and not released
 * @answered: something was received since the last message was sent
 * @last_send: when that was, by local_clock()
 * @snd_nospace: a poller wants to hear about room
 * @snd_wait: blocked senders
 * @tx_pages: memory of its messages
 * @rx_lock: guards the receive queue and the zero-copy records
 * @rx_queue: received messages
 * @rx_bytes: their payload
 * @rx_count: and number
 * @congested: more is queued than wanted
 * @rx_wait: blocked readers
 * @rx_traces: entries of @rx_trace_pos, see 5.9 of the wire document
 * @rx_trace_pos: points wanted
 * @notes: remote memory operations that are over, for a reader
 * @notes_due: those under way that will be
 * @zrecords: cookies waiting for a reader
 * @zspare: one record for every zero-copy message under way, so that completion needs no memory
 * @cong_lock: orders what is told to the map
 * @cong_published: what the map has been told
 * @mon_lock: guards the following
 * @mon: hears of updates while @monitor
 * @monitor: RDS_CONG_MONITOR
 * @cong_waits: groups of ports a send was refused for
 * @cong_notify: those that became free, for a reader
 * @cong_seen: generation of the maps at the last poll
 * @cong_refused: a send was refused since the last poll
 * @mr_lock: guards the following
 * @mrs: keys of its memory, by rkey
 * @nr_mrs: how many
 * @memop_used: it has had keys or operations
 */
struct rds_sock {
	struct sock			sk;
	struct rds_net			*rn;
	struct list_head		sock_node;
	struct hlist_node		bind_node;
	struct in6_addr			bound_addr;
	int				bound_scope;
	__be16				bound_port;
	bool				local_only;
	bool				dead;
	u8				tos;
	bool				recverr;
	bool				has_sent;
	const struct rds_transport	*trans;
	struct rds_cong_map		*lmap;

	spinlock_t			lock;
	struct in6_addr			dest;
	int				dest_scope;
	__be16				dest_port;
	bool				connected;

	struct rds_conn			*conn ____cacheline_aligned_in_smp;
	atomic64_t			snd;
	bool				snd_nospace;
	bool				answered;
	u64				last_send;
	wait_queue_head_t		snd_wait;
	struct rds_txpages		tx_pages;

	spinlock_t			rx_lock ____cacheline_aligned_in_smp;
	struct list_head		rx_queue;
	u64				rx_bytes;
	unsigned int			rx_count;
	bool				congested;
	u8				rx_traces;
	u8				rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
	struct list_head		notes;
	wait_queue_head_t		rx_wait;
	struct list_head		zrecords;
	struct list_head		zspare;
	struct list_head		notes_due;

	spinlock_t			cong_lock;
	bool				cong_published;
	spinlock_t			mon_lock;
	struct rds_cong_monitor		mon;
	bool				monitor;
	bool				cong_refused;
	u32				cong_seen;
	u64				cong_waits;
	u64				cong_notify;

	spinlock_t			mr_lock;
	struct rb_root			mrs;
	unsigned int			nr_mrs;
	bool				memop_used;
};

static inline struct rds_sock *rds_sk(struct sock *sk)
{
	return container_of(sk, struct rds_sock, sk);
}

/* The port, with everything a bound socket has ordered before it; 0 while unbound. */
static inline __be16 rds_sock_port(const struct rds_sock *rs)
{
	/* Pairs with the release in bind_try(). */
	return smp_load_acquire(&rs->bound_port);
}

/* The interface shown with peers' addresses */
static inline int rds_sock_scope(const struct rds_sock *rs)
{
	return rs->bound_scope ? rs->bound_scope : READ_ONCE(rs->dest_scope);
}

/* What SO_SNDBUF and SO_RCVBUF were asked for */
static inline unsigned int rds_sock_sndbuf(const struct rds_sock *rs)
{
	return READ_ONCE(rs->sk.sk_sndbuf) / 2;
}

static inline unsigned int rds_sock_rcvbuf(const struct rds_sock *rs)
{
	return READ_ONCE(rs->sk.sk_rcvbuf) / 2;
}

/* endpoint.c: life, and what may be sent */
void rds_endpoint_setup(struct rds_sock *rs, struct rds_net *rn);
void rds_endpoint_kill(struct rds_sock *rs);
void rds_endpoint_purge(struct rds_sock *rs);
bool rds_sock_charge(struct rds_sock *rs, u32 bytes);
int rds_sock_charge_wait(struct rds_sock *rs, u32 bytes, long timeo);
bool rds_sock_writable(const struct rds_sock *rs);
bool rds_sock_half_full(const struct rds_sock *rs);
bool rds_sock_streams(struct rds_sock *rs, u64 *path_last);
bool rds_sock_want_room(struct rds_sock *rs);
void rds_sock_sent(struct rds_sock *rs, unsigned int bytes, unsigned int msgs);
int rds_endpoint_init(void);
void rds_endpoint_exit(void);

/* bind.c: the sockets of a namespace */
struct rds_sock *rds_bind_lookup(struct rds_net *rn, const struct in6_addr *addr, __be16 port,
				 int scope);
int rds_bind_insert(struct rds_sock *rs, const struct in6_addr *addr, __be16 port, int scope);
void rds_bind_remove(struct rds_sock *rs);
void rds_sock_list_add(struct rds_sock *rs);
void rds_sock_list_del(struct rds_sock *rs);
void rds_sock_visit(struct rds_net *rn, void (*fn)(struct rds_sock *rs, void *arg), void *arg);
int rds_bind_net_init(struct rds_net *rn);
void rds_bind_net_exit(struct rds_net *rn);

/* rcvq.c: what was received */
bool rds_sock_queue(struct rds_sock *rs, struct rds_incoming *inc);
struct rds_incoming *rds_sock_dequeue(struct rds_sock *rs, bool *more);
struct rds_incoming *rds_sock_peek(struct rds_sock *rs);
void rds_sock_requeue(struct rds_sock *rs, struct rds_incoming *inc);
void rds_sock_rx_purge(struct rds_sock *rs);
void rds_sock_visit_rx(struct rds_sock *rs,
		       void (*fn)(const struct rds_incoming *inc, void *arg), void *arg);

/* notify.c: who is told, and about what */
void rds_sock_wake_rx(struct rds_sock *rs);
void rds_sock_wake_all(struct rds_sock *rs);
void rds_sock_wake_poll(struct rds_sock *rs, __poll_t key);
void rds_sock_zcopy_done(struct rds_sock *rs, u32 cookie);
bool rds_sock_zcopy_reserve(struct rds_sock *rs);
void rds_sock_zcopy_unreserve(struct rds_sock *rs);
bool rds_sock_zcopy_take(struct rds_sock *rs, struct rds_zcopy_cookies *c);
void rds_sock_zcopy_purge(struct rds_sock *rs);
void rds_sock_monitor(struct rds_sock *rs, bool on);
void rds_sock_cong_wait(struct rds_sock *rs, u16 port);
u64 rds_sock_cong_take(struct rds_sock *rs);
void rds_sock_cong_return(struct rds_sock *rs, u64 groups);
int rds_notify_init(void);
void rds_notify_exit(void);

#endif
