// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-hoard WAY NUMBER: an unprivileged process makes the kernel hold what it
 * can, says "holds" and how often it got something, and ends when its standard
 * input does.
 *
 * connections: one empty message to each of NUMBER addresses of this host
 */
#include <errno.h>
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

int main(int argc, char **argv)
{
	unsigned int nr = argc == 3 ? strtoul(argv[2], NULL, 0) : 0;

	if (!nr || strcmp(argv[1], "connections")) {
		fprintf(stderr, "usage: rds-hoard connections NUMBER\n");
		return 2;
	}
	if (drop_privileges())
		die("setuid: %m");
	printf("holds %u\n", connections(nr));
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
