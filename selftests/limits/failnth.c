// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-failnth: the n-th allocation or user copy of each call fails, for each n.
 * The namespaces A and B of failnth.sh are two hosts.
 */
#define _GNU_SOURCE

#include "nth.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>

#define PORT		4500
#define BUFFERS		(8 << 20)

#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY	60
#endif

static uint8_t big[4096], back[65536];

static long done(long ret)
{
	return ret < 0 ? -errno : ret;
}

/* ---- socket, bind, connect, names, close */

struct sock {
	int		fd;
	union addr	addr;
	union addr	name;
};

static long do_socket(void *arg)
{
	struct sock *s = arg;

	s->fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return s->fd < 0 ? -errno : 0;
}

static void end(void *arg)
{
	struct sock *s = arg;

	close(s->fd);
}

static void group_socket(void)
{
	/* The core of sockets reports a lack of inodes as one of files. */
	const struct nth_call c = {
		"socket", NULL, do_socket, NULL, end, ENFILE, 0
	};
	struct sock s = { 0 };

	nth_every(&c, &s);
	nth_result("socket", 1);
}

static void begin(void *arg)
{
	struct sock *s = arg;

	s->fd = rds_open(0);
}

static long do_bind(void *arg)
{
	struct sock *s = arg;

	return done(bind(s->fd, &s->addr.sa, addr_len(&s->addr)));
}

/* The socket has no name, and another one can be bound to the address. */
static void not_bound(void *arg)
{
	struct sock *s = arg;
	int other;

	if (name_of(s->fd).sa.sa_family)
		nth_wrong("a bind that failed has left a name");
	other = rds_open(0);
	if (bind(other, &s->addr.sa, addr_len(&s->addr)))
		nth_wrong("a bind that failed keeps the address: %m");
	close(other);
}

static void bound(void *arg)
{
	struct sock *s = arg;
	union addr name = name_of(s->fd);

	if (!addr_port(&s->addr))
		addr_set_port(&name, 0);
	if (!addr_eq(&name, &s->addr))
		nth_wrong("bound to another address");
	close(s->fd);
}

static void group_bind(void)
{
	static const char *const hosts[] = {
		"10.0.0.1", "10.1.0.9", "127.0.0.9", "fd00::1", "::1",
	};
	struct nth_call c = { "", begin, do_bind, not_bound, bound, 0, 0 };
	struct sock s;
	size_t i;

	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		s.addr = addr_of(hosts[i], i ? PORT + 1 : 0);
		c.what = hosts[i];
		nth_every(&c, &s);
	}
	nth_result("bind", 1);
}

static long do_connect(void *arg)
{
	struct sock *s = arg;

	return done(connect(s->fd, &s->addr.sa, addr_len(&s->addr)));
}

static long do_peername(void *arg)
{
	struct sock *s = arg;
	socklen_t len = sizeof(s->name);

	memset(&s->name, 0, sizeof(s->name));
	return done(getpeername(s->fd, &s->name.sa, &len));
}

static long do_sockname(void *arg)
{
	struct sock *s = arg;
	socklen_t len = sizeof(s->name);

	memset(&s->name, 0, sizeof(s->name));
	return done(getsockname(s->fd, &s->name.sa, &len));
}

static void not_connected(void *arg)
{
	if (do_peername(arg) != -ENOTCONN)
		nth_wrong("a connect that failed has left a peer");
}

static void named(void *arg)
{
	struct sock *s = arg;

	if (!addr_eq(&s->name, &s->addr))
		nth_wrong("another name");
}

static void connected(void *arg)
{
	if (do_peername(arg))
		nth_wrong("a connect has left no peer");
	named(arg);
	end(arg);
}

static void group_connect(void)
{
	static const struct nth_call c[] = {
		{ "connect", begin, do_connect, not_connected, connected, 0, 0 },
		{ "getpeername", NULL, do_peername, NULL, named, 0, 0 },
		{ "getsockname", NULL, do_sockname, NULL, named, 0, 0 },
	};
	static const char *const hosts[] = { "10.0.0.1", "fd00::1" };
	struct sock s;
	size_t i;

	for (i = 0; i < 2; i++) {
		s.addr = addr_of(hosts[i], PORT + 1);
		nth_every(&c[0], &s);
		s.fd = rds_bound(&s.addr, 0);
		if (do_connect(&s))
			die("connect: %m");
		nth_every(&c[1], &s);
		nth_every(&c[2], &s);
		close(s.fd);
	}
	nth_result("connect", 1);
}

static long do_close(void *arg)
{
	struct sock *s = arg;

	return done(close(s->fd));
}

