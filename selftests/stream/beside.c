// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-stream-crowd OWN PEER
 *
 * What a round trip of RDS between two addresses of a device costs while 200
 * streams are connected at once over the same device, by several processes, and
 * while they are closed at once.  The same is measured first with 200 queue
 * pairs that programs connect by rdma_cm, and which have no memory: their cost
 * is that of the device and of the CM, which is not ours.  What a process costs
 * that only computes is the scheduler's.  At last the work queues that connect
 * and close streams stand back, as an administrator may have them.
 *
 * The streams of a round are dialled together and accepted.  When all have come
 * up they are closed, and when they are gone the next round begins, until there
 * are enough round trips of both kinds, or there were enough rounds.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "rdstest.h"

#define DIALLERS	8
#define EACH		25
#define CROWD		(DIALLERS * EACH)
#define TRIPS		2000
#define TRIPS_LEAST	(4 * TRIPS)	/* of one round it may be the worst */
#define ROUNDS_MAX	5	/* for TRIPS */
#define STREAM_PORT	7000
/*
 * A stream does more in one go than a program that connects by the CM alone,
 * which sleeps after each step, and on one processor others wait meanwhile.
 */
#define TIMES_CM	5
/* What ends does not stop in the middle of a call of the device's driver. */
#define TIMES_LEAST	3

/* What the processes have in common */
static struct {
	int connected;	/* streams that have come up */
	int failed;	/* and that have not */
	int closed;	/* ends that were closed */
} *all;

static union addr own, peer;

/* ---- round trips */

static void answer_all(int fd)
{
	socklen_t len;
	union addr from;
	char text[64];
	ssize_t n;

	for (;;) {
		len = sizeof(from);
		n = recvfrom(fd, text, sizeof(text), 0, &from.sa, &len);
		if (n < 0 || sendto(fd, text, n, 0, &from.sa, len) != n)
			die("answer: %m");
	}
}

static uint64_t trip_ns(int fd)
{
	uint64_t start = now_ns();
	char text[64] = "";

	if (sendto(fd, text, sizeof(text), 0, &peer.sa, addr_len(&peer)) !=
	    sizeof(text) || recv(fd, text, sizeof(text), 0) != sizeof(text))
		die("round trip: %m");
	return now_ns() - start;
}

/* Round trips, of which the first ones count, TRIPS if @most is 0 */
struct trips {
	unsigned int	n, most;
	uint64_t	t[TRIPS_LEAST];
};

static bool trips_enough(const struct trips *trips)
{
	return trips->n >= (trips->most ?: TRIPS);
}

