// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Results are counted here only. */
#include "ktap.h"
#include "rt.h"

bool rt_ok(bool cond, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ktap_ok(cond, "%s", text);
}

void rt_skip(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ktap_skip("%s", text);
}

void rt_plan(int n)
{
	ktap_plan(n);
}

int rt_exit(void)
{
	return ktap_exit();
}
