// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An unprivileged process makes the kernel hold what it can, and says "holds"
 * and how often it got something.
 *
 * rds-hoard connections NUMBER GROUP: one empty message to each of NUMBER
 * addresses of this host.  A connection that is not used ends after 5 s, so
 * this process itself reads at once how many connections, bytes of slab, and
 * bytes charged to memory cgroup GROUP there are more: "more".  Then it closes
 * its socket, and says after how many milliseconds all are "gone", or 60000.
 *
 * rds-hoard messages NUMBER SIZE: NUMBER messages of SIZE bytes from a loopback
 * address to a socket with the largest receive buffer, which reads none.  Each
 * line of the standard input then makes it read them all and send one more; it
 * says "again" and whether that could be sent.  It ends with its standard
 * input.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdstest.h"

/* A number of a file, which root opens before this process is unprivileged */
struct meter {
	const char *file, *key;
	unsigned int unit;
	FILE *f;
	uint64_t first;
};

static char group_stat[120];

enum { CONNS, SLAB, CHARGED, METERS };

static struct meter meters[METERS] = {
	[CONNS] = { "/proc/net/rds/held", "connections", 1 },
	[SLAB] = { "/proc/meminfo", "Slab:", 1024 },
	[CHARGED] = { group_stat, "slab", 1 },
};

/* In-tree has no file of what is held; 0 then. */
static uint64_t meter_read(struct meter *m)
{
	char line[120], key[64];
	uint64_t n;

	if (!m->f)
		return 0;
	rewind(m->f);
	while (fgets(line, sizeof(line), m->f))
		if (sscanf(line, "%63s %" SCNu64, key, &n) == 2 &&
		    !strcmp(key, m->key))
			return n * m->unit;
	die("%s has no %s", m->file, m->key);
}

static uint64_t more(struct meter *m)
{
	uint64_t now = meter_read(m);

	return now > m->first ? now - m->first : 0;
}

static void meters_open(const char *group)
{
	snprintf(group_stat, sizeof(group_stat), "%s/memory.stat", group);
	for (struct meter *m = meters; m < meters + METERS; m++) {
		m->f = fopen(m->file, "r");
		if (!m->f && m != &meters[CONNS])
			die("%s: %m", m->file);
		/* Each look reads the file again. */
		if (m->f)
			setvbuf(m->f, NULL, _IONBF, 0);
	}
}

static void meters_begin(void)
{
	for (struct meter *m = meters; m < meters + METERS; m++)
		m->first = meter_read(m);
}

/* Messages that were sent */
static unsigned int connect_all(int fd, unsigned int nr)
{
	union addr to;
	unsigned int i, sent = 0;

	for (i = 0; i < nr; i++) {
		to = addr_v4(0x7f010000 + i, 4000);
		if (!sendto(fd, "", 0, MSG_DONTWAIT, &to.sa, addr_len(&to)))
			sent++;
		else if (errno != ENOBUFS && errno != ENOMEM && errno != EAGAIN)
			die("sendto: %m");
	}
	return sent;
}

static void connections(unsigned int nr)
{
	union addr self = addr_of("127.0.0.1", 0);
	int fd = rds_bound(&self, 0);
	long end;

	meters_begin();
	printf("holds %u\n", connect_all(fd, nr));
	printf("more %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	       more(&meters[CONNS]), more(&meters[SLAB]),
	       more(&meters[CHARGED]));
	close(fd);
	end = now_ms();
	while (more(&meters[CONNS]) && now_ms() - end < 60000)
		usleep(50000);
	printf("gone %ld\n", now_ms() - end);
}

static int tx, rx;
static union addr reader;

/* A new connection may refuse until it is up; is the message sent? */
static bool sent_one(const void *data, size_t size)
{
	struct pollfd p = { .fd = tx, .events = POLLOUT };

	for (;;) {
		if (sendto(tx, data, size, MSG_DONTWAIT, &reader.sa, addr_len(&reader)) ==
		    (ssize_t)size)
			return true;
		if (errno == ENOBUFS)
			return false;
		if (errno != EAGAIN || poll(&p, 1, 10000) != 1)
			die("sendto: %m");
	}
}

static unsigned int messages(unsigned int nr, size_t size)
{
	union addr self = addr_of("127.0.0.1", 0);
	int max = INT_MAX / 2;
	char *data = calloc(1, size);
	unsigned int sent = 0;

	if (!data)
		die("calloc: %m");
	tx = rds_bound(&self, 0);
	rx = rds_bound(&self, 0);
	if (setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &max, sizeof(max)))
		die("SO_RCVBUF: %m");
	reader = name_of(rx);
	while (sent < nr && sent_one(data, size))
		sent++;
	free(data);
	return sent;
}

static void read_all(void)
{
	char b;

	while (recv(rx, &b, 1, MSG_DONTWAIT) >= 0)
		;
	printf("again %d\n", sent_one("", 0));
	fflush(stdout);
}

static void drop(void)
{
	if (drop_privileges())
		die("setuid: %m");
}

static void hold_messages(unsigned int nr, size_t size)
{
	drop();
	printf("holds %u\n", messages(nr, size));
	fflush(stdout);
	for (int c; (c = getchar()) != EOF;)
		if (c == '\n')
			read_all();
}

int main(int argc, char **argv)
{
	unsigned int nr = argc == 4 ? strtoul(argv[2], NULL, 0) : 0;

	if (nr && !strcmp(argv[1], "messages")) {
		hold_messages(nr, strtoul(argv[3], NULL, 0));
	} else if (nr && !strcmp(argv[1], "connections")) {
		meters_open(argv[3]);
		drop();
		connections(nr);
	} else {
		fprintf(stderr, "usage: rds-hoard connections NUMBER GROUP | "
				"messages NUMBER SIZE\n");
		return 2;
	}
	return 0;
}