/* It has a message to itself, and one to nobody. */
static void begin_busy(void *arg)
{
	struct sock *s = arg;
	union addr nobody = s->addr;

	s->fd = rds_bound(&s->addr, 0);
	addr_set_port(&nobody, PORT + 2);
	if (sendto(s->fd, big, 3000, 0, &s->addr.sa, addr_len(&s->addr)) < 0 ||
	    sendto(s->fd, big, 3000, 0, &nobody.sa, addr_len(&nobody)) < 0)
		die("send: %m");
	set_timeo(s->fd, SO_RCVTIMEO, NTH_PATIENCE * slow_factor());
	nth_wait(s->fd);
}

/* The address is free as close() returns. */
static void closed(void *arg)
{
	struct sock *s = arg;

	begin(arg);
	if (do_bind(arg))
		nth_wrong("a closed socket keeps its address: %m");
	close(s->fd);
}

static void group_close(void)
{
	const struct nth_call c = {
		"close", begin_busy, do_close, NULL, closed, 0, 0
	};
	struct sock s = { .addr = addr_of("127.0.0.9", PORT + 1) };

	nth_every(&c, &s);
	s.addr = addr_of("fd00::1", PORT + 1);
	nth_every(&c, &s);
	nth_result("close", 0);
}

/* ---- options, ioctl, poll */

struct option {
	int		fd;
	int		level;
	int		name;
	const void	*value;
	socklen_t	len;
};

static long do_set(void *arg)
{
	const struct option *o = arg;

	return done(setsockopt(o->fd, o->level, o->name, o->value, o->len));
}

static long do_get(void *arg)
{
	const struct option *o = arg;
	socklen_t len = sizeof(back);

	return done(getsockopt(o->fd, o->level, o->name, back, &len));
}

static void new_option(void *arg)
{
	struct option *o = arg;

	o->fd = rds_open(0);
}

static void end_option(void *arg)
{
	struct option *o = arg;

	close(o->fd);
}

static void group_setsockopt(const struct nth_link *l)
{
	static const struct rds_rx_trace_so trace = { 2, { 0, 1, 0 } };
	static uint64_t cookie;
	static const struct rds_get_mr_for_dest_args for_dest;
	const struct rds_reset reset = {
		.src = htonl(0x0a000001), .dst = htonl(0x0a000002)
	};
	const struct rds_get_mr_args mr = {
		{ (uintptr_t)big, 4096 }, (uintptr_t)&cookie, 0
	};
	const struct rds_free_mr_args free_mr = { 0, 0 };
	static const int on = 1, off, tcp = RDS_TRANS_TCP, size = BUFFERS;
	const struct option o[] = {
		{ 0, SOL_RDS, RDS_CANCEL_SENT_TO, &l->to, sizeof(l->to.in) },
		{ 0, SOL_RDS, RDS_GET_MR, &mr, sizeof(mr) },
		{ 0, SOL_RDS, RDS_GET_MR_FOR_DEST, &for_dest, sizeof(for_dest) },
		{ 0, SOL_RDS, RDS_FREE_MR, &free_mr, sizeof(free_mr) },
		{ 0, SOL_RDS, RDS_RECVERR, &on, sizeof(on) },
		{ 0, SOL_RDS, RDS_PEER_TIMEOUT, &on, sizeof(on) },
		{ 0, SOL_RDS, RDS_PEER_TIMEOUT, &off, sizeof(off) },
		{ 0, SOL_RDS, RDS_CONG_MONITOR, &on, sizeof(on) },
		{ 0, SOL_RDS, RDS_CONG_MONITOR, &off, sizeof(off) },
		{ 0, SOL_RDS, SO_RDS_TRANSPORT, &reset, sizeof(reset) },
		{ 0, SOL_RDS, SO_TIMESTAMP, &on, sizeof(on) },
		{ 0, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &trace, sizeof(trace) },
		{ 0, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof(on) },
		{ 0, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on) },
		{ 0, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size) },
		{ 0, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size) },
	};
	const struct nth_call chooses = {
		"transport", new_option, do_set, NULL, end_option, 0, 0
	};
	struct option choice = { .level = SOL_RDS, .name = SO_RDS_TRANSPORT,
				 .value = &tcp, .len = sizeof(tcp) };
	struct nth_call c = { "", NULL, do_set, NULL, NULL, 0, 0 };
	union addr a = addr_of("10.0.0.1", PORT + 1);
	char what[32];
	size_t i;

	for (i = 0; i < sizeof(o) / sizeof(o[0]); i++) {
		struct option mine = o[i];

		snprintf(what, sizeof(what), "setsockopt %d %d", o[i].level,
			 o[i].name);
		c.what = what;
		mine.fd = rds_bound(&a, 0);
		nth_every(&c, &mine);
		close(mine.fd);
	}
	nth_every(&chooses, &choice);
	nth_result("setsockopt", 1);
}

static bool no_messages(int fd)
{
	struct snap s = snap(fd, RDS_INFO_SEND_MESSAGES);
	bool none = !s.n;

	snap_free(&s);
	return none;
}

