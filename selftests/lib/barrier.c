// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * barrier a|b PEER NAME SECONDS: returns 0 in both guests once both have called it with NAME.
 * Guest a listens, guest b connects until it gets through; the port follows from the name, the name
 * itself is exchanged, so that barriers of different names do not meet.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NAME_LEN 64

static double deadline;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int left_ms(void)
{
	double left = (deadline - now()) * 1000;

	return left > 0 ? (int)left + 1 : 0;
}

static uint16_t port_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return (uint16_t)(20000 + h % 12000);
}

/* Sends our name and reads the peer's: 0 when they are the same. */
static int exchange(int fd, const char *name)
{
	char mine[NAME_LEN] = "", theirs[NAME_LEN];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t have = 0;
	ssize_t n;

	snprintf(mine, sizeof(mine), "%s", name);
	if (send(fd, mine, sizeof(mine), MSG_NOSIGNAL) != sizeof(mine))
		return -1;
	while (have < sizeof(theirs)) {
		if (poll(&p, 1, left_ms()) != 1)
			return -1;
		n = recv(fd, theirs + have, sizeof(theirs) - have, 0);
		if (n <= 0)
			return -1;
		have += (size_t)n;
	}
	return memcmp(mine, theirs, sizeof(mine)) ? -1 : 0;
}

static int wait_as_a(uint16_t port, const char *name)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, rc = -1;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) || listen(fd, 4)) {
		perror("barrier: listen");
		return -1;
	}
	while (rc && poll(&p, 1, left_ms()) == 1) {
		int c = accept(fd, NULL, NULL);

		if (c < 0)
			continue;
		rc = exchange(c, name);
		close(c);
	}
	close(fd);
	return rc;
}

static int wait_as_b(uint16_t port, const char *peer, const char *name)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	int rc = -1;

	if (inet_pton(AF_INET, peer, &sin.sin_addr) != 1) {
		fprintf(stderr, "barrier: bad address %s\n", peer);
		return -1;
	}
	while (rc && left_ms()) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (!connect(fd, (struct sockaddr *)&sin, sizeof(sin)))
			rc = exchange(fd, name);
		close(fd);
		if (rc)
			nanosleep(&pause, NULL);
	}
	return rc;
}

int main(int argc, char **argv)
{
	uint16_t port;

	if (argc != 5) {
		fprintf(stderr, "usage: barrier a|b PEER NAME SECONDS\n");
		return 2;
	}
	port = port_of(argv[3]);
	deadline = now() + atof(argv[4]);
	if (argv[1][0] == 'a' ? wait_as_a(port, argv[3]) : wait_as_b(port, argv[2], argv[3])) {
		fprintf(stderr, "# barrier %s: the other guest did not come\n", argv[3]);
		return 1;
	}
	return 0;
}
