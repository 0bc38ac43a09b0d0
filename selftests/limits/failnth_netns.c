// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-failnth-netns INIT COUNT...
 * Make a network namespace again and again, with another allocation of a module
 * failing each time.  INIT is the function of the module that allocates, and
 * COUNT the number of allocations.  The kernel's own are twelve times as many.
 *
 * rds-failnth-netns
 * Print the number of allocations that the making of a network namespace has.
 * The script calls it with more and more modules, and so tells COUNT.
 */
#define _GNU_SOURCE

#include "nth.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PORT	4700
#define LEN	3000
#define OWN	"/proc/thread-self/ns/net"
#define TRACING	"/sys/kernel/tracing/"

/* The namespace of the program, to which it returns */
static int home;

static ino_t own_ns(void)
{
	struct stat st;

	if (stat(OWN, &st))
		die("%s: %m", OWN);
	return st.st_ino;
}

static bool at_home(void)
{
	struct stat st;

	if (fstat(home, &st))
		die("the first namespace: %m");
	return own_ns() == st.st_ino;
}

static void go_home(int kinds)
{
	if (setns(home, kinds))
		die("cannot return to the first namespace: %m");
}

/* ---- the kernel's trace of memory for each processor */

static void trace(bool on)
{
	const char *file = TRACING "events/percpu/percpu_alloc_percpu/enable";

	if (!file_write(file, on ? "1" : "0"))
		die("%s: %m", file);
}

/* The kernel clears the trace as the file is opened. */
static void trace_clear(void)
{
	int fd = open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		die("trace: %m");
	close(fd);
}

static bool file_has(const char *path, const char *text)
{
	FILE *f = fopen(path, "re");
	bool found = false;
	char line[256];

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, text);
	if (f)
		fclose(f);
	return found;
}

/* ---- the call */

/**
 * struct part - what a module does as a namespace is made
 * @kinds: of namespaces that are made
 * @begun: what the trace has if the part has begun
 */
struct part {
	int		kinds;
	char		begun[64];
};

static void before(void *arg)
{
	(void)arg;
	trace_clear();
}

static long do_unshare(void *arg)
{
	const struct part *p = arg;

	return unshare(p->kinds) ? -errno : 0;
}

static void not_made(void *arg)
{
	const struct part *p = arg;

	if (!file_has(TRACING "trace", p->begun))
		nth_wrong("no fault of the module: %s", p->begun);
	if (at_home())
		return;
	nth_wrong("an unshare that failed has made a namespace");
	go_home(p->kinds);
}

/* ---- what a namespace has to have */

static void loopback_up(void)
{
	struct ifreq ifr = { .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(ifr.ifr_name, "lo");
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr))
		die("lo: %m");
	close(fd);
}

static void exchange(void)
{
	static unsigned int seq;
	static uint8_t text[LEN], back[LEN];
	union addr a = addr_of("127.0.0.1", PORT);
	int fd = rds_bound(&a, 0);

	set_timeo(fd, SO_RCVTIMEO, NTH_PATIENCE * slow_factor());
	fill(text, LEN, ++seq);
	if (sendto(fd, text, LEN, 0, &a.sa, addr_len(&a)) != LEN)
		nth_wrong("a new namespace does not send: %m");
	else if (recv(fd, back, LEN, 0) != LEN || !filled(back, LEN, seq))
		nth_wrong("message %u was lost in a new namespace", seq);
	close(fd);
}

static void is_number(const char *path, long want)
{
	long n = file_number(path);

	if (n != want)
		nth_wrong("%s: %ld, not %ld", path, n, want);
}

/* 16385 is 4001 in hexadecimal; the listener for both families has no peer. */
static bool listens(void *arg)
{
	return file_has(arg, "00:4001 00000000000000000000000000000000:0000");
}

static void made(void *arg)
{
	if (at_home()) {
		nth_wrong("an unshare has made no namespace");
		return;
	}
	loopback_up();
	exchange();
	is_number("/proc/sys/net/rds/paths", 1);
	is_number("/proc/sys/net/rds/tcp/listen", 1);
	if (!file_has("/proc/self/net/rds/held", "sockets ") ||
	    !file_has("/proc/self/net/rds/drops", " 0"))
		nth_wrong("a new namespace has no files in /proc/net/rds");
	/* A listener that lacked memory is opened a second later. */
	if (!wait_until(listens, "/proc/self/net/tcp6",
			NTH_PATIENCE * slow_factor()))
		nth_wrong("a new namespace does not listen");
	go_home(((const struct part *)arg)->kinds);
}

/* ---- where the allocations of a module are */

/* How many allocations are there? */
static unsigned int count(int kinds)
{
	unsigned int n;

	nth_arm(NTH_MOST);
	if (unshare(kinds))
		die("unshare: %m");
	n = NTH_MOST - nth_left();
	go_home(kinds);
	return n;
}

/* Does the making fail if its @n-th allocation does? */
static bool fails(unsigned int n, int kinds)
{
	bool made;

	trace_clear();
	nth_arm(n);
	made = !unshare(kinds);
	nth_disarm();
	if (made)
		go_home(kinds);
	return !made;
}

/*
 * Number of the first allocation of a module's part without which the making
 * fails.  The part begins with memory for each processor, of which the kernel
 * has an event; that allocation itself cannot be made to fail.
 */
static unsigned int first_of(const struct part *p)
{
	unsigned int before = 0, first = count(p->kinds) + 1, end = first;
	unsigned int n, mid;

	while (end - before > 1) {
		mid = before + (end - before) / 2;
		for (n = mid; n < end && !fails(n, p->kinds); n++)
			;
		if (n < end && !file_has(TRACING "trace", p->begun)) {
			before = n;
			continue;
		}
		if (n < end)
			first = n;
		end = mid;
	}
	return first;
}

/* The n-th allocation of a module's part fails, for each n. */
static void part(const char *init, unsigned int nr)
{
	const struct nth_call c = {
		init, before, do_unshare, not_made, made, 0, 0
	};
	struct part p = { .kinds = CLONE_NEWNET };
	unsigned int first;

	snprintf(p.begun, sizeof(p.begun), "call_site=%s+", init);
	first = first_of(&p);
	nth_range(&c, &p, first, first + nr - 1);
	nth_result(init, 1);
}

int main(int argc, char **argv)
{
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	home = open(OWN, O_RDONLY | O_CLOEXEC);
	if (home < 0)
		die("%s: %m", OWN);
	nth_prepare();
	nth_slabs_only();
	if (argc == 1) {
		printf("%u\n", count(CLONE_NEWNET));
		return 0;
	}
	ktap_plan(argc / 2);
	trace(true);
	for (i = 1; i + 1 < argc; i += 2)
		part(argv[i], strtoul(argv[i + 1], NULL, 10));
	trace(false);
	return ktap_exit();
}
