// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages in both directions at once. Length and content of message i follow
 * from the seed, the direction and i, so that the receiver knows the next
 * message: a lost, duplicated or reordered message differs from the expected
 * one.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rt.h"

static const uint32_t sizes[] = { 0,	 1,	47,	 48,	 49,   4095,
				  4096,	 4097,	8191,	 8192,	 8193, 65535,
				  65536, 65537, 1048575, 1048576 };

struct xfer {
	struct rt *r;
	int fd;
	const struct rt_addr *to;
	uint64_t seed, count, tx, rx, moved;
	unsigned int dir, resets, did;
	bool turn;			/* this end may cut */
	uint64_t next_reset, cut_at;	/* cut_at: 0 once up again */
	long cut_from;			/* lost_conns() before the cut */
	uint64_t down_at;		/* time of the cut; 0 once up again */
	long up_from;			/* rdma_conn_up before the cut */
	const char *way;
	uint8_t *out, *in;
	uint64_t built;
	uint32_t outlen;
};

static uint64_t key_of(const struct xfer *x, unsigned int dir, uint64_t i)
{
	return mix64(x->seed * 2 + dir) + i * 0x9e3779b97f4a7c15ull + 1;
}

static uint32_t len_of(const struct xfer *x, unsigned int dir, uint64_t i)
{
	uint64_t h = mix64(key_of(x, dir, i));
	const size_t n = sizeof(sizes) / sizeof(sizes[0]);

	if (i < n)
		return sizes[i];
	switch (h & 63) {
	case 0:
		return sizes[(h >> 8) % n];
	case 1:
	case 2:
		return (uint32_t)((h >> 8) % (MAX_MSG + 1));
	case 3 ... 15:
		return (uint32_t)((h >> 8) % 65537);
	case 16 ... 31:
		return (uint32_t)((h >> 8) % 8194);
	default:
		return (uint32_t)((h >> 8) % 129);
	}
}

static bool fits(const struct xfer *x, uint64_t i, const uint8_t *p,
		 uint32_t len)
{
	unsigned int dir = !x->dir;

	return len == len_of(x, dir, i) &&
	       !pattern_diff(p, len, key_of(x, dir, i), 0);
}

/* Say which other message an unexpected one may be. */
static void explain(const struct xfer *x, uint32_t len, char *what, size_t size)
{
	uint64_t lo = x->rx > 300 ? x->rx - 300 : 0;

	for (uint64_t i = lo; len >= 8 && i < x->rx + 300; i++)
		if (fits(x, i, x->in, len)) {
			snprintf(what, size,
				 "wanted message %llu, got %llu (%u bytes)",
				 (ull)x->rx, (ull)i, len);
			return;
		}
	snprintf(what, size,
		 "wanted message %llu of %u bytes, got %u bytes, wrong from byte %zu",
		 (ull)x->rx, len_of(x, !x->dir, x->rx), len,
		 pattern_diff(x->in, len, key_of(x, !x->dir, x->rx), 0) - 1);
}

static bool take(struct xfer *x, char *what, size_t size)
{
	for (;;) {
		int n = recv_one(x->r, x->fd, x->in, MAX_MSG + 1, 0, NULL);

		if (n == -ETIMEDOUT)
			return true;
		if (n == -EINTR)
			continue;
		if (n < 0) {
			snprintf(what, size, "receive: %s", strerror(-n));
			return false;
		}
		if (x->rx == x->count || !fits(x, x->rx, x->in, (uint32_t)n)) {
			explain(x, (uint32_t)n, what, size);
			return false;
		}
		x->rx++;
		x->moved = now_ns();
	}
}

/* Has the exchange come to the position of this end's next cut? */
static bool at_cut(const struct xfer *x)
{
	return x->turn && !x->cut_at && x->rx >= x->next_reset;
}

/*
 * Number of messages that may be sent now. A sender that is ahead of the cuts
 * would have no message left for the last cuts. A sender whose cut is due sends
 * until one of its messages waits for an acknowledgement.
 */
static uint64_t may_send(const struct xfer *x)
{
	if (x->did == x->resets || at_cut(x))
		return x->count;
	return x->count * (x->did + 1) / (x->resets + 1);
}

/*
 * Send as much as possible, but one message when a cut is due: a slow host may
 * see all of a burst acknowledged before it looks.  *blocked when poll() does
 * not report when the next send is possible.
 */
static bool give(struct xfer *x, bool *blocked, char *what, size_t size)
{
	uint64_t most = may_send(x);
	int bursts = at_cut(x) ? 1 : 64;

	*blocked = false;
	for (int burst = 0; x->tx < most && burst < bursts; burst++) {
		uint32_t len = len_of(x, x->dir, x->tx);

		if (x->built != x->tx + 1) {
			pattern(x->out, len, key_of(x, x->dir, x->tx), 0);
			x->built = x->tx + 1;
		}
		if (sendto(x->fd, x->out, len, MSG_DONTWAIT,
			   (struct sockaddr *)&x->to->ss, x->to->len) < 0) {
			*blocked = errno == ENOBUFS;
			if (errno == EAGAIN || errno == ENOBUFS)
				return true;
			snprintf(what, size, "send: %s", strerror(errno));
			return false;
		}
		x->tx++;
		x->moved = now_ns();
	}
	return true;
}

