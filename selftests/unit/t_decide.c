// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stream.h"

static void data_goes_at_once(void)
{
	struct one o;

	one_roce(&o);
	EXPECT(rds_ss_append(&o.e, 100), "append");
	decides(&o, RDS_SS_DATA);
	EXPECT_EQ(o.p.msg, DATA(100));
	EXPECT_EQ(o.p.bytes, 100);
	EXPECT_EQ(o.p.addr, ADDR_FIRST);
	EXPECT_EQ(o.p.key, KEY_FIRST);
	EXPECT(o.p.signalled, "the last of a burst");
	decides_nothing(&o);
	EXPECT_EQ(rds_ss_complete(&o.e, o.p.slot), 100);
}

/* Small writes wait for one that is under way, and then share a message. */
static void small_ones_gather(void)
{
	unsigned int i;
	u16 first = 0;
	struct one o;

	one_roce(&o);
	for (i = 0; i < 2; i++) {
		EXPECT(rds_ss_append(&o.e, 64), "append");
		decides(&o, RDS_SS_DATA);
		if (!i)
			first = o.p.slot;
	}
	for (i = 0; i < 100; i++) {
		EXPECT(rds_ss_append(&o.e, 64), "append");
		decides_nothing(&o);
	}
	EXPECT_EQ(rds_ss_complete(&o.e, first), 64);
	decides(&o, RDS_SS_DATA);
	EXPECT_EQ(o.p.bytes, 6400);
	EXPECT_EQ(o.p.addr, ADDR_FIRST + 128);
	EXPECT_EQ(rds_ss_complete(&o.e, o.p.slot), 64 + 6400);
}

static void nodelay_gathers_less(void)
{
	unsigned int i;
	struct one o;

	one_roce(&o);
	rds_ss_tune(&o.e, true, false);
	for (i = 0; i < RDS_SS_DEPTH_NODELAY; i++) {
		EXPECT(rds_ss_append(&o.e, 64), "append");
		decides(&o, RDS_SS_DATA);
	}
	EXPECT(rds_ss_append(&o.e, 64), "append");
	decides_nothing(&o);
}

/* 32 KiB do not wait. */
static void a_rush_does_not_wait(void)
{
	unsigned int i;
	struct one o;

	one_roce(&o);
	for (i = 0; i < 2; i++) {
		EXPECT(rds_ss_append(&o.e, 64), "append");
		decides(&o, RDS_SS_DATA);
	}
	EXPECT(rds_ss_append(&o.e, RDS_SS_RUSH - 1), "append");
	decides_nothing(&o);
	EXPECT(rds_ss_append(&o.e, 1), "append");
	decides(&o, RDS_SS_DATA);
	EXPECT_EQ(o.p.bytes, RDS_SS_RUSH);
}

static void cork_holds(void)
{
	struct one o;

	one_roce(&o);
	rds_ss_tune(&o.e, false, true);
	EXPECT(rds_ss_append(&o.e, 100), "append");
	decides_nothing(&o);
	rds_ss_tune(&o.e, false, false);
	decides(&o, RDS_SS_DATA);
	rds_ss_tune(&o.e, false, true);
	EXPECT(rds_ss_append(&o.e, RDS_SS_RUSH), "append");
	decides(&o, RDS_SS_DATA);
	EXPECT(rds_ss_append(&o.e, 7), "append");
	decides_nothing(&o);
	/* The end pulls the cork. */
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_SHUT_WR), "shut");
	rds_ss_complete(&o.e, o.p.slot);
	decides(&o, RDS_SS_DATA);
	decides(&o, RDS_SS_END);
}

