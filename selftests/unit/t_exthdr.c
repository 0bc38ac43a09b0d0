// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/exthdr.h"
#include "unit.h"

#define AREA(...)	{ __VA_ARGS__ }

static void table_lengths(void)
{
	static const signed char len[256] = {
		[1] = 4, [2] = 4, [3] = 8, [4] = 8, [5] = 2, [6] = 4, [7] = 4,
		[8] = 1, [9] = 8, [10] = 1,
	};
	unsigned int type;

	for (type = 0; type < 256; type++) {
		const struct rds_ext_desc *d = rds_ext_desc(type);

		EXPECT(!!d == !!len[type], "type %u", type);
		if (d) {
			EXPECT_EQ(d->len, len[type]);
			EXPECT_EQ(d->type, type);
			EXPECT(d->name && *d->name, "type %u has no name", type);
		}
	}
}

/* An extension area, and the types that the iterator returns, in order. */
struct walk {
	const char	*what;
	bool		data;
	u8		area[RDS_EXTHDR_SPACE];
	unsigned int	n;
	u8		types[RDS_EXTHDR_SPACE];
};

static const struct walk walks[] = {
	{ "empty", false, AREA(0), 0, { 0 } },
	{ "nothing behind a terminator", false, AREA(0, 5, 0, 8), 0, { 0 } },
	{ "one", false, AREA(5, 0, 8), 1, { 5 } },
	{ "a full handshake", false, AREA(5, 0, 8, 6, 1, 2, 3, 4, 8, 0), 3, { 5, 6, 8 } },
	{ "an exactly full area has no terminator", false,
	  AREA(3, 1, 2, 3, 4, 5, 6, 7, 8, 6, 1, 2, 3, 4, 8, 9), 3, { 3, 6, 8 } },
	{ "type 16 hides what follows", false, AREA(16, 5, 0, 8), 0, { 0 } },
	{ "type 255 hides what follows", false, AREA(5, 0, 8, 255, 6, 1, 2, 3, 4), 1, { 5 } },
	{ "CAP_BITS in a handshake", false, AREA(7, 0, 0, 1, 0, 5, 0, 8), 2, { 7, 5 } },
	{ "CSUM in a handshake has no body", false, AREA(9, 5, 0, 8), 2, { 9, 5 } },
	{ "CAP_BITS in a data message", true, AREA(7, 3, 2, 3, 2, 5, 0, 8), 2, { 7, 5 } },
	{ "CSUM in a data message", true, AREA(9, 3, 2, 3, 2, 1, 2, 3, 4, 5, 0, 8), 2, { 9, 5 } },
	{ "CSUM behind RDMA", true, AREA(2, 1, 2, 3, 4, 9, 3, 2, 3, 2, 1, 2, 3, 4), 2, { 2, 9 } },
	{ "CSUM that would run out", true, AREA(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 9, 2, 2, 2, 2, 2), 2,
	  { 1, 1 } },
	{ "types 9 to 15", false, AREA(9, 10, 11, 12, 13, 14, 15, 5, 0, 2), 8,
	  { 9, 10, 11, 12, 13, 14, 15, 5 } },
	{ "an unknown type in the last byte", false, AREA(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 10),
	  4, { 1, 1, 1, 10 } },
	{ "a body that would run out", false, AREA(3, 0, 0, 0, 0, 0, 0, 0, 0, 3, 1, 1, 1, 1, 1, 1), 1,
	  { 3 } },
	{ "a type without its body in the last byte", false,
	  AREA(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 8), 3, { 1, 1, 1 } },
	{ "two that fill all but two bytes", false, AREA(2, 1, 1, 1, 1, 4, 0, 0, 0, 9, 1), 2, { 2, 4 } },
};

static void walk_areas(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(walks); i++) {
		const struct walk *w = &walks[i];
		struct rds_ext_iter it;
		struct rds_ext ext;
		unsigned int n = 0;

		rds_ext_iter_init(&it, w->area, w->data);
		while (rds_ext_next(&it, &ext)) {
			EXPECT(n < w->n && ext.type == w->types[n], "%s: element %u is type %u",
			       w->what, n, ext.type);
			EXPECT(ext.body + ext.len <= w->area + RDS_EXTHDR_SPACE,
			       "%s: body of element %u runs out", w->what, n);
			n++;
		}
		EXPECT(n == w->n, "%s: %u elements, not %u", w->what, n, w->n);
		EXPECT(!rds_ext_next(&it, &ext), "%s: goes on after the end", w->what);
	}
}

