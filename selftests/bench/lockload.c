// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-lockload stream|dialogue SIZE COUNT
 *
 * Eight sockets of one address in namespace S send COUNT messages each to four peers P1 to P4, two
 * sockets to each; in a dialogue every message is answered. The kernel's lock statistics cover just
 * that: they are cleared when all connections are up, and end with the last message. Prints the
 * number of messages that were sent in between.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AF_RDS
#define AF_RDS 21
#endif

#define PEERS		4
#define SOCKETS		8
#define WARM_UP		4

/* One socket of S and the one it talks to, in namespaces and processes of their own */
struct pair {
	unsigned int	nr;
	unsigned int	peer;
	size_t		size;
	unsigned int	count;
	bool		dialogue;
	int		link;		/* to the parent: ready, warm, done; from it: go on */
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "rds-lockload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void enter(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/var/run/netns/%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		die("link");
}

static void hear(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		die("somebody is gone");
}

static struct sockaddr_in address(const struct pair *p, bool sender)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(4000 + p->nr) };

	sin.sin_addr.s_addr = htonl(sender ? 0x0a000001 : 0x0a000002 + (p->peer << 8));
	return sin;
}

static int open_socket(const struct pair *p, bool sender)
{
	struct sockaddr_in own = address(p, sender), other = address(p, !sender);
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0);

	if (fd < 0 || bind(fd, (void *)&own, sizeof(own)) ||
	    connect(fd, (void *)&other, sizeof(other)))
		die("socket");
	return fd;
}

/* Messages of one phase; an answer to each in a dialogue. */
static void send_all(const struct pair *p, int fd, char *buf, unsigned int n)
{
	while (n--) {
		if (send(fd, buf, p->size, 0) != (ssize_t)p->size)
			die("send");
		if (p->dialogue && recv(fd, buf, p->size, 0) != (ssize_t)p->size)
			die("recv");
	}
}

static void take_all(const struct pair *p, int fd, char *buf, unsigned int n)
{
	while (n--) {
		if (recv(fd, buf, p->size, 0) != (ssize_t)p->size)
			die("recv");
		if (p->dialogue && send(fd, buf, p->size, 0) != (ssize_t)p->size)
			die("send");
	}
}

/* Ready when the socket is there, warm when its connection is up, done when all has arrived. */
static void __attribute__((noreturn)) run(const struct pair *p, bool sender)
{
	void (*move)(const struct pair *, int, char *, unsigned int) = sender ? send_all : take_all;
	char *buf = calloc(1, p->size + 1), ns[8];
	int fd;

	if (!buf)
		die("calloc");
	snprintf(ns, sizeof(ns), sender ? "S" : "P%u", p->peer);
	enter(ns);
	fd = open_socket(p, sender);
	tell(p->link);
	hear(p->link);
	move(p, fd, buf, WARM_UP);
	tell(p->link);
	hear(p->link);
	move(p, fd, buf, p->count);
	tell(p->link);
	/* close would take back what has not arrived */
	hear(p->link);
	exit(0);
}

static void lock_stat(const char *path, const char *val)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, val, strlen(val)) != (ssize_t)strlen(val))
		die(path);
	close(fd);
}

/* Fork both ends of all pairs; @link gets the parent's ends. */
static void start(struct pair *p, int *link)
{
	unsigned int i;
	int sv[2];

	for (i = 0; i < 2 * SOCKETS; i++) {
		p->nr = i / 2;
		p->peer = 1 + p->nr * PEERS / SOCKETS;
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
			die("socketpair");
		switch (fork()) {
		case -1:
			die("fork");
		case 0:
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			p->link = sv[1];
			run(p, i & 1);
		}
		close(sv[1]);
		link[i] = sv[0];
	}
}

static void all_hear(const int *link)
{
	unsigned int i;

	for (i = 0; i < 2 * SOCKETS; i++)
		hear(link[i]);
}

static void all_go(const int *link)
{
	unsigned int i;

	for (i = 0; i < 2 * SOCKETS; i++)
		tell(link[i]);
}

static int reap(void)
{
	unsigned int i;
	int st, bad = 0;

	for (i = 0; i < 2 * SOCKETS; i++)
		bad |= wait(&st) < 0 || st;
	return bad;
}

int main(int argc, char **argv)
{
	struct pair p = { 0 };
	int link[2 * SOCKETS];

	if (argc != 4) {
		fputs("usage: rds-lockload stream|dialogue SIZE COUNT\n", stderr);
		return 2;
	}
	p.dialogue = !strcmp(argv[1], "dialogue");
	p.size = strtoul(argv[2], NULL, 0);
	p.count = strtoul(argv[3], NULL, 0);
	start(&p, link);
	all_hear(link);
	all_go(link);
	all_hear(link);
	lock_stat("/proc/lock_stat", "0");
	lock_stat("/proc/sys/kernel/lock_stat", "1");
	all_go(link);
	all_hear(link);
	lock_stat("/proc/sys/kernel/lock_stat", "0");
	all_go(link);
	printf("%u\n", SOCKETS * p.count * (p.dialogue ? 2 : 1));
	return reap();
}