/* No message is larger than any of the limits, and none is in two segments. */
static void size_of_a_message(void)
{
	const struct rds_ss_segment second = { 0x90000, 9, 5000 };
	struct one o;

	one_defaults(&o, false, true);
	o.conf.max_msg = 1000;
	o.peer.first.bytes = 2500;
	one_open(&o);
	rds_ss_entry_put((u8 *)o.table + RDS_SS_ENTRY_BYTES, &second, false);
	EXPECT_EQ(comes(&o, CREDIT(384), 16), RDS_SS_FINE);
	EXPECT(rds_ss_append(&o.e, 100000), "append");
	decides(&o, RDS_SS_DATA);
	EXPECT_EQ(o.p.bytes, 1000);
	EXPECT(rds_ss_decide(&o.e, 300, &o.p), "what one work request can carry");
	EXPECT_EQ(o.p.bytes, 300);
	decides(&o, RDS_SS_DATA);
	EXPECT_EQ(o.p.bytes, 1000);
	decides(&o, RDS_SS_DATA);
	EXPECT_EQ(o.p.bytes, 200);
	EXPECT_EQ(o.p.addr, ADDR_FIRST + 2300);
	decides(&o, RDS_SS_DATA);
	EXPECT_EQ(o.p.addr, 0x90000);
	EXPECT_EQ(o.p.key, 9);
}

static void waits_for_memory_of_the_peer(void)
{
	const struct rds_ss_segment second = { 0x90000, 9, 5000 };
	struct one o;

	one_defaults(&o, false, true);
	o.peer.first.bytes = 50;
	one_open(&o);
	EXPECT(rds_ss_append(&o.e, 60), "append");
	decides(&o, RDS_SS_DATA);
	EXPECT_EQ(o.p.bytes, 50);
	EXPECT(o.p.signalled, "nothing follows it");
	decides_nothing(&o);
	rds_ss_entry_put((u8 *)o.table + RDS_SS_ENTRY_BYTES, &second, false);
	EXPECT_EQ(comes(&o, CREDIT(384), 16), RDS_SS_FINE);
	decides(&o, RDS_SS_DATA);
	EXPECT_EQ(o.p.bytes, 10);
}

static unsigned int burst(struct one *o, unsigned int *signalled)
{
	unsigned int n = 0;

	*signalled = 0;
	while (rds_ss_decide(&o->e, 1 << 20, &o->p) && o->p.what == RDS_SS_DATA) {
		n++;
		*signalled += o->p.signalled;
	}
	return n;
}

/* The send queue has room for messages without credit, however much data there is. */
static void data_leaves_room(void)
{
	unsigned int signalled;
	struct one o;

	one_defaults(&o, false, true);
	o.conf.sq = 20;
	o.conf.max_msg = 100;
	one_open(&o);
	EXPECT(rds_ss_append(&o.e, 100000), "append");
	EXPECT_EQ(burst(&o, &signalled), 16);

	one_defaults(&o, true, true);
	o.conf.sq = 20;
	o.conf.max_msg = 100;
	one_open(&o);
	EXPECT(rds_ss_append(&o.e, 100000), "append");
	/* Two for each message, and two for each of four announcements */
	EXPECT_EQ(burst(&o, &signalled), 6);
	EXPECT_EQ(signalled, 6);
}

/* Of 16 messages one has a completion, of 64 KiB too, and each one near the end of the queue. */
static void completions_are_shared(void)
{
	unsigned int signalled;
	struct one o;

	one_defaults(&o, false, true);
	o.conf.max_msg = 100;
	one_open(&o);
	EXPECT(rds_ss_append(&o.e, 100000), "append");
	EXPECT_EQ(burst(&o, &signalled), 60);
	/* the 16th, 32nd, 48th, and those that leave 3, 2, 1 and no work requests */
	EXPECT_EQ(signalled, 7);
	one_defaults(&o, false, true);
	o.conf.max_msg = 16384;
	one_open(&o);
	EXPECT(rds_ss_append(&o.e, 131072), "append");
	/* What is left, less than 64 KiB, waits. */
	EXPECT_EQ(burst(&o, &signalled), 5);
	EXPECT_EQ(signalled, 2);
}

static void completions_give_back(void)
{
	u16 slots[8], i;
	struct one o;

	one_defaults(&o, false, true);
	o.conf.max_msg = 100;
	one_open(&o);
	EXPECT(rds_ss_append(&o.e, 700), "append");
	rds_ss_tune(&o.e, true, false);
	for (i = 0; i < 7; i++) {
		decides(&o, RDS_SS_DATA);
		slots[i] = o.p.slot;
	}
	EXPECT_EQ(rds_ss_complete(&o.e, slots[4]), 500);
	EXPECT_EQ(rds_ss_complete(&o.e, slots[4]), 0);
	EXPECT_EQ(rds_ss_complete(&o.e, slots[2]), 0);
	EXPECT_EQ(rds_ss_complete(&o.e, RDS_SS_SQ_MAX), 0);
	EXPECT_EQ(rds_ss_complete(&o.e, (slots[6] + 1) % RDS_SS_SQ_MAX), 0);
	EXPECT_EQ(o.e.data, 2);
	EXPECT_EQ(rds_ss_complete(&o.e, slots[6]), 200);
	EXPECT_EQ(o.e.data, 0);
	EXPECT_EQ(o.e.wrs, 0);
}

