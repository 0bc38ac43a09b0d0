// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer that sends to a full socket whatever the congestion map says. The
 * agent queues all messages before there is a connection, so none of them waits
 * for the map: the driver keeps the agent's requests out until then
 * (peer_networks). Each round has a type of service, and so a connection, of
 * its own. The last message is for another socket. The driver has this module,
 * the agent any.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "rt.h"

#define PORT		5200
#define FULL_PORT	5210
#define OTHER_PORT	5211
#define BOUND		(16ull << 20)	/* least value of recv_queue_max_bytes */
#define MOST		(BOUND + BOUND / 4)
#define SOCKETS		6		/* sockets that the agent sends from */
#define ACROSS		300		/* messages to the agent meanwhile */
#define SOME		100		/* messages with more than a quarter of BOUND */
#define PAGE		4096
#define SYSCTL		"/proc/sys/net/rds/"
/* A counter of rxe */
#define RNR		"/sys/class/infiniband/rxe0/ports/1/hw_counters/" \
			"retry_rnr_exceeded_err"

struct round {
	const char *name;
	uint64_t count, len;
	rds_tos_t tos;
	bool grace;		/* one that lasts for the whole round */
	bool both;		/* the agent holds as well */
};

static const struct round rounds[] = {
	{ "large", 480, 65536, 32, true, false },
	{ "small", 20000, 1000, 64, true, false },
	{ "drops", 480, 65536, 96, false, false },
	{ "both", 480, 65536, 128, true, true },
};

struct held {
	struct rt *r;
	const struct round *round;
	int full, other;	/* sockets: full, and that of the last message */
	long holds, dropped, agent_holds, lost;
	uint64_t read;
};

static int flood[SOCKETS];

static void flood_end(void)
{
	for (int i = 0; i < SOCKETS; i++) {
		if (flood[i] > 0)
			close(flood[i]);
		flood[i] = 0;
	}
}

static bool flood_open(const struct rt_addr *self, rds_tos_t tos)
{
	flood_end();
	for (int i = 0; i < SOCKETS; i++) {
		flood[i] = rt_open(self, 0);
		if (flood[i] < 0 || ioctl(flood[i], SIOCRDSSETTOS, &tos))
			return false;
	}
	return true;
}

static uint64_t flood_send(int fd, struct rt_addr to, uint16_t port, void *buf,
			   size_t len)
{
	rt_addr_port(&to, port);
	return sendto(fd, buf, len, MSG_DONTWAIT, (struct sockaddr *)&to.ss,
		      to.len) == (ssize_t)len;
}

/* Messages with numbers, and one for the other socket; returns how many. */
static uint64_t flood_all(const struct rt_addr *self, const struct rt_addr *to,
			  uint64_t count, uint64_t len, rds_tos_t tos)
{
	static uint8_t buf[MAX_MSG];
	uint64_t i = 0;

	if (!flood_open(self, tos))
		return 0;
	for (; i < count; i++) {
		memcpy(buf, &i, sizeof(i));
		memcpy(buf + len - sizeof(i), &i, sizeof(i));
		if (!flood_send(flood[i % SOCKETS], *to, FULL_PORT, buf, len))
			return i;
	}
	return i + flood_send(flood[0], *to, OTHER_PORT, buf, 8);
}

/*
 * The agent's part: with a2, queue a0 messages of a1 bytes with type of service
 * a3; else forget them.
 */
int held_flood(struct rt *r, const struct areq *q, struct aresp *a)
{
	if (q->a[2])
		a->v[0] = flood_all(&r->self, &r->peer, q->a[0], q->a[1],
				    (rds_tos_t)q->a[3]);
	else
		flood_end();
	return 0;
}

/* A socket for the flood: with a receive buffer that makes BOUND the bound */
static int full_socket(const struct rt_addr *self, uint16_t port)
{
	int fd = rt_open(self, port), room = 32768;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room,
				  sizeof(room)))
		die("SO_RCVBUF: %m");
	return fd;
}

/* Pages that are charged for messages that wait at all RDS sockets */
static long charged(void)
{
	FILE *f = fopen("/proc/net/protocols", "r");
	char line[256];
	long n = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RDS %*d %*d %ld", &n);
	if (f)
		fclose(f);
	return n;
}

static void set(const char *name, const char *value)
{
	char path[80];

	snprintf(path, sizeof(path), SYSCTL "%s", name);
	if (!file_write(path, value))
		die("cannot write %s", path);
}

