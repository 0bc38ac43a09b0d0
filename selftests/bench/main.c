// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-bench WHAT PROTO FAMILY SIZE COUNT SOCKETS DESTS
 *
 * Prints one number: messages per second (rate), or the median in microseconds (rtt, ping).
 * The namespaces A and B exist, joined, with 10.0.0.1 and 10.0.0.2 (fd00::1, fd00::2); for more
 * than one destination B also has 10.0.1.1 and up.  With BENCH_ONE_NETNS in the environment all
 * addresses are in the present namespace: RDMA devices of the kernels in use serve only the first.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

void die(const char *what)
{
	fprintf(stderr, "rds-bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

void enter_netns(const char *name)
{
	char path[64];
	int fd;

	if (getenv("BENCH_ONE_NETNS"))
		return;
	snprintf(path, sizeof(path), "/var/run/netns/%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

void sampling(bool on)
{
	int fd;

	if (!getenv("BENCH_PROFILE"))
		return;
	fd = open("/proc/bench_sampler", O_WRONLY);
	if (fd < 0 || write(fd, on ? "1" : "0", 1) != 1)
		die("sampler");
	close(fd);
}

void link_tell(int fd)
{
	if (write(fd, "", 1) != 1)
		die("pipe");
}

void link_wait(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		die("the other side is gone");
}

socklen_t bench_addr(const struct bench *b, bool receiver, unsigned int i, uint16_t port,
		     struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (b->v6) {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = htons(port);
		inet_pton(AF_INET6, receiver ? "fd00::2" : "fd00::1", &sin6->sin6_addr);
		return sizeof(*sin6);
	}
	sin->sin_family = AF_INET;
	sin->sin_port = htons(port);
	if (receiver && b->dests > 1)
		sin->sin_addr.s_addr = htonl(0x0a000101 + i);
	else
		sin->sin_addr.s_addr = htonl(receiver ? 0x0a000002 : 0x0a000001);
	return sizeof(*sin);
}

/* Context switches of a side, for whoever asks why */
static void report_switches(const char *side)
{
	struct rusage ru;

	if (!getenv("BENCH_SWITCHES"))
		return;
	getrusage(RUSAGE_SELF, &ru);
	fprintf(stderr, "%s: %ld sleeps, %ld preemptions\n", side, ru.ru_nvcsw, ru.ru_nivcsw);
}

static bool is_memop(const struct bench *b)
{
	return !strcmp(b->what, "write") || !strcmp(b->what, "read");
}

static void measure(const struct bench *b)
{
	struct bench_link l;
	pid_t tx, rx;
	int st;

	if (pipe(l.to_tx) || pipe(l.to_rx))
		die("pipe");
	rx = fork();
	if (!rx) {
		enter_netns("B");
		if (!strcmp(b->what, "rate"))
			(b->tcp ? tcp_rate_rx : rds_rate_rx)(b, &l);
		else if (!strcmp(b->what, "rtt"))
			rtt_rx(b, &l);
		else if (is_memop(b))
			memop_rx(b, &l);
		report_switches("receiver");
		exit(0);
	}
	tx = fork();
	if (!tx) {
		enter_netns("A");
		if (!strcmp(b->what, "rate"))
			(b->tcp ? tcp_rate_tx : rds_rate_tx)(b, &l);
		else if (!strcmp(b->what, "rtt"))
			rtt_tx(b, &l);
		else if (is_memop(b))
			memop_tx(b, &l);
		else
			ping_tx(b, &l);
		report_switches("sender");
		exit(0);
	}
	if (waitpid(tx, &st, 0) < 0 || st) {
		kill(rx, SIGKILL);
		exit(1);
	}
	if (waitpid(rx, &st, 0) < 0 || st)
		exit(1);
}

int main(int argc, char **argv)
{
	struct bench b;

	if (argc != 8) {
		fputs("usage: rds-bench rate|rtt|ping|write|read rds|tcp 4|6 SIZE COUNT SOCKETS DESTS\n", stderr);
		return 2;
	}
	b.what = argv[1];
	b.tcp = !strcmp(argv[2], "tcp");
	b.v6 = atoi(argv[3]) == 6;
	b.size = strtoul(argv[4], NULL, 0);
	b.count = strtoul(argv[5], NULL, 0);
	b.sockets = strtoul(argv[6], NULL, 0);
	b.dests = strtoul(argv[7], NULL, 0);
	if (b.sockets > BENCH_MAX || b.dests > BENCH_MAX)
		return 2;
	measure(&b);
	return 0;
}
