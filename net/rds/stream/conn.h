/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection of a stream: the engine on a queue pair.
 *
 * Ownership: a connection is counted.  Its socket has a reference, or the queue
 * of its listener before it is accepted; and its id has one, from
 * rds_ss_conn_new() to &rds_dev_id_ops.gone.  It is freed by RCU, so that who
 * finds it by rds_ss_sock.conn can take a reference.
 *
 * The socket: @sk is counted and stays until the connection is freed, because
 * its memory is charged there.  A socket whose attempt failed may have another
 * connection later; only the one that rds_ss_sock.conn points to changes the
 * socket.
 *
 * The end: rds_ss_conn_close() queues @close_work, once, which ends the id and
 * frees all that the device knows.  The memory for data stays until the last
 * reference is put: what has come can be read until then.
 *
 * Lock: rds_ss_conn.lock (spin, bh) guards the engine, @tx, @mems, @mute,
 * @closing and the account, and of the socket sk_err, sk_shutdown and sk_state
 * from the attempt on.  Nothing is posted without it, nor once @mute is set.
 * Order: rds_dev_id.lock > rds_ss_conn.lock > rds_ss_listener.lock, the
 * locks of ib_post_send() and of wait queues.
 */
#ifndef _RDS_STREAM_CONN_H
#define _RDS_STREAM_CONN_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>

#include <net/rds/dev_cq.h>
#include <net/rds/dev_id.h>

#include "decide.h"
#include "mem.h"
#include "post.h"
#include "tx.h"
#include "want.h"

struct rds_ss_listener;
struct rds_ss_net;

/**
 * struct rds_ss_conn - a connection
 * @ref: number of references
 * @rcu: see above
 * @id: connection id
 * @sn: namespace, counted
 * @serial: of the entry in rds_ss_net.conns
 * @sk: socket, counted, or NULL
 * @listener: listener that the request came for, counted, or NULL
 * @queue_node: entry in a queue of @listener, under its lock
 * @waits: it is, or was, in the queue of those to be accepted; the same lock
 * @peer_port: port of the peer that has dialled
 * @local_port: port from which this end has dialled, once it is known
 * @owned: the end of the id ends the connection; under rds_dev_id.lock.
 *	Before, who has made the connection forgets the id
 * @active: this end has dialled
 * @lock: see above
 * @e: engine
 * @peer: connect data of the peer
 * @up: both ends have their connect data, and the engine may be called
 * @left: TCP has taken over, and the socket is not told of this any more
 * @given_up: the program has ended the attempt
 * @flushed: work requests were flushed before it was up
 * @mute: nothing is posted any more
 * @refused: the device has refused a work request
 * @parting: all is said, and the peer is to end the connection
 * @closing: @close_work is queued, or has run
 * @closed: it has run
 * @prepared: errno of what was made for it, or 0
 * @broken: errno if the connection did not end as it should, or 0
 * @hangup: the peer has closed the connection
 * @unread: bytes that came and were not read; for reading without the lock
 * @tx: bytes to be sent
 * @base: table of targets and first halves
 * @base_mr: key of @base
 * @mems: memory for data, by rds_ss_mem.id
 * @grow: bytes of a spare that the engine has asked for, or 0
 * @charged: bytes charged to @sk
 * @want: what it was made with
 * @in_share: share of the namespace that it counts in
 * @is_request: it counts as a request that is not accepted, too
 * @early: room for early messages
 * @wire: see struct rds_ss_wire
 * @rx_post: place of the next receive that is posted, on iWARP
 * @rx_done: place of the next one that is completed
 * @cq: completion queue
 * @rx_cqe: of receives
 * @part_cqe: of a write that its message follows, on iWARP
 * @slots: messages under way
 * @close_work: ends the connection
 * @mem_work: makes spares, and ends keys of what they replace
 * @dial_lock: held while the attempt is dialled, which must not overlap with
 *	its end
 * @late_work: an orphan, or a peer that is to go first, has had its time
 * @cork_work: takes a cork out that was there for long
 * @heard: when a message last came, or was answered, in jiffies as all times
 *	here
 * @moved: when bytes were last completed, or since when some are to be
 * @flown: the same of messages
 * @probed: when a sign of life was last due
 * @tick_at: when @clock_work is due
 * @flies: a message was under way when that was looked at
 * @pending: the same of bytes that are not completed
 * @ticks: @clock_work is queued
 * @keep_cnt: signs of life without an answer, see keep.c
 * @keep_idle: time without a word before a sign of life is sent; 0: none
 * @keep_intvl: time to the next one
 * @user_timeout: time in which bytes are to be taken; 0: any
 * @clock_work: asks for a sign of life, and gives up; see keep.c
 * @nudges: writes of no bytes that are still to be sent after a time, unless a
 *	message comes before
 * @nudge_work: sends the next one
 */
