// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-basic: poll(), select() and epoll */
#define _GNU_SOURCE
#include "basic.h"
#include "opt.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

static char byte;

static int watch(int fd, uint32_t events)
{
	struct epoll_event e = { .events = events };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e))
		die("epoll: %m");
	return ep;
}

/* The events of the next report, 0 if there is none within @ms */
static long next(int ep, int ms)
{
	struct epoll_event e = { 0 };

	return epoll_wait(ep, &e, 1, ms) == 1 ? (long)e.events : 0;
}

static size_t drain(int fd)
{
	static char buf[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		sum += (size_t)n;
	return sum;
}

static void poll_fresh(void)
{
	int fd = opened(0);

	poll_is(fd, POLLOUT | POLLHUP);
}

static void poll_idle(void)
{
	struct pair p = paired();

	poll_is(p.l, 0);
	poll_is(p.a, POLLOUT);
	poll_is(p.b, POLLOUT);
	put(p.a, 10, 1);
	poll_is(p.b, POLLIN | POLLOUT);
	TRUE(got(p.b, 10, 1));
	poll_is(p.b, POLLOUT);
}

/* A sender that is full is not writable, until its peer has read. */
static void poll_full(void)
{
	struct pair p = paired();
	struct pollfd out = { .fd = p.a, .events = POLLOUT };
	size_t n = fill_up(p.a), read = 0;

	poll_is(p.a, 0);
	WANT(send(p.a, &byte, 1, MSG_DONTWAIT), -EAGAIN);
	/* Bytes may come in several turns, each of which has to be read. */
	while (read < n && readable(p.b, WAIT_MS))
		read += drain(p.b);
	TRUE(read == n);
	WANT(poll(&out, 1, WAIT_MS), 1);
	WANT(send(p.a, &byte, 1, MSG_DONTWAIT), 1);
}

static void select_all(void)
{
	struct pair p = paired();
	struct timeval now = { 0 };
	fd_set r, w;

	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(p.b, &r);
	FD_SET(p.b, &w);
	WANT(select(p.b + 1, &r, &w, NULL, &now), 1);
	TRUE(!FD_ISSET(p.b, &r));
	TRUE(FD_ISSET(p.b, &w));
	put(p.a, 10, 1);
	FD_SET(p.b, &r);
	WANT(select(p.b + 1, &r, NULL, NULL, NULL), 1);
	TRUE(FD_ISSET(p.b, &r));
}

static void epoll_level(void)
{
	struct pair p = paired();
	int ep = watch(p.b, EPOLLIN);

	WANT(next(ep, 0), 0);
	put(p.a, 10, 1);
	TRUE(arrived(p.b, 10));
	WANT(next(ep, WAIT_MS), EPOLLIN);
	WANT(next(ep, WAIT_MS), EPOLLIN);
	drain(p.b);
	WANT(next(ep, 0), 0);
}

/* Each arrival is reported once, whether the program has read or not. */
static void epoll_edge(void)
{
	struct pair p = paired();
	int ep = watch(p.b, EPOLLIN | EPOLLET);

	put(p.a, 10, 1);
	TRUE(arrived(p.b, 10));
	WANT(next(ep, WAIT_MS), EPOLLIN);
	WANT(next(ep, 0), 0);
	put(p.a, 10, 1);
	TRUE(arrived(p.b, 20));
	WANT(next(ep, WAIT_MS), EPOLLIN);
	WANT(next(ep, 0), 0);
	drain(p.b);
	put(p.a, 10, 1);
	WANT(next(ep, WAIT_MS), EPOLLIN);
}

static void epoll_edge_out(void)
{
	struct pair p = paired();
	int ep = watch(p.a, EPOLLOUT | EPOLLET);
	size_t n, read = 0;

	WANT(next(ep, 0), EPOLLOUT);
	WANT(next(ep, 0), 0);
	n = fill_up(p.a);
	while (next(ep, 0))
		;
	while (read < n && readable(p.b, WAIT_MS))
		read += drain(p.b);
	WANT(next(ep, WAIT_MS), EPOLLOUT);
	WANT(send(p.a, &byte, 1, MSG_DONTWAIT), 1);
}

static void epoll_end(void)
{
	struct pair p = paired();
	int ep = watch(p.b, EPOLLIN | EPOLLRDHUP | EPOLLET);

	WANT(shutdown(p.a, SHUT_WR), 0);
	WANT(next(ep, WAIT_MS), EPOLLIN | EPOLLRDHUP);
	WANT(next(ep, 0), 0);
}

static void epoll_oneshot(void)
{
	struct pair p = paired();
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT };
	int ep = watch(p.b, EPOLLIN | EPOLLONESHOT);

	put(p.a, 10, 1);
	WANT(next(ep, WAIT_MS), EPOLLIN);
	put(p.a, 10, 1);
	TRUE(arrived(p.b, 20));
	WANT(next(ep, 0), 0);
	WANT(epoll_ctl(ep, EPOLL_CTL_MOD, p.b, &e), 0);
	WANT(next(ep, WAIT_MS), EPOLLIN);
}

