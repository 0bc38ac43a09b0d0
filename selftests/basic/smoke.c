// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rds-smoke SELF PEER SECONDS: one datagram to the peer's port 0 must be answered from there. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef AF_RDS
#define AF_RDS 21
#endif

union addr {
	struct sockaddr sa;
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;
};

static socklen_t parse(const char *text, union addr *a)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->in4.sin_addr) == 1) {
		a->sa.sa_family = AF_INET;
		return sizeof(a->in4);
	}
	if (inet_pton(AF_INET6, text, &a->in6.sin6_addr) == 1) {
		a->sa.sa_family = AF_INET6;
		return sizeof(a->in6);
	}
	fprintf(stderr, "rds-smoke: bad address %s\n", text);
	exit(2);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int fail(const char *what)
{
	printf("# rds-smoke: %s: %s\n", what, strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	union addr self, peer, from;
	socklen_t len, plen, flen = sizeof(from);
	struct pollfd p = { .events = POLLIN };
	double began, limit;
	ssize_t n;

	if (argc != 4) {
		fprintf(stderr, "usage: rds-smoke SELF PEER SECONDS\n");
		return 2;
	}
	len = parse(argv[1], &self);
	plen = parse(argv[2], &peer);
	limit = atof(argv[3]);
	p.fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	if (p.fd < 0)
		return fail("socket");
	if (bind(p.fd, &self.sa, len))
		return fail("bind");
	began = now();
	if (sendto(p.fd, "", 0, 0, &peer.sa, plen) != 0)
		return fail("sendto");
	if (poll(&p, 1, (int)(limit * 1000)) != 1) {
		printf("# rds-smoke: no answer from %s after %g s\n", argv[2], limit);
		return 1;
	}
	n = recvfrom(p.fd, &(char){0}, 1, 0, &from.sa, &flen);
	if (n != 0)
		return fail("recvfrom");
	if (from.sa.sa_family != peer.sa.sa_family ||
	    (from.sa.sa_family == AF_INET && from.in4.sin_addr.s_addr != peer.in4.sin_addr.s_addr) ||
	    (from.sa.sa_family == AF_INET6 &&
	     memcmp(&from.in6.sin6_addr, &peer.in6.sin6_addr, sizeof(struct in6_addr)))) {
		printf("# rds-smoke: answer from somebody else\n");
		return 1;
	}
	printf("# rds-smoke: %s answered after %.1f ms\n", argv[2], (now() - began) * 1000);
	return 0;
}
