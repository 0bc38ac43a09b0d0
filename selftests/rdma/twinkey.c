// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-twinkey hold|use SELF PEER [RKEY ADDR]
 * Keys of RDS beside those of the second user of devices (rds_twin.ko).  SELF
 * and PEER are addresses of this host, and all sockets are in this program.
 *
 * hold: make a key of RDS at PEER, print "RKEY ADDR", wait for a line, and exit
 * 0 if nothing was written to the memory and RDS can still write to it.
 * use: write to a key that is not of RDS; exit 0 if that is refused and RDS
 * works afterwards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt.h"

#define PORT	6300
#define LEN	4096
#define RW	RDS_RDMA_READWRITE

static struct rt r;
static struct rt_addr there;	/* of peer_fd */
static int peer_fd;
static uint8_t here[LEN] __attribute__((aligned(4096)));
static uint8_t far[LEN] __attribute__((aligned(4096)));
static uint64_t next_token = 1;

static int write_to(uint64_t cookie, uint64_t seed, size_t len)
{
	struct rds_iovec v = { (uintptr_t)here, len };
	struct rdma_op op = { .cookie = cookie,
			      .bytes = len,
			      .vec = &v,
			      .nvec = 1,
			      .flags = RW | RDS_RDMA_NOTIFY_ME,
			      .token = next_token++,
			      .data = "x",
			      .len = 1 };
	int rc;

	pattern(here, LEN, seed, 0);
	rc = rdma_send(r.fd, &there, &op);
	return rc ? rc : wait_token(&r, r.fd, op.token, 20000);
}

/* poll() may return for other reasons than a message. */
static int hear(void *buf, size_t size)
{
	uint64_t end = now_ns() + 20000000000ull * r.slow;
	int n;

	do {
		n = recv_one(&r, peer_fd, buf, size, 1000, NULL);
	} while ((n == -ETIMEDOUT || n == -EINTR) && now_ns() < end);
	return n;
}

/* RDS writes to a key of its own. */
static bool writes(uint64_t cookie, uint64_t seed)
{
	uint8_t x[8];
	int rc = write_to(cookie, seed, LEN);
	int n = hear(x, sizeof(x));

	if (!rc && n == 1 && !pattern_diff(far, LEN, seed, 0))
		return true;
	fprintf(stderr, "# RDS does not write: %d, %d\n", rc, n);
	return false;
}

static uint64_t far_key(void)
{
	uint64_t cookie = 0;
	int rc = take_key(peer_fd, &there, HOW_GET_MR, far, LEN, RW, &cookie);

	if (rc)
		die("no key: %d", rc);
	return cookie;
}

static bool hold(void)
{
	uint64_t cookie = far_key();
	size_t bad;
	char line[16];

	if (!writes(cookie, 1))
		return false;
	printf("%llu %llu\n", (ull)(uint32_t)cookie, (ull)(cookie >> 32));
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return false;
	bad = pattern_diff(far, LEN, 1, 0);
	if (bad)
		fprintf(stderr, "# written at %zu\n", bad - 1);
	return !bad && writes(cookie, 2);
}

static bool use(const char *rkey, const char *addr)
{
	uint64_t cookie = strtoull(rkey, NULL, 0) |
			  strtoull(addr, NULL, 0) << 32;
	int rc = write_to(cookie, 3, 8);

	fprintf(stderr, "# status %d\n", rc);
	return rc > 0 && writes(far_key(), 4);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		die("usage: rds-twinkey hold|use SELF PEER [RKEY ADDR]");
	peer_fd = rt_open_both(&r, argv[2], argv[3], PORT, &there);
	if (!strcmp(argv[1], "hold"))
		return !hold();
	if (!strcmp(argv[1], "use") && argc == 6)
		return !use(argv[4], argv[5]);
	die("no test %s", argv[1]);
}
