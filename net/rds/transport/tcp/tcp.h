/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDS over TCP.
 *
 * Objects.  A struct rds_tcp_net per network namespace; a struct rds_tcp_path
 * per path of the core (its private part); a struct rds_tcp_sock per TCP
 * socket, dialled or accepted.
 *
 * Lifetime.  An rds_tcp_sock owns its socket, and has one owner itself:
 *
 *   - listen.c, from accept to rds_path_incoming();
 *   - join.c, while it waits for the first frame;
 *   - the core, while it defers an accepted one (no callback of this module is
 *     installed);
 *   - its path, as rds_tcp_path.ts, from path_connect or path_attach to
 *     path_close.
 *
 * The socket's sk_user_data refers to it while callbacks are installed.  They
 * are installed and removed under the socket lock, and TCP calls them under the
 * socket lock only, so that none is running or about to once
 * rds_tcp_sock_detach() has returned.
 *
 * Sockets hold no reference to their namespace: all of them are released before
 * the namespace goes.  A socket that still has bytes to send when its path
 * gives it up takes a reference (rds_tcp_release_fin()).
 *
 * Locks, outermost first (kernel sockets have lock classes of their own;
 * classes of ours would make every socket hold this module on kernels with
 * lockdep):
 *
 *   control mutex of the path (the core's)
 *     > socket lock (lock_sock, or its spin lock in softirq)
 *       > sk_callback_lock, read by callbacks
 *         > what the core's upcalls take
 *   rds_tcp_net.listen_lock > socket lock of a listener
 *   rds_tcp_net.lock: the list of connections and rds_tcp_path.ts; innermost,
 *	also of what notifiers of devices and addresses hold
 *
 * The socket lock covers the mutable part of an rds_tcp_sock.
 */
#ifndef _RDS_TCP_H
#define _RDS_TCP_H

#include <linux/atomic.h>
#include <linux/bvec.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <net/sock.h>
#include <net/rds/stream.h>
#include <net/rds/transport.h>
#include <net/rds/walk.h>
#include "stats.h"

struct ctl_table;
struct ctl_table_header;

/* Entries of the vector given to TCP in one call; it is on the stack. */
#define RDS_TCP_BVECS		64
/*
 * Fragments of at least this size (on average) go to TCP by reference, smaller
 * ones as copies.
 */
#define RDS_TCP_SPLICE_MIN	1024
/* Delay before a retry after a shortage of memory */
#define RDS_TCP_RETRY_TIME	max(1, HZ / 100)

enum { RDS_TCP_LISTEN_V6, RDS_TCP_LISTEN_V4, RDS_TCP_LISTENERS };
/**
 * struct rds_tcp_net - a network namespace
 * @net: the network stack's object for it
 * @stopping: the namespace or the module goes: no connection is accepted any
 *	more
 * @listen_lock: covers @listener and @listen_failed
 * @listener: sockets that listen: one for both families, or one for each
 * @listen_failed: the port of a family was taken, and the log says so
 * @def_data_ready: sk_data_ready as TCP sets it
 * @def_state_change: sk_state_change as TCP sets it
 * @listen_work: opens the sockets that @listener lacks
 * @accept_work: accepts connections, and looks at @joins
 * @join_work: queues @accept_work when the oldest of @joins has waited enough
 * @joins: accepted connections that wait for their first frame; @accept_work
 *	alone uses the list
 * @nr_joins: number of @joins
 * @sndbuf: send buffer of each socket in bytes (sysctl); 0: TCP tunes it
 * @rcvbuf: receive buffer of each socket in bytes (sysctl); 0: TCP tunes it
 * @listens: peers can connect (sysctl)
 * @privileged: connections come from and go to peers at privileged ports only
 *	(sysctl)
 * @sysctl: registration of @sysctl_table
 * @sysctl_table: sysctls of this namespace
 * @stats: counters
 * @nr_socks: objects that exist, with any owner
 * @lock: guards @socks and rds_tcp_path.ts; innermost
 * @socks: connections that belong to a path
 */
struct rds_tcp_net {
	struct net			*net;
	bool				stopping;
	struct mutex			listen_lock;
	struct socket			*listener[RDS_TCP_LISTENERS];
	bool				listen_failed;
	void				(*def_data_ready)(struct sock *sk);
	void				(*def_state_change)(struct sock *sk);
	struct delayed_work		listen_work;
	struct work_struct		accept_work;
	struct delayed_work		join_work;
	struct list_head		joins;
	unsigned int			nr_joins;
	int				sndbuf;
	int				rcvbuf;
	int				listens;
	int				privileged;
	struct ctl_table_header		*sysctl;
	struct ctl_table		*sysctl_table;
	struct rds_tcp_stats __percpu	*stats;
	atomic_t			nr_socks;
	spinlock_t			lock;
	struct rds_walk_list		socks;
};

/**
 * enum rds_tcp_rx_state - what the next received byte is for
 * @RDS_TCP_RX_HEADER: a header
 * @RDS_TCP_RX_ALLOC: nothing yet: a header is complete, its message needs
 *	memory first
 * @RDS_TCP_RX_COPY: payload that is copied to rds_tcp_sock.buf
 * @RDS_TCP_RX_REF: payload that is referenced
 * @RDS_TCP_RX_SKIP: payload that is discarded
 * @RDS_TCP_RX_DEAD: nothing: the rest of the stream cannot be parsed
 */
enum rds_tcp_rx_state {
	RDS_TCP_RX_HEADER,
	RDS_TCP_RX_ALLOC,
	RDS_TCP_RX_COPY,
	RDS_TCP_RX_REF,
	RDS_TCP_RX_SKIP,
	RDS_TCP_RX_DEAD,
};

/**
 * struct rds_tcp_sock - one TCP connection
 * @tn: namespace
 * @sock: the socket
 * @path: path it belongs to, or NULL
 * @node: in rds_tcp_net.joins, and in rds_tcp_net.socks once it has @path
 * @data_ready: sk_data_ready before the attach, restored by the detach
 * @state_change: sk_state_change before the attach
 * @write_space: sk_write_space before the attach
 * @up: rds_path_up() returned that the path uses this connection
 * @closing: the core closes the connection, and is not told that it is lost
 * @drained: the core does not wait for the end of the peer any more
 * @closed: detached: @retry may not be queued any more
 * @tx_blocked: ->xmit() was blocked, and rds_path_writable() was not called
 * @rx_stalled: bytes are left in TCP's queue, which @retry takes later
 * @rx_paused: @retry takes them at once, and the callbacks leave that to it
 * @rx_last: the connection ends: only what the peer repeats waits for a reader
 * @una: snd_una of the last report to the core
 * @una_pos: position on the path of @una
 * @last_start: write sequence at the start of the message begun last
 * @last_end: write sequence just past it
 * @repeats: how often TCP had repeated the SYN, or the first bytes that are not
 *	acknowledged, when its timer was set here
 * @watched: time for a sign of life of the peer, in jiffies; 0: TCP decides
 * @accepted: when it began to wait in rds_tcp_net.joins, in jiffies
 * @alive: since when bytes wait for the next acknowledgement, in jiffies
 * @pacing: @retry looks at the pace
 * @cut_off: whether the device or the local address is gone; written under
 *	rds_tcp_net.lock, and @retry tells the core
 * @cut_off_told: what the core was told of that
 * @stream: parser of the received bytes
 * @rx_state: see enum rds_tcp_rx_state
 * @inc: message being received, owned by the connection until it is delivered
 * @buf: where the next byte of the payload of @inc is copied to
 * @retry: receives and sends what was left; keeps the pace of the SYNs while
 *	this end dials, and that of retransmissions
 */
struct rds_tcp_sock {
	struct rds_tcp_net	*tn;
	struct socket		*sock;
	struct rds_path		*path;
	struct list_head	node;

	void			(*data_ready)(struct sock *sk);
	void			(*state_change)(struct sock *sk);
	void			(*write_space)(struct sock *sk);

	bool			up;
	bool			closing;
	bool			drained;
	bool			closed;
	bool			tx_blocked;
	bool			rx_stalled;
	bool			rx_paused;
	bool			rx_last;
	bool			pacing;
	u8			cut_off;
	bool			cut_off_told;
	u8			repeats;

	u32			una;
	u32			last_start;
	u32			last_end;
	u64			una_pos;
	unsigned long		watched;
	unsigned long		alive;
	unsigned long		accepted;

	struct rds_stream	stream;
	enum rds_tcp_rx_state	rx_state;
	struct rds_incoming	*inc;
	u8			*buf;
	struct delayed_work	retry;
};

/**
 * struct rds_tcp_path - private part of a path
 * @ts: present connection, or NULL
 */
struct rds_tcp_path {
	struct rds_tcp_sock	*ts;
};

/* main.c */
extern const struct rds_transport rds_tcp_transport;
extern struct workqueue_struct *rds_tcp_wq;
struct rds_tcp_net *rds_tcp_net(struct net *net);

/* sock.c */
int rds_tcp_sock_init(void);
void rds_tcp_sock_exit(void);
struct rds_tcp_sock *rds_tcp_sock_new(struct rds_tcp_net *tn,
				      struct socket *sock);
void rds_tcp_sock_free(struct rds_tcp_sock *ts);
void rds_tcp_tune(struct rds_tcp_net *tn, struct socket *sock);
void rds_tcp_release_fin(struct socket *sock);
void rds_tcp_release_rst(struct socket *sock);
void rds_tcp_refuse(struct net *net, void *handle);

/* listen.c */
void rds_tcp_listen_init(struct rds_tcp_net *tn);
void rds_tcp_listen_try(struct rds_tcp_net *tn);
void rds_tcp_listen_kick(struct rds_tcp_net *tn);
void rds_tcp_listen_stop(struct rds_tcp_net *tn);
void rds_tcp_listen_exit(struct rds_tcp_net *tn);
void rds_tcp_accepted(struct rds_tcp_sock *ts);
void rds_tcp_sock_addr(const struct sock *sk, struct rds_path_addr *addr);

/* join.c */
void rds_tcp_join_init(struct rds_tcp_net *tn);
void rds_tcp_join_exit(struct rds_tcp_net *tn);
void rds_tcp_join_wait(struct rds_tcp_sock *ts);
void rds_tcp_join_step(struct rds_tcp_net *tn);

/* connect.c */
bool rds_tcp_addr_local(struct net *net, const struct in6_addr *addr,
			u32 scope);
int rds_tcp_path_connect(struct rds_path *path);
void rds_tcp_dial_again(struct rds_tcp_sock *ts);
void rds_tcp_path_attach(struct rds_path *path, void *handle);

/* watch.c */
void rds_tcp_path_watch(struct rds_path *path, unsigned int interval,
			unsigned int limit);
void rds_tcp_watch_send(struct rds_tcp_sock *ts);
void rds_tcp_pace(struct rds_tcp_sock *ts);

/* callbacks.c, recv.c: the socket is locked for all but rds_tcp_retry() */
void rds_tcp_sock_attach(struct rds_tcp_sock *ts);
void rds_tcp_sock_detach(struct rds_tcp_sock *ts);
void rds_tcp_established(struct rds_tcp_sock *ts);
void rds_tcp_ended(struct rds_tcp_sock *ts);
bool rds_tcp_look_acked(struct rds_tcp_sock *ts);
void rds_tcp_report_acked(struct rds_tcp_sock *ts);
void rds_tcp_retry_after(struct rds_tcp_sock *ts, unsigned long delay);
void rds_tcp_retry_later(struct rds_tcp_sock *ts, unsigned long delay);
void rds_tcp_retry(struct work_struct *work);
bool rds_tcp_receive(struct rds_tcp_sock *ts);

/* send.c */
enum rds_tx_result rds_tcp_xmit(struct rds_path *path,
				struct rds_tx_batch *batch);

/* netdev.c */
int rds_tcp_netdev_init(void);
void rds_tcp_netdev_exit(void);
void rds_tcp_netdev_step(struct rds_tcp_sock *ts);

/* close.c, info.c, sysctl.c */
unsigned long rds_tcp_path_drain(struct rds_path *path);
void rds_tcp_look_drained(struct rds_tcp_sock *ts);
void rds_tcp_path_close(struct rds_path *path, bool graceful);
void rds_tcp_info_init(void);
void rds_tcp_info_exit(void);
int rds_tcp_sysctl_init(struct rds_tcp_net *tn);
void rds_tcp_sysctl_exit(struct rds_tcp_net *tn);

#endif
