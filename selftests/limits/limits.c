// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How many sockets can be bound: every port of an address, and what is left then. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "ktap.h"

#ifndef AF_RDS
#define AF_RDS		21
#endif
#define FIRST_PORT	2
#define NR_PORTS	(65536 - FIRST_PORT)
#define INTREE_MAX	32768	/* entries of its table, for the whole machine */

static int fds[NR_PORTS];

static int bind_port(int fd, int port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	return bind(fd, (struct sockaddr *)&a, sizeof(a)) ? -errno : 0;
}

static int port_of(int fd)
{
	struct sockaddr_in a = { 0 };
	socklen_t len = sizeof(a);

	getsockname(fd, (struct sockaddr *)&a, &len);
	return ntohs(a.sin_port);
}

/* Binds port after port; returns how many went well, and the first error. */
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

/* With every port taken, port 0 finds none, and then exactly the one that was given up. */
static void none_left(void)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	int err = bind_port(fd, 0);

	ktap_ok(err == -EADDRINUSE, "limits.no_port_left # errno %d", -err);
	close(fds[31234]);
	err = bind_port(fd, 0);
	ktap_ok(!err && port_of(fd) == FIRST_PORT + 31234, "limits.freed_port_found # errno %d, port %d",
		-err, port_of(fd));
	close(fd);
}

/* The one parameter of the core: its default, and that nobody can change it any more. */
static void parameter(void)
{
	const char *path = "/sys/module/rds/parameters/send_batch_count";
	unsigned int batch = 0;
	struct stat st = { 0 };
	FILE *f = fopen(path, "r");

	if (f) {
		if (fscanf(f, "%u", &batch) != 1)
			batch = 0;
		fclose(f);
	}
	stat(path, &st);
	ktap_ok(batch == 1024 && (st.st_mode & 0777) == 0444, "limits.send_batch_count # %u, mode %o",
		batch, st.st_mode & 0777);
}

int main(void)
{
	struct rlimit many = { NR_PORTS + 64, NR_PORTS + 64 };
	const char *stack = getenv("RDS_STACK");
	int n, err;

	if (setrlimit(RLIMIT_NOFILE, &many)) {
		perror("setrlimit");
		return 1;
	}
	parameter();
	n = bind_all(&err);
	if (stack && !strncmp(stack, "intree", 6)) {
		ktap_ok(n <= INTREE_MAX && err == -ENOMEM, "limits.table_full # %d sockets, errno %d", n,
			-err);
		return ktap_exit();
	}
	ktap_ok(n == NR_PORTS && !err, "limits.every_port # %d sockets, errno %d", n, -err);
	if (n == NR_PORTS)
		none_left();
	return ktap_exit();
}
