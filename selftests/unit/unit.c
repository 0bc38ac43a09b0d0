// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>

#include "unit.h"

static unsigned int checks, failures;

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

int unit_run(const struct unit_case *cases, size_t n)
{
	int bad = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		int ok;

		checks = 0;
		failures = 0;
		cases[i].run();
		ok = checks && !failures;
		printf("%s %zu %s%s\n", ok ? "ok" : "not ok", i + 1, cases[i].name,
		       checks ? "" : " # checked nothing");
		bad |= !ok;
	}
	return bad || !n;
}
