// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poll(): bits, the pulse of congestion maps (once), what wakes a sleeper. */
#include "api.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#define ALL	0x7fff

static void hex(const char *label, int v)
{
	note("%s=0x%x", label, v);
}

/* Congest a socket of B and drain it, so that A has just received a map. */
static void map_pulse(void)
{
	struct link l = link_open(TCP4);
	char b[4];

	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	link_sync(&l);
	need(recv(l.rx, b, 4, 0) == 4);
	link_sync(&l);
	close(l.tx);
	close(l.rx);
}

static void idle(const struct api_case *c)
{
	int fd = c->num2 ? sock() : bound(NS_A, A4, 0);

	(void)c;
	map_pulse();
	hex("first", poll_bits(fd, ALL, 0));
	hex("second", poll_bits(fd, ALL, 0));
	map_pulse();
	hex("pulse", poll_bits(fd, ALL, 0));
	hex("once", poll_bits(fd, ALL, 0));
	need(!set_int(fd, SOL_RDS, RDS_CONG_MONITOR, 1));
	map_pulse();
	hex("monitor", poll_bits(fd, ALL, 0));
}

static void message(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char b[4];

	poll_bits(l.rx, ALL, 0);
	hex("before", poll_bits(l.rx, ALL, 0));
	need(send_to(l.tx, &l.to, 4, 0) == 4);
	hex("wait", poll_bits(l.rx, POLLIN, 10000));
	hex("queued", poll_bits(l.rx, ALL, 0));
	need(recv(l.rx, b, 4, 0) == 4);
	hex("after", poll_bits(l.rx, ALL, 0));
	need(send_to(l.tx, &l.to, 0, 0) == 0);
	hex("zero", poll_bits(l.rx, POLLIN | POLLRDNORM, 10000));
}

static void masked(const struct api_case *c)
{
	struct link l = link_open(c->num);

	poll_bits(l.rx, ALL, 0);
	need(send_to(l.tx, &l.to, 4, 0) == 4);
	need(poll_bits(l.rx, POLLIN, 10000));
	hex("in", poll_bits(l.rx, POLLIN, 0));
	hex("rdnorm", poll_bits(l.rx, POLLRDNORM, 0));
	hex("pri", poll_bits(l.rx, POLLPRI, 0));
	hex("out", poll_bits(l.rx, POLLOUT, 0));
	hex("none", poll_bits(l.rx, 0, 0));
}

static void full(const struct api_case *c)
{
	int fd = hole_full(1);

	(void)c;
	poll_bits(fd, ALL, 0);
	hex("full", poll_bits(fd, ALL, 0));
	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 10000));
	hex("raised", poll_bits(fd, ALL, 0));
}

struct sleeper {
	int fd, events, bits, tid;
	long sent;
	bool done;
};

