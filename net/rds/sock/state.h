/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The socket below the system calls: binding, charge, receive queue,
 * notifications, wait queues.
 *
 * Life and death.  A socket is found without a reference by the bind table, the
 * list of its namespace, rds_message.owner and rds_note.owner.  All are read
 * under RCU; the memory is freed a grace period after the last reference is
 * dropped (SOCK_RCU_FREE).  Steps of closing, in order:
 *
 *   1. sock_orphan(): no process polls the socket or sleeps on it, and none is
 *      in a system call.
 *   2. rds_sock_kill(): the socket leaves the bind table and the list, and then
 *	`dead` is set under rx_lock.  A context that found the socket before
 *	either queues its message before the purge, or is refused by
 *	rds_sock_queue(), which takes rx_lock, too.
 *   3. rds_cancel(): the socket owns no message any more.  A context that
 *	retires messages may have read rds_message.owner before, in an RCU read
 *	section; it may still lower `snd`, which is harmless, and report a
 *	cookie, which is refused because of `dead`.
 *   4. rds_sock_purge(): the queues are freed, operations under way are
 *	detached, the congestion bit is cleared, and `lmap` becomes NULL under
 *	cong_lock, so that a context that has changed `congested` publishes
 *	nothing.  After the purge the keys end.
 *   5. Transport, connection and @tx_pages are put.  No softirq uses them.
 *
 * After step 5 late contexts of step 3 use plain fields only, until the grace
 * period ends.
 *
 * Locks: the socket lock, which sleeps, guards bind, connect, transport, type
 * of service and options.  No spin lock of a socket is taken inside another
 * one, except cong_lock > the locks of cong/map.h > mon_lock (of any socket).
 * sent_lock is taken inside the lock of any queue.
 * The fields of the binding are constant once bound_port is read with acquire
 * and is not 0.
 */
#ifndef _RDS_SOCK_STATE_H
#define _RDS_SOCK_STATE_H

#include <linux/atomic.h>
#include <linux/in6.h>
#include <linux/llist.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/rds.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <net/sock.h>

#include "cong/map.h"
#include "msg/txpage.h"
#include "sock/flow.h"

struct rds_conn;
struct rds_incoming;
struct rds_net;
struct rds_transport;

/*
 * Number of sockets with SO_RDS_MSG_RXPATH_LATENCY; unless 0,
 * rds_incoming.trace is filled.
 */
extern atomic_t rds_rx_tracers;
#define rds_rx_traced()		unlikely(atomic_read(&rds_rx_tracers))

