// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Operations while the connection is cut repeatedly. Each operation writes its
 * own pattern to its own place, or adds one to its own counter, and the
 * notifications must agree with the memory: an operation with status SUCCESS
 * was done exactly once, any other at most once.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rt.h"

#define PORT	4800
#define SLOT	64
#define BASE	4096
#define WINDOW	24
#define RW	RDS_RDMA_READWRITE

struct tally {
	unsigned int posted, by[5], silent, twice, wrong;
	unsigned int uncut;	/* rounds without a loss at this end */
	unsigned int poor;	/* rounds with less than good_least() */
};

static uint8_t slots[1 << 20];
static uint64_t olds[1 << 14];

/* Post one operation; 0 or a negative errno. */
static int post(struct rt *r, uint64_t cookie, uint64_t i, bool atomic)
{
	struct rds_atomic_args a = { .cookie = cookie,
				     .local_addr = (uintptr_t)&olds[i],
				     .remote_addr = i * SLOT,
				     .fadd = { .add = 1 },
				     .flags = RDS_RDMA_NOTIFY_ME,
				     .user_token = i };
	struct rt_addr to = agent_at(r);

	if (atomic)
		return cmsg_send(r->fd, &to, RDS_CMSG_ATOMIC_FADD, &a,
				 sizeof(a), &i, sizeof(i));
	pattern(slots + i * SLOT, SLOT, 1000 + i, 0);
	return one_op(r, cookie, i * SLOT, slots + i * SLOT, SLOT,
		      RW | RDS_RDMA_NOTIFY_ME, i, false);
}

static unsigned int outstanding(struct rt *r, uint64_t from, uint64_t to)
{
	unsigned int n = 0;

	for (uint64_t i = from; i < to; i++)
		n += !r->told[i];
	return n;
}

/*
 * Wait until at most @most of the operations @from to @to have no notification.
 */
static bool settle(struct rt *r, uint64_t from, uint64_t to, unsigned int most)
{
	uint64_t end = now_ns() + 30000000000ull * r->slow;
	char scrap[64];

	while (outstanding(r, from, to) > most && now_ns() < end)
		recv_one(r, r->fd, scrap, sizeof(scrap), 100, NULL);
	return outstanding(r, from, to) <= most;
}

/* Compare the memory of one operation with its notification. */
static void judge(struct rt *r, struct tally *t, uint64_t i, bool atomic)
{
	uint64_t at = BASE + i * SLOT, value;
	bool done, none;

	if (r->told[i] != 1) {
		t->silent += !r->told[i];
		t->twice += r->told[i] > 1;
	} else {
		t->by[r->status[i] & 7 & (r->status[i] < 5 ? 7 : 4)]++;
	}
	if (atomic) {
		value = ask4(r, ASK_READ64, at, 0, 0, 0);
		done = value == 1;
		none = value == 0;
	} else {
		done = !ask4(r, ASK_CHECK, at, SLOT, 1000 + i, 0);
		none = !done && !ask4(r, ASK_CHECK, at, SLOT, 0, 0);
	}
	if (r->told[i] && r->status[i] == RDS_RDMA_SUCCESS ? !done :
							     !done && !none) {
		if (!t->wrong++)
			printf("# operation %llu: status %d, %s\n", (ull)i,
			       r->status[i],
			       done ? "done" :
			       none ? "not done" :
				      "something else");
	}
}

/*
 * Get the key for a round. A key of in-tree RDS belongs to the lost connection,
 * and a key of a removed device can only be freed.
 */
static int round_key(struct rt *r, uint64_t *cookie)
{
	bool dev = !strcmp(r->way, "dev");

	if (*cookie && r->peer_ours && !dev)
		return 0;
	if (*cookie && dev)
		ask4(r, ASK_FREE_ANY, *cookie, 0, 0, 0);
	return fetch_key(r, HOW_MAP, BASE, sizeof(slots) / 2, RW, cookie);
}

/*
 * Cut the connection: by shell commands that remove the device, or by poke().
 */
static int cut_here(struct rt *r, const char *cmd)
{
	return cmd[0] ? run_shell(cmd) : poke(r);
}

/* One round: operations before, during and after a cut by one end. */
static bool round_of(struct rt *r, uint64_t *cookie, uint64_t from, uint64_t to,
		     bool there, bool atomics)
{
	struct areq cut = { .op = ASK_POKE };
	uint64_t mid = from + (to - from) / 2;
	struct aresp a = { 0 };
	int rc;

	/*
	 * The device must be gone at once, also if in use, or its name would
	 * not be free for the new device.
	 */
	if (!strcmp(r->way, "dev")) {
		cut.op = ASK_SHELL;
		snprintf(cut.text, sizeof(cut.text),
			 "rdma link del %s0 && ! rdma link | grep %s0 && rdma link add %s0 type %s netdev rds0",
			 r->dev, r->dev, r->dev, r->dev);
	}
	rc = round_key(r, cookie);
	if (rc)
		return rt_ok(false, "rdma.opresets.key # %s", strerror(rc));
	for (uint64_t i = from; i < to; i++) {
		if (i == mid && there)
			ask_begin(r, &cut);
		if (i == mid && !there)
			a.err = cut_here(r, cut.text);
		rc = post(r, *cookie, i, atomics && (i & 1));
		if (rc)
			return rt_ok(false, "rdma.opresets.post # %llu: %s",
				     (ull)i, strerror(-rc));
		if (!settle(r, from, i + 1, WINDOW))
			break;
	}
	if (there)
		ask_end(r, &a);
	if (a.err && cut.op == ASK_SHELL)
		return rt_ok(false, "rdma.opresets.device_goes");
	return settle(r, from, to, 0);
}

