// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-basic: many bytes, writes and connections, and files */
#define _GNU_SOURCE
#include "basic.h"

#include <sys/mman.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include <linux/sockios.h>

#define MIB	(1 << 20)
#define WRITES	10000
#define CONNS	32
#define TURNS	20

/* The bytes of one direction: where it stands, and how much a call may move */
struct half {
	unsigned char *p;
	size_t len, done, step;
};

static struct half half_of(size_t len, size_t step, unsigned int seed)
{
	struct half h = { .p = calloc(1, len), .len = len, .step = step };

	if (!h.p)
		die("no memory for %zu bytes", len);
	if (seed)
		fill(h.p, len, seed);
	return h;
}

static size_t next_step(const struct half *h)
{
	size_t left = h->len - h->done;

	return left < h->step ? left : h->step;
}

static void move_out(int fd, struct half *h)
{
	ssize_t n = send(fd, h->p + h->done, next_step(h),
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN)
		die("send: %m");
	h->done += n > 0 ? (size_t)n : 0;
}

static void move_in(int fd, struct half *h)
{
	ssize_t n = recv(fd, h->p + h->done, next_step(h), MSG_DONTWAIT);

	if (!n || (n < 0 && errno != EAGAIN))
		die("recv: %m");
	h->done += n > 0 ? (size_t)n : 0;
}

/* Send and receive at the same time, by poll(). */
static void both(int fd, struct half *out, struct half *in)
{
	while (out->done < out->len || in->done < in->len) {
		struct pollfd p = { .fd = fd };

		p.events = (out->done < out->len ? POLLOUT : 0) |
			   (in->done < in->len ? POLLIN : 0);
		if (poll(&p, 1, -1) != 1)
			die("poll: %m");
		if (in->done < in->len && p.revents & ~POLLOUT)
			move_in(fd, in);
		if (out->done < out->len && p.revents & POLLOUT)
			move_out(fd, out);
	}
}

static bool exchange(int fd, size_t len, size_t step, unsigned int out,
		     unsigned int in)
{
	struct half o = half_of(len, step, out), i = half_of(len, step, 0);
	bool ok;

	both(fd, &o, &i);
	ok = filled(i.p, len, in);
	free(o.p);
	free(i.p);
	return ok;
}

/* Each end in a process of its own */
static void both_ways(size_t len, size_t step_a, size_t step_b)
{
	struct pair p = paired();
	pid_t pid = fork();

	if (!pid)
		_exit(!exchange(p.b, len, step_b, 2, 1));
	TRUE(exchange(p.a, len, step_a, 1, 2));
	TRUE(child_ok(pid));
}

static void both_ways_10mib(void)
{
	both_ways(10 * MIB, 65536, 65536);
}

static void both_ways_odd(void)
{
	both_ways(MIB + 4711, 1021, 70001);
}

static void small_writes(void)
{
	struct half o = half_of(WRITES * 17, 0, 1);
	struct pair p = paired();
	pid_t pid = fork();

	if (!pid)
		_exit(!got(p.b, o.len, 1));
	for (unsigned int i = 0; o.done < o.len; i++) {
		size_t left = o.len - o.done, n = 1 + i % 33;

		n = n < left ? n : left;
		if (send(p.a, o.p + o.done, n, 0) != (ssize_t)n)
			die("send: %m");
		o.done += n;
	}
	TRUE(child_ok(pid));
}

/* Small writes and answers, each of which has to go at once */
static void ping_pong(void)
{
	struct pair p = paired();
	pid_t pid = fork();

	if (!pid) {
		for (unsigned int i = 0; i < 500; i++) {
			if (!got(p.b, 1 + i % 100, i))
				_exit(1);
			put(p.b, 1 + i % 100, i + 1);
		}
		_exit(0);
	}
	for (unsigned int i = 0; i < 500; i++) {
		put(p.a, 1 + i % 100, i);
		TRUE(got(p.a, 1 + i % 100, i + 1));
	}
	TRUE(child_ok(pid));
}

