// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the flags of keys and operations guarantee. */
#include <errno.h>
#include <string.h>

#include "rt.h"

#define PORT	4400
#define LEN	65536
#define OFF	65536
#define RW	RDS_RDMA_READWRITE
#define NOTE	RDS_RDMA_NOTIFY_ME
#define TOLD	48

static uint8_t here[LEN];

static uint64_t key(struct rt *r, const char *name, uint64_t flags)
{
	uint64_t cookie = 0;
	int err = fetch_key(r, HOW_MAP, OFF, LEN, flags, &cookie);

	if (err)
		rt_ok(false, "rdma.flags.%s.key # %s", name, strerror(err));
	return cookie;
}

/*
 * The agent's next message; its first eight bytes are the token of its
 * operation.
 */
static uint64_t next_message(struct rt *r)
{
	struct areq q = { .op = ASK_RECV, .a = { 10000ull * r->slow } };
	struct aresp a;

	return ask(r, &q, &a) ? ~0ull : a.v[2];
}

static void notifications(struct rt *r)
{
	uint64_t cookie = key(r, "quiet", RW);
	int rc = one_op(r, cookie, 0, here, LEN, RW, 1, false);
	bool came = next_message(r) == 1;
	int second = one_op(r, cookie, 0, here, LEN, RW | NOTE, 2, true);

	rt_ok(!rc && came && !second && r->notes == 1 && !r->told[1] &&
		      r->told[2] == 1,
	      "rdma.flags.notify_only_when_asked # %d, %d, %u notifications",
	      rc, second, r->notes);
	next_message(r);
	ask4(r, ASK_FREE_ANY, cookie, 0, 0, 0);
}

static void silent(struct rt *r)
{
	uint64_t cookie = key(r, "silent", RW);
	int rc, after;

	pattern(here, LEN, 3, 0);
	rc = one_op(r, cookie, 0, here, LEN, RW | NOTE | RDS_RDMA_SILENT, 3,
		    true);
	/* In-tree RDS reports a silent operation only when more is sent. */
	rt_ok((!rc || (!r->ours && rc == -ETIMEDOUT)) &&
		      !ask4(r, ASK_CHECK, OFF, LEN, 3, 0),
	      "rdma.flags.silent_works # %d", rc);
	after = one_op(r, cookie, 0, here, LEN, RW | NOTE, 4, true);
	rt_ok(!after && next_message(r) == 4,
	      "rdma.flags.silent_brings_no_message # %d", after);
	ask4(r, ASK_FREE_ANY, cookie, 0, 0, 0);
}

static void fence(struct rt *r)
{
	uint64_t cookie = key(r, "fence", RW);
	int rc = 0, wrong = 0;

	for (uint64_t i = 0; i < 20 && !rc && !wrong; i++) {
		ask4(r, ASK_FILL, OFF, LEN, 10 + i, 0);
		memset(here, 0, LEN);
		rc = one_op(r, cookie, 0, here, LEN, NOTE | RDS_RDMA_FENCE,
			    10 + i, false);
		/*
		 * The READ ahead of a message is complete when the message is
		 * received.
		 */
		wrong = next_message(r) != 10 + i;
		rc = rc ? rc : wait_token(r, r->fd, 10 + i, 10000);
		wrong |= !!pattern_diff(here, LEN, 10 + i, OFF);
	}
	rt_ok(!rc && !wrong, "rdma.flags.fence # %d, %s", rc,
	      wrong ? "wrong" : "right");
	ask4(r, ASK_FREE_ANY, cookie, 0, 0, 0);
}

static int gone(struct rt *r, uint64_t cookie)
{
	struct areq q = { .op = ASK_FREE, .a = { cookie, 0 } };
	struct aresp a;

	return ask(r, &q, &a);
}

/* Write to a key that is gone; @arg is the cookie. */
static int write_again(struct rt *r, const void *arg, uint64_t token)
{
	return one_op(r, *(const uint64_t *)arg, 0, here, LEN, RW | NOTE, token,
		      true);
}

