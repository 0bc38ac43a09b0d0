// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Processes at lowest priority that use up what the run leaves of the CPUs. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress.h"

struct one {
	_Atomic uint64_t calls;
	_Atomic uint64_t best;		/* calls a second */
	uint64_t seen;
	pid_t pid;
} __attribute__((aligned(128)));

struct soaker {
	unsigned int n;
	uint64_t last_us;
	struct one *one;
};

static void __attribute__((noreturn)) soak(struct one *me, pid_t parent)
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
	pid_t parent = getpid();
	struct soaker *s = calloc(1, sizeof(*s));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!s || cpus < 1)
		die_errno("cannot start soaking processes");
	s->one = mmap(NULL, cpus * sizeof(*s->one), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->one == MAP_FAILED)
		die_errno("mmap failed");
	for (s->n = 0; s->n < cpus; s->n++) {
		struct one *me = &s->one[s->n];

		me->pid = fork();
		if (me->pid < 0)
			die_errno("fork() failed");
		if (!me->pid)
			soak(me, parent);
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
		uint64_t calls = atomic_load(&o->calls), most = atomic_load(&o->best) * seconds;
		uint64_t done = calls - o->seen;

		o->seen = calls;
		capacity += most;
		soaked += done < most ? done : most;
	}
	return capacity ? 100.0 * (capacity - soaked) / capacity : 0;
}
