/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transmit side of a path: messages that are queued, that are being handed
 * to the transport, and that wait for their acknowledgement; and the gate,
 * which admits at most one transmitter.
 *
 *	queue --> sending --> inflight [--> kept] --> acknowledged, freed
 *	  ^_________|____________|__________|   (path lost: back to the front)
 *
 * `kept` is for peers that acknowledge by number: the peer's transport has
 * these messages, its core has not said so.
 *
 * The queue with its lists and numbers is a lane, and the gate of another path
 * may carry it (send/carry.h).
 *
 * Locking: rds_txq.lock (bottom halves off) guards all fields of the queue, and
 * the fields of the messages on its lists.  While `busy` is set, one context,
 * the transmitter, owns the list `sending` and the batch: other contexts may
 * read the list and set flags in its messages under the lock, but neither add
 * messages nor remove them.  The transmitter works without the lock and takes
 * it to move messages.  For lockdep `busy` is annotated as a lock (xmit_map).
 *
 * The gate: a transmitter needs `open`.  rds_txq_close() clears `open` and
 * waits until the transmitter leaves; after that no context is inside the
 * transport's ->xmit().  A context that finds `busy` set has queued its message
 * under the lock that the transmitter takes before it leaves, so the
 * transmitter sees the message.
 *
 * Order: of a socket only sent_lock is taken inside rds_txq.lock.  Messages are
 * released after the lock is dropped, within one RCU read section.  Only
 * cancelling and keeping end a charge, and may wake senders, under the lock.
 */
#ifndef _RDS_SEND_TXQ_H
#define _RDS_SEND_TXQ_H

#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <net/rds/tx.h>
#include "send/ack.h"
#include "send/due.h"

struct rds_operation;
struct rds_message;
struct rds_path;
struct rds_net;

/**
 * struct rds_txq - transmit state of one path
 * @lock: guards all fields and the messages on the lists, see Locking
 * @path: path of the queue
 * @rn: namespace, for counters
 * @queue: messages that no transmitter has taken
 * @sending: those that the transport gets, the transmitter's while @busy
 * @inflight: messages that the transport has taken, not acknowledged
 * @kept: those that the peer's transport has, for RDS_TXQ_BY_NUMBER
 * @kept_bytes: memory of @kept, see rds_txq_kept_size()
 * @paid_bytes: memory of messages whose senders are not charged any more
 * @paid_room: memory of the namespace that is set aside for @paid_bytes
 * @batch: position of the transmitter in @sending
 * @next_seq: number of the next message that is queued, from 1
 * @numbered: when a message but a probe got a number, in jiffies; read at any
 *	time
 * @taken_seq: highest number that a transmitter has taken
 * @una: position up to which the peer has acknowledged all bytes or messages
 * @una_seq: number up to which the peer has delivered all messages, as it said
 *	over any connection; for RDS_TXQ_BY_NUMBER
 * @ack_sent: highest acknowledgement over the present connection
 * @delivered: number up to which the peer's messages are delivered; the
 *	receiver writes it
 * @ops: operations of the path
 * @map_end: end of the message that rds_txq_probe() asked for; U64_MAX: not
 *	sent yet
 * @nr_messages: messages of the lane, or the gate's own, on all lists
 * @nr_probes: RDS_MSG_PROBE messages of them
 * @nr_again: RDS_MSG_AGAIN messages on all lists
 * @probed: number of RDS_MSG_PROBE messages that were ever queued
 * @open: the path is up, so transmitters are admitted
 * @busy: a transmitter is inside the gate
 * @blocked: the transport has no room; rds_path_writable() clears the flag
 * @held: messages wait until the peer has said which ones it has
 * @fenced: messages wait for the fence of the first lane
 * @moves: the peer takes messages of other lanes over the present connection
 * @returning: the lane goes back to its own gate once the carrier has none of
 *	its messages
 * @tagged: headers of messages on @queue may name the lane
 * @carrier: gate that takes the messages of this lane; NULL: its own
 * @carried: first of the other lanes that this gate takes messages of
 * @next_carried: next one of them
 * @from: lane of the numbered messages on @sending; NULL: its own
 * @away: messages of this lane on the carrier's @sending
 * @map: the last map that was made, to compare with
 * @map_pos: end of the last map that was made for the present connection;
 *	U64_MAX: not sent yet
 * @lanes: number of lanes that senders have to know, see rds_txq_send()
 * @fence: messages with lower numbers go before those of other lanes; 0 for
 *	none
 * @greeted: the present connection began with a handshake
 * @dropped: that handshake is a duplicate for an old peer
 * @late: a connection began without a handshake; never cleared
 * @met: a connection began with a handshake; never cleared
 * @acks: the peer takes acknowledgements by number over the present connection
 * @asked: number of the last message over the present connection that asks for
 *	an acknowledgement
 * @want_ack: @queue or @sending has a zero-copy message
 * @turn: the transmitter sends what may be a turn of a dialogue
 * @untidy: acknowledged messages are left, see rds_txq_tidy()
 * @rule: when a message is acknowledged over the present connection
 * @undecided: since when @rule is RDS_TXQ_UNDECIDED, in jiffies
 * @due: RDS_DUE_* that are sent before the next message
 * @used: a message was put on @inflight; never cleared
 * @bulk: time of the last large message, in jiffies
 * @last_send: local_clock() at the last message that may be part of a stream,
 *	roughly
 * @streams: @last_send of the first path, for all lanes of a connection
 * @gone: the path is being destroyed: the queue refuses messages
 * @probe_due: the next message of this kind, RDS_DUE_*, is a probe, whose
 *	acknowledgement is waited for; 0: none is
 * @room: rds_path_writable() was called since ->xmit() was entered
 * @visited: the last message that a dump has visited, see send/visit.c
 * @idle: wait queue of rds_txq_close(), which waits until @busy is clear
 * @xmit_map: @busy as a lock, for lockdep
 */
