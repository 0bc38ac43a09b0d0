// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-credit server|client up|down|rounds|iomap N ADDR PORT
 *
 * Two ends with queues of 16 that exchange small and large pieces at the same
 * time. Each large one makes its receiver publish memory, which it says in a
 * message without credit; such messages must find room in the 16 receives of
 * the other end beside the small ones. On iWARP one too many ends the
 * connection.
 *
 *   up      the client sends N small pieces, the server large ones
 *   down    the other way round
 *   rounds  N times both send 12 small pieces and a large one
 *   iomap   N times the client maps memory for the server and sends a piece,
 *           and the server sends it back. librdmacm takes a credit for the
 *           update of the table and its peer does not give it back
 *
 * Written for rsockets: by librds_rsocket.so it runs on the kernel's streams.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <stdlib.h>

#include "rdstest.h"

#define QUEUE		16
#define MAPS		8
#define BUFFER		8192	/* of each direction: room is published often */
#define SMALL		100
#define LARGE		20000
#define PER_SMALL	2000	/* bytes the other way for each small piece */
#define BATCH		12
#define LIMIT_S		100

/* One direction: bytes that count up, and how many of @total are through */
struct flow {
	size_t total, done, piece;
	unsigned char at;
};

static struct flow out, in;

static void option(int fd, int level, int name, int value)
{
	if (rsetsockopt(fd, level, name, &value, sizeof(value)))
		die("option %#x %d: %m", (unsigned int)level, name);
}

static int open_socket(const union addr *a)
{
	int fd = rsocket(a->sa.sa_family, SOCK_STREAM, 0);

	if (fd < 0)
		die("rsocket: %m");
	option(fd, SOL_RDMA, RDMA_SQSIZE, QUEUE);
	option(fd, SOL_RDMA, RDMA_RQSIZE, QUEUE);
	option(fd, SOL_RDMA, RDMA_IOMAPSIZE, MAPS);
	option(fd, SOL_SOCKET, SO_RCVBUF, BUFFER);
	option(fd, SOL_SOCKET, SO_SNDBUF, BUFFER);
	option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	/* Without it small pieces would travel together. */
	option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	return fd;
}

static void send_some(int fd)
{
	static unsigned char p[LARGE];
	size_t n = out.piece - out.done % out.piece;
	ssize_t did;

	if (n > out.total - out.done)
		n = out.total - out.done;
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(out.at + i);
	did = rsend(fd, p, n, 0);
	if (did < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
		die("rsend after %zu bytes: %m", out.done);
	if (did > 0) {
		out.done += (size_t)did;
		out.at += (unsigned char)did;
	}
}

static void recv_some(int fd)
{
	static unsigned char p[LARGE];
	size_t n = in.total - in.done;
	ssize_t did = rrecv(fd, p, n < sizeof(p) ? n : sizeof(p), 0);

	if (!did || (did < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
		die("rrecv after %zu bytes: %m", in.done);
	for (ssize_t i = 0; i < did; i++)
		if (p[i] != (unsigned char)(in.at + i))
			die("byte %zu is wrong", in.done + (size_t)i);
	if (did > 0) {
		in.done += (size_t)did;
		in.at += (unsigned char)did;
	}
}

/* Send and receive so many bytes at the same time. */
static void exchange(int fd, size_t send, size_t piece, size_t receive)
{
	out.total = send;
	out.piece = piece;
	in.total = receive;
	out.done = in.done = 0;
	while (out.done < out.total || in.done < in.total) {
		struct pollfd p = { .fd = fd };

		if (out.done < out.total)
			p.events |= POLLOUT;
		if (in.done < in.total)
			p.events |= POLLIN;
		if (rpoll(&p, 1, -1) < 0)
			die("rpoll: %m");
		if (p.events & POLLIN && p.revents & ~POLLOUT)
			recv_some(fd);
		if (p.events & POLLOUT && p.revents & POLLOUT)
			send_some(fd);
	}
}

/* @small: this end sends the small pieces */
static void flood(int fd, size_t n, bool small)
{
	if (small)
		exchange(fd, n * SMALL, SMALL, n * PER_SMALL);
	else
		exchange(fd, n * PER_SMALL, LARGE, n * SMALL);
}

static void rounds(int fd, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		exchange(fd, BATCH * SMALL, SMALL, BATCH * SMALL);
		exchange(fd, LARGE, LARGE, LARGE);
	}
}

static void iomaps(int fd, size_t n, bool maps)
{
	static char memory[4096];

	for (size_t i = 0; i < n; i++) {
		if (maps && riomap(fd, memory, sizeof(memory), PROT_WRITE, 0,
				   -1) < 0)
			die("riomap: %m");
		if (maps)
			exchange(fd, SMALL, SMALL, 0);
		exchange(fd, 0, SMALL, SMALL);
		if (!maps)
			exchange(fd, SMALL, SMALL, 0);
		if (maps && riounmap(fd, memory, sizeof(memory)))
			die("riounmap: %m");
	}
}

static int connected(const union addr *a, bool server)
{
	int fd = open_socket(a), c;

	if (!server) {
		if (rconnect(fd, &a->sa, addr_len(a)))
			die("rconnect: %m");
		return fd;
	}
	if (rbind(fd, &a->sa, addr_len(a)) || rlisten(fd, 1))
		die("rlisten: %m");
	c = raccept(fd, NULL, NULL);
	if (c < 0)
		die("raccept: %m");
	return c;
}

int main(int argc, char **argv)
{
	union addr a;
	bool server;
	size_t n;
	int fd;

	if (argc != 6)
		return 2;
	/* A librdmacm server does not notice that a connection failed. */
	alarm((unsigned int)(LIMIT_S * slow_factor()));
	server = !strcmp(argv[1], "server");
	n = strtoul(argv[3], NULL, 0);
	a = addr_of(argv[4], (uint16_t)atoi(argv[5]));
	fd = connected(&a, server);
	if (rfcntl(fd, F_SETFL, (long)O_NONBLOCK))
		die("rfcntl: %m");
	switch (argv[2][0]) {
	case 'u': flood(fd, n, !server); break;
	case 'd': flood(fd, n, server); break;
	case 'r': rounds(fd, n); break;
	case 'i': iomaps(fd, n, !server); break;
	default: return 2;
	}
	printf("# %s %zu done\n", argv[2], n);
	/* Both ends have read all, so neither has anything to wait for. */
	rshutdown(fd, SHUT_RDWR);
	rclose(fd);
	return 0;
}
