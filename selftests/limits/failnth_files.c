// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The part of rds-failnth for files in /proc. */
#define _GNU_SOURCE

#include "nth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

struct file {
	const char	*path;
	const char	*text;		/* to be written */
	char		old[4096];
	char		got[4096];
	bool		counts;		/* what it shows changes at any time */
};

/* Open, read and close it. */
static long do_read(void *arg)
{
	struct file *f = arg;
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	long n;

	if (fd < 0)
		return -errno;
	memset(f->got, 0, sizeof(f->got));
	n = read(fd, f->got, sizeof(f->got) - 1);
	n = n < 0 ? -errno : 0;
	close(fd);
	return n;
}

static void is_old(void *arg)
{
	struct file *f = arg;

	if (do_read(f))
		nth_wrong("%s: read: %m", f->path);
	if (!f->counts && strcmp(f->got, f->old))
		nth_wrong("%s has changed", f->path);
}

static void was_read(void *arg)
{
	struct file *f = arg;

	if (!f->counts && strcmp(f->got, f->old))
		nth_wrong("%s: other text", f->path);
}

static long do_write(void *arg)
{
	struct file *f = arg;
	int fd = open(f->path, O_WRONLY | O_CLOEXEC);
	long n;

	if (fd < 0)
		return -errno;
	n = write(fd, f->text, strlen(f->text));
	n = n < 0 ? -errno : n;
	close(fd);
	return n;
}

static void written(void *arg)
{
	struct file *f = arg;

	if (do_read(f))
		nth_wrong("%s: read: %m", f->path);
	if (strncmp(f->got, f->text, strlen(f->text)))
		nth_wrong("%s was not written", f->path);
	if (!file_write(f->path, f->old))
		nth_wrong("%s cannot be put back: %m", f->path);
	is_old(f);
}

/* Texts other than the defaults; other files are given the text they have. */
static const char *other_text(const char *name, const char *old)
{
	static const char *const texts[][2] = {
		{ "path_addresses", "10.0.0.1" },
		{ "peer_networks", "10.0.0.0/8" },
		{ "access_group_range", "0\t5" },
		{ "access", "2" },
		{ "paths", "2" },
		{ "connection_idle_ms", "500000" },
		{ "recv_queue_max_bytes", "33554432" },
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(name, texts[i][0]))
			return texts[i][1];
	return old;
}

static void one_file(const char *path, const char *name, bool write)
{
	static const struct nth_call reads = {
		NULL, NULL, do_read, NULL, was_read, 0, 0
	}, writes = {
		NULL, NULL, do_write, is_old, written, 0, 0
	};
	struct nth_call c = write ? writes : reads;
	static struct file f;

	/* The counters in /proc/net/rds go on counting. */
	f = (struct file){ .path = path, .counts = strstr(path, "/self/") };
	if (do_read(&f))
		die("%s: %m", path);
	memcpy(f.old, f.got, sizeof(f.old));
	f.text = other_text(name, f.old);
	c.what = path;
	/* The empty text of a list cannot be told from no text. */
	if (!write || *f.text)
		nth_every(&c, &f);
}

static void files(const char *dir, bool write)
{
	struct dirent *e;
	struct stat st;
	char path[300];
	DIR *d = opendir(dir);

	if (!d)
		die("%s: %m", dir);
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (!stat(path, &st) && S_ISREG(st.st_mode))
			one_file(path, e->d_name, write);
	}
	closedir(d);
}

void nth_files(void)
{
	netns_enter("A");
	files("/proc/sys/net/rds", false);
	files("/proc/sys/net/rds/tcp", false);
	nth_result("sysctl_read", 1);
	files("/proc/sys/net/rds", true);
	files("/proc/sys/net/rds/tcp", true);
	nth_result("sysctl_write", 1);
	files("/proc/self/net/rds", false);
	nth_result("proc", 1);
}
