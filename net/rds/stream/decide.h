/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decisions of the engine of a stream, and completions.  engine.h says who
 * calls when, and under which lock.
 */
#ifndef _RDS_STREAM_DECIDE_H
#define _RDS_STREAM_DECIDE_H

#include "engine.h"

/* What there is to be posted */
enum rds_ss_what {
	RDS_SS_RECEIVES,	/* .count receives */
	RDS_SS_DATA,		/* the next .bytes of the queue, and .msg */
	RDS_SS_ANNOUNCE,	/* .entry if .bytes is not 0, and .msg */
	RDS_SS_END,		/* .msg alone */
	RDS_SS_BEAT,		/* a write of no bytes, without a message */
};

/**
 * struct rds_ss_post - a decision
 * @what: see enum rds_ss_what
 * @count: number of receives
 * @slot: number below RDS_SS_SQ_MAX that no other message under way has; to be
 *	given to rds_ss_complete()
 * @signalled: each work request of it is to be signalled; the completion of the
 *	last one is to be reported
 * @msg: message word
 * @bytes: bytes that are written
 * @addr: where, at the peer
 * @key: by which key
 * @entry: bytes of an announcement
 * @freed: memory that nobody reads any more, and that may be freed when its
 *	key is ended; or RDS_SS_NO_MEM
 */
struct rds_ss_post {
	enum rds_ss_what	what;
	u16			count;
	u16			slot;
	bool			signalled;
	u32			msg;
	u32			bytes;
	u64			addr;
	u32			key;
	u8			entry[RDS_SS_ENTRY_BYTES];
	u32			freed;
};

/*
 * Whether rds_ss_decide() has something, if one byte at least can be carried.
 * Mostly it has nothing, and this is cheaper to ask.
 */
bool rds_ss_due(const struct rds_ss_engine *e);

/**
 * rds_ss_decide - what to post next
 * @e: stream
 * @most: bytes from the front of the queue that one work request can carry; at
 *	least 1 if some are queued
 * @p: filled in
 *
 * The decision counts as posted.  If it cannot be, the connection has failed.
 *
 * Return: false if there is nothing to be posted.
 */
bool rds_ss_decide(struct rds_ss_engine *e, u32 most, struct rds_ss_post *p);

/*
 * The message of @slot is completed, and so are those before.  Returns the
 * number of bytes of the queue that the device does not read any more.
 */
u32 rds_ss_complete(struct rds_ss_engine *e, u16 slot);

#endif
