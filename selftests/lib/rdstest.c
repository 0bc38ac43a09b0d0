// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#define _GNU_SOURCE

#include "rdstest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MS_NS		1000000
#define SNAP_TRIES	20	/* a snapshot can grow between two calls */

void die(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "# %s: ", program_invocation_short_name);
	va_start(ap, fmt);
	errno = err;
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}

/* ---- addresses */

bool addr_parse(union addr *a, const char *host, uint16_t port)
{
	char text[64];
	char *scope;

	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, host, &a->in.sin_addr) == 1) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(port);
		return true;
	}
	snprintf(text, sizeof(text), "%s", host);
	scope = strchr(text, '%');
	if (scope)
		*scope++ = 0;
	if (inet_pton(AF_INET6, text, &a->in6.sin6_addr) != 1)
		return false;
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_port = htons(port);
	if (scope) {
		a->in6.sin6_scope_id = if_nametoindex(scope);
		if (!a->in6.sin6_scope_id)
			a->in6.sin6_scope_id = (uint32_t)atoi(scope);
	}
	return true;
}

union addr addr_of(const char *host, uint16_t port)
{
	union addr a = { 0 };

	if (host[0] && !addr_parse(&a, host, port))
		die("bad address %s", host);
	return a;
}

union addr addr_v4(uint32_t host, uint16_t port)
{
	return (union addr){ .in = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(host),
	} };
}

socklen_t addr_len(const union addr *a)
{
	return a->sa.sa_family == AF_INET6 ? sizeof(a->in6) : sizeof(a->in);
}

uint16_t addr_port(const union addr *a)
{
	return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port :
						   a->in.sin_port);
}

void addr_set_port(union addr *a, uint16_t port)
{
	if (a->sa.sa_family == AF_INET6)
		a->in6.sin6_port = htons(port);
	else
		a->in.sin_port = htons(port);
}

bool addr_eq(const union addr *a, const union addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family || addr_port(a) != addr_port(b))
		return false;
	if (a->sa.sa_family == AF_INET6)
		return !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, 16) &&
		       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
	return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
}

/* ---- sockets */

int rds_open(int flags)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);

	if (fd < 0)
		die("socket: %m");
	return fd;
}

int rds_bound(const union addr *a, int flags)
{
	int fd = rds_open(flags);

	if (bind(fd, &a->sa, addr_len(a)))
		die("bind to port %u: %m", addr_port(a));
	return fd;
}

void rds_buffers(int fd, int bytes)
{
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		die("buffers of %d bytes: %m", bytes);
}

void set_timeo(int fd, int opt, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	if (setsockopt(fd, SOL_SOCKET, opt, &tv, sizeof(tv)))
		die("time limit of a socket: %m");
}

union addr name_of(int fd)
{
	union addr a = { 0 };
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.sa, &len))
		die("getsockname: %m");
	return a;
}

static unsigned char pattern(size_t i, unsigned int seed)
{
	return (unsigned char)(seed * 31 + i * 7 + (i >> 8));
}

void fill(void *buf, size_t len, unsigned int seed)
{
	unsigned char *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = pattern(i, seed);
}

bool filled(const void *buf, size_t len, unsigned int seed)
{
	const unsigned char *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != pattern(i, seed))
			return false;
	return true;
}

/* ---- time */

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

long now_ms(void)
{
	return (long)(now_ns() / MS_NS);
}

bool time_is_judged(void)
{
	const char *judged = getenv("RDS_JUDGED");

	return judged && *judged;
}

int slow_factor(void)
{
	const char *slow = getenv("RDS_SLOW");

	return slow && atoi(slow) > 1 ? atoi(slow) : 1;
}

bool wait_until(bool (*happened)(void *arg), void *arg, long ms)
{
	struct timespec pause = { .tv_nsec = 2 * MS_NS };
	long end = now_ms() + ms;

	while (!happened(arg)) {
		if (now_ms() > end)
			return happened(arg);
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 16 * MS_NS)
			pause.tv_nsec *= 2;
	}
	return true;
}

bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 && p.revents & POLLIN;
}

/* ---- the machine */

void netns_enter(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("cannot enter %s: %m", path);
	close(fd);
}

int drop_privileges(void)
{
	const unsigned int id = 65534;

	return setgroups(0, NULL) || setresgid(id, id, id) ||
	       setresuid(id, id, id) ? -1 : 0;
}

bool file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	return !close(fd) && ok;
}

long file_number(const char *path)
{
	FILE *f = fopen(path, "re");
	long v;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &v) != 1)
		v = -1;
	fclose(f);
	return v;
}

/* KiB on per-CPU lists of free pages: may be many MiB, not part of MemFree */
static long on_cpu_lists(void)
{
	FILE *f = fopen("/proc/zoneinfo", "re");
	long pages = 0, v;
	char line[256];

	if (!f)
		die("zoneinfo: %m");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " count: %ld", &v) == 1)
			pages += v;
	}
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

long memory_in_use(void)
{
	long total = 0, unused = 0, cached = 0, v;
	char line[128], key[64];
	FILE *f;

	if (!file_write("/proc/sys/vm/drop_caches", "3"))
		die("drop_caches: %m");
	f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63[^:]: %ld", key, &v) != 2)
			continue;
		if (!strcmp(key, "MemTotal"))
			total = v;
		else if (!strcmp(key, "MemFree"))
			unused = v;
		else if (!strcmp(key, "Buffers") || !strcmp(key, "Cached") ||
			 !strcmp(key, "SReclaimable"))
			cached += v;
	}
	if (f)
		fclose(f);
	return total - unused - on_cpu_lists() - cached;
}

/* ---- RDS_INFO_* */

struct snap snap(int fd, int opt)
{
	struct snap s = { 0 };
	int tries;

	for (tries = 0; tries < SNAP_TRIES; tries++) {
		s.ret = getsockopt(fd, SOL_RDS, opt, s.p, &s.len);
		if (s.ret < 0)
			s.ret = -errno;
		if (s.ret != -ENOSPC)
			break;
		free(s.p);
		s.p = calloc(1, s.len);
		if (!s.p)
			die("snapshot of %u bytes: %m", s.len);
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

bool counter_read(int fd, const char *name, uint64_t *value)
{
	struct snap s = snap(fd, RDS_INFO_COUNTERS);
	struct rds_info_counter c;
	bool found = false;
	unsigned int i;

	for (i = 0; s.ret == sizeof(c) && i < s.n; i++) {
		memcpy(&c, s.p + i * sizeof(c), sizeof(c));
		if (strncmp((char *)c.name, name, sizeof(c.name)))
			continue;
		*value = c.value;
		found = true;
	}
	snap_free(&s);
	return found;
}
