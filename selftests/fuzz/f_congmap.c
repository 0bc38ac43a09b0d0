// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Changes of congestion maps: the input is a list of ports, two bytes each,
 * which are toggled one after the other in the second of two maps.  The result
 * of rds_congmap_cleared_groups() is compared with a test of each port.
 */
#include "fuzz.h"
#include "proto/plat.h"
#include "proto/congmap.h"

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

	/* The first half of the ports is set in both maps. */
	for (i = 0; i + 2 <= n / 2; i += 2) {
		rds_congmap_set(before, rds_load_be16(data + i));
		rds_congmap_set(after, rds_load_be16(data + i));
	}
	for (i = 0; i + 2 <= n; i += 2)
		toggle(after, rds_load_be16(data + i));

	/* Only ports of the input can be set or can differ. */
	for (i = 0; i + 2 <= n; i += 2) {
		u16 port = rds_load_be16(data + i);

		if (rds_congmap_test(before, port) &&
		    !rds_congmap_test(after, port))
			want |= 1ULL << port % 64;
		any |= rds_congmap_test(after, port);
	}
	HOLDS(rds_congmap_cleared_groups(before, after) == want);
	HOLDS(!rds_congmap_groups(after) == !any);

	for (i = 0; i + 2 <= n; i += 2) {
		rds_congmap_clear(before, rds_load_be16(data + i));
		rds_congmap_clear(after, rds_load_be16(data + i));
	}
	HOLDS(!rds_congmap_groups(after));
	return 0;
}
