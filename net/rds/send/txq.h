/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transmit side of a path: messages waiting, being handed to the transport, and waiting for
 * their acknowledgement, and the gate through which at most one transmitter passes.
 *
 *	queue --> sending --> inflight --> acknowledged, freed
 *	  ^_________|____________|   (path lost: back to the front, in order)
 *
 * Locking: rds_txq.lock (bottom halves off) guards everything here, including the fields of
 * messages on the lists.  While `busy` is set, one context, the transmitter, owns the list
 * `sending` and the batch: others may read the list under the lock and set flags in its
 * messages, but neither add nor remove.  The transmitter works without the lock and takes it
 * to move messages.  `busy` is annotated as a lock (xmit_map), so lockdep knows about it.
 *
 * The gate: transmission needs `open`.  rds_txq_close() clears it and waits for the transmitter
 * to leave; after it nobody is inside the transport's ->xmit().  A context that finds `busy`
 * set has put its message on the queue under the same lock that the transmitter takes before
 * it leaves, so the transmitter sees it.
 *
 * Order: a socket's locks are never taken inside; released messages are accounted to their
 * sockets after the lock is dropped, within one RCU read section.
 */
#ifndef _RDS_SEND_TXQ_H
#define _RDS_SEND_TXQ_H

#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <net/rds/tx.h>

struct rds_memop_op;
struct rds_message;
struct rds_path;
struct rds_net;
struct rds_sock;

/* Probes of the kernel's own that may wait on one path; more are counted and not sent. */
#define RDS_TXQ_MAX_PROBES	1024

/* A message of at least this size is transmitted by its sender, if nobody else does already. */
#define RDS_TXQ_DIRECT_BYTES	32768

/**
 * struct rds_txq - transmit state of one path
 * @lock: see above
 * @path: whose
 * @rn: namespace, for counters
 * @queue: not yet given to the transport
 * @sending: given in part or about to be; belongs to the transmitter while @busy
 * @inflight: taken by the transport, not yet acknowledged
 * @batch: the transmitter's place in @sending
 * @next_seq: number for the next message queued, from 1
 * @una: everything before this position is acknowledged
 * @map_fn: makes the congestion map message when one is due; NULL if maps do not travel
 * @map_end: position just past the last map that was made and sent since rds_txq_probe(), or
 *	U64_MAX
 * @nr_probes: RDS_MSG_PROBE messages on all lists
 * @open: the path is up
 * @busy: a transmitter is inside
 * @blocked: the transport has no room; rds_path_writable() clears it
 * @map_due: a congestion map goes out before the next message
 * @used: a message that counts was handed to the transport, once in the life of the queue
 * @last_send: when a message was sent that may be part of a stream, by local_clock()
 * @gone: the path is being destroyed; nothing can be queued any more
 * @probe_due: that map is one whose acknowledgement is waited for
 * @room: the transport had room again while a transmitter was inside
 * @idle: rds_txq_close() sleeps here until @busy is clear
 * @xmit_map: lockdep's view of @busy
 */
struct rds_txq {
	spinlock_t		lock;
	struct rds_path		*path;
	struct rds_net		*rn;
	struct list_head	queue;
	struct list_head	sending;
	struct list_head	inflight;
	struct rds_tx_batch	batch;
	u64			next_seq;
	u64			una;
	u64			map_end;
	unsigned int		nr_probes;
	bool			open;
	bool			busy;
	bool			blocked;
	bool			map_due;
	bool			probe_due;
	bool			room;
	bool			used;
	bool			gone;
	u64			last_send;
	struct rds_message *(*map_fn)(struct rds_path *path);
	wait_queue_head_t	idle;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map	xmit_map;
#endif
};

/* How rds_txq_run() left the queue */
enum rds_txq_state {
	RDS_TXQ_IDLE,		/* nothing left, or somebody else is at it */
	RDS_TXQ_WAITS,		/* the transport has no room, or the gate is closed */
	RDS_TXQ_MORE,		/* more is waiting: have rds_txq_run() run by the worker */
	RDS_TXQ_GONE,		/* not queued: the path is being destroyed */
};

void rds_txq_init(struct rds_txq *txq, struct rds_path *path, struct rds_net *rn,
		  struct rds_message *(*map_fn)(struct rds_path *path));

/* Free all messages; nobody may use the queue any more. */
void rds_txq_destroy(struct rds_txq *txq);

/**
 * rds_txq_send - put a message on the queue and transmit, if nobody else does
 * @txq: the queue
 * @m: numbered here; the queue's from here on, unless RDS_TXQ_GONE is returned
 *
 * Context: process, may sleep, no locks held.
 */
enum rds_txq_state rds_txq_send(struct rds_txq *txq, struct rds_message *m);

/**
 * rds_txq_add_probe - put a message of the kernel's own on the queue
 * @txq: the queue
 * @m: as in rds_txq_send(); freed if too many are waiting
 *
 * Context: any but hard interrupts.
 * Return: true if the caller should have rds_txq_run() run.
 */
bool rds_txq_add_probe(struct rds_txq *txq, struct rds_message *m);

/**
 * rds_txq_run - transmit what is queued, if nobody else does
 * @txq: the queue
 *
 * Context: process, may sleep, no locks held.
 */
enum rds_txq_state rds_txq_run(struct rds_txq *txq);

/* A map is due.  Returns whether the queue should be run. */
bool rds_txq_map_due(struct rds_txq *txq);

/*
 * Have a map sent, and learn whether the peer acknowledged it: a sign of life that nothing sent
 * before can give.
 */
void rds_txq_probe(struct rds_txq *txq);
bool rds_txq_probe_acked(struct rds_txq *txq);

/* Room again.  Returns whether the queue should be run. */
bool rds_txq_unblock(struct rds_txq *txq);

/* Open the gate: positions start at 0, a map goes first.  Any context. */
void rds_txq_open(struct rds_txq *txq);

/* Close the gate and wait until no transmitter is inside.  May sleep. */
void rds_txq_close(struct rds_txq *txq);

/* Close the gate without waiting. */
void rds_txq_shut(struct rds_txq *txq);

/* Retire everything before @pos. */
void rds_txq_acked(struct rds_txq *txq, u64 pos);

/*
 * An operation is over whose message may be one that is not sent itself: then it is retired, as
 * no acknowledgement comes for it.
 */
void rds_txq_op_done(struct rds_txq *txq, struct rds_memop_op *op);

/* After rds_txq_close(): everything unacknowledged back to the front of the queue, flagged. */
void rds_txq_rewind(struct rds_txq *txq);

/* The peer rebooted: number anew, and do not repeat what it may have had. */
void rds_txq_peer_rebooted(struct rds_txq *txq);

/**
 * rds_txq_cancel - drop a socket's messages
 * @txq: the queue
 * @rs: socket
 * @dport: to this port only, host order; -1 for all
 *
 * A message the transport has part of is finished, but not charged any more.
 */
void rds_txq_cancel(struct rds_txq *txq, struct rds_sock *rs, int dport);

/* Is nothing queued, being sent or unacknowledged? */
bool rds_txq_empty(struct rds_txq *txq);

/* Let nothing be queued any more, if nothing is; or, with @force, anyway. */
bool rds_txq_abandon(struct rds_txq *txq, bool force);

/* For dumps.  fn runs under the queue's lock. */
void rds_txq_visit(struct rds_txq *txq, bool started,
		   void (*fn)(const struct rds_message *m, void *arg), void *arg);

/* Number the next message will get */
u64 rds_txq_next_seq(struct rds_txq *txq);

extern unsigned int rds_send_batch_count;

#endif
