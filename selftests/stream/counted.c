// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counters of streams, and their settings */
#include "hostile.h"

#include <stdlib.h>

#define STATS	"/proc/net/rds_stream_stats"
#define MAX	64
/* The reasons are between these two. */
#define BEFORE	"stream_messages_out"
#define BEHIND	"stream_connections"

struct counter {
	char name[40];
	long value;
};

static struct counter before[MAX];

static int counters_read(struct counter *c)
{
	FILE *f = fopen(STATS, "re");
	int n = 0;

	if (!f)
		die(STATS ": %m");
	while (n < MAX && fscanf(f, "%39s %ld", c[n].name, &c[n].value) == 2)
		n++;
	fclose(f);
	return n;
}

static const struct counter *find(const struct counter *c, const char *name)
{
	for (int i = 0; i < MAX && *c[i].name; i++)
		if (!strcmp(c[i].name, name))
			return &c[i];
	die("no counter %s", name);
}

void counted_begin(void)
{
	memset(before, 0, sizeof(before));
	counters_read(before);
}

long counted(const char *name)
{
	struct counter now[MAX] = { 0 };

	counters_read(now);
	return find(now, name)->value - find(before, name)->value;
}

void only_at(int line, const char *why)
{
	struct counter now[MAX] = { 0 };
	const struct counter *c;
	long grown;

	counters_read(now);
	if (why)
		find(now, why);
	for (c = find(now, BEFORE) + 1; strcmp(c->name, BEHIND); c++) {
		grown = c->value - find(before, c->name)->value;
		want_at(line, c->name, grown, why && !strcmp(c->name, why));
	}
}

static bool fewer_than(void *arg)
{
	return counted(BEHIND) < *(long *)arg;
}

bool streams_left(void)
{
	long one = 1;

	return wait_until(fewer_than, &one, 3 * ROGUE_MS);
}

void setting(const char *name, long value)
{
	char path[80], text[24];

	snprintf(path, sizeof(path), "/proc/sys/net/rds/stream/%s", name);
	snprintf(text, sizeof(text), "%ld", value);
	if (!file_write(path, text))
		die("%s: %m", path);
}
