// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The device has looked at the key of a WRITE, the program ends the key, and
 * then the device places the bytes (selftests/vm/siw-late.sed).  When
 * RDS_FREE_MR has returned, nothing writes the memory but the program.
 */
#include <string.h>
#include <unistd.h>

#include "rt.h"

#define PORT	4970
#define ROUNDS	4
#define LEN	4096
#define OFF	8192
#define SEED	9
#define RW	RDS_RDMA_READWRITE
#define NOTE	RDS_RDMA_NOTIFY_ME
#define PARAM	"/sys/module/siw/parameters/"
#define PATIENCE_NS 10000000000ull

static uint8_t here[LEN];

static long param(const char *path)
{
	FILE *f = fopen(path, "r");
	long v = -1;

	if (!f || fscanf(f, "%ld", &v) != 1)
		v = -1;
	if (f)
		fclose(f);
	return v;
}

/* Wait until a parameter of siw is 0. */
static bool gets_zero(const struct rt *r, const char *path)
{
	uint64_t until = now_ns() + PATIENCE_NS * r->slow;

	while (param(path) && now_ns() < until)
		usleep(1000);
	return !param(path);
}

/* @began: rounds whose WRITE was held up, @late: those whose key ended then */
struct rounds {
	unsigned int began, late, overwritten;
};

/*
 * A round counts as overwritten if the program's bytes did not stay.  Returns
 * whether another one is of use: the device holds a WRITE up for 5 s and more
 * if the key did not end meanwhile.
 */
static bool one_round(struct rt *r, unsigned int n, struct rounds *all)
{
	long before = param(PARAM "placed_late");
	uint64_t cookie = 0, token = 1 + n;
	bool ended;

	memset(here, 0x5e, LEN);
	if (fetch_key(r, HOW_MAP, OFF, LEN, RW, &cookie) ||
	    run_shell("echo 1 >" PARAM "late_place") ||
	    one_op(r, cookie, 0, here, LEN, NOTE | RW, token, false))
		return false;
	all->began += gets_zero(r, PARAM "late_place");
	ask4(r, ASK_FREE_ANY, cookie, RDS_RDMA_INVALIDATE, 0, 0);
	ask4(r, ASK_FILL, OFF, LEN, SEED, 0);
	gets_zero(r, PARAM "placing");
	ended = param(PARAM "placed_late") > before;
	if (ended) {
		all->late++;
		all->overwritten += !!ask4(r, ASK_CHECK, OFF, LEN, SEED, OFF);
	}
	wait_token(r, r->fd, token, 20000 * (int)r->slow);
	return ended;
}

/* start(), the rounds, and mends() */
int plan_placed(const struct rt *r)
{
	(void)r;
	return 3;
}

void test_placed(struct rt *r)
{
	struct rounds all = { 0 };

	if (!start(r, PORT))
		return;
	for (unsigned int n = 0; n < ROUNDS && one_round(r, n, &all); n++)
		;
	rt_ok(!all.overwritten,
	      "rdma.placed.memory_stays # %u held up, %u late, %u overwritten",
	      all.began, all.late, all.overwritten);
	mends(r, "rdma.placed");
}
