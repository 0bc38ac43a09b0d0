/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths: the core's side of a transport's connection, and the worker that
 * brings it up and down.
 *
 * Lifetime: a path is part of its connection and lives exactly as long.  Queued
 * work of the path holds a reference to the connection; the upcalls of the
 * transport need none, because they end with path_close.
 *
 * Locks, outermost first:
 *
 *	rds_cpath.ctl	mutex: dialling, attaching, closing; `backoff`,
 *			`dial_after`, `failing_since`, `needed`,
 *			`attaching`, `watched`, `probing`, `told`, `told_gen`,
 *			`short_ones`, `closing`, `graceful`, `drain_until`;
 *			idle_tell_again() sets `told_again` without it, and
 *			alone uses `tell_time`, `tell_wait`.
 *			The functions of the transport path_connect,
 *			path_attach, path_watch, path_drain and path_close
 *			run under it.
 *			Of `attaching` see rds_parked_claim().
 *	  rds_txq.xmit_map  (waited for in teardown)
 *	    transport's own locks, such as TCP's socket lock
 *	      rds_cpath.lock	spin, bh: `state`, `reason`, `up_since`,
 *				`steady`, `ended`, `in_order`, which
 *				path_move() alone writes; `retiring`,
 *				`dial_wanted`, `incoming`, `nr_incoming`,
 *				`parked`, `route`
 *	        rds_txq.lock
 *
 * rds_conn_table.lock is taken inside rds_cpath.ctl, and both spin locks inside
 * that.
 *
 * The state is UP from rds_path_up() until the first LOST; the transmit queue
 * is open just as long, because both change under rds_cpath.lock.
 */
#ifndef _RDS_CONN_PATH_H
#define _RDS_CONN_PATH_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include <net/rds/transport.h>
#include "conn/fsm.h"
#include "recv/rx_state.h"
#include "send/txq.h"

struct rds_conn;

/* Connections of the peer that may be parked; more are refused. */
#define RDS_PATH_MAX_INCOMING	8

/* Time in which a peer is expected to answer a handshake, in jiffies */
#define RDS_PATH_ANSWER_TIME	(3 * HZ)

/* A connection that waits until its path is free */
struct rds_parked {
	void			*handle;	/* of the transport */
	u16			port;		/* source port of the peer */
	struct rds_path_addr	route;		/* its addresses */
};

/**
 * struct rds_cpath - a path with the core's private part
 * @pub: part that the transport sees
 * @conn: connection that the path is part of
 * @lock: guards @state, @reason, @up_since, @steady, @ended, @retiring,
 *	@dial_wanted, @incoming, @nr_incoming, @parked, @route
 * @state: see fsm.h
 * @reason: why the last connection was lost
 * @ctl: control mutex
 * @ctl_work: closes, attaches or dials, depending on @state
 * @tx_work: transmits when no system call does
 * @ack_timer: has what was delivered some time ago acknowledged; while it is
 *	pending, it holds the connection
 * @backoff: upper bound of the wait before the next attempt, in jiffies; 0
 *	means at once
 * @dialled: time of the last dial, in jiffies
 * @dial_after: earliest time of the next dial, in jiffies
 * @failing_since: when the path was last of use, or was not needed, in jiffies;
 *	see pace.c
 * @up_since: time of the last change to UP, in jiffies
 * @steady: the last connection had been up for STEADY_TIME when it was lost
 * @needed: a message waited for the path, or the peer for a dial, when the
 *	worker last looked
 * @hope: the peer has shown that it is there; any context sets it
 * @crossed: a connection of the peer was refused in favour of the last dial
 * @attaching: the peer opened the connection that is coming up
 * @ended: the connection was up that is being taken down
 * @told: when the last connection ended the peer's transport had all that was
 *	sent, and the peer had been told of all that is delivered here
 * @told_again: the path was wanted up to tell that, and has not been steady
 *	since
 * @told_gen: generation of the peer that @told is about
 * @tell_time: when it was wanted for that, in jiffies
 * @tell_wait: time after which it is wanted again, in jiffies
 * @in_order: the last connection that was up, and over which the peer sent
 *	something, has ended for nobody used it, or the peer closed it
 * @dialled_idle: no message waited for the last dial
 * @retiring: the path is about to be made dead; written under @lock
 * @refused: an event was refused for that; under @lock
 * @short_ones: number of short connections in a row over which the peer sent
 *	something, up to a limit
 * @closing: the end of the present connection has begun, see close.c
 * @graceful: it ends in good order
 * @drained: it need not be waited for any more; any context sets it
 * @drain_until: time until which it is waited for at most, in jiffies
 * @watched: the transport has to find out soon that the connection is dead
 * @cut_off: the network of the present connection is gone
 * @joins: the present connection, or the attempt, is between further addresses,
 *	and begins with a frame that says so; written under @ctl before the
 *	connection is up
 * @dial_wanted: a message waits for the peer, or the peer asked this end to
 *	dial
 * @incoming: parked connections, opened by the peer, oldest first
 * @nr_incoming: number of @incoming
 * @parked: when one was parked while there was none, in jiffies
 * @route: addresses of the connection that is coming up, or is up, if the peer
 *	opened it (@attaching)
 * @port: source port of the peer, if it opened the present connection; written
 *	under @ctl before the connection is up
 * @probing: the path is up while @incoming has a connection, and a map was sent
 *	as a probe to find out which of the two the peer uses
 * @probe_until: time at which the present connection is given up for the parked
 *	one, in jiffies
 * @idle_look: when the worker looks next whether loopback is used, in jiffies
 * @idle_seq: number of the next message, at the last such look
 * @txq: transmit side
 * @rx: receive side
 */
