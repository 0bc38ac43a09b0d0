// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-unread PEER PORT: a program of librdmacm sends to a server that ends
 * without having read all.  It hears of the end, and its close does not wait
 * for messages that nobody acknowledges.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <rdma/rsocket.h>

#include "rdstest.h"

#define BYTES	10000	/* more than the server reads, and than a half of ours */

int main(int argc, char **argv)
{
	static char buf[BYTES];
	struct pollfd p = { .events = POLLIN };
	union addr to;
	long start;

	if (argc != 3)
		return 2;
	to = addr_of(argv[1], (uint16_t)atoi(argv[2]));
	p.fd = rsocket(to.sa.sa_family, SOCK_STREAM, 0);
	if (p.fd < 0 || rconnect(p.fd, &to.sa, addr_len(&to)))
		die("rconnect: %m");
	if (rsend(p.fd, buf, BYTES, 0) != BYTES)
		die("rsend: %m");
	if (rpoll(&p, 1, 10000 * slow_factor()) != 1) {
		printf("the end is not heard\n");
		return 1;
	}
	start = now_ms();
	rclose(p.fd);
	printf("closed after %ld ms\n", now_ms() - start);
	return 0;
}
