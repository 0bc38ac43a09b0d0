// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Maps that change: the input is a list of ports, two bytes each, toggled one after the other
 * in the second of two maps; groups are compared with a port-by-port reading.
 */
#include "fuzz.h"
#include "proto/congmap.h"

const struct fuzz_seed fuzz_seeds[] = {
	{ 8, "\0\0\0\1\17\240\377\377" },
	{ 4, "\1\2\1\2" },
	{ 6, "\0\77\0\100\0\177" },
	{ 0, NULL },
};

static u8 before[RDS_CONG_MAP_BYTES], after[RDS_CONG_MAP_BYTES];

static void toggle(u8 *map, u16 port)
{
	bool was = rds_congmap_test(map, port);

	if (was)
		rds_congmap_clear(map, port);
	else
		rds_congmap_set(map, port);
	HOLDS(rds_congmap_test(map, port) != was);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t n)
{
	u64 want = 0;
	bool any = false;
	size_t i;

	/* the first half of the ports is set in both maps */
	for (i = 0; i + 2 <= n / 2; i += 2) {
		rds_congmap_set(before, rds_load_be16(data + i));
		rds_congmap_set(after, rds_load_be16(data + i));
	}
	for (i = 0; i + 2 <= n; i += 2)
		toggle(after, rds_load_be16(data + i));

	/* only ports that were named can differ, or be set */
	for (i = 0; i + 2 <= n; i += 2) {
		u16 port = rds_load_be16(data + i);

		if (rds_congmap_test(before, port) && !rds_congmap_test(after, port))
			want |= 1ULL << port % 64;
		any |= rds_congmap_test(after, port);
	}
	HOLDS(rds_congmap_cleared_groups(before, after) == want);
	HOLDS(rds_congmap_any(after) == any);

	for (i = 0; i + 2 <= n; i += 2) {
		rds_congmap_clear(before, rds_load_be16(data + i));
		rds_congmap_clear(after, rds_load_be16(data + i));
	}
	HOLDS(!rds_congmap_any(after));
	return 0;
}
