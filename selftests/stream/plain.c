// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-plain ADDR PORT BYTES: a program for TCP that knows nothing of RDS: a
 * server, and a client in a child, which sends BYTES and gets them back. Also
 * built as a static program, whose socket() no library can replace.
 */
#define _GNU_SOURCE
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "rdstest.h"

#define CHUNK 65536

static int tcp(const union addr *a)
{
	int fd = socket(a->sa.sa_family, SOCK_STREAM, IPPROTO_TCP), one = 1;

	if (fd < 0)
		die("socket: %m");
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("TCP_NODELAY: %m");
	return fd;
}

static void send_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = send(fd, p, n, 0);

		if (done <= 0)
			die("send: %m");
		p += done;
		n -= (size_t)done;
	}
}

/* Send a part, and wait for it: both ends have room for that much. */
static int client(const union addr *a, size_t bytes)
{
	static char out[CHUNK], in[CHUNK];
	int fd = tcp(a);
	size_t part;

	if (connect(fd, &a->sa, addr_len(a)))
		die("connect: %m");
	for (unsigned int seed = 0; bytes; seed++, bytes -= part) {
		part = bytes < CHUNK ? bytes : CHUNK;
		fill(out, part, seed);
		send_all(fd, out, part);
		if (recv(fd, in, part, MSG_WAITALL) != (ssize_t)part ||
		    memcmp(in, out, part))
			die("the echo is wrong");
	}
	return 0;
}

static void server(int l)
{
	static char buf[CHUNK];
	int fd = accept(l, NULL, NULL);
	ssize_t n;

	if (fd < 0)
		die("accept: %m");
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		send_all(fd, buf, (size_t)n);
	if (n)
		die("recv: %m");
}

int main(int argc, char **argv)
{
	union addr a;
	int l, status;
	pid_t pid;

	if (argc != 4)
		return 2;
	a = addr_of(argv[1], (uint16_t)atoi(argv[2]));
	l = tcp(&a);
	if (bind(l, &a.sa, addr_len(&a)) || listen(l, 1))
		die("listen: %m");
	pid = fork();
	if (!pid)
		return client(&a, strtoul(argv[3], NULL, 0));
	server(l);
	return waitpid(pid, &status, 0) != pid || status;
}
