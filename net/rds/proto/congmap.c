// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/congmap.h"

/* 64 ports, one of each group of the congestion monitor */
#define GROUP_BYTES	8

/*
 * Bit g of the result is the port of group g (port % 64 == g), on machines of
 * any byte order.
 */
static u64 load_groups(const u8 *p)
{
	u64 v = 0;
	int i;

	for (i = GROUP_BYTES - 1; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

/* The same ports as they are in memory: a map is long. */
static inline u64 load_ports(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline u64 copy_ports(u8 *to, const u8 *from)
{
	u64 v = load_ports(from);

	memcpy(to, &v, sizeof(v));
	return v;
}

/**
 * rds_congmap_groups() - find the monitor groups with a congested port
 * @map: RDS_CONG_MAP_BYTES
 *
 * Return: a mask of the groups, port modulo 64; 0 if no port is congested.
 */
u64 rds_congmap_groups(const u8 *map)
{
	u64 ports = 0;
	size_t i;

	/* Four at a time, as each map that comes is looked at */
	for (i = 0; i < RDS_CONG_MAP_BYTES; i += 4 * GROUP_BYTES)
		ports |= load_ports(map + i) |
			 load_ports(map + i + GROUP_BYTES) |
			 load_ports(map + i + 2 * GROUP_BYTES) |
			 load_ports(map + i + 3 * GROUP_BYTES);
	return load_groups((const u8 *)&ports);
}

/**
 * rds_congmap_copy() - copy a map, and find its groups as rds_congmap_groups()
 * @to: RDS_CONG_MAP_BYTES
 * @from: RDS_CONG_MAP_BYTES
 *
 * Return: a mask of the groups.
 */
u64 rds_congmap_copy(u8 *to, const u8 *from)
{
	u64 ports = 0;
	size_t i;

	for (i = 0; i < RDS_CONG_MAP_BYTES; i += 4 * GROUP_BYTES)
		ports |= copy_ports(to + i, from + i) |
			 copy_ports(to + i + GROUP_BYTES,
				    from + i + GROUP_BYTES) |
			 copy_ports(to + i + 2 * GROUP_BYTES,
				    from + i + 2 * GROUP_BYTES) |
			 copy_ports(to + i + 3 * GROUP_BYTES,
				    from + i + 3 * GROUP_BYTES);
	return load_groups((const u8 *)&ports);
}

/**
 * rds_congmap_cleared_groups() - find the monitor groups in which a port became
 * free
 * @before: old map
 * @after: new map
 *
 * Return: a mask of the groups, port modulo 64, in which some port went from 1
 * to 0.
 */
u64 rds_congmap_cleared_groups(const u8 *before, const u8 *after)
{
	u64 ports = 0;
	size_t i;

	for (i = 0; i < RDS_CONG_MAP_BYTES; i += GROUP_BYTES)
		ports |= load_ports(before + i) & ~load_ports(after + i);
	return load_groups((const u8 *)&ports);
}
