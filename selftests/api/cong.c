// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Congestion: its limit, to the byte, as the sender sees it (ENOBUFS); senders
 * that sleep; ports that never congest.
 */
#include "api.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

static struct link small_link(enum topo t)
{
	struct link l = link_open(t);

	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	return l;
}

/* The result of an empty send: 0, or ENOBUFS when the port is congested. */
static long probe(const struct link *l)
{
	link_sync(l);
	return send_to(l->tx, &l->to, 0, MSG_DONTWAIT);
}

static long drain_one(const struct link *l)
{
	static char b[200000];

	return recv(l->rx, b, sizeof(b), 0) < 0 ? -errno : 0;
}

static void to_the_byte(const struct api_case *c)
{
	struct link l = small_link(c->num);

	need(send_to(l.tx, &l.to, 577, 0) == 577);
	need(send_to(l.tx, &l.to, 1, 0) == 1);
	need(send_to(l.tx, &l.to, 574, 0) == 574);
	r("1152", probe(&l));
	need(send_to(l.tx, &l.to, 1, 0) == 1);
	r("1153", probe(&l));
	drain_one(&l);
	r("576", probe(&l));
	drain_one(&l);
	r("575", probe(&l));
}

/* A port that is clear again accepts a message larger than the limit again. */
static void again(const struct api_case *c)
{
	struct link l = small_link(c->num);
	int i;

	for (i = 0; i < 3; i++) {
		need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
		r("over", probe(&l));
		drain_one(&l);
		r("clear", probe(&l));
		drain_one(&l);
	}
}

static void limit_changes(const struct api_case *c)
{
	struct link l = link_open(c->num);

	need(send_to(l.tx, &l.to, 2000, 0) == 2000);
	need(send_to(l.tx, &l.to, 10, 0) == 10);
	link_sync(&l);
	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	r("lowered", probe(&l));
	need(send_to(l.tx, &l.to, 1, 0) == 1);
	r("byte", probe(&l));
	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 50000));
	r("raised", probe(&l));
	drain_one(&l);
	r("drained", probe(&l));
}

static void peeked(const struct api_case *c)
{
	struct link l = small_link(c->num);
	char b[4];

	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	r("over", probe(&l));
	need(recv(l.rx, b, 4, MSG_PEEK) == 4);
	r("peek", probe(&l));
	need(recv(l.rx, b, 4, 0) == 4);
	r("short_read", probe(&l));
}

static void zero_length(const struct api_case *c)
{
	struct link l = small_link(c->num);
	int i;

	need(send_to(l.tx, &l.to, MIN_RCVBUF, 0) > 0);
	for (i = 0; i < 300; i++)
		need(send_to(l.tx, &l.to, 0, 0) == 0);
	r(NULL, probe(&l));
}

/*
 * Empty messages count, too: more of them than the limit congest the port. When
 * the limit has been raised above the number that is left, and all are read,
 * the port is clear again.
 */
static void emptied(const struct api_case *c)
{
	struct link l = small_link(c->num);
	int i;

	for (i = 0; i <= MIN_RCVBUF; i++)
		need(send_to(l.tx, &l.to, 0, 0) == 0);
	r("over", probe(&l));
	for (i = 0; i < 500; i++)
		drain_one(&l);
	r("half", probe(&l));
	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 50000));
	while (recv(l.rx, &i, sizeof(i), MSG_DONTWAIT) >= 0)
		;
	r("drained", probe(&l));
}

/*
 * The memory of small messages counts, behind their bytes: with a receive
 * buffer of 100000 bytes 4000 of one byte congest no port, and 6000 do.
 */
static void small(const struct api_case *c)
{
	struct link l = link_open(c->num);
	int i;

	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 100000));
	for (i = 0; i < 4000; i++)
		need(send_to(l.tx, &l.to, 1, 0) == 1);
	r("some", probe(&l));
	/* All are accepted until the sender hears of it. */
	for (i = 0; i < 2000; i++)
		send_to(l.tx, &l.to, 1, MSG_DONTWAIT);
	r("many", probe(&l));
	while (recv(l.rx, &i, sizeof(i), MSG_DONTWAIT) >= 0)
		;
	r("drained", probe(&l));
}

/* The limit drops no message: those under way are queued beyond it. */
static void never_dropped(const struct api_case *c)
{
	struct link l = small_link(c->num);
	static char b[200000];
	struct rx x;

	need(send_to(l.tx, &l.to, MIN_RCVBUF, 0) > 0);
	r("big", send_to(l.tx, &l.to, 100000, 0));
	r("over", probe(&l));
	drain_one(&l);
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	r("recv", x.ret);
	r("same", filled(b, 100000, 100000));
}

/*
 * The receive buffer does not congest sockets bound to 127/8 or ::1. The memory
 * of their messages does: see attack.messages of selftests/attack.
 */
static void loopback(const struct api_case *c)
{
	struct link l = small_link(c->num);
	int i;

	for (i = 0; i < 20; i++)
		sweep(i, send_to(l.tx, &l.to, 1000, MSG_DONTWAIT));
	sweep_end(NULL);
}