/*
 * The reader reads only when the writer cannot go on, and then a little.  Both
 * are waited for: bytes may have been read that still count as being sent.
 */
static void slow_reader(void)
{
	struct half o = half_of(8 * MIB, 65536, 1), i = half_of(8 * MIB, 0, 0);
	struct pair p = paired();

	for (unsigned int turn = 0; i.done < i.len; turn++) {
		struct pollfd w[] = {
			{ .fd = p.b, .events = POLLIN },
			{ .fd = p.a, .events = POLLOUT },
		};

		TRUE(poll(w, o.done < o.len ? 2 : 1, WAIT_MS) > 0);
		if (w[1].revents) {
			move_out(p.a, &o);
		} else {
			i.step = 1 + turn * 977 % 40000;
			move_in(p.b, &i);
		}
	}
	TRUE(filled(i.p, i.len, 1));
}

/* One call with more than all buffers hold */
static void big_write(void)
{
	struct half o = half_of(32 * MIB, 0, 1);
	struct pair p = paired();
	pid_t pid = fork();

	if (!pid)
		_exit(!got(p.b, o.len, 1));
	WANT(send(p.a, o.p, o.len, 0), (long)o.len);
	TRUE(child_ok(pid));
}

static void big_waitall(void)
{
	struct half i = half_of(4 * MIB, 0, 0);
	struct pair p = paired();
	pid_t pid = fork();

	if (!pid) {
		put(p.a, i.len, 1);
		_exit(0);
	}
	WANT(recv(p.b, i.p, i.len, MSG_WAITALL), (long)i.len);
	TRUE(filled(i.p, i.len, 1));
	TRUE(child_ok(pid));
}

static void half_close_echo(void)
{
	const size_t len = MIB;
	struct half e = half_of(len, 0, 0);
	struct pair p = paired();
	pid_t pid = fork();
	ssize_t n;
	char byte;

	if (!pid) {
		close(p.a);
		while ((n = recv(p.b, e.p + e.done, len - e.done + 1, 0)) > 0)
			e.done += (size_t)n;
		if (n || e.done != len ||
		    send(p.b, e.p, len, 0) != (ssize_t)len)
			_exit(1);
		_exit(0);
	}
	close(p.b);
	put(p.a, len, 1);
	WANT(shutdown(p.a, SHUT_WR), 0);
	TRUE(got(p.a, len, 1));
	WANT(recv(p.a, &byte, 1, 0), 0);
	TRUE(child_ok(pid));
}

/* ---- files */

static int file_of(size_t len, unsigned int seed)
{
	struct half h = half_of(len, 0, seed);
	int fd = memfd_create("stream", MFD_CLOEXEC);

	if (fd < 0 || pwrite(fd, h.p, len, 0) != (ssize_t)len)
		die("file: %m");
	free(h.p);
	return fd;
}

static void sendfile_all(void)
{
	const size_t len = 3 * MIB + 123;
	int f = file_of(len, 1);
	struct pair p = paired();
	size_t done = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(!got(p.b, len, 1));
	while (done < len) {
		ssize_t n = sendfile(p.a, f, NULL, len - done);

		if (n <= 0)
			die("sendfile: %m");
		done += (size_t)n;
	}
	TRUE(child_ok(pid));
}

/* What is sent by sendfile() is what the file has when the call is made. */
static void sendfile_nonblock(void)
{
	const size_t len = 64 * MIB;
	int f = memfd_create("stream", MFD_CLOEXEC);
	struct pair p = paired();
	ssize_t n;

	if (ftruncate(f, (off_t)len))
		die("ftruncate: %m");
	nonblocking(p.a, true);
	n = sendfile(p.a, f, NULL, len);
	TRUE(n > 0);
	TRUE((size_t)n < len);
	fill_up(p.a);
	WANT(sendfile(p.a, f, NULL, len), -EAGAIN);
}

