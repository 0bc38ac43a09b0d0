// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/plat.h"
#include "stream/life.h"
#include "unit.h"

#define S(name)	RDS_SS_##name
#define E(name)	RDS_SS_EV_##name

/* All legal transitions; every other transition is refused. */
static const struct {
	enum rds_ss_state	from;
	enum rds_ss_event	event;
	enum rds_ss_state	to;
} legal[] = {
	{ S(CONNECTING),	E(OPEN),	S(OPEN) },
	{ S(CONNECTING),	E(CLOSE),	S(CLOSED) },
	{ S(CONNECTING),	E(HANGUP),	S(RESET) },
	{ S(CONNECTING),	E(FAIL),	S(RESET) },
	{ S(OPEN),		E(SHUT_WR),	S(SHUTTING) },
	{ S(OPEN),		E(SHUT_RD),	S(HALF_IN) },
	{ S(OPEN),		E(CLOSE),	S(CLOSING) },
	{ S(OPEN),		E(PEER_SHUT),	S(HALF_IN) },
	{ S(OPEN),		E(PEER_BYE),	S(LEFT) },
	{ S(OPEN),		E(HANGUP),	S(LEFT) },
	{ S(OPEN),		E(FAIL),	S(RESET) },
	{ S(SHUTTING),		E(SHUT_RD),	S(CLOSING) },
	{ S(SHUTTING),		E(CLOSE),	S(CLOSING) },
	{ S(SHUTTING),		E(FLUSHED),	S(HALF_OUT) },
	{ S(SHUTTING),		E(PEER_SHUT),	S(CLOSING) },
	{ S(SHUTTING),		E(PEER_BYE),	S(LEFT) },
	{ S(SHUTTING),		E(HANGUP),	S(LEFT) },
	{ S(SHUTTING),		E(FAIL),	S(RESET) },
	{ S(HALF_OUT),		E(SHUT_RD),	S(CLOSING) },
	{ S(HALF_OUT),		E(CLOSE),	S(CLOSING) },
	{ S(HALF_OUT),		E(PEER_SHUT),	S(ENDING) },
	{ S(HALF_OUT),		E(PEER_BYE),	S(LEFT) },
	{ S(HALF_OUT),		E(HANGUP),	S(LEFT) },
	{ S(HALF_OUT),		E(FAIL),	S(RESET) },
	{ S(HALF_IN),		E(SHUT_WR),	S(CLOSING) },
	{ S(HALF_IN),		E(SHUT_RD),	S(HALF_IN) },
	{ S(HALF_IN),		E(CLOSE),	S(CLOSING) },
	{ S(HALF_IN),		E(PEER_SHUT),	S(HALF_IN) },
	{ S(HALF_IN),		E(PEER_BYE),	S(LEFT) },
	{ S(HALF_IN),		E(HANGUP),	S(LEFT) },
	{ S(HALF_IN),		E(FAIL),	S(RESET) },
	{ S(CLOSING),		E(FLUSHED),	S(ENDING) },
	{ S(CLOSING),		E(SHUT_RD),	S(CLOSING) },
	{ S(CLOSING),		E(CLOSE),	S(CLOSING) },
	{ S(CLOSING),		E(PEER_SHUT),	S(CLOSING) },
	{ S(CLOSING),		E(PEER_BYE),	S(ENDING) },
	{ S(CLOSING),		E(HANGUP),	S(CLOSED) },
	{ S(CLOSING),		E(FAIL),	S(RESET) },
	{ S(ENDING),		E(DRAINED),	S(CLOSED) },
	{ S(ENDING),		E(SHUT_RD),	S(ENDING) },
	{ S(ENDING),		E(CLOSE),	S(ENDING) },
	{ S(ENDING),		E(PEER_SHUT),	S(ENDING) },
	{ S(ENDING),		E(PEER_BYE),	S(ENDING) },
	{ S(ENDING),		E(HANGUP),	S(CLOSED) },
	{ S(ENDING),		E(FAIL),	S(RESET) },
	{ S(LEFT),		E(SHUT_WR),	S(LEFT) },
	{ S(LEFT),		E(SHUT_RD),	S(LEFT) },
	{ S(LEFT),		E(CLOSE),	S(CLOSED) },
	{ S(LEFT),		E(HANGUP),	S(LEFT) },
	{ S(LEFT),		E(PEER_SHUT),	S(LEFT) },
	{ S(LEFT),		E(PEER_BYE),	S(LEFT) },
	{ S(RESET),		E(CLOSE),	S(CLOSED) },
};