static void use_once(struct rt *r)
{
	uint64_t flags[] = { RDS_RDMA_USE_ONCE,
			     RDS_RDMA_USE_ONCE | RDS_RDMA_INVALIDATE };

	for (unsigned int i = 0; i < 2; i++) {
		uint64_t token = 40 + 4 * i,
			 cookie = key(r, "use_once", RW | flags[i]);
		int rc, left, again;

		pattern(here, LEN, token, 0);
		rc = one_op(r, cookie, 0, here, LEN, RW | NOTE, token, true);
		rt_ok(!rc && next_message(r) == token &&
			      !ask4(r, ASK_CHECK, OFF, LEN, token, 0),
		      "rdma.flags.use_once_%u.works # %d", i, rc);
		left = gone(r, cookie);
		rt_ok(left == EINVAL, "rdma.flags.use_once_%u.key_is_gone # %s",
		      i, strerror(left));
		/*
		 * In-tree RDS invalidates such a key in the device only some
		 * time later.
		 */
		if (!r->peer_ours)
			continue;
		memset(here, 0xa5, LEN);
		again = refusal(r, write_again, &cookie);
		rt_ok(is_refusal(r, again), "rdma.flags.use_once_%u.not_twice # %d", i,
		      again);
		rt_ok(!ask4(r, ASK_CHECK, OFF, LEN, token, 0),
		      "rdma.flags.use_once_%u.memory_as_it_was", i);
		mends(r, i ? "rdma.flags.use_once_1" : "rdma.flags.use_once_0");
	}
}

/*
 * A message of several frames: the key ends with the first frame, and the other
 * frames are received as well.
 */
static void use_once_long(struct rt *r)
{
	static uint8_t text[3 * 4096 + 1];
	uint64_t cookie = key(r, "use_once_long", RW | RDS_RDMA_USE_ONCE);
	struct rds_iovec v = { (uintptr_t)here, LEN };
	struct rdma_op op = { .cookie = cookie,
			      .bytes = LEN,
			      .vec = &v,
			      .nvec = 1,
			      .flags = RW | NOTE,
			      .token = 60,
			      .data = text,
			      .len = sizeof(text) };
	struct areq q = { .op = ASK_RECV, .a = { 10000ull * r->slow } };
	struct rt_addr to = agent_at(r);
	struct aresp a;
	int rc, left;

	pattern(here, LEN, 60, 0);
	memset(text, 0x3c, sizeof(text));
	rc = rdma_send(r->fd, &to, &op);
	rc = rc ? rc : wait_token(r, r->fd, 60, 10000);
	rt_ok(!rc && !ask(r, &q, &a) && a.v[0] == sizeof(text) &&
		      a.v[3] == 0x3c && !ask4(r, ASK_CHECK, OFF, LEN, 60, 0),
	      "rdma.flags.use_once_long.works # %d", rc);
	left = gone(r, cookie);
	rt_ok(left == EINVAL, "rdma.flags.use_once_long.key_is_gone # %s",
	      strerror(left));
}

static void invalidate(struct rt *r)
{
	uint64_t cookie = key(r, "invalidate", RW);
	struct areq q = { .op = ASK_FREE,
			  .a = { cookie, RDS_RDMA_INVALIDATE } };
	struct aresp a;
	int rc, err;

	pattern(here, LEN, 50, 0);
	rc = one_op(r, cookie, 0, here, LEN, RW | NOTE, 50, true);
	next_message(r);
	err = ask(r, &q, &a);
	rt_ok(!rc && !err, "rdma.flags.invalidate.freed # %d, %s", rc,
	      strerror(err));
	rt_ok(gone(r, cookie) == EINVAL,
	      "rdma.flags.invalidate.not_freed_twice");
	/*
	 * In-tree RDS invalidates a freed key only when its pool is flushed,
	 * and recovers badly from the error of a connection.
	 */
	if (!r->peer_ours)
		return;
	memset(here, 0xa5, LEN);
	rc = refusal(r, write_again, &cookie);
	rt_ok(is_refusal(r, rc), "rdma.flags.invalidate.key_is_refused # %d", rc);
	rt_ok(!ask4(r, ASK_CHECK, OFF, LEN, 50, 0),
	      "rdma.flags.invalidate.memory_as_it_was");
	mends(r, "rdma.flags.invalidate");
}

