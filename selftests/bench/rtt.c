// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Round-trip times: between two sockets, and of pings to RDS port 0. */
#include <netinet/tcp.h>
#include <stdlib.h>

#include "bench.h"

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static char *zeroes(size_t n)
{
	char *p = calloc(1, n + 1);

	if (!p)
		die("calloc: %m");
	return p;
}

static int tcp_pair(const struct bench *b, bool server,
		    const struct bench_link *l)
{
	union addr a = bench_addr(b, true, 0, bench_port);
	int fd = socket(a.sa.sa_family, SOCK_STREAM, 0), one = 1, conn;

	if (fd < 0)
		die("socket: %m");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (server) {
		if (bind(fd, &a.sa, addr_len(&a)) || listen(fd, 1))
			die("listen: %m");
		link_tell(l->to_tx[1]);
		conn = accept(fd, NULL, NULL);
	} else {
		link_wait(l->to_tx[0]);
		conn = connect(fd, &a.sa, addr_len(&a)) ? -1 : fd;
	}
	if (conn < 0)
		die("tcp: %m");
	setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return conn;
}

static int rtt_open(const struct bench *b, bool receiver,
		    const struct bench_link *l)
{
	int fd;

	if (b->tcp)
		return tcp_pair(b, receiver, l);
	fd = bench_open(b, receiver, 0);
	if (receiver)
		link_tell(l->to_tx[1]);
	else
		link_wait(l->to_tx[0]);
	return fd;
}

static void send_to(const struct bench *b, int fd, bool receiver,
		    const char *buf, size_t n, uint16_t port)
{
	union addr to = bench_addr(b, receiver, 0, port);

	if (sendto(fd, buf, n, 0, b->tcp ? NULL : &to.sa,
		   b->tcp ? 0 : addr_len(&to)) != (ssize_t)n)
		die("sendto: %m");
}

static void take(int fd, char *buf, size_t n)
{
	if (recv(fd, buf, n, MSG_WAITALL) != (ssize_t)n)
		die("recv: %m");
}

/* The median, or the percentile that BENCH_PERCENTILE says */
static void report(uint64_t *t, unsigned int n)
{
	const char *percent = getenv("BENCH_PERCENTILE");

	qsort(t, n, sizeof(*t), by_value);
	printf("%.2f\n",
	       (double)t[n * (percent ? atoi(percent) : 50) / 100] / 1e3);
}

void rtt_tx(const struct bench *b, const struct bench_link *l)
{
	uint64_t *t = calloc(b->count, sizeof(*t)), start;
	int fd = rtt_open(b, false, l);
	char *buf = zeroes(b->size);
	unsigned int i;

	if (!t)
		die("calloc: %m");
	sampling(true);
	for (i = 0; i < b->count; i++) {
		start = now_ns();
		send_to(b, fd, true, buf, b->size, bench_port);
		take(fd, buf, b->size);
		t[i] = now_ns() - start;
	}
	sampling(false);
	report(t, b->count);
}

void rtt_rx(const struct bench *b, const struct bench_link *l)
{
	int fd = rtt_open(b, true, l);
	char *buf = zeroes(b->size);
	unsigned int i;

	for (i = 0; i < b->count; i++) {
		take(fd, buf, b->size);
		send_to(b, fd, false, buf, b->size, bench_port);
	}
}

void ping_tx(const struct bench *b, const struct bench_link *l)
{
	uint64_t *t = calloc(b->count, sizeof(*t)), start;
	int fd = bench_open(b, false, 0);
	char buf[1];
	unsigned int i;

	(void)l;
	if (!t)
		die("calloc: %m");
	for (i = 0; i < b->count; i++) {
		/* As with rds-ping, the connection has been idle for long. */
		usleep(200000);
		start = now_ns();
		send_to(b, fd, true, buf, 0, 0);
		take(fd, buf, 0);
		t[i] = now_ns() - start;
	}
	report(t, b->count);
}
