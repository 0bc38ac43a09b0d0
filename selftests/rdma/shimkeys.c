// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests of rds-rdmashim that are about keys. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim.h"

#define READ_WITH_INV	11

/*
 * iWARP: keys of this end are made on the connection's queue pair.  One that
 * the device refuses ends its operation, and the connection goes on.  If the
 * device takes the key and not the READ behind it, the connection ends.
 */
bool t_sink(void)
{
	uint64_t cookie = far_key(RW);
	bool good = passes(r.fd, &there, peer_fd, 100, 1);
	long resets = counter("conn_reset");
	int rc[3];

	shim_set("refuse", 8);
	rc[0] = op(cookie, here, LEN, RW);
	rc[1] = op(cookie, here, LEN, 0);
	shim_set("refuse", 0);
	good &= said(rc[0] == RDS_RDMA_OTHER_ERROR && rc[1] == rc[0],
		     "WRITE and READ refused", rc[0], rc[1]);
	good &= passes(r.fd, &there, peer_fd, 2000, 2) && moves(3);
	resets = counter("conn_reset") - resets;
	good &= said(!resets, "connection stays", resets, 0);
	shim_set("nth_opcode", READ_WITH_INV);
	shim_set("nth_send", 1);
	rc[2] = op(cookie, here, LEN, 0);
	shim_set("nth_opcode", -1);
	good &= said(rc[2] > 0 && !shim_get("nth_send", 0),
		     "READ behind its key fails", rc[2], 0);
	free_key(peer_fd, cookie, 0);
	return passes(r.fd, &there, peer_fd, 100, 4) && moves(5) && good;
}

/* ---- keys that the device keeps */

/* Zeros, in small pages, as those that are freed come back for such only */
static uint8_t *fresh(size_t size)
{
	uint8_t *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || madvise(p, size, MADV_NOHUGEPAGE))
		die("memory: %m");
	memset(p, 0, size);
	return p;
}

/*
 * The device does not end a key whose program has freed it and unmapped its
 * memory.  A peer can write to the pages, so nobody else may have them.
 */
bool t_busy(void)
{
	long stuck = counter("rdma_mr_stuck"), busy = shim_get("busy", 0);
	size_t size = 32 << 20, at, hits = 0;
	uint64_t cookie = 0;
	uint8_t *p = fresh(LEN), *q;
	bool good;
	int rc;

	rc = take_key(peer_fd, &there, HOW_GET_MR, p, LEN, RW, &cookie);
	good = said(!rc, "key", rc, 0);
	shim_set("refuse", 16);
	shim_set("dereg_busy", 1);
	rc = free_key(peer_fd, cookie, 0);
	shim_set("refuse", 0);
	busy = shim_get("busy", 0) - busy;
	good &= said(!rc && busy == 1, "device keeps the key", rc, busy);
	munmap(p, LEN);
	q = fresh(size);
	memset(here, 0x5a, LEN);
	rc = op(cookie, here, LEN, RW);
	good &= said(!rc, "peer can write", rc, 0);
	for (at = 0; at < size; at++)
		hits += q[at] == 0x5a;
	munmap(q, size);
	good &= said(!hits, "nobody else has the pages", (long)hits, 0);
	stuck = counter("rdma_mr_stuck") - stuck;
	return said(stuck == 1, "counted", stuck, 0) && good && moves(5);
}

/* ---- an invalidation that is not polled */

static bool is_held(long queues) { return shim_get("hold", 1) >= queues; }

static uint32_t rkey_of(uint64_t cookie) { return (uint32_t)cookie; }

/*
 * A peer's Send with Invalidate has ended a key, and its completion is late.
 * Meanwhile the program frees the key, and makes and frees others.  The late
 * completion must not be taken for the end of a later key with the same number.
 */
bool t_invalidated(void)
{
	uint64_t cookie = far_key(RW | RDS_RDMA_USE_ONCE), other = 0, same = 0;
	struct rds_iovec v = { (uintptr_t)here, LEN };
	struct rdma_op o = { .cookie = cookie, .bytes = LEN, .vec = &v,
			     .nvec = 1, .flags = RW, .data = "x", .len = 1 };
	bool good;
	uint8_t x[8];
	int rc, i;

	good = passes(r.fd, &there, peer_fd, 100, 1);
	shim_set("hold_after_inv", 1);
	rc = rdma_send(r.fd, &there, &o);
	good &= said(!rc && until(is_held, 2, 10000), "invalidated, not polled",
		     rc, shim_get("hold", 1));
	rc = free_key(peer_fd, cookie, 0);
	good &= said(!rc, "key freed", rc, 0);
	for (i = 0; i < 1024 && good; i++) {
		rc = take_key(peer_fd, &there, HOW_GET_MR, far, LEN, RW, &other);
		if (rc || rkey_of(other) == rkey_of(cookie))
			break;
		rc = free_key(peer_fd, other, 0);
		if (rc)
			break;
	}
	if (!rc && rkey_of(other) == rkey_of(cookie))
		same = other;
	printf("# key %#llx again after %d others\n", (ull)same, i);
	shim_set("hold", 0);
	good &= !rc && hear(peer_fd, x, sizeof(x)) == 1;
	if (!same)
		return good && moves(6);
	rc = free_key(peer_fd, same, 0);
	good &= said(!rc, "later key is not ended", rc, 0);
	memset(far, 0, LEN);
	memset(here, 0x77, LEN);
	rc = op(same, here, LEN, RW);
	return said(rc > 0 && !far[0], "later key ends", rc, far[0]) && good;
}

