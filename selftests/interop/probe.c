// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-probe ping COUNT SELF PEER [MS]   ping port 0 of PEER; every answer must come within MS
 * rds-probe hold SELF PORT              keep a socket bound until standard input ends
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef AF_RDS
#define AF_RDS	21
#endif

union addr {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t parse(union addr *a, const char *text, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(port);
		return sizeof(a->v4);
	}
	if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons(port);
		return sizeof(a->v6);
	}
	fprintf(stderr, "rds-probe: bad address %s\n", text);
	exit(2);
}

static void fail(const char *what)
{
	printf("# rds-probe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int bound(const char *self, uint16_t port)
{
	union addr a;
	socklen_t len = parse(&a, self, port);
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0);

	if (fd < 0)
		fail("socket");
	if (bind(fd, &a.sa, len))
		fail("bind");
	return fd;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static double one_ping(int fd, const union addr *to, socklen_t len, int limit)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	double t = now_ms(), left;
	union addr from;
	socklen_t flen;
	char c;

	if (sendto(fd, "", 0, MSG_DONTWAIT, &to->sa, len))
		fail("send");
	for (;;) {
		left = t + limit - now_ms();
		if (left <= 0)
			return -1;
		if (poll(&p, 1, left + 1) < 0)
			fail("poll");
		flen = sizeof(from);
		if (recvfrom(fd, &c, 1, MSG_DONTWAIT, &from.sa, &flen) < 0) {
			if (errno != EAGAIN)
				fail("recv");
		} else if (flen) {
			return now_ms() - t;
		}
	}
}

static int ping(int argc, char **argv)
{
	int count = atoi(argv[0]), limit = argc > 3 ? atoi(argv[3]) : 5000, i, lost = 0;
	double rtt, min = 1e9, max = 0, sum = 0;
	union addr to;
	socklen_t len = parse(&to, argv[2], 0);
	int fd = bound(argv[1], 0);

	for (i = 0; i < count; i++) {
		rtt = one_ping(fd, &to, len, limit);
		if (rtt < 0) {
			lost++;
			continue;
		}
		min = rtt < min ? rtt : min;
		max = rtt > max ? rtt : max;
		sum += rtt;
	}
	printf("# ping %s: %d sent, %d lost, min/avg/max %.3f/%.3f/%.3f ms\n", argv[2], count, lost,
	       lost == count ? 0 : min, lost == count ? 0 : sum / (count - lost), max);
	return lost || !count;
}

int main(int argc, char **argv)
{
	char c;

	if (argc >= 5 && !strcmp(argv[1], "ping"))
		return ping(argc - 2, argv + 2);
	if (argc == 4 && !strcmp(argv[1], "hold")) {
		bound(argv[2], atoi(argv[3]));
		printf("bound\n");
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
		return 0;
	}
	fprintf(stderr, "usage: rds-probe ping COUNT SELF PEER [MS] | hold SELF PORT\n");
	return 2;
}
