// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-smoke SELF PEER SECONDS: an empty message to port 0 of PEER must be
 * answered from that port within SECONDS.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rdstest.h"

int main(int argc, char **argv)
{
	union addr self, peer, from;
	socklen_t flen = sizeof(from);
	uint64_t began;
	double limit;
	int fd;

	if (argc != 4) {
		fprintf(stderr, "usage: rds-smoke SELF PEER SECONDS\n");
		return 2;
	}
	self = addr_of(argv[1], 0);
	peer = addr_of(argv[2], 0);
	limit = atof(argv[3]);
	fd = rds_bound(&self, 0);
	began = now_ns();
	if (sendto(fd, "", 0, 0, &peer.sa, addr_len(&peer)) != 0)
		die("sendto: %m");
	if (!readable(fd, (int)(limit * 1000)))
		die("no answer from %s after %g s", argv[2], limit);
	if (recvfrom(fd, &(char){0}, 1, 0, &from.sa, &flen) != 0)
		die("recvfrom: %m");
	if (!addr_eq(&from, &peer))
		die("answer from somebody else");
	printf("# rds-smoke: %s answered after %.1f ms\n", argv[2],
	       (double)(now_ns() - began) / 1e6);
	return 0;
}
