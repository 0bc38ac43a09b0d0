// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-hostile: how many bytes come, and entries for the table */
#include "hostile.h"

#include <errno.h>
#include <stddef.h>

#define BAD	"stream_bad_entry"
#define THE_END	UINT64_MAX

/* ---- data */

/* Say that bytes have come, as the next ones, wherever they were written */
static int announce(struct meet *m, uint32_t bytes)
{
	return rogue_say(&m->r, WORD(OP_DATA, bytes));
}

/* All that is published is full, and nobody reads. */
static void beyond_both(void)
{
	struct meet m;

	meet_begin(&m);
	meets(&m);
	TRUE(UNTIL(&m.r, m.r.half[1].bytes));
	TRUE(rogue_put(&m.r, m.r.half[0].bytes + m.r.half[1].bytes));
	announce(&m, 1);
	refused_for(&m, "stream_beyond_segment");
}

/* A message of data is in one half. */
static void beyond_first(void)
{
	struct meet m;

	meet_begin(&m);
	meets(&m);
	TRUE(UNTIL(&m.r, m.r.half[1].bytes));
	TRUE(rogue_put(&m.r, m.r.half[0].bytes - 10));
	announce(&m, 11);
	refused_for(&m, "stream_beyond_segment");
}

/*
 * Bytes that were announced and not written are those that were there: zeros,
 * as the memory was never used.
 */
static void not_written(void)
{
	uint8_t buf[8192], sum = 0;
	struct meet m;

	meet_begin(&m);
	meets(&m);
	WANT(announce(&m, sizeof(buf)), 0);
	WANT(recv(m.fd, buf, sizeof(buf), MSG_WAITALL), sizeof(buf));
	for (size_t i = 0; i < sizeof(buf); i++)
		sum |= buf[i];
	WANT(sum, 0);
	only(NULL);
	over(&m);
}

/* Written to the half that is not next: read are the zeros of the one that is. */
static void other_half(void)
{
	struct op op = { .code = IBV_WR_RDMA_WRITE_WITH_IMM, .bytes = 100,
			 .word = WORD(OP_DATA, 100) };
	uint8_t buf[100];
	struct meet m;

	meet_begin(&m);
	meets(&m);
	TRUE(UNTIL(&m.r, m.r.half[1].bytes));
	op.to = m.r.half[1].addr;
	op.key = m.r.half[1].key;
	WANT(rogue_do(&m.r, &op), 0);
	WANT(recv(m.fd, buf, sizeof(buf), 0), sizeof(buf));
	WANT(buf[1] | buf[99], 0);
	only(NULL);
	over(&m);
}

/* What breaks the rules before it is accepted is accepted as broken. */
static void before_accept(void)
{
	struct meet m;

	meet_begin(&m);
	meet_listen(&m, 1);
	TRUE(rogue_dial(&m.r, &m.at) && rogue_answered(&m.r));
	TRUE(readable(m.l, (int)ROGUE_MS));
	WANT(announce(&m, 8193), 0);
	TRUE(UNTIL(&m.r, m.r.gone));
	m.fd = accept(m.l, NULL, NULL);
	TRUE(m.fd >= 0);
	refused_for(&m, "stream_beyond_segment");
}

/* ---- entries */

/**
 * struct entry - an entry that is wrong
 * @slot: place in the table
 * @t: added to an entry that would be right; a key of 1: none, THE_END: an
 *	address shortly before the last
 * @why: reason, or NULL: it is used
 */
struct entry {
	unsigned int slot;
	struct target t;
	const char *why;
};

static struct target good_entry(const struct meet *m)
{
	return (struct target){ m->r.me.first.addr + IN_HALF,
				m->r.me.first.key, IN_HALF };
}

