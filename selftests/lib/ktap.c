// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ktap.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int count, failures;
static int planned = -1;

static void write_all(const char *text, size_t len)
{
	size_t n = 0;
	ssize_t did;

	fflush(stdout);
	while (n < len) {
		did = write(STDOUT_FILENO, text + n, len - n);
		if (did <= 0)
			break;
		n += (size_t)did;
	}
}

__attribute__((format(printf, 3, 0)))
static void result_line(const char *head, const char *tail, const char *fmt,
			va_list ap)
{
	char name[800], line[1024];
	int len;

	vsnprintf(name, sizeof(name), fmt, ap);
	/* A reason may contain newlines; a result must be one line. */
	for (char *p = name; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	len = snprintf(line, sizeof(line), "%s %d %s%s\n", head,
		       atomic_fetch_add(&count, 1) + 1, name, tail);
	write_all(line, (size_t)len);
}

void ktap_plan(int n)
{
	char line[32];

	planned = n;
	write_all(line, (size_t)snprintf(line, sizeof(line), "1..%d\n", n));
}

bool ktap_ok(bool cond, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!cond)
		atomic_fetch_add(&failures, 1);
	result_line(cond ? "ok" : "not ok", "", fmt, ap);
	va_end(ap);
	return cond;
}

void ktap_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	result_line("ok", " # SKIP", fmt, ap);
	va_end(ap);
}

int ktap_exit(void)
{
	int n = atomic_load(&count);

	fflush(stdout);
	if (planned < 0)
		printf("# no plan, %d results\n", n);
	else if (n != planned)
		printf("# %d results planned, %d printed\n", planned, n);
	return atomic_load(&failures) || !n || n != planned;
}
