// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The part of rds-failnth that injects faults, and counts. */
#include "nth.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>

#define DEBUGFS		"/sys/kernel/debug/"
#define MAX_KWORKERS	256
#define MAX_POINTS	4000	/* no call has so many */

static unsigned int points, failed, wrongs;
static char wrong[160];

static int kworkers[MAX_KWORKERS];
static unsigned int nr_kworkers;

static void put(const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "%s", file);
	if (!file_write(path, text))
		die("%s: %m", file);
}

static void prepare(const char *kind)
{
	static const char *const words[][2] = {
		/* Only fail-nth makes a task fail until nth_anywhere(). */
		{ "probability", "0" }, { "interval", "1" }, { "times", "-1" },
		{ "space", "0" }, { "verbose", "0" }, { "task-filter", "N" },
	};
	char file[64];
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		snprintf(file, sizeof(file), "%s/%s", kind, words[i][0]);
		put(file, words[i][1]);
	}
}

void nth_prepare(void)
{
	prepare("failslab");
	put("failslab/ignore-gfp-wait", "N");
	put("failslab/cache-filter", "N");
	prepare("fail_page_alloc");
	put("fail_page_alloc/ignore-gfp-wait", "N");
	put("fail_page_alloc/ignore-gfp-highmem", "N");
	put("fail_page_alloc/min-order", "0");
	prepare("fail_usercopy");
}

/* Allocations of objects are the same each time, those of pages are not. */
void nth_slabs_only(void)
{
	put("fail_page_alloc/min-order", "100");
}

/*
 * The filter is looked at before fail-nth counts.  A page that is to become
 * part of a slab is asked for twice, so memory of other caches does not fail
 * for lack of a page either.
 */
void nth_small_only(void)
{
	static const unsigned int sizes[] = { 8, 16, 32, 64, 96, 128, 192, 256,
					      512 };
	char file[64];
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(file, sizeof(file), "/sys/kernel/slab/kmalloc-%u/failslab",
			 sizes[i]);
		if (!file_write(file, "1"))
			die("%s: %m", file);
	}
	put("failslab/cache-filter", "Y");
}

/* ---- results */

void nth_point(void)
{
	points++;
}

void nth_wrong(const char *fmt, ...)
{
	char text[sizeof(wrong)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("# wrong: %s\n", text);
	if (!wrongs++)
		memcpy(wrong, text, sizeof(wrong));
}

void nth_result(const char *group, unsigned int least)
{
	ktap_ok(!wrongs && points >= least, "failnth.%s # %u points, %u failed%s%s",
		group, points, failed, wrongs ? ": " : "", wrong);
	points = 0;
	failed = 0;
	wrongs = 0;
	*wrong = 0;
}

bool nth_lack(long err)
{
	return err == -ENOMEM || err == -ENOBUFS || err == -EFAULT;
}

/* ---- this task */

static int own(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("fail-nth: %m");
	return fd;
}

void nth_arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(own(), text, len, 0) != len)
		die("fail-nth: %m");
}

/*
 * The copy of the number to this program is a user copy, too: if it fails, the
 * fault was still to come.
 */
bool nth_disarm(void)
{
	char text[16] = "";

	if (pread(own(), text, sizeof(text) - 1, 0) < 0)
		return false;
	if (!strtoul(text, NULL, 10))
		return true;
	if (pwrite(own(), "0", 1, 0) != 1 && pwrite(own(), "0", 1, 0) != 1)
		die("fail-nth: %m");
	return false;
}

unsigned int nth_left(void)
{
	char text[16] = "";

	if (pread(own(), text, sizeof(text) - 1, 0) < 0 ||
	    pwrite(own(), "0", 1, 0) != 1)
		die("fail-nth: %m");
	return strtoul(text, NULL, 10);
}

static void judge(const struct nth_call *c, unsigned int n, bool hit, long ret,
		  long want)
{
	if (!hit)
		nth_wrong("%s: point %u: %ld, not %ld, without a fault",
			  c->what, n, ret, want);
	else if (!nth_lack(ret) && (!c->more || ret != -c->more))
		nth_wrong("%s: point %u: %ld, not %ld", c->what, n, ret, want);
}

