/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where data go: the segments of the peer's memory that the peer has published.
 *
 * The peer writes them into a table of this end, which has two entries that are
 * used in turn.  The first segment comes with the connect data and counts as
 * entry 0, so the peer writes entry 1 first.  This end fills a segment
 * completely before it goes on to the other one, and the peer publishes an
 * entry again only when this end cannot have anything left of it.
 *
 * The table itself may be rewritten by the peer at any time.  It is looked at
 * behind the message that announces an entry, and on iWARP, where messages do
 * not tell, behind all that may.  An entry is taken once: @seg has what was
 * found, and the table is not looked at again for it.
 *
 * Owner of all fields: the connection; the caller holds its lock.
 */
#ifndef _RDS_STREAM_TARGET_H
#define _RDS_STREAM_TARGET_H

#include "wire.h"

/**
 * struct rds_ss_target - segments of the peer
 * @table: this end's table, RDS_SS_ENTRIES entries that the peer writes to
 * @seg: what is left of the segments; .bytes is 0: none
 * @now: entry that is being filled
 * @next: entry that the peer writes next
 */
struct rds_ss_target {
	u8			*table;
	struct rds_ss_segment	seg[RDS_SS_ENTRIES];
	u8			now;
	u8			next;
};

void rds_ss_target_init(struct rds_ss_target *t, void *table);
void rds_ss_target_open(struct rds_ss_target *t,
			const struct rds_ss_segment *first);

/*
 * Look for an entry behind a message that may announce one.  @sure: the message
 * came with an entry.  If not, part of the entry of a later message may be
 * there, which is left for that message.
 */
enum rds_ss_why rds_ss_target_look(struct rds_ss_target *t, bool sure);

/* Bytes that one write may have; 0: wait for the peer. */
static inline u32 rds_ss_target_room(const struct rds_ss_target *t)
{
	return t->seg[t->now].bytes;
}

/* Take the place of @bytes, at most rds_ss_target_room(). */
struct rds_ss_segment rds_ss_target_use(struct rds_ss_target *t, u32 bytes);

#endif
