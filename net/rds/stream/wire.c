// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Encoding, decoding and checks of what is on the wire of a stream.
 * Kernel-free: the unit test compiles it in user space.
 */
#include "wire.h"

struct hello_wire {
	u8	version;
	u8	flags;
	__be16	credits;
	u8	magic;
	u8	features;
	u8	reserved;
	u8	iomap;
	__be64	table_addr;
	__be32	table_key;
	__be32	table_entries;
	__be64	first_addr;
	__be32	first_key;
	__be32	first_bytes;
};

static_assert(sizeof(struct hello_wire) == RDS_SS_HELLO_BYTES);
static_assert(offsetof(struct hello_wire, credits) == 2);
static_assert(offsetof(struct hello_wire, iomap) == 7);
static_assert(offsetof(struct hello_wire, table_addr) == 8);
static_assert(offsetof(struct hello_wire, table_entries) == 20);
static_assert(offsetof(struct hello_wire, first_addr) == 24);
static_assert(offsetof(struct hello_wire, first_bytes) == 36);

/* An entry of a table of targets, in the byte order of the table's owner */
struct entry_wire {
	u64	addr;
	u32	key;
	u32	bytes;
};

static_assert(sizeof(struct entry_wire) == RDS_SS_ENTRY_BYTES);

/* One counter for each reason */
static const char *const why_names[RDS_SS_NR_WHYS] = {
	[RDS_SS_WHY_SHORT]	= "stream_hello_short",
	[RDS_SS_WHY_VERSION]	= "stream_hello_version",
	[RDS_SS_WHY_NO_CREDITS]	= "stream_hello_no_credits",
	[RDS_SS_WHY_TABLE]	= "stream_hello_table",
	[RDS_SS_WHY_SEGMENT]	= "stream_hello_segment",
	[RDS_SS_WHY_OPCODE]	= "stream_bad_opcode",
	[RDS_SS_WHY_PAYLOAD]	= "stream_bad_payload",
	[RDS_SS_WHY_EMPTY]	= "stream_empty_data",
	[RDS_SS_WHY_FLOOD]	= "stream_no_credit_left",
	[RDS_SS_WHY_OVERRUN]	= "stream_beyond_segment",
	[RDS_SS_WHY_LIMIT]	= "stream_bad_limit",
	[RDS_SS_WHY_ENTRY]	= "stream_bad_entry",
	[RDS_SS_WHY_EARLY]	= "stream_early_entry",
	[RDS_SS_WHY_INDEX]	= "stream_bad_index",
	[RDS_SS_WHY_AFTER_END]	= "stream_after_end",
};

const char *rds_ss_why_name(enum rds_ss_why why)
{
	return why < RDS_SS_NR_WHYS ? why_names[why] : NULL;
}

/* Sizes of iomap tables: up to 128 as they are, above in units of 256 */
#define IOMAP_LITERAL	128
#define IOMAP_SHIFT	8
#define IOMAP_UNITS	127

static u8 iomap_scale(u16 n)
{
	u32 units = n >> IOMAP_SHIFT;

	if (n <= IOMAP_LITERAL)
		return n;
	return IOMAP_LITERAL | rds_ss_min(units, IOMAP_UNITS);
}

static u16 iomap_unscale(u8 b)
{
	return b <= IOMAP_LITERAL ? b : (b - IOMAP_LITERAL) << IOMAP_SHIFT;
}

void rds_ss_hello_put(u8 *buf, const struct rds_ss_hello *h)
{
	struct hello_wire w = {
		.version	= RDS_SS_VERSION,
		.flags		= RDS_SS_F_IOMAP,
		.credits	= cpu_to_be16(h->credits),
		.iomap		= iomap_scale(h->iomap),
		.table_addr	= cpu_to_be64(h->table.addr),
		.table_key	= cpu_to_be32(h->table.key),
		.table_entries	= cpu_to_be32(h->table.bytes),
		.first_addr	= cpu_to_be64(h->first.addr),
		.first_key	= cpu_to_be32(h->first.key),
		.first_bytes	= cpu_to_be32(h->first.bytes),
	};

	if (h->big_endian)
		w.flags |= RDS_SS_F_NET;
	if (h->ours) {
		w.flags |= RDS_SS_F_OURS;
		w.magic = RDS_SS_MAGIC;
		w.features = h->features;
	}
	memcpy(buf, &w, sizeof(w));
}

