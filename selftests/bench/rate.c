// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages per second, from the first send to the last byte at the receiver. */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "bench.h"

/* Messages sent to every destination first, to bring up the connections */
#define WARM_UP		4

static char *payload(size_t size)
{
	char *p = malloc(size + sizeof(uint32_t));

	if (!p)
		die("malloc: %m");
	memset(p, 0x5a, size + sizeof(uint32_t));
	return p;
}

int bench_open(const struct bench *b, bool receiver, unsigned int i)
{
	unsigned int port = bench_port + (b->dests > 1 ? 0 : i);
	union addr a = bench_addr(b, receiver, i, port);
	int fd = rds_bound(&a, 0);

	/* Default buffers, except for messages that do not fit into them. */
	if (b->size > 100000)
		rds_buffers(fd, 8 << 20);
	return fd;
}

static unsigned int receivers(const struct bench *b)
{
	return b->dests > 1 ? b->dests : b->sockets;
}

static void rds_send(const struct bench *b, const int *fd, unsigned int i,
		     const char *buf)
{
	unsigned int n = i % receivers(b);
	unsigned int own = b->dests > 1 ? 0 : n;
	union addr to = bench_addr(b, true, n, bench_port + own);

	if (sendto(fd[own], buf, b->size, 0, &to.sa, addr_len(&to)) !=
	    (ssize_t)b->size)
		die("sendto: %m");
}

void rds_rate_tx(const struct bench *b, const struct bench_link *l)
{
	unsigned int i, warm = WARM_UP * receivers(b);
	char *buf = payload(b->size);
	int fd[BENCH_MAX];
	uint64_t start;

	for (i = 0; i < b->sockets; i++)
		fd[i] = bench_open(b, false, i);
	link_wait(l->to_tx[0]);
	for (i = 0; i < warm; i++)
		rds_send(b, fd, i, buf);
	link_wait(l->to_tx[0]);
	sampling(true);
	start = now_ns();
	if (write(l->to_rx[1], &start, sizeof(start)) != sizeof(start))
		die("pipe: %m");
	for (i = 0; i < b->count; i++)
		rds_send(b, fd, i, buf);
	/* close() would drop messages that are not sent yet. */
	link_wait(l->to_tx[0]);
}

/* Receive @count messages over all sockets. */
static void rds_take(const int *fd, unsigned int nfd, char *buf, size_t size,
		     unsigned int count)
{
	struct pollfd p[BENCH_MAX];
	unsigned int i;

	for (i = 0; i < nfd; i++)
		p[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	while (count) {
		if (nfd > 1 && poll(p, nfd, -1) < 0)
			die("poll: %m");
		for (i = 0; i < nfd; i++) {
			int flags = nfd > 1 ? MSG_DONTWAIT : 0;

			if (nfd > 1 && !p[i].revents)
				continue;
			while (count &&
			       recv(fd[i], buf, size, flags) == (ssize_t)size)
				count--;
			if (count && nfd > 1 && errno != EAGAIN)
				die("recv: %m");
		}
	}
}

void rds_rate_rx(const struct bench *b, const struct bench_link *l)
{
	unsigned int i, nfd = receivers(b);
	char *buf = payload(b->size);
	int fd[BENCH_MAX];
	uint64_t start, end;

	for (i = 0; i < nfd; i++)
		fd[i] = bench_open(b, true, i);
	link_tell(l->to_tx[1]);
	rds_take(fd, nfd, buf, b->size, WARM_UP * nfd);
	link_tell(l->to_tx[1]);
	rds_take(fd, nfd, buf, b->size, b->count);
	end = now_ns();
	sampling(false);
	link_tell(l->to_tx[1]);
	if (read(l->to_rx[0], &start, sizeof(start)) != sizeof(start))
		die("pipe: %m");
	printf("%.1f\n", b->count * 1e9 / (double)(end - start));
}

/* Framed TCP: a length, then the payload; one call for a message at each end */

static int tcp_open(const struct bench *b, bool listener)
{
	union addr a = bench_addr(b, true, 0, bench_port);
	int fd = socket(a.sa.sa_family, SOCK_STREAM, 0), one = 1;

	if (fd < 0)
		die("socket: %m");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listener ? bind(fd, &a.sa, addr_len(&a)) || listen(fd, BENCH_MAX) :
		       connect(fd, &a.sa, addr_len(&a)))
		die("tcp: %m");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void tcp_send(int fd, const char *buf, size_t size)
{
	uint32_t len = size;
	struct iovec iov[2] = { { &len, sizeof(len) }, { (void *)buf, size } };
	ssize_t n = writev(fd, iov, 2);

	if (n != (ssize_t)(size + sizeof(len)))
		die("writev: %m");
}

void tcp_rate_tx(const struct bench *b, const struct bench_link *l)
{
	char *buf = payload(b->size);
	int fd[BENCH_MAX];
	unsigned int i;
	uint64_t start;

	link_wait(l->to_tx[0]);
	for (i = 0; i < b->sockets; i++)
		fd[i] = tcp_open(b, false);
	for (i = 0; i < WARM_UP * b->sockets; i++)
		tcp_send(fd[i % b->sockets], buf, b->size);
	link_wait(l->to_tx[0]);
	start = now_ns();
	if (write(l->to_rx[1], &start, sizeof(start)) != sizeof(start))
		die("pipe: %m");
	for (i = 0; i < b->count; i++)
		tcp_send(fd[i % b->sockets], buf, b->size);
	link_wait(l->to_tx[0]);
}

static void tcp_take(const int *fd, unsigned int nfd, char *buf, size_t size,
		     unsigned int count)
{
	ssize_t frame = size + sizeof(uint32_t);
	struct pollfd p[BENCH_MAX];
	unsigned int i;

	for (i = 0; i < nfd; i++)
		p[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	while (count) {
		if (nfd > 1 && poll(p, nfd, -1) < 0)
			die("poll: %m");
		for (i = 0; i < nfd && count; i++) {
			if (nfd > 1 && !p[i].revents)
				continue;
			if (recv(fd[i], buf, frame, MSG_WAITALL) != frame)
				die("recv: %m");
			count--;
		}
	}
}

void tcp_rate_rx(const struct bench *b, const struct bench_link *l)
{
	char *buf = payload(b->size);
	int fd[BENCH_MAX], lfd;
	uint64_t start, end;
	unsigned int i;

	lfd = tcp_open(b, true);
	link_tell(l->to_tx[1]);
	for (i = 0; i < b->sockets; i++) {
		fd[i] = accept(lfd, NULL, NULL);
		if (fd[i] < 0)
			die("accept: %m");
	}
	tcp_take(fd, b->sockets, buf, b->size, WARM_UP * b->sockets);
	link_tell(l->to_tx[1]);
	tcp_take(fd, b->sockets, buf, b->size, b->count);
	end = now_ns();
	link_tell(l->to_tx[1]);
	if (read(l->to_rx[0], &start, sizeof(start)) != sizeof(start))
		die("pipe: %m");
	printf("%.1f\n", b->count * 1e9 / (double)(end - start));
}
