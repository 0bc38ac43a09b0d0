// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>

#include "unit.h"

static unsigned int checks, failures;

char **unit_args;

void unit_expect(int held, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	checks++;
	if (held)
		return;
	failures++;
	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

unsigned int unit_random(unsigned int below)
{
	static unsigned int seed = 1;

	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) % below;
}

int main(int argc, char **argv)
{
	const struct unit_case *c;
	int bad = 0;

	(void)argc;
	unit_args = argv + 1;
	for (c = unit_cases; c->name; c++) {
		int ok;

		checks = 0;
		failures = 0;
		c->run();
		ok = checks && !failures;
		if (!checks)
			puts("# checked nothing");
		printf("%s %zu %s\n", ok ? "ok" : "not ok", c - unit_cases + 1,
		       c->name);
		bad |= !ok;
	}
	return bad || c == unit_cases;
}