/*
 * A cut drops the operations in progress: the window, and the operation posted
 * during the cut. All others succeed, unless the agent's device was removed and
 * the key with it: then only operations that completed before the cut succeed.
 */
static unsigned int good_least(const struct rt *r, unsigned int each,
			       bool there)
{
	if (there && !strcmp(r->way, "dev"))
		return each / 2 - WINDOW;
	return each - WINDOW - 1;
}

static unsigned int good_of(const struct rt *r, uint64_t from, uint64_t to)
{
	unsigned int n = 0;

	for (uint64_t i = from; i < to; i++)
		n += r->told[i] && r->status[i] == RDS_RDMA_SUCCESS;
	return n;
}

/*
 * Was a connection lost? The loss may be counted after the last notification.
 */
static bool lost_since(const struct rt *r, long resets)
{
	uint64_t end = now_ns() + 10000000000ull * r->slow;
	struct timespec pause = { .tv_nsec = 5000000 };

	while (counter("conn_reset") <= resets && now_ns() < end)
		nanosleep(&pause, NULL);
	return counter("conn_reset") > resets;
}

/* One round, with the checks that concern one round. */
static bool judged_round(struct rt *r, uint64_t *cookie, unsigned int n,
			 unsigned int each, bool atomics, struct tally *t)
{
	uint64_t from = (uint64_t)n * each, to = from + each;
	unsigned int good, least = good_least(r, each, n & 1);
	long resets = counter("conn_reset");
	bool all = round_of(r, cookie, from, to, n & 1, atomics);

	t->posted = (unsigned int)to;
	t->uncut += !lost_since(r, resets);
	good = good_of(r, from, to);
	t->poor += good < least;
	printf("# opresets: round %u, cut %s: %u good, at least %u; conn_reset +%ld\n",
	       n, n & 1 ? "there" : "here", good, least,
	       counter("conn_reset") - resets);
	return all;
}

/*
 * Wait until no page is pinned at either end, with all operations complete and
 * all keys freed.
 */
static bool all_unpinned(struct rt *r, long here, uint64_t there, long *left)
{
	uint64_t end = now_ns() + 15000000000ull * r->slow;
	struct timespec pause = { .tv_nsec = 50000000 };

	do {
		*left = pins() - here + (long)(ask4(r, ASK_PINS, 0, 0, 0, 0) - there);
		if (*left <= 0)
			return true;
		nanosleep(&pause, NULL);
	} while (now_ns() < end);
	return false;
}

int plan_opresets(const struct rt *r)
{
	bool success = r->ours && r->peer_ours;

	return 8 + success;
}

void test_opresets(struct rt *r)
{
	unsigned int rounds = r->resets ? r->resets : 20,
		     each = r->count > 4000 ? 200 : 50;
	bool atomics = r->ours && r->peer_ours && !r->siw, good = true;
	struct areq q = { .op = ASK_SEEN };
	long before = counter("conn_reset"), pinned = pins(), left = 0;
	uint64_t cookie = 0, pinned_there = ask4(r, ASK_PINS, 0, 0, 0, 0);
	struct tally t = { 0 };
	struct aresp a;

	if (!start(r, PORT))
		return;
	ask4(r, ASK_FILL, BASE, sizeof(slots), 0, 0);
	for (unsigned int n = 0;
	     n < rounds && good && (n + 1) * each < sizeof(olds) / 16; n++)
		good = judged_round(r, &cookie, n, each, atomics, &t);
	for (uint64_t i = 0; i < t.posted; i++)
		judge(r, &t, i, atomics && (i & 1));
	q.a[0] = t.posted;
	q.a[1] = 2000;
	ask(r, &q, &a);
	printf("# opresets: %u operations, %u good %u remote %u canceled %u dropped %u other; conn_reset +%ld; %llu messages\n",
	       t.posted, t.by[0], t.by[1], t.by[2], t.by[3], t.by[4],
	       counter("conn_reset") - before, (ull)a.v[0]);
	rt_ok(good && !t.silent && !t.twice && !r->strange,
	      "rdma.opresets.told_once # %u of %u not at all, %u twice, %u strange", t.silent,
	      t.posted, t.twice, r->strange);
	rt_ok(!t.wrong, "rdma.opresets.memory_agrees # %u do not", t.wrong);
	rt_ok(!a.v[1], "rdma.opresets.no_message_twice # %llu", (ull)a.v[1]);
	if (r->ours && r->peer_ours)
		rt_ok(a.v[0] >= t.by[0],
		      "rdma.opresets.messages_of_success # %llu of %u",
		      (ull)a.v[0], t.by[0]);
	rt_ok(!t.uncut,
	      "rdma.opresets.were_reset # conn_reset +%ld, not in %u of %u rounds",
	      counter("conn_reset") - before, t.uncut, rounds);
	rt_ok(!t.poor,
	      "rdma.opresets.good_but_for_the_window # too few in %u of %u rounds",
	      t.poor, rounds);
	if (cookie)
		ask4(r, ASK_FREE_ANY, cookie, 0, 0, 0);
	rt_ok(all_unpinned(r, pinned, pinned_there, &left),
	      "rdma.opresets.nothing_pinned # %ld pages", left);
	mends(r, "rdma.opresets");
}
