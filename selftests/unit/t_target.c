// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/plat.h"
#include "stream/target.h"
#include "unit.h"

static u64 table[4];

static void publish(unsigned int entry, u64 addr, u32 key, u32 bytes)
{
	const struct rds_ss_segment s = { addr, key, bytes };

	rds_ss_entry_put((u8 *)table + entry * RDS_SS_ENTRY_BYTES, &s, false);
}

static void begin(struct rds_ss_target *t)
{
	const struct rds_ss_segment first = { 0x10000, 1, 100 };

	memset(table, 0x77, sizeof(table));
	rds_ss_target_init(t, table);
	EXPECT(!table[0] && !table[3], "the table is cleared");
	EXPECT_EQ(rds_ss_target_room(t), 0);
	rds_ss_target_open(t, &first);
	EXPECT_EQ(rds_ss_target_room(t), 100);
}

static void use(struct rds_ss_target *t, u32 bytes, u64 addr, u32 key)
{
	struct rds_ss_segment s = rds_ss_target_use(t, bytes);

	EXPECT_EQ(s.addr, addr);
	EXPECT_EQ(s.key, key);
	EXPECT_EQ(s.bytes, bytes);
}

static void takes_turns(void)
{
	struct rds_ss_target t;

	begin(&t);
	publish(1, 0x20000, 2, 50);
	EXPECT_EQ(rds_ss_target_look(&t, true), RDS_SS_FINE);
	use(&t, 60, 0x10000, 1);
	use(&t, 40, 0x1003c, 1);
	use(&t, 50, 0x20000, 2);
	EXPECT_EQ(rds_ss_target_room(&t), 0);
	publish(0, 0x30000, 3, 7);
	EXPECT_EQ(rds_ss_target_look(&t, true), RDS_SS_FINE);
	use(&t, 7, 0x30000, 3);
	publish(1, 0x40000, 4, 8);
	EXPECT_EQ(rds_ss_target_look(&t, false), RDS_SS_FINE);
	use(&t, 8, 0x40000, 4);
}

/* The first entry that the peer writes is entry 1, which may come before the connect data do. */
static void first_is_one(void)
{
	const struct rds_ss_segment first = { 0x10000, 1, 100 };
	struct rds_ss_target t;

	rds_ss_target_init(&t, table);
	publish(1, 0x20000, 2, 50);
	rds_ss_target_open(&t, &first);
	EXPECT_EQ(rds_ss_target_look(&t, true), RDS_SS_FINE);
	use(&t, 100, 0x10000, 1);
	use(&t, 50, 0x20000, 2);
	begin(&t);
	publish(0, 0x20000, 2, 50);
	EXPECT_EQ(rds_ss_target_look(&t, true), RDS_SS_WHY_ENTRY);
}

/* On iWARP a message may announce credit alone, which leaves the table as it is. */
static void may_be_none(void)
{
	struct rds_ss_target t;

	begin(&t);
	EXPECT_EQ(rds_ss_target_look(&t, false), RDS_SS_FINE);
	EXPECT_EQ(rds_ss_target_look(&t, true), RDS_SS_WHY_ENTRY);
	EXPECT_EQ(rds_ss_target_room(&t), 100);
}

static void refused(void)
{
	static const struct rds_ss_segment bad[] = {
		{ 0x1000, 0, 10 }, { 0x1000, 1, RDS_SS_MAX_SEGMENT + 1 },
		{ 0xfffffffffffffff0, 1, 0x11 }, { 0, 1, 0xffffffff },
	};
	struct rds_ss_target t;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		begin(&t);
		publish(1, bad[i].addr, bad[i].key, bad[i].bytes);
		EXPECT_EQ(rds_ss_target_look(&t, true), RDS_SS_WHY_ENTRY);
		EXPECT_EQ(t.seg[1].bytes, 0);
	}
	begin(&t);
	publish(1, 0xfffffffffffffff0, 1, 0x10);
	EXPECT_EQ(rds_ss_target_look(&t, true), RDS_SS_FINE);
}

/* On iWARP a message may come while the entry of the next one does. */
static void part_is_left(void)
{
	struct rds_ss_target t;

	begin(&t);
	publish(1, 0x20000, 0, 50);
	EXPECT_EQ(rds_ss_target_look(&t, false), RDS_SS_FINE);
	EXPECT_EQ(t.seg[1].bytes, 0);
	publish(1, 0x20000, 2, 50);
	EXPECT_EQ(rds_ss_target_look(&t, false), RDS_SS_FINE);
	use(&t, 100, 0x10000, 1);
	use(&t, 50, 0x20000, 2);
}

/* An entry in the place of one that is not used up would move data that are under way. */
static void early(void)
{
	struct rds_ss_target t;

	begin(&t);
	publish(1, 0x20000, 2, 50);
	EXPECT_EQ(rds_ss_target_look(&t, true), RDS_SS_FINE);
	use(&t, 99, 0x10000, 1);
	publish(0, 0x30000, 3, 9);
	EXPECT_EQ(rds_ss_target_look(&t, true), RDS_SS_WHY_EARLY);
}

/* What the peer writes over an entry that was taken changes nothing. */
static void taken_is_taken(void)
{
	struct rds_ss_target t;

	begin(&t);
	publish(1, 0x20000, 2, 50);
	EXPECT_EQ(rds_ss_target_look(&t, true), RDS_SS_FINE);
	publish(1, 0xbad, 9, 1000);
	use(&t, 100, 0x10000, 1);
	EXPECT_EQ(rds_ss_target_room(&t), 50);
	use(&t, 50, 0x20000, 2);
}

UNIT_CASES(
	{ "target.takes_turns", takes_turns },
	{ "target.first_is_one", first_is_one },
	{ "target.may_be_none", may_be_none },
	{ "target.refused", refused },
	{ "target.part_is_left", part_is_left },
	{ "target.early", early },
	{ "target.taken_is_taken", taken_is_taken },
);
