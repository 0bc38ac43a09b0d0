// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/plat.h"
#include <net/rds/dev_idfsm.h>
#include "unit.h"

#define S(name)	RDS_DEV_ID_##name
#define E(name)	RDS_DEV_ID_EV_##name

/* All legal transitions; every other transition is refused. */
static const struct {
	enum rds_dev_id_state	from;
	enum rds_dev_id_event	event;
	enum rds_dev_id_state	to;
} legal[] = {
	{ S(NEW),		E(WAIT),	S(WAIT_LINK) },
	{ S(NEW),		E(OPEN),	S(OPENING) },
	{ S(NEW),		E(END),		S(ENDING) },
	{ S(NEW),		E(FREE),	S(DEAD) },
	{ S(WAIT_LINK),		E(LINK),	S(WAIT_TURN) },
	{ S(WAIT_LINK),		E(END),		S(ENDING) },
	{ S(WAIT_TURN),		E(DIAL),	S(RESOLVING) },
	{ S(WAIT_TURN),		E(END),		S(ENDING) },
	{ S(RESOLVING),		E(OPEN),	S(OPENING) },
	{ S(RESOLVING),		E(END),		S(ENDING) },
	{ S(OPENING),		E(ASK),		S(ASKED) },
	{ S(OPENING),		E(END),		S(ENDING) },
	{ S(ASKED),		E(ANSWER),	S(ANSWERED) },
	{ S(ASKED),		E(END),		S(ENDING_ASKED) },
	{ S(ANSWERED),		E(ESTABLISH),	S(ESTABLISHED) },
	{ S(ANSWERED),		E(END),		S(ENDING) },
	{ S(ESTABLISHED),	E(UP),		S(UP) },
	{ S(ESTABLISHED),	E(END),		S(ENDING) },
	{ S(UP),		E(END),		S(ENDING) },
	{ S(ENDING),		E(CLOSE),	S(CLOSED) },
	{ S(ENDING),		E(FREE),	S(DEAD) },
	{ S(ENDING_ASKED),	E(ANSWER),	S(ENDING) },
	{ S(ENDING_ASKED),	E(LATE),	S(LATE) },
	{ S(ENDING_ASKED),	E(CLOSE),	S(CLOSED) },
	{ S(LATE),		E(FREE),	S(DEAD) },
	{ S(CLOSED),		E(SHELVE),	S(SHELVED) },
	{ S(CLOSED),		E(FREE),	S(DEAD) },
	{ S(SHELVED),		E(REAP),	S(CLOSED) },
};

static void whole_table(void)
{
	int s, e;
	size_t i;

	for (s = 0; s < S(NR_STATES); s++)
		for (e = 0; e < RDS_DEV_ID_NR_EVENTS; e++) {
			int want = -1;

			for (i = 0; i < ARRAY_SIZE(legal); i++)
				if (legal[i].from == s && legal[i].event == e)
					want = legal[i].to;
			EXPECT(rds_dev_id_next(s, e) == want, "state %d, event %d: %d, not %d", s, e,
			       rds_dev_id_next(s, e), want);
		}
}

/* The event by which an attempt comes up, and the one by which an id goes */
static const int upward[S(NR_STATES)] = {
	[S(NEW)]		= E(WAIT),
	[S(WAIT_LINK)]		= E(LINK),
	[S(WAIT_TURN)]		= E(DIAL),
	[S(RESOLVING)]		= E(OPEN),
	[S(OPENING)]		= E(ASK),
	[S(ASKED)]		= E(ANSWER),
	[S(ANSWERED)]		= E(ESTABLISH),
	[S(ESTABLISHED)]	= E(UP),
};

static const int away[S(NR_STATES)] = {
	[S(ENDING)]		= E(CLOSE),
	[S(ENDING_ASKED)]	= E(LATE),
	[S(LATE)]		= E(FREE),
	[S(CLOSED)]		= E(FREE),
	[S(SHELVED)]		= E(REAP),
};

static int walk_from(int s, unsigned int steps)
{
	for (; steps; steps--) {
		int next = rds_dev_id_next(s, unit_random(RDS_DEV_ID_NR_EVENTS));

		if (next >= 0)
			s = next;
	}
	return s;
}

/* From each state an id comes up, or it goes and its user makes another one that does. */
static void back_to_up(void)
{
	unsigned int seen = 0, walk, n;

	for (walk = 0; walk < 200000; walk++) {
		int s = walk_from(S(NEW), unit_random(60));

		seen |= 1 << s;
		for (n = 0; s >= S(ENDING) && s != S(DEAD) && n < 4; n++)
			s = rds_dev_id_next(s, away[s]);
		if (s == S(DEAD))
			s = S(NEW);
		for (n = 0; s < S(UP) && n < 8; n++)
			s = rds_dev_id_next(s, upward[s]);
		EXPECT(s == S(UP), "ended in state %d", s);
	}
	EXPECT_EQ(seen, (1 << S(NR_STATES)) - 1);
}

/* What the code asks of the order of the states: an id that ends neither posts nor comes back. */
static void ends_for_good(void)
{
	int s, e;

	for (s = 0; s < S(NR_STATES); s++)
		for (e = 0; e < RDS_DEV_ID_NR_EVENTS; e++) {
			int next = rds_dev_id_next(s, e);

			if (next < 0)
				continue;
			EXPECT(s < S(ENDING) || next >= S(ENDING), "%d goes back to %d", s, next);
			EXPECT(e == E(END) || e == E(FREE) || (s < S(ENDING)) == (next < S(ENDING)),
			       "event %d ends an id in state %d", e, s);
		}
}

/* A failure and a close may meet an id in any state; the first of them ends it. */
static void end_is_taken(void)
{
	int s;

	for (s = 0; s < S(ENDING); s++)
		EXPECT(rds_dev_id_next(s, E(END)) >= S(ENDING), "END in state %d", s);
	for (s = S(ENDING); s < S(NR_STATES); s++)
		EXPECT(rds_dev_id_next(s, E(END)) < 0, "a second END in state %d", s);
}

/* Only rdma_cm's answer, or nobody's, is waited for where an answer is owed. */
static void answer_is_owed(void)
{
	int s;

	for (s = 0; s < S(NR_STATES); s++)
		EXPECT((rds_dev_id_next(s, E(ANSWER)) >= 0) == (s == S(ASKED) || s == S(ENDING_ASKED)),
		       "state %d", s);
	EXPECT(rds_dev_id_next(S(ENDING), E(LATE)) < 0, "late, though nothing is owed");
}

/* An attempt is dialled only behind its turn, and a request of a peer has none. */
static void turn_before_dial(void)
{
	int s;

	for (s = 0; s < S(NR_STATES); s++)
		EXPECT((rds_dev_id_next(s, E(DIAL)) >= 0) == (s == S(WAIT_TURN)), "DIAL in state %d", s);
	for (s = 0; s < S(NR_STATES); s++)
		EXPECT((rds_dev_id_next(s, E(LINK)) >= 0) == (s == S(WAIT_LINK)), "LINK in state %d", s);
	EXPECT_EQ(rds_dev_id_next(S(NEW), E(OPEN)), S(OPENING));
}

UNIT_CASES(
	{ "idfsm.whole_table", whole_table },
	{ "idfsm.back_to_up", back_to_up },
	{ "idfsm.ends_for_good", ends_for_good },
	{ "idfsm.end_is_taken", end_is_taken },
	{ "idfsm.answer_is_owed", answer_is_owed },
	{ "idfsm.turn_before_dial", turn_before_dial },
);
