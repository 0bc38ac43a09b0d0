// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An operation on a freed key ends the connection; rds-ping gets an answer
 * again over the next.
 */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "rt.h"

#define PORT	4950
#define ROUNDS	4
#define LEN	4096
#define RW	RDS_RDMA_READWRITE
#define NOTE	RDS_RDMA_NOTIFY_ME
#define PATIENCE_MS 20000

static uint8_t here[LEN];

static void host(const struct rt_addr *a, char *text, size_t size)
{
	if (getnameinfo((const struct sockaddr *)&a->ss, a->len, text,
			(socklen_t)size, NULL, 0, NI_NUMERICHOST))
		die("address");
}

/* One ping; returns milliseconds, or -1 if there is no answer. */
static long ping(struct rt *r)
{
	char self[INET6_ADDRSTRLEN + 16], peer[INET6_ADDRSTRLEN + 16], cmd[256];
	uint64_t began = now_ns();

	host(&r->self, self, sizeof(self));
	host(&r->peer, peer, sizeof(peer));
	snprintf(cmd, sizeof(cmd),
		 "$RDS_BIN/rds-ping -T rdma -c 1 -i %ums -I %s %s >/dev/null",
		 PATIENCE_MS * r->slow, self, peer);
	return run_shell(cmd) ? -1 : (long)((now_ns() - began) / 1000000);
}

static void one_round(struct rt *r, unsigned int n)
{
	bool write = n & 1;
	uint64_t cookie = 0, token = 1 + 2 * n;
	int err = fetch_key(r, HOW_MAP, 8192, LEN, RW, &cookie), rc;
	long ms;

	if (!rt_ok(!err, "rdma.freed.%u.key # %s", n, strerror(err)))
		return;
	rc = one_op(r, cookie, 0, here, LEN, NOTE | (write ? RW : 0), token,
		    true);
	rt_ok(!rc, "rdma.freed.%u.works_before # %d", n, rc);
	ask4(r, ASK_FREE, cookie, RDS_RDMA_INVALIDATE, 0, 0);
	rc = one_op(r, cookie, 0, here, LEN, NOTE | (write ? RW : 0), token + 1,
		    true);
	ms = ping(r);
	rt_ok(rc > 0, "rdma.freed.%u.refused # %d", n, rc);
	rt_ok(ms >= 0, "rdma.freed.%u.ping_answered # %ld ms", n, ms);
}

/* start(), four in each round, and mends() */
int plan_freed(const struct rt *r)
{
	(void)r;
	return 1 + 4 * ROUNDS + 1;
}

void test_freed(struct rt *r)
{
	if (!start(r, PORT))
		return;
	for (unsigned int n = 0; n < ROUNDS; n++)
		one_round(r, n);
	mends(r, "rdma.freed");
}
