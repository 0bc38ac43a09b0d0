// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Cases of rds-stream-basic: what streams give otherwise than TCP. Each
 * UNLIKE() has the id of a row of "Streams and TCP" in
 * Documentation/differences.rst, and wants the results of TCP, of AF_RDS and of
 * IPPROTO_RDS_STREAM. rows.py compares the ids with the document.
 */
#define _GNU_SOURCE
#include "basic.h"
#include "opt.h"

#include <netinet/tcp.h>
#include <sys/ioctl.h>

#define NO_OPTION	(-ENOPROTOOPT)

static char byte;

static bool ended(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1;
}

/* ---- ends */

static void unlike_closed(void)
{
	struct pair p = paired();

	close(p.a);
	TRUE(wait_until(ended, &p.b, WAIT_MS));
	UNLIKE("stream-closed", send(p.b, &byte, 1, MSG_NOSIGNAL), 1, -EPIPE,
	       -EPIPE);
}

/* ---- flags */

static void unlike_oob(void)
{
	struct pair p = paired();

	WANT(recv(p.a, &byte, 1, MSG_OOB), -EINVAL);
	UNLIKE("stream-oob", send(p.a, &byte, 1, MSG_OOB), 1, -EOPNOTSUPP,
	       -EOPNOTSUPP);
	UNLIKE("stream-oob", ioctl(p.a, SIOCATMARK, &(int){ 0 }), 0, -ENOTTY,
	       -ENOTTY);
}

static void unlike_fastopen(void)
{
	union addr a;
	int l = listening(&a, 1), fd = dialler(0);

	UNLIKE("stream-fastopen",
	       sendto(fd, &byte, 1, MSG_FASTOPEN, &a.sa, addr_len(&a)), 1,
	       -EOPNOTSUPP, -EOPNOTSUPP);
	close(l);
}

/* Shown are the bytes of one call at most. */
static void unlike_peek(void)
{
	const int len = 100000;
	char *buf = malloc((size_t)len);
	int fd, l, size = 1 << 20;
	union addr a;

	l = opened(0);
	WANT(set(l, SOL_SOCKET, SO_RCVBUF, size), 0);
	WANT(err(bind(l, &env.server.sa, addr_len(&env.server))), 0);
	WANT(listen(l, 1), 0);
	a = name_of(l);
	fd = dialler(0);
	WANT(dial(fd, &a), 0);
	l = accept(l, NULL, NULL);
	/* Memory grows when it was full. */
	for (int i = 0; i < 40; i++) {
		put(fd, 1 << 16, 1);
		TRUE(got(l, 1 << 16, 1));
	}
	put(fd, (size_t)len, 2);
	TRUE(arrived(l, len));
	UNLIKE("stream-peek", recv(l, buf, (size_t)len, MSG_PEEK), len, 65536,
	       65536);
	free(buf);
}

/* ---- names */

static void unlike_unconnect(void)
{
	union addr none = { .sa = { .sa_family = AF_UNSPEC } };
	struct pair p = paired();

	UNLIKE("stream-unconnect",
	       connect(p.a, &none.sa, addr_len(&env.server)), 0, -EISCONN,
	       -EISCONN);
}

static void unlike_reuseport(void)
{
	int one = opened(0), two = opened(0);
	union addr a;

	/* Recent kernels refuse it for other families than those of IP. */
	set(one, SOL_SOCKET, SO_REUSEPORT, 1);
	set(two, SOL_SOCKET, SO_REUSEPORT, 1);
	WANT(bind(one, &env.server.sa, addr_len(&env.server)), 0);
	WANT(listen(one, 1), 0);
	a = name_of(one);
	UNLIKE("stream-reuseport", bind(two, &a.sa, addr_len(&a)), 0,
	       -EADDRINUSE, 0);
}

static void unlike_itself(void)
{
	int fd = opened(0);
	union addr a;

	WANT(bind(fd, &env.server.sa, addr_len(&env.server)), 0);
	a = name_of(fd);
	UNLIKE("stream-itself", dial(fd, &a), 0, -ECONNREFUSED, 0);
}

static void unlike_facts(void)
{
	int fd = opened(0), af = env.server.sa.sa_family;

	UNLIKE("stream-family", get(fd, SOL_SOCKET, SO_DOMAIN), af, AF_RDS, af);
	UNLIKE("stream-protocol", get(fd, SOL_SOCKET, SO_PROTOCOL), IPPROTO_TCP,
	       0, IPPROTO_RDS_STREAM);
}

/* ---- options */

static void unlike_lowat(void)
{
	struct pair p = paired();

	WANT(set(p.a, SOL_SOCKET, SO_RCVLOWAT, 20000), 0);
	UNLIKE("stream-lowat", get(p.a, SOL_SOCKET, SO_RCVLOWAT), 20000, 8192,
	       8192);
}

