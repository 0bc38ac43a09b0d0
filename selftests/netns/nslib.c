// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "nslib.h"

#include <errno.h>

bool rds_try_bind(const char *ns, const char *addr, uint16_t port, int *fd)
{
	union addr a = addr_of(addr, port);

	if (ns)
		netns_enter(ns);
	*fd = rds_open(SOCK_NONBLOCK);
	return !bind(*fd, &a.sa, addr_len(&a));
}

int rds_socket(const char *ns, const char *addr, uint16_t port)
{
	int fd;

	if (!rds_try_bind(ns, addr, port, &fd))
		die("bind %s:%u: %m", addr, port);
	return fd;
}

int rds_send(int fd, const char *addr, uint16_t port, const void *data,
	     size_t len)
{
	union addr a = addr_of(addr, port);

	if (sendto(fd, data, len, MSG_DONTWAIT, &a.sa, addr_len(&a)) < 0)
		return -errno;
	return 0;
}

struct snap rds_dump(int fd, int id)
{
	struct snap s = snap(fd, id);

	if (s.ret < 0)
		die("dump %d: errno %ld", id, -s.ret);
	return s;
}

unsigned int rds_count(int fd, int id)
{
	struct snap s = rds_dump(fd, id);

	snap_free(&s);
	return s.n;
}

unsigned int rds_counters(int fd, uint64_t value[MAX_COUNTERS])
{
	struct snap s = rds_dump(fd, RDS_INFO_COUNTERS);
	struct rds_info_counter c;
	unsigned int i;

	for (i = 0; i < s.n && i < MAX_COUNTERS; i++) {
		memcpy(&c, s.p + i * s.ret, sizeof(c));
		value[i] = c.value;
	}
	snap_free(&s);
	return i;
}

uint64_t rds_counter(int fd, const char *name)
{
	uint64_t v;

	if (!counter_read(fd, name, &v))
		die("no counter %s", name);
	return v;
}
