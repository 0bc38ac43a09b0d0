// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Parse numbers and times of the command line. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdstool.h"

int rt_parse_number(const char *text, uint64_t max, uint64_t *out)
{
	unsigned int shift = 0;
	uint64_t value;
	char *end;

	/* strtoull() accepts signs and blanks, and makes -1 a huge number. */
	if (!isdigit((unsigned char)text[0]))
		return -1;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno)
		return -1;
	switch (tolower((unsigned char)*end)) {
	case 'k':
		shift = 10;
		break;
	case 'm':
		shift = 20;
		break;
	case 'g':
		shift = 30;
		break;
	}
	if (shift)
		end++;
	if (*end || value > max >> shift)
		return -1;
	*out = value << shift;
	return 0;
}

int rt_parse_interval(const char *text, uint64_t *us)
{
	double value, unit;
	char *end;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text)
		return -1;
	if (!*end)
		unit = 1e6;
	else if (!strcmp(end, "ms") || !strcmp(end, "msec"))
		unit = 1e3;
	else if (!strcmp(end, "us") || !strcmp(end, "usec"))
		unit = 1;
	else
		return -1;
	value *= unit;
	/* This form of the test also refuses NaN. The limit is one day. */
	if (!(value >= 0 && value <= 86400e6))
		return -1;
	*us = value;
	return 0;
}