static void epoll_listener(void)
{
	union addr a;
	int l = listening(&a, 4), ep = watch(l, EPOLLIN | EPOLLET);

	WANT(next(ep, 0), 0);
	WANT(dial(dialler(0), &a), 0);
	WANT(next(ep, WAIT_MS), EPOLLIN);
	WANT(next(ep, 0), 0);
	WANT(dial(dialler(0), &a), 0);
	WANT(next(ep, WAIT_MS), EPOLLIN);
}

/* A descriptor that is watched before it connects is told when it has. */
static void epoll_connect(void)
{
	union addr a;
	int fd = dialler(SOCK_NONBLOCK), ep, l = listening(&a, 4);

	ep = watch(fd, EPOLLOUT | EPOLLET);
	WANT(next(ep, 0), EPOLLOUT | EPOLLHUP);
	WANT(dial(fd, &a), -EINPROGRESS);
	WANT(next(ep, WAIT_MS), EPOLLOUT);
	TRUE(accept(l, NULL, NULL) >= 0);
}

static void epoll_refused(void)
{
	union addr a;
	int fd = dialler(SOCK_NONBLOCK), ep;

	close(listening(&a, 1));
	ep = watch(fd, EPOLLIN | EPOLLOUT | EPOLLET);
	WANT(next(ep, 0), EPOLLOUT | EPOLLHUP);
	WANT(dial(fd, &a), -EINPROGRESS);
	WANT(next(ep, WAIT_MS), EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP);
}

/* A socket that has listened tells errors as others do. */
static void refused_after_listen(void)
{
	union addr a, own;
	int fd = listening(&own, 1);
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	close(listening(&a, 1));
	WANT(shutdown(fd, SHUT_RDWR), 0);
	WANT(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	WANT(dial(fd, &a), -EINPROGRESS);
	WANT(poll(&p, 1, WAIT_MS), 1);
	WANT(get(fd, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
}

/* Who does not poll gets a signal when there is room. */
static void sigio_room(void)
{
	const struct timespec none = { 0, 0 }, some = { 0, 50000000 };
	struct pair p = paired();
	int64_t end = now_ms() + WAIT_MS;
	siginfo_t si = { .si_code = 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	WANT(fcntl(p.a, F_SETOWN, getpid()), 0);
	WANT(fcntl(p.a, F_SETSIG, SIGRTMIN), 0);
	WANT(fcntl(p.a, F_SETFL, O_ASYNC | O_NONBLOCK), 0);
	fill_up(p.a);
	while (sigtimedwait(&set, &si, &none) > 0)
		;
	si.si_code = 0;
	while (si.si_code != POLL_OUT && now_ms() < end) {
		drain(p.b);
		sigtimedwait(&set, &si, &some);
	}
	WANT(si.si_code, POLL_OUT);
}

const struct test poll_tests[] = {
	{ "poll_fresh", poll_fresh },
	{ "poll_idle", poll_idle },
	{ "poll_full", poll_full },
	{ "select", select_all },
	{ "epoll_level", epoll_level },
	{ "epoll_edge", epoll_edge },
	{ "epoll_edge_out", epoll_edge_out },
	{ "epoll_end", epoll_end },
	{ "epoll_oneshot", epoll_oneshot },
	{ "epoll_listener", epoll_listener },
	{ "epoll_connect", epoll_connect },
	{ "epoll_refused", epoll_refused },
	{ "refused_after_listen", refused_after_listen },
	{ "sigio_room", sigio_room },
	{ NULL, NULL },
};
