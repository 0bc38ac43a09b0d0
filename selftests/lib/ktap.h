/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Result lines for test programs. One call, one line, one write: lines of several threads or of a
 * program and its child do not mix. Numbers run per process.
 */
#ifndef SELFTESTS_KTAP_H
#define SELFTESTS_KTAP_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_int ktap_count;
static atomic_int ktap_failures;

static inline void ktap_line(const char *head, const char *tail, const char *fmt, va_list ap)
{
	char name[800], line[1024];
	size_t n = 0, len;
	ssize_t did;

	vsnprintf(name, sizeof(name), fmt, ap);
	/* A reason may hold text from elsewhere: it stays one line. */
	for (char *p = name; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	fflush(stdout);
	len = (size_t)snprintf(line, sizeof(line), "%s %d %s%s\n", head,
			       atomic_fetch_add(&ktap_count, 1) + 1, name, tail);
	while (n < len) {
		did = write(STDOUT_FILENO, line + n, len - n);
		if (did <= 0)
			break;
		n += (size_t)did;
	}
}

/* One result; returns @cond. */
__attribute__((format(printf, 2, 3)))
static inline bool ktap_ok(bool cond, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!cond)
		atomic_fetch_add(&ktap_failures, 1);
	ktap_line(cond ? "ok" : "not ok", "", fmt, ap);
	va_end(ap);
	return cond;
}

/* A test that could not be made; give "name: why". */
__attribute__((format(printf, 1, 2)))
static inline void ktap_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ktap_line("ok", " # SKIP", fmt, ap);
	va_end(ap);
}

/* Exit status of a test program: a program that tested nothing failed. */
static inline int ktap_exit(void)
{
	fflush(stdout);
	return atomic_load(&ktap_failures) || !atomic_load(&ktap_count);
}

#endif
