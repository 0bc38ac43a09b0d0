// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stream.h"

static void config_bounds(void)
{
	struct one o;

#define REFUSED(change)	do {						\
	one_defaults(&o, false, true);					\
	change;								\
	EXPECT(!rds_ss_init(&o.e, &o.conf), "accepted: " #change);	\
} while (0)
	REFUSED(o.conf.rq = 0);
	REFUSED(o.conf.rq = RDS_SS_RQ_MAX + 1);
	REFUSED(o.conf.sq = RDS_SS_SQ_MIN - 1);
	REFUSED(o.conf.sq = RDS_SS_SQ_MAX + 1);
	REFUSED(o.conf.max_msg = 0);
	REFUSED(o.conf.max_msg = RDS_SS_VALUE_MASK + 1);
	REFUSED(o.conf.half[0].seg.bytes = 0);
	REFUSED(o.conf.half[1].seg.key = 0);
	REFUSED(o.conf.table = NULL);
#undef REFUSED
	one_defaults(&o, false, true);
	EXPECT(rds_ss_init(&o.e, &o.conf), "the defaults");
}

static void own_hello(void)
{
	struct rds_ss_hello h, got;
	u8 buf[RDS_SS_HELLO_BYTES];
	struct one o;

	one_roce(&o);
	rds_ss_hello(&o.e, &h);
	rds_ss_hello_put(buf, &h);
	EXPECT_EQ(rds_ss_hello_get(buf, sizeof(buf), &got), RDS_SS_FINE);
	EXPECT(got.ours && got.big_endian == rds_ss_big_endian(), "kind and order");
	EXPECT_EQ(got.credits, 64);
	EXPECT_EQ(got.iomap, 4);
	EXPECT_EQ(got.table.addr, 0x7000);
	EXPECT_EQ(got.first.addr, 0x8000);
	EXPECT_EQ(got.first.bytes, 8192);
}

/* On iWARP a peer with the other byte order sends its own, which this end swaps. */
static void other_order(void)
{
	struct one o;

	one_defaults(&o, true, true);
	o.peer.big_endian = !rds_ss_big_endian();
	EXPECT(rds_ss_init(&o.e, &o.conf), "init");
	EXPECT_EQ(comes(&o, __builtin_bswap32(DATA(100)), RDS_SS_UNKNOWN), RDS_SS_FINE);
	EXPECT_EQ(rds_ss_open(&o.e, &o.peer, &o.news), RDS_SS_FINE);
	EXPECT_EQ(o.news.bytes, 100);
	EXPECT_EQ(comes(&o, __builtin_bswap32(CONTROL(RDS_SS_SHUT)), RDS_SS_UNKNOWN), RDS_SS_FINE);
	EXPECT(o.news.end, "the end");
	/* InfiniBand has words in an order of its own. */
	one_defaults(&o, false, true);
	o.peer.big_endian = !rds_ss_big_endian();
	one_open(&o);
	EXPECT_EQ(comes(&o, DATA(100), 100), RDS_SS_FINE);
	EXPECT_EQ(o.news.bytes, 100);
}

/* Messages may overtake the answer of the connection manager. */
static void early_messages(void)
{
	const struct rds_ss_segment second = { 0x90000, 5, 4096 };
	struct one o;

	one_defaults(&o, false, true);
	EXPECT(rds_ss_init(&o.e, &o.conf), "init");
	rds_ss_entry_put((u8 *)o.table + RDS_SS_ENTRY_BYTES, &second, false);
	EXPECT_EQ(comes(&o, CREDIT(384), 16), RDS_SS_FINE);
	EXPECT_EQ(comes(&o, DATA(100), 100), RDS_SS_FINE);
	EXPECT_EQ(o.news.bytes, 0);
	decides_nothing(&o);
	EXPECT_EQ(comes(&o, IOMAP(1), 24), RDS_SS_FINE);
	EXPECT_EQ(comes(&o, DATA(11), 11), RDS_SS_FINE);
	EXPECT_EQ(comes(&o, CONTROL(RDS_SS_SHUT), 0), RDS_SS_FINE);
	EXPECT_EQ(rds_ss_open(&o.e, &o.peer, &o.news), RDS_SS_FINE);
	EXPECT_EQ(o.e.state, RDS_SS_HALF_IN);
	EXPECT(o.news.bytes == 111 && o.news.end && o.news.iomap, "news of early messages");
	EXPECT_EQ(rds_ss_span(&o.e, 0).bytes, 111);
	EXPECT_EQ(o.e.target.seg[0].bytes, 131072);
	EXPECT_EQ(o.e.target.seg[1].addr, 0x90000);
	EXPECT_EQ(rds_ss_open(&o.e, &o.peer, &o.news), RDS_SS_FINE);
	EXPECT_EQ(o.e.target.seg[1].addr, 0x90000);
}

