// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* recvmsg(): the rules of protocol.rst 5.8. */
#include "api.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

static void empty(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), un = sock();
	struct rx x;
	char b[4];

	(void)c;
	x = rx_msg(fd, b, 4, 0, MSG_DONTWAIT);
	rx_note("dontwait", &x);
	x = rx_msg(un, b, 4, 0, MSG_DONTWAIT);
	rx_note("unbound", &x);
	need(!fcntl(fd, F_SETFL, O_NONBLOCK));
	x = rx_msg(fd, b, 4, 0, 0);
	rx_note("nonblock", &x);
	r("read", read(fd, b, 4) < 0 ? -errno : 0);
}

static void timeout(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), un = sock();
	struct rx x;
	char b[4];
	long t = now_ms();

	(void)c;
	set_timeo(fd, SO_RCVTIMEO, 60);
	x = rx_msg(fd, b, 4, 0, 0);
	rx_note("bound", &x);
	r("waited", in_time(now_ms() - t, 59, 110));
	set_timeo(un, SO_RCVTIMEO, 10);
	x = rx_msg(un, b, 4, 0, 0);
	rx_note("unbound", &x);
}

static void odd_flags(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	char b[8];
	int bit;

	x = rx_msg(l.rx, b, 8, 0, MSG_OOB);
	rx_note("oob", &x);
	x = rx_msg(l.rx, b, 8, 0, MSG_ERRQUEUE);
	rx_note("errqueue", &x);
	for (bit = 2; bit < 31; bit++) {
		/* MSG_TRUNC and MSG_ERRQUEUE have checks of their own. */
		if (1 << bit == MSG_TRUNC || 1 << bit == MSG_ERRQUEUE)
			continue;
		need(send_to(l.tx, &l.to, 3, 0) == 3);
		x = rx_msg(l.rx, b, 8, 0, 0);
		need(x.ret == 3);
		need(send_to(l.tx, &l.to, 4, 0) == 4);
		link_sync(&l);
		x = rx_msg(l.rx, b, 8, 0, 1u << bit);
		sweep(bit, x.ret);
	}
	sweep_end("bits");
	need(send_to(l.tx, &l.to, 3, 0) == 3);
	link_sync(&l);
	x = rx_msg(l.rx, b, 8, 0, MSG_OOB);
	rx_note("oob_full", &x);
	x = rx_msg(l.rx, b, 8, 0, MSG_ERRQUEUE);
	rx_note("errqueue_full", &x);
	x = rx_msg(l.rx, b, 8, 0, 0);
	rx_note("still", &x);
}

static void plain(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	char b[64];

	need(send_to(l.tx, &l.to, 20, 0) == 20);
	x = rx_msg(l.rx, b, 64, 64, 0);
	rx_note("recv", &x);
	r("same", filled(b, 20, 20));
	r("from", addr_eq(&x.from, &l.from));
	r("scope",
	  l.from.sa.sa_family == AF_INET6 ? (long)x.from.in6.sin6_scope_id : 0);
	need(send_to(l.tx, &l.to, 0, 0) == 0);
	x = rx_msg(l.rx, b, 64, 64, 0);
	rx_note("zero", &x);
	x = rx_msg(l.rx, b, 64, 64, MSG_DONTWAIT);
	rx_note("none", &x);
}

static void truncated(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	char b[64];

	need(send_to(l.tx, &l.to, 20, 0) == 20);
	x = rx_msg(l.rx, b, 7, 0, 0);
	rx_note("short", &x);
	x = rx_msg(l.rx, b, 64, 0, MSG_DONTWAIT);
	rx_note("gone", &x);
	need(send_to(l.tx, &l.to, 20, 0) == 20);
	x = rx_msg(l.rx, b, 7, 0, MSG_TRUNC);
	rx_note("trunc", &x);
	need(send_to(l.tx, &l.to, 20, 0) == 20);
	x = rx_msg(l.rx, b, 20, 0, MSG_TRUNC);
	rx_note("exact", &x);
	need(send_to(l.tx, &l.to, 20, 0) == 20);
	x = rx_msg(l.rx, b, 0, 0, 0);
	rx_note("nothing", &x);
	need(send_to(l.tx, &l.to, 0, 0) == 0);
	x = rx_msg(l.rx, b, 0, 0, 0);
	rx_note("zero", &x);
}

static void peeked(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	char b[64];

	need(send_to(l.tx, &l.to, 20, 0) == 20);
	need(send_to(l.tx, &l.to, 21, 0) == 21);
	x = rx_msg(l.rx, b, 64, 0, MSG_PEEK);
	rx_note("peek", &x);
	r("same", filled(b, 20, 20));
	x = rx_msg(l.rx, b, 5, 0, MSG_PEEK);
	rx_note("short", &x);
	x = rx_msg(l.rx, b, 5, 0, MSG_PEEK | MSG_TRUNC);
	rx_note("trunc", &x);
	x = rx_msg(l.rx, b, 64, 0, 0);
	rx_note("first", &x);
	x = rx_msg(l.rx, b, 64, 0, 0);
	rx_note("second", &x);
	x = rx_msg(l.rx, b, 64, 0, MSG_PEEK | MSG_DONTWAIT);
	rx_note("none", &x);
}

