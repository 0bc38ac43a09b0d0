// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests that must be refused, each with its errno; no page may stay pinned.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rt.h"

#define PORT	4600
#define RW	RDS_RDMA_READWRITE
#define NOTE	RDS_RDMA_NOTIFY_ME
#define LEN	4096

static struct rds_iovec many[2048];
static uint8_t here[2 << 20] __attribute__((aligned(4096)));

/*
 * @got, 0 or a negative errno, must be -@one or -@other; @other of -1 permits
 * no second result.
 */
static void want(const char *name, int got, int one, int other)
{
	rt_ok(got == -one || (other >= 0 && got == -other), "rdma.bad.%s # %s",
	      name, strerror(-got));
}

static int vec_op(struct rt *r, uint64_t cookie, struct rds_iovec *v,
		  uint64_t n, uint64_t bytes, uint64_t flags, uint64_t token)
{
	struct rdma_op op = { .cookie = cookie,
			      .bytes = bytes,
			      .vec = v,
			      .nvec = n,
			      .flags = flags | NOTE,
			      .token = token,
			      .data = "x",
			      .len = 1 };
	struct rt_addr to = agent_at(r);

	return rdma_send(r->fd, &to, &op);
}

static int one_vec(struct rt *r, uint64_t cookie, void *p, uint64_t len,
		   uint64_t bytes, uint64_t flags, uint64_t token)
{
	struct rds_iovec v = { (uintptr_t)p, len };

	return vec_op(r, cookie, &v, 1, bytes, flags, token);
}

static void vectors(struct rt *r, uint64_t cookie)
{
	int rc;

	for (unsigned int i = 0; i < 2048; i++)
		many[i] = (struct rds_iovec){ (uintptr_t)here + 8 * i, 4 };
	want("vec_0", vec_op(r, cookie, many, 0, LEN, RW, 1), EINVAL, -1);
	want("vec_1025", vec_op(r, cookie, many, 1025, 8192, RW, 2), EMSGSIZE,
	     -1);
	want("vec_2e31", vec_op(r, cookie, many, 1ull << 31, 8192, RW, 3),
	     EMSGSIZE, -1);
	want("vec_2e32+1",
	     vec_op(r, cookie, many, (1ull << 32) + 1, 8192, RW, 4), EMSGSIZE,
	     -1);
	want("vec_2e60", vec_op(r, cookie, many, 1ull << 60, 8192, RW, 5),
	     EMSGSIZE, -1);
	rc = vec_op(r, cookie, many, 1024, 4096, RW, 6);
	want("vec_1024", rc, 0, -1);
	if (!rc) {
		rc = wait_token(r, r->fd, 6, 20000);
		rt_ok(!rc, "rdma.bad.vec_1024_works # %d", rc);
	}
	want("vec_unmapped", vec_op(r, cookie, (void *)16, 1, 8192, RW, 7),
	     EFAULT, -1);
}

static void lengths(struct rt *r, uint64_t cookie)
{
	want("piece_empty", one_vec(r, cookie, here, 0, LEN, RW, 10), EINVAL,
	     -1);
	want("more_than_remote", one_vec(r, cookie, here, LEN, LEN - 1, RW, 11),
	     EINVAL, -1);
	want("over_1M",
	     one_vec(r, cookie, here, (1 << 20) + 1, (1 << 20) + 1, RW, 12),
	     EMSGSIZE, -1);
	want("remote_2e32-1",
	     one_vec(r, cookie, here, LEN, 0xffffffffull, RW, 13), EMSGSIZE,
	     -1);
	want("remote_2e32+8",
	     one_vec(r, cookie, here, LEN, (1ull << 32) + 8, RW, 14), EMSGSIZE,
	     -1);
	want("remote_2e64-1", one_vec(r, cookie, here, LEN, ~0ull, RW, 15),
	     EMSGSIZE, EINVAL);
	want("local_2e64-1", one_vec(r, cookie, here, ~0ull, LEN, RW, 16),
	     EINVAL, EMSGSIZE);
	want("local_2e32", one_vec(r, cookie, here, 1ull << 32, LEN, RW, 17),
	     EINVAL, EMSGSIZE);
	many[0] = (struct rds_iovec){ (uintptr_t)here, ~0ull - 4095 };
	many[1] = (struct rds_iovec){ (uintptr_t)here, 8192 };
	want("sum_wraps", vec_op(r, cookie, many, 2, LEN, RW, 18), EINVAL,
	     EMSGSIZE);
}

