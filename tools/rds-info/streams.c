// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Streams: /proc/net/rds_streams, which begins with a line of headings, and
 * /proc/net/rds_stream_stats. Columns are found by their headings, and one that
 * is not known here is shown under the kernel's name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"

#define BLANKS " \t\n"

struct stream_column {
	const char *name;	/* of the kernel */
	const char *after;	/* name of the column before it; NULL: any */
	const char *heading;	/* NULL: with -v, by its key */
	const char *key;
	int width;
};

static const struct stream_column columns[] = {
	{ "local", NULL, "LocalAddr", "local_addr", 15 },
	{ "port", "local", "LPort", "local_port", 5 },
	{ "remote", NULL, "RemoteAddr", "remote_addr", 15 },
	{ "port", "remote", "RPort", "remote_port", 5 },
	{ "carrier", NULL, "Carrier", "carrier", 7 },
	{ "way", NULL, "Way", "way", 3 },
	{ "state", NULL, "State", "state", 10 },
	{ "peer", NULL, "Peer", "peer", 7 },
	{ "unread", NULL, "Unread", "unread", 8 },
	{ "unacked", NULL, "Unacked", "unacked", 8 },
	{ "queued", NULL, "Queued", "queued", 8 },
};

#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* ---- texts of the kernel ---- */

static int take_word(struct ri_text *t, char *word)
{
	/* Room for a power of two: grown when their number is one. */
	if (!(t->words & (t->words - 1))) {
		size_t room = t->words ? t->words * 2 : 1;
		char **more = realloc(t->word, room * sizeof(*more));

		if (!more)
			return -1;
		t->word = more;
	}
	t->word[t->words++] = word;
	return 0;
}

static int take_line(struct ri_text *t, char *line)
{
	size_t before = t->words;
	char *rest, *word;

	for (word = strtok_r(line, BLANKS, &rest); word;
	     word = strtok_r(NULL, BLANKS, &rest))
		if (take_word(t, word))
			return -1;
	if (!t->columns)
		t->columns = t->words;
	if (t->words - before == t->columns)
		return 0;
	errno = EPROTO;
	return -1;
}

static int take_lines(struct ri_text *t)
{
	char *line, *rest;

	for (line = strtok_r(t->buf, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (take_line(t, line))
			return -1;
	return 0;
}

int ri_text_read(struct ri_text *t, const char *name)
{
	char path[64];
	size_t room = 0;
	ssize_t len;
	FILE *f;

	memset(t, 0, sizeof(*t));
	snprintf(path, sizeof(path), "/proc/net/%s", name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	/* The texts have no such byte: this reads all. */
	errno = 0;
	len = getdelim(&t->buf, &room, '\0', f);
	fclose(f);
	if (len >= 0 && !take_lines(t))
		return 0;
	ri_text_free(t);
	return len < 0 && !errno ? 0 : -1;
}

void ri_text_free(struct ri_text *t)
{
	int err = errno;

	free(t->buf);
	free(t->word);
	memset(t, 0, sizeof(*t));
	errno = err;
}

/* ---- connections ---- */

/* The column @i of the text, or NULL if it is none of those above */
static const struct stream_column *column_of(const struct ri_text *t, size_t i)
{
	const struct stream_column *c;

	for (c = columns; c < columns + NR_COLUMNS; c++)
		if (!strcmp(c->name, t->word[i]) &&
		    (!c->after || (i && !strcmp(c->after, t->word[i - 1]))))
			return c;
	return NULL;
}

static bool is_addr(const struct stream_column *c)
{
	return c && strstr(c->key, "_addr");
}

/* IPv4 is written as such. */
static const char *plain(const char *word)
{
	static const char mapped[] = "::ffff:";
	size_t len = sizeof(mapped) - 1;

	return !strncmp(word, mapped, len) && strchr(word, '.') ? word + len :
								  word;
}

/* Whether the line is shown that begins with word @row */
static bool is_shown(const struct ri_text *t, size_t row, bool all)
{
	size_t i;

	for (i = 0; i < t->columns && !all; i++)
		if (is_addr(column_of(t, i)) &&
		    strchr(plain(t->word[row + i]), ':'))
			return false;
	return true;
}

static void print_cells(const struct ri_text *t, size_t row, bool all)
{
	const char *gap = "";
	size_t i;

	for (i = 0; i < t->columns; i++) {
		const struct stream_column *c = column_of(t, i);

		if (!c)
			continue;
		printf("%s%*s", gap, all && is_addr(c) ? 37 : c->width,
		       row ? plain(t->word[row + i]) : c->heading);
		gap = " ";
	}
}

static void print_rest(const struct ri_text *t, size_t row)
{
	const char *gap = "  ";
	size_t i;

	for (i = 0; i < t->columns; i++) {
		if (column_of(t, i))
			continue;
		printf("%s%s=%s", gap, t->word[i], t->word[row + i]);
		gap = ", ";
	}
}

void ri_streams_print(const struct ri_text *t, bool all, bool verbose)
{
	size_t row;

	if (!t->columns)
		return;
	print_cells(t, 0, all);
	putchar('\n');
	for (row = t->columns; row < t->words; row += t->columns) {
		if (!is_shown(t, row, all))
			continue;
		print_cells(t, row, all);
		if (verbose)
			print_rest(t, row);
		putchar('\n');
	}
}

/* A number, or a text; nothing where the kernel says nothing. */
static void json_word(struct rt_json *j, const char *key, const char *word)
{
	char *end;
	uint64_t value;

	if (!strcmp(word, "-"))
		return;
	value = strtoull(word, &end, 10);
	if (*end)
		rt_json_str(j, key, plain(word));
	else
		rt_json_u64(j, key, value);
}

void ri_streams_json(const struct ri_text *t, bool all, struct rt_json *j)
{
	size_t row, i;

	for (row = t->columns; row < t->words; row += t->columns) {
		if (!is_shown(t, row, all))
			continue;
		rt_json_open(j, NULL, '{');
		for (i = 0; i < t->columns; i++) {
			const struct stream_column *c = column_of(t, i);

			json_word(j, c ? c->key : t->word[i], t->word[row + i]);
		}
		rt_json_close(j, '}');
	}
}

/* ---- counters ---- */

void ri_stats_print(const struct ri_text *t, bool all, bool verbose)
{
	size_t i;

	(void)verbose;
	printf("%*s %16s\n", all ? 32 : 25, "CounterName", "Value");
	for (i = 0; t->columns == 2 && i < t->words; i += 2)
		printf("%*s %16s\n", all ? 32 : 25, t->word[i], t->word[i + 1]);
}

void ri_stats_json(const struct ri_text *t, bool all, struct rt_json *j)
{
	size_t i;

	(void)all;
	for (i = 0; t->columns == 2 && i < t->words; i += 2)
		json_word(j, t->word[i], t->word[i + 1]);
}