/* Messages of one sender are received in the order sent. */
static void ordered(const struct api_case *c)
{
	struct link l = link_open(c->num);
	static char b[256];
	int i;

	for (i = 0; i < 200; i++)
		need(send_to(l.tx, &l.to, i, 0) == i);
	for (i = 0; i < 200; i++) {
		struct rx x = rx_msg(l.rx, b, sizeof(b), 0, 0);

		if (x.ret != i || !filled(b, i, i))
			bail("message %d came as %ld", i, x.ret);
	}
	note("ok");
}

/* The kernel cuts the name to the room given, and returns its whole length. */
static void name_room(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char b[4];
	int len, i;

	for (len = 0; len <= 40; len++) {
		unsigned char nm[128];
		struct iovec iov = { b, 4 };
		struct msghdr m = { .msg_name = nm,
				    .msg_namelen = len,
				    .msg_iov = &iov,
				    .msg_iovlen = 1 };

		memset(nm, 0x55, sizeof(nm));
		need(send_to(l.tx, &l.to, 1, 0) == 1);
		need(recvmsg(l.rx, &m, 0) == 1);
		for (i = len; i < 128; i++)
			if (nm[i] != 0x55)
				bail("byte %d of the name written with room for %d",
				     i, len);
		sweep(len, m.msg_namelen);
	}
	sweep_end(NULL);
}

/*
 * A receive that returns no message leaves the name buffer alone; one that
 * does writes nothing behind the address. A NULL name is allowed.
 */
static void name_unset(const struct api_case *c)
{
	struct link l = link_open(c->num);
	unsigned char nm[128];
	struct iovec iov = { nm, 0 };
	struct msghdr m = { .msg_name = nm,
			    .msg_namelen = sizeof(nm),
			    .msg_iov = &iov,
			    .msg_iovlen = 1 };
	unsigned int i, touched = 0;
	char b[4];

	memset(nm, 0x55, sizeof(nm));
	need(recvmsg(l.rx, &m, MSG_DONTWAIT) < 0);
	for (i = 0; i < sizeof(nm); i++)
		touched += nm[i] != 0x55;
	r("touched", touched);
	need(send_to(l.tx, &l.to, 1, 0) == 1);
	m.msg_name = NULL;
	m.msg_iov->iov_base = b;
	m.msg_iov->iov_len = 4;
	r("unnamed", recvmsg(l.rx, &m, 0));
	need(send_to(l.tx, &l.to, 1, 0) == 1);
	m = (struct msghdr){ .msg_name = nm,
			     .msg_namelen = sizeof(nm),
			     .msg_iov = &iov,
			     .msg_iovlen = 1 };
	need(recvmsg(l.rx, &m, 0) == 1);
	for (i = addr_len(&l.from); i < sizeof(nm); i++)
		touched += nm[i] != 0x55;
	r("tail_touched", touched);
	/* sin_zero of an IPv4 name is zero: no kernel memory leaks. */
	if (l.from.sa.sa_family == AF_INET) {
		for (i = 8; i < 16; i++)
			touched += nm[i] != 0;
		r("padding", touched);
	}
}

static int caller_tid;
static long caller_ret;

static void *call_recv(void *arg)
{
	char b[64];
	struct rx x;

	__atomic_store_n(&caller_tid, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	x = rx_msg(*(int *)arg, b, sizeof(b), 0, 0);
	caller_ret = x.ret;
	return NULL;
}

static bool has_tid(void *arg)
{
	(void)arg;
	return __atomic_load_n(&caller_tid, __ATOMIC_SEQ_CST) != 0;
}

static pthread_t blocked_recv(int *fd)
{
	pthread_t t;

	caller_tid = 0;
	need(!pthread_create(&t, NULL, call_recv, fd));
	need(wait_true(has_tid, NULL, 5000));
	until_blocked(caller_tid);
	return t;
}

static void on_signal(int sig)
{
	(void)sig;
}

static void interrupted(const struct api_case *c)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int fd = bound(NS_A, A4, 0);
	struct timeval none = { 0 };
	pthread_t t;

	(void)c;
	need(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)));
	need(!sigaction(SIGUSR1, &sa, NULL));
	t = blocked_recv(&fd);
	need(!pthread_kill(t, SIGUSR1));
	need(!pthread_join(t, NULL));
	r("handler", caller_ret);
}

static void restarted(const struct api_case *c)
{
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = SA_RESTART };
	struct link l = link_open(SELF4);
	struct timeval none = { 0 };
	pthread_t t;

	(void)c;
	need(!setsockopt(l.rx, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)));
	need(!sigaction(SIGUSR1, &sa, NULL));
	t = blocked_recv(&l.rx);
	need(!pthread_kill(t, SIGUSR1));
	until_blocked(caller_tid);
	need(send_to(l.tx, &l.to, 6, 0) == 6);
	need(!pthread_join(t, NULL));
	r("restart", caller_ret);
}

