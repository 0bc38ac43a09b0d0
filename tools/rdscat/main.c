// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rdscat: copies standard input here to standard output there. */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/rds.h>

#include "rdscat.h"

static volatile sig_atomic_t got_signal;
static bool progress_shown, progress_line;

static void on_signal(int sig)
{
	got_signal = sig;
}

int rc_interrupted(void)
{
	return got_signal;
}

static void end_progress_line(void)
{
	if (progress_line)
		fputc('\n', stderr);
	progress_line = false;
}

void rc_complain(const char *fmt, ...)
{
	va_list ap;

	end_progress_line();
	fputs("rdscat: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void rc_progress(uint64_t bytes, uint64_t size, bool last)
{
	static uint64_t began, shown;
	uint64_t now = rt_now_us();
	double seconds;

	if (!progress_shown)
		return;
	if (!began) {
		began = now;
		shown = now;
	}
	if (!last && now - shown < 500000)
		return;
	shown = now;
	seconds = (now - began) / 1e6;
	fprintf(stderr, "\r%.1f MiB", bytes / 1048576.0);
	if (size)
		fprintf(stderr, " of %.1f (%u %%)", size / 1048576.0,
			(unsigned int)(bytes >= size ? 100 : bytes * 100 / size));
	fprintf(stderr, ", %.1f MiB/s, %.1f s   ", seconds > 0 ? bytes / 1048576.0 / seconds : 0,
		seconds);
	progress_line = true;
	if (last)
		end_progress_line();
	fflush(stderr);
}

static void usage(FILE *to)
{
	fprintf(to,
		"usage: rdscat [options] ADDRESS:PORT < file     send\n"
		"       rdscat [options] -l ADDRESS:PORT > file  receive one transfer\n"
		"  -s ADDRESS  send from this address [as routed]\n"
		"  -T NAME     transport, rdma or tcp [as the local address has it]\n"
		"  -w TIME     give up when the other end is silent for so long [30]\n"
		"  -q          show no progress, even on a terminal\n"
		"  -v          show progress, even if stderr is no terminal\n"
		"An IPv6 address stands in brackets: [fd00::1]:4000. TIME is in seconds, or with ms.\n");
}

static void __attribute__((noreturn)) bad_usage(const char *what, const char *text)
{
	rc_complain("%s%s%s", what, text ? ": " : "", text ? text : "");
	usage(stderr);
	exit(2);
}

static void parse(struct rc_options *o, int argc, char **argv)
{
	const char *wrong;
	int c;

	while ((c = getopt(argc, argv, "lhs:T:w:qv")) != -1) {
		switch (c) {
		case 'l':
			o->listen = true;
			break;
		case 's':
			if (rt_parse_host(optarg, AF_UNSPEC, &o->src))
				bad_usage("unknown source address", optarg);
			o->have_src = true;
			break;
		case 'T':
			if (rt_parse_transport(optarg, &o->transport))
				bad_usage("transport is neither rdma nor tcp", optarg);
			break;
		case 'w':
			if (rt_parse_interval(optarg, &o->timeout_us) || o->timeout_us < 200000)
				bad_usage("bad time (at least 200ms)", optarg);
			break;
		case 'q':
			o->quiet = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind == argc)
		bad_usage("no address given", NULL);
	if (optind + 1 < argc)
		bad_usage("too many arguments", argv[optind + 1]);
	if (o->listen && o->have_src)
		bad_usage("-s makes no sense with -l", NULL);
	wrong = rt_parse_hostport(argv[optind], &o->addr);
	if (!wrong && rt_port(&o->addr) < 2)
		wrong = "ports 0 and 1 belong to the kernel";
	if (wrong)
		bad_usage(wrong, argv[optind]);
	if (o->have_src && o->src.sa.sa_family != o->addr.sa.sa_family)
		bad_usage("source and destination are of different families", NULL);
}

/* Signals arrive only while the program sleeps, so that none is overlooked. */
static void catch_signals(void)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t block;
	size_t i;

	sigemptyset(&block);
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		sigaction(sigs[i], &sa, NULL);
		sigaddset(&block, sigs[i]);
	}
	sigprocmask(SIG_BLOCK, &block, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* A closed descriptor would come back as the socket, and that is no place for data. */
static void check_open(bool listen)
{
	int data = listen ? STDOUT_FILENO : STDIN_FILENO, fd;

	if (fcntl(data, F_GETFD) < 0) {
		rc_complain("standard %s is closed", listen ? "output" : "input");
		exit(1);
	}
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct rc_options o = { .timeout_us = 30000000, .transport = RDS_TRANS_NONE };

	parse(&o, argc, argv);
	check_open(o.listen);
	progress_shown = !o.quiet && (o.verbose || isatty(STDERR_FILENO));
	if (o.listen && isatty(STDOUT_FILENO))
		progress_shown = progress_shown && o.verbose;
	catch_signals();
	return o.listen ? rc_receive_stream(&o) : rc_send_stream(&o);
}