struct rds_ss_conn {
	struct kref		ref;
	struct rcu_head		rcu;
	struct rds_dev_id	id;
	struct rds_ss_net	*sn;
	u32			serial;
	struct sock		*sk;
	struct rds_ss_listener	*listener;
	struct list_head	queue_node;
	bool			waits;
	u16			peer_port;
	u16			local_port;
	bool			owned;
	bool			active;
	spinlock_t		lock;
	struct rds_ss_engine	e;
	struct rds_ss_hello	peer;
	bool			up;
	bool			left;
	bool			given_up;
	bool			flushed;
	bool			mute;
	bool			refused;
	bool			parting;
	bool			closing;
	bool			closed;
	int			prepared;
	int			broken;
	bool			hangup;
	u32			unread;
	struct rds_ss_tx	tx;
	struct page		*base[RDS_SS_BASE_PAGES];
	struct rds_dev_mr	*base_mr;
	struct rds_ss_pages	mems[RDS_SS_MEMS];
	u32			grow;
	u32			charged;
	struct rds_ss_want	want;
	u8			in_share;
	bool			is_request;
	struct rds_ss_early	*early;
	struct rds_ss_wire	wire;
	u32			rx_post;
	u32			rx_done;
	struct rds_dev_cq	cq;
	struct ib_cqe		rx_cqe;
	struct ib_cqe		part_cqe;
	struct rds_ss_slot	slots[RDS_SS_SQ_MAX];
	struct work_struct	close_work;
	struct work_struct	mem_work;
	struct mutex		dial_lock;
	struct delayed_work	late_work;
	struct delayed_work	cork_work;
	unsigned long		heard;
	unsigned long		moved;
	unsigned long		flown;
	unsigned long		probed;
	unsigned long		tick_at;
	bool			flies;
	bool			pending;
	bool			ticks;
	u8			keep_cnt;
	unsigned long		keep_idle;
	unsigned long		keep_intvl;
	unsigned long		user_timeout;
	struct delayed_work	clock_work;
	u8			nudges;
	struct delayed_work	nudge_work;
};

extern struct rds_dev_user rds_ss_user;
extern struct workqueue_struct *rds_ss_wq;
extern struct workqueue_struct *rds_ss_close_wq;

/*
 * Make a connection at @dom, with the reference of its id and one for the
 * caller.  NULL: no memory, too many connections, or the device goes.
 */
struct rds_ss_conn *rds_ss_conn_new(struct rds_ss_net *sn,
				    struct rds_dev_domain *dom,
				    const struct rds_dev_laddr *local,
				    const struct in6_addr *remote,
				    const struct rds_ss_want *want,
				    bool request);

static inline bool rds_ss_conn_tryget(struct rds_ss_conn *conn)
{
	return kref_get_unless_zero(&conn->ref);
}

/* May sleep. */
void rds_ss_conn_put(struct rds_ss_conn *conn);

/*
 * The socket has the connection from now on: what memory it has is charged.
 * False if a limit does not allow that.  conn->lock is held.
 */
bool rds_ss_conn_own(struct rds_ss_conn *conn, struct sock *sk);

/*
 * End the connection; @err: what the socket gets, or 0.  conn->lock is held.
 */
void rds_ss_conn_close(struct rds_ss_conn *conn, int err);

/*
 * The program has closed the socket: what is queued is sent.  @now: it is not,
 * and the connection waits for nothing but a peer that would not hear of that.
 * _orphan: and waits for that no more, so it has orphan_ms left.
 */
void rds_ss_conn_leave(struct rds_ss_conn *conn, bool now);
void rds_ss_conn_orphan(struct rds_ss_conn *conn);

/*
 * A post was refused: fail the id, which nobody may do under conn->lock.  To be
 * called behind the unlock where rds_ss_pump() was called.
 */
void rds_ss_pumped(struct rds_ss_conn *conn);

/*
 * Something has come: tell the socket.  Bytes of the socket are free again.
 * The state may have changed: end the connection if the engine says so.
 * conn->lock is held.
 */
void rds_ss_conn_news(struct rds_ss_conn *conn, const struct rds_ss_news *news);
void rds_ss_conn_space(struct rds_ss_conn *conn);
void rds_ss_conn_look(struct rds_ss_conn *conn);

/* Bring @unread up to date.  conn->lock is held. */
void rds_ss_conn_unread(struct rds_ss_conn *conn);

/*
 * TCP_NODELAY and TCP_CORK; a cork is taken out after 200 ms.  conn->lock is
 * held, and rds_ss_pumped() is to be called.
 */
void rds_ss_conn_tune(struct rds_ss_conn *conn, bool nodelay, bool cork);

/* Memory is short: have a writer that polls look again in 200 ms. */
void rds_ss_conn_again(struct rds_ss_conn *conn);

/*
 * Bring the state of the socket up to date.  _report: the connection is over;
 * who waits is woken.  conn->lock is held.
 */
void rds_ss_conn_tell(const struct rds_ss_conn *conn, struct sock *sk);
void rds_ss_conn_report(struct rds_ss_conn *conn);

/* keep.c */
void rds_ss_clock_work(struct work_struct *work);
void rds_ss_nudge_work(struct work_struct *work);

/*
 * The connection is up.  Something was posted, queued or completed.  A message
 * was completed, and bytes with it.  conn->lock is held.
 */
void rds_ss_clock_begin(struct rds_ss_conn *conn);
void rds_ss_clock_look(struct rds_ss_conn *conn);
void rds_ss_clock_answer(struct rds_ss_conn *conn, bool moved);

/* The connection that this end has dialled is up.  conn->lock is held. */
void rds_ss_nudge_begin(struct rds_ss_conn *conn);

/* The socket that the connection may change, or NULL.  conn->lock is held. */
struct sock *rds_ss_conn_sk(const struct rds_ss_conn *conn);

#endif
