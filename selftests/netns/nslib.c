// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rds.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nslib.h"

void bail(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(" (%s)\n", strerror(errno));
	exit(1);
}

void ns_enter(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		bail("cannot enter namespace %s", name);
	close(fd);
}

struct sockaddr_in v4(const char *addr, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, addr, &a.sin_addr) != 1)
		bail("bad address %s", addr);
	return a;
}

bool rds_try_bind(const char *ns, const char *addr, uint16_t port, int *fd)
{
	struct sockaddr_in a = v4(addr, port);

	if (ns)
		ns_enter(ns);
	*fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		bail("socket");
	return !bind(*fd, (void *)&a, sizeof(a));
}

int rds_socket(const char *ns, const char *addr, uint16_t port)
{
	int fd;

	if (!rds_try_bind(ns, addr, port, &fd))
		bail("bind %s:%u", addr, port);
	return fd;
}

int rds_send(int fd, const char *addr, uint16_t port, const void *data, size_t len)
{
	struct sockaddr_in a = v4(addr, port);

	return sendto(fd, data, len, MSG_DONTWAIT, (void *)&a, sizeof(a)) < 0 ? -errno : 0;
}

bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 && p.revents & POLLIN;
}

uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

struct dump rds_dump(int fd, int id)
{
	struct dump d = { 0 };
	socklen_t len = 0;
	int ret;

	while ((ret = getsockopt(fd, SOL_RDS, id, d.p, &len)) < 0) {
		if (errno != ENOSPC)
			bail("dump %d", id);
		len += 1024;	/* it may grow meanwhile */
		free(d.p);
		d.p = malloc(len);
		if (!d.p)
			bail("malloc");
	}
	d.size = ret;
	d.n = ret ? len / ret : 0;
	return d;
}

unsigned int rds_count(int fd, int id)
{
	struct dump d = rds_dump(fd, id);

	free(d.p);
	return d.n;
}

unsigned int rds_counters(int fd, uint64_t value[MAX_COUNTERS])
{
	struct dump d = rds_dump(fd, RDS_INFO_COUNTERS);
	unsigned int i;

	for (i = 0; i < d.n && i < MAX_COUNTERS; i++)
		memcpy(&value[i], d.p + i * d.size + 32, 8);
	free(d.p);
	return i;
}

uint64_t rds_counter(int fd, const char *name)
{
	struct dump d = rds_dump(fd, RDS_INFO_COUNTERS);
	uint64_t v = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < d.n; i++)
		if (!strncmp((char *)d.p + i * d.size, name, 32))
			memcpy(&v, d.p + i * d.size + 32, 8);
	free(d.p);
	if (v == UINT64_MAX)
		bail("no counter %s", name);
	return v;
}
