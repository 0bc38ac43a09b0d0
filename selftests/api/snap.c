// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDS_INFO snapshots, taken the way the manual page tells a program to. */
#include "api.h"

struct snap snap(int fd, int opt)
{
	struct snap s = { 0 };
	int tries;

	for (tries = 0; tries < 20; tries++) {
		s.ret = getsockopt(fd, SOL_RDS, opt, s.p, &s.len);
		if (s.ret < 0)
			s.ret = -errno;
		if (s.ret != -ENOSPC)
			break;
		free(s.p);
		s.p = calloc(1, s.len);
		need(s.p);
	}
	if (s.ret > 0)
		s.n = s.len / s.ret;
	return s;
}

void snap_free(struct snap *s)
{
	free(s->p);
	s->p = NULL;
}

long counter(int fd, const char *name)
{
	struct snap s = snap(fd, RDS_INFO_COUNTERS);
	long v = -1;
	unsigned int i;

	need(s.ret == sizeof(struct rds_info_counter));
	for (i = 0; i < s.n; i++) {
		struct rds_info_counter c;

		memcpy(&c, s.p + i * sizeof(c), sizeof(c));
		if (!strncmp((char *)c.name, name, sizeof(c.name)))
			v = c.value;
	}
	snap_free(&s);
	if (v < 0)
		bail("no counter %s", name);
	return v;
}
