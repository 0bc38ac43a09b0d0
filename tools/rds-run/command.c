// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A command in its cgroup. This process waits, as the program in the kernel is
 * there while its descriptor is open, and looks like the command meanwhile: it
 * passes signals on, stops when the command stops, and ends as it ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

/* What this process changes of signals is not for the command. */
struct before {
	sigset_t mask;
	struct sigaction chld;
};

static void child(const struct run_cgroup *cg, char **argv,
		  const struct before *before)
{
	if (!run_cgroup_enter(cg)) {
		fprintf(stderr, "rds-run: %s\n", run_why);
		_exit(CANNOT_RUN);
	}
	sigaction(SIGCHLD, &before->chld, NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
	execvp(argv[0], argv);
	fprintf(stderr, "rds-run: %s: %m\n", argv[0]);
	_exit(errno == ENOENT ? NOT_FOUND : CANNOT_EXEC);
}

/* The terminal has stopped the command, and so it stops this process. */
static void stopped(pid_t pid)
{
	raise(SIGSTOP);
	kill(pid, SIGCONT);
}

/*
 * Wait for the end of the command. What the kernel sends to this process it
 * sends to the command itself, as the terminal does to all of a job.
 */
static int waits(pid_t pid, const sigset_t *all)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (sigwaitinfo(all, &info) < 0)
			continue;
		if (info.si_signo != SIGCHLD) {
			if (info.si_code <= 0 && info.si_pid != pid)
				kill(pid, info.si_signo);
			continue;
		}
		while (waitpid(pid, &status, WNOHANG | WUNTRACED) == pid) {
			if (!WIFSTOPPED(status))
				return status;
			if (WSTOPSIG(status) != SIGSTOP)
				stopped(pid);
		}
	}
}

/* The descriptor has to outlive all processes of the command. */
static void keeper(struct run_cgroup *cg)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || fork())
		return;
	setsid();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (chdir("/"))
		_exit(1);
	run_cgroup_wait(cg);
	run_cgroup_end(cg);
	_exit(0);
}

/* End as the command did, but without a second core dump. */
static void end_as(int status)
{
	const struct rlimit none = { 0, 0 };
	sigset_t one;
	int sig;

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	_exit(128 + sig);
}

bool run_command(struct run_cgroup *cg, char **argv)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };
	struct before before;
	sigset_t all;
	int status;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before.mask);
	/* Of a child whose end is ignored no status is left. */
	sigaction(SIGCHLD, &dfl, &before.chld);
	pid = fork();
	if (!pid)
		child(cg, argv, &before);
	if (pid > 0) {
		status = waits(pid, &all);
		if (!run_cgroup_end(cg))
			keeper(cg);
		end_as(status);
	}
	run_fail("fork: %m");
	sigprocmask(SIG_SETMASK, &before.mask, NULL);
	return false;
}
