// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages that stay on this host. */
#include "api.h"

static bool one_more_drop(void *arg)
{
	const long *v = arg;

	return counter(v[0], "recv_drop_no_sock") > v[1];
}

/* A message from a loopback socket to another address is sent and dropped. */
static void to_elsewhere(const struct api_case *c)
{
	struct link l = link_open(c->num);
	int fd = bound(NS_A, c->arg, 0);
	long v[2] = { fd, counter(fd, "recv_drop_no_sock") };
	struct rx x;
	char b[16];

	r("send", send_to(fd, &l.to, 9, 0));
	r("dropped", wait_true(one_more_drop, v, 5000));
	x = rx_msg(l.rx, b, sizeof(b), 0, MSG_DONTWAIT);
	rx_note("recv", &x);
	r("sendbuf_free", poll_bits(fd, POLLOUT, 5000));
}

/* Between two addresses of this host, there and back. */
static void two_addresses(const struct api_case *c)
{
	char text[64], *other;
	union addr from, to;
	struct rx x;
	char b[16];
	int a, z;

	snprintf(text, sizeof(text), "%s", c->arg);
	other = strchr(text, ' ');
	*other++ = 0;
	a = bound(NS_A, text, 0);
	z = bound(NS_A, other, 0);
	from = name_of(a);
	to = name_of(z);
	r("send", send_to(a, &to, 6, 0));
	x = rx_msg(z, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
	r("from", addr_eq(&x.from, &from));
	r("back", send_to(z, &from, 7, 0));
	x = rx_msg(a, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
	r("from", addr_eq(&x.from, &to));
}

static void pinged(const struct api_case *c)
{
	int fd = bound(NS_A, c->arg, 0);
	union addr to = addr_of(c->arg, 0);
	struct rx x;
	char b[16];

	r("send", send_to(fd, &to, c->num, 0));
	x = rx_msg(fd, b, sizeof(b), 0, 0);
	rx_note("pong", &x);
	r("own", addr_eq(&x.from, &to));
}

/*
 * A ping to another address of this host: in-tree sends the pong to the wrong
 * address.
 */
static void pinged_other(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);
	union addr to = addr_of("10.0.0.3", 0);
	struct rx x;
	char b[16];

	(void)c;
	r("send", send_to(fd, &to, 0, 0));
	set_timeo(fd, SO_RCVTIMEO, ours ? 15000 * time_scale : 300);
	x = rx_msg(fd, b, sizeof(b), 0, 0);
	rx_note("pong", &x);
}

/* Each message fills the send queue, and has left it when sendmsg() returns. */
static void never_full(const struct api_case *c)
{
	struct link l = link_open(c->num);
	int i;

	need(!set_int(l.tx, SOL_SOCKET, SO_SNDBUF, 1));
	need(send_to(l.tx, &l.to, 1, 0) == 1);
	need(poll_bits(l.rx, POLLIN, 10000));
	for (i = 0; i < 40; i++)
		sweep(i, send_to(l.tx, &l.to, MIN_SNDBUF, MSG_DONTWAIT));
	sweep_end(NULL);
}

/* Writes to the sender's buffer after sendmsg() do not reach the receiver. */
static void own_copy(const struct api_case *c)
{
	struct link l = link_open(c->num);
	static char in[60000], out[60000];

	fill(in, sizeof(in), 4);
	need(send_msg(l.tx, &l.to, in, sizeof(in), NULL, 0) == sizeof(in));
	memset(in, 0, sizeof(in));
	need(recv(l.rx, out, sizeof(out), 0) == sizeof(out));
	r("same", filled(out, sizeof(out), 4));
}

static void itself(const struct api_case *c)
{
	int fd = bound(NS_A, c->arg, 0);
	union addr me = name_of(fd);
	struct rx x;
	char b[16];

	r("send", send_to(fd, &me, 8, 0));
	x = rx_msg(fd, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
	r("from", addr_eq(&x.from, &me));
}

/* The same loopback address in another namespace is another host. */
static void namespaces(const struct api_case *c)
{
	int a = bound(NS_A, c->arg, 0), b = bound(NS_B, c->arg, 0);
	union addr to = name_of(b);
	long v[2] = { a, counter(a, "recv_drop_no_sock") };
	struct rx x;
	char buf[16];

	r("send", send_to(a, &to, 8, 0));
	r("dropped", wait_true(one_more_drop, v, 5000));
	x = rx_msg(b, buf, sizeof(buf), 0, MSG_DONTWAIT);
	rx_note("recv", &x);
}

#define TWO(n) "send=6 recv=6/" n " from=1 back=7 recv=7/" n " from=1"

const struct api_case loop_cases[] = {
	{ "loop.to_elsewhere.v4", to_elsewhere, "send=9 dropped=1 recv=EAGAIN sendbuf_free=4",
	  .num = TCP4, .arg = "127.0.0.1" },
	{ "loop.to_elsewhere.v6", to_elsewhere, "send=9 dropped=1 recv=EAGAIN sendbuf_free=4",
	  .num = TCP6, .arg = "::1" },
	{ "loop.two_addresses.tcp_lo", two_addresses, TWO("16"), .arg = A4 " 127.0.0.1" },
	{ "loop.two_addresses.lo_tcp", two_addresses, TWO("16"), .arg = "127.0.0.1 " A4 },
	{ "loop.two_addresses.lo_lo", two_addresses, TWO("16"), .arg = "127.0.0.1 127.8.7.6" },
	{ "loop.two_addresses.tcp_tcp", two_addresses, TWO("16"), .arg = A4 " 10.0.0.3" },
	{ "loop.two_addresses.v6", two_addresses, TWO("28"), .arg = A6 " ::1" },
	{ "loop.ping.lo4", pinged, "send=0 pong=0/16 own=1", .arg = "127.0.0.1" },
	{ "loop.ping.lo6", pinged, "send=0 pong=0/28 own=1", .arg = "::1" },
	{ "loop.ping.self4", pinged, "send=0 pong=0/16 own=1", .arg = A4 },
	{ "loop.ping.self6", pinged, "send=0 pong=0/28 own=1", .arg = A6 },
	{ "loop.ping.payload", pinged, "send=100 pong=0/16 own=1", .arg = A4, .num = 100 },
	{ "loop.ping_other", pinged_other, "send=0 pong=ETIMEDOUT", "send=0 pong=0/16" },
	{ "loop.never_full.lo4", never_full, "0-39:2304", .num = LO4 },
	{ "loop.never_full.self6", never_full, "0-39:2304", .num = SELF6 },
	{ "loop.own_copy.lo4", own_copy, "same=1", .num = LO4 },
	{ "loop.own_copy.self4", own_copy, "same=1", .num = SELF4 },
	{ "loop.itself.lo4", itself, "send=8 recv=8/16 from=1", .arg = "127.0.0.1" },
	{ "loop.itself.lo6", itself, "send=8 recv=8/28 from=1", .arg = "::1" },
	{ "loop.itself.self4", itself, "send=8 recv=8/16 from=1", .arg = A4 },
	{ "loop.itself.self6", itself, "send=8 recv=8/28 from=1", .arg = A6 },
	{ "loop.namespaces.lo4", namespaces, "send=8 dropped=1 recv=EAGAIN", .arg = "127.0.0.1" },
	{ "loop.namespaces.lo6", namespaces, "send=8 dropped=1 recv=EAGAIN", .arg = "::1" },
	{ }
};
