// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Remote writes and reads: every byte is compared, and the bytes around the
 * range. The agent's memory is the target; keys are obtained in each of the
 * three ways.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rt.h"

#define PORT		4300
#define GUARD		64
#define SEED_GUARD	77
#define WAIT_MS		20000

static const char *const how_name[] = { "map", "get_mr", "for_dest" };

/* Get a key for the agent's memory; a key of HOW_MAP arrives with a message. */
int fetch_key(struct rt *r, enum how way, uint64_t off, uint64_t len,
	      uint64_t flags, uint64_t *cookie)
{
	struct areq q = { .op = ASK_KEY,
			  .a = { off, len, flags, way, r->port } };
	uint64_t end, came = 0;
	struct aresp a;
	char text[16];
	int n;

	if (ask(r, &q, &a))
		return a.err;
	*cookie = a.v[0];
	if (way != HOW_MAP)
		return 0;
	end = now_ns() + (uint64_t)WAIT_MS * 1000000 * r->slow;
	do {
		n = recv_one(r, r->fd, text, sizeof(text), 100, &came);
	} while ((n == -EINTR || n == -ETIMEDOUT) && now_ns() < end);
	return n < 0 ? -n : came == *cookie ? 0 : EBADMSG;
}

struct rt_addr agent_at(const struct rt *r)
{
	struct rt_addr to = r->peer;

	rt_addr_port(&to, (uint16_t)(r->port + 1));
	return to;
}

/* Open a new socket at both ends; the agent's port is @port + 1. */
bool start(struct rt *r, unsigned int port)
{
	struct areq q = { .op = ASK_OPEN, .a = { port + 1 } };
	struct aresp a;

	if (r->fd >= 0)
		close(r->fd);
	r->port = port;
	r->fd = rt_open(&r->self, (uint16_t)port);
	forget_tokens(r);
	return rt_ok(r->fd >= 0 && !ask(r, &q, &a), "rdma.open_%u # %s", port,
		       r->fd < 0 ? strerror(-r->fd) : "");
}

/*
 * Post one operation on one piece of local memory, with a message of eight
 * bytes that holds its token; without @wait the caller waits for the status.
 * Returns the status or a negative errno.
 */
int one_op(struct rt *r, uint64_t cookie, uint64_t remote, void *local,
	   size_t len, uint64_t flags, uint64_t token, bool wait)
{
	struct rds_iovec v = { (uintptr_t)local, len };
	bool silent = flags & RDS_RDMA_SILENT;
	struct rdma_op op = { .cookie = cookie,
			      .remote = remote,
			      .bytes = len,
			      .vec = &v,
			      .nvec = 1,
			      .flags = flags,
			      .token = token,
			      .data = &token,
			      .len = silent ? 0 : sizeof(token) };
	struct rt_addr to = agent_at(r);
	int rc = rdma_send(r->fd, &to, &op);

	if (rc || !wait)
		return rc;
	rc = wait_token(r, r->fd, token, WAIT_MS);
	return rc == STATUS_NONE ? -ETIMEDOUT : rc;
}

/*
 * Receive the message of operation @token; messages of earlier operations may
 * precede it.
 */
static bool message_of(struct rt *r, uint64_t token)
{
	struct areq q = { .op = ASK_RECV, .a = { 10000ull * r->slow } };
	struct aresp a;

	do {
		if (ask(r, &q, &a))
			return false;
	} while (a.v[2] != token);
	return true;
}

/*
 * After an error: a new key is available and works, on a connection that was
 * restored automatically.
 */
bool mends(struct rt *r, const char *name)
{
	static uint64_t token = 60000;
	static uint8_t bytes[512];
	uint64_t cookie = 0;
	int rc = -1, key = 0;

	for (int tries = 0; rc && tries < 5; tries++) {
		pattern(bytes, sizeof(bytes), token, 0);
		key = fetch_key(r, HOW_MAP, 0, sizeof(bytes),
				RDS_RDMA_READWRITE, &cookie);
		if (key)
			continue;
		rc = one_op(r, cookie, 0, bytes, sizeof(bytes),
			    RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, token,
			    true);
		if (!rc && ask4(r, ASK_CHECK, 0, sizeof(bytes), token, 0))
			rc = -EILSEQ;
		if (!rc && !message_of(r, token))
			rc = -ENOMSG;
		ask4(r, ASK_FREE_ANY, cookie, 0, 0, 0);
		token++;
	}
	return rt_ok(!rc, "%s.goes_on # key %s, operation %d", name,
		     strerror(key), rc);
}

/*
 * Cut [0, len) into pieces: one, or many of odd lengths at odd addresses with
 * gaps between them.
 */
static uint64_t cut_up(uint8_t *base, size_t len, unsigned int pieces,
		       struct rds_iovec *v, uint8_t **where)
{
	size_t at = 0, n;
	uint64_t i = 0;
	uint8_t *p = base;

