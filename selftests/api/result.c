// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The result string of a case: labels and values; equal values are folded. */
#include "api.h"

#include <stdarg.h>

struct result *result;

static struct {
	bool any;
	long first, last, value;
	unsigned int len;
	char text[4096];
} run;

static void add(const char *text)
{
	int n = snprintf(result->text + result->len,
			 sizeof(result->text) - result->len, "%s%s",
			 result->len ? " " : "", text);

	result->len += n;
	if (result->len >= sizeof(result->text))
		bail("result too long");
}

void note(const char *fmt, ...)
{
	char buf[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	add(buf);
}

const char *val_name(long v, char buf[32])
{
	const char *e = v < 0 ? strerrorname_np(-v) : NULL;

	if (e)
		return e;
	snprintf(buf, 32, "%ld", v);
	return buf;
}

void r(const char *label, long v)
{
	char buf[32];

	if (label)
		note("%s=%s", label, val_name(v, buf));
	else
		note("%s", val_name(v, buf));
}

static void run_flush(void)
{
	char buf[32];
	const char *sep = run.len ? "," : "";

	if (!run.any)
		return;
	if (run.first == run.last)
		run.len += snprintf(run.text + run.len,
				    sizeof(run.text) - run.len, "%s%ld:%s", sep,
				    run.first, val_name(run.value, buf));
	else
		run.len += snprintf(run.text + run.len,
				    sizeof(run.text) - run.len, "%s%ld-%ld:%s",
				    sep, run.first, run.last,
				    val_name(run.value, buf));
	if (run.len >= sizeof(run.text))
		bail("sweep too long");
	run.any = false;
}

/* Consecutive numbers with the same value become one range. */
void sweep(long i, long v)
{
	if (run.any && run.last == i - 1 && run.value == v) {
		run.last = i;
		return;
	}
	run_flush();
	run.any = true;
	run.first = i;
	run.last = i;
	run.value = v;
}

void sweep_end(const char *label)
{
	run_flush();
	if (label)
		note("%s=%s", label, run.text);
	else
		note("%s", run.text);
	run.len = 0;
	run.text[0] = 0;
}

void bail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(result->why, sizeof(result->why), fmt, ap);
	va_end(ap);
	result->failed = true;
	result->done = true;
	_exit(1);
}