static void early_flood(void)
{
	unsigned int i;
	struct one o;

	one_defaults(&o, false, true);
	EXPECT(rds_ss_init(&o.e, &o.conf), "init");
	for (i = 0; i < 64 + RDS_SS_RX_EXTRA; i++)
		EXPECT_EQ(comes(&o, CONTROL(9), 0), RDS_SS_FINE);
	EXPECT_EQ(comes(&o, CONTROL(9), 0), RDS_SS_WHY_FLOOD);
	EXPECT_EQ(o.e.state, RDS_SS_RESET);

	one_defaults(&o, false, true);
	EXPECT(rds_ss_init(&o.e, &o.conf), "init");
	EXPECT_EQ(comes(&o, DATA(8193), 8193), RDS_SS_FINE);
	EXPECT_EQ(rds_ss_open(&o.e, &o.peer, &o.news), RDS_SS_WHY_OVERRUN);
	EXPECT_EQ(o.e.state, RDS_SS_RESET);
}

/* Each message that breaks a rule resets the stream, with its reason. */
static void refusals(void)
{
	static const struct {
		u32		msg, payload;
		enum rds_ss_why	why;
	} bad[] = {
		{ 1u << 29 | 5, 5, RDS_SS_WHY_OPCODE },
		{ 3u << 29 | 5, 5, RDS_SS_WHY_OPCODE },
		{ 5u << 29 | 5, 5, RDS_SS_WHY_OPCODE },
		{ DATA(0), 0, RDS_SS_WHY_EMPTY },
		{ DATA(5), 6, RDS_SS_WHY_PAYLOAD },
		{ DATA(8193), 8193, RDS_SS_WHY_OVERRUN },
		{ DATA(0x1fffffff), 0, RDS_SS_WHY_OVERRUN },
		{ CREDIT(383), 0, RDS_SS_WHY_LIMIT },
		{ CREDIT(385), 0, RDS_SS_WHY_LIMIT },
		{ CREDIT(384), 8, RDS_SS_WHY_PAYLOAD },
		{ CREDIT(384), 16, RDS_SS_WHY_ENTRY },
		{ IOMAP(4), 24, RDS_SS_WHY_INDEX },
		{ IOMAP(65535), RDS_SS_UNKNOWN, RDS_SS_WHY_INDEX },
	};
	struct one o;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		one_roce(&o);
		EXPECT(comes(&o, bad[i].msg, bad[i].payload) == bad[i].why, "message %08x",
		       (unsigned int)bad[i].msg);
		EXPECT_EQ(o.e.state, RDS_SS_RESET);
		EXPECT_EQ(comes(&o, DATA(1), 1), RDS_SS_FINE);
		EXPECT_EQ(rds_ss_span(&o.e, 0).bytes, 0);
		decides_nothing(&o);
	}
}

/* What extensions use is ignored while they were not agreed on. */
static void ignored(void)
{
	static const u32 msgs[] = { 2u << 29 | 77, CONTROL(1), CONTROL(3), CONTROL(0x10000123) };
	struct one o;
	size_t i;

	one_roce(&o);
	for (i = 0; i < ARRAY_SIZE(msgs); i++) {
		EXPECT_EQ(comes(&o, msgs[i], 0), RDS_SS_FINE);
		EXPECT_EQ(o.e.state, RDS_SS_OPEN);
		EXPECT_EQ(o.e.flow.taken, 0);
	}
}

static void too_many_messages(void)
{
	unsigned int i;
	struct one o;

	one_roce(&o);
	for (i = 0; i < 64; i++)
		EXPECT_EQ(comes(&o, DATA(1), 1), RDS_SS_FINE);
	EXPECT_EQ(comes(&o, DATA(1), 1), RDS_SS_WHY_FLOOD);
}

/* An update of librdmacm's takes a credit, which is given back at once; one of ours takes none. */
static void iomap_credits(void)
{
	struct one o;

	one_roce(&o);
	EXPECT_EQ(comes(&o, IOMAP(3), 24), RDS_SS_FINE);
	EXPECT(o.news.iomap && o.news.index == 3, "the index");
	EXPECT_EQ(o.e.flow.taken, 1);
	one_defaults(&o, false, true);
	o.peer.ours = true;
	one_open(&o);
	EXPECT_EQ(comes(&o, IOMAP(3), 24), RDS_SS_FINE);
	EXPECT_EQ(o.e.flow.taken, 0);
}

static void after_the_end(void)
{
	struct one o;

	one_roce(&o);
	EXPECT_EQ(comes(&o, DATA(10), 10), RDS_SS_FINE);
	EXPECT_EQ(comes(&o, CONTROL(RDS_SS_SHUT), 0), RDS_SS_FINE);
	EXPECT(o.news.end, "the peer sends no more");
	EXPECT_EQ(o.e.state, RDS_SS_HALF_IN);
	EXPECT_EQ(rds_ss_span(&o.e, 0).bytes, 10);
	EXPECT_EQ(comes(&o, DATA(1), 1), RDS_SS_WHY_AFTER_END);
}

