// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/congmap.h"
#include "unit.h"

static u8 map[RDS_CONG_MAP_BYTES], other[RDS_CONG_MAP_BYTES], copy[RDS_CONG_MAP_BYTES];

static void reset(void)
{
	memset(map, 0, sizeof(map));
	memset(other, 0, sizeof(other));
}

/* Byte and value of each port's bit on the wire */
static void bit_places(void)
{
	static const struct { u16 port, byte; u8 value; } rows[] = {
		{ 0, 0, 0x01 }, { 1, 0, 0x02 }, { 7, 0, 0x80 }, { 8, 1, 0x01 },
		{ 4000, 500, 0x01 }, { 16385, 2048, 0x02 }, { 65535, 8191, 0x80 },
	};
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		reset();
		rds_congmap_set(map, rows[i].port);
		for (j = 0; j < sizeof(map); j++)
			EXPECT(map[j] == (j == rows[i].byte ? rows[i].value : 0),
			       "port %u: byte %zu is %02x", rows[i].port, j, map[j]);
	}
}

static void every_port(void)
{
	unsigned int port;

	reset();
	for (port = 0; port < 65536; port++) {
		EXPECT(!rds_congmap_test(map, port), "port %u set too early", port);
		rds_congmap_set(map, port);
		EXPECT(rds_congmap_test(map, port), "port %u not set", port);
	}
	for (port = 0; port < 65536; port++) {
		rds_congmap_clear(map, port);
		EXPECT(!rds_congmap_test(map, port), "port %u not cleared", port);
		EXPECT(!rds_congmap_groups(map) == (port == 65535), "any after port %u", port);
	}
}

static void set_is_idempotent(void)
{
	reset();
	rds_congmap_set(map, 77);
	rds_congmap_set(map, 77);
	rds_congmap_set(map, 78);
	rds_congmap_clear(map, 77);
	rds_congmap_clear(map, 77);
	EXPECT(!rds_congmap_test(map, 77) && rds_congmap_test(map, 78), "77 and 78");
}

static void groups_of_one_port(void)
{
	unsigned int port;

	for (port = 0; port < 65536; port += 13) {
		reset();
		rds_congmap_set(map, port);
		EXPECT_EQ(rds_congmap_groups(map), 1ULL << port % 64);
		EXPECT_EQ(rds_congmap_copy(copy, map), 1ULL << port % 64);
		EXPECT(!memcmp(copy, map, sizeof(copy)), "copy of port %u", port);
		EXPECT_EQ(rds_congmap_cleared_groups(map, other), 1ULL << port % 64);
		EXPECT_EQ(rds_congmap_cleared_groups(other, map), 0);
		EXPECT_EQ(rds_congmap_cleared_groups(map, map), 0);
	}
}

static void groups_add_up(void)
{
	reset();
	rds_congmap_set(map, 3);
	rds_congmap_set(map, 64 + 5);
	rds_congmap_set(map, 65535);
	rds_congmap_set(map, 6);
	rds_congmap_set(other, 6);
	rds_congmap_set(other, 9);
	EXPECT_EQ(rds_congmap_cleared_groups(map, other), 1ULL << 3 | 1ULL << 5 | 1ULL << 63);
}

/* A group is reported even if another port of the group is congested. */
static void group_with_another_port_set(void)
{
	reset();
	rds_congmap_set(map, 10);
	rds_congmap_set(map, 74);
	rds_congmap_set(other, 74);
	rds_congmap_set(other, 138);
	EXPECT_EQ(rds_congmap_cleared_groups(map, other), 1ULL << 10);
}

UNIT_CASES(
	{ "congmap.bit_places", bit_places },
	{ "congmap.every_port", every_port },
	{ "congmap.set_is_idempotent", set_is_idempotent },
	{ "congmap.groups_of_one_port", groups_of_one_port },
	{ "congmap.groups_add_up", groups_add_up },
	{ "congmap.group_with_another_port_set", group_with_another_port_set },
);
