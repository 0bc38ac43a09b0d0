// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-run [--bpf|--preload] [--verbose] COMMAND [ARGUMENT...]: run a program
 * for TCP on streams of RDS. Its stream sockets of IPv4 and IPv6 get another
 * protocol: by a program in the kernel that sees the calls of one cgroup, or by
 * a library that stands before socket().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/rds_stream.h>

#include "run.h"

#define PARAMETER "/sys/module/rds_stream/parameters/ipproto"
#define LIBRARY "librds_sock.so"

char run_why[512];
static bool verbose;

bool run_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(run_why, sizeof(run_why), fmt, ap);
	va_end(ap);
	return false;
}

static void usage(FILE *to)
{
	fputs("usage: rds-run [--bpf|--preload] [--verbose] COMMAND [ARGUMENT...]\n"
	      "Run a program for TCP on streams of RDS, see rds-run(8).\n", to);
}

/* The protocol that is a stream here, or 0 */
static int protocol_here(void)
{
	FILE *f = fopen(PARAMETER, "re");
	int protocol = 0;

	if (!f) {
		run_fail("the module rds_stream is not loaded");
		return 0;
	}
	if (fscanf(f, "%d", &protocol) != 1 || !protocol)
		run_fail("rds_stream is loaded with ipproto=0");
	fclose(f);
	return protocol;
}

/* Beside this program, as built, or in lib/ beside bin/, as installed */
static void library(char *path, size_t len)
{
	static const char *const places[] = { "", "/../lib" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *dir;

	self[n < 0 ? 0 : n] = 0;
	dir = dirname(self);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, len, "%s%s/" LIBRARY, dir, places[i]);
		if (!access(path, R_OK))
			return;
	}
	/* The dynamic linker knows more places. */
	snprintf(path, len, LIBRARY);
}

static void become(char **argv)
{
	execvp(argv[0], argv);
	fprintf(stderr, "rds-run: %s: %m\n", argv[0]);
	exit(errno == ENOENT ? NOT_FOUND : CANNOT_EXEC);
}

/* Put the library in front of those that the environment names. */
static void by_preload(char **argv, int protocol)
{
	char path[PATH_MAX + 32], all[2 * PATH_MAX], number[16];
	const char *others = getenv("LD_PRELOAD");

	library(path, sizeof(path));
	snprintf(all, sizeof(all), "%s%s%s", path, others ? ":" : "",
		 others ? others : "");
	snprintf(number, sizeof(number), "%d", protocol);
	setenv("LD_PRELOAD", all, 1);
	if (protocol != IPPROTO_RDS_STREAM)
		setenv("RDS_IPPROTO", number, 1);
	if (verbose)
		fprintf(stderr, "rds-run: by %s\n", path);
	become(argv);
}

/* Returns only if the command was not started. */
static void by_bpf(char **argv, int protocol)
{
	struct run_cgroup cg;

	if (!run_cgroup_make(&cg))
		return;
	if (run_attach(&cg, protocol) < 0) {
		run_cgroup_end(&cg);
		return;
	}
	if (verbose)
		fprintf(stderr, "rds-run: by BPF, in %s\n", cg.path);
	run_command(&cg, argv);
	run_cgroup_end(&cg);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "bpf", no_argument, NULL, 'b' },
		{ "preload", no_argument, NULL, 'p' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, way = 0, protocol;

	while (way != '?' &&
	       (c = getopt_long(argc, argv, "+bpvh", options, NULL)) != -1) {
		if (c == 'v')
			verbose = true;
		else
			way = c;
	}
	if (way == 'h' || way == '?' || optind == argc) {
		usage(way == 'h' ? stdout : stderr);
		return way == 'h' ? 0 : CANNOT_RUN;
	}
	protocol = protocol_here();
	if (protocol && way != 'p')
		by_bpf(argv + optind, protocol);
	if (protocol && way != 'b') {
		if (verbose && way != 'p')
			fprintf(stderr, "rds-run: not by BPF: %s\n", run_why);
		by_preload(argv + optind, protocol);
	}
	fprintf(stderr, "rds-run: %s\n", run_why);
	return CANNOT_RUN;
}
