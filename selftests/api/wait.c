// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "api.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

void nap(void)
{
	struct timespec t = { 0, 2000000 };

	nanosleep(&t, NULL);
}

bool wait_true(bool (*fn)(void *), void *arg, int ms)
{
	return wait_until(fn, arg, (long)ms * time_scale);
}

/*
 * Print a duration, and tell whether it is within its bounds: true in any case
 * where the clock does not count instructions.
 */
bool in_time(long ms, long least, long most)
{
	printf("# took %ld ms, to be %ld to %ld\n", ms, least, most);
	return !time_is_judged() || (ms >= least && ms <= most);
}

/* The value of counter @name in @fd's namespace. */
long counter(int fd, const char *name)
{
	uint64_t v;

	if (!counter_read(fd, name, &v))
		bail("no counter %s", name);
	return (long)v;
}

/* A thread that a timeout has ended sleeps for good. */
static bool sleeping(void *arg)
{
	char path[64], text[512];
	char *p;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", *(int *)arg);
	f = fopen(path, "r");
	if (!f && errno == ENOENT)
		return true;
	if (!f)
		bail("%s: %s", path, strerror(errno));
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	p = strrchr(text, ')');
	return p && p[2] == 'S';
}

/*
 * Wait until thread @tid is seen asleep five times in a row: it is blocked, or
 * has ended.
 */
void until_blocked(int tid)
{
	int seen = 0;
	long end = now_ms() + 5000L * time_scale;

	while (seen < 5) {
		if (now_ms() > end)
			bail("thread does not come to rest");
		seen = sleeping(&tid) ? seen + 1 : 0;
		nap();
	}
}

/* The address of @good bytes that end where a page without access begins. */
void *page_hole(size_t good)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = (good + page - 1) / page * page;
	char *p = mmap(NULL, size + page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(p != MAP_FAILED);
	need(!mprotect(p + size, page, PROT_NONE));
	return p + size - good;
}

/*
 * Become an unprivileged user with 64 KiB of lockable memory; files under
 * /proc/self stay readable.
 */
int other_user(void)
{
	struct rlimit lim = { 65536, 65536 };

	if (setrlimit(RLIMIT_MEMLOCK, &lim) || drop_privileges())
		return -1;
	return prctl(PR_SET_DUMPABLE, 1);
}
