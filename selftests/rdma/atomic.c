// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Atomic operations: exact results where the device has atomic operations, else
 * refused before anything is sent.
 */
#include <errno.h>
#include <string.h>

#include "rt.h"

#define PORT	4500
#define OFF	8192
#define START	1000000007ull
#define MANY	100

static uint64_t old[MANY];

static struct rds_atomic_args arguments(uint64_t cookie, uint64_t *result,
					uint64_t token)
{
	return (struct rds_atomic_args){ .cookie = cookie,
					 .local_addr = (uintptr_t)result,
					 .flags = RDS_RDMA_NOTIFY_ME,
					 .user_token = token };
}

/*
 * Post an atomic operation; return its status if @wait, else 0, or a negative
 * errno.
 */
static int atomic(struct rt *r, int type, const struct rds_atomic_args *a,
		  bool wait)
{
	struct rt_addr to = agent_at(r);
	int rc = cmsg_send(r->fd, &to, type, a, sizeof(*a), &a->user_token, 8);

	if (rc || !wait)
		return rc;
	rc = wait_token(r, r->fd, a->user_token, 20000);
	return rc == STATUS_NONE ? -ETIMEDOUT : rc;
}

struct try {
	const char *name;
	int type;
	uint64_t a, b, c, d;	/* operands, in the union's order */
	uint64_t before, after;
};

static const struct try tries[] = {
	{ "fadd", RDS_CMSG_ATOMIC_FADD, 5, 0, 0, 0, START, START + 5 },
	{ "fadd_wraps", RDS_CMSG_ATOMIC_FADD, 2, 0, 0, 0, ~0ull, 1 },
	{ "cswp_hit", RDS_CMSG_ATOMIC_CSWP, START, 42, 0, 0, START, 42 },
	{ "cswp_miss", RDS_CMSG_ATOMIC_CSWP, START + 1, 42, 0, 0, START, START },
	{ "masked_fadd", RDS_CMSG_MASKED_ATOMIC_FADD, 0x0101, 0x8080, 0, 0, 0x00ff, 0x0100 },
	{ "masked_cswp", RDS_CMSG_MASKED_ATOMIC_CSWP, 0x12, 0xff00, 0xff, 0xff00, 0x3412, 0xff12 },
};

static void one(struct rt *r, uint64_t cookie, const struct try *t,
		uint64_t token)
{
	struct rds_atomic_args a = arguments(cookie, old, token);
	bool masked = t->type >= RDS_CMSG_MASKED_ATOMIC_FADD;
	uint64_t now;
	int rc;

	a.m_cswp.compare = t->a;
	a.m_cswp.swap = t->b;
	a.m_cswp.compare_mask = t->c;
	a.m_cswp.swap_mask = t->d;
	old[0] = 0xdead;
	ask4(r, ASK_WRITE64, OFF, t->before, 0, 0);
	rc = atomic(r, t->type, &a, true);
	now = ask4(r, ASK_READ64, OFF, 0, 0, 0);
	/*
	 * Masked operations need a capability of the device that none of the
	 * software devices has.
	 */
	if (rc == -EOPNOTSUPP && (r->siw || masked)) {
		rt_ok(now == t->before && old[0] == 0xdead && !r->told[token],
		      "rdma.atomic.%s_is_refused", t->name);
		return;
	}
	rt_ok(!rc && !r->siw && now == t->after && old[0] == t->before,
	      "rdma.atomic.%s # %d, was %llx, is %llx", t->name, rc, (ull)old[0], (ull)now);
}

/*
 * MANY operations posted at once: each is done exactly once, and each returns a
 * different old value.
 */
static void many(struct rt *r, uint64_t cookie)
{
	uint64_t sum = 0, now;
	int bad = 0;

	ask4(r, ASK_WRITE64, OFF, 0, 0, 0);
	for (uint64_t i = 0; i < MANY; i++) {
		struct rds_atomic_args a = arguments(cookie, &old[i], 100 + i);

		a.fadd.add = 1;
		bad += !!atomic(r, RDS_CMSG_ATOMIC_FADD, &a, false);
	}
	for (uint64_t i = 0; i < MANY; i++) {
		bad += !!wait_token(r, r->fd, 100 + i, 20000) ||
		       r->told[100 + i] != 1;
		sum += old[i];
	}
	now = ask4(r, ASK_READ64, OFF, 0, 0, 0);
	rt_ok(!bad && now == MANY && sum == MANY * (MANY - 1) / 2,
	      "rdma.atomic.many # %d bad, %llu counted", bad, (ull)now);
}

static int add_one(struct rt *r, const void *arg, uint64_t token)
{
	struct rds_atomic_args a = arguments(*(const uint64_t *)arg, old,
					     token);

	a.fadd.add = 1;
	return atomic(r, RDS_CMSG_ATOMIC_FADD, &a, true);
}

int plan_atomic(const struct rt *r)
{
	int nr_tries = sizeof(tries) / sizeof(tries[0]);

	if (!r->ours)
		return 2;
	if (!r->peer_ours)
		return 5;
	return 3 + nr_tries + !r->siw + 2;
}

void test_atomic(struct rt *r)
{
	struct rds_atomic_args a;
	uint64_t cookie = 0;
	int err, rc;

	if (!start(r, PORT))
		return;
	if (!r->ours) {
		rt_skip("rdma.atomic: in-tree issues none that a software device knows");
		return;
	}
	err = fetch_key(r, HOW_MAP, OFF, 4096, RDS_RDMA_READWRITE, &cookie);
	if (!rt_ok(!err, "rdma.atomic.key # %s", strerror(err)))
		return;
	a = arguments(cookie, (uint64_t *)((uint8_t *)old + 1), 1);
	rc = atomic(r, RDS_CMSG_ATOMIC_FADD, &a, true);
	rt_ok(rc == -EFAULT, "rdma.atomic.local_not_aligned # %d", rc);
	if (!r->peer_ours) {
		/*
		 * The keys of in-tree RDS do not permit remote atomic
		 * operations.
		 */
		ask4(r, ASK_WRITE64, OFF, START, 0, 0);
		rc = refusal(r, add_one, &cookie);
		rt_ok(is_refusal(r, rc) &&
			      ask4(r, ASK_READ64, OFF, 0, 0, 0) == START,
		      "rdma.atomic.refused_by_intree # %d", rc);
		mends(r, "rdma.atomic");
		return;
	}
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
		one(r, cookie, &tries[i], 10 + i);
	if (!r->siw)
		many(r, cookie);
	ask4(r, ASK_FREE_ANY, cookie, 0, 0, 0);
	/* An atomic operation on a read-only key must not change the memory. */
	err = fetch_key(r, HOW_MAP, OFF, 4096, 0, &cookie);
	ask4(r, ASK_WRITE64, OFF, START, 0, 0);
	rc = err ? -err : refusal(r, add_one, &cookie);
	rt_ok((r->siw ? rc == -EOPNOTSUPP : is_refusal(r, rc)) &&
		      ask4(r, ASK_READ64, OFF, 0, 0, 0) == START,
	      "rdma.atomic.read_only_key # %d", rc);
	mends(r, "rdma.atomic");
}
