// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "conn/fsm.h"
#include "unit.h"

/* All legal transitions; every other transition is refused. */
static const struct {
	enum rds_cpath_state	from;
	enum rds_cpath_event	event;
	enum rds_cpath_state	to;
} legal[] = {
	{ RDS_PATH_DOWN,	RDS_EV_DIAL,	RDS_PATH_CONNECTING },
	{ RDS_PATH_DOWN,	RDS_EV_CLAIM,	RDS_PATH_CONNECTING },
	{ RDS_PATH_DOWN,	RDS_EV_KILL,	RDS_PATH_DEAD },
	{ RDS_PATH_CONNECTING,	RDS_EV_UP,	RDS_PATH_UP },
	{ RDS_PATH_CONNECTING,	RDS_EV_LOST,	RDS_PATH_CLOSING },
	{ RDS_PATH_UP,		RDS_EV_LOST,	RDS_PATH_CLOSING },
	{ RDS_PATH_CLOSING,	RDS_EV_CLOSED,	RDS_PATH_DOWN },
};

static void whole_table(void)
{
	int s, e;
	size_t i;

	for (s = 0; s < RDS_PATH_NR_STATES; s++)
		for (e = 0; e < RDS_PATH_NR_EVENTS; e++) {
			int want = -1;

			for (i = 0; i < ARRAY_SIZE(legal); i++)
				if (legal[i].from == s && legal[i].event == e)
					want = legal[i].to;
			EXPECT(rds_cpath_next(s, e) == want, "state %d, event %d: %d, not %d", s, e,
			       rds_cpath_next(s, e), want);
		}
}

/* The event by which worker and transport bring a wanted path forward */
static const int onward[RDS_PATH_NR_STATES] = {
	[RDS_PATH_DOWN]		= RDS_EV_DIAL,
	[RDS_PATH_CONNECTING]	= RDS_EV_UP,
	[RDS_PATH_CLOSING]	= RDS_EV_CLOSED,
};

/* From each state but DEAD a path is UP after at most three events. */
static void back_to_up(void)
{
	unsigned int seen = 0, walk, step;

	for (walk = 0; walk < 20000; walk++) {
		int s = RDS_PATH_DOWN, n;

		for (step = unit_random(12); step; step--) {
			int next = rds_cpath_next(s, unit_random(RDS_PATH_NR_EVENTS));

			if (next >= 0)
				s = next;
		}
		seen |= 1 << s;
		if (s == RDS_PATH_DEAD)
			continue;
		for (n = 0; s != RDS_PATH_UP && n < 3; n++)
			s = rds_cpath_next(s, onward[s]);
		EXPECT(s == RDS_PATH_UP, "ended in state %d", s);
	}
	EXPECT_EQ(seen, (1 << RDS_PATH_NR_STATES) - 1);
}

static void dead_stays_dead(void)
{
	int s, e;

	for (e = 0; e < RDS_PATH_NR_EVENTS; e++)
		EXPECT(rds_cpath_next(RDS_PATH_DEAD, e) < 0, "event %d", e);
	for (s = 0; s < RDS_PATH_NR_STATES; s++)
		EXPECT((rds_cpath_next(s, RDS_EV_KILL) >= 0) == (s == RDS_PATH_DOWN),
		       "killed in state %d", s);
}

static void names(void)
{
	int s, t;

	for (s = 0; s < RDS_PATH_NR_STATES; s++)
		for (t = 0; t < s; t++)
			EXPECT(strcmp(rds_cpath_state_name(s), rds_cpath_state_name(t)),
			       "states %d and %d are both %s", s, t, rds_cpath_state_name(s));
}

UNIT_CASES(
	{ "fsm.whole_table", whole_table },
	{ "fsm.back_to_up", back_to_up },
	{ "fsm.dead_stays_dead", dead_stays_dead },
	{ "fsm.names", names },
);
