// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Measure CPU use: processes of lowest priority soak up idle CPU time. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress.h"

/* In shared memory: written by one soaking process, read by the parent. */
struct meter {
	_Atomic uint64_t calls;
	_Atomic uint64_t best;		/* calls a second */
} __attribute__((aligned(128)));

/* Private to the parent, so that it kills only processes that it forked. */
struct one {
	struct meter *meter;
	uint64_t seen;
	pid_t pid;
};

struct soaker {
	unsigned int n;
	uint64_t last_us;
	struct one one[];
};

static void __attribute__((noreturn)) soak(struct meter *me, pid_t parent)
{
	uint64_t began, calls = 0, mark = 0, now, rate;

	setpriority(PRIO_PROCESS, 0, 19);
	began = rt_now_us();
	for (;;) {
		unsigned int i;

		for (i = 0; i < 1000; i++)
			syscall(SYS_getppid);
		calls += 1000;
		atomic_store_explicit(&me->calls, calls, memory_order_relaxed);
		now = rt_now_us();
		if (now - began < 100000)
			continue;
		rate = (calls - mark) * 1000000 / (now - began);
		if (rate > atomic_load(&me->best))
			atomic_store(&me->best, rate);
		began = now;
		mark = calls;
		if (getppid() != parent)
			_exit(0);
	}
}

struct soaker *soak_start(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pid_t parent = getpid(), pid;
	struct soaker *s;
	struct meter *meter;

	s = cpus < 1 ? NULL : calloc(1, sizeof(*s) + cpus * sizeof(s->one[0]));
	if (!s)
		die_errno("cannot start soaking processes");
	meter = mmap(NULL, cpus * sizeof(*meter), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (meter == MAP_FAILED)
		die_errno("mmap failed");
	for (s->n = 0; s->n < cpus; s->n++) {
		pid = fork();
		if (pid < 0)
			die_errno("fork() failed");
		if (!pid)
			soak(&meter[s->n], parent);
		s->one[s->n] = (struct one){ .meter = &meter[s->n],
					     .pid = pid };
	}
	s->last_us = rt_now_us();
	printf("started %u cycle soaking processes\n", s->n);
	return s;
}

void soak_stop(struct soaker *s)
{
	unsigned int i;

	for (i = 0; s && i < s->n; i++) {
		kill(s->one[i].pid, SIGKILL);
		waitpid(s->one[i].pid, NULL, 0);
	}
}

double soak_usage(struct soaker *s)
{
	uint64_t now = rt_now_us(), capacity = 0, soaked = 0;
	unsigned int i;
	double seconds;

	if (!s)
		return -1;
	seconds = (now - s->last_us) / 1e6;
	s->last_us = now;
	for (i = 0; i < s->n; i++) {
		struct one *o = &s->one[i];
		uint64_t calls = atomic_load(&o->meter->calls);
		uint64_t most = atomic_load(&o->meter->best) * seconds;
		uint64_t done = calls - o->seen;

		o->seen = calls;
		capacity += most;
		soaked += done < most ? done : most;
	}
	return capacity ? 100.0 * (capacity - soaked) / capacity : 0;
}
