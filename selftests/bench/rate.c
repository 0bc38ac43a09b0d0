// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages per second, from the first send to the last byte at the receiver. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench.h"

#ifndef AF_RDS
#define AF_RDS 21
#endif

/* Sent ahead to every destination, so that the connections are up when the clock starts */
#define WARM_UP		4

static char *payload(size_t size)
{
	char *p = malloc(size + sizeof(uint32_t));

	if (!p)
		die("malloc");
	memset(p, 0x5a, size + sizeof(uint32_t));
	return p;
}

/* Default buffers, but for messages that would not fit */
static void fit_buffers(int fd, size_t size)
{
	int big = 8 << 20;

	if (size <= 100000)
		return;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &big, sizeof(big)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big)))
		die("buffers");
}

int rds_open(const struct bench *b, bool receiver, unsigned int i)
{
	unsigned int port = BENCH_PORT + (b->dests > 1 ? 0 : i);
	struct sockaddr_storage ss;
	socklen_t len = bench_addr(b, receiver, i, port, &ss);
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0);

	if (fd < 0)
		die("socket");
	if (bind(fd, (struct sockaddr *)&ss, len))
		die("bind");
	fit_buffers(fd, b->size);
	return fd;
}

static unsigned int receivers(const struct bench *b)
{
	return b->dests > 1 ? b->dests : b->sockets;
}

static void rds_send(const struct bench *b, const int *fd, unsigned int i, const char *buf)
{
	unsigned int n = i % receivers(b);
	struct sockaddr_storage ss;
	socklen_t len = bench_addr(b, true, n, BENCH_PORT + (b->dests > 1 ? 0 : n), &ss);

	if (sendto(fd[b->dests > 1 ? 0 : n], buf, b->size, 0, (struct sockaddr *)&ss, len) !=
	    (ssize_t)b->size)
		die("sendto");
}

void rds_rate_tx(const struct bench *b, const struct bench_link *l)
{
	unsigned int i, warm = WARM_UP * receivers(b);
	char *buf = payload(b->size);
	int fd[BENCH_MAX];
	double start;

	for (i = 0; i < b->sockets; i++)
		fd[i] = rds_open(b, false, i);
	link_wait(l->to_tx[0]);
	for (i = 0; i < warm; i++)
		rds_send(b, fd, i, buf);
	link_wait(l->to_tx[0]);
	sampling(true);
	start = now();
	if (write(l->to_rx[1], &start, sizeof(start)) != sizeof(start))
		die("pipe");
	for (i = 0; i < b->count; i++)
		rds_send(b, fd, i, buf);
	/* close would take back what is not sent yet */
	link_wait(l->to_tx[0]);
}

/* Receive @count messages over all sockets. */
static void rds_take(const int *fd, unsigned int nfd, char *buf, size_t size, unsigned int count)
{
	struct pollfd p[BENCH_MAX];
	unsigned int i;

	for (i = 0; i < nfd; i++)
		p[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	while (count) {
		if (nfd > 1 && poll(p, nfd, -1) < 0)
			die("poll");
		for (i = 0; i < nfd; i++) {
			int flags = nfd > 1 ? MSG_DONTWAIT : 0;

			if (nfd > 1 && !p[i].revents)
				continue;
			while (count && recv(fd[i], buf, size, flags) == (ssize_t)size)
				count--;
			if (count && nfd > 1 && errno != EAGAIN)
				die("recv");
		}
	}
}

void rds_rate_rx(const struct bench *b, const struct bench_link *l)
{
	unsigned int i, nfd = receivers(b);
	char *buf = payload(b->size);
	int fd[BENCH_MAX];
	double start, end;

	for (i = 0; i < nfd; i++)
		fd[i] = rds_open(b, true, i);
	link_tell(l->to_tx[1]);
	rds_take(fd, nfd, buf, b->size, WARM_UP * nfd);
	link_tell(l->to_tx[1]);
	rds_take(fd, nfd, buf, b->size, b->count);
	end = now();
	sampling(false);
	link_tell(l->to_tx[1]);
	if (read(l->to_rx[0], &start, sizeof(start)) != sizeof(start))
		die("pipe");
	printf("%.1f\n", b->count / (end - start));
}

/* Framed TCP: a length and the payload, one call a message at either end. */

static int tcp_open(const struct bench *b, bool listener)
{
	struct sockaddr_storage ss;
	socklen_t len = bench_addr(b, true, 0, BENCH_PORT, &ss);
	int fd = socket(ss.ss_family, SOCK_STREAM, 0), one = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listener ? bind(fd, (struct sockaddr *)&ss, len) || listen(fd, BENCH_MAX) :
		       connect(fd, (struct sockaddr *)&ss, len))
		die("tcp");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void tcp_send(int fd, const char *buf, size_t size)
{
	uint32_t len = size;
	struct iovec iov[2] = { { &len, sizeof(len) }, { (void *)buf, size } };
	ssize_t n = writev(fd, iov, 2);

	if (n != (ssize_t)(size + sizeof(len)))
		die("writev");
}

void tcp_rate_tx(const struct bench *b, const struct bench_link *l)
{
	char *buf = payload(b->size);
	int fd[BENCH_MAX];
	unsigned int i;
	double start;

	link_wait(l->to_tx[0]);
	for (i = 0; i < b->sockets; i++)
		fd[i] = tcp_open(b, false);
	for (i = 0; i < WARM_UP * b->sockets; i++)
		tcp_send(fd[i % b->sockets], buf, b->size);
	link_wait(l->to_tx[0]);
	start = now();
	if (write(l->to_rx[1], &start, sizeof(start)) != sizeof(start))
		die("pipe");
	for (i = 0; i < b->count; i++)
		tcp_send(fd[i % b->sockets], buf, b->size);
	link_wait(l->to_tx[0]);
}

static void tcp_take(const int *fd, unsigned int nfd, char *buf, size_t size, unsigned int count)
{
	ssize_t frame = size + sizeof(uint32_t);
	struct pollfd p[BENCH_MAX];
	unsigned int i;

	for (i = 0; i < nfd; i++)
		p[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	while (count) {
		if (nfd > 1 && poll(p, nfd, -1) < 0)
			die("poll");
		for (i = 0; i < nfd && count; i++) {
			if (nfd > 1 && !p[i].revents)
				continue;
			if (recv(fd[i], buf, frame, MSG_WAITALL) != frame)
				die("recv");
			count--;
		}
	}
}

void tcp_rate_rx(const struct bench *b, const struct bench_link *l)
{
	char *buf = payload(b->size);
	int fd[BENCH_MAX], lfd;
	double start, end;
	unsigned int i;

	lfd = tcp_open(b, true);
	link_tell(l->to_tx[1]);
	for (i = 0; i < b->sockets; i++) {
		fd[i] = accept(lfd, NULL, NULL);
		if (fd[i] < 0)
			die("accept");
	}
	tcp_take(fd, b->sockets, buf, b->size, WARM_UP * b->sockets);
	link_tell(l->to_tx[1]);
	tcp_take(fd, b->sockets, buf, b->size, b->count);
	end = now();
	link_tell(l->to_tx[1]);
	if (read(l->to_rx[0], &start, sizeof(start)) != sizeof(start))
		die("pipe");
	printf("%.1f\n", b->count / (end - start));
}