static void other_port(const struct api_case *c)
{
	struct link l = small_link(c->num), m = link_open(c->num);

	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	r("port", probe(&l));
	r("other_port", probe(&m));
	m.to = l.to;
	r("other_sender", send_to(m.tx, &m.to, 1, MSG_DONTWAIT));
}

static void closed(const struct api_case *c)
{
	struct link l = small_link(c->num), m = link_open(c->num);

	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	r("over", probe(&l));
	close(l.rx);
	link_sync(&m);
	r("closed", send_to(l.tx, &l.to, 1, MSG_DONTWAIT));
}

static void one_socket(const struct api_case *c)
{
	int fd = bound(NS_A, c->arg, 0);
	union addr me = name_of(fd);
	char b[4];

	need(!set_int(fd, SOL_SOCKET, SO_RCVBUF, 1));
	r("send", send_to(fd, &me, MIN_RCVBUF + 1, 0));
	need(recv(fd, b, 1, MSG_PEEK) == 1);
	r("send", send_to(fd, &me, 1, MSG_DONTWAIT));
	need(recv(fd, b, 4, 0) == 4);
	r("send", send_to(fd, &me, 1, MSG_DONTWAIT));
}

struct attempt {
	const struct link *l;
	long ret;
};

static bool is_refused(void *arg)
{
	struct attempt *a = arg;

	a->ret = send_to(a->l->tx, &a->l->to, 1, MSG_DONTWAIT);
	return a->ret < 0;
}

/*
 * Between two addresses of this host, in-tree sets the bit in the map of the
 * sender's address, so that no sender is refused.  Ours sets the bit of the
 * receiver a moment after a reader can see the message.
 */
static void other_local(const struct api_case *c)
{
	struct link l = { .topo = SELF4, .tx = bound(NS_A, A4, 0),
			  .rx = bound(NS_A, "10.0.0.3", 0) };
	struct attempt second = { .l = &l };
	char b[4];

	(void)c;
	l.from = name_of(l.tx);
	l.to = name_of(l.rx);
	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	r("first", send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0));
	need(recv(l.rx, b, 1, MSG_PEEK) == 1);
	wait_true(is_refused, &second, ours ? 5000 : 0);
	r("second", second.ret);
	need(recv(l.rx, b, 4, 0) == 4);
	while (recv(l.rx, b, 4, MSG_DONTWAIT) >= 0)
		;
	r("drained", send_to(l.tx, &l.to, 1, MSG_DONTWAIT));
}

/*
 * Order of the checks: protocol.rst 5.6.19 comes before 5.6.20 and after
 * protocol.rst 5.6.9.
 */
static void check_order(const struct api_case *c)
{
	struct link l = small_link(c->num);
	union addr hole = addr_of(HOLE4, 4000);

	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	link_sync(&l);
	need(!set_int(l.tx, SOL_SOCKET, SO_SNDBUF, 1));
	need(send_to(l.tx, &hole, MIN_SNDBUF, MSG_DONTWAIT) == MIN_SNDBUF);
	r("full_elsewhere", send_to(l.tx, &hole, 1, MSG_DONTWAIT));
	r("congested", send_to(l.tx, &l.to, 1, MSG_DONTWAIT));
	r("too_big", send_to(l.tx, &l.to, MIN_SNDBUF + 1, MSG_DONTWAIT));
	r("fault", send_msg(l.tx, &l.to, page_hole(0), 1, NULL, MSG_DONTWAIT));
}

struct caller {
	const struct link *l;
	int tid;
	bool done;
	long ret;
};

