// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * barrier a|b PEER NAME SECONDS: exits with 0 in both guests once both run it
 * with NAME, and with 1 after SECONDS. Guest a listens, guest b connects until
 * it succeeds. The port is a hash of the name; the guests exchange the name, so
 * that barriers with equal ports and different names do not meet.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rdstest.h"

#define NAME_LEN 64

/*
 * Milliseconds for one attempt to connect. While the other guest boots, its
 * network may drop a SYN. TCP then waits for up to half a minute before it
 * sends the next one, so a new attempt is sooner.
 */
#define CONNECT_MS 2000

static long deadline;

static int left_ms(void)
{
	long left = deadline - now_ms();

	return left > 0 ? (int)left : 0;
}

static uint16_t port_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return (uint16_t)(20000 + h % 12000);
}

/* Send @name and receive the name of the peer. Returns 0 if both are equal. */
static int exchange(int fd, const char *name)
{
	char mine[NAME_LEN] = "", theirs[NAME_LEN];
	size_t have = 0;
	ssize_t n;

	snprintf(mine, sizeof(mine), "%s", name);
	if (send(fd, mine, sizeof(mine), MSG_NOSIGNAL) != sizeof(mine))
		return -1;
	while (have < sizeof(theirs)) {
		if (!readable(fd, left_ms()))
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
	union addr a = addr_v4(INADDR_ANY, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1,
	    rc = -1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &a.sa, addr_len(&a)) || listen(fd, 4))
		die("listen: %m");
	while (rc && readable(fd, left_ms())) {
		int c = accept(fd, NULL, NULL);

		if (c < 0)
			continue;
		rc = exchange(c, name);
		close(c);
	}
	close(fd);
	return rc;
}

struct meeting {
	union addr peer;
	const char *name;
};

static bool met(void *arg)
{
	const struct meeting *m = arg;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool done;

	/* connect() obeys SO_SNDTIMEO. */
	set_timeo(fd, SO_SNDTIMEO, CONNECT_MS);
	done = !connect(fd, &m->peer.sa, addr_len(&m->peer)) &&
	       !exchange(fd, m->name);
	close(fd);
	return done;
}

static int wait_as_b(uint16_t port, const char *peer, const char *name)
{
	struct meeting m = { addr_of(peer, port), name };

	return wait_until(met, &m, left_ms()) ? 0 : -1;
}

int main(int argc, char **argv)
{
	uint16_t port;

	if (argc != 5) {
		fprintf(stderr, "usage: barrier a|b PEER NAME SECONDS\n");
		return 2;
	}
	port = port_of(argv[3]);
	deadline = now_ms() + (long)(atof(argv[4]) * 1000);
	if (argv[1][0] == 'a' ? wait_as_a(port, argv[3]) :
				wait_as_b(port, argv[2], argv[3])) {
		fprintf(stderr, "# barrier %s: the other guest did not come\n",
			argv[3]);
		return 1;
	}
	return 0;
}