	while (at < len) {
		n = i + 1 == pieces ? len - at : len / pieces;
		if (pieces > 1 && i + 1 < pieces)
			n = n + (i & 1 ? 1 : 0) > len - at ?
				    len - at :
				    n + (i & 1 ? 1 : 0);
		if (!n)
			n = 1;
		v[i].addr = (uintptr_t)p;
		v[i].bytes = n;
		where[i] = p;
		p += n + (pieces > 1 ? 13 : 0);
		at += n;
		i++;
	}
	return i;
}

struct shape {
	const char *name;
	size_t len;
	/* offsets in a page; number of local pieces */
	unsigned int remote, local, pieces;
};

static const struct shape shapes[] = {
	{ "1B", 1, 0, 0, 1 }, { "1B_odd", 1, 4095, 3, 1 }, { "4K", 4096, 0, 0, 1 },
	{ "4K_odd", 4096, 1, 3, 1 }, { "4K_vec", 4096, 5, 1, 17 }, { "64K", 65536, 0, 0, 1 },
	{ "64K_vec", 65536, 8, 7, 100 }, { "100K_vec", 100001, 4093, 4091, 1000 },
	{ "1M", 1 << 20, 0, 0, 1 }, { "1M_vec", 1 << 20, 0, 1, 256 },
};

static uint8_t arena[4 << 20];

/*
 * Fill or check the local pieces; return 0 if right, else the offset of the
 * first wrong byte plus 1.
 */
static size_t pieces_do(const struct rds_iovec *v, uint8_t **where, uint64_t n,
			uint64_t seed, uint64_t pos, bool check)
{
	size_t bad;

	for (uint64_t i = 0; i < n; i++) {
		bad = 0;
		if (check)
			bad = pattern_diff(where[i], v[i].bytes, seed, pos);
		else
			pattern(where[i], v[i].bytes, seed, pos);
		if (bad)
			return pos + bad;
		pos += v[i].bytes;
	}
	return 0;
}

/* The gaps between the local pieces must be unchanged. */
static bool gaps_kept(uint8_t *base, const struct rds_iovec *v, uint8_t **where,
		      uint64_t n)
{
	for (uint64_t i = 0; i + 1 < n; i++)
		for (uint8_t *p = where[i] + v[i].bytes; p < where[i + 1]; p++)
			if (*p != 0xe5)
				return false;
	for (size_t i = 1; i <= GUARD; i++)
		if (base[-(long)i] != 0xe5 ||
		    where[n - 1][v[n - 1].bytes + i - 1] != 0xe5)
			return false;
	return true;
}

struct plan {
	const struct shape *s;
	uint64_t cookie, off, seed;
	struct rds_iovec v[1024];
	uint8_t *where[1024], *base;
	uint64_t n;
};

static bool run_op(struct rt *r, struct plan *p, bool write, uint64_t token,
		   int *status)
{
	struct rdma_op op = { .cookie = p->cookie,
			      .bytes = p->s->len,
			      .vec = p->v,
			      .nvec = p->n,
			      .flags = RDS_RDMA_NOTIFY_ME |
				       (write ? RDS_RDMA_READWRITE : 0),
			      .token = token,
			      .data = "done",
			      .len = 4 };
	struct rt_addr to = agent_at(r);
	int rc;

	do {
		rc = rdma_send(r->fd, &to, &op);
		if (rc == -EAGAIN)
			recv_one(r, r->fd, &rc, 4, 50, NULL), rc = -EAGAIN;
	} while (rc == -EAGAIN);
	if (rc) {
		*status = rc;
		return false;
	}
	*status = wait_token(r, r->fd, token, WAIT_MS);
	return *status == RDS_RDMA_SUCCESS;
}

/*
 * One shape in one direction with the given key; the result line says what
 * differs.
 */
static void one_shape(struct rt *r, struct plan *p, enum how way, bool write,
		      uint64_t token)
{
	char name[96];
	int status = 0;
	size_t bad = 0;
	bool good, kept;
	uint64_t left;

	snprintf(name, sizeof(name), "rdma.rmem.v%d.%s.%s.%s", r->v6 ? 6 : 4,
		 how_name[way], write ? "write" : "read", p->s->name);
	p->seed = r->seed * 1000 + token;
	p->base = arena + 4096 + p->s->local;
	memset(arena, 0xe5, sizeof(arena));
	p->n = cut_up(p->base, p->s->len, p->s->pieces, p->v, p->where);
	ask4(r, ASK_FILL, p->off - GUARD, p->s->len + 2 * GUARD, SEED_GUARD, 0);
	if (write)
		pieces_do(p->v, p->where, p->n, p->seed, p->off, false);
	else
		ask4(r, ASK_FILL, p->off, p->s->len, p->seed, 0);
	good = run_op(r, p, write, token, &status);
	/*
	 * Receive the message of a successful operation before the memory is
	 * checked.
	 */
	if (good)
		ask4(r, ASK_RECV, (uint64_t)WAIT_MS, 0, 0, 0);
	if (write)
		bad = ask4(r, ASK_CHECK, p->off, p->s->len, p->seed, p->off);
	else
		bad = pieces_do(p->v, p->where, p->n, p->seed, p->off, true);
	left = ask4(r, ASK_CHECK, p->off - GUARD, GUARD, SEED_GUARD,
		    p->off - GUARD) +
	       ask4(r, ASK_CHECK, p->off + p->s->len, GUARD, SEED_GUARD,
		    p->off + p->s->len);
	kept = gaps_kept(p->base, p->v, p->where, p->n);
	rt_ok(good && !bad && !left && kept,
		"%s # status %d, wrong byte %zu, guard there %llu, here %s", name, status, bad,
		(ull)left, kept ? "kept" : "lost");
}

