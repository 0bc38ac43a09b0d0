// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Median round trips: between two sockets, and to the kernel's ping responder. */
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static char *zeroes(size_t n)
{
	char *p = calloc(1, n + 1);

	if (!p)
		die("calloc");
	return p;
}

static int tcp_pair(const struct bench *b, bool server, const struct bench_link *l)
{
	struct sockaddr_storage ss;
	socklen_t len = bench_addr(b, true, 0, BENCH_PORT, &ss);
	int fd = socket(ss.ss_family, SOCK_STREAM, 0), one = 1, conn;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (server) {
		if (bind(fd, (struct sockaddr *)&ss, len) || listen(fd, 1))
			die("listen");
		link_tell(l->to_tx[1]);
		conn = accept(fd, NULL, NULL);
	} else {
		link_wait(l->to_tx[0]);
		conn = connect(fd, (struct sockaddr *)&ss, len) ? -1 : fd;
	}
	if (conn < 0)
		die("tcp");
	setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return conn;
}

static int rtt_open(const struct bench *b, bool receiver, const struct bench_link *l)
{
	int fd;

	if (b->tcp)
		return tcp_pair(b, receiver, l);
	fd = rds_open(b, receiver, 0);
	if (receiver)
		link_tell(l->to_tx[1]);
	else
		link_wait(l->to_tx[0]);
	return fd;
}

static void send_to(const struct bench *b, int fd, bool receiver, const char *buf, size_t n,
		    uint16_t port)
{
	struct sockaddr_storage ss;
	socklen_t len = bench_addr(b, receiver, 0, port, &ss);

	if (sendto(fd, buf, n, 0, b->tcp ? NULL : (struct sockaddr *)&ss, b->tcp ? 0 : len) !=
	    (ssize_t)n)
		die("sendto");
}

static void take(int fd, char *buf, size_t n)
{
	if (recv(fd, buf, n, MSG_WAITALL) != (ssize_t)n)
		die("recv");
}

static void report(double *t, unsigned int n)
{
	qsort(t, n, sizeof(*t), by_value);
	printf("%.2f\n", t[n / 2] * 1e6);
}

void rtt_tx(const struct bench *b, const struct bench_link *l)
{
	double *t = calloc(b->count, sizeof(*t)), start;
	int fd = rtt_open(b, false, l);
	char *buf = zeroes(b->size);
	unsigned int i;

	if (!t)
		die("calloc");
	sampling(true);
	for (i = 0; i < b->count; i++) {
		start = now();
		send_to(b, fd, true, buf, b->size, BENCH_PORT);
		take(fd, buf, b->size);
		t[i] = now() - start;
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
		send_to(b, fd, false, buf, b->size, BENCH_PORT);
	}
}

void ping_tx(const struct bench *b, const struct bench_link *l)
{
	double *t = calloc(b->count, sizeof(*t)), start;
	int fd = rds_open(b, false, 0);
	char buf[1];
	unsigned int i;

	(void)l;
	if (!t)
		die("calloc");
	for (i = 0; i < b->count; i++) {
		/* as rds-ping does it: on a connection that has long been idle */
		usleep(200000);
		start = now();
		send_to(b, fd, true, buf, 0, 0);
		take(fd, buf, 0);
		t[i] = now() - start;
	}
	report(t, b->count);
}
