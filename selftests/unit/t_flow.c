// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/plat.h"
#include "stream/flow.h"
#include "unit.h"

static void sends_what_the_peer_takes(void)
{
	struct rds_ss_flow f;
	unsigned int n = 0;

	rds_ss_flow_init(&f, 64);
	EXPECT(!rds_ss_flow_may_send(&f), "before the peer said anything");
	rds_ss_flow_open(&f, 16, false);
	while (rds_ss_flow_may_send(&f) && n < 100) {
		rds_ss_flow_send(&f);
		n++;
	}
	EXPECT_EQ(n, 16);
	EXPECT(rds_ss_flow_raise(&f, 24), "8 taken");
	for (n = 0; rds_ss_flow_may_send(&f); n++)
		rds_ss_flow_send(&f);
	EXPECT_EQ(n, 8);
}

/* On iWARP some are left, but never so many that the peer announces nothing. */
static void leaves_slack(void)
{
	static const struct { u16 credits, used; } peers[] = {
		{ 1, 1 }, { 2, 2 }, { 3, 2 }, { 16, 9 }, { 17, 9 }, { 18, 10 }, { 384, 376 },
		{ 65535, 65527 },
	};
	struct rds_ss_flow f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(peers); i++) {
		u16 n = 0;

		rds_ss_flow_init(&f, 64);
		rds_ss_flow_open(&f, peers[i].credits, true);
		for (; rds_ss_flow_may_send(&f); n++)
			rds_ss_flow_send(&f);
		EXPECT_EQ(n, peers[i].used);
		EXPECT(n > peers[i].credits / 2, "too few of %u", peers[i].credits);
	}
}

static void limits_of_a_peer(void)
{
	struct rds_ss_flow f;

	rds_ss_flow_init(&f, 64);
	rds_ss_flow_open(&f, 100, false);
	EXPECT(rds_ss_flow_raise(&f, 100), "the same again, with an entry");
	EXPECT(!rds_ss_flow_raise(&f, 99), "goes back");
	EXPECT(!rds_ss_flow_raise(&f, 101), "more than the peer's queue");
	EXPECT_EQ(f.limit, 100);
	rds_ss_flow_send(&f);
	rds_ss_flow_send(&f);
	EXPECT(rds_ss_flow_raise(&f, 101), "one taken");
	EXPECT(!rds_ss_flow_raise(&f, 103), "of two sent, three taken");
	EXPECT(!rds_ss_flow_raise(&f, 0), "far back");
	EXPECT_EQ(f.limit, 101);
}

static void floods(void)
{
	struct rds_ss_flow f;
	unsigned int i;

	rds_ss_flow_init(&f, 16);
	for (i = 0; i < 16; i++)
		EXPECT(rds_ss_flow_take(&f), "message %u", i);
	EXPECT(!rds_ss_flow_take(&f), "the peer had no credit left");
	EXPECT_EQ(rds_ss_flow_tell(&f), 32);
	for (i = 0; i < 16; i++)
		EXPECT(rds_ss_flow_take(&f), "message %u after the announcement", i);
	EXPECT(!rds_ss_flow_take(&f), "again none left");
}

static void due_by_half(void)
{
	struct rds_ss_flow f;
	unsigned int i;

	rds_ss_flow_init(&f, 16);
	for (i = 0; i < 8; i++) {
		EXPECT(!rds_ss_flow_due(&f), "%u of 16", i);
		rds_ss_flow_take(&f);
	}
	EXPECT(rds_ss_flow_due(&f), "8 of 16");
	rds_ss_flow_tell(&f);
	EXPECT(!rds_ss_flow_due(&f), "told");
	rds_ss_flow_init(&f, 1);
	EXPECT(!rds_ss_flow_due(&f), "none of 1");
	rds_ss_flow_take(&f);
	EXPECT(rds_ss_flow_due(&f), "1 of 1");
}

static void refills(void)
{
	struct rds_ss_flow f;
	unsigned int i;

	rds_ss_flow_init(&f, 64);
	EXPECT_EQ(rds_ss_flow_receives(&f), 64 + RDS_SS_RX_EXTRA);
	for (i = 0; i < RDS_SS_RX_BATCH; i++) {
		EXPECT_EQ(rds_ss_flow_refill(&f), 0);
		rds_ss_flow_used(&f);
	}
	EXPECT_EQ(rds_ss_flow_refill(&f), RDS_SS_RX_BATCH);
	EXPECT_EQ(rds_ss_flow_refill(&f), 0);
	for (i = 0; i < 20; i++)
		rds_ss_flow_used(&f);
	EXPECT_EQ(rds_ss_flow_refill(&f), 20);
}

/*
 * Two ends, one of which sends all it may: never more than is posted, never a
 * stop, and numbers wrap several times.
 */
static void wraps(u16 rq, bool careful)
{
	struct rds_ss_flow a, b;
	u32 sent = 0, posted = rq + RDS_SS_RX_EXTRA;

	rds_ss_flow_init(&a, 64);
	rds_ss_flow_init(&b, rq);
	rds_ss_flow_open(&a, rq, careful);
	while (sent < 200000) {
		u32 burst = 0;

		for (; rds_ss_flow_may_send(&a); burst++) {
			rds_ss_flow_send(&a);
			rds_ss_flow_used(&b);
			posted--;
			if (!rds_ss_flow_take(&b))
				break;
		}
		EXPECT(burst, "stopped after %u", (unsigned int)sent);
		EXPECT(posted > RDS_SS_RX_BATCH && posted <= rq + RDS_SS_RX_EXTRA,
		       "%u are posted", (unsigned int)posted);
		if (!burst)
			return;
		sent += burst;
		EXPECT(rds_ss_flow_due(&b), "%u of %u and not due", burst, rq);
		posted += rds_ss_flow_refill(&b);
		EXPECT(rds_ss_flow_raise(&a, rds_ss_flow_tell(&b)), "after %u", sent);
	}
	EXPECT_EQ(a.sent, (u16)sent);
}

static void numbers_wrap(void)
{
	wraps(1, true);
	wraps(16, false);
	wraps(16, true);
	wraps(17, true);
	wraps(64, false);
	wraps(1024, true);
}

UNIT_CASES(
	{ "flow.sends_what_the_peer_takes", sends_what_the_peer_takes },
	{ "flow.leaves_slack", leaves_slack },
	{ "flow.limits_of_a_peer", limits_of_a_peer },
	{ "flow.floods", floods },
	{ "flow.due_by_half", due_by_half },
	{ "flow.refills", refills },
	{ "flow.numbers_wrap", numbers_wrap },
);