/* Fill what the connect data have published: bytes go on in the entry. */
static void use_entry(struct meet *m)
{
	static const char bytes[IN_HALF + 1];

	WANT(send(m->fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
	TRUE(UNTIL(&m->r, m->r.in_bytes == sizeof(bytes) || m->r.gone));
}

static void entry(const void *arg)
{
	const struct entry *e = arg;
	struct target t;
	struct meet m;

	meet_begin(&m);
	meets(&m);
	t = good_entry(&m);
	t.addr = e->t.addr == THE_END ? THE_END - 10 : t.addr + e->t.addr;
	t.key += e->t.key;
	t.bytes += e->t.bytes;
	if (e->t.key == 1)
		t.key = 0;
	rogue_entry(&m.r, e->slot, &t);
	if (e->why) {
		refused_for(&m, e->why);
		return;
	}
	use_entry(&m);
	TRUE(!m.r.gone);
	TRUE(rogue_put(&m.r, 10));
	TRUE(reads(&m, 10));
	only(NULL);
	over(&m);
}

/* The peer's memory is not at the entry: the device ends the connection. */
static void entry_nowhere(void)
{
	struct target t;
	struct meet m;

	meet_begin(&m);
	meets(&m);
	t = good_entry(&m);
	t.key += 0x100;
	WANT(rogue_entry(&m.r, 1, &t), 0);
	use_entry(&m);
	TRUE(m.r.in_bytes == IN_HALF);
	broke(&m);
}

/* A message that has an entry's size, and is not in the table */
static void entry_elsewhere(void)
{
	struct op op = { .code = IBV_WR_RDMA_WRITE_WITH_IMM, .bytes = ENTRY };
	struct meet m;

	meet_begin(&m);
	meets(&m);
	op.to = m.r.half[0].addr;
	op.key = m.r.half[0].key;
	op.word = WORD(OP_CREDIT, m.r.me.credits);
	rogue_do(&m.r, &op);
	refused_for(&m, "stream_bad_entry");
}

/* A second one, right after the first, of which nothing is used */
static void entry_then(unsigned int slot, const char *why)
{
	struct meet m;

	meet_begin(&m);
	meets(&m);
	WANT(rogue_publish(&m.r, 1), 0);
	rogue_publish(&m.r, slot);
	refused_for(&m, why);
}

/* In the place of what the connect data had */
static void entry_early(void)
{
	entry_then(0, "stream_early_entry");
}

/* Once more the one that was taken */
static void entry_again(void)
{
	entry_then(1, BAD);
}

/* An entry that is rewritten once it was taken has no effect. */
static void entry_rewritten_late(void)
{
	struct op op = { .bytes = ENTRY };
	struct meet m;

	meet_begin(&m);
	meets(&m);
	WANT(rogue_publish(&m.r, 1), 0);
	memset(m.r.mem + 8 * ENTRY, 0xff, ENTRY);
	op.from = m.r.mem + 8 * ENTRY;
	op.to = m.r.you.table.addr + ENTRY;
	op.key = m.r.you.table.key;
	WANT(rogue_do(&m.r, &op), 0);
	use_entry(&m);
	TRUE(!m.r.gone);
	only(NULL);
	over(&m);
}

/* ---- entries that are rewritten while they are read */

#define ROUNDS	100
#define SMALL	64U

/* Write two entries in turn to a place in the table, and announce the first. */
static void hammer(struct rogue *r, unsigned int slot)
{
	struct op op = { .bytes = ENTRY, .key = r->you.table.key,
			 .to = r->you.table.addr + slot * ENTRY,
			 .word = WORD(OP_CREDIT, r->me.credits + r->messages) };

	for (unsigned int i = 0; i < 16; i++) {
		op.from = r->mem + (8 + i % 2) * ENTRY;
		op.code = i == 8 ? IBV_WR_RDMA_WRITE_WITH_IMM :
				   IBV_WR_RDMA_WRITE;
		rogue_post(r, &op);
	}
	UNTIL(r, r->done == r->posted);
}

/* The socket sends what the first segment and the entries have room for. */
static bool round_sent(struct meet *m, unsigned int round)
{
	static const char bytes[SMALL];

	return send(m->fd, bytes, SMALL, MSG_NOSIGNAL) == SMALL &&
	       UNTIL(&m->r, m->r.messages > round || m->r.gone) && !m->r.gone;
}

static unsigned int rounds_with(struct meet *m, const struct target *other)
{
	static const struct change small[] = {
		{ offsetof(struct hello, first.bytes), 4, false, SMALL, 0 },
	};
	unsigned int i, slot = 1;
	struct target t[2];

	m->r.changes = small;
	m->r.nr_changes = 1;
	meets(m);
	t[0] = good_entry(m);
	t[0].bytes = SMALL;
	t[1] = *other;
	if (!t[1].key) {
		t[1] = t[0];
		t[1].addr += SMALL;
	}
	memcpy(m->r.mem + 8 * ENTRY, t, sizeof(t));
	for (i = 0; i < ROUNDS && !m->r.broken && round_sent(m, i); i++) {
		hammer(&m->r, slot);
		slot ^= 1;
	}
	return i;
}

/* Both are good, and either is used. */
static void entry_rewritten(void)
{
	const struct target good = { 0 };
	struct meet m;

	meet_begin(&m);
	WANT(rounds_with(&m, &good), ROUNDS);
	only(NULL);
	over(&m);
}

/*
 * One is good. If the other is seen it is refused, or if a part of it is, the
 * device may find that it leads nowhere.
 */
static void entry_rewritten_bad(void)
{
	const struct target bad = { UINT64_MAX, UINT32_MAX, UINT32_MAX };
	struct meet m;
	long end = 0;

	meet_begin(&m);
	if (rounds_with(&m, &bad) < ROUNDS)
		end = end_of(&m);
	WANT(end == -ECONNRESET ? 0 : end, 0);
	if (counted(BAD))
		only(BAD);
	else
		only(NULL);
	over(&m);
}

#define ENTRY_(name_, slot_, addr_, key_, bytes_, why_)			\
	{ .name = "entry_" #name_, .with = entry, .arg = &(const struct entry){ \
		.slot = slot_, .t = { addr_, key_, bytes_ }, .why = why_ } }

const struct test place_tests[] = {
	{ .name = "beyond_both", .run = beyond_both },
	{ .name = "beyond_first", .run = beyond_first },
	{ .name = "not_written", .run = not_written },
	{ .name = "other_half", .run = other_half },
	{ .name = "before_accept", .run = before_accept, .who = DIALS },
	ENTRY_(right, 1, 0, 0, 0, NULL),
	ENTRY_(unaligned, 1, 5, 0, 0, NULL),
	ENTRY_(1_byte, 1, 0, 0, 1 - IN_HALF, NULL),
	ENTRY_(1g, 1, 0, 0, 0x40000000 - IN_HALF, NULL),
	ENTRY_(more_than_1g, 1, 0, 0, 0x40000001 - IN_HALF, BAD),
	ENTRY_(4g, 1, 0, 0, 0xffffffff - IN_HALF, BAD),
	ENTRY_(0_bytes, 1, 0, 0, 0 - IN_HALF, BAD),
	ENTRY_(no_key, 1, 0, 1, 0, BAD),
	ENTRY_(end, 1, THE_END, 0, 0, BAD),
	ENTRY_(wrong_turn, 0, 0, 0, 0, BAD),
	ENTRY_(beyond_table, 2, 0, 0, 0, BAD),
	{ .name = "entry_nowhere", .run = entry_nowhere },
	{ .name = "entry_elsewhere", .run = entry_elsewhere },
	{ .name = "entry_early", .run = entry_early },
	{ .name = "entry_again", .run = entry_again },
	{ .name = "entry_rewritten_late", .run = entry_rewritten_late },
	{ .name = "entry_rewritten", .run = entry_rewritten },
	{ .name = "entry_rewritten_bad", .run = entry_rewritten_bad },
	{ .name = NULL },
};
