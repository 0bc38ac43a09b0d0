/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options of sockets whose value is a number, for the cases of basic.h */
#ifndef RDS_SELFTEST_OPT_H
#define RDS_SELFTEST_OPT_H

#include <errno.h>
#include <sys/socket.h>

#include "basic.h"

/** set() - set an option; 0 or -errno */
static inline int set(int fd, int level, int name, int v)
{
	return (int)err(setsockopt(fd, level, name, &v, sizeof(v)));
}

/** get() - the value of an option, or -errno */
static inline int get(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int v = 0;

	return getsockopt(fd, level, name, &v, &len) ? -errno : v;
}

#endif
