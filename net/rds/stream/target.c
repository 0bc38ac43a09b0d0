// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Segments of the peer's memory.  Kernel-free: the unit test compiles it in
 * user space.
 */
#include "target.h"

void rds_ss_target_init(struct rds_ss_target *t, void *table)
{
	memset(t, 0, sizeof(*t));
	t->table = table;
	memset(table, 0, RDS_SS_ENTRIES * RDS_SS_ENTRY_BYTES);
}

/*
 * The table is left alone: messages may overtake the answer of the connection
 * manager, so the peer may have written entry 1 by now.
 */
void rds_ss_target_open(struct rds_ss_target *t,
			const struct rds_ss_segment *first)
{
	t->seg[0] = *first;
	t->next = 1;
}

enum rds_ss_why rds_ss_target_look(struct rds_ss_target *t, bool sure)
{
	struct rds_ss_segment found;

	if (!rds_ss_entry_take(t->table + t->next * RDS_SS_ENTRY_BYTES, &found,
			       sure))
		return sure ? RDS_SS_WHY_ENTRY : RDS_SS_FINE;
	if (!rds_ss_segment_ok(&found))
		return RDS_SS_WHY_ENTRY;
	if (t->seg[t->next].bytes)
		return RDS_SS_WHY_EARLY;
	t->seg[t->next] = found;
	t->next ^= 1;
	return RDS_SS_FINE;
}

struct rds_ss_segment rds_ss_target_use(struct rds_ss_target *t, u32 bytes)
{
	struct rds_ss_segment *s = &t->seg[t->now];
	struct rds_ss_segment place = { s->addr, s->key, bytes };

	s->addr += bytes;
	s->bytes -= bytes;
	if (!s->bytes)
		t->now ^= 1;
	return place;
}
