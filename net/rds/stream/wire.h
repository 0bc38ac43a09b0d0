/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bytes of a stream on the wire: connect data, message words and entries of
 * tables (Documentation/stream.rst, "On the wire").  Encodes, decodes and
 * checks; no state, no locks, no kernel.
 *
 * Everything that is decoded was written by the peer, who may be hostile.  What
 * is not right is refused with a reason, which the caller counts.
 */
#ifndef _RDS_STREAM_WIRE_H
#define _RDS_STREAM_WIRE_H

#include "plat.h"

#define RDS_SS_VERSION		1
#define RDS_SS_HELLO_BYTES	40	/* connect data */
#define RDS_SS_ENTRIES		2	/* entries of a table of targets */
#define RDS_SS_ENTRY_BYTES	16	/* an entry of a table of targets */
#define RDS_SS_IOMAP_BYTES	24	/* an entry of an iomap table */
#define RDS_SS_MSG_BYTES	4	/* a message on iWARP, a Send */
#define RDS_SS_MAX_SEGMENT	0x40000000	/* bytes of an entry */

/* Bits of the flags of the connect data */

/* the sender is big endian */
#define RDS_SS_F_NET		0x01
/* the last byte of the first word is the size of an iomap table */
#define RDS_SS_F_IOMAP		0x02
/* ours: RDS_SS_MAGIC and features follow */
#define RDS_SS_F_OURS		0x04
#define RDS_SS_MAGIC		0x5a

/**
 * enum rds_ss_why - why something of a peer's was refused
 * @RDS_SS_FINE: it was not
 * @RDS_SS_WHY_SHORT: fewer than RDS_SS_HELLO_BYTES
 * @RDS_SS_WHY_VERSION: another version
 * @RDS_SS_WHY_NO_CREDITS: the peer takes no message at all
 * @RDS_SS_WHY_TABLE: not RDS_SS_ENTRIES entries, no key, or no such address
 * @RDS_SS_WHY_SEGMENT: the first segment has no bytes, or is a bad entry
 * @RDS_SS_WHY_OPCODE: one of those that librdmacm takes for data
 * @RDS_SS_WHY_PAYLOAD: a message of another size than such messages have
 * @RDS_SS_WHY_EMPTY: data of no bytes
 * @RDS_SS_WHY_FLOOD: the peer had no credit left
 * @RDS_SS_WHY_OVERRUN: data beyond the published segment
 * @RDS_SS_WHY_LIMIT: a limit that goes back, or exceeds the peer's queue
 * @RDS_SS_WHY_ENTRY: an entry without key, too long, or with no such address
 * @RDS_SS_WHY_EARLY: an entry in the place of one that is not used up
 * @RDS_SS_WHY_INDEX: beyond the iomap table
 * @RDS_SS_WHY_AFTER_END: data behind the peer's last
 * @RDS_SS_NR_WHYS: number of reasons
 *
 * The first five reject a connection, the others reset it.
 */
enum rds_ss_why {
	RDS_SS_FINE,
	RDS_SS_WHY_SHORT,
	RDS_SS_WHY_VERSION,
	RDS_SS_WHY_NO_CREDITS,
	RDS_SS_WHY_TABLE,
	RDS_SS_WHY_SEGMENT,
	RDS_SS_WHY_OPCODE,
	RDS_SS_WHY_PAYLOAD,
	RDS_SS_WHY_EMPTY,
	RDS_SS_WHY_FLOOD,
	RDS_SS_WHY_OVERRUN,
	RDS_SS_WHY_LIMIT,
	RDS_SS_WHY_ENTRY,
	RDS_SS_WHY_EARLY,
	RDS_SS_WHY_INDEX,
	RDS_SS_WHY_AFTER_END,
	RDS_SS_NR_WHYS
};

/* Name of the counter of a reason; NULL for RDS_SS_FINE and what is none */
const char *rds_ss_why_name(enum rds_ss_why why);

/**
 * struct rds_ss_segment - memory that a peer may write to
 * @addr: address for remote writes
 * @key: key of the memory
 * @bytes: length
 */
struct rds_ss_segment {
	u64	addr;
	u32	key;
	u32	bytes;
};