static void trip(struct trips *trips, int fd)
{
	uint64_t ns = trip_ns(fd);

	if (!trips_enough(trips))
		trips->t[trips->n++] = ns;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Prints what the trips took; returns the 99th percentile. */
static uint64_t report(const char *what, struct trips *trips)
{
	unsigned int n = trips->n;
	uint64_t *t = trips->t;

	qsort(t, n, sizeof(*t), by_value);
	printf("# %s: %u round trips, median %.1f us, 90%% %.1f us, 99%% %.1f us, most %.1f us\n",
	       what, n, t[n / 2] / 1e3, t[n * 90 / 100] / 1e3,
	       t[n * 99 / 100] / 1e3, t[n - 1] / 1e3);
	fflush(stdout);
	return t[n * 99 / 100];
}

/* Round trips beside a process that uses no RDMA and never sleeps */
static void beside_busy(int fd)
{
	static struct trips busy;
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %m");
	if (!pid) {
		for (volatile unsigned long n = 0;; n++)
			;
	}
	while (!trips_enough(&busy))
		trip(&busy, fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	report("beside a process that computes", &busy);
}

/* ---- the crowd */

static void one_closed(void)
{
	__atomic_add_fetch(&all->closed, 1, __ATOMIC_SEQ_CST);
}

static void one_dialled(bool good)
{
	__atomic_add_fetch(good ? &all->connected : &all->failed, 1,
			   __ATOMIC_SEQ_CST);
}

static int stream_open(int flags)
{
	int fd = socket(AF_RDS, SOCK_STREAM | flags, 0);

	if (fd < 0)
		die("socket: %m");
	return fd;
}

/* Accept for ever; a stream is closed when its peer has closed. */
static void streams_accept(int told)
{
	union addr a = peer;
	int fd = stream_open(0), conn[CROWD], i;

	addr_set_port(&a, STREAM_PORT);
	if (bind(fd, &a.sa, addr_len(&a)) || listen(fd, CROWD) ||
	    write(told, "", 1) != 1)
		die("listen: %m");
	for (;;) {
		char byte;

		for (i = 0; i < CROWD; i++) {
			conn[i] = accept(fd, NULL, NULL);
			if (conn[i] < 0)
				die("accept: %m");
		}
		for (i = 0; i < CROWD; i++) {
			while (read(conn[i], &byte, 1) > 0)
				;
			close(conn[i]);
			one_closed();
		}
	}
}

static void dial(int *fd)
{
	union addr a = peer;

	*fd = stream_open(SOCK_NONBLOCK);
	addr_set_port(&a, STREAM_PORT);
	if (connect(*fd, &a.sa, addr_len(&a)) && errno != EINPROGRESS)
		die("connect: %m");
}

static void dialled(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = ETIMEDOUT;

	poll(&p, 1, 60000 * slow_factor());
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	one_dialled(!err && p.revents & POLLOUT);
}

static int stream_fd[EACH];

static void streams_dial(void)
{
	int i;

	for (i = 0; i < EACH; i++)
		dial(&stream_fd[i]);
	for (i = 0; i < EACH; i++)
		dialled(stream_fd[i]);
}

static void streams_close(void)
{
	for (int i = 0; i < EACH; i++) {
		close(stream_fd[i]);
		one_closed();
	}
}

/* ---- the same number of queue pairs, by the CM alone */

static struct rdma_event_channel *cm_channel;
static struct rdma_cm_id *cm_id[EACH];
static struct ibv_pd *cm_pd;
static struct ibv_cq *cm_cq;

static void cm_begin(void)
{
	cm_channel = rdma_create_event_channel();
	if (!cm_channel)
		die("rdma_create_event_channel: %m");
}

/* All queue pairs of a process have one completion queue. */
static void cm_queue_pair(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (!cm_pd) {
		cm_pd = ibv_alloc_pd(id->verbs);
		cm_cq = ibv_create_cq(id->verbs, 64, NULL, NULL, 0);
	}
	attr.send_cq = cm_cq;
	attr.recv_cq = cm_cq;
	if (!cm_pd || !cm_cq || rdma_create_qp(id, cm_pd, &attr))
		die("rdma_create_qp: %m");
}

static void cm_close(struct rdma_cm_id *id)
{
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	one_closed();
}

static enum rdma_cm_event_type cm_event(struct rdma_cm_id **id)
{
	enum rdma_cm_event_type what;
	struct rdma_cm_event *e;

	if (rdma_get_cm_event(cm_channel, &e))
		die("rdma_get_cm_event: %m");
	what = e->event;
	*id = e->id;
	rdma_ack_cm_event(e);
	return what;
}

static void cm_accept(int told)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct rdma_cm_id *id;
	union addr a = peer;

	cm_begin();
	addr_set_port(&a, STREAM_PORT);
	if (rdma_create_id(cm_channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, &a.sa) || rdma_listen(id, CROWD) ||
	    write(told, "", 1) != 1)
		die("rdma_listen: %m");
	for (;;) {
		switch (cm_event(&id)) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			cm_queue_pair(id);
			if (rdma_accept(id, &param))
				die("rdma_accept: %m");
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			cm_close(id);
			break;
		default:
			break;
		}
	}
}

/* Returns whether the connection is up, or cannot come up. */
static bool cm_step(enum rdma_cm_event_type what, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .retry_count = 7,
					 .rnr_retry_count = 7 };

	switch (what) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return rdma_resolve_route(id, 20000);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		cm_queue_pair(id);
		return rdma_connect(id, &param);
	default:
		return true;
	}
}

static void cm_dial(void)
{
	enum rdma_cm_event_type what;
	struct rdma_cm_id *id;
	union addr a = peer;
	int i;

	if (!cm_channel)
		cm_begin();
	addr_set_port(&a, STREAM_PORT);
	for (i = 0; i < EACH; i++) {
		if (rdma_create_id(cm_channel, &cm_id[i], NULL, RDMA_PS_TCP) ||
		    rdma_resolve_addr(cm_id[i], NULL, &a.sa, 20000))
			die("rdma_resolve_addr: %m");
	}
	for (i = 0; i < EACH;) {
		what = cm_event(&id);
		if (!cm_step(what, id))
			continue;
		one_dialled(what == RDMA_CM_EVENT_ESTABLISHED);
		i++;
	}
}

