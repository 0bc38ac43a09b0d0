// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-echo server [-tpv] [-n CONNECTIONS] ADDR PORT
 * rds-echo client [-tp] [-b SOURCE] [-s BYTES] [-i TIMES] ADDR PORT
 * rds-echo ready ADDR
 *
 * Two ends of a stream that speak as rstream does with `-C 1 -T v`: the client
 * sends 16 bytes and BYTES, TIMES times, and each comes back before the next is
 * sent. All bytes of a direction count up, modulo 256, so that either end can
 * verify them (-v for the server); rstream goes on from one connection to the
 * next. rstream can be the peer of each.
 *
 * The server echoes to one connection after the other. With -p (poll) sockets
 * do not block; the server then keeps what cannot be sent yet, as rstream's
 * client reads only when it has sent all. -t takes TCP. "ready" succeeds if
 * streams can listen at an address.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdlib.h>

#include "rdstest.h"

#define SYNC_BYTES	16
#define CHUNK		65536

static bool tcp, polls, verifies;
static union addr source;

static int open_socket(const union addr *a)
{
	int flags = SOCK_STREAM | SOCK_CLOEXEC | (polls ? SOCK_NONBLOCK : 0);
	int fd = socket(tcp ? a->sa.sa_family : AF_RDS, flags, 0), one = 1;

	if (fd < 0)
		die("socket: %m");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	return fd;
}

static short wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	if (poll(&p, 1, -1) != 1)
		die("poll: %m");
	return p.revents;
}

/* Is the byte at position @at of the stream, and are those behind it, right? */
static bool counted(const unsigned char *p, size_t n, size_t at)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] == (unsigned char)(at + i))
			continue;
		printf("# byte %zu is %u\n", at + i, p[i]);
		return false;
	}
	return true;
}

/* ---- server */

/* What came and has not been sent back: bytes from @begin to @end of @p */
struct queue {
	unsigned char *p;
	size_t begin, end, room, taken;
	unsigned char first;
	bool ended;
};

static bool take(int fd, struct queue *q)
{
	ssize_t n;

	if (q->begin == q->end)
		q->begin = q->end = 0;
	if (q->room - q->end < CHUNK) {
		q->room = 2 * q->room + CHUNK;
		q->p = realloc(q->p, q->room);
		if (!q->p)
			die("no memory for %zu bytes", q->room);
	}
	n = recv(fd, q->p + q->end, CHUNK, 0);
	if (n < 0)
		return errno == EAGAIN;
	if (n && !q->taken)
		q->first = q->p[q->end];
	if (verifies && !counted(q->p + q->end, (size_t)n, q->first + q->taken))
		return false;
	q->ended = !n;
	q->end += (size_t)n;
	q->taken += (size_t)n;
	return true;
}

static bool give(int fd, struct queue *q)
{
	ssize_t n = send(fd, q->p + q->begin, q->end - q->begin, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN;
	q->begin += (size_t)n;
	return true;
}

/* Echo to one connection until its end. A socket that blocks takes turns. */
static bool echo(int fd)
{
	struct queue q = { 0 };
	bool ok = true;

	while (ok && !(q.ended && q.begin == q.end)) {
		short events = q.begin < q.end ? POLLOUT : POLLIN;

		if (polls)
			events = wait_for(fd, events | (q.ended ? 0 : POLLIN));
		if (!q.ended && events & ~POLLOUT)
			ok = take(fd, &q);
		if (ok && q.begin < q.end && events & ~POLLIN)
			ok = give(fd, &q);
	}
	if (!ok)
		printf("# echo of %zu bytes: %m\n", q.taken);
	free(q.p);
	return ok;
}

static int server(const union addr *a, long conns)
{
	int fd = open_socket(a), failed = 0;

	if (bind(fd, &a->sa, addr_len(a)) || listen(fd, 16))
		die("listen: %m");
	printf("# listening\n");
	for (long n = 0; !conns || n < conns; n++) {
		int c;

		wait_for(fd, POLLIN);
		c = accept4(fd, NULL, NULL,
			    SOCK_CLOEXEC | (polls ? SOCK_NONBLOCK : 0));
		if (c < 0)
			die("accept: %m");
		failed += !echo(c);
		close(c);
		printf("# connection %ld, %d failed\n", n + 1, failed);
	}
	return failed != 0;
}

/* ---- client */

static int dial(const union addr *a)
{
	int fd = open_socket(a), err = 0;
	socklen_t len = sizeof(err);

	if (source.sa.sa_family &&
	    bind(fd, &source.sa, addr_len(&source)))
		die("bind: %m");
	if (!connect(fd, &a->sa, addr_len(a)))
		return fd;
	if (errno != EINPROGRESS)
		die("connect: %m");
	wait_for(fd, POLLOUT);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) || err) {
		errno = err;
		die("connect: %m");
	}
	return fd;
}

static void send_counted(int fd, unsigned char *p, size_t len, size_t at)
{
	size_t done = 0;
	ssize_t n;

	for (size_t i = 0; i < len; i++)
		p[i] = (unsigned char)(at + i);
	while (done < len) {
		if (polls)
			wait_for(fd, POLLOUT);
		n = send(fd, p + done, len - done, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			die("send: %m");
		done += n > 0 ? (size_t)n : 0;
	}
}

static void recv_counted(int fd, unsigned char *p, size_t len, size_t at)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		if (polls)
			wait_for(fd, POLLIN);
		n = recv(fd, p + done, len - done, 0);
		if (!n || (n < 0 && errno != EAGAIN))
			die("recv of byte %zu: %m", at + done);
		done += n > 0 ? (size_t)n : 0;
	}
	if (!counted(p, len, at))
		exit(1);
}

static int client(const union addr *a, size_t bytes, long times)
{
	size_t at = 0, len = SYNC_BYTES;
	unsigned char *p = malloc(bytes > len ? bytes : len);
	int fd = dial(a);

	if (!p)
		die("no memory for %zu bytes", bytes);
	for (long n = 0; n <= times; n++) {
		send_counted(fd, p, len, at);
		recv_counted(fd, p, len, at);
		at += len;
		len = bytes;
	}
	shutdown(fd, SHUT_RDWR);
	close(fd);
	free(p);
	printf("# %zu bytes there and back\n", at);
	return 0;
}

static int ready(const union addr *a)
{
	int fd = open_socket(a);

	return bind(fd, &a->sa, addr_len(a)) || listen(fd, 1);
}

int main(int argc, char **argv)
{
	long conns = 1, times = 10;
	size_t bytes = 4096;
	union addr a;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt(argc, argv, "tpvn:b:s:i:")) != -1) {
		switch (c) {
		case 't': tcp = true; break;
		case 'p': polls = true; break;
		case 'v': verifies = true; break;
		case 'n': conns = atol(optarg); break;
		case 'b': source = addr_of(optarg, 0); break;
		case 's': bytes = strtoul(optarg, NULL, 0); break;
		case 'i': times = atol(optarg); break;
		default: return 2;
		}
	}
	if (argc - optind < 2)
		return 2;
	a = addr_of(argv[optind + 1], argc - optind > 2 ?
		    (uint16_t)atoi(argv[optind + 2]) : 0);
	switch (argv[optind][0]) {
	case 's': return server(&a, conns);
	case 'c': return client(&a, bytes, times);
	case 'r': return ready(&a);
	}
	return 2;
}
