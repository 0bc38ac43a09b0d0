// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/seq.h"
#include "unit.h"

static void seq32_after(void)
{
	static const struct { u32 a, b; bool after; } rows[] = {
		{ 0, 0, false }, { 1, 0, true }, { 0, 1, false },
		{ 0, 0xffffffff, true }, { 0xffffffff, 0, false },
		{ 0x10, 0xfffffff0, true }, { 0xfffffff0, 0x10, false },
		{ 0x7fffffff, 0, true }, { 0x80000001, 0, false },
		{ 0x80000000, 1, true }, { 1, 0x80000002, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT(rds_seq32_after(rows[i].a, rows[i].b) == rows[i].after, "%#x after %#x",
		       rows[i].a, rows[i].b);
}

UNIT_CASES(
	{ "seq.seq32_after", seq32_after },
);
