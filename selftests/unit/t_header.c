// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/header.h"
#include "unit.h"

static void check_bytes(const struct rds_wire_header *h,
			const u8 want[sizeof(*h)])
{
	const u8 *got = (const u8 *)h;
	size_t i;

	for (i = 0; i < sizeof(*h); i++)
		EXPECT(got[i] == want[i], "byte %zu is %02x, not %02x", i, got[i], want[i]);
}

/* Offset and byte order of each field: the bytes of a field all differ. */
static void init_layout(void)
{
	static const u8 want[48] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0, 0, 0, 0, 0, 0, 0, 0,
		0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x31, 0x32,
		0x24, 0, 0, 0, 0, 0, 0, 0,
	};
	struct rds_wire_header h;

	memset(&h, 0xff, sizeof(h));
	rds_header_init(&h, 0x0102030405060708, 0x11121314, 0x2122, 0x3132,
			RDS_WIRE_F_EXTHDR | RDS_WIRE_F_RETRANSMITTED);
	check_bytes(&h, want);
}

static void init_cong_map(void)
{
	static const u8 want[48] = { [18] = 0x20, [24] = 0x01 };
	struct rds_wire_header h;

	rds_header_init(&h, 0, RDS_CONG_MAP_BYTES, 0, 0, RDS_WIRE_F_CONG);
	check_bytes(&h, want);
}

static void decode_all_fields(void)
{
	struct rds_header_info info;
	struct rds_wire_header h;
	size_t i;

	for (i = 0; i < sizeof(h); i++)
		((u8 *)&h)[i] = i + 1;
	rds_header_decode(&h, &info);
	EXPECT_EQ(info.seq, 0x0102030405060708);
	EXPECT_EQ(info.ack, 0x090a0b0c0d0e0f10);
	EXPECT_EQ(info.len, 0x11121314);
	EXPECT_EQ(info.sport, 0x1516);
	EXPECT_EQ(info.dport, 0x1718);
	EXPECT_EQ(info.flags, 0x19);
	EXPECT_EQ(info.credit, 0x1a);
}

static void decode_extremes(void)
{
	struct rds_header_info info;
	struct rds_wire_header h;

	memset(&h, 0xff, sizeof(h));
	rds_header_decode(&h, &info);
	EXPECT_EQ(info.seq, UINT64_MAX);
	EXPECT_EQ(info.ack, UINT64_MAX);
	EXPECT_EQ(info.len, UINT32_MAX);
	EXPECT_EQ(info.sport, 0xffff);
	EXPECT_EQ(info.credit, 0xff);
}

/* A map has CONG and no other flag; any other message is an ordinary one. */
static void cong_map_equality(void)
{
	unsigned int flags;

	for (flags = 0; flags < 256; flags++)
		EXPECT(rds_header_is_cong_map(flags) == (flags == 1), "flags %02x", flags);
}

static void csum_vector(void)
{
	struct rds_wire_header h;
	const u8 *b = (const u8 *)&h;

	rds_header_init(&h, 1, 5, 0x1234, 0x5678, RDS_WIRE_F_ACK_REQUIRED);
	rds_header_csum_set(&h);
	EXPECT_EQ(b[30], 0x95);
	EXPECT_EQ(b[31], 0x4d);
	EXPECT(rds_header_csum_ok(&h), "own checksum refused");
}

static void csum_set_twice(void)
{
	struct rds_wire_header h;
	u16 first;

	rds_header_init(&h, 77, 4096, 1, 2, 0);
	rds_header_csum_set(&h);
	first = h.csum;
	rds_header_csum_set(&h);
	EXPECT_EQ(h.csum, first);
}

static void csum_zero_accepted(void)
{
	struct rds_wire_header h;

	memset(&h, 0x5a, sizeof(h));
	h.csum = 0;
	EXPECT(rds_header_csum_ok(&h), "zero means no checksum");
}

/* The checksum covers each bit of the header and of the extension area. */
static void csum_every_bit(void)
{
	struct rds_wire_header h;
	unsigned int bit;

	rds_header_init(&h, 0x123456789a, 1000, 4000, 5000, 0);
	h.exthdr[0] = RDS_EXT_NPATHS;
	h.exthdr[2] = 8;
	rds_header_csum_set(&h);
	for (bit = 0; bit < 8 * sizeof(h); bit++) {
		((u8 *)&h)[bit / 8] ^= 1 << bit % 8;
		EXPECT(!rds_header_csum_ok(&h) || !h.csum, "bit %u goes unnoticed", bit);
		((u8 *)&h)[bit / 8] ^= 1 << bit % 8;
	}
}

UNIT_CASES(
	{ "header.init_layout", init_layout },
	{ "header.init_cong_map", init_cong_map },
	{ "header.decode_all_fields", decode_all_fields },
	{ "header.decode_extremes", decode_extremes },
	{ "header.cong_map_equality", cong_map_equality },
	{ "header.csum_vector", csum_vector },
	{ "header.csum_set_twice", csum_set_twice },
	{ "header.csum_zero_accepted", csum_zero_accepted },
	{ "header.csum_every_bit", csum_every_bit },
);