static void set_limits(const char *bound, const char *grace)
{
	set("recv_queue_max_bytes", bound);
	set("recv_queue_grace_ms", grace);
}

static void agent_runs(struct rt *r, const char *cmd)
{
	struct areq q = { .op = ASK_SHELL };
	struct aresp a;

	snprintf(q.text, sizeof(q.text), "%s", cmd);
	if (ask(r, &q, &a))
		die("agent: %s", cmd);
}

/*
 * Connections that were up and were lost: conn_reset also counts attempts that
 * the other end kept out.
 */
static long lost_conns(struct held *h)
{
	return counter_of(h->r, "conn_reset", false) -
	       counter_of(h->r, "rdma_conn_failed", false);
}

static void agent_limits(struct rt *r, const char *bound, const char *grace)
{
	char cmd[100];

	snprintf(cmd, sizeof(cmd), "echo %s >" SYSCTL "recv_queue_max_bytes",
		 bound);
	agent_runs(r, cmd);
	snprintf(cmd, sizeof(cmd), "echo %s >" SYSCTL "recv_queue_grace_ms",
		 grace);
	agent_runs(r, cmd);
}

static bool is_held(void *arg)
{
	struct held *h = arg;

	return counter("recv_delayed_retry") > h->holds;
}

static bool all_acked(void *arg)
{
	struct held *h = arg;

	return !unacked_from(h->r, (uint16_t)h->r->port);
}

/* The number of the next message, or a negative errno */
static int64_t take(struct held *h, int fd, int ms)
{
	static uint8_t buf[MAX_MSG];
	uint64_t end = now_ns() + (uint64_t)ms * 1000000ull;
	uint64_t number, last;
	int n;

	/* poll() also reports congestion maps. */
	do {
		n = recv_one(h->r, fd, buf, sizeof(buf), ms, NULL);
	} while ((n == -ETIMEDOUT || n == -EINTR) && now_ns() < end);
	if (n < 0)
		return n;
	if (fd == h->other)
		return n == 8 ? 0 : -EBADMSG;
	memcpy(&number, buf, 8);
	memcpy(&last, buf + n - 8, 8);
	return (uint64_t)n == h->round->len && number == last ?
		       (int64_t)number :
		       -EBADMSG;
}

/*
 * Read what the full socket has, with a limit of @ms for each message; returns
 * whether they come in order: without a gap until the first is lost.
 */
static bool read_all(struct held *h, int ms)
{
	int64_t n = 0, want = (int64_t)h->read;

	while (want < (int64_t)h->round->count) {
		n = take(h, h->full, ms);
		if (n == -ENOBUFS)
			continue;
		if (n < 0 || (h->round->grace ? n != want : n < want))
			break;
		h->read++;
		want = n + 1;
	}
	if (n < 0 && n != -ETIMEDOUT)
		printf("# held: %s\n", strerror((int)-n));
	return n == -ETIMEDOUT || want == (int64_t)h->round->count;
}

/*
 * While the path waits, messages of this end are sent and acknowledged; what
 * in-tree acknowledges is behind the frames that wait.
 */
static void across(struct held *h)
{
	struct areq q = { .op = ASK_SEEN,
			  .a = { ACROSS, 1000ull * h->r->slow } };
	struct rt_addr to = agent_at(h->r);
	bool acked, late = !h->r->peer_ours && h->round->grace;
	struct aresp a = { 0 };

	for (uint64_t i = 0; i < ACROSS; i++) {
		if (sendto(h->r->fd, &i, sizeof(i), 0,
			   (struct sockaddr *)&to.ss, to.len) < 0)
			break;
	}
	ask(h->r, &q, &a);
	acked = wait_until(all_acked, h, late ? 0 : 10000 * h->r->slow);
	rt_ok(a.v[0] == ACROSS && !a.v[1] && (acked || late),
	      "rdma.held.%s.other_way # %llu of %u, %sacknowledged",
	      h->round->name, (ull)a.v[0], ACROSS, acked ? "" : "not ");
}

