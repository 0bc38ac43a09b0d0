// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The cgroup of a command, of version 2: no controller is needed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

/* The path of this process's cgroup within the hierarchy */
static bool own_path(char *path, size_t len)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		found = !strncmp(line, "0::/", 4);
	}
	if (f)
		fclose(f);
	if (!found || strstr(line, "/.."))
		return run_fail("this process has no cgroup of version 2 that it can see");
	snprintf(path, len, "%s", line + 3);
	return true;
}

/* Where a line of mountinfo has the hierarchy mounted, and which part of it */
static bool mounted(char *line, const char **root, const char **at)
{
	char *save, *word = strtok_r(line, " ", &save);

	if (!strstr(save, " - cgroup2 "))
		return false;
	for (int i = 0; word && i < 3; i++)
		word = strtok_r(NULL, " ", &save);
	*root = word;
	*at = strtok_r(NULL, " ", &save);
	return *root && *at;
}

/* The folder of a path within the hierarchy */
static bool folder_of(const char *path, char *folder, size_t len)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	const char *root = NULL, *at = NULL;
	char line[2 * PATH_MAX];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (!mounted(line, &root, &at))
			continue;
		if (!strcmp(root, "/"))
			root = "";
		found = !strncmp(path, root, strlen(root));
	}
	if (f)
		fclose(f);
	if (!found)
		return run_fail("cgroups of version 2 are not mounted");
	snprintf(folder, len, "%s%s", at, path + strlen(root));
	return true;
}

bool run_cgroup_make(struct run_cgroup *cg)
{
	char path[PATH_MAX], folder[2 * PATH_MAX];

	if (!own_path(path, sizeof(path)) ||
	    !folder_of(path, folder, sizeof(folder)))
		return false;
	if (snprintf(cg->path, sizeof(cg->path), "%s%srds-run.%d", folder,
		     folder[strlen(folder) - 1] == '/' ? "" : "/",
		     getpid()) >= (int)sizeof(cg->path))
		return run_fail("the path of the cgroup is too long");
	if (mkdir(cg->path, 0755) && errno != EEXIST)
		return run_fail("cannot make the cgroup %s: %m", cg->path);
	cg->fd = open(cg->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cg->fd < 0) {
		run_fail("%s: %m", cg->path);
		rmdir(cg->path);
		return false;
	}
	return true;
}

bool run_cgroup_enter(const struct run_cgroup *cg)
{
	int fd = openat(cg->fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, "0", 1) == 1;

	if (!good)
		run_fail("cannot enter %s: %m", cg->path);
	if (fd >= 0)
		close(fd);
	return good;
}

/* A process that was waited for may be there for another moment. */
bool run_cgroup_end(struct run_cgroup *cg)
{
	for (int i = 0; i < 20; i++) {
		if (!rmdir(cg->path) || errno != EBUSY)
			return true;
		poll(NULL, 0, 5);
	}
	return false;
}

static bool populated(int fd)
{
	char text[256];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = 0;
	return strstr(text, "populated 1");
}

/* The file is ready for POLLPRI when it has changed since it was read. */
void run_cgroup_wait(const struct run_cgroup *cg)
{
	struct pollfd p = { .events = POLLPRI };

	p.fd = openat(cg->fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	while (p.fd >= 0 && populated(p.fd))
		poll(&p, 1, -1);
}
