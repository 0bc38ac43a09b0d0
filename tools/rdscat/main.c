// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rdscat: copy standard input to standard output of another host. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

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
			(unsigned int)(bytes >= size ? 100 :
						       bytes * 100 / size));
	fprintf(stderr, ", %.1f MiB/s, %.1f s   ",
		seconds > 0 ? bytes / 1048576.0 / seconds : 0, seconds);
	progress_line = true;
	if (last)
		end_progress_line();
	fflush(stderr);
}

/*
 * Block the signals except during ppoll(), so that none arrives between the
 * test of got_signal and the sleep.
 */
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

/*
 * Open /dev/null in place of closed standard descriptors: otherwise the RDS
 * socket gets such a number, and data are read from or written to the socket.
 */
static void check_open(bool listen)
{
	int data = listen ? STDOUT_FILENO : STDIN_FILENO, fd;

	if (fcntl(data, F_GETFD) < 0) {
		rc_complain("standard %s is closed",
			    listen ? "output" : "input");
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
	struct rc_options o;

	rc_parse_args(&o, argc, argv);
	check_open(o.listen);
	progress_shown = !o.quiet && (o.verbose || isatty(STDERR_FILENO));
	if (o.listen && isatty(STDOUT_FILENO))
		progress_shown = progress_shown && o.verbose;
	catch_signals();
	if (o.stream)
		return rc_stream(&o);
	return o.listen ? rc_receive_stream(&o) : rc_send_stream(&o);
}