static void by_key(struct rt *r, enum how way, unsigned int *token)
{
	static struct plan p;
	unsigned int n = sizeof(shapes) / sizeof(shapes[0]);
	int err;

	for (unsigned int i = 0; i < n; i++) {
		p.s = &shapes[i];
		p.off = 8192 + p.s->remote;
		err = fetch_key(r, way, p.off, p.s->len, RDS_RDMA_READWRITE,
				&p.cookie);
		if (err) {
			bool none = err == EOPNOTSUPP && !r->peer_ours &&
				    way != HOW_MAP;

			rt_ok(none, "rdma.rmem.%s.key.%s # %s", how_name[way],
			      p.s->name, strerror(err));
			if (none)
				return;
			continue;
		}
		one_shape(r, &p, way, true, (*token)++);
		one_shape(r, &p, way, false, (*token)++);
		rt_ok(!ask(r,
			   &(struct areq){ .op = ASK_FREE,
					   .a = { p.cookie, 0 } },
			   &(struct aresp){ 0 }),
		      "rdma.rmem.%s.free.%s", how_name[way], p.s->name);
	}
}

/*
 * The counters of message bytes must not include the bytes of remote
 * operations.
 */
static void counted(struct rt *r, long out, uint64_t in, unsigned int ops)
{
	struct areq q = { .op = ASK_COUNTER, .text = "copy_to_user" };
	struct aresp a;

	ask(r, &q, &a);
	rt_ok(counter("copy_from_user") - out < (long)ops * 64 + 4096,
		"rdma.rmem.message_bytes_sent # %ld for %u operations",
		counter("copy_from_user") - out, ops);
	rt_ok(a.v[0] - in < ops * 64ull + 4096,
		"rdma.rmem.message_bytes_received # %llu for %u operations", (ull)(a.v[0] - in),
		ops);
}

/*
 * start(), a key before the connection, with which one shape is written and
 * read; for each way to get a key and each shape a WRITE, a READ and the
 * freeing; and four sums. An in-tree peer refuses keys but those of HOW_MAP,
 * with one result for each other way.
 */
int plan_rmem(const struct rt *r)
{
	int each = 3 * (int)(sizeof(shapes) / sizeof(shapes[0]));

	if (r->peer_ours)
		return 1 + 1 + 2 + HOW_LAST * each + 4;
	return 1 + 1 + each + (HOW_LAST - 1) + 4;
}

void test_rmem(struct rt *r)
{
	struct areq q = { .op = ASK_COUNTER, .text = "copy_to_user" };
	uint64_t early = 0;
	unsigned int token = 1;
	long out, sent;
	struct aresp a;
	int err;

	if (!start(r, PORT))
		return;
	/*
	 * No message was sent to the peer yet: a key must be available before
	 * any connection.
	 */
	err = fetch_key(r, HOW_GET_MR, 65536, 4096, RDS_RDMA_READWRITE, &early);
	rt_ok(r->peer_ours ? !err : err == EOPNOTSUPP || err == ENODEV,
	      "rdma.rmem.get_mr_before_connection # %s", strerror(err));
	out = counter("copy_from_user");
	sent = counter("send_rdma");
	ask(r, &q, &a);
	if (!err) {
		static struct plan p;

		p.s = &shapes[2];
		p.cookie = early;
		p.off = 65536;
		one_shape(r, &p, HOW_GET_MR, true, token++);
		one_shape(r, &p, HOW_GET_MR, false, token++);
	}
	for (int how = 0; how < HOW_LAST; how++)
		by_key(r, (enum how)how, &token);
	counted(r, out, a.v[0], token);
	rt_ok(counter("send_rdma") - sent == (long)token - 1,
		"rdma.rmem.send_rdma_counted # %ld of %u", counter("send_rdma") - sent, token - 1);
	rt_ok(!r->strange && r->notes == token - 1,
		"rdma.rmem.told_once # %u notifications for %u operations", r->notes, token - 1);
}