/* Numbers of messages wrap, and slots with them. */
static void slots_wrap(void)
{
	u32 i, bytes = 0;
	struct one o;

	one_defaults(&o, false, true);
	o.peer.first.bytes = RDS_SS_MAX_SEGMENT;
	o.peer.credits = 1000;
	one_open(&o);
	for (i = 0; i < 70000; i++) {
		EXPECT(rds_ss_append(&o.e, 3), "append");
		decides(&o, RDS_SS_DATA);
		bytes += rds_ss_complete(&o.e, o.p.slot);
		if (i % 500 == 499)
			EXPECT_EQ(comes(&o, CREDIT((i + 1 + 1000) & 0xffff), 0), RDS_SS_FINE);
		if (i % 500 == 499)
			while (rds_ss_decide(&o.e, 1, &o.p))
				rds_ss_complete(&o.e, o.p.slot);
	}
	EXPECT_EQ(bytes, 210000);
	EXPECT_EQ(o.e.head, o.e.tail);
}

/* The second half is published at once; a half that was read again. */
static void publishes(void)
{
	struct one o;

	one_defaults(&o, false, true);
	EXPECT(rds_ss_init(&o.e, &o.conf), "init");
	EXPECT_EQ(rds_ss_open(&o.e, &o.peer, &o.news), RDS_SS_FINE);
	decides(&o, RDS_SS_ANNOUNCE);
	EXPECT_EQ(o.p.msg, CREDIT(64));
	EXPECT_EQ(o.p.bytes, RDS_SS_ENTRY_BYTES);
	EXPECT_EQ(o.p.addr, ADDR_TABLE + RDS_SS_ENTRY_BYTES);
	EXPECT_EQ(o.p.key, KEY_TABLE);
	EXPECT(!memcmp(o.p.entry, &o.conf.half[1].seg, sizeof(o.p.entry)), "the entry");
	decides_nothing(&o);
	EXPECT_EQ(comes(&o, DATA(8192), 8192), RDS_SS_FINE);
	rds_ss_read(&o.e, 8191);
	decides_nothing(&o);
	rds_ss_read(&o.e, 1);
	decides(&o, RDS_SS_ANNOUNCE);
	EXPECT_EQ(o.p.msg, CREDIT(65));
	EXPECT_EQ(o.p.addr, ADDR_TABLE);
	EXPECT(!memcmp(o.p.entry, &o.conf.half[0].seg, sizeof(o.p.entry)), "the entry");
}

static void publishes_swapped(void)
{
	static const u8 want[RDS_SS_ENTRY_BYTES] = {
		0, 0, 0, 0, 0, 0, 0xa0, 0, 0, 0, 0, 0xa0, 0, 0, 0x20, 0
	};
	struct one o;

	one_defaults(&o, false, true);
	o.peer.big_endian = !rds_ss_big_endian();
	EXPECT(rds_ss_init(&o.e, &o.conf), "init");
	EXPECT_EQ(rds_ss_open(&o.e, &o.peer, &o.news), RDS_SS_FINE);
	decides(&o, RDS_SS_ANNOUNCE);
	EXPECT(rds_ss_big_endian() || !memcmp(o.p.entry, want, sizeof(want)), "not in the peer's order");
}

static void replaces_a_half(void)
{
	const struct rds_ss_mem large = { { 0x300000, 0x33, 32768 }, 7 };
	struct one o;

	one_roce(&o);
	EXPECT_EQ(comes(&o, DATA(8192), 8192), RDS_SS_FINE);
	EXPECT_EQ(comes(&o, DATA(8192), 8192), RDS_SS_FINE);
	rds_ss_read(&o.e, 8192);
	EXPECT_EQ(rds_ss_grow(&o.e), 32768);
	EXPECT(rds_ss_halves_spare(&o.e.halves, &large), "the spare");
	decides(&o, RDS_SS_ANNOUNCE);
	EXPECT_EQ(o.p.freed, 0);
	EXPECT(!memcmp(o.p.entry, &large.seg, sizeof(o.p.entry)), "the entry");
}

