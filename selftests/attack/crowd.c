// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-crowd STAT
 *
 * What a round trip costs among 10,000 sockets, and among 1,000 peers, against
 * one among 10 sockets and with one peer: at most 1.3 times, and 1.5 times, as
 * much.  One of 1,000 peers is used so rarely that it gets an acknowledgement
 * of its own; to a single one it goes with the next message.
 *
 * It also prints the memory that an idle socket, and both ends of an idle
 * connection, take, and how much of that the memory cgroup is charged, whose
 * memory.stat is STAT.
 *
 * The asker is in the network namespace A.  Its peers are addresses of B, which
 * has 10.1.0.0/16; one process answers for all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rdstest.h"

#define FEW		10
#define SOCKETS		10000
#define PEERS		1000
#define FIRST_PORT	10000

static const char *stat_file;

/* Destination of a round trip: socket @i of one peer, or peer @i */
static union addr socket_of(unsigned int i)
{
	return addr_v4(0x0a010000, FIRST_PORT + i);
}

static union addr peer_of(unsigned int i)
{
	return addr_v4(0x0a010001 + i, FIRST_PORT);
}

/* ---- the process that answers */

static void answer_at(int ep, union addr (*where)(unsigned int i),
		      unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++) {
		union addr a = where(i);
		struct epoll_event e = { .events = EPOLLIN };

		e.data.fd = rds_bound(&a, 0);
		if (epoll_ctl(ep, EPOLL_CTL_ADD, e.data.fd, &e))
			die("epoll_ctl: %m");
	}
}

static void answer(int fd)
{
	socklen_t len = sizeof(union addr);
	union addr from;
	char text[64];
	ssize_t n = recvfrom(fd, text, sizeof(text), MSG_DONTWAIT, &from.sa,
			     &len);

	if (n >= 0 && sendto(fd, text, n, 0, &from.sa, len) != n)
		die("answer: %m");
}

/*
 * Answer until the pipe @orders ends.  Each order is a letter, and is carried
 * out when it is repeated on @done: few or many sockets, or the peers.
 */
static void answerer(int orders, int done)
{
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event e = { .events = EPOLLIN, .data.fd = orders };
	char order;

	netns_enter("B");
	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, orders, &e))
		die("epoll: %m");
	while (epoll_wait(ep, &e, 1, -1) == 1) {
		if (e.data.fd != orders) {
			answer(e.data.fd);
			continue;
		}
		if (read(orders, &order, 1) != 1)
			exit(0);
		if (order == 'f')
			answer_at(ep, socket_of, 0, FEW);
		else if (order == 'm')
			answer_at(ep, socket_of, FEW, SOCKETS);
		else
			answer_at(ep, peer_of, 0, PEERS);
		if (write(done, &order, 1) != 1)
			die("pipe: %m");
	}
	die("epoll_wait: %m");
}

/* ---- the one that asks */

static int asker, orders, done;

static void order(char what)
{
	if (write(orders, &what, 1) != 1 || read(done, &what, 1) != 1)
		die("no answerer");
}

/* Nanoseconds of a round trip, of @n to @nr destinations in turn */
static long trip_ns(union addr (*where)(unsigned int i), unsigned int nr,
		    unsigned int n)
{
	char text[64] = "";
	uint64_t start = now_ns();

	for (unsigned int i = 0; i < n; i++) {
		union addr to = where(i % nr);

		if (sendto(asker, text, sizeof(text), 0, &to.sa,
			   addr_len(&to)) != sizeof(text) ||
		    recv(asker, text, sizeof(text), 0) != sizeof(text))
			die("round trip: %m");
	}
	return (now_ns() - start) / n;
}

/* KiB of kernel memory that the cgroup is charged */
static long charged(void)
{
	FILE *f = fopen(stat_file, "re");
	char key[64];
	long v, got = -1;

	while (f && fscanf(f, "%63s %ld", key, &v) == 2) {
		if (!strcmp(key, "kernel"))
			got = v / 1024;
	}
	if (f)
		fclose(f);
	return got;
}

/* Memory in use, and that of the cgroup */
struct memory {
	long all, own;
};

static struct memory memory_now(void)
{
	return (struct memory){ memory_in_use(), charged() };
}

static void print_memory(const char *what, struct memory before, long nr)
{
	struct memory m = memory_now();

	printf("# an idle %s: %ld bytes, of which the cgroup pays %ld\n", what,
	       (m.all - before.all) * 1024 / nr,
	       (m.own - before.own) * 1024 / nr);
	fflush(stdout);
}

static void judge(const char *what, long few, long many, long percent)
{
	ktap_ok(many * 100 <= few * percent || !time_is_judged(),
		"attack.crowd.%s # %ld ns, and %ld among many", what, few,
		many);
}

static void sockets(void)
{
	struct memory before;
	long few, many;

	order('f');
	trip_ns(socket_of, FEW, FEW);
	few = trip_ns(socket_of, FEW, 1000);
	before = memory_now();
	order('m');
	print_memory("socket", before, SOCKETS - FEW);
	trip_ns(socket_of, SOCKETS, SOCKETS);
	many = trip_ns(socket_of, SOCKETS, SOCKETS);
	judge("sockets", few, many, 130);
}

static void peers(void)
{
	struct memory before;
	long few, many;

	order('p');
	trip_ns(peer_of, 1, 10);
	few = trip_ns(peer_of, 1, 1000);
	before = memory_now();
	trip_ns(peer_of, PEERS, PEERS);
	print_memory("connection, both ends", before, PEERS - 1);
	many = trip_ns(peer_of, PEERS, PEERS);
	judge("peers", few, many, 150);
}

int main(int argc, char **argv)
{
	struct rlimit files = { 2 * SOCKETS, 2 * SOCKETS };
	const union addr self = addr_of("10.0.0.1", 4000);
	int to[2], from[2];
	pid_t child;

	if (argc != 2)
		return 2;
	stat_file = argv[1];
	if (setrlimit(RLIMIT_NOFILE, &files) || pipe(to) || pipe(from))
		die("setup: %m");
	child = fork();
	if (child < 0)
		die("fork: %m");
	if (!child) {
		close(to[1]);
		answerer(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	orders = to[1];
	done = from[0];
	netns_enter("A");
	asker = rds_bound(&self, 0);
	set_timeo(asker, SO_RCVTIMEO, 10000 * slow_factor());
	ktap_plan(2);
	sockets();
	peers();
	return ktap_exit();
}
