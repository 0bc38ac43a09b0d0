/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine of a stream: what to post next, and what that which came means.
 * Knows neither sockets nor verbs; whoever uses it posts what it decides and
 * tells it what happens.
 *
 * Lock: the caller holds the lock of the connection in every call.  All fields
 * are the engine's; the caller reads @state and @queued.
 *
 * Who calls again: the engine decides only when it is asked.  After each of
 * rds_ss_open(), rds_ss_append(), rds_ss_tune(), rds_ss_receive(),
 * rds_ss_read(), rds_ss_complete(), rds_ss_on() and rds_ss_keepalive() the
 * caller repeats rds_ss_decide() until it returns false, and posts each
 * decision in order, without giving up the lock between them.  Nothing else
 * makes a decision due, so no timer is needed.
 *
 * Who looks at the state: the caller, after each call.  At RDS_SS_CLOSED it
 * closes the connection, at RDS_SS_RESET it breaks it off; the engine posts
 * nothing more then, nor at RDS_SS_LEFT.
 *
 * Batching: an idle stream posts what is queued at once.  While @depth messages
 * of data are under way, later bytes wait and go together when one of them
 * completes, or when RDS_SS_RUSH bytes have come together.  A message that may
 * be waited for is signalled, so its completion always comes.
 *
 * Memory of the program's bytes: the caller keeps queued bytes in order.  A
 * decision takes the next ones; rds_ss_complete() says how many of the oldest
 * the device does not read any more.
 */
#ifndef _RDS_STREAM_ENGINE_H
#define _RDS_STREAM_ENGINE_H

#include "flow.h"
#include "halves.h"
#include "life.h"
#include "target.h"
#include "wire.h"

#define RDS_SS_SQ_MIN		16	/* work requests of a send queue */
#define RDS_SS_SQ_MAX		64
#define RDS_SS_RQ_MAX		1024	/* messages of data from the peer */
/* Bytes that do not wait for more */
#define RDS_SS_RUSH		65536
/* Messages of data under way, without and with TCP_NODELAY */
#define RDS_SS_DEPTH		2
#define RDS_SS_DEPTH_NODELAY	8
/* Messages and bytes of data that share one completion */
#define RDS_SS_PLAIN_MAX	16
#define RDS_SS_PLAIN_BYTES	65536
/* Free work requests below which each message has a completion */
#define RDS_SS_SQ_LOW		4
/* The device does not say how many bytes came with a message */
#define RDS_SS_UNKNOWN		0xffffffff

/**
 * struct rds_ss_early - a message that came before the peer's connect data
 * @msg: message word, as it came
 * @payload: bytes that came with it, or RDS_SS_UNKNOWN
 */
struct rds_ss_early {
	u32	msg;
	u32	payload;
};

/**
 * struct rds_ss_config - what a stream begins with
 * @iwarp: a message is a Send behind its payload; the end that was dialled may
 *	not send first
 * @active: this end dials
 * @rq: messages of data that the peer may have under way, up to RDS_SS_RQ_MAX
 * @sq: work requests of the send queue, RDS_SS_SQ_MIN to RDS_SS_SQ_MAX
 * @max_msg: most bytes of one message of data
 * @max_half: most bytes of a half of the memory for data
 * @iomap: entries of the own iomap table
 * @table: the own table of targets, aligned to 8 bytes, which the peer writes
 *	to; the iomap table follows.  It must need no syncs: the engine clears
 *	an entry while the peer may write the other one, and a sync of a bounce
 *	buffer or of a line of a cache would undo one of the two.
 * @table_seg: address and key of @table; .bytes is not used
 * @half: memory for data, with keys that are valid; see struct rds_ss_mem
 * @early: room for rds_ss_early_max() messages; the caller may free it when the
 *	stream has left RDS_SS_CONNECTING
 */
struct rds_ss_config {
	bool			iwarp;
	bool			active;
	u16			rq;
	u16			sq;
	u32			max_msg;
	u32			max_half;
	u16			iomap;
	void			*table;
	struct rds_ss_segment	table_seg;
	struct rds_ss_mem	half[RDS_SS_ENTRIES];
	struct rds_ss_early	*early;
};

/**
 * struct rds_ss_sent - a message under way
 * @bytes: bytes of data
 * @wrs: work requests
 * @control: it has no credit
 */
struct rds_ss_sent {
	u32	bytes;
	u8	wrs;
	bool	control;
};

/**
 * struct rds_ss_engine - a stream
 * @state: see enum rds_ss_state; changed by rds_ss_on() only
 * @conf: what it began with
 * @ours: the peer is of this kind
 * @swap: the peer has the other byte order
 * @silent: this end may not send before the peer has
 * @peer_done: the peer sends no more data
 * @discard: what comes is not read by anybody
 * @peer_table: the peer's table of targets
 * @flow: credits
 * @target: memory of the peer
 * @halves: memory for the peer's data
 * @nr_early: messages in @conf.early
 * @queued: bytes that were appended and are not posted
 * @depth: messages of data that may be under way while little is queued
 * @cork: hold what is less than RDS_SS_RUSH
 * @beat: a sign of life is to be sent
 * @wrs: work requests of data under way
 * @data: messages of data under way
 * @controls: messages without credit under way
 * @plain: messages of data since the last that is signalled
 * @plain_bytes: and their bytes
 * @head: number of messages ever posted; @sent is used modulo RDS_SS_SQ_MAX
 * @tail: number of those that are completed
 * @sent: messages under way
 */