struct rds_txq {
	spinlock_t		lock;
	unsigned int		away;
	struct rds_path		*path;
	struct rds_net		*rn;
	struct list_head	queue;
	struct list_head	sending;
	struct list_head	inflight;
	struct list_head	kept;
	unsigned int		kept_bytes;
	unsigned int		paid_bytes;
	unsigned int		paid_room;
	unsigned int		nr_messages;
	unsigned int		nr_probes;
	struct rds_tx_batch	batch;
	u64			next_seq;
	unsigned long		numbered;
	u64			taken_seq;
	u64			una;
	u64			una_seq;
	u64			ack_sent;
	u64			asked;
	const u64		*delivered;
	u64			fence;
	struct rds_txq		*carrier;
	struct rds_txq		*carried;
	struct rds_txq		*next_carried;
	struct rds_txq		*from;
	const struct rds_message *map;
	u64			map_pos;
	u64			map_end;
	bool			open;
	bool			busy;
	bool			blocked;
	bool			held;
	bool			fenced;
	bool			moves;
	bool			returning;
	bool			tagged;
	u8			lanes;
	bool			greeted;
	bool			dropped;
	bool			late;
	bool			met;
	bool			acks;
	bool			want_ack;
	bool			turn;
	bool			untidy;
	u8			due;
	u8			probe_due;
	bool			room;
	bool			used;
	bool			gone;
	unsigned int		nr_again;
	u64			probed;
	enum rds_txq_rule	rule;
	unsigned long		undecided;
	unsigned long		bulk;
	u64			last_send;
	u64			*streams;
	const struct rds_txq_ops *ops;
	struct rds_message	*visited;
	wait_queue_head_t	idle;
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map	xmit_map;
#endif
};

/* State in which rds_txq_send() and rds_txq_run() leave the queue */
enum rds_txq_state {
	/* no message is left, or another context transmits */
	RDS_TXQ_IDLE,
	/* the transport has no room, or the gate is closed */
	RDS_TXQ_WAITS,
	/* messages are left: the worker has to call rds_txq_run() */
	RDS_TXQ_MORE,
	RDS_TXQ_GONE,		/* not queued: the path is being destroyed */
	RDS_TXQ_MOVED,		/* not queued: the lanes have changed */
	RDS_TXQ_AWAY,		/* queued; the worker of another path sends */
};

