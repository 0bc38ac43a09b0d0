// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-idle N
 *
 * Prints KiB of kernel memory that one end of an idle connection takes: slab, vmalloc and pages
 * together, from what the kernel has left before and after N connections of one message each.
 * Then each must take a message of 1 MiB at once. The addresses are 10.0.0.1 and 10.0.1.1 and up,
 * all of this host, on a transport that does not keep local traffic to itself: so a connection has
 * both its ends here.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT	4000
#define BIG	(1024 * 1024)
#define MAX	200

static int fds[MAX + 1];
static char *buf;

static void fail(const char *what)
{
	fprintf(stderr, "rds-idle: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sockaddr_in addr_of(unsigned int i)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(i ? 0x0a000100 + i : 0x0a000001),
	};

	return sin;
}

static int open_one(unsigned int i)
{
	struct sockaddr_in sin = addr_of(i);
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0), big = 4 * BIG;

	if (fd < 0 || bind(fd, (void *)&sin, sizeof(sin)))
		fail("bind");
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &big, sizeof(big)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big)))
		fail("buffers");
	return fd;
}

/* A message to number i, and its arrival */
static void exchange(unsigned int i, size_t n)
{
	struct pollfd p = { .fd = fds[i], .events = POLLIN };
	struct sockaddr_in sin = addr_of(i);

	memset(buf, (int)i, n);
	if (sendto(fds[0], buf, n, 0, (void *)&sin, sizeof(sin)) != (ssize_t)n)
		fail("sendto");
	if (poll(&p, 1, 120000) != 1)
		fail("nothing arrives");
	memset(buf, 0, n);
	if (recv(fds[i], buf, BIG, 0) != (ssize_t)n || buf[0] != (char)i || buf[n - 1] != (char)i)
		fail("recv");
}

/* KiB on the processors' own lists of free pages, which MemFree leaves out: they may be many MiB */
static long on_cpu_lists(void)
{
	FILE *f = fopen("/proc/zoneinfo", "re");
	long pages = 0, v;
	char line[256];

	if (!f)
		fail("zoneinfo");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " count: %ld", &v) == 1)
			pages += v;
	}
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* KiB in use by the kernel and nobody's cache */
static long in_use(void)
{
	long total = 0, unused = 0, cached = 0, v;
	char line[128], key[64];
	FILE *f;
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	if (fd < 0 || write(fd, "3", 1) != 1)
		fail("drop_caches");
	close(fd);
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

int main(int argc, char **argv)
{
	unsigned int n = argc == 2 ? (unsigned int)atoi(argv[1]) : 0, i;
	long before, after;

	buf = malloc(BIG);
	if (!n || n > MAX - 1 || !buf)
		return 2;
	for (i = 0; i <= n + 1; i++)
		fds[i] = open_one(i);
	/* what the first connection takes for all */
	exchange(n + 1, 100);
	before = in_use();
	for (i = 1; i <= n; i++)
		exchange(i, 100);
	after = in_use();
	for (i = 1; i <= n; i++)
		exchange(i, BIG);
	printf("%.1f\n", (double)(after - before) / (2 * n));
	return 0;
}
