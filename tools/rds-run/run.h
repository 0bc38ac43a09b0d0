/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of rds-run. Functions that fail say why in run_why. */
#ifndef RUN_H
#define RUN_H

#include <limits.h>
#include <stdbool.h>

/* Exit status as of env(1) */
#define CANNOT_RUN	125
#define CANNOT_EXEC	126
#define NOT_FOUND	127

extern char run_why[512];

/** run_fail() - set run_why; returns false */
__attribute__((format(printf, 1, 2)))
bool run_fail(const char *fmt, ...);

/**
 * struct run_cgroup - the cgroup of a command
 * @path: its folder
 * @fd: its folder
 */
struct run_cgroup {
	char path[PATH_MAX];
	int fd;
};

/** run_cgroup_make() - make one below that of this process */
bool run_cgroup_make(struct run_cgroup *cg);

/** run_cgroup_enter() - move this process there */
bool run_cgroup_enter(const struct run_cgroup *cg);

/** run_cgroup_end() - remove it; false if processes are there */
bool run_cgroup_end(struct run_cgroup *cg);

/** run_cgroup_wait() - return when no process is there */
void run_cgroup_wait(const struct run_cgroup *cg);

/**
 * run_attach() - give TCP sockets that are made under a cgroup a protocol
 *
 * Return: a descriptor, which must stay open for that; or -1.
 */
int run_attach(const struct run_cgroup *cg, int protocol);

/**
 * run_command() - run a command in the cgroup, and wait for it
 *
 * Ends this process in the way in which the command ended, but for what fails
 * before.
 */
bool run_command(struct run_cgroup *cg, char **argv);

#endif