static bool has_end(u64 addr, u64 bytes)
{
	return addr + (bytes - 1) >= addr;
}

bool rds_ss_segment_ok(const struct rds_ss_segment *s)
{
	return s->key && s->bytes && s->bytes <= RDS_SS_MAX_SEGMENT &&
	       has_end(s->addr, s->bytes);
}

/* The iomap table is behind the table of targets, under the same key. */
static bool table_ok(const struct rds_ss_hello *h)
{
	u64 bytes = RDS_SS_ENTRIES * RDS_SS_ENTRY_BYTES +
		    (u64)h->iomap * RDS_SS_IOMAP_BYTES;

	return h->table.bytes == RDS_SS_ENTRIES && h->table.key &&
	       has_end(h->table.addr, bytes);
}

enum rds_ss_why rds_ss_hello_get(const u8 *buf, unsigned int len,
				 struct rds_ss_hello *h)
{
	struct hello_wire w;

	memset(h, 0, sizeof(*h));
	if (!buf || len < sizeof(w))
		return RDS_SS_WHY_SHORT;
	memcpy(&w, buf, sizeof(w));
	if (w.version != RDS_SS_VERSION)
		return RDS_SS_WHY_VERSION;
	h->ours = w.flags & RDS_SS_F_OURS && w.magic == RDS_SS_MAGIC;
	h->big_endian = w.flags & RDS_SS_F_NET;
	h->credits = be16_to_cpu(w.credits);
	h->features = h->ours ? w.features : 0;
	h->iomap = w.flags & RDS_SS_F_IOMAP ? iomap_unscale(w.iomap) : 0;
	h->table.addr = be64_to_cpu(w.table_addr);
	h->table.key = be32_to_cpu(w.table_key);
	h->table.bytes = be32_to_cpu(w.table_entries);
	h->first.addr = be64_to_cpu(w.first_addr);
	h->first.key = be32_to_cpu(w.first_key);
	h->first.bytes = be32_to_cpu(w.first_bytes);
	if (!h->credits)
		return RDS_SS_WHY_NO_CREDITS;
	if (!table_ok(h))
		return RDS_SS_WHY_TABLE;
	if (!rds_ss_segment_ok(&h->first))
		return RDS_SS_WHY_SEGMENT;
	return RDS_SS_FINE;
}

void rds_ss_msg_put(u8 *buf, u32 msg)
{
	memcpy(buf, &msg, sizeof(msg));
}

u32 rds_ss_msg_get(const u8 *buf)
{
	u32 msg;

	memcpy(&msg, buf, sizeof(msg));
	return msg;
}

void rds_ss_entry_put(u8 *buf, const struct rds_ss_segment *s, bool swap)
{
	struct entry_wire w = {
		.addr	= swap ? __swab64(s->addr) : s->addr,
		.key	= swap ? __swab32(s->key) : s->key,
		.bytes	= swap ? __swab32(s->bytes) : s->bytes,
	};

	memcpy(buf, &w, sizeof(w));
}

/*
 * Where messages do not tell whether they come with an entry, one may arrive
 * just now, and nothing is said about the order of its words.  It was clear
 * before, so a word that is not 0 is there.
 */
bool rds_ss_entry_take(u8 *raw, struct rds_ss_segment *s, bool whole)
{
	struct entry_wire *w = (struct entry_wire *)raw;

	s->bytes = READ_ONCE(w->bytes);
	s->key = READ_ONCE(w->key);
	s->addr = READ_ONCE(w->addr);
	if (!s->bytes || (!whole && (!s->key || !s->addr)))
		return false;
	WRITE_ONCE(w->bytes, 0);
	WRITE_ONCE(w->key, 0);
	WRITE_ONCE(w->addr, 0);
	return true;
}