static void memory(struct rt *r, uint64_t cookie)
{
	uint8_t *hole = mmap(NULL, 3 * LEN, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *ro = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	int rc;

	munmap(hole + LEN, LEN);
	want("unmapped", one_vec(r, cookie, hole + LEN, LEN, LEN, RW, 20),
	     EFAULT, -1);
	want("hole_in_the_middle",
	     one_vec(r, cookie, hole + 1, 2 * LEN, 2 * LEN, RW, 21), EFAULT,
	     -1);
	want("read_into_read_only", one_vec(r, cookie, ro, LEN, LEN, 0, 22),
	     EFAULT, -1);
	rc = one_vec(r, cookie, ro, LEN, LEN, RW, 23);
	/*
	 * In-tree RDS pins memory for writing even if the device only reads it.
	 */
	want("write_out_of_read_only", rc, 0, r->ours ? -1 : EFAULT);
	if (!rc)
		wait_token(r, r->fd, 23, 20000);
	want("kernel_address",
	     one_vec(r, cookie, (void *)0xffffffff81000000ull, LEN, LEN, RW,
		     24),
	     EFAULT, EINVAL);
	munmap(hole, 3 * LEN);
	munmap(ro, LEN);
}

/* Get a key for memory of the driver. */
static int own_key(struct rt *r, void *p, uint64_t len, uint64_t flags,
		   uint64_t *cookie)
{
	struct rt_addr to = agent_at(r);

	return take_key(r->fd, &to, r->ours ? HOW_GET_MR : HOW_MAP, p, len,
			flags, cookie);
}

static void file_memory(struct rt *r)
{
	char name[] = "/tmp/rdmat.XXXXXX";
	int fd = mkstemp(name), rc;
	uint64_t cookie = 0;
	uint8_t *p;

	if (fd < 0 || ftruncate(fd, LEN))
		return;
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/*
	 * Long-term pins of file pages depend on the file system; tmpfs permits
	 * them.
	 */
	rc = own_key(r, p, LEN, RW, &cookie);
	want("key_of_file_memory", rc, 0, EFAULT);
	want("key_of_file_memory_freed", rc ? 0 : free_key(r->fd, cookie, 0), 0,
	     -1);
	ftruncate(fd, 0);
	want("key_beyond_end_of_file", own_key(r, p, LEN, RW, &cookie), EFAULT,
	     -1);
	munmap(p, LEN);
	close(fd);
	unlink(name);
}

static void keys(struct rt *r)
{
	uint8_t *ro = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	struct rds_get_mr_args mr = { .vec = { (uintptr_t)here, LEN } };
	struct rt_addr to = agent_at(r);
	uint64_t cookie = 0;
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0), rc;
	long before = pins();

	want("key_0", own_key(r, here, 0, RW, &cookie), EINVAL, -1);
	want("key_2e32", own_key(r, here, (1ull << 32) + 1, RW, &cookie),
	     EINVAL, EMSGSIZE);
	want("key_wraps", own_key(r, here, ~0ull - 100, RW, &cookie), EINVAL,
	     -1);
	want("key_258_pages", own_key(r, here, 258 * 4096, RW, &cookie),
	     EMSGSIZE, -1);
	want("key_unmapped", own_key(r, (void *)4096, LEN, RW, &cookie), EFAULT,
	     -1);
	want("key_read_only_memory", own_key(r, ro, LEN, RW, &cookie), EFAULT,
	     -1);
	rc = own_key(r, ro, LEN, 0, &cookie);
	want("key_read_only_for_reading", rc, r->ours ? 0 : EFAULT, -1);
	if (!rc)
		want("key_read_only_freed", free_key(r->fd, cookie, 0), 0, -1);
	want("key_cookie_not_writable",
	     own_key(r, here, LEN, RW, (uint64_t *)16), EFAULT, -1);
	want("key_cookie_read_only", own_key(r, here, LEN, RW, (uint64_t *)ro),
	     EFAULT, -1);
	rc = setsockopt(fd, SOL_RDS, RDS_GET_MR, &mr, sizeof(mr)) ? -errno : 0;
	want("key_unbound", rc, ENOTCONN, -1);
	rc = setsockopt(r->fd, SOL_RDS, RDS_GET_MR, &mr, sizeof(mr) - 1) ?
		     -errno :
		     0;
	want("key_short_argument", rc, EINVAL, -1);
	want("free_unknown", free_key(r->fd, 0x1234567, 0), EINVAL, -1);
	rc = cmsg_send(r->fd, &to, RDS_CMSG_RDMA_ARGS, &mr, 32, "x", 1);
	want("args_too_short", rc, EINVAL, -1);
	for (uint64_t end = now_ns() + 5000000000ull;
	     pins() > before && now_ns() < end;)
		usleep(20000);
	/* In-tree RDS unpins some pages only when it flushes its key pools. */
	rt_ok(pins() <= before || !r->ours, "rdma.bad.keys_pin_nothing # %ld",
	      pins() - before);
	munmap(ro, LEN);
	close(fd);
}

