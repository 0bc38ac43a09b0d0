// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/rxrule.h"
#include "unit.h"

#define RETR	RDS_WIRE_F_RETRANSMITTED

struct step {
	u64			seq;
	u8			flags;
	enum rds_rx_verdict	verdict;
	u64			expected;	/* number, after the step */
};

static void play(u64 expected, bool strict, const struct step *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		EXPECT(rds_rx_check(&expected, s[i].seq, s[i].flags, strict) ==
			       s[i].verdict,
		       "step %zu: verdict", i);
		EXPECT(expected == s[i].expected,
		       "step %zu: expects %llu, not %llu", i,
		       (unsigned long long)expected,
		       (unsigned long long)s[i].expected);
	}
}

#define PLAY_AS(expected, strict, ...)					\
	do {								\
		static const struct step steps[] = { __VA_ARGS__ };	\
									\
		play(expected, strict, steps, ARRAY_SIZE(steps));	\
	} while (0)
#define PLAY(expected, ...)	PLAY_AS(expected, false, __VA_ARGS__)

static void in_order(void)
{
	PLAY(0, { 1, 0, RDS_RX_ACCEPT, 2 }, { 2, 0, RDS_RX_ACCEPT, 3 });
}

static void holes_are_legal(void)
{
	PLAY(2, { 9, 0, RDS_RX_ACCEPT, 10 }, { 11, RETR, RDS_RX_ACCEPT, 12 });
}

/* Without RETRANSMITTED an old number is accepted, and expected moves back. */
static void old_unmarked_is_kept(void)
{
	PLAY(10, { 3, 0, RDS_RX_ACCEPT, 4 }, { 4, RETR, RDS_RX_ACCEPT, 5 },
	     { 3, RETR, RDS_RX_DUP, 5 });
}

static void marked_duplicate(void)
{
	PLAY(5, { 4, RETR, RDS_RX_DUP, 5 }, { 1, RETR, RDS_RX_DUP, 5 },
	     { 5, RETR, RDS_RX_ACCEPT, 6 }, { 5, RETR, RDS_RX_DUP, 6 });
}

static void other_flags_do_not_matter(void)
{
	PLAY(5, { 4, (u8)~RETR, RDS_RX_ACCEPT, 5 }, { 4, 0xff, RDS_RX_DUP, 5 });
}

static void number_zero_is_data(void)
{
	PLAY(0, { 0, 0, RDS_RX_ACCEPT, 1 }, { 0, RETR, RDS_RX_DUP, 1 },
	     { 0, 0, RDS_RX_ACCEPT, 1 });
}

static void number_wraps(void)
{
	PLAY(7, { UINT64_MAX, RETR, RDS_RX_ACCEPT, 0 }, { 0, RETR, RDS_RX_ACCEPT, 1 });
}

/* Numbers that never fall: a duplicate needs no flag. */
static void strict_needs_no_flag(void)
{
	PLAY_AS(5, true, { 4, 0, RDS_RX_DUP, 5 }, { 4, RETR, RDS_RX_DUP, 5 },
		{ 5, RETR, RDS_RX_ACCEPT, 6 }, { 9, 0, RDS_RX_ACCEPT, 10 },
		{ 1, 0, RDS_RX_DUP, 10 });
	PLAY_AS(0, true, { 7, RETR, RDS_RX_ACCEPT, 8 });
}

UNIT_CASES(
	{ "rxrule.strict_needs_no_flag", strict_needs_no_flag },
	{ "rxrule.in_order", in_order },
	{ "rxrule.holes_are_legal", holes_are_legal },
	{ "rxrule.old_unmarked_is_kept", old_unmarked_is_kept },
	{ "rxrule.marked_duplicate", marked_duplicate },
	{ "rxrule.other_flags_do_not_matter", other_flags_do_not_matter },
	{ "rxrule.number_zero_is_data", number_zero_is_data },
	{ "rxrule.number_wraps", number_wraps },
);
