// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Processes and sockets that end while their operations are in progress. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rt.h"

#define PORT	4700
#define MANY	24
#define RW	RDS_RDMA_READWRITE

static uint8_t here[MAX_MSG] __attribute__((aligned(4096)));

/* Bytes of an operation: long enough to be under way when its end goes */
static size_t op_len(const struct rt *r)
{
	return r->light ? sizeof(here) / 4 : sizeof(here);
}

enum end { END_KILL, END_EXIT, END_CLOSE };

/* Report of a child before it ends */
struct report {
	unsigned int posted;	/* operations that the kernel accepted */
	unsigned int over;	/* of these, notified before the end */
};

/* Number of notifications that the socket has received */
static unsigned int told_so_far(struct rt *r, int fd)
{
	char scrap[64];

	while (recv_one(r, fd, scrap, sizeof(scrap), 0, NULL) == -EINTR)
		;
	return r->notes;
}

/* A child process that posts operations and then ends in the way of @how. */
static void child(struct rt *r, const uint64_t *cookie, enum end how, int tell)
{
	struct report rep = { 0 };
	struct rt_addr to = agent_at(r);
	int fd = rt_open(&r->self, 0);
	struct rds_iovec v = { (uintptr_t)here, op_len(r) };

	forget_tokens(r);
	for (unsigned int i = 0; i < MANY; i++) {
		struct rdma_op op = { .cookie = *cookie,
				      .bytes = op_len(r),
				      .vec = &v,
				      .nvec = 1,
				      .flags = RDS_RDMA_NOTIFY_ME |
					       (i & 1 ? RW : 0),
				      .token = i,
				      .data = "x",
				      .len = 1 };

		rep.posted += !rdma_send(fd, &to, &op);
	}
	rep.over = told_so_far(r, fd);
	if (how == END_CLOSE)
		close(fd);
	if (write(tell, &rep, sizeof(rep)) == sizeof(rep) && how == END_KILL)
		pause();
	_exit(0);
}

static bool no_pins(struct rt *r, long here_before, uint64_t there_before,
		    long *left)
{
	uint64_t end = now_ns() + 15000000000ull * r->slow;
	struct timespec pause = { .tv_nsec = 50000000 };

	do {
		*left = pins() - here_before;
		if (*left <= 0 && ask4(r, ASK_PINS, 0, 0, 0, 0) <= there_before)
			return true;
		nanosleep(&pause, NULL);
	} while (now_ns() < end);
	return false;
}

static void one_end(struct rt *r, enum end how, const char *name)
{
	uint64_t cookie = 0, there = ask4(r, ASK_PINS, 0, 0, 0, 0);
	long before = pins(), left = 0;
	int p[2], err = fetch_key(r, HOW_MAP, 4096, MAX_MSG, RW, &cookie), st;
	struct report rep = { 0 };
	char text[64];
	pid_t pid;
	bool told;

	if (!rt_ok(!err && !pipe(p), "rdma.kill.%s.key # %s", name,
		   strerror(err)))
		return;
	pid = fork();
	if (!pid)
		child(r, &cookie, how, p[1]);
	/*
	 * Close this end, so that read() does not wait for a child that ended
	 * without a report.
	 */
	close(p[1]);
	told = read(p[0], &rep, sizeof(rep)) == sizeof(rep);
	rt_ok(told && rep.posted == MANY && rep.over < MANY,
	      "rdma.kill.%s.under_way # %u of %u posted, %u over", name,
	      rep.posted, MANY, rep.over);
	if (how == END_KILL)
		kill(pid, SIGKILL);
	waitpid(pid, &st, 0);
	close(p[0]);
	ask4(r, ASK_FREE_ANY, cookie, RDS_RDMA_INVALIDATE, 0, 0);
	rt_ok(no_pins(r, before, there, &left),
	      "rdma.kill.%s.nothing_pinned # %ld pages", name, left);
	snprintf(text, sizeof(text), "rdma.kill.%s", name);
	mends(r, text);
}

/*
 * The owner of the key closes its socket while its memory is read and written.
 */
static void target_goes(struct rt *r)
{
	uint64_t cookie = 0;
	int err = fetch_key(r, HOW_MAP, 4096, MAX_MSG, RW, &cookie), rc = 0,
	    st[5] = { 0 };
	unsigned int told = 0, twice = 0;
	long before = pins(), left = 0;

	if (!rt_ok(!err, "rdma.kill.target.key # %s", strerror(err)))
		return;
	for (uint64_t i = 0; i < MANY && !rc; i++)
		rc = one_op(r, cookie, 0, here, op_len(r),
			    RDS_RDMA_NOTIFY_ME | (i & 1 ? RW : 0), 100 + i,
			    false);
	ask4(r, ASK_OPEN, PORT + 1, 0, 0, 0);
	for (uint64_t i = 0; i < MANY; i++) {
		wait_token(r, r->fd, 100 + i, 20000);
		told += r->told[100 + i] == 1;
		twice += r->told[100 + i] > 1;
		if (r->told[100 + i] && r->status[100 + i] >= 0 &&
		    r->status[100 + i] < 5)
			st[r->status[100 + i]]++;
	}
	rt_ok(!rc && told == MANY && !twice,
	      "rdma.kill.target.told_once # %d; %u once, %u twice; %d good %d remote %d canceled %d dropped %d other",
	      rc, told, twice, st[0], st[1], st[2], st[3], st[4]);
	rt_ok(no_pins(r, before, ~0ull, &left),
	      "rdma.kill.target.nothing_pinned # %ld pages", left);
	mends(r, "rdma.kill.target");
}

/* start(), four of each one_end(), four of target_goes() */
int plan_kill(const struct rt *r)
{
	(void)r;
	return 1 + 3 * 4 + 4;
}

void test_kill(struct rt *r)
{
	if (!start(r, PORT))
		return;
	one_end(r, END_KILL, "killed");
	one_end(r, END_EXIT, "exited");
	one_end(r, END_CLOSE, "closed");
	target_goes(r);
}