/**
 * struct rds_sock - an RDS socket
 * @sk: socket of the kernel's socket layer; first member
 * @rn: namespace, held by @sk
 * @sock_node: entry in the list of sockets of the namespace
 * @bind_node: entry in the bind table, RCU
 * @bind_hash: for the bind table, from @bound_addr and @bound_port
 * @bound_addr: address of the binding, valid if @bound_port is not 0
 * @bound_scope: interface index if @bound_addr is link-local, else 0
 * @bound_port: RDS port of the binding, wire order; 0 until bound, stored last
 * @local_only: @trans has RDS_CAP_LOCAL_ONLY: only @rx_true congests the port
 * @dead: the socket is closed; written under @rx_lock
 * @tos: type of service of connections
 * @recverr: RDS_RECVERR
 * @peer_timeout: RDS_PEER_TIMEOUT, in ms; changed under the socket lock
 * @has_sent: a connection was looked up, so @tos cannot be changed
 * @trans: transport, of SO_RDS_TRANSPORT or of bind; the socket holds its
 *	module
 * @lmap: congestion map of @bound_addr, counted; once bound, the pointer is
 *	guarded by @cong_lock
 * @lock: guards @dest, @dest_port, @dest_scope, @connected and @flow
 * @dest: destination of sends without a name
 * @dest_port: RDS port of @dest, wire order
 * @dest_scope: interface index if @dest is link-local, else 0; also read
 *	without @lock
 * @connected: @dest is set
 * @flow: the flow that may be on another lane than its ports say
 * @conn: last connection used, counted; xchg() takes the reference as well
 * @snd: messages (high half) and payload bytes (low half) that are charged
 * @answered: a message was received since the last one was sent
 * @last_send: time of the last send, by local_clock(); 0 after one that may be
 *	part of a dialogue
 * @sent_lock: guards @sent; inside rds_txq.lock, takes no other lock
 * @sent: messages that are charged, by rds_message.own, the last one first;
 *	and cursors
 * @snd_nospace: a poller waits for room in the send buffer
 * @snd_wait: senders that wait for room in the send buffer
 * @tx_pages: pages of sent messages
 * @rx_lock: guards @dead, @congested, @rx_taken, @rx_grace, @rx_over, @rx_late,
 *	@rx_told, @rx_short, @rx_spare, @rx_raised, the receive queue and its
 *	sums, notes and zero-copy records
 * @rx_queue: received messages
 * @rx_bytes: payload bytes of @rx_queue
 * @rx_true: bytes of memory of @rx_queue
 * @rx_excess: bytes of memory that messages of @rx_queue share with others,
 *	beyond @rx_true; read without the lock
 * @rx_count: number of messages of @rx_queue
 * @rx_spare: bytes that are charged for received messages and not used
 * @rx_raised: bytes that are charged, see sock/rxmem.h
 * @rx_taken: messages dequeued since a reader was last to free @rx_spent
 * @rx_spent: messages that readers are done with, see rds_sock_dequeue()
 * @rx_grace: until then peers wait whose messages exceed the bound, in jiffies
 * @rx_over: a message came that exceeds the bound or was not charged, and since
 *	then a quarter of the bound was not free, or @rx_short was set
 * @rx_late: @rx_grace is over
 * @rx_told: the reader was told that such a message was dropped
 * @rx_short: a message could not be charged, and no memory was found since;
 *	then @congested is set, and the queue is not empty
 * @congested: more is queued than the receive buffer allows
 * @rx_wait: readers that wait
 * @rx_traces: number of entries of @rx_trace_pos, see protocol.rst 5.9
 * @rx_trace_pos: points of the latency trace that are reported
 * @notes: notes of remote memory operations that are over, for a reader
 * @notes_due: notes of remote memory operations under way
 * @zrecords: cookies of completed zero-copy sends, for a reader
 * @zspare: a record for the completion of each zero-copy message under way
 * @cong_lock: guards @cong_published and, once bound, @lmap; orders changes of
 *	the port's bit
 * @cong_published: the port's bit in @lmap
 * @mon_lock: guards @monitor, @cong_waits and @cong_notify
 * @mon: callback for updates of maps, registered while @monitor is set
 * @monitor: RDS_CONG_MONITOR; changed under the socket lock
 * @cong_waits: groups of ports to which a send was refused
 * @cong_notify: groups of @cong_waits in which a port became free, for a reader
 * @cong_seen: rds_cong_generation() at the last poll without @monitor
 * @cong_refused: a send was refused for congestion since the last poll that
 *	returned an event
 * @reports: what the socket is told of its peers, see sock/report.h
 * @reports_due: those of @reports with news for a reader
 * @nr_reports: number of @reports
 * @mr_lock: guards @mrs and @nr_mrs
 * @mrs: keys of the socket, by rkey
 * @nr_mrs: number of keys in @mrs
 * @memop_used: the socket has had keys or operations; never cleared
 */
struct rds_sock {
	struct sock			sk;
	struct rds_net			*rn;
	struct list_head		sock_node;
	struct rhash_head		bind_node;
	u32				bind_hash;
	struct in6_addr			bound_addr;
	int				bound_scope;
	__be16				bound_port;
	bool				local_only;
	bool				dead;
	u8				tos;
	bool				recverr;
	bool				has_sent;
	unsigned int			peer_timeout;
	const struct rds_transport	*trans;
	struct rds_cong_map		*lmap;

	spinlock_t			lock;
	struct in6_addr			dest;
	int				dest_scope;
	__be16				dest_port;
	bool				connected;
	struct rds_sock_flow		flow;

	struct rds_conn			*conn ____cacheline_aligned_in_smp;
	atomic64_t			snd;
	bool				snd_nospace;
	bool				answered;
	spinlock_t			sent_lock;
	struct hlist_head		sent;
	u64				last_send;
	wait_queue_head_t		snd_wait;
	struct rds_txpages		tx_pages;