static void judge_bound(struct held *h)
{
	long pages = charged();

	/* The kernel counts up to 256 pages for each processor apart. */
	rt_ok(pages > 0 && (uint64_t)pages * PAGE <=
			MOST + 256ull * PAGE *
				(uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 2,
	      "rdma.held.%s.bound # %ld of %llu pages", h->round->name, pages,
	      MOST / PAGE);
}

/*
 * The path waits for the reader. Both ends may have dialled at the same time,
 * so what was lost before does not count.
 */
static bool begin_wait(struct held *h)
{
	bool held = wait_until(is_held, h, 90000 * h->r->slow);

	printf("# held: %ld lost before\n", lost_conns(h) - h->lost);
	h->lost = lost_conns(h);
	return held;
}

/* The path waits for the reader, and then everything comes. */
static void waits(struct held *h)
{
	int64_t behind;
	bool order;

	rt_ok(begin_wait(h), "rdma.held.%s.waits", h->round->name);
	across(h);
	judge_bound(h);
	behind = take(h, h->other, 0);
	order = read_all(h, 20000 * (int)h->r->slow);
	rt_ok(order && h->read == h->round->count && behind == -ETIMEDOUT &&
		      !take(h, h->other, 20000 * (int)h->r->slow) &&
		      drops("full_socket") == h->dropped,
	      "rdma.held.%s.all_come # %llu of %llu, %ld dropped",
	      h->round->name, (ull)h->read, (ull)h->round->count,
	      drops("full_socket") - h->dropped);
}

/* Messages are dropped after the grace, and what is behind them comes. */
static void loses(struct held *h)
{
	bool held = begin_wait(h), order;
	int64_t behind = take(h, h->other, 60000 * (int)h->r->slow);
	int err = 0;
	socklen_t len = sizeof(err);
	long lost;

	rt_ok(held && !behind, "rdma.held.%s.behind # %lld", h->round->name,
	      (long long)behind);
	judge_bound(h);
	getsockopt(h->full, SOL_SOCKET, SO_ERROR, &err, &len);
	order = read_all(h, 0);
	lost = drops("full_socket") - h->dropped;
	rt_ok(order && err == ENOBUFS && lost > 0 &&
		      h->read + (uint64_t)lost == h->round->count,
	      "rdma.held.%s.counted # %llu came, %ld dropped, %s",
	      h->round->name, (ull)h->read, lost, strerror(err));
	across(h);
}

static bool agent_is_held(void *arg)
{
	struct held *h = arg;

	return counter_of(h->r, "recv_delayed_retry", true) > h->agent_holds;
}

/* Read so much that the path goes on, and has to wait again. */
static bool read_some(struct held *h)
{
	long holds = counter("recv_delayed_retry");

	for (uint64_t end = h->read + SOME; h->read < end; h->read++) {
		if (take(h, h->full, 20000 * (int)h->r->slow) !=
		    (int64_t)h->read)
			return false;
	}
	h->holds = holds;
	return wait_until(is_held, h, 90000 * h->r->slow);
}

/*
 * Two ends that both wait have few receives left, and each grants them to the
 * other. A grant that answers a grant at once would be answered without end.
 */
static void both_are_quiet(struct held *h)
{
	bool again = read_some(h);
	long sent = counter("ib_ack_sent"), ms;
	uint64_t begin = now_ns();

	nap(h->r, 1000);
	ms = (long)((now_ns() - begin) / 1000000);
	sent = counter("ib_ack_sent") - sent;
	rt_ok(again && sent <= ms / 5,
	      "rdma.held.both.quiet # %ld frames in %ld ms", sent, ms);
}

/*
 * The socket of the agent is full, too, while this end reads: neither waits for
 * the other.
 */
static void both_wait(struct held *h)
{
	const struct round *o = h->round;
	struct areq q = { .op = ASK_FULL, .a = { o->count, o->len } };
	struct aresp a = { 0 };
	bool both, order;

	both = begin_wait(h) &&
	       wait_until(agent_is_held, h, 90000 * h->r->slow);
	rt_ok(both, "rdma.held.both.wait");
	both_are_quiet(h);
	/*
	 * At the same time: on a slow kernel either end takes about as long as
	 * the other one keeps what exceeds its bound.
	 */
	ask_begin(h->r, &q);
	order = read_all(h, 20000 * (int)h->r->slow) &&
		!take(h, h->other, 20000 * (int)h->r->slow);
	rt_ok(order && h->read == o->count, "rdma.held.both.here # %llu of %llu",
	      (ull)h->read, (ull)o->count);
	ask_end(h->r, &a);
	rt_ok(a.v[0] == o->count && a.v[1],
	      "rdma.held.both.there # %llu of %llu", (ull)a.v[0],
	      (ull)o->count);
}

static void sockets_open(struct held *h)
{
	h->full = full_socket(&h->r->self, FULL_PORT);
	h->other = rt_open(&h->r->self, OTHER_PORT);
	if (h->full < 0 || h->other < 0)
		die("sockets: %s", strerror(h->full < 0 ? -h->full : -h->other));
}

static void sockets_close(struct held *h)
{
	close(h->full);
	close(h->other);
}

/*
 * The agent's part: without a0, open two sockets as those of the driver; else
 * read a0 messages of a1 bytes, and the last one.
 */
int held_full(struct rt *r, const struct areq *q, struct aresp *a)
{
	static struct held h;
	struct round o = { .name = "both", .count = q->a[0], .len = q->a[1],
			   .grace = true };

	if (!q->a[0]) {
		h = (struct held){ .r = r };
		sockets_open(&h);
		return 0;
	}
	h.round = &o;
	a->v[1] = read_all(&h, 20000 * (int)r->slow) &&
		  !take(&h, h.other, 20000 * (int)r->slow);
	a->v[0] = h.read;
	sockets_close(&h);
	return 0;
}

/* This end queues a flood as well. */
static bool begin_both(struct held *h)
{
	const struct round *o = h->round;
	struct areq q = { .op = ASK_FULL };
	struct aresp a;

	agent_limits(h->r, "16777216", "60000");
	h->agent_holds = counter_of(h->r, "recv_delayed_retry", true);
	return !ask(h->r, &q, &a) &&
	       flood_all(&h->r->self, &h->r->peer, o->count, o->len, o->tos) ==
		       o->count + 1;
}

/* Queue the flood at the agent, and let the connection come. */
static void begin(struct held *h)
{
	const struct round *o = h->round;
	struct areq q = { .op = ASK_HELD,
			  .a = { o->count, o->len, 1, o->tos } };
	struct aresp a = { 0 };
	bool good = true;

	sockets_open(h);
	set_limits("16777216", o->grace ? "60000" : "500");
	set("peer_networks", "192.0.2.0/24");
	/* This end may dial: an earlier round in the other direction had one. */
	if (h->r->peer_ours)
		agent_runs(h->r, "echo 192.0.2.0/24 >" SYSCTL "peer_networks");
	if (o->both)
		good = begin_both(h);
	ask(h->r, &q, &a);
	h->holds = counter("recv_delayed_retry");
	h->dropped = drops("full_socket");
	/* Keeping the agent out has ended its earlier connections. */
	h->lost = lost_conns(h);
	if (h->r->peer_ours)
		agent_runs(h->r, "echo >" SYSCTL "peer_networks");
	set("peer_networks", "\n");
	rt_ok(good && a.v[0] == o->count + 1, "rdma.held.%s.queued # %llu",
	      o->name, (ull)a.v[0]);
}

/*
 * Has no device given up as the other one had no receive?  On a slow host rxe
 * may give up for another reason, that no packet came in time.
 */
static bool none_gave_up(struct held *h)
{
	struct areq q = { .op = ASK_SHELL, .text = "[ $(cat " RNR ") = 0 ]" };
	struct aresp a = { 0 };

	return h->r->siw || (!file_number(RNR) && !ask(h->r, &q, &a));
}

static void end(struct held *h)
{
	struct areq q = { .op = ASK_HELD };
	long lost = lost_conns(h) - h->lost;
	struct aresp a;

	rt_ok(none_gave_up(h) && (!lost || !h->r->siw),
	      "rdma.held.%s.no_connection_lost # %ld", h->round->name, lost);
	ask(h->r, &q, &a);
	flood_end();
	sockets_close(h);
	set_limits("67108864", "2000");
	if (h->round->both)
		agent_limits(h->r, "67108864", "2000");
}

static void one_round(struct rt *r, const struct round *o)
{
	struct held h = { .r = r, .round = o };
	rds_tos_t tos = o->tos;

	if (!start(r, PORT))
		return;
	if (ioctl(r->fd, SIOCRDSSETTOS, &tos))
		die("type of service: %m");
	begin(&h);
	if (o->both)
		both_wait(&h);
	else if (o->grace)
		waits(&h);
	else
		loses(&h);
	end(&h);
}

/* In-tree RDS does not wait, and its sockets have no bound. */
static size_t nr_rounds(const struct rt *r)
{
	size_t n = sizeof(rounds) / sizeof(rounds[0]);

	return r->peer_ours ? n : n - 1;
}

int plan_held(const struct rt *r)
{
	/* Those of each round, and of the last one */
	return 3 * 7 + (r->peer_ours ? 7 : 0);
}

/* The driver has our stack: in-tree RDS holds nothing back. */
void test_held(struct rt *r)
{
	for (size_t i = 0; i < nr_rounds(r); i++)
		one_round(r, &rounds[i]);
}
