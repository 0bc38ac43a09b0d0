// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rdscat --stream: a stream socket, and bytes in both directions.
 *
 * Each direction ends on its own: the end of standard input is told to the peer
 * by shutdown(), and what the peer sends is still read. After a failure, or a
 * signal, the socket is reset, so that the peer does not take what it has for
 * all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rdscat.h"

#define BUF_LEN	(256u << 10)
/* How often the kernel is asked what the peer has acknowledged; no event says */
#define DRAIN_MS 5

/* One direction: bytes from @at on, @len of them, are not written yet. */
struct lane {
	uint8_t *buf;
	size_t at, len;
	uint64_t total;		/* bytes read */
	bool eof;		/* nothing more can be read */
	bool done;		/* nor written; the reader was told */
};

struct stream {
	const struct rc_options *o;
	int fd;
	char peer[RT_ADDRSTRLEN];
	struct rc_output output;
	struct lane out;	/* standard input to the socket */
	struct lane in;		/* the socket to standard output */
	uint64_t size;		/* of the input if it is a file */
	bool cut;		/* the peer does not take all of the input */
	bool failed;
};

static bool goes_on(const struct stream *s)
{
	return !s->failed && !rc_interrupted();
}

/* Wait for a socket, at most until time @until; 0: without limit. */
static short wait_for(int fd, short events, uint64_t until)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	uint64_t now = rt_now_us(), left = until > now ? until - now : 0;
	struct timespec ts = { left / 1000000, left % 1000000 * 1000 };
	sigset_t none;

	sigemptyset(&none);
	if (ppoll(&pfd, 1, until ? &ts : NULL, &none) <= 0)
		return 0;
	return pfd.revents;
}

static int socket_error(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return errno;
	return err;
}

/* ---- a connection ---- */