static void *sleep_in_poll(void *arg)
{
	struct sleeper *s = arg;

	__atomic_store_n(&s->tid, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	s->bits = poll_bits(s->fd, s->events, 15000 * time_scale);
	return NULL;
}

static void *sleep_in_send(void *arg)
{
	struct sleeper *s = arg;
	union addr to = addr_of(HOLE4, 4000);

	__atomic_store_n(&s->tid, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	s->sent = send_to(s->fd, &to, 4, 0);
	__atomic_store_n(&s->done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static bool is_done(void *arg)
{
	return __atomic_load_n(&((struct sleeper *)arg)->done,
			       __ATOMIC_SEQ_CST);
}

static bool has_tid(void *arg)
{
	return __atomic_load_n(&((struct sleeper *)arg)->tid,
			       __ATOMIC_SEQ_CST) != 0;
}

static pthread_t start_in(void *(*fn)(void *), struct sleeper *s)
{
	pthread_t t;

	need(!pthread_create(&t, NULL, fn, s));
	need(wait_true(has_tid, s, 5000));
	until_blocked(s->tid);
	return t;
}

static pthread_t start(struct sleeper *s)
{
	return start_in(sleep_in_poll, s);
}

static void wakes_reader(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct sleeper s = { .fd = l.rx, .events = POLLIN };
	pthread_t t;

	poll_bits(l.rx, ALL, 0);
	t = start(&s);
	need(send_to(l.tx, &l.to, 4, 0) == 4);
	need(!pthread_join(t, NULL));
	hex("bits", s.bits);
}

/* Cancelling the waiting messages makes room in the send queue. */
static void wakes_writer(const struct api_case *c)
{
	int fd = hole_full(1);
	struct sleeper s = { .fd = fd, .events = POLLOUT };
	union addr to = addr_of(HOLE4, 4000);
	pthread_t t = start(&s);

	(void)c;
	r("cancel",
	  set_opt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &to, sizeof(to.in)));
	need(!pthread_join(t, NULL));
	hex("bits", s.bits);
}

/* A larger SO_SNDBUF makes room as well, for who polls and for who sends. */
static void raised_wakes(const struct api_case *c)
{
	int fd = hole_full(1);
	struct sleeper poller = { .fd = fd, .events = POLLOUT };
	struct sleeper sender = { .fd = fd };
	pthread_t t = start(&poller), u;

	(void)c;
	set_timeo(fd, SO_SNDTIMEO, 15000 * time_scale);
	u = start_in(sleep_in_send, &sender);
	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 10000));
	need(!pthread_join(t, NULL));
	hex("bits", poller.bits);
	/* Well before the send's timeout, which makes it look for room, too */
	r("woken", wait_true(is_done, &sender, 5000));
	need(!pthread_join(u, NULL));
	r("sent", sender.sent);
}

/* After ENOBUFS the next congestion map ends a poll() for any event. */
static void wakes_congested(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct sleeper s = { .fd = l.tx, .events = POLLIN };
	char b[4];
	pthread_t t;

	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	link_sync(&l);
	/* Drain the maps that in-tree still passes around within the host. */
	while (poll_bits(l.tx, POLLIN, 20 * time_scale))
		;
	r("send", send_to(l.tx, &l.to, 1, MSG_DONTWAIT));
	t = start(&s);
	need(recv(l.rx, b, 4, 0) == 4);
	need(!pthread_join(t, NULL));
	hex("bits", s.bits);
	r("send", send_to(l.tx, &l.to, 1, MSG_DONTWAIT));
}

static void epoll_edge(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(0);
	char b[8];

	poll_bits(l.rx, ALL, 0);
	need(!epoll_ctl(ep, EPOLL_CTL_ADD, l.rx, &ev));
	need(epoll_wait(ep, &ev, 1, 0) >= 0);
	need(send_to(l.tx, &l.to, 4, 0) == 4);
	r("first", epoll_wait(ep, &ev, 1, 10000));
	need(send_to(l.tx, &l.to, 5, 0) == 5);
	link_sync(&l);
	r("second", epoll_wait(ep, &ev, 1, 10000));
	r("read", recv(l.rx, b, 8, 0));
	r("read", recv(l.rx, b, 8, 0));
	r("quiet", epoll_wait(ep, &ev, 1, 0));
}

#define MESSAGE "before=0x104 wait=0x1 queued=0x145 after=0x104 zero=0x41"
#define MASKED "in=0x1 rdnorm=0x40 pri=0x0 out=0x4 none=0x0"
#define IDLE "first=0x345 second=0x104 pulse=0x345 once=0x104 monitor=0x104"

const struct api_case poll_cases[] = {
	{ "poll.idle", idle, IDLE },
	{ "poll.idle_unbound", idle, IDLE, .num2 = 1 },
	{ "poll.message.tcp4", message, MESSAGE, .num = TCP4 },
	{ "poll.message.tcp6", message, MESSAGE, .num = TCP6 },
	{ "poll.message.self4", message, MESSAGE, .num = SELF4 },
	{ "poll.message.lo6", message, MESSAGE, .num = LO6 },
	{ "poll.masked.tcp4", masked, MASKED, .num = TCP4 },
	{ "poll.masked.self6", masked, MASKED, .num = SELF6 },
	{ "poll.full", full, "full=0x0 raised=0x104" },
	{ "poll.wakes_reader.tcp4", wakes_reader, "bits=0x1", .num = TCP4 },
	{ "poll.wakes_reader.self6", wakes_reader, "bits=0x1", .num = SELF6 },
	{ "poll.wakes_reader.lo4", wakes_reader, "bits=0x1", .num = LO4 },
	{ "poll.wakes_writer", wakes_writer, "cancel=0 bits=0x4" },
	{ "poll.raised_wakes", raised_wakes, "bits=0x4 woken=1 sent=4" },
	{ "poll.wakes_congested.tcp4", wakes_congested, "send=ENOBUFS bits=0x1 send=1",
	  .num = TCP4 },
	{ "poll.wakes_congested.self4", wakes_congested, "send=ENOBUFS bits=0x1 send=1",
	  .num = SELF4 },
	{ "poll.epoll_edge.tcp4", epoll_edge, "first=1 second=1 read=4 read=5 quiet=0",
	  .num = TCP4 },
	{ "poll.epoll_edge.lo4", epoll_edge, "first=1 second=1 read=4 read=5 quiet=0", .num = LO4 },
	{ }
};
