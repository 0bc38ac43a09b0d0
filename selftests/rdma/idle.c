// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections that nobody uses end at both ends, come back with the next
 * message of either end, and stay while they are used: by messages, or by
 * operations of which the other end sees no message. That is between two hosts
 * with this module; one with in-tree RDS stays.
 */
#include <errno.h>
#include <string.h>

#include "rt.h"

#define PORT		5300
#define IDLE_MS		2000
#define MESSAGES	30
#define SYSCTL		"/proc/sys/net/rds/"

struct idle {
	struct rt *r;
	long ups;		/* connections that have come up here so far */
};

static void limits(struct rt *r, int ms)
{
	struct areq q = { .op = ASK_SHELL };
	struct aresp a = { 0 };
	char text[16];

	snprintf(text, sizeof(text), "%d", ms);
	if (r->ours && !file_write(SYSCTL "connection_idle_ms", text))
		die("connection_idle_ms: %m");
	snprintf(q.text, sizeof(q.text), "echo %d >" SYSCTL "connection_idle_ms",
		 ms);
	if (r->peer_ours && ask(r, &q, &a))
		die("agent: connection_idle_ms");
}

static long ups(void)
{
	return counter("rdma_conn_up");
}

static bool is_down(void *arg)
{
	struct idle *i = arg;

	return !connected(i->r);
}

static bool is_down_there(void *arg)
{
	struct idle *i = arg;
	struct areq q = { .op = ASK_CONNECTED };
	struct aresp a = { 0 };

	return !ask(i->r, &q, &a) && !a.v[0];
}

static bool all_acked(void *arg)
{
	struct idle *i = arg;

	return !unacked_from(i->r, (uint16_t)i->r->port);
}

static bool push(struct rt *r, uint64_t id)
{
	struct rt_addr to = agent_at(r);

	return sendto(r->fd, &id, sizeof(id), 0, (struct sockaddr *)&to.ss,
		      to.len) == sizeof(id);
}

/* Messages to the agent, each of which comes once */
static bool send_some(struct rt *r)
{
	struct areq q = { .op = ASK_SEEN, .a = { MESSAGES, 500ull * r->slow } };
	struct aresp a = { 0 };
	bool good = true;

	for (uint64_t i = 0; i < MESSAGES; i++)
		good = good && push(r, i);
	ask(r, &q, &a);
	return good && a.v[0] == MESSAGES && !a.v[1];
}

/* A message of the agent */
static bool hear_one(struct rt *r)
{
	uint64_t end = now_ns() + 20000000000ull * r->slow;
	struct areq q = { .op = ASK_SAY, .a = { r->port } };
	struct aresp a;
	char buf[64];
	int n;

	if (ask(r, &q, &a))
		return false;
	do {
		n = recv_one(r, r->fd, buf, sizeof(buf), 1000, NULL);
	} while ((n == -ETIMEDOUT || n == -EINTR) && now_ns() < end);
	return n == 4;
}

static bool ends(struct idle *i)
{
	long ms = (4 * IDLE_MS + 10000) * (long)i->r->slow;

	return wait_until(is_down, i, ms) && wait_until(is_down_there, i, ms);
}

/* Does nobody dial for a time in which an idle connection would have ended? */
static bool rests(struct idle *i)
{
	long before = ups();

	nap(i->r, 2 * IDLE_MS);
	return is_down(i) && is_down_there(i) && ups() == before;
}

static void comes_and_goes(struct idle *i)
{
	struct rt *r = i->r;
	bool came = send_some(r), acked, gone;

	rt_ok(came && connected(r), "rdma.idle.begins");
	acked = wait_until(all_acked, i, 5000 * (long)r->slow);
	rt_ok(acked && connected(r), "rdma.idle.acknowledged_in_time");
	gone = ends(i);
	rt_ok(gone, "rdma.idle.ends # down here %d, there %d", is_down(i),
	      is_down_there(i));
	rt_ok(rests(i), "rdma.idle.rests # %ld came up", ups());
	i->ups = ups();
	rt_ok(send_some(r) && ups() > i->ups, "rdma.idle.comes_back");
	gone = ends(i);
	i->ups = ups();
	rt_ok(gone && hear_one(r) && ups() > i->ups,
	      "rdma.idle.comes_back_from_there # gone %d", gone);
}

