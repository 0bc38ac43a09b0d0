// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-idle N [silent]
 *
 * Prints the KiB of kernel memory that one end of an idle connection takes:
 * slab, vmalloc and pages together, from the memory in use before and after N
 * connections were made with one message each.  Then each connection must
 * transfer a message of 1 MiB at once.  The addresses are 10.0.0.1 and 10.0.1.1
 * and up, all of this host, on a transport that makes connections within the
 * host as well: so both ends of each connection are here.
 */
#include <stdlib.h>

#include "rdstest.h"

#define PORT	4000
#define BIG	(1024 * 1024)
#define MAX	200
#define IDLE_MS	"/proc/sys/net/rds/connection_idle_ms"

static int fds[MAX + 1];
static char *buf;

static union addr host_of(unsigned int i)
{
	return addr_v4(i ? 0x0a000100 + i : 0x0a000001, PORT);
}

static int open_one(unsigned int i)
{
	union addr a = host_of(i);
	int fd = rds_bound(&a, 0);

	rds_buffers(fd, 4 * BIG);
	return fd;
}

/* Send a message of @n bytes to socket @i and receive it there. */
static void exchange(unsigned int i, size_t n)
{
	union addr to = host_of(i);

	memset(buf, (int)i, n);
	if (sendto(fds[0], buf, n, 0, &to.sa, addr_len(&to)) != (ssize_t)n)
		die("sendto: %m");
	if (!readable(fds[i], 120000))
		die("nothing arrives: %m");
	memset(buf, 0, n);
	if (recv(fds[i], buf, BIG, 0) != (ssize_t)n || buf[0] != (char)i ||
	    buf[n - 1] != (char)i)
		die("recv: %m");
}

/* No connection has a queue pair of Soft RoCE any more. */
static bool all_ended(void *arg)
{
	(void)arg;
	return system("rdma resource show qp | grep -q '\\[rdma_cm\\]'") != 0;
}

/* Wait until the connections have ended if they are to. */
static void fall_silent(bool silent)
{
	if (!silent)
		return;
	if (!file_write(IDLE_MS, "1000"))
		die(IDLE_MS ": %m");
	if (!wait_until(all_ended, NULL, 120000))
		die("connections stay");
	if (!file_write(IDLE_MS, "600000"))
		die(IDLE_MS ": %m");
}

int main(int argc, char **argv)
{
	unsigned int n = argc >= 2 ? (unsigned int)atoi(argv[1]) : 0, i;
	bool silent = argc == 3 && !strcmp(argv[2], "silent");
	long before, after;

	buf = malloc(BIG);
	if (!n || n > MAX - 1 || !buf || argc != 2 + silent)
		return 2;
	for (i = 0; i <= n + 1; i++)
		fds[i] = open_one(i);
	/* Memory that the first connection allocates for all does not count. */
	exchange(n + 1, 100);
	fall_silent(silent);
	before = memory_in_use();
	for (i = 1; i <= n; i++)
		exchange(i, 100);
	fall_silent(silent);
	after = memory_in_use();
	for (i = 1; i <= n; i++)
		exchange(i, BIG);
	printf("%.1f\n", (double)(after - before) / (2 * n));
	return 0;
}
