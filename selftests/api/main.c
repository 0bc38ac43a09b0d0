// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-api [-u] [-o FILE] [-l] [PATTERN...]: runs the cases whose name begins
 * with a pattern, each in a new process, against the stack that is loaded.
 * -u: as an unprivileged user. -o: results go to FILE, too. -l: list the cases.
 * api.sh makes namespaces A and B.
 */
#include "api.h"

#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

bool ours, user_mode;
int time_scale = 1;

static FILE *log_file;
static bool old_kernel, new_kernel;

#define X(t) t##_cases,
static const struct api_case *const tables[] = { TABLE_LIST(X) };
#undef X

static bool selected(const char *name, char **patterns)
{
	if (!*patterns)
		return true;
	for (; *patterns; patterns++)
		if (!strncmp(name, *patterns, strlen(*patterns)))
			return true;
	return false;
}

/* Does this kernel run no case of that name? */
static bool elsewhere(const struct api_case *c)
{
	return old_kernel && (c->flags & C_NOT_6_1);
}

static bool applies(const struct api_case *c)
{
	if (user_mode && (c->flags & C_ROOT))
		return false;
	if (elsewhere(c))
		return false;
	if (c->flags & (new_kernel ? C_TO_6 : C_FROM_7))
		return false;
	return !(c->flags & (ours ? C_INTREE : C_OURS));
}

static void child(const struct api_case *c)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	c->fn(c);
	result->done = true;
	_exit(0);
}

/* Wait for the case's process; kill it when it overruns. */
static const char *reap(pid_t pid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool late = poll(&p, 1, 40000 * time_scale) == 0;
	static char text[64];
	int status;

	if (late)
		kill(pid, SIGKILL);
	close(fd);
	waitpid(pid, &status, 0);
	if (late)
		return "no end in time";
	if (WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "killed by signal %d",
			 WTERMSIG(status));
		return text;
	}
	if (result->failed)
		return result->why;
	return result->done ? NULL : "ended early";
}

static const char *wanted(const struct api_case *c)
{
	return ours && c->ours ? c->ours : c->want;
}

static void run_case(const struct api_case *c)
{
	const char *why;
	long took = now_ms();
	pid_t pid;

	memset(result, 0, sizeof(*result));
	fflush(NULL);
	pid = fork();
	if (!pid)
		child(c);
	why = pid < 0 ? "fork" : reap(pid);
	if (!why && strcmp(result->text, wanted(c)))
		why = "result differs from the expected one";
	took = now_ms() - took;
	if (took > 500)
		printf("# %s took %ld ms\n", c->name, took);
	printf("# result %s %s\n", c->name, result->text);
	if (log_file)
		fprintf(log_file, "# result %s %s\n", c->name, result->text);
	if (why) {
		printf("# expected %s %s\n", c->name, wanted(c));
		ktap_ok(false, "%s # %s", c->name, why);
	} else {
		ktap_ok(true, "%s", c->name);
	}
}

static void look_at_kernel(void)
{
	struct utsname u;

	if (uname(&u))
		return;
	old_kernel = !strncmp(u.release, "6.1.", 4);
	new_kernel = atoi(u.release) >= 7;
}

static void start(const char *out)
{
	const char *stack = getenv("RDS_STACK");

	ours = stack && !strcmp(stack, "ours");
	time_scale = slow_factor();
	look_at_kernel();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (out) {
		log_file = fopen(out, "w");
		if (!log_file) {
			perror(out);
			exit(2);
		}
	}
	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (result == MAP_FAILED)
		exit(2);
	ns_start("A", "B");
	if (user_mode && other_user()) {
		perror("setuid");
		exit(2);
	}
}

static void warm_case(const struct api_case *c)
{
	(void)c;
	warm_up();
	note("ok");
}

typedef void (*case_fn)(const struct api_case *c);

static void list_case(const struct api_case *c)
{
	puts(c->name);
}

/* Tell selftests/coverage/collect.py that this kernel does not run the case. */
static void elsewhere_case(const struct api_case *c)
{
	if (elsewhere(c))
		printf("# elsewhere %s\n", c->name);
}

static int planned;

static void plan_case(const struct api_case *c)
{
	(void)c;
	planned++;
}

/* Call @fn for each case of @patterns; unless @all, only if it applies here. */
static void each_case(char **patterns, bool all, case_fn fn)
{
	const struct api_case *c;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		for (c = tables[i]; c->name; c++)
			if (selected(c->name, patterns) && (all || applies(c)))
				fn(c);
}

static int run_all(char **patterns)
{
	static const struct api_case first = {
		"first.warm_up", warm_case, "ok"
	};

	each_case(patterns, true, elsewhere_case);
	each_case(patterns, false, plan_case);
	ktap_plan(planned + 1);
	run_case(&first);
	each_case(patterns, false, run_case);
	if (log_file)
		fclose(log_file);
	return ktap_exit();
}

int main(int argc, char **argv)
{
	const char *out = NULL;
	bool list = false;
	int opt;

	while ((opt = getopt(argc, argv, "ulo:")) != -1) {
		if (opt == 'u')
			user_mode = true;
		else if (opt == 'l')
			list = true;
		else if (opt == 'o')
			out = optarg;
		else
			return 2;
	}
	if (list) {
		each_case(argv + optind, true, list_case);
		return 0;
	}
	start(out);
	return run_all(argv + optind);
}
