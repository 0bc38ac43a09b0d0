// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-bench WHAT PROTO FAMILY SIZE COUNT SOCKETS DESTS
 *
 * Prints one number: messages per second (rate), operations per second (write,
 * read), or the median time in microseconds (rtt, ping).  Namespaces A and B
 * must exist, connected, with 10.0.0.1 and 10.0.0.2 (fd00::1, fd00::2); with
 * more than one destination B also has 10.0.1.1 and up.  BENCH_NETNS_TAIL in
 * the environment is added to the names of both.  With BENCH_ONE_NETNS
 * in the environment all addresses are in the current namespace: the RDMA
 * devices of the kernels in use serve only the initial one.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"

uint16_t bench_port = 4000;

void bench_netns(const char *name)
{
	const char *tail = getenv("BENCH_NETNS_TAIL");
	char full[16];

	if (getenv("BENCH_ONE_NETNS"))
		return;
	snprintf(full, sizeof(full), "%s%s", name, tail ?: "");
	netns_enter(full);
}

void sampling(bool on)
{
	if (getenv("BENCH_PROFILE") &&
	    !file_write("/proc/bench_sampler", on ? "1" : "0"))
		die("sampler: %m");
}

void link_tell(int fd)
{
	if (write(fd, "", 1) != 1)
		die("pipe: %m");
}

void link_wait(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		die("the other side is gone: %m");
}

union addr bench_addr(const struct bench *b, bool receiver, unsigned int i,
		      uint16_t port)
{
	static union addr six[2];
	union addr a;

	if (b->v6) {
		/* Parse once: bench_addr() is part of the time measured. */
		if (!six[receiver].sa.sa_family)
			six[receiver] = addr_of(receiver ? "fd00::2" :
							   "fd00::1", port);
		a = six[receiver];
		addr_set_port(&a, port);
		return a;
	}
	if (receiver && b->dests > 1)
		return addr_v4(0x0a000101 + i, port);
	return addr_v4(receiver ? 0x0a000002 : 0x0a000001, port);
}

/* Print the context switches of a side if BENCH_SWITCHES is set. */
static void report_switches(const char *side)
{
	struct rusage ru;

	if (!getenv("BENCH_SWITCHES"))
		return;
	getrusage(RUSAGE_SELF, &ru);
	fprintf(stderr, "%s: %ld sleeps, %ld preemptions\n", side, ru.ru_nvcsw,
		ru.ru_nivcsw);
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
		die("pipe: %m");
	rx = fork();
	if (!rx) {
		bench_netns("B");
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
		bench_netns("A");
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
		fputs("usage: rds-bench rate|rtt|ping|write|read rds|tcp 4|6 SIZE COUNT SOCKETS DESTS\n",
		      stderr);
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
	if (getenv("BENCH_PORT"))
		bench_port = (uint16_t)atoi(getenv("BENCH_PORT"));
	measure(&b);
	return 0;
}
