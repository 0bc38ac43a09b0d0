// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A socket on the streams under test, and the peer; see hostile.h */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#define SOL_RDMA	0x10000
#define RDMA_IOMAPSIZE	3

int opened(const struct meet *m, int flags)
{
	int fd = socket(AF_RDS, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	if (fd < 0)
		die("socket: %m");
	set_timeo(fd, SO_RCVTIMEO, (int)ROGUE_MS);
	set_timeo(fd, SO_SNDTIMEO, (int)ROGUE_MS);
	if (m->iomap && setsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &m->iomap,
				   sizeof(m->iomap)))
		die("RDMA_IOMAPSIZE: %m");
	if (m->rcvbuf && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &m->rcvbuf,
				    sizeof(m->rcvbuf)))
		die("SO_RCVBUF: %m");
	if (bind(fd, &env.kernel.sa, addr_len(&env.kernel)))
		die("bind: %m");
	return fd;
}

void meet_listen(struct meet *m, int backlog)
{
	if (!env.in)
		return;
	m->l = opened(m, 0);
	if (listen(m->l, backlog))
		die("listen: %m");
	m->at = name_of(m->l);
}

void meet_begin(struct meet *m)
{
	memset(m, 0, sizeof(*m));
	m->l = m->fd = -1;
	rogue_begin(&m->r, &env.peer);
}

static bool go_in(struct meet *m)
{
	if (m->l < 0)
		meet_listen(m, 8);
	if (!rogue_dial(&m->r, &m->at) || !rogue_answered(&m->r))
		return false;
	m->fd = accept4(m->l, NULL, NULL, SOCK_CLOEXEC);
	return m->fd >= 0;
}

int meet_dialled(struct meet *m)
{
	struct pollfd p = { .fd = m->fd, .events = POLLOUT };
	socklen_t len = sizeof(m->err);

	if (!UNTIL(&m->r, poll(&p, 1, 0) == 1))
		printf("# connect() does not end\n");
	if (getsockopt(m->fd, SOL_SOCKET, SO_ERROR, &m->err, &len))
		die("SO_ERROR: %m");
	m->err = -m->err;
	if (fcntl(m->fd, F_SETFL, 0))
		die("fcntl: %m");
	return m->err;
}

void meet_dial(struct meet *m)
{
	rogue_listen(&m->r, &m->at);
	m->fd = opened(m, SOCK_NONBLOCK);
	if (connect(m->fd, &m->at.sa, addr_len(&m->at)) &&
	    errno != EINPROGRESS)
		die("connect: %m");
	if (!rogue_request(&m->r))
		die("no request");
}

static bool go_out(struct meet *m)
{
	bool answered;

	meet_dial(m);
	if (!rogue_accept(&m->r))
		return false;
	answered = rogue_answered(&m->r);
	return !meet_dialled(m) && answered;
}

bool meet_go(struct meet *m)
{
	return env.in ? go_in(m) : go_out(m);
}

void meets(struct meet *m)
{
	if (!meet_go(m))
		die("no connection: event %d, connect() gave %d", m->r.event,
		    m->err);
}

bool reads(struct meet *m, size_t bytes)
{
	uint8_t buf[16384];
	ssize_t n;

	for (; bytes; bytes -= (size_t)n) {
		n = recv(m->fd, buf, bytes < sizeof(buf) ? bytes : sizeof(buf),
			 0);
		if (n <= 0)
			return false;
		for (ssize_t i = 0; i < n; i++, m->read++)
			if (buf[i] != m->read % COUNT)
				return false;
	}
	return true;
}

void works_at(int line, struct meet *m)
{
	const uint64_t came = m->r.in_bytes;
	const uint8_t *to = (uint8_t *)(uintptr_t)m->r.me.first.addr + came;
	const uint8_t byte = 0xc5;

	want_at(line, "the peer sends", rogue_put(&m->r, 10), 1);
	want_at(line, "the socket reads", reads(m, 10), 1);
	want_at(line, "the socket sends",
		err(send(m->fd, &byte, 1, MSG_NOSIGNAL)), 1);
	want_at(line, "a message comes",
		UNTIL(&m->r, m->r.in_bytes == came + 1), 1);
	want_at(line, "it has the byte", *to == byte, 1);
}

size_t send_until_full(struct meet *m)
{
	size_t n = 0;

	while (send(m->fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) {
		rogue_look(&m->r);
		n++;
	}
	WANT(errno, EAGAIN);
	return n;
}

long end_of(struct meet *m)
{
	char buf[4096];
	ssize_t n;

	do
		n = recv(m->fd, buf, sizeof(buf), 0);
	while (n > 0);
	return err(n);
}

void over_at(int line, struct meet *m)
{
	if (m->fd >= 0)
		close(m->fd);
	if (m->l >= 0)
		close(m->l);
	m->fd = m->l = -1;
	want_at(line, "the connection goes", streams_left(), 1);
}

static bool was_reset(void *arg)
{
	*(long *)arg = counted("stream_reset");
	return *(long *)arg > 0;
}

void refused_for_at(int line, struct meet *m, const char *why)
{
	long resets;
	char byte;

	want_at(line, "the peer is disconnected", UNTIL(&m->r, m->r.gone), 1);
	wait_until(was_reset, &resets, ROGUE_MS);
	want_at(line, "resets", resets, 1);
	/* What has come before is not read any more. */
	want_at(line, "recv()", err(recv(m->fd, &byte, 1, 0)), -ECONNRESET);
	want_at(line, "the next recv()", err(recv(m->fd, &byte, 1, 0)), 0);
	only_at(line, why);
	over_at(line, m);
}

void outcome_at(int line, struct meet *m, const char *why)
{
	if (why) {
		refused_for_at(line, m, why);
		return;
	}
	works_at(line, m);
	only_at(line, NULL);
	over_at(line, m);
}

void broke_at(int line, struct meet *m)
{
	long end = end_of(m);

	want_at(line, "recv()", end == -ECONNRESET ? 0 : end, 0);
	only_at(line, NULL);
	over_at(line, m);
}