/* Make the call; it is to be made again if it fails and @again. */
static bool one(const struct nth_call *c, void *arg, unsigned int n, long want,
		bool again)
{
	bool hit;
	long ret;

	nth_arm(n);
	ret = c->call(arg);
	hit = nth_disarm();
	points += hit;
	if (ret == want)
		return hit;
	failed++;
	judge(c, n, hit, ret, want);
	if (c->undone)
		c->undone(arg);
	if (!again && hit)
		return hit;
	ret = c->call(arg);
	if (ret != want)
		nth_wrong("%s: after point %u: %ld, not %ld", c->what, n, ret,
			  want);
	return hit;
}

static void before(const struct nth_call *c, void *arg)
{
	if (c->before)
		c->before(arg);
}

static void after(const struct nth_call *c, void *arg)
{
	if (c->after)
		c->after(arg);
}

void nth_range(const struct nth_call *c, void *arg, unsigned int from,
	       unsigned int to)
{
	unsigned int n, was, every = c->every ? c->every : 1;
	uint64_t began = now_ns();
	bool hit, pending = false;
	long want;

	before(c, arg);
	want = c->call(arg);
	after(c, arg);
	for (n = from; n <= to; n++) {
		bool again = n % every == 0;
		uint64_t start = now_ns();

		if (!pending)
			before(c, arg);
		was = failed;
		hit = one(c, arg, n, want, again);
		pending = failed > was && hit && !again;
		if (!pending)
			after(c, arg);
		if (now_ns() - start > 800000000)
			printf("# %s: slow point %u, %u failed, %llu ms\n",
			       c->what, n, failed - was,
			       (unsigned long long)(now_ns() - start) / 1000000);
		if (!hit)
			break;
	}
	printf("# %s: %ld, points %u to %u, %llu ms\n", c->what, want, from,
	       n - 1, (unsigned long long)(now_ns() - began) / 1000000);
}

void nth_every(const struct nth_call *c, void *arg)
{
	nth_range(c, arg, 1, MAX_POINTS);
}

/* ---- other tasks */

static bool is_kworker(const char *pid, const char *name)
{
	char path[300], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(comm, sizeof(comm), f))
		*comm = 0;
	fclose(f);
	return !strncmp(comm, name, strlen(name));
}

static void kworkers_open(const char *name)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char path[300];

	if (!d)
		die("/proc: %m");
	while (nr_kworkers < MAX_KWORKERS && (e = readdir(d))) {
		if (!isdigit(e->d_name[0]) || !is_kworker(e->d_name, name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fail-nth", e->d_name);
		kworkers[nr_kworkers] = open(path, O_RDWR | O_CLOEXEC);
		if (kworkers[nr_kworkers] >= 0)
			nr_kworkers++;
	}
	closedir(d);
}

unsigned int nth_kworkers(const char *name, unsigned int n)
{
	unsigned int i, hits = 0;
	char text[16];
	int len;

	for (i = 0; i < nr_kworkers; i++) {
		memset(text, 0, sizeof(text));
		/* A kworker may have ended. */
		if (pread(kworkers[i], text, sizeof(text) - 1, 0) > 0)
			hits += !strtoul(text, NULL, 10);
		if (pwrite(kworkers[i], "0", 1, 0) != 1 && errno != ESRCH)
			die("fail-nth of a kworker: %m");
		close(kworkers[i]);
	}
	nr_kworkers = 0;
	if (n)
		kworkers_open(name);
	len = snprintf(text, sizeof(text), "%u", n);
	for (i = 0; i < nr_kworkers; i++)
		if (pwrite(kworkers[i], text, len, 0) != len && errno != ESRCH)
			die("fail-nth of a kworker: %m");
	return hits;
}

/*
 * The files are open before and until after, because the fault is not to hit
 * this program as it opens them.
 */
static int probability, times;

static int attribute(const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "failslab/%s", name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		die("%s: %m", path);
	return fd;
}

static void shortage(const char *percent)
{
	if (write(probability, percent, strlen(percent)) < 0)
		die("failslab/probability: %m");
}

void nth_anywhere(unsigned int bytes)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", bytes);
	put("failslab/space", text);
	put("failslab/times", "1");
	probability = attribute("probability", O_WRONLY);
	times = attribute("times", O_RDONLY);
	shortage("100");
}

bool nth_anywhere_end(void)
{
	char text[16] = "";

	shortage("0");
	if (read(times, text, sizeof(text) - 1) < 0)
		die("failslab/times: %m");
	close(probability);
	close(times);
	put("failslab/times", "-1");
	put("failslab/space", "0");
	return !strtol(text, NULL, 10);
}
