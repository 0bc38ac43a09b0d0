// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-lockload stream|dialogue SIZE COUNT
 *
 * Eight sockets of one address in namespace S send COUNT messages each to four
 * peers P1 to P4, two sockets to each; in a dialogue every message is answered.
 * The kernel's lock statistics cover just these messages: they are cleared when
 * all connections are up, and stopped after the last message. Prints the number
 * of messages and answers.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "rdstest.h"

#define PEERS		4
#define SOCKETS		8
#define WARM_UP		200

/* A socket of S and its peer, each in its own namespace and process */
struct pair {
	unsigned int	nr;
	unsigned int	peer;
	size_t		size;
	unsigned int	count;
	bool		dialogue;
	int		link;		/* socket to the parent */
};

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		die("link: %m");
}

static void hear(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		die("somebody is gone: %m");
}

static union addr address(const struct pair *p, bool sender)
{
	uint32_t host = sender ? 0x0a000001 : 0x0a000002 + (p->peer << 8);

	return addr_v4(host, 4000 + p->nr);
}

static int open_socket(const struct pair *p, bool sender)
{
	union addr self = address(p, sender), other = address(p, !sender);
	int fd = rds_bound(&self, 0);

	if (connect(fd, &other.sa, addr_len(&other)))
		die("connect: %m");
	return fd;
}

/* Send @n messages; in a dialogue receive an answer to each. */
static void send_all(const struct pair *p, int fd, char *buf, unsigned int n)
{
	while (n--) {
		if (send(fd, buf, p->size, 0) != (ssize_t)p->size)
			die("send: %m");
		if (p->dialogue &&
		    recv(fd, buf, p->size, 0) != (ssize_t)p->size)
			die("recv: %m");
	}
}

static void take_all(const struct pair *p, int fd, char *buf, unsigned int n)
{
	while (n--) {
		if (recv(fd, buf, p->size, 0) != (ssize_t)p->size)
			die("recv: %m");
		if (p->dialogue &&
		    send(fd, buf, p->size, 0) != (ssize_t)p->size)
			die("send: %m");
	}
}

/*
 * One end of a pair, in a process.  It tells its parent three times, and waits
 * for the parent after each: its socket is open (ready), its connection is up
 * (warm), all messages have arrived (done).
 */
static void __attribute__((noreturn)) run(const struct pair *p, bool sender)
{
	void (*move)(const struct pair *, int, char *,
		     unsigned int) = sender ? send_all : take_all;
	char *buf = calloc(1, p->size + 1), ns[8];
	int fd;

	if (!buf)
		die("calloc: %m");
	snprintf(ns, sizeof(ns), sender ? "S" : "P%u", p->peer);
	netns_enter(ns);
	fd = open_socket(p, sender);
	tell(p->link);
	hear(p->link);
	move(p, fd, buf, WARM_UP);
	tell(p->link);
	hear(p->link);
	move(p, fd, buf, p->count);
	tell(p->link);
	/* close() would drop messages that have not arrived. */
	hear(p->link);
	exit(0);
}

static void lock_stat(const char *path, const char *val)
{
	if (!file_write(path, val))
		die("%s: %m", path);
}

/* Fork both ends of all pairs; @link gets the parent's sockets. */
static void start(struct pair *p, int *link)
{
	unsigned int i;
	int sv[2];

	for (i = 0; i < 2 * SOCKETS; i++) {
		p->nr = i / 2;
		p->peer = 1 + p->nr * PEERS / SOCKETS;
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
			die("socketpair: %m");
		switch (fork()) {
		case -1:
			die("fork: %m");
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
		fputs("usage: rds-lockload stream|dialogue SIZE COUNT\n",
		      stderr);
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