/* The peer has left: what came can be read, what is queued is dropped. */
static void peer_leaves(void)
{
	struct one o;

	one_roce(&o);
	EXPECT_EQ(comes(&o, DATA(10), 10), RDS_SS_FINE);
	rds_ss_tune(&o.e, false, true);
	EXPECT(rds_ss_append(&o.e, 100), "append");
	EXPECT_EQ(comes(&o, CONTROL(RDS_SS_BYE), 0), RDS_SS_FINE);
	EXPECT(o.news.end, "the end");
	EXPECT_EQ(o.e.state, RDS_SS_LEFT);
	EXPECT_EQ(o.e.queued, 0);
	EXPECT(!rds_ss_append(&o.e, 1), "queued for nobody");
	decides_nothing(&o);
	EXPECT_EQ(rds_ss_span(&o.e, 4).bytes, 6);
	rds_ss_read(&o.e, 10);
	decides_nothing(&o);
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_CLOSE), "close");
	EXPECT_EQ(o.e.state, RDS_SS_CLOSED);
}

/* A connection that breaks takes what came along, one that the peer closes does not. */
static void connection_ends(void)
{
	struct one o;

	one_roce(&o);
	EXPECT_EQ(comes(&o, DATA(10), 10), RDS_SS_FINE);
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_HANGUP), "hangup");
	EXPECT_EQ(o.e.state, RDS_SS_LEFT);
	EXPECT(!rds_ss_on(&o.e, RDS_SS_EV_FAIL), "what breaks then does not matter");
	EXPECT_EQ(rds_ss_span(&o.e, 0).bytes, 10);
	one_roce(&o);
	EXPECT_EQ(comes(&o, DATA(10), 10), RDS_SS_FINE);
	EXPECT(rds_ss_append(&o.e, 10), "append");
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_FAIL), "fail");
	EXPECT_EQ(o.e.state, RDS_SS_RESET);
	EXPECT_EQ(o.e.queued, 0);
	EXPECT_EQ(rds_ss_span(&o.e, 0).bytes, 0);
	decides_nothing(&o);
}

/* After SHUT_RD a peer that sends on is not held up. */
static void discards(void)
{
	unsigned int i;
	struct one o;

	one_roce(&o);
	EXPECT_EQ(comes(&o, DATA(8192), 8192), RDS_SS_FINE);
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_SHUT_RD), "shut");
	for (i = 0; i < 100; i++) {
		if (i % RDS_SS_RX_BATCH == RDS_SS_RX_BATCH - 1)
			decides(&o, RDS_SS_RECEIVES);
		decides(&o, RDS_SS_ANNOUNCE);
		EXPECT_EQ(o.p.bytes, RDS_SS_ENTRY_BYTES);
		rds_ss_complete(&o.e, o.p.slot);
		EXPECT_EQ(comes(&o, DATA(8192), 8192), RDS_SS_FINE);
		EXPECT_EQ(o.news.bytes, 0);
		EXPECT_EQ(rds_ss_span(&o.e, 0).bytes, 0);
	}
}

/* A peer that is held up has larger halves only if somebody reads. */
static void grows_for_readers(void)
{
	unsigned int deaf;
	struct one o;

	for (deaf = 0; deaf < 3; deaf++) {
		one_roce(&o);
		EXPECT_EQ(comes(&o, DATA(8192), 8192), RDS_SS_FINE);
		EXPECT_EQ(comes(&o, DATA(8192), 8192), RDS_SS_FINE);
		if (deaf == 1)
			EXPECT(rds_ss_on(&o.e, RDS_SS_EV_SHUT_RD), "shut");
		if (deaf == 2)
			EXPECT_EQ(comes(&o, CONTROL(RDS_SS_SHUT), 0), RDS_SS_FINE);
		rds_ss_read(&o.e, 16384);
		EXPECT_EQ(rds_ss_grow(&o.e), deaf ? 0 : 32768);
	}
}

static void append_bounds(void)
{
	struct one o;

	one_defaults(&o, false, true);
	EXPECT(rds_ss_init(&o.e, &o.conf), "init");
	EXPECT(!rds_ss_append(&o.e, 1), "before it is open");
	one_roce(&o);
	EXPECT(rds_ss_append(&o.e, RDS_SS_MAX_SEGMENT - 1), "much");
	EXPECT(!rds_ss_append(&o.e, 2), "too much");
	EXPECT(!rds_ss_append(&o.e, 0xffffffff), "a sum that wraps");
	EXPECT(rds_ss_append(&o.e, 1), "all there may be");
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_SHUT_WR), "shut");
	EXPECT(!rds_ss_append(&o.e, 0), "after SHUT_WR");
}

UNIT_CASES(
	{ "engine.config_bounds", config_bounds },
	{ "engine.own_hello", own_hello },
	{ "engine.other_order", other_order },
	{ "engine.early_messages", early_messages },
	{ "engine.early_flood", early_flood },
	{ "engine.refusals", refusals },
	{ "engine.ignored", ignored },
	{ "engine.too_many_messages", too_many_messages },
	{ "engine.iomap_credits", iomap_credits },
	{ "engine.after_the_end", after_the_end },
	{ "engine.peer_leaves", peer_leaves },
	{ "engine.connection_ends", connection_ends },
	{ "engine.discards", discards },
	{ "engine.grows_for_readers", grows_for_readers },
	{ "engine.append_bounds", append_bounds },
);
