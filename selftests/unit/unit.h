/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A unit test is a table of cases.  A case passes if at least one EXPECT() ran
 * and every EXPECT() held; a case that checks nothing fails.
 */
#ifndef _RDS_UNIT_H
#define _RDS_UNIT_H

#include <stddef.h>
#include <stdio.h>

struct unit_case {
	const char	*name;
	void		(*run)(void);
};

void unit_expect(int held, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* A number below @below; the same ones in each run */
unsigned int unit_random(unsigned int below);

/* Arguments of the program, for tests that can run for longer; the last is NULL */
extern char **unit_args;

/* Defined by every test with UNIT_CASES(). The last entry has no name. */
extern const struct unit_case unit_cases[];

#define UNIT_CASES(...)	const struct unit_case unit_cases[] = { __VA_ARGS__ { NULL, NULL } }

#define EXPECT(cond, ...)	unit_expect(!!(cond), __FILE__, __LINE__, __VA_ARGS__)
#define EXPECT_EQ(got, want)							\
	do {									\
		unsigned long long _g = (got), _w = (want);			\
										\
		EXPECT(_g == _w, "%s is 0x%llx, not 0x%llx", #got, _g, _w);	\
	} while (0)

#endif
