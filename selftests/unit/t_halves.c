// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/plat.h"
#include "stream/halves.h"
#include "unit.h"

static const struct rds_ss_mem two[2] = {
	{ { 0x1000, 11, 100 }, 1 },
	{ { 0x2000, 12, 100 }, 2 },
};

static void begin(struct rds_ss_halves *h, u32 max)
{
	rds_ss_halves_init(h, two, max);
}

static void publish(struct rds_ss_halves *h, u8 entry, u32 key, u32 bytes, u32 freed)
{
	struct rds_ss_segment s;
	u32 got_freed;
	u8 got;

	EXPECT(rds_ss_halves_due(h), "nothing to publish");
	s = rds_ss_halves_publish(h, &got, &got_freed);
	EXPECT_EQ(got, entry);
	EXPECT_EQ(s.key, key);
	EXPECT_EQ(s.bytes, bytes);
	EXPECT_EQ(got_freed, freed);
}

static void span(struct rds_ss_halves *h, u32 skip, u32 id, u32 off, u32 bytes)
{
	struct rds_ss_span s = rds_ss_halves_span(h, skip);

	EXPECT_EQ(s.bytes, bytes);
	if (!bytes)
		return;
	EXPECT_EQ(s.id, id);
	EXPECT_EQ(s.off, off);
}

static void goes_round(void)
{
	struct rds_ss_halves h;

	begin(&h, 100);
	publish(&h, 1, 12, 100, RDS_SS_NO_MEM);
	EXPECT(!rds_ss_halves_due(&h), "both are published");
	EXPECT(rds_ss_halves_arrive(&h, 60), "60");
	EXPECT(rds_ss_halves_arrive(&h, 40), "the rest of the first");
	EXPECT(rds_ss_halves_arrive(&h, 30), "of the second");
	span(&h, 0, 1, 0, 100);
	span(&h, 99, 1, 99, 1);
	span(&h, 100, 2, 0, 30);
	span(&h, 129, 2, 29, 1);
	span(&h, 130, 0, 0, 0);
	EXPECT_EQ(rds_ss_halves_unread(&h), 130);
	rds_ss_halves_read(&h, 99);
	EXPECT(!rds_ss_halves_due(&h), "a byte is left");
	span(&h, 0, 1, 99, 1);
	rds_ss_halves_read(&h, 11);
	publish(&h, 0, 11, 100, RDS_SS_NO_MEM);
	span(&h, 0, 2, 10, 20);
	EXPECT(rds_ss_halves_arrive(&h, 70), "the rest of the second");
	EXPECT(rds_ss_halves_arrive(&h, 100), "all of the first");
	rds_ss_halves_read(&h, 190);
	EXPECT_EQ(rds_ss_halves_unread(&h), 0);
	publish(&h, 1, 12, 100, RDS_SS_NO_MEM);
	publish(&h, 0, 11, 100, RDS_SS_NO_MEM);
	EXPECT(!rds_ss_halves_due(&h), "both are published");
}

static void beyond(void)
{
	struct rds_ss_halves h;

	begin(&h, 100);
	EXPECT(!rds_ss_halves_arrive(&h, 101), "beyond the first");
	EXPECT(rds_ss_halves_arrive(&h, 100), "all of the first");
	EXPECT(!rds_ss_halves_arrive(&h, 1), "the second is not published");
	publish(&h, 1, 12, 100, RDS_SS_NO_MEM);
	EXPECT(rds_ss_halves_arrive(&h, 50), "half of the second");
	EXPECT(!rds_ss_halves_arrive(&h, 51), "a message in both");
	EXPECT(!rds_ss_halves_arrive(&h, 0xffffffff), "a length that wraps");
	EXPECT(rds_ss_halves_arrive(&h, 50), "the other half");
	EXPECT(!rds_ss_halves_arrive(&h, 1), "nothing is published");
	rds_ss_halves_read(&h, 1000);
	EXPECT_EQ(rds_ss_halves_unread(&h), 0);
}

static void fill_and_read(struct rds_ss_halves *h)
{
	u32 i, freed;
	u8 entry;

	for (i = 0; i < 2; i++)
		rds_ss_halves_arrive(h, h->half[h->fill].mem.seg.bytes);
	rds_ss_halves_read(h, rds_ss_halves_unread(h));
	while (rds_ss_halves_due(h))
		rds_ss_halves_publish(h, &entry, &freed);
}