static void cm_close_all(void)
{
	for (int i = 0; i < EACH; i++)
		cm_close(cm_id[i]);
}

/* ---- both */

struct kind {
	const char *name;
	void (*accept)(int told);
	void (*dial)(void);
	void (*close)(void);
};

static const struct kind streams = { "streams", streams_accept, streams_dial,
				     streams_close };
static const struct kind cm = { "cm", cm_accept, cm_dial, cm_close_all };

/* Dial EACH when told by @begin, and close them when told by @end. */
static void dial_all(const struct kind *k, int begin, int end)
{
	char byte;

	while (read(begin, &byte, 1) == 1) {
		k->dial();
		if (read(end, &byte, 1) != 1)
			break;
		k->close();
	}
	exit(0);
}

/* ---- the one that asks */

static pid_t child[DIALLERS + 1];
static int nr_children;

/* Returns true in a child. */
static bool begun(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %m");
	if (pid)
		child[nr_children++] = pid;
	return !pid;
}

static void end_children(void)
{
	for (; nr_children; nr_children--) {
		kill(child[nr_children - 1], SIGKILL);
		waitpid(child[nr_children - 1], NULL, 0);
	}
}

static void tell(int fd)
{
	char bytes[DIALLERS] = "";

	if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		die("pipe: %m");
}

/* Is a number of ends at least what it is after @round? */
static bool round_is_over(int round, const int *nr, int each)
{
	return __atomic_load_n(nr, __ATOMIC_SEQ_CST) >= (round + 1) * each;
}

static bool all_up(int round)
{
	int nr = __atomic_load_n(&all->connected, __ATOMIC_SEQ_CST) +
		 __atomic_load_n(&all->failed, __ATOMIC_SEQ_CST);

	return round_is_over(round, &nr, CROWD);
}

/* close() of a stream returns before the connection has gone. */
static bool all_gone(void *round)
{
	FILE *f;
	char key[64];
	long v, got = -1;

	if (!round_is_over(*(int *)round, &all->closed, 2 * CROWD))
		return false;
	f = fopen("/proc/net/rds_stream_stats", "re");
	while (f && fscanf(f, "%63s %ld", key, &v) == 2) {
		if (!strcmp(key, "stream_connections"))
			got = v;
	}
	if (f)
		fclose(f);
	return !got;
}

/* Round trips beside a kind of streams */
struct crowd {
	const struct kind *kind;
	int rounds;	/* at most */
	int begin[2], end[2];
	struct trips up, down;
};

/*
 * Round trips while the streams of a round are dialled, and while they are
 * closed.  The rest of those that take long to go, as the CM waits for them, is
 * waited for without.
 */
static void crowd_round(struct crowd *c, int fd, int round)
{
	uint64_t start = now_ns(), closed;
	bool gone = false;

	tell(c->begin[1]);
	while (!all_up(round))
		trip(&c->up, fd);
	closed = now_ns();
	tell(c->end[1]);
	for (int i = 0; i < TRIPS && !gone; i++) {
		trip(&c->down, fd);
		gone = i % 20 == 19 && all_gone(&round);
	}
	if (!gone && !wait_until(all_gone, &round, 60000L * slow_factor()))
		die("the streams of a round stay");
	printf("# %s, round %d: %.1f ms up, %.1f ms down; %u and %u trips\n",
	       c->kind->name, round, (closed - start) / 1e6,
	       (now_ns() - closed) / 1e6, c->up.n, c->down.n);
	fflush(stdout);
}

static void crowd_begin(struct crowd *c)
{
	int told[2];
	char byte;

	memset(all, 0, sizeof(*all));
	if (pipe(c->begin) || pipe(c->end) || pipe(told))
		die("pipe: %m");
	if (begun())
		c->kind->accept(told[1]);
	close(told[1]);
	if (read(told[0], &byte, 1) != 1)
		die("no listener of %s", c->kind->name);
	close(told[0]);
	for (int i = 0; i < DIALLERS; i++) {
		if (begun())
			dial_all(c->kind, c->begin[0], c->end[0]);
	}
}