static void body_is_in_place(void)
{
	static const u8 area[RDS_EXTHDR_SPACE] = AREA(5, 0x12, 0x34, 6, 9, 8, 7,
						      6);
	struct rds_ext_iter it;
	struct rds_ext ext;

	rds_ext_iter_init(&it, area, false);
	EXPECT_EQ(rds_ext_next(&it, &ext), 1);
	EXPECT(ext.body == area + 1 && ext.len == 2, "body of NPATHS");
	EXPECT_EQ(rds_ext_next(&it, &ext), 1);
	EXPECT(ext.body == area + 4 && ext.len == 4, "body of GEN_NUM");
	EXPECT(!strcmp(ext.desc->name, "GEN_NUM"), "name is %s", ext.desc->name);
}

static void append_fits_or_not(void)
{
	static const u8 body[RDS_EXT_BODY_MAX] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const u8 want[RDS_EXTHDR_SPACE] = AREA(2, 1, 2, 3, 4, 4, 1, 2, 3,
						      4, 5, 6, 7, 8);
	u8 area[RDS_EXTHDR_SPACE] = { 0 };
	unsigned int used = 0;

	EXPECT(rds_ext_append(area, &used, RDS_EXT_RDMA, body), "RDMA");
	EXPECT(rds_ext_append(area, &used, RDS_EXT_RDMA_BYTES, body), "RDMA_BYTES");
	EXPECT_EQ(used, 14);
	EXPECT(!rds_ext_append(area, &used, RDS_EXT_NPATHS, body), "3 bytes into 2");
	EXPECT_EQ(used, 14);
	EXPECT(!memcmp(area, want, sizeof(area)), "refusal wrote something");
	EXPECT(rds_ext_append(area, &used, RDS_EXT_SPORT_IDX, body), "2 bytes into 2");
	EXPECT_EQ(used, 16);
	EXPECT(!rds_ext_append(area, &used, RDS_EXT_SPORT_IDX, body), "into a full area");
}

static void append_refuses_unknown(void)
{
	u8 area[RDS_EXTHDR_SPACE] = { 0 };
	unsigned int used = 0;

	EXPECT(!rds_ext_append(area, &used, RDS_EXT_NONE, area), "type 0");
	EXPECT(!rds_ext_append(area, &used, 11, area), "type 11");
	EXPECT(!rds_ext_append(area, &used, RDS_EXT_MAX, area), "type 16");
	EXPECT(!rds_ext_append(area, &used, 261, area), "type 261");
	EXPECT_EQ(used, 0);
	used = 17;
	EXPECT(!rds_ext_append(area, &used, RDS_EXT_NPATHS, area), "beyond the area");
}

static void handshake_bytes(void)
{
	static const u8 with[RDS_EXTHDR_SPACE] = AREA(5, 0, 8, 6, 0xde, 0xad,
						      0xbe, 0xef, 8, 0);
	static const u8 without[RDS_EXTHDR_SPACE] = AREA(5, 0, 1, 6, 0, 0, 0,
							 9);
	static const u8 acks[RDS_EXTHDR_SPACE] = AREA(5, 0, 1, 6, 0, 0, 0, 9, 7,
						      0, 0, 1, 0);
	u8 area[RDS_EXTHDR_SPACE];

	memset(area, 0xff, sizeof(area));
	rds_handshake_build(area, 8, 0xdeadbeef, true, 0);
	EXPECT(!memcmp(area, with, sizeof(area)), "with SPORT_IDX");
	memset(area, 0xff, sizeof(area));
	rds_handshake_build(area, 1, 9, false, 0);
	EXPECT(!memcmp(area, without, sizeof(area)), "without SPORT_IDX");
	memset(area, 0xff, sizeof(area));
	rds_handshake_build(area, 1, 9, false, RDS_CAP_BITS_ACK);
	EXPECT(!memcmp(area, acks, sizeof(area)), "with CAP_BITS");
}

