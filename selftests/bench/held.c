// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-held STACK N ADDR
 *
 * Prints the KiB of memory that one end of an idle connection takes: slab,
 * vmalloc and pages together, from the memory in use before and after N
 * connections were made with 64 bytes each way. STACK is theirs for librdmacm's
 * rsockets, else of sockets of the kernel: ours, tcp, or a protocol of AF_INET
 * by its number. Both ends are on this host, in two processes. What librdmacm
 * has in user space counts, too: the queues and buffers of its connections are
 * pages of the process.
 */
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdstest.h"

#define PORT	6999
#define MAX	1000
#define BYTES	64

/* The calls of a stack */
struct calls {
	int (*socket)(int domain, int type, int protocol);
	int (*setsockopt)(int fd, int level, int name, const void *value,
			  socklen_t len);
	int (*bind)(int fd, const struct sockaddr *a, socklen_t len);
	int (*listen)(int fd, int backlog);
	int (*accept)(int fd, struct sockaddr *a, socklen_t *len);
	int (*connect)(int fd, const struct sockaddr *a, socklen_t len);
	ssize_t (*send)(int fd, const void *p, size_t n, int flags);
	ssize_t (*recv)(int fd, void *p, size_t n, int flags);
};

static const struct calls kernel = { socket, setsockopt, bind, listen, accept,
				     connect, send, recv };
static const struct calls librdmacm = { rsocket, rsetsockopt, rbind, rlisten,
					raccept, rconnect, rsend, rrecv };
static const struct calls *c = &kernel;
static int domain = AF_INET, protocol;

static void pick(const char *stack)
{
	if (!strcmp(stack, "theirs"))
		c = &librdmacm;
	else if (!strcmp(stack, "ours"))
		domain = AF_RDS;
	else if (strcmp(stack, "tcp"))
		protocol = atoi(stack);
}

static int open_one(void)
{
	int fd = c->socket(domain, SOCK_STREAM, protocol);

	if (fd < 0)
		die("socket: %m");
	return fd;
}

static void give(int fd)
{
	char buf[BYTES] = { 0 };

	if (c->send(fd, buf, BYTES, 0) != BYTES)
		die("send: %m");
}

static void take(int fd)
{
	char buf[BYTES];
	ssize_t got = 0, n;

	while (got < BYTES) {
		n = c->recv(fd, buf, (size_t)(BYTES - got), 0);
		if (n <= 0)
			die("recv: %m");
		got += n;
	}
}

/* Accept and answer until the peer ends this process. */
static void serve(const union addr *a, int ready)
{
	int l = open_one(), one = 1;

	if (c->setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    c->bind(l, &a->sa, addr_len(a)) || c->listen(l, 16))
		die("listen: %m");
	if (write(ready, "", 1) != 1)
		die("pipe: %m");
	for (;;) {
		int fd = c->accept(l, NULL, NULL);

		if (fd < 0)
			die("accept: %m");
		take(fd);
		give(fd);
	}
}

static void dial(const union addr *a)
{
	int fd = open_one();

	if (c->connect(fd, &a->sa, addr_len(a)))
		die("connect: %m");
	give(fd);
	take(fd);
}

int main(int argc, char **argv)
{
	struct rlimit files = { 4 * MAX, 4 * MAX };
	unsigned int n = argc == 4 ? (unsigned int)atoi(argv[2]) : 0, i;
	long before, after;
	union addr a;
	int ready[2];
	pid_t pid;
	char ch;

	if (!n || n > MAX)
		return 2;
	pick(argv[1]);
	a = addr_of(argv[3], PORT);
	if (setrlimit(RLIMIT_NOFILE, &files) || pipe(ready))
		die("begin: %m");
	pid = fork();
	if (!pid)
		serve(&a, ready[1]);
	if (read(ready[0], &ch, 1) != 1)
		die("the server does not listen");
	/* What the first connection allocates for all does not count. */
	dial(&a);
	before = memory_in_use();
	for (i = 0; i < n; i++)
		dial(&a);
	after = memory_in_use();
	printf("%.1f\n", (double)(after - before) / (2 * n));
	kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) != pid;
}