/* At most four messages without credit are under way. */
static void few_controls(void)
{
	unsigned int i, n = 0;
	struct one o;

	one_roce(&o);
	for (i = 0; i < 20; i++) {
		unsigned int k;

		for (k = 0; k < 32; k++)
			if (comes(&o, DATA(1), 1))
				break;
		while (rds_ss_decide(&o.e, 1, &o.p))
			n += o.p.what != RDS_SS_RECEIVES;
		rds_ss_keepalive(&o.e);
	}
	EXPECT_EQ(n, RDS_SS_CONTROLS);
	EXPECT_EQ(o.e.state, RDS_SS_RESET);
}

static void credits_alone(void)
{
	unsigned int i;
	struct one o;

	one_roce(&o);
	for (i = 0; i < 32; i++) {
		if (i == 8 || i == 16 || i == 24)
			decides(&o, RDS_SS_RECEIVES);
		decides_nothing(&o);
		EXPECT_EQ(comes(&o, DATA(1), 1), RDS_SS_FINE);
	}
	decides(&o, RDS_SS_RECEIVES);
	decides(&o, RDS_SS_ANNOUNCE);
	EXPECT_EQ(o.p.msg, CREDIT(96));
	EXPECT_EQ(o.p.bytes, 0);
}

/* On iWARP the end that was dialled says nothing before it has heard something. */
static void silent_on_iwarp(void)
{
	struct one o;

	one_defaults(&o, true, false);
	one_open(&o);
	EXPECT(rds_ss_append(&o.e, 100), "append");
	rds_ss_keepalive(&o.e);
	decides_nothing(&o);
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_SHUT_WR), "shut");
	decides_nothing(&o);
	EXPECT_EQ(comes(&o, CREDIT(384), RDS_SS_UNKNOWN), RDS_SS_FINE);
	decides(&o, RDS_SS_ANNOUNCE);
	decides(&o, RDS_SS_DATA);
	decides(&o, RDS_SS_END);
	decides(&o, RDS_SS_BEAT);
	decides_nothing(&o);

	one_defaults(&o, true, true);
	EXPECT(rds_ss_init(&o.e, &o.conf), "init");
	EXPECT_EQ(rds_ss_open(&o.e, &o.peer, &o.news), RDS_SS_FINE);
	decides(&o, RDS_SS_ANNOUNCE);
	one_defaults(&o, false, false);
	EXPECT(rds_ss_init(&o.e, &o.conf), "init");
	EXPECT_EQ(rds_ss_open(&o.e, &o.peer, &o.news), RDS_SS_FINE);
	decides(&o, RDS_SS_ANNOUNCE);
}

static void slack_on_iwarp(void)
{
	unsigned int kind, n;
	struct one o;

	for (kind = 0; kind < 3; kind++) {
		one_defaults(&o, kind > 0, true);
		o.peer.ours = kind == 2;
		o.peer.credits = 24;
		one_open(&o);
		for (n = 0; n < 100; n++) {
			EXPECT(rds_ss_append(&o.e, 1), "append");
			if (!rds_ss_decide(&o.e, 1, &o.p))
				break;
			rds_ss_complete(&o.e, o.p.slot);
		}
		EXPECT_EQ(n, kind == 1 ? 16 : 24);
	}
}

static void half_close(void)
{
	struct one o;

	one_roce(&o);
	EXPECT(rds_ss_append(&o.e, 10), "append");
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_SHUT_WR), "shut");
	decides(&o, RDS_SS_DATA);
	decides(&o, RDS_SS_END);
	EXPECT_EQ(o.p.msg, CONTROL(RDS_SS_SHUT));
	EXPECT_EQ(o.e.state, RDS_SS_HALF_OUT);
	decides_nothing(&o);
	EXPECT_EQ(comes(&o, DATA(5), 5), RDS_SS_FINE);
	EXPECT_EQ(o.news.bytes, 5);
	EXPECT_EQ(comes(&o, CONTROL(RDS_SS_SHUT), 0), RDS_SS_FINE);
	EXPECT_EQ(o.e.state, RDS_SS_ENDING);
	/* SHUT was posted behind the data. */
	EXPECT_EQ(rds_ss_complete(&o.e, o.p.slot), 10);
	EXPECT_EQ(o.e.state, RDS_SS_CLOSED);
	EXPECT_EQ(rds_ss_span(&o.e, 0).bytes, 5);
}

