// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writer for one JSON document, one value per line. */
#include <inttypes.h>

#include "rdstool.h"

static void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void begin(struct rt_json *j, const char *key)
{
	if (j->depth)
		fprintf(j->out, "%s\n%*s", j->used ? "," : "",
			(int)j->depth * 2, "");
	j->used = true;
	if (key) {
		put_string(j->out, key);
		fputs(": ", j->out);
	}
}

void rt_json_open(struct rt_json *j, const char *key, char bracket)
{
	begin(j, key);
	fputc(bracket, j->out);
	j->depth++;
	j->used = false;
}

void rt_json_close(struct rt_json *j, char bracket)
{
	j->depth--;
	if (j->used)
		fprintf(j->out, "\n%*s", (int)j->depth * 2, "");
	fputc(bracket, j->out);
	if (!j->depth)
		fputc('\n', j->out);
	j->used = true;
	fflush(j->out);
}

void rt_json_str(struct rt_json *j, const char *key, const char *value)
{
	begin(j, key);
	put_string(j->out, value);
}

void rt_json_u64(struct rt_json *j, const char *key, uint64_t value)
{
	begin(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void rt_json_bool(struct rt_json *j, const char *key, bool value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->out);
}
