// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-idlewake A B: a sender of A that waits for a port of B, both of this
 * host, hears that it is free although the connection over which it sent has
 * ended meanwhile, as nobody used it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rdstest.h"

#define LIMIT_MS	60000

/* Paths that were lost because nobody used them */
static long idle_paths(void)
{
	FILE *f = fopen("/proc/net/rds/drops", "re");
	char name[64];
	long n;

	while (f && fscanf(f, "%63s %ld", name, &n) == 2) {
		if (!strcmp(name, "idle")) {
			fclose(f);
			return n;
		}
	}
	die("no count of idle paths");
}

static bool ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 10000) == 1;
}

static void congest(int from, const union addr *to)
{
	char text[1024] = "";

	/* What waits for the connection to come up fills the send buffer. */
	while (sendto(from, text, sizeof(text), MSG_DONTWAIT, &to->sa,
		      addr_len(to)) > 0 ||
	       (errno == EAGAIN && ready(from, POLLOUT)))
		;
	if (errno != ENOBUFS)
		die("sendto: %m");
}

int main(int argc, char **argv)
{
	union addr a, b, to, other;
	int from, near, far, one = 1;
	char text[1024];
	long idle, until;

	if (argc != 3)
		return 2;
	a = addr_of(argv[1], 0);
	b = addr_of(argv[2], 0);
	ktap_plan(2);
	from = rds_bound(&a, 0);
	near = rds_bound(&a, 0);
	far = rds_bound(&b, 0);
	to = name_of(far);
	other = name_of(near);
	if (setsockopt(from, SOL_RDS, RDS_CONG_MONITOR, &one, sizeof(one)))
		die("RDS_CONG_MONITOR: %m");
	idle = idle_paths();
	congest(from, &to);
	if (sendto(from, text, 1, 0, &other.sa, addr_len(&other)) != 1)
		die("sendto: %m");
	until = now_ms() + LIMIT_MS;
	/* Both connections end; the one to B is the older one. */
	while (idle_paths() < idle + 2 && now_ms() < until)
		usleep(50000);
	ktap_ok(idle_paths() >= idle + 2, "attack.idle.ended");
	while (recv(far, text, sizeof(text), MSG_DONTWAIT) > 0)
		;
	ktap_ok(ready(from, POLLIN), "attack.idle.wakes");
	return ktap_exit();
}