/* sendfile() of more than the file has: what there was is not kept back. */
static void sendfile_short(void)
{
	const size_t len = 1000;
	int f = file_of(len, 1), unsent = -1;
	struct pair p = paired();

	WANT(sendfile(p.a, f, NULL, 5 * len), (long)len);
	WANT(ioctl(p.a, SIOCOUTQNSD, &unsent), 0);
	WANT(unsent, 0);
	TRUE(got(p.b, len, 1));
}

static void splice_through(int from, int to, size_t len)
{
	int pipes[2];
	size_t done = 0;

	if (pipe(pipes))
		die("pipe: %m");
	while (done < len) {
		ssize_t n = splice(from, NULL, pipes[1], NULL, len - done, 0);

		if (n <= 0)
			die("splice from: %m");
		done += (size_t)n;
		while (n > 0) {
			ssize_t m = splice(pipes[0], NULL, to, NULL, (size_t)n,
					   SPLICE_F_MORE);

			if (m <= 0)
				die("splice to: %m");
			n -= m;
		}
	}
}

static void splice_in(void)
{
	const size_t len = 2 * MIB + 77;
	int f = file_of(len, 1);
	struct pair p = paired();
	pid_t pid = fork();

	if (!pid)
		_exit(!got(p.b, len, 1));
	splice_through(f, p.a, len);
	WANT(shutdown(p.a, SHUT_WR), 0);
	TRUE(child_ok(pid));
}

static void splice_out(void)
{
	const size_t len = 2 * MIB + 77;
	int f = memfd_create("stream", MFD_CLOEXEC);
	struct half h = half_of(len, 0, 0);
	struct pair p = paired();
	pid_t pid = fork();

	if (!pid) {
		put(p.a, len, 1);
		_exit(0);
	}
	splice_through(p.b, f, len);
	WANT(pread(f, h.p, len, 0), (long)len);
	TRUE(filled(h.p, len, 1));
	TRUE(child_ok(pid));
}

/* ---- connections */

static void many_at_once(void)
{
	union addr a;
	int l = listening(&a, CONNS), c[CONNS], s[CONNS];
	unsigned int i;

	for (i = 0; i < CONNS; i++) {
		c[i] = dialler(0);
		WANT(dial(c[i], &a), 0);
		s[i] = accept(l, NULL, NULL);
		put(c[i], 1000, i);
	}
	for (i = 0; i < CONNS; i++) {
		TRUE(got(s[i], 1000, i));
		put(s[i], 1000, i + 1);
	}
	for (i = 0; i < CONNS; i++)
		TRUE(got(c[i], 1000, i + 1));
}

static void one_after_the_other(void)
{
	union addr a;
	int l = listening(&a, 4), c, s;
	char byte;

	for (unsigned int i = 0; i < TURNS; i++) {
		c = dialler(0);
		WANT(dial(c, &a), 0);
		s = accept(l, NULL, NULL);
		put(c, 1000, i);
		TRUE(got(s, 1000, i));
		close(i & 1 ? c : s);
		WANT(recv(i & 1 ? s : c, &byte, 1, 0), 0);
		close(i & 1 ? s : c);
	}
}

const struct test bulk_tests[] = {
	{ "both_ways_10mib", both_ways_10mib },
	{ "both_ways_odd", both_ways_odd },
	{ "small_writes", small_writes },
	{ "ping_pong", ping_pong },
	{ "slow_reader", slow_reader },
	{ "big_write", big_write },
	{ "big_waitall", big_waitall },
	{ "half_close_echo", half_close_echo },
	{ "sendfile", sendfile_all },
	{ "sendfile_nonblock", sendfile_nonblock },
	{ "sendfile_short", sendfile_short },
	{ "splice_in", splice_in },
	{ "splice_out", splice_out },
	{ "many_at_once", many_at_once },
	{ "one_after_the_other", one_after_the_other },
	{ NULL, NULL },
};