/* Cut the connection; returns once the cut was made or has failed. */
static int cut(struct xfer *x)
{
	char cmd[160];

	if (!strcmp(x->way, "poke"))
		return poke(x->r);
	if (!strcmp(x->way, "link"))
		return run_shell("ip link set rds0 down && ip link set rds0 up");
	snprintf(cmd, sizeof(cmd),
		 "rdma link del %s0 && rdma link add %s0 type %s netdev rds0",
		 x->r->dev, x->r->dev, x->r->dev);
	return run_shell(cmd);
}

/*
 * Connections that were up and were lost: conn_reset also counts failed
 * attempts, which this module counts in rdma_conn_failed as well.
 */
static long lost_conns(struct rt *r, bool there)
{
	return counter_of(r, "conn_reset", there) -
	       counter_of(r, "rdma_conn_failed", there);
}

/*
 * Once this end has counted the loss and is connected again, the cut is over,
 * and it is the turn of the other end. Two cuts at once would be one loss.
 */
static void cut_over(struct xfer *x)
{
	if (lost_conns(x->r, false) <= x->cut_from || !connected(x->r))
		return;
	x->did++;
	x->next_reset = x->count * (2 * x->did + x->dir + 1) /
			(2 * x->resets + 2);
	x->cut_at = 0;
	x->turn = false;
	/* The driver begins, so that the agent makes the last cut. */
	if (!x->dir || x->did < x->resets)
		turn_pass(x->r);
}

/*
 * Is it time for a cut by this end? Messages of this end are unacknowledged
 * then, unless all are sent.
 */
static bool cut_due(struct xfer *x)
{
	unsigned int waiting;

	if (x->cut_at)
		cut_over(x);
	if (x->cut_at || x->did == x->resets)
		return false;
	if (!x->turn && turn_came(x->r)) {
		x->turn = true;
		x->moved = now_ns();
	}
	if (!at_cut(x))
		return false;
	/* At once: the message that was just sent may be acknowledged soon. */
	waiting = unacked_from(x->r, (uint16_t)x->r->port);
	if (!connected(x->r) || (!waiting && x->tx < x->count))
		return false;
	x->r->amid += !!waiting;
	return true;
}

/* Measure the time from a cut to the next connection, by this guest's clock. */
static void time_reconnect(struct xfer *x)
{
	unsigned int ms;

	if (!x->down_at || counter("rdma_conn_up") <= x->up_from)
		return;
	ms = (unsigned int)((now_ns() - x->down_at) / 1000000);
	x->down_at = 0;
	x->r->backs++;
	x->r->back_sum += ms;
	x->r->back_most = ms > x->r->back_most ? ms : x->r->back_most;
}

/* Cut the connection at the planned positions. */
static bool maybe_cut(struct xfer *x, char *what, size_t size)
{
	int rc;

	if (!cut_due(x))
		return true;
	x->cut_from = lost_conns(x->r, false);
	x->up_from = counter("rdma_conn_up");
	rc = cut(x);
	if (rc) {
		snprintf(what, size, "%s does not work: %s", x->way,
			 strerror(rc));
		return false;
	}
	x->cut_at = now_ns();
	/*
	 * poke() returns with the status of its operation, which was queued
	 * behind all other messages; the other ways return when the device or
	 * link is back.
	 */
	x->down_at = x->r->ours ? x->cut_at : 0;
	x->moved = x->cut_at;
	return true;
}

bool exchange(struct rt *r, int fd, const struct rt_addr *to, uint64_t seed,
	      unsigned int dir, uint64_t count, unsigned int resets,
	      const char *way, char *what, size_t size)
{
	struct xfer x = { .r = r,
			  .fd = fd,
			  .to = to,
			  .seed = seed,
			  .dir = dir,
			  .count = count,
			  .resets = resets,
			  .way = way,
			  .turn = !dir,
			  .moved = now_ns() };
	struct pollfd p = { .fd = fd };
	bool good = true, blocked = false;

	x.next_reset = count * (dir + 1) / (2 * resets + 2);
	x.out = malloc(MAX_MSG + 1);
	x.in = malloc(MAX_MSG + 1);
	what[0] = 0;
	r->backs = r->back_sum = r->back_most = r->amid = 0;
	while (good && (x.tx < count || x.rx < count || x.did < resets)) {
		if (now_ns() - x.moved > 40000000000ull * r->slow) {
			snprintf(what, size,
				 "stuck: sent %llu, received %llu of %llu, resets %u",
				 (ull)x.tx, (ull)x.rx, (ull)count, x.did);
			good = false;
			break;
		}
		p.events = POLLIN;
		if (x.tx < may_send(&x) && !blocked)
			p.events |= POLLOUT;
		poll(&p, 1, blocked || resets ? 5 : 500);
		time_reconnect(&x);
		good = take(&x, what, size) && give(&x, &blocked, what, size) &&
		       maybe_cut(&x, what, size);
	}
	free(x.out);
	free(x.in);
	return good;
}