/* ---- a registrar that does not answer */

/* Let the registrar answer when the test should be over, so that it ends. */
static void *let_go(void *unused)
{
	(void)unused;
	nap(&r, 30000);
	shim_set("hold", 0);
	return NULL;
}

static void *ask_key(void *rc)
{
	uint64_t cookie;

	*(int *)rc = take_key(peer_fd, &there, HOW_GET_MR, here, LEN, RW, &cookie);
	return NULL;
}

/* Operations, and a message of another socket behind them, over the same path */
static bool goes_on(uint64_t cookie, int fd, const struct rt_addr *to, int at,
		    uint64_t seed)
{
	int rc[2], st[2];
	bool good;

	pattern(far, LEN, seed, 0);
	memset(here, 0, LEN);
	rc[0] = op_begin(cookie, here, LEN, 0);
	good = passes(fd, to, at, 3000, seed);
	st[0] = wait_token(&r, r.fd, next_token - 1, 5000);
	good &= !rc[0] && !st[0] && !pattern_diff(here, LEN, seed, 0);
	rc[1] = op_begin(cookie, here, 100, RW);
	good &= passes(fd, to, at, 3000, seed + 1);
	st[1] = wait_token(&r, r.fd, next_token - 1, 5000);
	good &= !rc[1] && !st[1] && shim_get("hold", 0) == 2;
	return said(good, "READ, WRITE and messages go on", st[0], st[1]);
}

static bool rebuilt_since(long n) { return counter("rdma_registrar_rebuilt") > n; }

/*
 * A program waits for a key, as the registrar does not answer, and then is made
 * anew.  Nothing else waits.
 */
bool t_registrar(void)
{
	struct rt_addr from = r.self, to = r.peer;
	uint64_t cookie = far_key(RW);
	long was = counter("rdma_registrar_rebuilt");
	pthread_t guard, thread;
	int fd, at, rc;
	bool good;

	rt_addr_port(&to, PORT + 1);
	fd = rt_open(&from, PORT + 1);
	at = rt_open(&to, PORT + 1);
	good = passes(fd, &to, at, 100, 1);
	shim_set("hold", 2);
	if (pthread_create(&guard, NULL, let_go, NULL) ||
	    pthread_create(&thread, NULL, ask_key, &rc))
		die("no thread");
	good &= said(until(is_held, 1, 10000), "asked, not answered", 0, 0);
	good &= goes_on(cookie, fd, &to, at, 11);
	good &= said(until(rebuilt_since, was, 20000), "given up", 0, 0);
	good &= goes_on(cookie, fd, &to, at, 21);
	shim_set("hold", 0);
	pthread_join(thread, NULL);
	good &= said(!rc || rc == -EAGAIN, "answered", rc, 0);
	for (uint8_t x[8]; recv_one(&r, peer_fd, x, sizeof(x), 100, NULL) >= 0;)
		;
	return moves(7) && good;
}

#define MANY	1024

/* No rkey comes again soon, as what is said late of a key names its rkey only. */
bool t_rkeys(void)
{
	static uint64_t cookies[MANY];
	int rc = 0, again = 0, i, k;

	for (i = 0; i < MANY && !rc && !again; i++) {
		rc = take_key(peer_fd, &there, HOW_GET_MR, far, LEN, RW,
			      &cookies[i]);
		rc = rc ? rc : free_key(peer_fd, cookies[i], 0);
		for (k = 0; k < i; k++)
			again += rkey_of(cookies[k]) == rkey_of(cookies[i]);
	}
	return said(!rc && !again, "all rkeys differ", rc, i);
}

/* ---- keys of all users of a device */

/* Number of keys of that size that there are until one is refused */
static int take_all(uint8_t *p, size_t len, uint64_t *cookies)
{
	int n = 0;

	while (n < MANY && !take_key(peer_fd, &there, HOW_GET_MR, p, len, RW,
				     &cookies[n]))
		n++;
	return n;
}

/*
 * Of a device with 16 MRs 2 are left for others, and another user has a key:
 * there are at most 13 for RDS, whose limits allow 14.  What was refused counts
 * and is there again when the others are free.
 */
bool t_quota(void)
{
	static uint64_t small[MANY], large[MANY];
	long refused = counter("ib_rdma_mr_8k_pool_depleted");
	uint8_t *p = fresh(1 << 18);
	int nr[2], rc = 0, i;
	bool good;

	nr[0] = take_all(p, LEN, small);
	nr[1] = take_all(p, 1 << 18, large);
	refused = counter("ib_rdma_mr_8k_pool_depleted") - refused;
	good = said(nr[0] > 0 && nr[0] + nr[1] <= 13, "keys", nr[0], nr[1]);
	good &= said(refused > 0, "counted", refused, 0);
	for (i = 0; i < nr[0]; i++)
		rc |= free_key(peer_fd, small[i], 0);
	for (i = 0; i < nr[1]; i++)
		rc |= free_key(peer_fd, large[i], 0);
	munmap(p, 1 << 18);
	return said(!rc, "all are freed", rc, 0) && good && moves(6);
}
