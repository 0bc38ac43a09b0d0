// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-basic: shutdown, close, linger, shared descriptors */
#define _GNU_SOURCE
#include "basic.h"

#define SHARED_BYTES 100000

static char byte;

static void set_linger(int fd, int seconds)
{
	struct linger l = { 1, seconds };

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)))
		die("SO_LINGER: %m");
}

/* One half is shut; the other goes on in the opposite direction. */
static void shut_wr(void)
{
	struct pair p = paired();

	put(p.a, 100, 1);
	WANT(shutdown(p.a, SHUT_WR), 0);
	poll_is(p.b, POLLIN | POLLOUT | POLLRDHUP);
	TRUE(got(p.b, 100, 1));
	WANT(recv(p.b, &byte, 1, 0), 0);
	WANT(recv(p.b, &byte, 1, 0), 0);
	put(p.b, 5000, 2);
	TRUE(got(p.a, 5000, 2));
	poll_is(p.a, POLLOUT);
	WANT(shutdown(p.a, SHUT_WR), 0);
	WANT(send(p.a, &byte, 1, MSG_NOSIGNAL), -EPIPE);
}

static void shut_wr_both(void)
{
	struct pair p = paired();

	WANT(shutdown(p.a, SHUT_WR), 0);
	WANT(recv(p.b, &byte, 1, 0), 0);
	WANT(shutdown(p.b, SHUT_WR), 0);
	WANT(recv(p.a, &byte, 1, 0), 0);
	poll_is(p.a, POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	poll_is(p.b, POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	WANT(send(p.b, &byte, 1, MSG_NOSIGNAL), -EPIPE);
	WANT(recv(p.b, &byte, 1, 0), 0);
}

static void shut_rd(void)
{
	struct pair p = paired();

	WANT(shutdown(p.a, SHUT_RD), 0);
	WANT(recv(p.a, &byte, 1, 0), 0);
	poll_is(p.a, POLLIN | POLLOUT | POLLRDHUP);
	/* The peer is told nothing. */
	poll_is(p.b, POLLOUT);
	WANT(send(p.b, &byte, 1, 0), 1);
	put(p.a, 100, 1);
	TRUE(got(p.b, 100, 1));
}

static void shut_rd_leaves_what_came(void)
{
	struct pair p = paired();

	put(p.a, 100, 1);
	TRUE(arrived(p.b, 100));
	WANT(shutdown(p.b, SHUT_RD), 0);
	TRUE(got(p.b, 100, 1));
	WANT(recv(p.b, &byte, 1, 0), 0);
}

static void shut_both_halves(void)
{
	struct pair p = paired();

	put(p.a, 100, 1);
	WANT(shutdown(p.a, SHUT_RDWR), 0);
	TRUE(got(p.b, 100, 1));
	WANT(recv(p.b, &byte, 1, 0), 0);
	WANT(recv(p.a, &byte, 1, 0), 0);
	WANT(send(p.a, &byte, 1, MSG_NOSIGNAL), -EPIPE);
	poll_is(p.a, POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	/* The peer is told of one half only. */
	poll_is(p.b, POLLIN | POLLOUT | POLLRDHUP);
	WANT(send(p.b, &byte, 1, MSG_NOSIGNAL), 1);
}

static void shut_bad(void)
{
	struct pair p = paired();

	WANT(shutdown(p.a, 3), -EINVAL);
	WANT(shutdown(p.a, -1), -EINVAL);
	put(p.a, 10, 1);
	TRUE(got(p.b, 10, 1));
}

/* A reader that sleeps at end a is woken by what @end does to the pair. */
static void wakes_reader(void (*end)(struct pair *p))
{
	struct pair p = paired();
	struct sleeper s = { .call = receives, .fd = p.a, .len = 10,
			     .result = -1 };
	pthread_t t = sleeping(&s);

	end(&p);
	pthread_join(t, NULL);
	WANT((int)s.result, 0);
}

static void shut_a(struct pair *p)
{
	WANT(shutdown(p->a, SHUT_RD), 0);
}

static void close_b(struct pair *p)
{
	close(p->b);
}

static void shut_wakes_reader(void)
{
	wakes_reader(shut_a);
}

static void close_wakes_reader(void)
{
	wakes_reader(close_b);
}

/* Bytes that were written before close() come, then the end. */
static void close_ends(void)
{
	struct pair p = paired();

	put(p.a, 50000, 1);
	close(p.a);
	TRUE(got(p.b, 50000, 1));
	WANT(recv(p.b, &byte, 1, 0), 0);
}

static bool send_fails(void *arg)
{
	return send(*(int *)arg, &byte, 1, MSG_NOSIGNAL) < 0;
}

static void send_to_closed(void)
{
	struct pair p = paired();

	close(p.b);
	TRUE(wait_until(send_fails, &p.a, WAIT_MS));
	TRUE(errno == EPIPE || errno == ECONNRESET);
	WANT(send(p.a, &byte, 1, MSG_NOSIGNAL), -EPIPE);
}

/* Who closes with bytes unread has lost some, and says so. */
static void close_unread(void)
{
	struct pair p = paired();

	put(p.a, 100, 1);
	TRUE(arrived(p.b, 100));
	close(p.b);
	WANT(recv(p.a, &byte, 1, 0), -ECONNRESET);
	WANT(recv(p.a, &byte, 1, 0), 0);
	WANT(send(p.a, &byte, 1, MSG_NOSIGNAL), -EPIPE);
}

static void linger_0(void)
{
	struct pair p = paired();

	set_linger(p.b, 0);
	close(p.b);
	poll_is(p.a, POLLIN | POLLOUT | POLLRDHUP | POLLHUP | POLLERR);
	WANT(recv(p.a, &byte, 1, 0), -ECONNRESET);
	WANT(recv(p.a, &byte, 1, 0), 0);
	WANT(send(p.a, &byte, 1, MSG_NOSIGNAL), -EPIPE);
}

/* Reset by a peer that had shut its half: what was sent may not have come. */
static void linger_0_shut(void)
{
	struct pair p = paired();

	WANT(shutdown(p.b, SHUT_WR), 0);
	WANT(recv(p.a, &byte, 1, 0), 0);
	set_linger(p.b, 0);
	close(p.b);
	poll_is(p.a, POLLIN | POLLOUT | POLLRDHUP | POLLHUP | POLLERR);
	WANT(so_error(p.a), EPIPE);
	WANT(send(p.a, &byte, 1, MSG_NOSIGNAL), -EPIPE);
}

/* A close that lingers returns when the bytes have gone, and they all come. */
static void linger_10(void)
{
	struct pair p = paired();
	const size_t len = 300000;
	pid_t pid;

	pid = fork();
	if (!pid) {
		close(p.a);
		_exit(!got(p.b, len, 1) || recv(p.b, &byte, 1, 0));
	}
	close(p.b);
	set_linger(p.a, 10 * slow_factor());
	put(p.a, len, 1);
	close(p.a);
	TRUE(child_ok(pid));
}

static void so_error_once(void)
{
	struct pair p = paired();

	set_linger(p.b, 0);
	close(p.b);
	poll_is(p.a, POLLIN | POLLOUT | POLLRDHUP | POLLHUP | POLLERR);
	WANT(so_error(p.a), ECONNRESET);
	WANT(so_error(p.a), 0);
	poll_is(p.a, POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
	WANT(recv(p.a, &byte, 1, 0), 0);
}

/* ---- processes that share a socket */

/* A descriptor that is closed is not the end while there is another one. */
static void dup_keeps(void)
{
	struct pair p = paired();
	int two = dup(p.a);

	close(p.a);
	put(two, 100, 1);
	TRUE(got(p.b, 100, 1));
	close(two);
	WANT(recv(p.b, &byte, 1, 0), 0);
}

/* A server that leaves a connection to a child */
static void fork_serves(void)
{
	struct pair p = paired();
	pid_t pid = fork();

	if (!pid) {
		close(p.a);
		if (!got(p.b, SHARED_BYTES, 1))
			_exit(1);
		put(p.b, SHARED_BYTES, 2);
		_exit(0);
	}
	close(p.b);
	put(p.a, SHARED_BYTES, 1);
	TRUE(got(p.a, SHARED_BYTES, 2));
	WANT(recv(p.a, &byte, 1, 0), 0);
	TRUE(child_ok(pid));
}

/* A child that accepts from the listener of its parent */
static void fork_accepts(void)
{
	union addr a;
	int l = listening(&a, 1), fd = dialler(0), s;
	pid_t pid = fork();

	if (!pid) {
		close(fd);
		s = accept(l, NULL, NULL);
		put(s, 100, 3);
		_exit(s < 0);
	}
	WANT(dial(fd, &a), 0);
	TRUE(got(fd, 100, 3));
	TRUE(child_ok(pid));
	WANT(recv(fd, &byte, 1, 0), 0);
}

static void pass(int unix_fd, int fd)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} c = { .h = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
		       .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = sizeof(c) };

	memcpy(CMSG_DATA(&c.h), &fd, sizeof(fd));
	if (sendmsg(unix_fd, &m, 0) != 1)
		die("SCM_RIGHTS: %m");
}

static int passed(int unix_fd)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} c;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = sizeof(c) };
	int fd = -1;

	if (recvmsg(unix_fd, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(&c.h), sizeof(fd));
	return fd;
}

