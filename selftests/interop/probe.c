// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-probe ping COUNT SELF PEER [MS]   ping port 0 of PEER; each answer must
 *                                       come within MS milliseconds
 * rds-probe hold SELF PORT              keep a socket bound until standard
 *                                       input ends
 */
#include <errno.h>
#include <stdlib.h>

#include "rdstest.h"

/* Milliseconds until the answer; -1 if there is none within @limit ms. */
static double one_ping(int fd, const union addr *to, int limit)
{
	uint64_t begun = now_ns();
	union addr from;
	socklen_t flen;
	long left;
	char c;

	if (sendto(fd, "", 0, MSG_DONTWAIT, &to->sa, addr_len(to)))
		die("send: %m");
	for (;;) {
		left = limit - (long)((now_ns() - begun) / 1000000);
		if (left <= 0)
			return -1;
		readable(fd, (int)left);
		flen = sizeof(from);
		if (recvfrom(fd, &c, 1, MSG_DONTWAIT, &from.sa, &flen) < 0) {
			if (errno != EAGAIN)
				die("recv: %m");
		} else if (flen) {
			return (double)(now_ns() - begun) / 1e6;
		}
	}
}

static int ping(int argc, char **argv)
{
	int count = atoi(argv[0]), limit = argc > 3 ? atoi(argv[3]) : 5000, i,
	    lost = 0;
	double rtt, min = 1e9, max = 0, sum = 0;
	union addr self = addr_of(argv[1], 0), to = addr_of(argv[2], 0);
	int fd = rds_bound(&self, 0);

	for (i = 0; i < count; i++) {
		rtt = one_ping(fd, &to, limit);
		if (rtt < 0) {
			lost++;
			continue;
		}
		min = rtt < min ? rtt : min;
		max = rtt > max ? rtt : max;
		sum += rtt;
	}
	printf("# ping %s: %d sent, %d lost, min/avg/max %.3f/%.3f/%.3f ms\n",
	       argv[2], count, lost, lost == count ? 0 : min,
	       lost == count ? 0 : sum / (count - lost), max);
	return lost || !count;
}

int main(int argc, char **argv)
{
	union addr self;
	char c;

	if (argc >= 5 && !strcmp(argv[1], "ping"))
		return ping(argc - 2, argv + 2);
	if (argc == 4 && !strcmp(argv[1], "hold")) {
		self = addr_of(argv[2], (uint16_t)atoi(argv[3]));
		rds_bound(&self, 0);
		printf("bound\n");
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
		return 0;
	}
	fprintf(stderr,
		"usage: rds-probe ping COUNT SELF PEER [MS] | hold SELF PORT\n");
	return 2;
}