static int open_socket(int transport)
{
	int fd = socket(rt_family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	int err = errno;

	if (fd < 0) {
		rc_complain("cannot create a stream socket: %s", strerror(err));
		rt_hint_stream(err, NULL);
		return -1;
	}
	if (rt_set_transport(fd, transport)) {
		rc_complain("cannot use that transport: %s", strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

static int bind_to(int fd, const union rt_addr *a)
{
	char text[RT_ADDRSTRLEN];
	int one = 1, err;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, &a->sa, rt_addrlen(a)))
		return 0;
	err = errno;
	rc_complain("cannot bind to %s: %s",
		    rt_addr_str(a, text, sizeof(text)), strerror(err));
	rt_hint_stream(err, a);
	return -1;
}

static void dial_failed(const struct stream *s, int err)
{
	const struct rc_options *o = s->o;
	union rt_addr self = o->src;

	rc_complain("cannot connect to %s: %s%s", s->peer, strerror(err),
		    err == ECONNREFUSED ?
			    " (is rdscat --stream -l running there?)" : "");
	if (o->have_src || !rt_source_for(&o->addr, &self))
		rt_hint_stream(err, &self);
}

/* Returns 0, or -1 if there is no connection; a signal is not complained of. */
static int dial(struct stream *s)
{
	uint64_t until = rt_now_us() + s->o->timeout_us;
	int err = 0;

	rt_addr_str(&s->o->addr, s->peer, sizeof(s->peer));
	s->fd = open_socket(s->o->transport);
	if (s->fd < 0 || (s->o->have_src && bind_to(s->fd, &s->o->src)))
		return -1;
	if (connect(s->fd, &s->o->addr.sa, rt_addrlen(&s->o->addr)))
		err = errno;
	while (err == EINPROGRESS && !rc_interrupted()) {
		if (wait_for(s->fd, POLLOUT, until))
			err = socket_error(s->fd);
		else if (rt_now_us() >= until)
			err = ETIMEDOUT;
	}
	if (err && !rc_interrupted())
		dial_failed(s, err);
	return err ? -1 : 0;
}

static int take_one(struct stream *s, int listener)
{
	union rt_addr from = { 0 };
	socklen_t len = sizeof(from);

	while (s->fd < 0 && !rc_interrupted()) {
		if (!wait_for(listener, POLLIN, 0))
			continue;
		s->fd = accept4(listener, &from.sa, &len,
				SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (s->fd < 0 && errno != EAGAIN && errno != EINTR &&
		    errno != ECONNABORTED) {
			rc_complain("accept: %s", strerror(errno));
			return -1;
		}
	}
	rt_addr_str(&from, s->peer, sizeof(s->peer));
	return s->fd < 0 ? -1 : 0;
}

/* The first peer is served; the next ones are refused. */
static int answer(struct stream *s)
{
	int listener = open_socket(s->o->transport), rc = -1;

	s->fd = -1;
	if (listener < 0)
		return -1;
	if (!bind_to(listener, &s->o->addr)) {
		if (listen(listener, 1))
			rc_complain("listen: %s", strerror(errno));
		else
			rc = take_one(s, listener);
	}
	close(listener);
	return rc;
}

/* Have the kernel ask a silent peer for a sign of life. */
static void watch(const struct stream *s)
{
	int one = 1, idle = (s->o->timeout_us + 999999) / 1000000;
	int probes = 3, interval = (idle + probes - 1) / probes;

	if (idle > 32767)
		idle = 32767;
	if (interval > 32767)
		interval = 32767;
	setsockopt(s->fd, SOL_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(s->fd, SOL_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(s->fd, SOL_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(s->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
}

/* ---- bytes ---- */

static void read_input(struct stream *s)
{
	ssize_t n = read(STDIN_FILENO, s->out.buf, BUF_LEN);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0) {
		rc_complain("reading the input: %s", strerror(errno));
		s->failed = true;
		return;
	}
	s->out.eof = !n;
	s->out.at = 0;
	s->out.len = n;
	s->out.total += n;
}

/*
 * The peer takes nothing any more. What it has sent before is still written to
 * the output.
 */
static void out_broken(struct stream *s, int err)
{
	if (err == EPIPE)
		rc_complain("%s closed the connection before the end of the input",
			    s->peer);
	else
		rc_complain("sending to %s: %s", s->peer, strerror(err));
	s->out.done = true;
	s->cut = true;
	s->failed = err != EPIPE;
}

static void send_some(struct stream *s)
{
	while (s->out.len) {
		ssize_t n = send(s->fd, s->out.buf + s->out.at, s->out.len,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno != EAGAIN)
				out_broken(s, errno);
			return;
		}
		s->out.at += n;
		s->out.len -= n;
	}
	if (!s->out.eof)
		return;
	if (shutdown(s->fd, SHUT_WR))
		out_broken(s, errno == ENOTCONN ? EPIPE : errno);
	s->out.done = true;
}

static void receive(struct stream *s)
{
	ssize_t n = recv(s->fd, s->in.buf, BUF_LEN, 0);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0) {
		rc_complain("receiving from %s: %s", s->peer, strerror(errno));
		s->failed = true;
		return;
	}
	s->in.eof = !n;
	s->in.at = 0;
	s->in.len = n;
	s->in.total += n;
}

static void output_failed(struct stream *s, const char *what)
{
	rc_complain("%s the output: %s", what, strerror(errno));
	s->failed = true;
}

static void write_some(struct stream *s)
{
	ssize_t n = rc_output_write(&s->output, s->in.buf + s->in.at,
				    s->in.len);

	if (n < 0) {
		output_failed(s, "write");
		return;
	}
	s->in.at += n;
	s->in.len -= n;
}

/* The reader of the output hears of the end, though the input may go on. */
static void end_output(struct stream *s)
{
	if (rc_output_close(&s->output))
		output_failed(s, "close");
	s->in.done = true;
}

/* ---- both directions ---- */

enum { SOCKET, INPUT, OUTPUT, NR };

static bool wants_input(const struct stream *s)
{
	return !s->out.done && !s->out.eof && !s->out.len;
}

/*
 * Set what is to be waited for. The socket is left out while only the output is:
 * poll() reports a connection that failed again and again. While only the input
 * is waited for it is not, as then that is news. That the peer has closed its
 * socket is none for poll(), and is known when there is more to send.
 */
static void set_wishes(const struct stream *s, struct pollfd *pfd)
{
	bool sends = !s->out.done && s->out.len;
	bool receives = !s->in.eof && !s->in.len;
	bool watches = wants_input(s) && s->in.done;

	pfd[SOCKET] = (struct pollfd){
		.fd = sends || receives || watches ? s->fd : -1,
		.events = (sends ? POLLOUT : 0) | (receives ? POLLIN : 0),
	};
	pfd[INPUT] = (struct pollfd){
		.fd = wants_input(s) ? STDIN_FILENO : -1,
		.events = POLLIN,
	};
	pfd[OUTPUT] = (struct pollfd){
		.fd = s->in.len ? s->output.fd : -1,
		.events = POLLOUT,
	};
}

static void step(struct stream *s)
{
	struct pollfd pfd[NR];
	sigset_t none;

	set_wishes(s, pfd);
	sigemptyset(&none);
	if (ppoll(pfd, NR, NULL, &none) < 0)
		return;
	if (pfd[OUTPUT].revents)
		write_some(s);
	if (pfd[INPUT].revents)
		read_input(s);
	if (!s->out.done && (s->out.len || s->out.eof))
		send_some(s);
	if (!s->in.eof && !s->in.len)
		receive(s);
	if (s->in.len)
		write_some(s);
	if (s->in.eof && !s->in.len && !s->in.done)
		end_output(s);
	else if (s->in.done && wants_input(s) &&
		 pfd[SOCKET].revents & (POLLHUP | POLLERR))
		out_broken(s, socket_error(s->fd) ?: EPIPE);
}

static void show(const struct stream *s, bool last)
{
	if (s->o->listen)
		rc_progress(s->in.total, 0, last);
	else
		rc_progress(s->out.total - s->out.len, s->size, last);
}

/* Wait until the peer's kernel has all bytes. */
static void drain(struct stream *s)
{
	uint64_t until = rt_now_us() + s->o->timeout_us;
	int left = 0, err = 0;

	while (goes_on(s)) {
		err = socket_error(s->fd);
		if (err || ioctl(s->fd, SIOCOUTQ, &left) || !left)
			break;
		if (rt_now_us() >= until) {
			err = ETIMEDOUT;
			break;
		}
		poll(NULL, 0, DRAIN_MS);
	}
	if (!err)
		return;
	rc_complain("sending to %s: %s", s->peer, strerror(err));
	s->failed = true;
}

/* Returns the exit status of the program. */
static int copy(struct stream *s)
{
	while (goes_on(s) && !(s->in.done && s->out.done)) {
		step(s);
		show(s, false);
	}
	if (!s->cut)
		drain(s);
	if (rc_interrupted()) {
		rc_complain("interrupted");
		return 128 + rc_interrupted();
	}
	if (s->failed || s->cut)
		return 1;
	show(s, true);
	return 0;
}

static int run(struct stream *s)
{
	struct linger reset = { .l_onoff = 1 };
	struct stat st;
	int status;

	s->out.buf = malloc(BUF_LEN);
	s->in.buf = malloc(BUF_LEN);
	if (!s->out.buf || !s->in.buf) {
		rc_complain("out of memory");
		return 1;
	}
	if (!fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode))
		s->size = st.st_size;
	rc_output_open(&s->output);
	if (s->o->listen ? answer(s) : dial(s)) {
		if (!rc_interrupted())
			return 1;
		rc_complain("interrupted");
		return 128 + rc_interrupted();
	}
	watch(s);
	status = copy(s);
	if (status)
		setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	return status;
}

int rc_stream(const struct rc_options *o)
{
	struct stream s = { .o = o, .fd = -1 };
	int status = run(&s);

	if (s.fd >= 0)
		close(s.fd);
	free(s.out.buf);
	free(s.in.buf);
	return status;
}