struct rds_cpath {
	struct rds_path		pub;
	struct rds_conn		*conn;
	spinlock_t		lock;
	enum rds_cpath_state	state;
	enum rds_drop_reason	reason;
	bool			steady;
	bool			crossed;
	bool			attaching;
	bool			watched;
	bool			joins;
	bool			cut_off;
	bool			needed;
	bool			hope;
	bool			ended;
	bool			told;
	bool			told_again;
	bool			in_order;
	bool			dialled_idle;
	bool			retiring;
	bool			refused;
	bool			closing;
	bool			graceful;
	bool			drained;
	u8			short_ones;
	struct mutex		ctl;
	struct delayed_work	ctl_work;
	struct work_struct	tx_work;
	struct timer_list	ack_timer;
	unsigned long		backoff;
	unsigned long		dialled;
	unsigned long		dial_after;
	unsigned long		failing_since;
	unsigned long		up_since;
	u32			told_gen;
	unsigned long		tell_time;
	unsigned long		tell_wait;
	unsigned long		drain_until;
	struct rds_parked	incoming[RDS_PATH_MAX_INCOMING];
	struct rds_path_addr	route;
	u16			port;
	u8			nr_incoming;
	bool			dial_wanted;
	bool			probing;
	unsigned long		parked;
	unsigned long		probe_until;
	unsigned long		idle_look;
	u64			idle_seq;
	struct rds_txq		txq;
	struct rds_rx_state	rx;
};

#define rds_to_cpath(path)	container_of(path, struct rds_cpath, pub)

/**
 * rds_cpath_create - make a path
 * @conn: connection that the path will be part of; addresses, maps and
 *	transport are set
 * @index: number of the path in @conn
 *
 * Context: process, may sleep.
 * Return: the path or ERR_PTR(-ENOMEM).
 */
struct rds_cpath *rds_cpath_create(struct rds_conn *conn, unsigned int index);

/* Free a path that is DEAD or was never used.  May sleep. */
void rds_cpath_destroy(struct rds_cpath *cp);

/*
 * Take the path down for good: none of its upcalls and works runs after the
 * return.  May sleep.
 */
void rds_cpath_kill(struct rds_cpath *cp);

/* A message waits: dial if the path is down.  Any context. */
void rds_cpath_want(struct rds_cpath *cp);

/* Let the transmit worker run the queue.  Any context. */
void rds_cpath_kick(struct rds_cpath *cp);

/*
 * Acknowledge what is delivered a moment later, as a message that goes there
 * may do so before.  Any context.
 */
void rds_cpath_ack_later(struct rds_cpath *cp);

/*
 * Let the control worker look at the path, after @delay jiffies.  Any context.
 */
void rds_cpath_control(struct rds_cpath *cp, unsigned long delay);

/*
 * Let the control worker look after @delay jiffies, in place of the time for
 * which it is queued, if it is.  Any context.
 */
void rds_cpath_control_by(struct rds_cpath *cp, unsigned long delay);

/*
 * Take a connection that the peer opened, see rds_path_incoming().  Any
 * context.
 */
bool rds_cpath_incoming(struct rds_cpath *cp, const struct rds_parked *parked);

enum rds_cpath_state rds_cpath_state(const struct rds_cpath *cp);

/* Did the path ever carry a message, or a handshake? */
bool rds_cpath_used(const struct rds_cpath *cp);

/**
 * rds_cpath_retire_begin - begin to make a path dead that is not needed
 * @cp: the path
 *
 * A path is not needed if it is down and has no message but probes, no dial is
 * wanted, and no connection is parked.  From here on it stays down, and refuses
 * messages and connections.
 *
 * Context: any but hard interrupts; under rds_conn_table.lock.
 * Return: false if the path is needed.
 */
bool rds_cpath_retire_begin(struct rds_cpath *cp);

/*
 * Make the path @dead, or let it go on if rds_cpath_retire_begin() was called
 * and another path is needed.
 */
void rds_cpath_retire_end(struct rds_cpath *cp, bool dead);

/*
 * The path is dead: its control worker is not queued to dial later, and keeps
 * no reference for that.  Process context; the caller may be the worker.
 */
void rds_cpath_wait_no_more(struct rds_cpath *cp);

/* Does the path not come up any more, as far as can be said now? */
bool rds_cpath_is_gone(const struct rds_cpath *cp);

/*
 * Change the state; false if the event is refused.  @why: for RDS_EV_LOST, else
 * RDS_DROP_NONE.
 */
bool rds_cpath_event(struct rds_cpath *cp, enum rds_cpath_event event,
		     enum rds_drop_reason why);

/*
 * End a connection that is up and idle, unless a message is queued.  A message
 * would not be lost, but a remote-memory operation that has begun is not
 * repeated.  A message that is queued after the return waits for the next
 * connection.  Any context but hard interrupts.
 */
void rds_cpath_end_unused(struct rds_cpath *cp);

#endif
