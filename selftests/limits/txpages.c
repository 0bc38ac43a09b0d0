// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory of outgoing messages (net/rds/msg/txpage.h): pages are used again, never while anybody
 * still has them, and a socket keeps none when it is quiet or closed. Pages got and given back
 * are counted by the kernel, in /proc/vmstat. Over loopback a message keeps the sender's pages
 * until it is read.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "ktap.h"

#ifndef AF_RDS
#define AF_RDS	21
#endif
#define SIZE	100000	/* of a message */
#define BURST	40	/* of them, before any is read: more than 100 pages of 32 KiB */
#define SMALL	4096	/* bytes of a page as the kernel counts them */
#define KEPT	(BURST * SIZE / SMALL / 2)	/* half of what a burst takes */

static struct sockaddr_in rx_addr = { .sin_family = AF_INET, .sin_port = 0 };
static uint8_t buf[SIZE];

static int sock(struct sockaddr_in *a)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0), room = 8 << 20;
	struct timeval limit = { .tv_sec = 30 };
	socklen_t len = sizeof(*a);

	a->sin_family = AF_INET;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a->sin_port = 0;
	if (fd < 0 || bind(fd, (struct sockaddr *)a, sizeof(*a)) ||
	    getsockname(fd, (struct sockaddr *)a, &len) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit))) {
		perror("socket");
		exit(1);
	}
	return fd;
}

/* The sum of all lines of /proc/vmstat that begin with @name */
static long pages(const char *name)
{
	FILE *f = fopen("/proc/vmstat", "r");
	char line[128];
	long sum = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			sum += atol(strchr(line, ' '));
	if (f)
		fclose(f);
	return sum;
}

static void fill(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < SIZE; i++)
		buf[i] = (uint8_t)(n * 151 + i * 7 + (i >> 8));
}

static bool right(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < SIZE; i++)
		if (buf[i] != (uint8_t)(n * 151 + i * 7 + (i >> 8)))
			return false;
	return true;
}

/* Messages first to first + BURST - 1: all are sent, then all are read. Those that were right. */
static int burst(int tx, int rx, unsigned int first)
{
	unsigned int i;
	int good = 0;

	for (i = 0; i < BURST; i++) {
		fill(first + i);
		if (sendto(tx, buf, SIZE, 0, (struct sockaddr *)&rx_addr, sizeof(rx_addr)) != SIZE)
			break;
	}
	while (i--) {
		memset(buf, 0, SIZE);
		if (recv(rx, buf, SIZE, 0) != SIZE)
			break;
		good += right(first + good);
	}
	return good;
}

/* Is @name higher than @from by @more before @ms have passed? */
static long grown(const char *name, long from, long more, int ms)
{
	long now = pages(name) - from;

	for (; now < more && ms > 0; ms -= 200) {
		poll(NULL, 0, 200);
		now = pages(name) - from;
	}
	return now;
}

int main(void)
{
	struct sockaddr_in tx_addr;
	int rx = sock(&rx_addr), tx = sock(&tx_addr), good = 0, i;
	long before, n;

	good = burst(tx, rx, 0);
	before = pages("pgalloc_");
	for (i = 1; i < 10; i++)
		good += burst(tx, rx, i * BURST);
	n = pages("pgalloc_") - before;
	ktap_ok(good == 10 * BURST, "txpages.intact # %d of %d messages", good, 10 * BURST);
	ktap_ok(n < 9l * BURST * SIZE / SMALL / 4, "txpages.again # %ld pages got for %d", n,
		9 * BURST * SIZE / SMALL);

	n = grown("pgfree", pages("pgfree"), KEPT, 20000);
	ktap_ok(n >= KEPT, "txpages.let_go_when_quiet # %ld pages given back", n);

	good = burst(tx, rx, 0);
	before = pages("pgfree");
	close(tx);
	n = pages("pgfree") - before;
	ktap_ok(good == BURST && n >= KEPT, "txpages.let_go_when_closed # %ld pages given back", n);
	close(rx);
	return ktap_exit();
}
