// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-patient.so, for LD_PRELOAD: a program for rsockets waits for its peer to
 * hang up before it does so. With -T a, rstream takes a hang-up for an error,
 * although the data that it waits for have come; so its server must not be the
 * first.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>

int rpoll(struct pollfd *fds, nfds_t n, int timeout);
int rshutdown(int fd, int how);

int rshutdown(int fd, int how)
{
	typeof(rshutdown) *next = (typeof(rshutdown) *)
				  dlsym(RTLD_NEXT, "rshutdown");
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (how == SHUT_RDWR)
		rpoll(&p, 1, -1);
	return next(fd, how);
}