static void close_says_bye(void)
{
	u16 last;
	struct one o;

	one_roce(&o);
	EXPECT(rds_ss_append(&o.e, 10), "append");
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_CLOSE), "close");
	decides(&o, RDS_SS_DATA);
	decides(&o, RDS_SS_END);
	EXPECT_EQ(o.p.msg, CONTROL(RDS_SS_BYE));
	EXPECT_EQ(o.e.state, RDS_SS_ENDING);
	last = o.p.slot;
	EXPECT_EQ(rds_ss_complete(&o.e, (last + RDS_SS_SQ_MAX - 1) % RDS_SS_SQ_MAX), 10);
	EXPECT_EQ(o.e.state, RDS_SS_ENDING);
	rds_ss_complete(&o.e, last);
	EXPECT_EQ(o.e.state, RDS_SS_CLOSED);

	/* After the peer's SHUT nothing more is read, so SHUT_WR says BYE. */
	one_roce(&o);
	EXPECT_EQ(comes(&o, CONTROL(RDS_SS_SHUT), 0), RDS_SS_FINE);
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_SHUT_WR), "shut");
	decides(&o, RDS_SS_END);
	EXPECT_EQ(o.p.msg, CONTROL(RDS_SS_BYE));
}

/* Nothing is under way when the second SHUT comes: the stream is over at once. */
static void both_shut(void)
{
	struct one o;

	one_roce(&o);
	EXPECT(rds_ss_on(&o.e, RDS_SS_EV_SHUT_WR), "shut");
	decides(&o, RDS_SS_END);
	rds_ss_complete(&o.e, o.p.slot);
	EXPECT_EQ(comes(&o, CONTROL(RDS_SS_SHUT), 0), RDS_SS_FINE);
	EXPECT_EQ(o.e.state, RDS_SS_CLOSED);
	decides_nothing(&o);
}

static void sign_of_life(void)
{
	struct one o;

	one_roce(&o);
	rds_ss_keepalive(&o.e);
	decides(&o, RDS_SS_BEAT);
	EXPECT_EQ(o.p.bytes, 0);
	EXPECT_EQ(o.p.addr, 0);
	EXPECT_EQ(o.p.key, 0);
	decides_nothing(&o);
	rds_ss_complete(&o.e, o.p.slot);
	EXPECT_EQ(o.e.controls, 0);
}

UNIT_CASES(
	{ "decide.data_goes_at_once", data_goes_at_once },
	{ "decide.small_ones_gather", small_ones_gather },
	{ "decide.nodelay_gathers_less", nodelay_gathers_less },
	{ "decide.a_rush_does_not_wait", a_rush_does_not_wait },
	{ "decide.cork_holds", cork_holds },
	{ "decide.size_of_a_message", size_of_a_message },
	{ "decide.waits_for_memory_of_the_peer", waits_for_memory_of_the_peer },
	{ "decide.data_leaves_room", data_leaves_room },
	{ "decide.completions_are_shared", completions_are_shared },
	{ "decide.completions_give_back", completions_give_back },
	{ "decide.slots_wrap", slots_wrap },
	{ "decide.publishes", publishes },
	{ "decide.publishes_swapped", publishes_swapped },
	{ "decide.replaces_a_half", replaces_a_half },
	{ "decide.few_controls", few_controls },
	{ "decide.credits_alone", credits_alone },
	{ "decide.silent_on_iwarp", silent_on_iwarp },
	{ "decide.slack_on_iwarp", slack_on_iwarp },
	{ "decide.half_close", half_close },
	{ "decide.close_says_bye", close_says_bye },
	{ "decide.both_shut", both_shut },
	{ "decide.sign_of_life", sign_of_life },
);