/* A message now and then, from this end only */
static void traffic_keeps(struct idle *i)
{
	struct areq q = { .op = ASK_SEEN, .a = { 64, 500ull * i->r->slow } };
	bool sent = send_some(i->r);
	struct aresp a = { 0 };
	uint64_t n = 0;

	i->ups = ups();
	for (; n < 16; n++) {
		nap(i->r, IDLE_MS / 5);
		sent = sent && push(i->r, n);
	}
	ask(i->r, &q, &a);
	rt_ok(sent && a.v[0] == n && ups() == i->ups && connected(i->r),
	      "rdma.idle.traffic_keeps # %llu of %llu, %ld came up",
	      (ull)a.v[0], (ull)n, ups() - i->ups);
}

/* Operations without a message, which the owner of the key does not see */
static void operations_keep(struct idle *i)
{
	static uint8_t local[4096];
	uint64_t cookie = 0, token;
	int good = 0, rc;

	rc = fetch_key(i->r, HOW_GET_MR, 0, sizeof(local), RDS_RDMA_READWRITE,
		       &cookie);
	rt_ok(!rc, "rdma.idle.key # %s", strerror(rc < 0 ? -rc : rc));
	good += one_op(i->r, cookie, 0, local, sizeof(local),
		       RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, 1, true) ==
		RDS_RDMA_SUCCESS;
	i->ups = ups();
	for (token = 2; token < 18; token++) {
		nap(i->r, IDLE_MS / 5);
		good += one_op(i->r, cookie, 0, local, sizeof(local),
			       RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT, token,
			       true) == RDS_RDMA_SUCCESS;
	}
	rt_ok(good == 17 && ups() == i->ups && connected(i->r),
	      "rdma.idle.operations_keep # %d of 17, %ld came up", good,
	      ups() - i->ups);
	ask4(i->r, ASK_FREE, cookie, 0, 0, 0);
	rt_ok(ends(i), "rdma.idle.ends_without_key");
}

/*
 * Does the peer call again by itself, if this end ends the connection and keeps
 * it out?  This end calls it as well.
 */
static void say_calls(const struct rt *r)
{
	long denied = drops("peer_denied");

	if (!file_write(SYSCTL "peer_networks", "192.0.2.0/24"))
		die("peer_networks: %m");
	nap(r, IDLE_MS);
	printf("# idle: called %ld times without a message\n",
	       drops("peer_denied") - denied);
	if (!file_write(SYSCTL "peer_networks", "\n"))
		die("peer_networks: %m");
}

/* What in-tree RDS does is its own affair, so the connection with it stays. */
static void stays(struct idle *i)
{
	bool came = send_some(i->r);

	i->ups = ups();
	nap(i->r, 3 * IDLE_MS);
	rt_ok(came && connected(i->r) && ups() == i->ups, "rdma.idle.stays # %ld came up",
	      ups() - i->ups);
	say_calls(i->r);
}

int plan_idle(const struct rt *r)
{
	return r->peer_ours ? 11 : 2;
}

/* The driver has our stack: in-tree RDS ends no idle connection. */
void test_idle(struct rt *r)
{
	struct idle i = { .r = r };

	if (!start(r, PORT))
		return;
	limits(r, IDLE_MS * (int)r->slow);
	if (r->peer_ours) {
		comes_and_goes(&i);
		traffic_keeps(&i);
		operations_keep(&i);
	} else {
		stays(&i);
	}
	/* The limits remain: a connection may look at them a minute later. */
}
