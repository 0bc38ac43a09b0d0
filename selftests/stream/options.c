// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-basic: options and ioctls */
#define _GNU_SOURCE
#include "basic.h"
#include "opt.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

/* SIOCOUTQ is in a header of the kernel that contradicts the C library's. */
#define OUTQ TIOCOUTQ

static int outq(int fd)
{
	int n = -1;

	return ioctl(fd, OUTQ, &n) ? -errno : n;
}

static void socket_facts(void)
{
	union addr a;
	int fd = opened(0), l = listening(&a, 1);

	WANT(get(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	WANT(get(fd, SOL_SOCKET, SO_DOMAIN), env.family);
	WANT(get(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
	WANT(get(l, SOL_SOCKET, SO_ACCEPTCONN), 1);
	WANT(get(fd, SOL_SOCKET, SO_ERROR), 0);
}

/* Options that are kept, and that a connection has from its listener */
static const struct {
	const char *what;
	int level, name, value;
} kept[] = {
	{ "SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, 1 },
	{ "SO_RCVLOWAT", SOL_SOCKET, SO_RCVLOWAT, 7 },
	{ "TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, 1 },
	{ "TCP_KEEPIDLE", IPPROTO_TCP, TCP_KEEPIDLE, 100 },
	{ "TCP_KEEPINTVL", IPPROTO_TCP, TCP_KEEPINTVL, 20 },
	{ "TCP_KEEPCNT", IPPROTO_TCP, TCP_KEEPCNT, 5 },
	{ "TCP_USER_TIMEOUT", IPPROTO_TCP, TCP_USER_TIMEOUT, 30000 },
};

#define KEPT (sizeof(kept) / sizeof(kept[0]))

static void options_kept(void)
{
	int fd = opened(0);

	for (size_t i = 0; i < KEPT; i++) {
		want_at(__LINE__, kept[i].what,
			set(fd, kept[i].level, kept[i].name, kept[i].value), 0);
		want_at(__LINE__, kept[i].what,
			get(fd, kept[i].level, kept[i].name), kept[i].value);
	}
	WANT(set(fd, IPPROTO_TCP, TCP_NODELAY, 0), 0);
	WANT(get(fd, IPPROTO_TCP, TCP_NODELAY), 0);
	WANT(set(fd, IPPROTO_TCP, TCP_CORK, 1), 0);
	WANT(get(fd, IPPROTO_TCP, TCP_CORK), 1);
	WANT(set(fd, IPPROTO_TCP, TCP_CORK, 0), 0);
}

static void options_inherited(void)
{
	union addr a;
	int l = listening(&a, 1), s;

	for (size_t i = 0; i < KEPT; i++)
		want_at(__LINE__, kept[i].what,
			set(l, kept[i].level, kept[i].name, kept[i].value), 0);
	WANT(dial(dialler(0), &a), 0);
	s = accept(l, NULL, NULL);
	for (size_t i = 0; i < KEPT; i++) {
		want_at(__LINE__, kept[i].what,
			get(s, kept[i].level, kept[i].name), kept[i].value);
	}
}

static void buffer_sizes(void)
{
	int fd = opened(0);

	WANT(set(fd, SOL_SOCKET, SO_SNDBUF, 50000), 0);
	WANT(set(fd, SOL_SOCKET, SO_RCVBUF, 60000), 0);
	/* The kernel doubles both for what it needs itself. */
	WANT(get(fd, SOL_SOCKET, SO_SNDBUF), 100000);
	WANT(get(fd, SOL_SOCKET, SO_RCVBUF), 120000);
}

static void options_refused(void)
{
	struct pair p = paired();

	WANT(get(p.a, IPPROTO_TCP, 12345), -ENOPROTOOPT);
	WANT(set(p.a, IPPROTO_TCP, 12345, 1), -ENOPROTOOPT);
	WANT(set(p.a, SOL_SOCKET, 12345, 1), -ENOPROTOOPT);
	WANT(set(p.a, IPPROTO_TCP, TCP_KEEPIDLE, 0), -EINVAL);
	WANT(set(p.a, IPPROTO_TCP, TCP_KEEPCNT, 1000), -EINVAL);
	WANT(set(p.a, IPPROTO_TCP, TCP_USER_TIMEOUT, -1), -EINVAL);
	WANT(setsockopt(p.a, IPPROTO_TCP, TCP_NODELAY, &(char){1}, 1), -EINVAL);
}

static void maxseg(void)
{
	struct pair p = paired();

	TRUE(get(p.a, IPPROTO_TCP, TCP_MAXSEG) > 0);
	TRUE(get(p.b, IPPROTO_TCP, TCP_MAXSEG) > 0);
}

static void linger_kept(void)
{
	struct linger l = { 1, 7 }, r = { 0 };
	socklen_t len = sizeof(r);
	int fd = opened(0);

	WANT(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)), 0);
	WANT(getsockopt(fd, SOL_SOCKET, SO_LINGER, &r, &len), 0);
	WANT(r.l_onoff, 1);
	WANT(r.l_linger, 7);
}

/* Bytes that are corked come when the cork is taken out, and at shutdown. */
static void cork(void)
{
	struct pair p = paired();

	WANT(set(p.a, IPPROTO_TCP, TCP_CORK, 1), 0);
	put(p.a, 100, 1);
	WANT(set(p.a, IPPROTO_TCP, TCP_CORK, 0), 0);
	TRUE(got(p.b, 100, 1));
	WANT(set(p.a, IPPROTO_TCP, TCP_CORK, 1), 0);
	put(p.a, 100, 2);
	WANT(shutdown(p.a, SHUT_WR), 0);
	TRUE(got(p.b, 100, 2));
}

static bool outq_empty(void *arg)
{
	return outq(*(int *)arg) == 0;
}

static void queues(void)
{
	struct pair p = paired();
	char buf[600];
	int n = -1;

	TRUE(arrived(p.b, 0));
	WANT(outq(p.a), 0);
	put(p.a, 1000, 1);
	TRUE(arrived(p.b, 1000));
	TRUE(wait_until(outq_empty, &p.a, WAIT_MS));
	TRUE(got(p.b, 400, 1));
	WANT(ioctl(p.b, FIONREAD, &n), 0);
	WANT(n, 600);
	WANT(recv(p.b, buf, sizeof(buf), 0), 600);
	fill_up(p.a);
	TRUE(outq(p.a) > 0);
}

static void queues_of_listener(void)
{
	union addr a;
	int l = listening(&a, 1), n;

	WANT(ioctl(l, FIONREAD, &n), -EINVAL);
	WANT(ioctl(l, OUTQ, &n), -EINVAL);
}

static void queue_at_the_end(void)
{
	struct pair p = paired();
	int n = -1;

	put(p.a, 10, 1);
	WANT(shutdown(p.a, SHUT_WR), 0);
	poll_is(p.b, POLLIN | POLLOUT | POLLRDHUP);
	TRUE(arrived(p.b, 10));
	TRUE(got(p.b, 10, 1));
	WANT(ioctl(p.b, FIONREAD, &n), 0);
	WANT(n, 0);
}

/* Fewer bytes than SO_RCVLOWAT are neither reported nor received. */
static void lowat(void)
{
	struct pair p = paired();
	char buf[200], all[100];

	fill(all, sizeof(all), 1);
	WANT(set(p.b, SOL_SOCKET, SO_RCVLOWAT, 100), 0);
	WANT(send(p.a, all, 60, 0), 60);
	TRUE(arrived(p.b, 60));
	poll_is(p.b, POLLOUT);
	set_timeo(p.b, SO_RCVTIMEO, 100);
	/* The time is over: what is there is better than nothing. */
	WANT(recv(p.b, buf, sizeof(buf), MSG_PEEK), 60);
	WANT(send(p.a, all + 60, 40, 0), 40);
	TRUE(arrived(p.b, 100));
	poll_is(p.b, POLLIN | POLLOUT);
	WANT(recv(p.b, buf, sizeof(buf), 0), 100);
	TRUE(filled(buf, 100, 1));
}

/* Who waits for an edge hears of it when what is there becomes enough. */
static void lowat_lowered(void)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	struct pair p = paired();
	int ep = epoll_create1(0);

	WANT(set(p.b, SOL_SOCKET, SO_RCVLOWAT, 100), 0);
	WANT(epoll_ctl(ep, EPOLL_CTL_ADD, p.b, &ev), 0);
	put(p.a, 60, 1);
	TRUE(arrived(p.b, 60));
	WANT(epoll_wait(ep, &ev, 1, 0), 0);
	WANT(set(p.b, SOL_SOCKET, SO_RCVLOWAT, 60), 0);
	WANT(epoll_wait(ep, &ev, 1, 1000), 1);
	close(ep);
}

static void lowat_at_the_end(void)
{
	struct pair p = paired();
	char buf[200];

	WANT(set(p.b, SOL_SOCKET, SO_RCVLOWAT, 100), 0);
	put(p.a, 60, 1);
	WANT(shutdown(p.a, SHUT_WR), 0);
	poll_is(p.b, POLLIN | POLLOUT | POLLRDHUP);
	WANT(recv(p.b, buf, sizeof(buf), 0), 60);
	WANT(recv(p.b, buf, sizeof(buf), 0), 0);
}

const struct test option_tests[] = {
	{ "socket_facts", socket_facts },
	{ "options_kept", options_kept },
	{ "options_inherited", options_inherited },
	{ "options_refused", options_refused },
	{ "buffer_sizes", buffer_sizes },
	{ "maxseg", maxseg },
	{ "linger_kept", linger_kept },
	{ "cork", cork },
	{ "queues", queues },
	{ "queues_of_listener", queues_of_listener },
	{ "queue_at_the_end", queue_at_the_end },
	{ "lowat", lowat },
	{ "lowat_lowered", lowat_lowered },
	{ "lowat_at_the_end", lowat_at_the_end },
	{ NULL, NULL },
};
