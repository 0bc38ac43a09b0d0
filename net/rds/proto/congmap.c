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

/**
 * rds_congmap_any() - is any port congested?
 * @map: RDS_CONG_MAP_BYTES
 *
 * Return: true if some bit is set.
 */
bool rds_congmap_any(const u8 *map)
{
	size_t i;

	for (i = 0; i < RDS_CONG_MAP_BYTES; i += GROUP_BYTES)
		if (load_groups(map + i))
			return true;
	return false;
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
	u64 groups = 0;
	size_t i;

	for (i = 0; i < RDS_CONG_MAP_BYTES; i += GROUP_BYTES)
		groups |= load_groups(before + i) & ~load_groups(after + i);
	return groups;
}