static void unlike_hints(void)
{
	struct pair p = paired();

	WANT(set(p.a, IPPROTO_TCP, TCP_SYNCNT, 3), 0);
	UNLIKE("stream-hints", get(p.a, IPPROTO_TCP, TCP_SYNCNT), 3, 0, 0);
	WANT(set(p.a, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 5000), 0);
	UNLIKE("stream-hints", get(p.a, IPPROTO_TCP, TCP_NOTSENT_LOWAT), 5000,
	       0, 0);
	WANT(set(p.a, IPPROTO_TCP, TCP_LINGER2, 5), 0);
	UNLIKE("stream-hints", get(p.a, IPPROTO_TCP, TCP_LINGER2), 5, 0, 0);
	WANT(set(p.a, IPPROTO_TCP, TCP_DEFER_ACCEPT, 1), 0);
	UNLIKE("stream-hints", get(p.a, IPPROTO_TCP, TCP_DEFER_ACCEPT), 1, 0,
	       0);
}

/* 6.1 keeps SOL_SOCKET for itself: send() refuses there. */
static int zerocopy(int fd)
{
	int n = set(fd, SOL_SOCKET, SO_ZEROCOPY, 1);

	if (n)
		return n;
	n = err(send(fd, &byte, 1, MSG_ZEROCOPY));
	return n < 0 ? n : 0;
}

static void unlike_options(void)
{
	struct pair p = paired();

	UNLIKE("stream-options", set(p.a, IPPROTO_TCP, TCP_INQ, 1), 0,
	       NO_OPTION, NO_OPTION);
	UNLIKE("stream-options",
	       setsockopt(p.a, IPPROTO_TCP, TCP_CONGESTION, "reno", 4), 0,
	       NO_OPTION, NO_OPTION);
	UNLIKE("stream-zerocopy", zerocopy(p.a), 0, -EOPNOTSUPP, -EOPNOTSUPP);
}

static void unlike_info(void)
{
	struct tcp_info i = { 0 };
	socklen_t len = sizeof(i);
	struct pair p = paired();

	put(p.a, 100, 1);
	TRUE(got(p.b, 100, 1));
	WANT(getsockopt(p.a, IPPROTO_TCP, TCP_INFO, &i, &len), 0);
	WANT(i.tcpi_state, 1);
	UNLIKE("stream-info", i.tcpi_rtt != 0, 1, 0, 0);
}

static void unlike_ip(void)
{
	struct pair p = paired();

	UNLIKE("stream-ip-mtu", get(p.a, IPPROTO_IP, IP_MTU) > 0, 1, 0, 0);
	UNLIKE("stream-ip-options", set(p.a, IPPROTO_IP, IP_TOS, 8), 0,
	       NO_OPTION, 0);
	UNLIKE("stream-ip-options", set(p.a, IPPROTO_IP, IP_FREEBIND, 1), 0,
	       NO_OPTION, NO_OPTION);
	UNLIKE("stream-ip-options", set(p.a, IPPROTO_IP, IP_TRANSPARENT, 1), 0,
	       NO_OPTION, NO_OPTION);
}

/* One byte to @p's second end; return whether its time came with it. */
static int stamped(struct pair p)
{
	char control[128];
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };

	put(p.a, 1, 1);
	WANT(recvmsg(p.b, &m, 0), 1);
	return m.msg_controllen > 0;
}

/*
 * The time when bytes have come. The kernel begins to stamp packets in a work
 * item that the option's first user queues (net_enable_timestamp()): TCP's
 * first bytes may come without a stamp.
 */
static void unlike_stamp(void)
{
	struct pair p = paired();
	int one;

	WANT(set(p.b, SOL_SOCKET, SO_TIMESTAMP, 1), 0);
	do
		one = stamped(p);
	while (!one && !strcmp(env.kind, "tcp"));
	UNLIKE("stream-stamp", one, 1, 0, 0);
}

const struct test unlike_tests[] = {
	{ "unlike_closed", unlike_closed },
	{ "unlike_oob", unlike_oob },
	{ "unlike_fastopen", unlike_fastopen },
	{ "unlike_peek", unlike_peek },
	{ "unlike_unconnect", unlike_unconnect },
	{ "unlike_reuseport", unlike_reuseport },
	{ "unlike_itself", unlike_itself },
	{ "unlike_facts", unlike_facts },
	{ "unlike_lowat", unlike_lowat },
	{ "unlike_hints", unlike_hints },
	{ "unlike_options", unlike_options },
	{ "unlike_info", unlike_info },
	{ "unlike_ip", unlike_ip },
	{ "unlike_stamp", unlike_stamp },
	{ NULL, NULL },
};
