// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds_rdma is unloaded and loaded again at the agent, while the driver keeps
 * its socket and its unacknowledged messages. Messages are numbered: the
 * agent's sockets before and after together receive every number, but for
 * messages that arrived for a closed socket, which counters report.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rt.h"

#define PORT	4700
#define ROUNDS	3
#define QUIET	40		/* messages that wait while the link is cut */
#define BEFORE	150		/* received before the unloading, and after */
#define LARGEST	65536

static uint32_t len_of(uint64_t n)
{
	return n % 16 ? 8 + (uint32_t)(mix64(n) % 3000) : LARGEST;
}

static bool push(int fd, const struct rt_addr *to, uint64_t n)
{
	static uint8_t out[LARGEST];
	ssize_t len = len_of(n);

	pattern(out, (size_t)len, n + 1, 0);
	memcpy(out, &n, 8);
	return sendto(fd, out, (size_t)len, MSG_DONTWAIT,
		      (const struct sockaddr *)&to->ss, to->len) == len;
}

/*
 * Receive the next message; return its number, or ~0 on timeout. @whole: length
 * and content are right.
 */
static uint64_t take(struct rt *r, int ms, bool *whole)
{
	static uint8_t in[LARGEST + 1], want[LARGEST];
	uint64_t n, end = now_ns() + (uint64_t)ms * 1000000;
	int len;

	do {
		len = recv_one(r, r->fd, in, sizeof(in), ms, NULL);
	} while ((len == -EINTR || len == -ETIMEDOUT) && now_ns() < end);
	if (len < 8)
		return ~0ull;
	memcpy(&n, in, 8);
	*whole = (uint32_t)len == len_of(n);
	if (*whole) {
		pattern(want, (size_t)len, n + 1, 0);
		*whole = !memcmp(want + 8, in + 8, (size_t)len - 8);
	}
	return n;
}

/*
 * The agent's part: receive up to number @end - 1. v0 is the first number, v1
 * the number after the last, v2 the number of messages that are damaged or out
 * of order.
 */
static void take_until(struct rt *r, uint64_t end, int ms, struct aresp *a)
{
	uint64_t n;
	bool whole;

	a->v[0] = ~0ull;
	a->v[2] = 0;
	for (a->v[1] = 0; a->v[1] < end; a->v[1] = n + 1) {
		n = take(r, ms, &whole);
		if (n == ~0ull)
			break;
		if (a->v[0] == ~0ull)
			a->v[0] = n;
		else
			whole = whole && n == a->v[1];
		a->v[2] += !whole;
	}
}

int reload_take(struct rt *r, const struct areq *q, struct aresp *a)
{
	take_until(r, q->a[0], (int)q->a[1], a);
	return 0;
}

/* Open a socket, once the transport serves the address again. */
static int open_again(struct rt *r, unsigned int port)
{
	uint64_t end = now_ns() + 20000000000ull * r->slow;
	struct timespec pause = { .tv_nsec = 5000000 };

	do {
		r->fd = rt_open(&r->self, (uint16_t)port);
		if (r->fd >= 0)
			return 0;
		nanosleep(&pause, NULL);
	} while (now_ns() < end);
	return -r->fd;
}

static long unread(void)
{
	return counter("recv_queued") - counter("recv_delivered");
}

static long dropped(void)
{
	return counter("recv_drop_no_sock") + counter("recv_drop_dead_sock");
}

/*
 * Messages lost at closed sockets: queued but never read, or without a socket.
 */
long reload_lost(void)
{
	return unread() + dropped();
}

/*
 * The agent's part: close the socket, which alone holds the module, unload and
 * load the module, and open the socket again. v3 is the number of messages lost
 * by that.
 */
int reload_module(struct rt *r, struct aresp *a)
{
	uint64_t end = now_ns() + 20000000000ull * r->slow;
	long lost;
	int rc;

	close(r->fd);
	r->fd = -1;
	do {
		rc = run_shell("rmmod rds_rdma 2>/dev/null");
	} while (rc && now_ns() < end);
	if (rc)
		return EBUSY;
	if (run_shell(". selftests/lib/stack.sh && load_stack ours rds_rdma"))
		return ENOENT;
	lost = unread();
	rc = open_again(r, r->port);
	lost += dropped();
	a->v[3] = (uint64_t)(lost - r->lost);
	r->lost = lost;
	return rc;
}

/*
 * Messages that the network drops arrive once and in order after the peer's
 * module is loaded again. The last few messages before the cut may be
 * unacknowledged, because none requested an acknowledgement, and are received
 * again then.
 *
 * With -w link the driver's link is down meanwhile. The agent loses its
 * connection and requests another at that moment; a refusal must not come from
 * the packet that rxe cannot route.
 */