struct seen {
	long resets, up;
};

static struct seen seen_by(struct rt *r, bool there)
{
	struct seen s = { lost_conns(r, there),
			  counter_of(r, "rdma_conn_up", there) };

	return s;
}

/*
 * Count the resets that both ends saw, each followed by a connection that came
 * up. The number is appended to a file for run.sh.
 */
static void count_resets(struct rt *r, const char *name,
			 const struct seen *before)
{
	/* The cuts of both ends, which take turns */
	long want = 2 * (long)r->resets;
	long n = -1, got[2], up[2];
	FILE *f = fopen("/run/rdma-resets", "a");

	for (int there = 0; there < 2; there++) {
		struct seen now = seen_by(r, there);

		got[there] = now.resets - before[there].resets;
		up[there] = now.up - before[there].up;
		/* In-tree RDS does not count connections that came up. */
		if (there ? r->peer_ours : r->ours)
			got[there] = up[there] < got[there] ? up[there] :
							      got[there];
		n = n < 0 || got[there] < n ? got[there] : n;
	}
	if (f) {
		fprintf(f, "%s %ld\n", name, n);
		fclose(f);
	}
	rt_ok(n >= want,
	      "%s.were_reset # %ld here, %ld there, at least %ld; up %ld, %ld",
	      name, got[0], got[1], want, up[0], up[1]);
}

/* A cut can lose or double only messages that are not acknowledged. */
static void judge_amid(const struct rt *r, const char *name,
		       const struct aresp *a)
{
	rt_ok(r->amid == r->resets && a->v[3] == r->resets,
	      "%s.amid_messages # at %u of %u cuts here, at %llu of %u there",
	      name, r->amid, r->resets, (ull)a->v[3], r->resets);
}

/* After cuts the next connection is up; how soon depends on the host, too. */
static void judge_backs(const struct rt *r, const char *name,
			const struct aresp *a)
{
	unsigned int most = r->back_most > a->v[2] ? r->back_most :
						     (unsigned int)a->v[2];

	printf("# %s: up again after %u ms on average, %u ms at most, of %u here; %llu, %llu, of %llu there\n",
	       name, r->backs ? r->back_sum / r->backs : 0, r->back_most,
	       r->backs, a->v[0] ? (ull)(a->v[1] / a->v[0]) : 0, (ull)a->v[2],
	       (ull)a->v[0]);
	if (r->ours && r->peer_ours)
		rt_ok(r->backs + a->v[0], "%s.up_again # after %u ms at most",
		      name, most);
}

/*
 * Exchange messages with the agent, over a new socket at each end; both ends
 * report a result.
 */
static void both(struct rt *r, const char *name, unsigned int port,
		 uint64_t count, unsigned int wanted, const char *way)
{
	struct areq q = { .op = ASK_MSG,
			  .a = { r->seed + port, count, wanted, port } };
	struct rt_addr to = r->peer;
	struct seen before[2] = { seen_by(r, false), seen_by(r, true) };
	uint64_t began = now_ns();
	struct aresp a;
	char what[200];
	bool mine;

	r->port = port;
	r->fd = rt_open(&r->self, (uint16_t)port);
	if (r->fd < 0) {
		rt_ok(false, "%s # bind: %s", name, strerror(-r->fd));
		return;
	}
	ask4(r, ASK_OPEN, port + 1, 0, 0, 0);
	snprintf(q.text, sizeof(q.text), "%s", way);
	rt_addr_port(&to, (uint16_t)(port + 1));
	ask_begin(r, &q);
	mine = exchange(r, r->fd, &to, r->seed + port, 0, count, wanted, way,
			what, sizeof(what));
	rt_ok(mine, "%s.here%s%s", name, mine ? "" : " # ", what);
	turns_drop(r);
	ask_end(r, &a);
	rt_ok(!a.err, "%s.there%s%s", name, a.err ? " # " : "", a.text);
	printf("# %s: %llu messages each way, %.1f s\n", name, (ull)count,
	       (double)(now_ns() - began) / 1e9);
	if (wanted) {
		count_resets(r, name, before);
		judge_amid(r, name, &a);
		judge_backs(r, name, &a);
	}
	close(r->fd);
	r->fd = -1;
}

/*
 * A tenth still has each of the sizes[], and at the cuts messages wait at both
 * ends.
 */
static uint64_t messages(const struct rt *r)
{
	return r->light ? r->count / 10 : r->count;
}

/* Results of both() */
static int plan_both(const struct rt *r, unsigned int wanted)
{
	bool backs = r->ours && r->peer_ours;

	return 2 + (wanted ? 2 + backs : 0);
}

int plan_msg(const struct rt *r)
{
	return plan_both(r, 0);
}

int plan_resets(const struct rt *r)
{
	return plan_both(r, r->resets);
}

void test_msg(struct rt *r)
{
	both(r, "rdma.msg.exchange", 4100, messages(r), 0, "");
}

void test_resets(struct rt *r)
{
	char name[64];

	snprintf(name, sizeof(name), "rdma.resets.%s", r->way);
	both(r, name, 4200, messages(r), r->resets, r->way);
}
