// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-stream-list OWN PEER
 *
 * /proc/net/rds_streams with thousands of streams that TCP carries, and some
 * over RDMA between two addresses of a device.  Each is in the file once, also
 * if others come and go between two calls of read(); and a call of read() costs
 * the same wherever in the file it is.
 *
 * A stream by TCP is a socket whose connect() was refused, which stays listed
 * until it is closed.  It is bound to a port that tells it from the others.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <linux/rds_stream.h>

#include "rdstest.h"

#define FILE_PATH	"/proc/net/rds_streams"
#define MAX_PATH	"/proc/sys/net/rds/stream/max"
#define STREAMS		11000
#define PORTS		12000		/* the first STREAMS are there at first */
#define FIRST_PORT	20000
#define PAIRS		20
#define PAGE		4096
#define PASSES		3
#define READS_MAX	4096

/**
 * struct entry - what is to be in the file
 * @fd: socket, or -1
 * @changed: it came or went while the file was read
 * @seen: how often it was in the file
 */
struct entry {
	int		fd;
	bool		changed;
	unsigned int	seen;
};

/* Streams by TCP, by port; ends of connections over RDMA, two of each */
static struct entry tcp[PORTS], rdma[2 * PAIRS];
static uint16_t rdma_port[PAIRS];	/* of the end that has dialled */
static unsigned int next_tcp;		/* port that was not used yet */
static unsigned int heads, strange;

/* ---- streams */

static void tcp_dial(unsigned int i)
{
	union addr nobody = addr_of("127.0.0.1", 1);

	if (!connect(tcp[i].fd, &nobody.sa, addr_len(&nobody)) ||
	    errno != ECONNREFUSED)
		die("connect: %m");
}

/* One more stream by TCP.  connect() may be called again. */
static unsigned int tcp_open(void)
{
	unsigned int i = next_tcp++;
	union addr own = addr_of("127.0.0.1", FIRST_PORT + i);
	int carrier = RDS_TRANS_TCP;

	if (i >= PORTS)
		die("no port is left");
	tcp[i].fd = socket(AF_INET, SOCK_STREAM, IPPROTO_RDS_STREAM);
	if (tcp[i].fd < 0 ||
	    setsockopt(tcp[i].fd, SOL_RDS, SO_RDS_TRANSPORT, &carrier,
		       sizeof(carrier)) ||
	    bind(tcp[i].fd, &own.sa, addr_len(&own)))
		die("stream %u: %m", i);
	tcp_dial(i);
	if (i % 8 == 0)
		tcp_dial(i);
	return i;
}