static uint64_t quiet_round(struct rt *r, unsigned int round, uint64_t n)
{
	struct areq take = { .op = ASK_TAKE,
			     .a = { n + QUIET, 20000ull * r->slow } };
	struct areq reload = { .op = ASK_RELOAD };
	long rebooted = drops("peer_rebooted");
	bool link = !strcmp(r->way, "link");
	struct rt_addr to = agent_at(r);
	struct aresp a, b;
	unsigned int again, waiting;
	bool sent = true;
	int rc;

	for (uint64_t i = 0; i < QUIET; i++)
		sent = sent && push(r->fd, &to, n + i);
	ask(r, &take, &a);
	rt_ok(sent && a.v[0] == n && a.v[1] == n + QUIET && !a.v[2],
	      "rdma.reload.%u.before # %llu to %llu of %llu, %llu wrong", round, (ull)a.v[0],
	      (ull)a.v[1], (ull)n, (ull)a.v[2]);
	n += QUIET;
	again = unacked_from(r, (uint16_t)r->port);
	rt_ok(!run_shell(link ? "ip link set rds0 down" :
				"tc qdisc add dev rds0 root netem loss 100%"),
	      "rdma.reload.%u.cut_off", round);
	for (uint64_t i = 0; i < QUIET; i++)
		sent = sent && push(r->fd, &to, n + i);
	rc = ask(r, &reload, &b);
	rt_ok(!rc && !b.v[3], "rdma.reload.%u.reloaded # %s, %llu came", round,
	      strerror(rc), (ull)b.v[3]);
	waiting = unacked_from(r, (uint16_t)r->port);
	rt_ok(sent && !run_shell(link ? "ip link set rds0 up" :
					"tc qdisc del dev rds0 root"),
	      "rdma.reload.%u.reached_again # %u of %u under way", round,
	      waiting, again + QUIET);
	take.a[0] = n + QUIET;
	ask(r, &take, &a);
	rt_ok(a.v[0] <= n && a.v[0] + again >= n && a.v[1] == n + QUIET &&
		      !a.v[2],
	      "rdma.reload.%u.once_and_in_order # %llu to %llu of %llu, %u unacknowledged, %llu wrong",
	      round, (ull)a.v[0], (ull)a.v[1], (ull)n, again, (ull)a.v[2]);
	/*
	 * Otherwise numbers of the new incarnation would count as duplicates.
	 */
	rt_ok(drops("peer_rebooted") > rebooted,
	      "rdma.reload.%u.another_incarnation", round);
	return n + QUIET;
}

/* Send until number @end, or until the agent has answered. */
static uint64_t push_until(struct rt *r, uint64_t n, uint64_t end,
			   bool *answered)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	struct rt_addr to = agent_at(r);

	while (n < end && !*answered) {
		if (push(r->fd, &to, n))
			n++;
		else
			nanosleep(&pause, NULL);
		*answered = ask_answered(r);
	}
	return n;
}

/*
 * The module is unloaded during traffic. The second socket may receive again
 * what the first received but did not acknowledge: to the new module this peer
 * is unknown.
 */
static uint64_t busy_round(struct rt *r, unsigned int round, uint64_t n)
{
	struct areq take = { .op = ASK_TAKE,
			     .a = { n + BEFORE, 20000ull * r->slow } };
	struct areq reload = { .op = ASK_RELOAD };
	long resets = counter("conn_reset");
	struct aresp a, b, c;
	bool answered = false;
	uint64_t opened;
	int rc;

	ask_begin(r, &take);
	n = push_until(r, n, ~0ull, &answered);
	ask_end(r, &a);
	rt_ok(a.v[0] == take.a[0] - BEFORE && a.v[1] == take.a[0] && !a.v[2],
	      "rdma.reload.%u.traffic # %llu to %llu, %llu wrong", round, (ull)a.v[0], (ull)a.v[1],
	      (ull)a.v[2]);
	ask_begin(r, &reload);
	answered = false;
	n = push_until(r, n, ~0ull, &answered);
	rc = ask_end(r, &b);
	rt_ok(!rc, "rdma.reload.%u.unloaded_under_traffic # %s", round,
	      strerror(rc));
	opened = n;
	take.a[0] = n + BEFORE;
	ask_begin(r, &take);
	answered = false;
	n = push_until(r, n, take.a[0], &answered);
	ask_end(r, &c);
	printf("# reload: read to %llu, %llu lost with the socket, then %llu to %llu; %llu sent meanwhile; conn_reset +%ld\n",
	       (ull)a.v[1], (ull)b.v[3], (ull)c.v[0], (ull)c.v[1],
	       (ull)(opened - a.v[1]), counter("conn_reset") - resets);
	rt_ok(c.v[0] <= a.v[1] + b.v[3] && c.v[0] <= opened,
	      "rdma.reload.%u.none_lost # %llu after %llu and %llu", round,
	      (ull)c.v[0], (ull)a.v[1], (ull)b.v[3]);
	rt_ok(c.v[1] == take.a[0] && !c.v[2],
	      "rdma.reload.%u.resumes_in_order # to %llu of %llu, %llu wrong",
	      round, (ull)c.v[1], (ull)take.a[0], (ull)c.v[2]);
	rt_ok(counter("conn_reset") > resets, "rdma.reload.%u.connection_ended",
	      round);
	return n;
}

static unsigned int rounds_of(const struct rt *r)
{
	return r->resets ? r->resets : ROUNDS;
}

/* start(); in each round six quiet, five busy, and mends() */
int plan_reload(const struct rt *r)
{
	return 1 + (int)rounds_of(r) * (6 + 5 + 1);
}

void test_reload(struct rt *r)
{
	unsigned int rounds = rounds_of(r);
	uint64_t n = 0;
	char name[32];

	if (!start(r, PORT))
		return;
	for (unsigned int i = 0; i < rounds; i++) {
		n = quiet_round(r, i, n);
		n = busy_round(r, i, n);
		snprintf(name, sizeof(name), "rdma.reload.%u", i);
		mends(r, name);
	}
}