/* A peer that may not count paths, or not any more, hears no number of them. */
static void handshake_no_npaths(void)
{
	static const u8 ask[RDS_EXTHDR_SPACE] = AREA(6, 0, 0, 0, 9, 8, 0);
	static const u8 all[RDS_EXTHDR_SPACE] = AREA(6, 0, 0, 0, 9, 8, 0, 7, 0,
						     3, 5, 0);
	static const u8 dest[RDS_EXTHDR_SPACE] = AREA(3, 1, 2, 3, 4, 5, 6, 7,
						      8, 5, 0, 8);
	u8 area[RDS_EXTHDR_SPACE];

	memset(area, 0xff, sizeof(area));
	rds_handshake_build(area, 0, 9, true, 0);
	EXPECT(!memcmp(area, ask, sizeof(area)), "built without");
	rds_handshake_drop_npaths(area);
	EXPECT(!memcmp(area, ask, sizeof(area)), "nothing to take out");
	rds_handshake_build(area, 8, 9, true, 0x00030500);
	EXPECT(area[0] == RDS_EXT_NPATHS && area[14] == 0, "the largest");
	rds_handshake_drop_npaths(area);
	EXPECT(!memcmp(area, all, sizeof(area)), "taken out");
	memcpy(area, dest, sizeof(area));
	rds_handshake_drop_npaths(area);
	EXPECT(!memcmp(area, dest, sizeof(area)), "of a message");
}

struct shake {
	const char		*what;
	u8			area[RDS_EXTHDR_SPACE];
	struct rds_handshake	want;
};

static const struct shake shakes[] = {
	{ "nothing", AREA(0), { 0 } },
	{ "as 6.12 sends it", AREA(5, 0, 8), { .npaths = 8, .has_npaths = true } },
	{ "as 7.2 sends it", AREA(5, 0, 8, 6, 1, 2, 3, 4, 8, 0),
	  { .npaths = 8, .has_npaths = true, .gen = 0x01020304, .has_gen = true,
	    .sport_idx = true } },
	{ "no paths", AREA(5, 0, 0), { .has_npaths = true } },
	{ "65535 paths", AREA(5, 255, 255), { .npaths = 65535, .has_npaths = true } },
	{ "generation 0", AREA(6, 0, 0, 0, 0), { .has_gen = true } },
	{ "as this module sends it", AREA(5, 0, 1, 6, 0, 0, 0, 9, 7, 0, 0, 1, 0),
	  { .npaths = 1, .has_npaths = true, .gen = 9, .has_gen = true,
	    .caps = RDS_CAP_BITS_ACK } },
	{ "unknown ones are counted", AREA(10, 9, 5, 0, 2),
	  { .npaths = 2, .has_npaths = true, .unknown = 2 } },
	{ "RDMA means nothing here", AREA(2, 5, 0, 8, 8, 6, 0, 0, 0, 1),
	  { .has_gen = true, .gen = 1, .unknown = 1 } },
	{ "the last of two counts", AREA(5, 0, 8, 5, 0, 2), { .npaths = 2, .has_npaths = true } },
	{ "cut off by the end", AREA(3, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 6, 1, 2, 3),
	  { .unknown = 4 } },
};

/* A generation makes a peer's numbers worth something. */
static void handshake_acks(void)
{
	struct rds_handshake hs = { .caps = RDS_CAP_BITS_ACK };

	EXPECT(!rds_handshake_acks(&hs), "without a generation");
	hs.gen = 1;
	EXPECT(rds_handshake_acks(&hs), "with one");
	hs.caps = ~RDS_CAP_BITS_ACK;
	EXPECT(!rds_handshake_acks(&hs), "with other bits");
}

static void handshake_parse(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shakes); i++) {
		const struct rds_handshake *w = &shakes[i].want;
		struct rds_handshake got;

		memset(&got, 0xff, sizeof(got));
		rds_handshake_parse(shakes[i].area, &got);
		EXPECT(got.has_npaths == w->has_npaths &&
			       got.npaths == w->npaths &&
			       got.has_gen == w->has_gen && got.gen == w->gen &&
			       got.sport_idx == w->sport_idx &&
			       got.caps == w->caps &&
			       got.unknown == w->unknown,
		       "%s: npaths %d/%u gen %d/%u sport_idx %d unknown %u",
		       shakes[i].what, got.has_npaths, got.npaths, got.has_gen,
		       got.gen, got.sport_idx, got.unknown);
	}
}

UNIT_CASES(
	{ "exthdr.table_lengths", table_lengths },
	{ "exthdr.walk_areas", walk_areas },
	{ "exthdr.body_is_in_place", body_is_in_place },
	{ "exthdr.append_fits_or_not", append_fits_or_not },
	{ "exthdr.append_refuses_unknown", append_refuses_unknown },
	{ "exthdr.handshake_bytes", handshake_bytes },
	{ "exthdr.handshake_no_npaths", handshake_no_npaths },
	{ "exthdr.handshake_parse", handshake_parse },
	{ "exthdr.handshake_acks", handshake_acks },
);