static void woken(const struct api_case *c)
{
	struct link l = link_open(c->num);
	pthread_t t = blocked_recv(&l.rx);

	need(send_to(l.tx, &l.to, 9, 0) == 9);
	need(!pthread_join(t, NULL));
	r("recv", caller_ret);
}

static void batch(const struct api_case *c)
{
	static struct mmsghdr m[8];
	static struct iovec iov[8];
	static char b[8][16];
	struct link l = link_open(c->num);
	int i;

	for (i = 0; i < 8; i++) {
		iov[i] = (struct iovec){ b[i], 16 };
		m[i].msg_hdr.msg_iov = &iov[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	for (i = 0; i < 5; i++)
		need(send_to(l.tx, &l.to, i, 0) == i);
	link_sync(&l);
	r("recvmmsg", recvmmsg(l.rx, m, 8, MSG_DONTWAIT, NULL));
	for (i = 0; i < 5; i++)
		sweep(i, m[i].msg_len);
	sweep_end("len");
}

/* close() drops messages that were not read; the port is free at once. */
static void closed_unread(const struct api_case *c)
{
	struct link l = link_open(c->num);
	int again;
	struct rx x;
	char b[8];

	need(send_to(l.tx, &l.to, 5, 0) == 5);
	link_sync(&l);
	close(l.rx);
	again = sock_in(c->num == TCP4 ? NS_B : NS_A);
	r("rebind", bind(again, &l.to.sa, addr_len(&l.to)) ? -errno : 0);
	x = rx_msg(again, b, sizeof(b), 0, MSG_DONTWAIT);
	rx_note("recv", &x);
}

#define PLAIN(n) "recv=20/" n " same=1 from=1 scope=0 zero=0/" n " none=EAGAIN"
#define TRUNCATED(n) "short=7/" n "+TRUNC gone=EAGAIN trunc=20/" n "+TRUNC exact=20/" n \
	" nothing=0/" n "+TRUNC zero=0/" n
#define PEEKED(n) "peek=20/" n " same=1 short=5/" n "+TRUNC trunc=20/" n "+TRUNC first=20/" n \
	" second=21/" n " none=EAGAIN"
#define ODD(n) "oob=0/0 errqueue=EAGAIN bits=2-4:4,6-12:4,14-30:4 oob_full=0/0 " \
	"errqueue_full=EAGAIN still=3/" n
#define UNSET "touched=0 unnamed=1 tail_touched=0"
#define SIX(n, f, w) \
	{ "recv." n ".tcp4", f, w("16"), .num = TCP4 }, \
	{ "recv." n ".tcp6", f, w("28"), .num = TCP6 }, \
	{ "recv." n ".self4", f, w("16"), .num = SELF4 }, \
	{ "recv." n ".self6", f, w("28"), .num = SELF6 }, \
	{ "recv." n ".lo4", f, w("16"), .num = LO4 }, { "recv." n ".lo6", f, w("28"), .num = LO6 }
#define OK(n) "ok"
#define BATCH(n) "recvmmsg=5 len=0:0,1:1,2:2,3:3,4:4"

const struct api_case recv_cases[] = {
	{ "recv.empty", empty, "dontwait=EAGAIN unbound=EAGAIN nonblock=EAGAIN read=EAGAIN" },
	{ "recv.timeout", timeout, "bound=ETIMEDOUT waited=1 unbound=ETIMEDOUT" },
	{ "recv.odd_flags.self4", odd_flags, ODD("16"), .num = SELF4 },
	{ "recv.odd_flags.tcp6", odd_flags, ODD("28"), .num = TCP6 },
	SIX("plain", plain, PLAIN),
	SIX("truncated", truncated, TRUNCATED),
	SIX("peeked", peeked, PEEKED),
	SIX("ordered", ordered, OK),
	{ "recv.name_room.tcp4.CVE-2012-3430", name_room, "0-40:16", .num = TCP4 },
	{ "recv.name_room.self6", name_room, "0-40:28", .num = SELF6 },
	{ "recv.name_unset.tcp4", name_unset, UNSET " padding=0", .num = TCP4 },
	{ "recv.name_unset.lo6", name_unset, UNSET, .num = LO6 },
	{ "recv.interrupted", interrupted, "handler=EINTR" },
	{ "recv.restarted", restarted, "restart=6" },
	{ "recv.woken.tcp4", woken, "recv=9", .num = TCP4 },
	{ "recv.woken.self6", woken, "recv=9", .num = SELF6 },
	{ "recv.woken.lo4", woken, "recv=9", .num = LO4 },
	SIX("batch", batch, BATCH),
	{ "recv.closed_unread.tcp4", closed_unread, "rebind=0 recv=EAGAIN", .num = TCP4 },
	{ "recv.closed_unread.lo4", closed_unread, "rebind=0 recv=EAGAIN", .num = LO4 },
	{ }
};