static void *send_sleeping(void *arg)
{
	struct caller *s = arg;

	__atomic_store_n(&s->tid, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	s->ret = send_msg(s->l->tx, &s->l->to, "wake", 4, NULL, 0);
	__atomic_store_n(&s->done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static bool has_tid(void *arg)
{
	return __atomic_load_n(&((struct caller *)arg)->tid,
			       __ATOMIC_SEQ_CST) != 0;
}

static bool is_done(void *arg)
{
	return __atomic_load_n(&((struct caller *)arg)->done, __ATOMIC_SEQ_CST);
}

static void on_signal(int sig)
{
	(void)sig;
}

static pthread_t start(struct caller *s)
{
	pthread_t t;

	need(!pthread_create(&t, NULL, send_sleeping, s));
	need(wait_true(has_tid, s, 5000));
	until_blocked(s->tid);
	return t;
}

static void sleeper_wakes(const struct api_case *c)
{
	struct link l = small_link(c->num);
	struct caller s = { .l = &l };
	struct rx x;
	char b[8];
	pthread_t t;

	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	link_sync(&l);
	t = start(&s);
	need(recv(l.rx, b, 8, 0) == 8);
	need(!pthread_join(t, NULL));
	r("send", s.ret);
	x = rx_msg(l.rx, b, 8, 0, 0);
	rx_note("recv", &x);
}

static void sleeper_closed(const struct api_case *c)
{
	struct link l = small_link(c->num);
	struct caller s = { .l = &l };
	pthread_t t;

	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	link_sync(&l);
	t = start(&s);
	close(l.rx);
	need(!pthread_join(t, NULL));
	r("send", s.ret);
}

/*
 * A thread sleeps in a send to a congested port. A signal ends the sleep if
 * there is no timeout, or if the timeout does not end it within a second.
 */
static void sleep_until(const struct api_case *c, int timeo_ms)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct link l = small_link(c->num);
	struct caller s = { .l = &l };
	pthread_t t;

	need(!sigaction(SIGUSR1, &sa, NULL));
	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	link_sync(&l);
	set_timeo(l.tx, SO_SNDTIMEO, timeo_ms);
	t = start(&s);
	if (!timeo_ms || !wait_true(is_done, &s, 1000))
		need(!pthread_kill(t, SIGUSR1));
	need(!pthread_join(t, NULL));
	r("send", s.ret);
}

static void sleeper_signal(const struct api_case *c)
{
	sleep_until(c, 0);
}

/* In-tree ignores SO_SNDTIMEO here and sleeps until the signal. */
static void sleeper_timeout(const struct api_case *c)
{
	sleep_until(c, 300);
}

#define FOUR(n, f, w) \
	{ "cong." n ".tcp4", f, w, .num = TCP4 }, { "cong." n ".tcp6", f, w, .num = TCP6 }, \
	{ "cong." n ".self4", f, w, .num = SELF4 }, { "cong." n ".self6", f, w, .num = SELF6 }

const struct api_case cong_cases[] = {
	FOUR("to_the_byte", to_the_byte, "1152=0 1153=ENOBUFS 576=ENOBUFS 575=0"),
	FOUR("again", again, "over=ENOBUFS clear=0 over=ENOBUFS clear=0 over=ENOBUFS clear=0"),
	FOUR("limit_changes", limit_changes,
	     "lowered=0 byte=ENOBUFS raised=ENOBUFS drained=0"),
	FOUR("peeked", peeked, "over=ENOBUFS peek=ENOBUFS short_read=0"),
	FOUR("zero_length", zero_length, "0"),
	{ "cong.emptied.tcp4", emptied, "over=0 half=0 drained=0",
	  "over=ENOBUFS half=ENOBUFS drained=0", .num = TCP4 },
	{ "cong.emptied.self4", emptied, "over=0 half=0 drained=0",
	  "over=ENOBUFS half=ENOBUFS drained=0", .num = SELF4 },
	{ "cong.small.tcp4", small, "some=0 many=0 drained=0",
	  "some=0 many=ENOBUFS drained=0", .num = TCP4 },
	{ "cong.small.self4", small, "some=0 many=0 drained=0",
	  "some=0 many=ENOBUFS drained=0", .num = SELF4 },
	FOUR("never_dropped", never_dropped, "big=100000 over=ENOBUFS recv=100000 same=1"),
	{ "cong.loopback.lo4", loopback, "0-19:1000", .num = LO4 },
	{ "cong.loopback.lo6", loopback, "0-19:1000", .num = LO6 },
	FOUR("other_port", other_port, "port=ENOBUFS other_port=0 other_sender=ENOBUFS"),
	FOUR("closed", closed, "over=ENOBUFS closed=1"),
	{ "cong.one_socket.v4.CVE-2011-1023", one_socket, "send=1153 send=ENOBUFS send=1",
	  .arg = A4 },
	{ "cong.one_socket.v6", one_socket, "send=1153 send=ENOBUFS send=1", .arg = A6 },
	{ "cong.other_local", other_local, "first=1153 second=1 drained=1",
	  "first=1153 second=ENOBUFS drained=1" },
	{ "cong.row19_order.tcp4", check_order,
	  "full_elsewhere=EAGAIN congested=ENOBUFS too_big=EMSGSIZE fault=EFAULT", .num = TCP4 },
	{ "cong.row19_sleeper_wakes.tcp4", sleeper_wakes, "send=4 recv=4/16", .num = TCP4 },
	{ "cong.row19_sleeper_wakes.tcp6", sleeper_wakes, "send=4 recv=4/28", .num = TCP6 },
	{ "cong.row19_sleeper_wakes.self4", sleeper_wakes, "send=4 recv=4/16", .num = SELF4 },
	{ "cong.row19_sleeper_wakes.self6", sleeper_wakes, "send=4 recv=4/28", .num = SELF6 },
	{ "cong.row19_sleeper_closed.tcp4", sleeper_closed, "send=4", .num = TCP4 },
	{ "cong.row19_sleeper_closed.self6", sleeper_closed, "send=4", .num = SELF6 },
	{ "cong.row19_sleeper_signal.tcp4", sleeper_signal, "send=EINTR", .num = TCP4 },
	{ "cong.row19_sleeper_signal.self4", sleeper_signal, "send=EINTR", .num = SELF4 },
	{ "cong.row19_sleeper_timeout.tcp4", sleeper_timeout, "send=EINTR", "send=ETIMEDOUT",
	  .num = TCP4 },
	{ "cong.row19_sleeper_timeout.self4", sleeper_timeout, "send=EINTR", "send=ETIMEDOUT",
	  .num = SELF4 },
	{ }
};