static void whole_table(void)
{
	int s, e;
	size_t i;

	for (s = 0; s < RDS_SS_NR_STATES; s++)
		for (e = 0; e < RDS_SS_NR_EVENTS; e++) {
			int want = -1;

			for (i = 0; i < ARRAY_SIZE(legal); i++)
				if (legal[i].from == s && legal[i].event == e)
					want = legal[i].to;
			EXPECT(rds_ss_next_state(s, e) == want, "state %d, event %d: %d, not %d", s, e,
			       rds_ss_next_state(s, e), want);
		}
}

static int walk_from(int s, unsigned int steps)
{
	for (; steps; steps--) {
		int next = rds_ss_next_state(s, unit_random(RDS_SS_NR_EVENTS));

		if (next >= 0)
			s = next;
	}
	return s;
}

/* From each state that can be reached CLOSE, FLUSHED and DRAINED lead to the end. */
static void close_ends(void)
{
	static const int to_end[] = { E(CLOSE), E(FLUSHED), E(DRAINED) };
	unsigned int seen = 0, walk;
	size_t i;

	for (walk = 0; walk < 100000; walk++) {
		int s = walk_from(S(CONNECTING), unit_random(12));

		seen |= 1 << s;
		for (i = 0; i < ARRAY_SIZE(to_end); i++) {
			int next = rds_ss_next_state(s, to_end[i]);

			EXPECT(next >= 0 || i || s == S(CLOSED), "no CLOSE in state %d", s);
			s = next < 0 ? s : next;
		}
		EXPECT(s == S(CLOSED), "ended in state %d", s);
	}
	EXPECT_EQ(seen, (1 << RDS_SS_NR_STATES) - 1);
}

/* What a state allows is never allowed again once it was not. */
static void never_goes_back(void)
{
	int s, e;

	for (s = S(OPEN); s < RDS_SS_NR_STATES; s++)
		for (e = 0; e < RDS_SS_NR_EVENTS; e++) {
			int next = rds_ss_next_state(s, e);

			if (next < 0)
				continue;
			EXPECT(rds_ss_may_queue(s) || !rds_ss_may_queue(next), "queue: %d to %d", s, next);
			EXPECT(rds_ss_may_send(s) || !rds_ss_may_send(next) || rds_ss_flushes(next),
			       "send: %d to %d", s, next);
			EXPECT(rds_ss_may_tell(s) || !rds_ss_may_tell(next), "tell: %d to %d", s, next);
			EXPECT(rds_ss_listens(s) || !rds_ss_listens(next), "listen: %d to %d", s, next);
			EXPECT(next != S(CONNECTING), "connects again");
		}
}

static void a_failure_ends(void)
{
	int s;

	for (s = 0; s < RDS_SS_NR_STATES; s++)
		EXPECT((rds_ss_next_state(s, E(FAIL)) == S(RESET)) == (s < S(LEFT)), "state %d", s);
}

/* What is told to the peer at the end: SHUT if this end still reads, else BYE. */
static void what_is_said_last(void)
{
	EXPECT_EQ(rds_ss_next_state(S(OPEN), E(SHUT_WR)), S(SHUTTING));
	EXPECT_EQ(rds_ss_next_state(S(HALF_IN), E(SHUT_WR)), S(CLOSING));
	EXPECT_EQ(rds_ss_next_state(S(HALF_OUT), E(SHUT_RD)), S(CLOSING));
	EXPECT_EQ(rds_ss_next_state(S(SHUTTING), E(SHUT_RD)), S(CLOSING));
	/* both have said SHUT: neither says BYE */
	EXPECT_EQ(rds_ss_next_state(S(HALF_OUT), E(PEER_SHUT)), S(ENDING));
	EXPECT(rds_ss_may_read(S(LEFT)) && rds_ss_may_read(S(CLOSED)), "input stays readable");
	EXPECT(!rds_ss_may_read(S(RESET)), "input of a stream that failed");
}

UNIT_CASES(
	{ "life.whole_table", whole_table },
	{ "life.close_ends", close_ends },
	{ "life.never_goes_back", never_goes_back },
	{ "life.a_failure_ends", a_failure_ends },
	{ "life.what_is_said_last", what_is_said_last },
);