	spinlock_t			rx_lock ____cacheline_aligned_in_smp;
	struct list_head		rx_queue;
	u64				rx_bytes;
	u64				rx_true;
	unsigned int			rx_count;
	unsigned int			rx_taken;
	int				rx_spare;
	int				rx_raised;
	struct llist_head		rx_spent;
	bool				congested;
	u8				rx_traces;
	u8 rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
	struct list_head		notes;
	wait_queue_head_t		rx_wait;
	struct list_head		zrecords;
	struct list_head		zspare;
	struct list_head		notes_due;
	u64				rx_excess;
	unsigned long			rx_grace;
	bool				rx_over;
	bool				rx_late;
	bool				rx_told;
	bool				rx_short;

	spinlock_t			cong_lock;
	bool				cong_published;
	spinlock_t			mon_lock;
	struct rds_cong_monitor		mon;
	bool				monitor;
	bool				cong_refused;
	u32				cong_seen;
	u64				cong_waits;
	u64				cong_notify;

	struct list_head		reports;
	struct list_head		reports_due;
	unsigned int			nr_reports;

	spinlock_t			mr_lock;
	struct rb_root			mrs;
	unsigned int			nr_mrs;
	bool				memop_used;
};

static inline struct rds_sock *rds_sk(struct sock *sk)
{
	return container_of(sk, struct rds_sock, sk);
}

/*
 * The port of the binding, whose other fields may be read after it; 0 while
 * unbound.
 */
static inline __be16 rds_sock_port(const struct rds_sock *rs)
{
	/* Pairs with the release in bind_try(). */
	return smp_load_acquire(&rs->bound_port);
}

/* Interface index that is reported with addresses of peers */
static inline int rds_sock_scope(const struct rds_sock *rs)
{
	return rs->bound_scope ? rs->bound_scope : READ_ONCE(rs->dest_scope);
}

/* SO_SNDBUF and SO_RCVBUF as set; the socket layer stores twice the value. */
static inline unsigned int rds_sock_sndbuf(const struct rds_sock *rs)
{
	return READ_ONCE(rs->sk.sk_sndbuf) / 2;
}

static inline unsigned int rds_sock_rcvbuf(const struct rds_sock *rs)
{
	return READ_ONCE(rs->sk.sk_rcvbuf) / 2;
}

/*
 * May the message that the socket sends be a turn of a dialogue?  The socket
 * has received one since it last sent one.
 */
static inline bool rds_sock_turn(struct rds_sock *rs)
{
	if (!READ_ONCE(rs->answered))
		return false;
	WRITE_ONCE(rs->answered, false);
	WRITE_ONCE(rs->last_send, 0);
	return true;
}

/* state.c: life, and the charge of messages */
void rds_sock_setup(struct rds_sock *rs, struct rds_net *rn);
void rds_sock_kill(struct rds_sock *rs);
void rds_sock_purge(struct rds_sock *rs);
bool rds_sock_charge(struct rds_sock *rs, u32 bytes);
int rds_sock_charge_wait(struct rds_sock *rs, u32 bytes, long timeo);
bool rds_sock_writable(const struct rds_sock *rs);
bool rds_sock_half_full(const struct rds_sock *rs);
bool rds_sock_streams(struct rds_sock *rs, u64 *path_last);
bool rds_sock_want_room(struct rds_sock *rs);
void rds_sock_sent(struct rds_sock *rs, unsigned int bytes, unsigned int msgs);
unsigned int rds_sock_nr_sent(const struct rds_sock *rs);
int rds_sock_state_init(void);
void rds_sock_state_exit(void);

/* notify.c: wake-ups and notifications */
void rds_sock_wake_rx(struct rds_sock *rs);
void rds_sock_wake_all(struct rds_sock *rs);
void rds_sock_wake_poll(struct rds_sock *rs, __poll_t key);
void rds_sock_monitor(struct rds_sock *rs, bool on);
void rds_sock_cong_wait(struct rds_sock *rs, u16 port);
u64 rds_sock_cong_take(struct rds_sock *rs);
void rds_sock_cong_return(struct rds_sock *rs, u64 groups);

#endif
