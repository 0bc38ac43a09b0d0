/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An engine of streams for the tests that look at single decisions. */
#ifndef _RDS_UNIT_STREAM_H
#define _RDS_UNIT_STREAM_H

#include "proto/plat.h"
#include "stream/decide.h"
#include "unit.h"

#define ADDR_TABLE	0x10000ull	/* of the peer */
#define ADDR_FIRST	0x20000ull
#define KEY_TABLE	0x111
#define KEY_FIRST	0x222

struct one {
	struct rds_ss_engine	e;
	struct rds_ss_config	conf;
	struct rds_ss_hello	peer;
	struct rds_ss_early	early[64 + RDS_SS_RX_EXTRA];
	u64			table[4];
	struct rds_ss_post	p;
	struct rds_ss_news	news;
};

/* Before rds_ss_init(): @conf and @peer may be changed. */
static inline void one_defaults(struct one *o, bool iwarp, bool active)
{
	memset(o, 0, sizeof(*o));
	o->conf = (struct rds_ss_config){
		.iwarp = iwarp, .active = active, .rq = 64, .sq = 64, .max_msg = 65536,
		.max_half = 65536, .iomap = 4, .table = o->table, .table_seg = { 0x7000, 0x70, 0 },
		.half = { { { 0x8000, 0x80, RDS_SS_HALF_MIN }, 0 },
			  { { 0xa000, 0xa0, RDS_SS_HALF_MIN }, 1 } },
		.early = o->early,
	};
	o->peer = (struct rds_ss_hello){
		.big_endian = rds_ss_big_endian(), .credits = 384,
		.table = { ADDR_TABLE, KEY_TABLE, 2 }, .first = { ADDR_FIRST, KEY_FIRST, 131072 },
	};
}

/* Open, with the first announcement, which every stream makes, out of the way. */
static inline void one_open(struct one *o)
{
	EXPECT(rds_ss_init(&o->e, &o->conf), "init");
	EXPECT_EQ(rds_ss_open(&o->e, &o->peer, &o->news), RDS_SS_FINE);
	if (o->e.silent)
		return;
	EXPECT(rds_ss_decide(&o->e, 1, &o->p) && o->p.what == RDS_SS_ANNOUNCE, "no announcement");
	rds_ss_complete(&o->e, o->p.slot);
}

static inline void one_roce(struct one *o)
{
	one_defaults(o, false, true);
	one_open(o);
}

/* The next decision is @what. */
static inline void decides(struct one *o, enum rds_ss_what what)
{
	bool some = rds_ss_decide(&o->e, 1 << 20, &o->p);

	EXPECT(some, "no decision, not %d", what);
	EXPECT(!some || o->p.what == what, "decision %d, not %d", o->p.what, what);
}

static inline void decides_nothing(struct one *o)
{
	struct rds_ss_post p;
	bool some = rds_ss_decide(&o->e, 1 << 20, &p);

	EXPECT(!some, "decision %d", p.what);
}

static inline enum rds_ss_why comes(struct one *o, u32 msg, u32 payload)
{
	return rds_ss_receive(&o->e, msg, payload, &o->news);
}

/* Message words, as the protocol has them */
#define DATA(n)		((u32)(n))
#define CREDIT(n)	(4u << 29 | (n))
#define IOMAP(n)	(6u << 29 | (n))
#define CONTROL(n)	(7u << 29 | (n))

#endif