static void entry_close(struct entry *e)
{
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

static int rdma_socket(void)
{
	int fd = socket(AF_RDS, SOCK_STREAM, 0);

	if (fd < 0)
		die("socket: %m");
	return fd;
}

static void rdma_open(const char *own, const char *peer)
{
	union addr from = addr_of(own, 0), to = addr_of(peer, 7000), name;
	int l = rdma_socket(), i;

	if (bind(l, &to.sa, addr_len(&to)) || listen(l, 4))
		die("listen: %m");
	for (i = 0; i < PAIRS; i++) {
		rdma[2 * i].fd = rdma_socket();
		if (bind(rdma[2 * i].fd, &from.sa, addr_len(&from)) ||
		    connect(rdma[2 * i].fd, &to.sa, addr_len(&to)))
			die("connect: %m");
		rdma[2 * i + 1].fd = accept(l, NULL, NULL);
		if (rdma[2 * i + 1].fd < 0)
			die("accept: %m");
		name = name_of(rdma[2 * i].fd);
		rdma_port[i] = addr_port(&name);
	}
	close(l);
}

static bool rdma_are(void *n)
{
	FILE *f = fopen("/proc/net/rds_stream_stats", "re");
	long v, got = -1;
	char key[64];

	while (f && fscanf(f, "%63s %ld", key, &v) == 2) {
		if (!strcmp(key, "stream_connections"))
			got = v;
	}
	if (f)
		fclose(f);
	return got == *(long *)n;
}

/* Close connections, and wait until they are gone; @left are then left. */
static void rdma_close(int from, int to, long left)
{
	for (int i = 2 * from; i < 2 * to; i++) {
		rdma[i].changed = true;
		entry_close(&rdma[i]);
	}
	if (!wait_until(rdma_are, &left, 20000L * slow_factor()))
		die("connections stay");
}

/* ---- the file */

static struct entry *rdma_entry(bool out, unsigned int port)
{
	for (int i = 0; i < PAIRS; i++) {
		if (rdma_port[i] == port)
			return &rdma[2 * i + !out];
	}
	return NULL;
}

static struct entry *entry_of(const char *line)
{
	char local[64], peer[64], carrier[16], way[16];
	unsigned int lport, port;
	bool out;

	if (sscanf(line, "%63s %u %63s %u %15s %15s", local, &lport, peer,
		   &port, carrier, way) != 6)
		return NULL;
	out = !strcmp(way, "out");
	if (!strcmp(carrier, "rdma"))
		return rdma_entry(out, out ? lport : port);
	if (lport < FIRST_PORT || lport >= FIRST_PORT + PORTS)
		return NULL;
	return &tcp[lport - FIRST_PORT];
}

static void line_seen(const char *line)
{
	struct entry *e = entry_of(line);

	if (e)
		e->seen++;
	else if (!strncmp(line, "local port ", 11))
		heads++;
	else if (strange++ < 5)
		printf("# strange line: %s\n", line);
}

/**
 * struct pass - the file is read from its begin to its end
 * @size: bytes that are read at a time
 * @between: called after each read(), or NULL
 * @reads: number of calls of read() that gave some
 * @ns: the least time that each took in all passes
 */
struct pass {
	size_t		size;
	void		(*between)(unsigned int reads);
	unsigned int	reads;
	uint64_t	ns[READS_MAX];
};

static char text[8 << 20];
static size_t text_len;

/* Look at the lines that are whole; returns where the rest begins. */
static size_t lines_seen(size_t from)
{
	char *end;

	while ((end = memchr(text + from, '\n', text_len - from))) {
		*end = 0;
		line_seen(text + from);
		*end = '\n';
		from = end + 1 - text;
	}
	return from;
}

static ssize_t read_timed(struct pass *p, int fd)
{
	uint64_t start = now_ns(), took;
	ssize_t n = read(fd, text + text_len, p->size);

	took = now_ns() - start;
	if (n < 0 || text_len + n + p->size > sizeof(text))
		die("read: %m");
	if (n && p->reads < READS_MAX) {
		if (!p->ns[p->reads] || took < p->ns[p->reads])
			p->ns[p->reads] = took;
		p->reads++;
	}
	return n;
}

static void entries_unseen(struct entry *e, unsigned int n)
{
	for (; n; n--, e++) {
		e->seen = 0;
		e->changed = false;
	}
}

static void all_unseen(void)
{
	entries_unseen(tcp, PORTS);
	entries_unseen(rdma, 2 * PAIRS);
	heads = 0;
	strange = 0;
}

static void file_read(struct pass *p)
{
	int fd = open(FILE_PATH, O_RDONLY | O_CLOEXEC);
	size_t seen = 0;
	ssize_t n;

	if (fd < 0)
		die(FILE_PATH ": %m");
	all_unseen();
	text_len = 0;
	p->reads = 0;
	while ((n = read_timed(p, fd))) {
		text_len += n;
		seen = lines_seen(seen);
		if (p->between)
			p->between(p->reads);
	}
	close(fd);
}

/* What is not as it should be: entries that are missing, or there too often */
struct wrong {
	unsigned int missing, twice;
};

static void entry_judge(struct wrong *w, const struct entry *e)
{
	unsigned int least = e->fd >= 0 && !e->changed;
	unsigned int most = e->fd >= 0 || e->changed;

	w->missing += e->seen < least;
	w->twice += e->seen > most;
}

static bool file_is_right(struct wrong *w)
{
	memset(w, 0, sizeof(*w));
	for (unsigned int i = 0; i < PORTS; i++)
		entry_judge(w, &tcp[i]);
	for (unsigned int i = 0; i < 2 * PAIRS; i++)
		entry_judge(w, &rdma[i]);
	return !w->missing && !w->twice && heads == 1 && !strange;
}

static void file_judge(const char *name, const struct pass *p)
{
	struct wrong w;
	bool right = file_is_right(&w);

	ktap_ok(right, "%s # %u reads; %u missing, %u too often, %u heads, %u strange",
		name, p->reads, w.missing, w.twice, heads, strange);
}

/* ---- what is shown */

static struct pass pages = { .size = PAGE };

static void test_once(void)
{
	file_read(&pages);
	file_judge("stream.list_once", &pages);
}

/* The same bytes from an offset on, which the kernel has to find */
static void test_offset(void)
{
	int fd = open(FILE_PATH, O_RDONLY | O_CLOEXEC);
	size_t at = text_len / 2;
	char some[PAGE];
	ssize_t n;

	n = pread(fd, some, sizeof(some), at);
	ktap_ok(n > 0 && !memcmp(some, text + at, n),
		"stream.list_offset # %zd bytes at %zu", n, at);
	close(fd);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(const uint64_t *t, unsigned int n)
{
	static uint64_t sorted[READS_MAX];

	memcpy(sorted, t, n * sizeof(*t));
	qsort(sorted, n, sizeof(*t), by_value);
	return sorted[n / 2];
}

/*
 * The least time of several passes, without what the machine does meanwhile.
 * The first tenth is what the others are compared with.
 */
static void test_steady(void)
{
	uint64_t first, all, most = 0;
	unsigned int i;

	for (i = 0; i < PASSES; i++)
		file_read(&pages);
	first = median(pages.ns, pages.reads / 10);
	all = median(pages.ns, pages.reads);
	for (i = 0; i < pages.reads; i++) {
		if (pages.ns[i] > most)
			most = pages.ns[i];
	}
	ktap_ok(2 * most <= 3 * first || !time_is_judged(),
		"stream.list_steady # %u reads, median of the first tenth %.1f us, of all %.1f us, slowest %.1f us",
		pages.reads, first / 1e3, all / 1e3, most / 1e3);
}

/* ---- what changes meanwhile */

/* A stream by TCP that was, or was not, in the file and is still there */
static void close_one(bool seen, unsigned int from, int step)
{
	for (unsigned int i = from; i < STREAMS; i += step) {
		if (tcp[i].fd < 0 || !!tcp[i].seen != seen)
			continue;
		tcp[i].changed = true;
		entry_close(&tcp[i]);
		return;
	}
}

/*
 * After the first read() a connection over RDMA goes that was in the file: the
 * oldest are first.
 */
static void change(unsigned int reads)
{
	if (reads == 1) {
		if (!rdma[0].seen || rdma[2 * PAIRS - 1].seen)
			die("the first read() ends at no connection over RDMA");
		rdma_close(0, 1, 2 * (PAIRS - 1));
	}
	close_one(true, 0, 1);
	close_one(false, STREAMS - 1, -1);
	if (reads % 2)
		tcp[tcp_open()].changed = true;
}

static void test_changes(void)
{
	static struct pass changing = { .size = 1000, .between = change };

	file_read(&changing);
	file_judge("stream.list_changes", &changing);
}

/* ---- net.rds.stream.max */

static bool is_listed(unsigned int i)
{
	file_read(&pages);
	return tcp[i].seen == 1;
}

static unsigned int nr_listed(void)
{
	unsigned int n = 0;

	file_read(&pages);
	for (unsigned int i = 0; i < PORTS; i++)
		n += tcp[i].seen;
	return n;
}

static void max_set(unsigned int n)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", n);
	if (!file_write(MAX_PATH, number))
		die(MAX_PATH ": %m");
}

static void close_listed(void)
{
	nr_listed();
	close_one(true, 0, 1);
}

/* A stream that found no room is listed by a later connect(). */
static void test_limit(void)
{
	bool beyond, next, later;
	unsigned int a, b;

	max_set(nr_listed());
	a = tcp_open();
	beyond = is_listed(a);
	close_listed();
	b = tcp_open();
	next = is_listed(b);
	close_listed();
	tcp_dial(a);
	later = is_listed(a);
	ktap_ok(!beyond && next && later,
		"stream.list_limit # listed: beyond the limit %d, in place of another %d, by a later connect() %d",
		beyond, next, later);
	max_set(PORTS);
}

static void test_gone(void)
{
	for (unsigned int i = 0; i < PORTS; i++)
		entry_close(&tcp[i]);
	rdma_close(0, PAIRS, 0);
	file_read(&pages);
	file_judge("stream.list_gone", &pages);
}

static void setup(const char *own, const char *peer)
{
	struct rlimit files = { PORTS + 1000, PORTS + 1000 };
	uint64_t start;

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit: %m");
	for (unsigned int i = 0; i < PORTS; i++)
		tcp[i].fd = -1;
	max_set(PORTS);
	rdma_open(own, peer);
	start = now_ns();
	while (next_tcp < STREAMS)
		tcp_open();
	printf("# %u streams by TCP in %.1f ms\n", next_tcp,
	       (now_ns() - start) / 1e6);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	ktap_plan(6);
	setup(argv[1], argv[2]);
	test_once();
	test_offset();
	test_steady();
	test_changes();
	test_limit();
	test_gone();
	return ktap_exit();
}