/*
 * When a message is received, the WRITE ahead of it is in memory, and the
 * receiver may free the key. If the transport still needs the key to learn that
 * the WRITE is complete, the transport must hold the message back until then. A
 * READ ahead of each WRITE keeps the responding device busy.
 */
static void freed_when_told(struct rt *r)
{
	struct areq q = { .op = ASK_FREE_TOLD, .a = { TOLD } };
	struct rt_addr to = agent_at(r);
	struct rds_iovec v = { (uintptr_t)here, LEN };
	unsigned int bad = 0, got = 0;
	long resets = counter("conn_reset");
	uint64_t cookie[TOLD], first = key(r, "freed_when_told", RW);
	static uint8_t scrap[LEN];
	struct aresp a;
	int rc = 0;

	for (int i = 0; i < TOLD; i++)
		cookie[i] = key(r, "freed_when_told", RW);
	ask_begin(r, &q);
	for (int i = 0; i < TOLD && !rc; i++) {
		struct rdma_op op = { .cookie = cookie[i],
				      .bytes = LEN,
				      .vec = &v,
				      .nvec = 1,
				      .flags = RW | NOTE,
				      .token = 70 + (uint64_t)i,
				      .data = &cookie[i],
				      .len = 8 };

		rc = one_op(r, first, 0, scrap, LEN, RDS_RDMA_SILENT, 0, false);
		rc = rc ? rc : rdma_send(r->fd, &to, &op);
	}
	for (int i = 0; i < TOLD && !rc; i++) {
		int st = wait_token(r, r->fd, 70 + (uint64_t)i, 20000);

		got += st == RDS_RDMA_SUCCESS;
		bad += st != RDS_RDMA_SUCCESS;
	}
	ask_end(r, &a);
	ask4(r, ASK_FREE_ANY, first, 0, 0, 0);
	rt_ok(!rc && !bad && !a.err && counter("conn_reset") == resets,
	      "rdma.flags.freed_when_told # %d; %u good, %u not; %s; conn_reset +%ld", rc, got, bad,
	      strerror(a.err), counter("conn_reset") - resets);
}

static void dest(struct rt *r)
{
	uint64_t cookie = key(r, "dest", RW), came = 0;
	struct areq q = { .op = ASK_DEST, .a = { cookie, r->port } };
	struct aresp a;
	char text[8];
	int err = ask(r, &q, &a), n;
	uint64_t end = now_ns() + 10000000000ull * r->slow;

	do {
		n = recv_one(r, r->fd, text, sizeof(text), 100, &came);
	} while ((n == -EINTR || n == -ETIMEDOUT) && now_ns() < end);
	rt_ok(!err && n == 4 && came == cookie, "rdma.flags.dest # %s, %d",
	      strerror(err), n);
	q.a[0] = cookie + 0x100;
	err = ask(r, &q, &a);
	rt_ok(err == EINVAL, "rdma.flags.dest_of_unknown_key # %s",
	      strerror(err));
	ask4(r, ASK_FREE_ANY, cookie, 0, 0, 0);
	q = (struct areq){ .op = ASK_FREE };
	err = ask(r, &q, &a);
	rt_ok(!err, "rdma.flags.free_0_flushes # %s", strerror(err));
}

/* The numbers are in the order of the functions that test_flags() calls. */
int plan_flags(const struct rt *r)
{
	bool told = r->ours && r->peer_ours;
	/* more where the peer invalidates a key at once */
	int gone = r->peer_ours ? 3 : 0;

	return 1 + 1 + 2 + 1 + told + 3 + 2 * (2 + gone) + 2 + 2 + gone;
}

void test_flags(struct rt *r)
{
	if (!start(r, PORT))
		return;
	notifications(r);
	silent(r);
	fence(r);
	if (r->ours && r->peer_ours)
		freed_when_told(r);
	dest(r);
	use_once(r);
	use_once_long(r);
	invalidate(r);
}
