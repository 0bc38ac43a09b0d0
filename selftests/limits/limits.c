// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The number of sockets that can be bound: one to every port of an address.
 * bind() to port 0 when no port, or exactly one, is free.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "rdstest.h"

#define FIRST_PORT	2
#define NR_PORTS	(65536 - FIRST_PORT)
#define INTREE_MAX	32768	/* entries of in-tree's table, machine-wide */

static int fds[NR_PORTS];

static int bind_port(int fd, uint16_t port)
{
	union addr a = addr_v4(INADDR_LOOPBACK, port);

	return bind(fd, &a.sa, addr_len(&a)) ? -errno : 0;
}

static int port_of(int fd)
{
	union addr a = name_of(fd);

	return addr_port(&a);
}

/* Bind port after port; returns the number bound, and the first error. */
static int bind_all(int *err)
{
	int n;

	*err = 0;
	for (n = 0; n < NR_PORTS; n++) {
		fds[n] = socket(AF_RDS, SOCK_SEQPACKET, 0);
		if (fds[n] < 0) {
			*err = -errno;
			break;
		}
		*err = bind_port(fds[n], FIRST_PORT + n);
		if (*err)
			break;
	}
	return n;
}

/*
 * With every port in use, bind() to port 0 finds none; after a close() it finds
 * the port that was freed.
 */
static void none_left(void)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	int err = bind_port(fd, 0);

	ktap_ok(err == -EADDRINUSE, "limits.no_port_left # errno %d", -err);
	close(fds[31234]);
	err = bind_port(fd, 0);
	ktap_ok(!err && port_of(fd) == FIRST_PORT + 31234,
		"limits.freed_port_found # errno %d, port %d", -err,
		port_of(fd));
	close(fd);
}

/* The core's only module parameter has its default, and is read-only. */
static void parameter(void)
{
	const char *path = "/sys/module/rds/parameters/send_batch_count";
	long batch = file_number(path);
	struct stat st = { 0 };

	stat(path, &st);
	ktap_ok(batch == 1024 && (st.st_mode & 0777) == 0444,
		"limits.send_batch_count # %ld, mode %o", batch,
		st.st_mode & 0777);
}

int main(void)
{
	struct rlimit many = { NR_PORTS + 64, NR_PORTS + 64 };
	const char *stack = getenv("RDS_STACK");
	bool intree = stack && !strncmp(stack, "intree", 6);
	int n, err;

	if (setrlimit(RLIMIT_NOFILE, &many)) {
		perror("setrlimit");
		return 1;
	}
	ktap_plan(intree ? 2 : 4);
	parameter();
	n = bind_all(&err);
	if (intree) {
		ktap_ok(n <= INTREE_MAX && err == -ENOMEM,
			"limits.table_full # %d sockets, errno %d", n, -err);
		return ktap_exit();
	}
	ktap_ok(n == NR_PORTS && !err,
		"limits.every_port # %d sockets, errno %d", n, -err);
	if (n == NR_PORTS)
		none_left();
	return ktap_exit();
}