/* The receiver has a message, so that no dump of an end is empty. */
static void group_getsockopt(const struct nth_link *l)
{
	static const int opts[] = {
		RDS_RECVERR, RDS_PEER_TIMEOUT, SO_RDS_TRANSPORT,
	};
	struct nth_call c = { "", NULL, do_get, NULL, NULL, 0, 0 };
	const struct nth_call cancels = {
		"cancel", NULL, do_set, NULL, NULL, 0, 0
	};
	const union addr none = addr_of("10.0.0.99", PORT);
	struct option o = { .level = SOL_RDS };
	struct option cancel = {
		l->tx, SOL_RDS, RDS_CANCEL_SENT_TO, &none, sizeof(none.in)
	};
	char what[32];
	size_t i;

	c.what = what;
	for (i = 0; i < sizeof(opts) / sizeof(opts[0]); i++) {
		o.fd = l->rx;
		o.name = opts[i];
		snprintf(what, sizeof(what), "getsockopt %d", o.name);
		nth_every(&c, &o);
	}
	fill(big, 2000, 1);
	if (sendto(l->tx, big, 2000, 0, &l->to.sa, addr_len(&l->to)) != 2000)
		die("send: %m");
	nth_wait(l->rx);
	/* Nobody has this address. */
	if (sendto(l->tx, big, 2000, 0, &none.sa, addr_len(&none)) != 2000)
		die("send: %m");
	for (o.name = RDS_INFO_FIRST; o.name <= RDS_INFO_LAST; o.name++) {
		snprintf(what, sizeof(what), "dump %d", o.name);
		o.fd = l->rx;
		nth_every(&c, &o);
		o.fd = l->tx;
		nth_every(&c, &o);
	}
	nth_come(l->rx, 2000, 1);
	nth_every(&cancels, &cancel);
	if (!no_messages(l->tx))
		nth_wrong("a message was not cancelled");
	nth_result("getsockopt", 1);
}

static long do_poll(void *arg)
{
	const struct nth_link *l = arg;
	struct pollfd p[2] = {
		{ l->tx, POLLIN | POLLOUT, 0 }, { l->rx, POLLIN | POLLOUT, 0 },
	};

	return done(poll(p, 2, 0));
}

static long do_tos(void *arg)
{
	struct sock *s = arg;
	rds_tos_t tos = 4;

	return done(ioctl(s->fd, SIOCRDSSETTOS, &tos));
}

static void has_tos(void *arg)
{
	struct sock *s = arg;
	rds_tos_t tos;

	if (ioctl(s->fd, SIOCRDSGETTOS, &tos))
		nth_wrong("no type of service: %m");
	close(s->fd);
}

static long do_get_tos(void *arg)
{
	const struct nth_link *l = arg;
	rds_tos_t tos;

	return done(ioctl(l->tx, SIOCRDSGETTOS, &tos));
}

static void begin_bound(void *arg)
{
	struct sock *s = arg;

	s->fd = rds_bound(&s->addr, 0);
}

static void group_poll(struct nth_link *l)
{
	const struct nth_call c[] = {
		{ "poll", NULL, do_poll, NULL, NULL, 0, 0 },
		{ "ioctl", NULL, do_get_tos, NULL, NULL, 0, 0 },
		{ "ioctl set", begin_bound, do_tos, NULL, has_tos, 0, 0 },
	};
	struct sock s = { .addr = addr_of("10.0.0.1", PORT + 1) };

	nth_every(&c[0], l);
	nth_every(&c[1], l);
	nth_every(&c[2], &s);
	nth_result("poll", 1);
}

static struct nth_link link_of(const char *from, const char *ns, const char *to)
{
	struct nth_link l;
	int on = 1;

	l.rx = nth_in(ns, to, PORT, RDS_TRANS_NONE);
	l.tx = nth_in("A", from, PORT + 10, RDS_TRANS_NONE);
	l.to = addr_of(to, PORT);
	if (setsockopt(l.tx, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)))
		die("SO_ZEROCOPY: %m");
	return l;
}

/* Open the connection, for the groups that need one. */
static void first_exchange(struct nth_link *l)
{
	fill(big, 100, 0);
	if (sendto(l->tx, big, 100, 0, &l->to.sa, addr_len(&l->to)) != 100)
		die("send: %m");
	nth_come(l->rx, 100, 0);
}

int main(void)
{
	struct nth_link tcp, lo;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ktap_plan(19);
	nth_prepare();
	tcp = link_of("10.0.0.1", "B", "10.0.0.2");
	lo = link_of("127.0.0.1", "A", "127.0.0.1");
	first_exchange(&tcp);
	first_exchange(&lo);
	group_socket();
	group_bind();
	group_connect();
	group_setsockopt(&tcp);
	group_getsockopt(&tcp);
	group_poll(&tcp);
	nth_messages(&tcp, &lo);
	group_close();
	nth_files();
	nth_paths(&tcp);
	return ktap_exit();
}