/* The socket travels to another process with bytes that nobody has read. */
static void fd_passed(void)
{
	struct pair p = paired();
	int u[2], fd;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, u))
		die("socketpair: %m");
	pid = fork();
	if (!pid) {
		close(p.a);
		close(p.b);
		fd = passed(u[1]);
		if (!got(fd, 1000, 1))
			_exit(1);
		put(fd, 1000, 2);
		_exit(0);
	}
	put(p.a, 1000, 1);
	TRUE(arrived(p.b, 1000));
	pass(u[0], p.b);
	close(p.b);
	TRUE(got(p.a, 1000, 2));
	WANT(recv(p.a, &byte, 1, 0), 0);
	TRUE(child_ok(pid));
}

const struct test end_tests[] = {
	{ "shut_wr", shut_wr },
	{ "shut_wr_both", shut_wr_both },
	{ "shut_rd", shut_rd },
	{ "shut_rd_leaves_what_came", shut_rd_leaves_what_came },
	{ "shut_both_halves", shut_both_halves },
	{ "shut_bad", shut_bad },
	{ "shut_wakes_reader", shut_wakes_reader },
	{ "close_wakes_reader", close_wakes_reader },
	{ "close_ends", close_ends },
	{ "send_to_closed", send_to_closed },
	{ "close_unread", close_unread },
	{ "linger_0", linger_0 },
	{ "linger_0_shut", linger_0_shut },
	{ "linger_10", linger_10 },
	{ "so_error_once", so_error_once },
	{ "dup_keeps", dup_keeps },
	{ "fork_serves", fork_serves },
	{ "fork_accepts", fork_accepts },
	{ "fd_passed", fd_passed },
	{ NULL, NULL },
};
