// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages that wait for one connection: between two ends with this module
 * small messages share frames, and towards in-tree RDS none do. All messages
 * are sent before the connection exists; each driver uses a type of service of
 * its own, so that they need a new connection.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "rt.h"

#define PORT	5100
#define MANY	150
#define SEED	900

/*
 * Messages of all kinds: without payload, copied, and kept in their pages;
 * alone in a frame; the fourth from the end fills a frame.
 */
static const uint32_t sizes[] = { 0,	1,    8,    64, 65,   1023,
				  1024, 1500, 300,  0,	2000, 2000,
				  3952, 0,    3953, 0,	4048, 4096,
				  5000, 4000, 0,    64, 64,   64 };

static uint32_t size_of(unsigned int i)
{
	return sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
}

/*
 * The agent's part: receive a0 messages; v0 is the number of correct messages
 * ahead of the first wrong one.
 */
int joined_take(struct rt *r, const struct areq *q, struct aresp *a)
{
	uint64_t end = now_ns() + q->a[1] * 1000000ull;
	static uint8_t buf[8192];
	unsigned int i;
	int n;

	for (i = 0; i < q->a[0]; i++) {
		/* poll() also reports congestion maps. */
		do {
			n = recv_one(r, r->fd, buf, sizeof(buf), (int)q->a[1],
				     NULL);
		} while (n == -ETIMEDOUT && now_ns() < end);
		if (n < 0 || (uint32_t)n != size_of(i) ||
		    pattern_diff(buf, (size_t)n, SEED + i, 0)) {
			snprintf(a->text, sizeof(a->text),
				 "message %u, of %u bytes: %d", i, size_of(i),
				 n);
			break;
		}
	}
	a->v[0] = i;
	return 0;
}

static long agent_counter(struct rt *r, const char *name)
{
	struct areq q = { .op = ASK_COUNTER };
	struct aresp a;

	snprintf(q.text, sizeof(q.text), "%s", name);
	return ask(r, &q, &a) ? -1 : (long)a.v[0];
}

static unsigned int send_all(struct rt *r)
{
	struct rt_addr to = agent_at(r);
	static uint8_t buf[8192];
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		pattern(buf, size_of(i), SEED + i, 0);
		if (sendto(r->fd, buf, size_of(i), 0, (struct sockaddr *)&to.ss,
			   to.len) < 0)
			break;
	}
	return i;
}

int plan_joined(const struct rt *r)
{
	(void)r;
	return 3;
}

void test_joined(struct rt *r)
{
	struct areq q = { .op = ASK_JOINED, .a = { MANY, 20000ull * r->slow } };
	bool low = memcmp(&r->self.ss, &r->peer.ss, sizeof(r->self.ss)) < 0;
	bool to_itself = !memcmp(&r->self.ss, &r->peer.ss, sizeof(r->self.ss));
	rds_tos_t tos = to_itself ? 240 : low ? 40 : 140;
	int room = 4 << 20;
	struct aresp a;
	unsigned int sent;
	long tx, rx;
	bool took;

	if (!start(r, PORT))
		return;
	tx = counter("rdma_tx_joined");
	rx = agent_counter(r, "rdma_rx_joined");
	sent = ioctl(r->fd, SIOCRDSSETTOS, &tos) ||
			       setsockopt(r->fd, SOL_SOCKET, SO_SNDBUFFORCE,
					  &room, sizeof(room)) ?
		       0 :
		       send_all(r);
	memset(&a, 0, sizeof(a));
	took = !ask(r, &q, &a);
	rt_ok(sent == MANY && took && a.v[0] == MANY,
	      "rdma.joined.all_right # %u sent, %llu right %s", sent, (ull)a.v[0], a.text);
	/* In-tree RDS does not have these counters: both values are -1 then. */
	tx = counter("rdma_tx_joined") - tx;
	rx = agent_counter(r, "rdma_rx_joined") - rx;
	if (r->ours && r->peer_ours)
		/*
		 * A lost connection loses frames, whose messages are sent
		 * again.
		 */
		rt_ok(rx > 1 && tx >= rx,
		      "rdma.joined.some # %ld sent, %ld received", tx, rx);
	else
		rt_ok(!tx && !rx, "rdma.joined.none # %ld sent, %ld received",
		      tx, rx);
}