static void crowd_run(struct crowd *c, int fd, const char *name)
{
	int i;

	crowd_begin(c);
	for (i = 0; i < c->rounds &&
		    !(trips_enough(&c->up) && trips_enough(&c->down)); i++)
		crowd_round(c, fd, i);
	ktap_ok(all->connected == i * CROWD, "stream.crowd_all_%s # %d of %d",
		name, all->connected, i * CROWD);
	end_children();
}

/* Of trips that were reported */
static uint64_t percentile(const struct trips *trips, unsigned int percent)
{
	return trips->t[trips->n * percent / 100];
}

static void judge(const char *name, uint64_t cm_ns, uint64_t stream_ns)
{
	ktap_ok(stream_ns <= TIMES_CM * cm_ns || !time_is_judged(),
		"%s # %.1f us beside the CM alone, %.1f us beside streams",
		name, cm_ns / 1e3, stream_ns / 1e3);
}

static const char *const queues[] = { "rds_stream", "rds_stream_close",
				      "rds_dev_rds_stream",
				      "rds_late_rds_stream" };

/* The queues have the least share of a processor that others want. */
static void queues_stand_back(void)
{
	char name[80];
	size_t i;

	for (i = 0; i < sizeof(queues) / sizeof(*queues); i++) {
		FILE *f;

		snprintf(name, sizeof(name),
			 "/sys/devices/virtual/workqueue/%s/nice", queues[i]);
		f = fopen(name, "we");
		if (!f || fputs("19", f) < 0 || fclose(f))
			die("%s: %m", name);
	}
}

static void judge_least(const char *name, uint64_t most, uint64_t ns)
{
	ktap_ok(ns <= most || !time_is_judged(), "%s # %.1f us, at most %.1f",
		name, ns / 1e3, most / 1e3);
}

static struct crowd beside_cm = { .kind = &cm, .rounds = ROUNDS_MAX },
		    beside_streams = { .kind = &streams, .rounds = ROUNDS_MAX },
		    beside_least = { .kind = &streams, .rounds = 4 * ROUNDS_MAX,
				     .up.most = TRIPS_LEAST,
				     .down.most = TRIPS_LEAST };

int main(int argc, char **argv)
{
	struct rlimit files = { 2048, 2048 };
	static struct trips base;
	uint64_t alone, up;
	pid_t answers;
	int fd, i;

	if (argc != 3)
		return 2;
	own = addr_of(argv[1], 4000);
	peer = addr_of(argv[2], 4000);
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED || setrlimit(RLIMIT_NOFILE, &files))
		die("setup: %m");
	fd = rds_bound(&peer, 0);
	answers = fork();
	if (answers < 0)
		die("fork: %m");
	if (!answers)
		answer_all(fd);
	close(fd);
	fd = rds_bound(&own, 0);
	set_timeo(fd, SO_RCVTIMEO, 10000 * slow_factor());
	ktap_plan(7);
	for (i = 0; i < 200; i++)
		trip_ns(fd);
	while (!trips_enough(&base))
		trip(&base, fd);
	alone = report("alone", &base);
	beside_busy(fd);
	crowd_run(&beside_cm, fd, "cm");
	crowd_run(&beside_streams, fd, "streams");
	up = report("while those of the CM come up", &beside_cm.up);
	report("while those of the CM end", &beside_cm.down);
	report("while streams come up", &beside_streams.up);
	report("while streams end", &beside_streams.down);
	/* Six of the worst trips say little: ten times as many count. */
	judge("stream.crowd_up", percentile(&beside_cm.up, 90),
	      percentile(&beside_streams.up, 90));
	judge("stream.crowd_down", percentile(&beside_cm.down, 99),
	      percentile(&beside_streams.down, 99));
	queues_stand_back();
	crowd_run(&beside_least, fd, "least");
	judge_least("stream.crowd_least_up", up,
		    report("while streams come up that stand back",
			   &beside_least.up));
	judge_least("stream.crowd_least_down", TIMES_LEAST * alone,
		    report("while they end", &beside_least.down));
	kill(answers, SIGKILL);
	waitpid(answers, NULL, 0);
	return ktap_exit();
}
