// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory of outgoing messages (net/rds/msg/txpage.h): pages are reused, but
 * never while a message still holds them, and a quiet or closed socket keeps no
 * pages. The kernel counts pages allocated and freed in /proc/vmstat. Over
 * loopback a message holds the sender's pages until it is read.
 */
#include <stdlib.h>

#include "rdstest.h"

#define SIZE	100000	/* bytes of a message */
#define BURST	40	/* messages in a row: more than 100 pages of 32 KiB */
#define SMALL	4096	/* bytes of a page in /proc/vmstat */
#define KEPT	(BURST * SIZE / SMALL / 2)	/* half the pages of a burst */

static uint8_t buf[SIZE];

static int sock(void)
{
	union addr a = addr_v4(INADDR_LOOPBACK, 0);
	int fd = rds_bound(&a, 0);

	rds_buffers(fd, 8 << 20);
	set_timeo(fd, SO_RCVTIMEO, 30000);
	set_timeo(fd, SO_SNDTIMEO, 30000);
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

/*
 * Send messages @first to @first + BURST - 1, then receive them all. Returns
 * the number of messages that arrived intact.
 */
static int burst(int tx, int rx, unsigned int first)
{
	union addr to = name_of(rx);
	unsigned int i;
	int good = 0;

	for (i = 0; i < BURST; i++) {
		fill(buf, SIZE, first + i);
		if (sendto(tx, buf, SIZE, 0, &to.sa, addr_len(&to)) != SIZE)
			break;
	}
	while (i--) {
		memset(buf, 0, SIZE);
		if (recv(rx, buf, SIZE, 0) != SIZE)
			break;
		good += filled(buf, SIZE, first + good);
	}
	return good;
}

/* @n pages freed since the count of freed pages was @from */
struct freed {
	long from, n;
};

static bool freed(void *arg)
{
	struct freed *f = arg;

	f->n = pages("pgfree") - f->from;
	return f->n >= KEPT;
}

int main(void)
{
	int rx = sock(), tx = sock(), good = 0, i;
	struct freed quiet;
	long before, n;
	bool done;

	ktap_plan(4);
	good = burst(tx, rx, 0);
	before = pages("pgalloc_");
	for (i = 1; i < 10; i++)
		good += burst(tx, rx, i * BURST);
	n = pages("pgalloc_") - before;
	ktap_ok(good == 10 * BURST, "txpages.intact # %d of %d messages", good,
		10 * BURST);
	ktap_ok(n < 9l * BURST * SIZE / SMALL / 4,
		"txpages.again # %ld pages got for %d", n,
		9 * BURST * SIZE / SMALL);

	quiet.from = pages("pgfree");
	done = wait_until(freed, &quiet, 20000);
	ktap_ok(done, "txpages.let_go_when_quiet # %ld pages given back",
		quiet.n);

	good = burst(tx, rx, 0);
	before = pages("pgfree");
	close(tx);
	n = pages("pgfree") - before;
	ktap_ok(good == BURST && n >= KEPT,
		"txpages.let_go_when_closed # %ld pages given back", n);
	close(rx);
	return ktap_exit();
}