static void grows(void)
{
	const struct rds_ss_mem large = { { 0x3000, 13, 400 }, 3 };
	struct rds_ss_halves h;

	begin(&h, 1000);
	publish(&h, 1, 12, 100, RDS_SS_NO_MEM);
	EXPECT_EQ(rds_ss_halves_ask(&h), 0);
	rds_ss_halves_arrive(&h, 100);
	rds_ss_halves_read(&h, 100);
	EXPECT_EQ(rds_ss_halves_ask(&h), 0);
	publish(&h, 0, 11, 100, RDS_SS_NO_MEM);
	rds_ss_halves_arrive(&h, 100);
	rds_ss_halves_arrive(&h, 100);
	rds_ss_halves_read(&h, 100);
	EXPECT_EQ(rds_ss_halves_ask(&h), 400);
	EXPECT_EQ(rds_ss_halves_ask(&h), 0);
	publish(&h, 1, 12, 100, RDS_SS_NO_MEM);
	EXPECT(rds_ss_halves_spare(&h, &large), "a spare");
	EXPECT(!rds_ss_halves_spare(&h, &large), "another one");
	rds_ss_halves_read(&h, 100);
	publish(&h, 0, 13, 400, 1);
	rds_ss_halves_arrive(&h, 100);
	span(&h, 0, 2, 0, 100);
	rds_ss_halves_arrive(&h, 250);
	span(&h, 100, 3, 0, 250);
	/* The small one follows the large one. */
	rds_ss_halves_read(&h, 100);
	EXPECT_EQ(rds_ss_halves_ask(&h), 400);
}

static void grows_to_the_most(void)
{
	struct rds_ss_mem mem = { { 0x3000, 13, 0 }, 3 };
	struct rds_ss_halves h;
	unsigned int i;
	u32 want;

	begin(&h, 1000);
	for (i = 0; i < 20; i++) {
		fill_and_read(&h);
		want = rds_ss_halves_ask(&h);
		EXPECT(want <= 1000, "asks for %u", want);
		if (!want)
			continue;
		mem.seg.bytes = want;
		mem.id++;
		EXPECT(rds_ss_halves_spare(&h, &mem), "a spare of %u", want);
	}
	EXPECT_EQ(h.half[0].mem.seg.bytes, 1000);
	EXPECT_EQ(h.half[1].mem.seg.bytes, 1000);
	EXPECT_EQ(rds_ss_halves_ask(&h), 0);
}

/* A limit below the size that there is asks for nothing. */
static void grows_within_the_limit(void)
{
	struct rds_ss_mem mem[2] = { two[0], two[1] };
	struct rds_ss_halves h;

	begin(&h, 50);
	fill_and_read(&h);
	fill_and_read(&h);
	EXPECT_EQ(rds_ss_halves_ask(&h), 0);
	mem[1].seg.bytes = 300;
	rds_ss_halves_init(&h, mem, 200);
	fill_and_read(&h);
	fill_and_read(&h);
	EXPECT_EQ(rds_ss_halves_ask(&h), 200);
}

/* Without memory the halves go on as they are, and ask again at the next time. */
static void goes_on_without(void)
{
	const struct rds_ss_mem small = { { 0x3000, 13, 100 }, 3 };
	struct rds_ss_halves h;

	begin(&h, 1000);
	fill_and_read(&h);
	fill_and_read(&h);
	EXPECT_EQ(rds_ss_halves_ask(&h), 400);
	fill_and_read(&h);
	EXPECT_EQ(rds_ss_halves_ask(&h), 0);
	EXPECT(!rds_ss_halves_spare(&h, NULL), "none");
	fill_and_read(&h);
	EXPECT_EQ(rds_ss_halves_ask(&h), 400);
	EXPECT(!rds_ss_halves_spare(&h, &small), "one that is not larger");
	fill_and_read(&h);
	EXPECT_EQ(rds_ss_halves_ask(&h), 400);
}

UNIT_CASES(
	{ "halves.goes_round", goes_round },
	{ "halves.beyond", beyond },
	{ "halves.grows", grows },
	{ "halves.grows_to_the_most", grows_to_the_most },
	{ "halves.grows_within_the_limit", grows_within_the_limit },
	{ "halves.goes_on_without", goes_on_without },
);