struct rds_ss_engine {
	enum rds_ss_state	state;
	struct rds_ss_config	conf;
	bool			ours;
	bool			swap;
	bool			silent;
	bool			peer_done;
	bool			discard;
	struct rds_ss_segment	peer_table;
	struct rds_ss_flow	flow;
	struct rds_ss_target	target;
	struct rds_ss_halves	halves;
	u16			nr_early;
	u32			queued;
	u16			depth;
	bool			cork;
	bool			beat;
	u16			wrs;
	u16			data;
	u16			controls;
	u16			plain;
	u32			plain_bytes;
	u16			head;
	u16			tail;
	struct rds_ss_sent	sent[RDS_SS_SQ_MAX];
};

/* A message is under way. */
static inline bool rds_ss_flies(const struct rds_ss_engine *e)
{
	return e->head != e->tail;
}

static inline unsigned int rds_ss_early_max(u16 rq)
{
	return rq + RDS_SS_RX_EXTRA;
}

/**
 * rds_ss_init - begin a stream
 * @e: stream
 * @conf: copied; the table of targets is cleared, the iomap table is not
 *
 * Before the peer can send, the caller posts rds_ss_flow_receives() receives.
 *
 * Return: false if @conf is out of bounds.
 */
bool rds_ss_init(struct rds_ss_engine *e, const struct rds_ss_config *conf);

/* The own connect data */
void rds_ss_hello(const struct rds_ss_engine *e, struct rds_ss_hello *h);

/**
 * struct rds_ss_news - what a message was about
 * @bytes: bytes that came, and can be read
 * @end: the peer sends no more
 * @iomap: the peer has written entry @index of the iomap table; after
 *	rds_ss_open() any of them
 * @index: see @iomap
 */
struct rds_ss_news {
	u32	bytes;
	bool	end;
	bool	iomap;
	u16	index;
};

/**
 * rds_ss_open - the connection is up
 * @e: stream that connects; others stay as they are
 * @peer: the peer's connect data, which are fine
 * @news: filled in: of all messages that came early
 *
 * Return: RDS_SS_FINE, or what is wrong with a message that came early: the
 * stream is RDS_SS_RESET.
 */
enum rds_ss_why rds_ss_open(struct rds_ss_engine *e,
			    const struct rds_ss_hello *peer,
			    struct rds_ss_news *news);

/**
 * rds_ss_receive - a message came
 * @e: stream
 * @msg: message word, on iWARP as rds_ss_msg_get() loads it
 * @payload: bytes that came with it, or RDS_SS_UNKNOWN; memory of data is
 *	synced for the processor before it is read
 * @news: filled in
 *
 * What is no message at all the caller refuses, with RDS_SS_EV_FAIL: on iWARP a
 * Send of other than RDS_SS_MSG_BYTES, elsewhere what has no immediate.
 *
 * Return: RDS_SS_FINE, or why the stream was reset.
 */
enum rds_ss_why rds_ss_receive(struct rds_ss_engine *e, u32 msg, u32 payload,
			       struct rds_ss_news *news);

/*
 * Bytes to read from the @skip-th on, in one piece; none if nobody is to read.
 * A reader may copy them without the lock.  Readers are one at a time, and the
 * caller holds them off for RDS_SS_EV_SHUT_RD and RDS_SS_EV_CLOSE.
 */
struct rds_ss_span rds_ss_span(const struct rds_ss_engine *e, u32 skip);

/* @bytes were read. */
void rds_ss_read(struct rds_ss_engine *e, u32 bytes);

/*
 * Bytes of memory that the caller is to make for the next half, or 0: a worker
 * makes it, and gives it with rds_ss_halves_spare().  To be asked after
 * rds_ss_read().
 */
u32 rds_ss_grow(struct rds_ss_engine *e);

/* @bytes were queued by the program: false if none may be, or too many are. */
bool rds_ss_append(struct rds_ss_engine *e, u32 bytes);

/* What is queued is not sent. */
void rds_ss_drop(struct rds_ss_engine *e);

/*
 * TCP_NODELAY and TCP_CORK.  A cork holds what is less than RDS_SS_RUSH for
 * ever: a caller that can keep no more bytes, or has kept them for long, takes
 * it out.
 */
void rds_ss_tune(struct rds_ss_engine *e, bool nodelay, bool cork);

/* Send a sign of life, which the peer does not see. */
void rds_ss_keepalive(struct rds_ss_engine *e);

/*
 * Move the stream: false if its state has no such event.  For SHUT_WR, SHUT_RD
 * and CLOSE of the program; for HANGUP and FAIL of the connection, when the
 * messages that came before have been received.  The other events are the
 * engine's.
 */
bool rds_ss_on(struct rds_ss_engine *e, enum rds_ss_event event);

#endif
