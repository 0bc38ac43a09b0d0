/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rds-info: the tables that are not read by getsockopt() */
#ifndef RDS_INFO_H
#define RDS_INFO_H

#include "rdstool.h"

/*
 * A text of the kernel: its words in their order, and how many a line has. All
 * lines have as many.
 */
struct ri_text {
	char *buf;
	char **word;
	size_t words, columns;
};

/*
 * Read /proc/net/@name. Returns 0, or -1 with errno: EPROTO for lines of
 * different lengths.
 */
int ri_text_read(struct ri_text *t, const char *name);
void ri_text_free(struct ri_text *t);

/*
 * Print connections, those of IPv6 only if @all; or counters. JSON is what
 * stands between the brackets.
 */
void ri_streams_print(const struct ri_text *t, bool all, bool verbose);
void ri_streams_json(const struct ri_text *t, bool all, struct rt_json *j);
void ri_stats_print(const struct ri_text *t, bool all, bool verbose);
void ri_stats_json(const struct ri_text *t, bool all, struct rt_json *j);

#endif
