/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A congestion map in wire layout: port p is bit p % 8, least significant
 * first, of byte p / 8. No function here is atomic: callers guard a map that
 * several contexts change.
 */
#ifndef _RDS_PROTO_CONGMAP_H
#define _RDS_PROTO_CONGMAP_H

#include "proto/plat.h"
#include <net/rds/wire.h>

static_assert(RDS_CONG_MAP_BYTES * 8 == 1 << 16);

static inline bool rds_congmap_test(const u8 *map, u16 port)
{
	return map[port / 8] & 1 << port % 8;
}

static inline void rds_congmap_set(u8 *map, u16 port)
{
	map[port / 8] |= 1 << port % 8;
}

static inline void rds_congmap_clear(u8 *map, u16 port)
{
	map[port / 8] &= ~(1 << port % 8);
}

u64 rds_congmap_groups(const u8 *map);
u64 rds_congmap_copy(u8 *to, const u8 *from);
u64 rds_congmap_cleared_groups(const u8 *before, const u8 *after);

#endif
