// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-late STATUS: how late does a timer's thread run that is more urgent than
 * all others? At most as late as the kernel spends in one go, with bottom
 * halves off or without a point at which it may be interrupted.
 *
 * STATUS is a file that the supervisor maps as well: the number of ticks, and
 * the longest delay in nanoseconds, which the supervisor may reset to 0. A
 * signal ends the run.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include "rdstest.h"

#define TICK_NS	200000ULL

struct status {
	uint64_t ticks;
	uint64_t longest_ns;
};

int main(int argc, char **argv)
{
	const struct sched_param urgent = { .sched_priority = 50 };
	volatile struct status *status;
	uint64_t next = now_ns();
	int fd;

	if (argc != 2)
		return 2;
	fd = open(argv[1], O_RDWR);
	status = mmap(NULL, sizeof(*status), PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	if (status == MAP_FAILED)
		die("%s: %m", argv[1]);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) ||
	    sched_setscheduler(0, SCHED_FIFO, &urgent))
		die("scheduling: %m");
	for (;; status->ticks++) {
		uint64_t late;
		struct timespec at;

		next += TICK_NS;
		at.tv_sec = next / 1000000000;
		at.tv_nsec = next % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		late = now_ns() - next;
		if (late > status->longest_ns)
			status->longest_ns = late;
		if (late > TICK_NS)
			next = now_ns();
	}
}
