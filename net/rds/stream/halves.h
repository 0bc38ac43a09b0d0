/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the peer's data come in: two halves of memory, each with a key.  A half
 * is published to the peer, is filled, is read, and is published again, and so
 * the halves take turns.  A message of data is never in two halves.
 *
 *	free --publish--> published --arrive--> full
 *	  ^                                      |
 *	  '----------- the last byte is read <---'
 *
 * A half of which some bytes are still to be read is not published anew: an
 * entry of the peer's table is a whole half.
 *
 * Growth: streams begin with small halves.  A peer that ran out of published
 * memory is held up by it, so the next halves are to be larger.  The caller
 * makes memory and a key, which takes time, and gives them as the spare; a half
 * that is about to be published takes the spare's place.  Meanwhile the old
 * half goes round once more.
 *
 * The memory stays writable by the peer, also behind what has come and in a
 * half that is free.  Its contents are not looked at here.  A reader copies
 * each byte once, and what has to stay as it is (MSG_PEEK) is copied before.  A
 * half that was replaced may be freed when its key has ended.
 *
 * Owner of all fields: the connection; the caller holds its lock.  A reader
 * that copies without the lock may do so between rds_ss_halves_span() and the
 * rds_ss_halves_read() of the same bytes: such a half is not free.
 */
#ifndef _RDS_STREAM_HALVES_H
#define _RDS_STREAM_HALVES_H

#include "wire.h"

/* Bytes of a half at first */
#define RDS_SS_HALF_MIN		8192
/* How much larger the next one is */
#define RDS_SS_HALF_GROWTH	4

/* No memory was replaced */
#define RDS_SS_NO_MEM		0xffffffff

/**
 * struct rds_ss_mem - registered memory for a half
 *
 * It is zeroed before it has a key: a peer can announce bytes that it has not
 * written, and a program would read what was there.
 *
 * @seg: address and key for the peer, and the length
 * @id: the caller's name for the memory, not RDS_SS_NO_MEM
 */
struct rds_ss_mem {
	struct rds_ss_segment	seg;
	u32			id;
};

/**
 * struct rds_ss_half - half of the memory for data
 * @mem: the memory
 * @filled: bytes that have come
 * @read: bytes of these that were read
 * @published: the peer may fill it; false: it is free
 */
struct rds_ss_half {
	struct rds_ss_mem	mem;
	u32			filled;
	u32			read;
	bool			published;
};

/**
 * struct rds_ss_halves - memory for data
 * @half: the halves
 * @fill: half that the peer fills, or fills next
 * @out: half that is read, or is read next
 * @pub: half that is published next
 * @tight: the peer ran out of published memory
 * @spare: memory for the next half that is published, if it is larger
 * @has_spare: there is a spare
 * @asked: the caller makes a spare
 * @want: bytes of a spare that the caller is asked for, or 0
 * @max: most bytes of a half
 */
struct rds_ss_halves {
	struct rds_ss_half	half[RDS_SS_ENTRIES];
	u8			fill;
	u8			out;
	u8			pub;
	bool			tight;
	struct rds_ss_mem	spare;
	bool			has_spare;
	bool			asked;
	u32			want;
	u32			max;
};

/**
 * struct rds_ss_span - bytes that can be read
 * @id: memory that they are in
 * @off: offset there
 * @bytes: number of bytes; 0: nothing has come
 */
struct rds_ss_span {
	u32	id;
	u32	off;
	u32	bytes;
};

/*
 * @mem: memory for each half; that of the first is published with the connect
 * data.
 */
void rds_ss_halves_init(struct rds_ss_halves *h,
			const struct rds_ss_mem *mem, u32 max);

/* @bytes have come: false if the peer had no such place. */
bool rds_ss_halves_arrive(struct rds_ss_halves *h, u32 bytes);

/* The @bytes from the @skip-th unread one on that lie in one piece. */
struct rds_ss_span rds_ss_halves_span(const struct rds_ss_halves *h, u32 skip);

/* Bytes that have come and were not read */
static inline u32 rds_ss_halves_unread(const struct rds_ss_halves *h)
{
	return h->half[0].filled - h->half[0].read +
	       h->half[1].filled - h->half[1].read;
}

/* @bytes were read, at most rds_ss_halves_unread(). */
void rds_ss_halves_read(struct rds_ss_halves *h, u32 bytes);

/* Whether a half waits to be published. */
static inline bool rds_ss_halves_due(const struct rds_ss_halves *h)
{
	return !h->half[h->pub].published;
}

/*
 * Publish the half that waits, which is entry @*entry of the peer's table.
 * @*freed: memory that the spare has replaced, or RDS_SS_NO_MEM.
 */
struct rds_ss_segment rds_ss_halves_publish(struct rds_ss_halves *h, u8 *entry,
					    u32 *freed);

/*
 * Bytes of a spare that the caller is to make, or 0.  A caller that was asked
 * gives the spare, or NULL if there is none to be had.  False: the caller keeps
 * the memory.
 */
u32 rds_ss_halves_ask(struct rds_ss_halves *h);
bool rds_ss_halves_spare(struct rds_ss_halves *h, const struct rds_ss_mem *mem);

#endif
