// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-reap ADDR [SECONDS]: twelve unprivileged processes send to 64 addresses
 * that have no route, and cancel the messages, so that connections are created
 * and reaped all the time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdstest.h"

#define PROCS	12
#define ADDRS	64

static void attack(const char *from, long until, unsigned long *sent)
{
	union addr self = addr_of(from, 0), to;
	int fd = rds_bound(&self, 0);
	unsigned int i;

	for (i = 0; i % 1024 || now_ms() < until; i++) {
		/*
		 * 203.0.113.0/24 is for documentation, and greater than all
		 * addresses of private networks.
		 */
		to = addr_v4(0xcb007100 | (i % ADDRS + 1), 4000);
		if (sendto(fd, "x", 1, MSG_DONTWAIT, &to.sa, addr_len(&to)) <
			    0 &&
		    errno != EAGAIN && errno != ENOBUFS)
			die("sendto: %m");
		if (setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &to.in,
			       sizeof(to.in)))
			die("RDS_CANCEL_SENT_TO: %m");
		++*sent;
	}
}

int main(int argc, char **argv)
{
	unsigned long *sent = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long until = now_ms() + 1000L * (argc > 2 ? atoi(argv[2]) : 10);
	unsigned long sum = 0;
	int i, status, bad = 0;

	if (argc < 2 || sent == MAP_FAILED)
		return 2;
	for (i = 0; i < PROCS; i++) {
		if (fork())
			continue;
		if (drop_privileges())
			die("setuid: %m");
		attack(argv[1], until, &sent[i]);
		_exit(0);
	}
	while (wait(&status) > 0)
		bad |= status;
	for (i = 0; i < PROCS; i++)
		sum += sent[i];
	printf("# %lu messages sent and canceled\n", sum);
	return bad || sum < PROCS * ADDRS;
}