/**
 * struct rds_ss_hello - connect data, in host order
 * @ours: the sender is of this kind of kernel module
 * @big_endian: byte order of the sender
 * @credits: messages of data that the sender takes at once
 * @features: what the sender offers beyond the protocol; 0 unless @ours
 * @iomap: entries of the sender's iomap table
 * @table: the sender's table of targets; .bytes is the number of entries
 * @first: the sender's first segment for data
 */
struct rds_ss_hello {
	bool			ours;
	bool			big_endian;
	u16			credits;
	u8			features;
	u16			iomap;
	struct rds_ss_segment	table;
	struct rds_ss_segment	first;
};

static inline bool rds_ss_big_endian(void)
{
	const u16 one = 1;

	return !*(const u8 *)&one;
}

/**
 * rds_ss_hello_put - write connect data
 * @buf: room for RDS_SS_HELLO_BYTES; every byte is written
 * @h: contents; an iomap table that the encoding has no number for is
 *	announced with fewer entries
 */
void rds_ss_hello_put(u8 *buf, const struct rds_ss_hello *h);

/**
 * rds_ss_hello_get - read and check connect data
 * @buf: private data as received; InfiniBand pads them with zeros
 * @len: bytes in @buf
 * @h: filled in, and not to be used unless the data are fine
 *
 * Return: RDS_SS_FINE, or why the data are refused.
 */
enum rds_ss_why rds_ss_hello_get(const u8 *buf, unsigned int len,
				 struct rds_ss_hello *h);

/* Operations of a message word, bits 31 to 29 */
enum rds_ss_op {
	RDS_SS_OP_DATA		= 0,	/* value: bytes */
	RDS_SS_OP_DIRECT	= 2,	/* reserved by the protocol */
	RDS_SS_OP_CREDIT	= 4,	/* value: limit */
	RDS_SS_OP_IOMAP		= 6,	/* value: index */
	RDS_SS_OP_CONTROL	= 7,	/* value: enum rds_ss_control */
};

enum rds_ss_control {
	RDS_SS_BYE		= 0,	/* disconnect */
	RDS_SS_KEEPALIVE	= 1,	/* never sent as a message */
	RDS_SS_SHUT		= 2,	/* the sender sends no more data */
};

#define RDS_SS_VALUE_MASK	((1U << 29) - 1)

static inline u32 rds_ss_msg(enum rds_ss_op op, u32 value)
{
	return (u32)op << 29 | (value & RDS_SS_VALUE_MASK);
}

static inline enum rds_ss_op rds_ss_msg_op(u32 msg)
{
	return msg >> 29;
}

/*
 * The limit of a RDS_SS_OP_CREDIT.  The sum of a count and the length of a
 * queue may have been computed in more than 16 bits: the upper ones mean
 * nothing.
 */
static inline u16 rds_ss_msg_limit(u32 msg)
{
	return msg & 0xffff;
}

static inline u16 rds_ss_msg_index(u32 msg)
{
	return msg & 0xffff;
}

static inline u32 rds_ss_msg_value(u32 msg)
{
	return msg & RDS_SS_VALUE_MASK;
}

/*
 * A message on iWARP: RDS_SS_MSG_BYTES in the byte order of the sender.  A
 * receiver loads them in its own.
 */
void rds_ss_msg_put(u8 *buf, u32 msg);
u32 rds_ss_msg_get(const u8 *buf);

/* Write an entry of a table whose owner has the other byte order if @swap. */
void rds_ss_entry_put(u8 *buf, const struct rds_ss_segment *s, bool swap);

/**
 * rds_ss_entry_take - take an entry out of the own table
 * @raw: the entry, aligned to 8 bytes, which the peer may rewrite at any time
 * @s: filled in from a single read of each word
 * @whole: all of the entry has come if any of it has; else it is left as it is
 *	while one of its words is 0
 *
 * The entry is cleared, so that the next look finds only what is written after.
 *
 * Return: false if the entry is clear, or not whole.
 */
bool rds_ss_entry_take(u8 *raw, struct rds_ss_segment *s, bool whole);

/* Whether a peer's segment may be written to: it has a key, and an end. */
bool rds_ss_segment_ok(const struct rds_ss_segment *s);

#endif
