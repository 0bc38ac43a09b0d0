// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A flood from eight addresses of the agent, while the driver's receive rings
 * are not refilled for two seconds: the peers wait for credit, no connection is
 * lost, and all messages arrive.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rt.h"

#define PORT	4970
#define PEERS	8
#define FIRST	101	/* last byte of the first of the agent's addresses */
#define LEN	65536
#define STALL	"/sys/module/rds_stall/parameters/"
#define HOLD_NS	2000000000ull
#define QUIET_NS 500000000ull	/* at the end of the stall */

static uint64_t seed_of(uint64_t peer, uint64_t n)
{
	return (peer << 32) + n + 1;
}

static bool push(int fd, const struct rt_addr *to, uint64_t peer, uint64_t n)
{
	static uint8_t out[LEN];

	pattern(out, LEN, seed_of(peer, n), 0);
	memcpy(out, &peer, 8);
	return sendto(fd, out, LEN, MSG_DONTWAIT,
		      (const struct sockaddr *)&to->ss, to->len) == LEN;
}

/* The agent's part: send a0 messages from each address, to port a1. */
int stall_flood(struct rt *r, const struct areq *q)
{
	struct rt_addr to = r->peer, from = r->self;
	uint8_t *last = (uint8_t *)&((struct sockaddr_in *)&from.ss)->sin_addr +
			3;
	struct pollfd p[PEERS];
	uint64_t sent[PEERS] = { 0 }, left = PEERS * q->a[0];

	rt_addr_port(&to, (uint16_t)q->a[1]);
	for (int i = 0; i < PEERS; i++) {
		*last = (uint8_t)(FIRST + i);
		p[i] = (struct pollfd){ .fd = rt_open(&from, 0),
					.events = POLLOUT };
		if (p[i].fd < 0)
			return -p[i].fd;
	}
	while (left) {
		poll(p, PEERS, 20);
		for (uint64_t i = 0; i < PEERS; i++) {
			if (sent[i] == q->a[0] ||
			    !push(p[i].fd, &to, i, sent[i]))
				continue;
			left--;
			if (++sent[i] == q->a[0])
				p[i].events = 0;
		}
	}
	/*
	 * The sockets stay open until the agent exits: closing them would
	 * discard unacknowledged messages.
	 */
	return 0;
}

static long stall_read(const char *what)
{
	char path[96];
	long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), STALL "%s", what);
	f = fopen(path, "r");
	if (f && fscanf(f, "%ld", &v) != 1)
		v = -1;
	if (f)
		fclose(f);
	return v;
}

static void stall(bool on)
{
	FILE *f = fopen(STALL "stall", "w");

	if (!f || fputs(on ? "1" : "0", f) < 0)
		die("no module rds_stall");
	fclose(f);
}

struct sink {
	uint64_t next[PEERS], got, wrong, last_at;
};

/*
 * Receive one message within @ms; the messages of each peer must be in order
 * and undamaged.
 */
static bool take(struct rt *r, struct sink *s, int ms)
{
	static uint8_t in[LEN + 1], want[LEN];
	int n = recv_one(r, r->fd, in, sizeof(in), ms, NULL);
	uint64_t peer;

	if (n < 0)
		return false;
	memcpy(&peer, in, 8);
	if (n != LEN || peer >= PEERS) {
		s->wrong++;
	} else {
		pattern(want, LEN, seed_of(peer, s->next[peer]++), 0);
		s->wrong += !!memcmp(want + 8, in + 8, LEN - 8);
	}
	s->got++;
	s->last_at = now_ns();
	return true;
}

static bool take_until(struct rt *r, struct sink *s, uint64_t got, uint64_t end)
{
	while (s->got < got && now_ns() < end)
		take(r, s, 20);
	return s->got >= got;
}

/* Exactly @count messages of each peer */
static bool all_came(const struct sink *s, uint64_t count)
{
	bool all = s->got == PEERS * count;

	for (int i = 0; i < PEERS; i++)
		all = all && s->next[i] == count;
	return all;
}

static uint64_t there(struct rt *r, const char *name)
{
	struct areq q = { .op = ASK_COUNTER };
	struct aresp a;

	snprintf(q.text, sizeof(q.text), "%s", name);
	return ask(r, &q, &a) ? 0 : a.v[0];
}

int plan_stall(const struct rt *r)
{
	(void)r;
	return 9;
}

void test_stall(struct rt *r)
{
	uint64_t total = PEERS * (uint64_t)r->count,
		 far = now_ns() + 150000000000ull * r->slow;
	struct areq q = { .op = ASK_FLOOD, .a = { r->count, PORT } };
	uint64_t throttled = there(r, "ib_tx_throttle"),
		 resets = there(r, "conn_reset");
	long resets_here = counter("conn_reset"),
	     refused = stall_read("refused");
	uint64_t before, quiet, end, resumed = 0;
	struct sink s = { 0 };
	struct aresp a;

	if (!start(r, PORT) || !rt_ok(refused >= 0, "rdma.stall.module"))
		return;
	ask_begin(r, &q);
	/* Wait until messages of all eight addresses have arrived. */
	for (bool all = false; !all && now_ns() < far;) {
		take(r, &s, 100);
		all = true;
		for (int i = 0; i < PEERS; i++)
			all = all && s.next[i];
	}
	stall(true);
	end = now_ns() + HOLD_NS * r->slow;
	take_until(r, &s, total, end);
	before = s.got;
	quiet = now_ns() - s.last_at;
	refused = stall_read("refused") - refused;
	stall(false);
	end = now_ns();
	if (take_until(r, &s, before + 1, far))
		resumed = s.last_at - end;
	take_until(r, &s, total, far);
	ask_end(r, &a);
	/* No message may come in addition: its sender has sent all. */
	while (take(r, &s, 200))
		;
	throttled = there(r, "ib_tx_throttle") - throttled;
	printf("# stall: %llu messages before its end, then quiet for %llu ms; resumed after %llu ms; %ld pages refused\n",
	       (ull)before, (ull)quiet / 1000000, (ull)resumed / 1000000,
	       refused);
	rt_ok(!a.err, "rdma.stall.flood # %s", strerror(a.err));
	rt_ok(refused > 0 && before < total && quiet >= QUIET_NS,
	      "rdma.stall.stalls # %llu of %llu came", (ull)before, (ull)total);
	rt_ok(throttled >= PEERS, "rdma.stall.counted # ib_tx_throttle +%llu",
	      (ull)throttled);
	rt_ok(resumed, "rdma.stall.resumes # %llu ms", (ull)resumed / 1000000);
	rt_ok(all_came(&s, r->count), "rdma.stall.all_come # %llu of %llu",
	      (ull)s.got, (ull)total);
	rt_ok(!s.wrong, "rdma.stall.whole_and_in_order # %llu", (ull)s.wrong);
	rt_ok(counter("conn_reset") == resets_here &&
		      there(r, "conn_reset") == resets,
	      "rdma.stall.no_connection_dropped # %ld here, %llu there",
	      counter("conn_reset") - resets_here,
	      (ull)(there(r, "conn_reset") - resets));
}
