// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Results of calls, and cases in processes of their own */
#define _GNU_SOURCE
#include "want.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdstest.h"

#define CASE_S 60

int wants_failed;

long err(long r)
{
	return r == -1 ? -errno : r;
}

static const char *value(long v, char *room, size_t len)
{
	if (v < 0)
		snprintf(room, len, "%s", strerrorname_np((int)-v));
	else
		snprintf(room, len, "%ld", v);
	return room;
}

void want_at(int line, const char *what, long got, long want)
{
	char g[32], w[32];

	if (got == want)
		return;
	wants_failed++;
	printf("# line %d: %s: got %s, want %s\n", line, what,
	       value(got, g, sizeof(g)), value(want, w, sizeof(w)));
}

bool run_alone(const char *name, void (*run)(const void *arg), const void *arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork: %m");
	if (!pid) {
		alarm((unsigned int)(CASE_S * slow_factor()));
		run(arg);
		fflush(stdout);
		_exit(wants_failed != 0);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid: %m");
	if (WIFSIGNALED(status))
		printf("# %s: ended by signal %d%s\n", name, WTERMSIG(status),
		       WTERMSIG(status) == SIGALRM ? ", it hung" : "");
	return !status;
}