/*
 * start(), the key, the functions that test_bad() calls in their order, and
 * mends(); in-tree RDS has no key for reading of read-only memory, which would
 * be freed.
 */
int plan_bad(const struct rt *r)
{
	return 1 + 1 + 8 + 9 + 5 + 14 + r->ours + 3 + 1;
}

void test_bad(struct rt *r)
{
	uint64_t cookie = 0;
	int err;

	if (!start(r, PORT))
		return;
	err = fetch_key(r, HOW_MAP, 8192, 65536, RW, &cookie);
	if (!rt_ok(!err, "rdma.bad.key # %s", strerror(err)))
		return;
	vectors(r, cookie);
	lengths(r, cookie);
	memory(r, cookie);
	keys(r);
	file_memory(r);
	ask4(r, ASK_FREE_ANY, cookie, 0, 0, 0);
	mends(r, "rdma.bad");
}

struct bad_op {
	uint64_t cookie, remote;
	size_t len;
	uint64_t flags;
};

static int bad_op(struct rt *r, const void *arg, uint64_t token)
{
	const struct bad_op *op = arg;

	return one_op(r, op->cookie, op->remote, here, op->len,
		      op->flags | NOTE, token, true);
}

/*
 * One operation that the peer's device must refuse: the status reports an
 * error, the memory is unchanged, and the next operation works.
 */
static void refused(struct rt *r, const char *name, uint64_t cookie,
		    uint64_t remote, size_t len, uint64_t flags)
{
	struct bad_op op = { cookie, remote, len, flags };
	char text[64];
	bool good;
	int rc;

	ask4(r, ASK_FILL, 0, 65536, 9, 0);
	memset(here, 0x5e, len);
	rc = refusal(r, bad_op, &op);
	good = is_refusal(r, rc);
	/*
	 * This module refuses a remote range around the end of the address
	 * space before it is sent.
	 */
	good |= r->ours && remote > ~0ull - 8192 && rc == -EINVAL;
	rt_ok(good, "rdma.badkey.%s.refused # %d", name, rc);
	rt_ok(!ask4(r, ASK_CHECK, 0, 65536, 9, 0),
	      "rdma.badkey.%s.memory_as_it_was", name);
	for (size_t i = 0; !(flags & RW) && i < len; i++)
		if (here[i] != 0x5e &&
		    !rt_ok(false, "rdma.badkey.%s.read_something", name))
			break;
	snprintf(text, sizeof(text), "rdma.badkey.%s", name);
	mends(r, text);
}

static uint64_t fresh(struct rt *r, uint64_t flags)
{
	uint64_t cookie = 0;
	int err = fetch_key(r, HOW_MAP, 8192, 4096, flags, &cookie);

	if (err)
		rt_ok(false, "rdma.badkey.key # %s", strerror(err));
	return cookie;
}

/* start(), and three of each refused() */
int plan_badkey(const struct rt *r)
{
	return 1 + 3 * (8 + r->peer_ours);
}

void test_badkey(struct rt *r)
{
	if (!start(r, PORT + 10))
		return;
	refused(r, "foreign_write", 0xabcdef01u, 0, 512, RW);
	refused(r, "foreign_read", 0xabcdef01u, 0, 512, 0);
	refused(r, "too_short_write", fresh(r, RW), 0, 4097, RW);
	refused(r, "too_short_read", fresh(r, RW), 4000, 512, 0);
	refused(r, "next_key", fresh(r, RW) + 1, 0, 512, RW);
	refused(r, "far_offset", fresh(r, RW), 1ull << 40, 512, RW);
	refused(r, "offset_wraps", fresh(r, RW), ~0ull - 255, 512, RW);
	refused(r, "before_start", fresh(r, RW), ~0ull - 8191, 512, RW);
	/* In-tree RDS gives every key both access rights. */
	if (r->peer_ours)
		refused(r, "wrong_direction", fresh(r, 0), 0, 512, RW);
}