void rds_txq_init(struct rds_txq *txq, struct rds_path *path,
		  struct rds_net *rn, const struct rds_txq_ops *ops,
		  const u64 *delivered);

/* Free all messages.  The queue is not used any more.  May sleep. */
void rds_txq_destroy(struct rds_txq *txq);

/**
 * rds_txq_send - queue a message, and transmit it or leave it to the worker
 * @txq: queue
 * @m: message, numbered here; owned by the queue unless RDS_TXQ_GONE or
 *	RDS_TXQ_MOVED is returned
 * @lanes: number of lanes from which the sender chose this queue
 *
 * Context: process, may sleep, no locks held.
 * Return: RDS_TXQ_MORE also if the message is part of a stream, which the
 * worker transmits.
 */
enum rds_txq_state rds_txq_send(struct rds_txq *txq, struct rds_message *m,
				unsigned int lanes);

/**
 * rds_txq_add - queue a message
 * @txq: queue that the caller keeps from being abandoned
 * @m: message, numbered here; owned by the queue if true is returned
 * @lanes: number of lanes from which the caller chose this queue
 *
 * Context: any but hard interrupts.  The caller calls rds_txq_run() afterwards.
 * Return: false if there is another number of lanes.
 */
bool rds_txq_add(struct rds_txq *txq, struct rds_message *m,
		 unsigned int lanes);

/**
 * rds_txq_add_probe - queue a probe, or free it
 * @txq: queue
 * @m: probe, numbered here; freed if this queue, or all, hold too many or the
 *	path is being destroyed, else owned by the queue
 * @run: set to whether the caller has to get rds_txq_run() called
 *
 * Context: any but hard interrupts.
 * Return: false if the probe was freed.
 */
bool rds_txq_add_probe(struct rds_txq *txq, struct rds_message *m, bool *run);

/**
 * rds_txq_run - transmit the queued messages, unless another context does
 * @txq: queue; if another gate carries it, that one transmits
 *
 * Context: process, may sleep, no locks held.
 */
enum rds_txq_state rds_txq_run(struct rds_txq *txq);

/* The transport has room again.  Returns whether to call rds_txq_run(). */
bool rds_txq_unblock(struct rds_txq *txq);

/*
 * Open the gate.  Positions start at 0; a map goes first, if the path sends
 * maps, and then a handshake, if the peer may acknowledge by number.  @due:
 * RDS_DUE_* that go as well.  Any context.
 */
void rds_txq_open(struct rds_txq *txq, enum rds_peer_kind peer, u8 due);

/* Close the gate and wait until no transmitter is inside.  May sleep. */
void rds_txq_close(struct rds_txq *txq);
/* Without waiting.  @unused: only if no message but pongs waits.  Did none? */
bool rds_txq_shut(struct rds_txq *txq, bool unused);
/*
 * Retire the message of a finished operation, if the message is not sent itself
 * and all its operations are finished: no acknowledgement comes for such a
 * message.
 */
void rds_txq_operation_done(struct rds_txq *txq, struct rds_operation *op);

/*
 * After rds_txq_close(): put unacknowledged messages back to the front, to be
 * retransmitted.  Those that another gate carries stay there.
 */
void rds_txq_rewind(struct rds_txq *txq);

/* Are there messages but probes: queued, being sent or unacknowledged ones? */
bool rds_txq_is_needed(struct rds_txq *txq);

/*
 * Abandon the queue unless it is needed and @force is not set; returns whether
 * it did.  rds_txq_readmit() undoes that, unless it was with @force.
 */
bool rds_txq_abandon(struct rds_txq *txq, bool force);
void rds_txq_readmit(struct rds_txq *txq);

/* Number of the next message that is queued */
u64 rds_txq_next_seq(struct rds_txq *txq);

#endif
