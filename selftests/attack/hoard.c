// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-hoard WAY NUMBER [SIZE]: an unprivileged process makes the kernel hold
 * what it can, says "holds" and how often it got something, and ends when its
 * standard input does.
 *
 * connections: one empty message to each of NUMBER addresses of this host
 * messages: NUMBER messages of SIZE bytes from a loopback address to a socket
 * with the largest receive buffer, which reads none.  Each line of the standard
 * input then makes it read them all and send one more; it says "again" and
 * whether that could be sent.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdstest.h"

/* Messages that were sent */
static unsigned int connections(unsigned int nr)
{
	union addr self = addr_of("127.0.0.1", 0), to;
	int fd = rds_bound(&self, 0);
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

int main(int argc, char **argv)
{
	unsigned int nr = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	bool msgs = nr && argc == 4 && !strcmp(argv[1], "messages");

	if (!msgs && (!nr || argc != 3 || strcmp(argv[1], "connections"))) {
		fprintf(stderr, "usage: rds-hoard connections NUMBER | messages NUMBER SIZE\n");
		return 2;
	}
	if (drop_privileges())
		die("setuid: %m");
	printf("holds %u\n", msgs ? messages(nr, strtoul(argv[3], NULL, 0)) : connections(nr));
	fflush(stdout);
	for (int c; (c = getchar()) != EOF;)
		if (c == '\n' && msgs)
			read_all();
	return 0;
}
