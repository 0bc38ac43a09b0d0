// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sendmsg(): flags, destinations, sizes, the send queue. Numbers in the names
 * of cases are rows of the check order (protocol.rst 5.6).
 */
#include "api.h"

#include <fcntl.h>
#include <net/if.h>

/*
 * Flag bits that sendmsg(2) clears before the protocol sees them, or passes on,
 * depending on the kernel's version and configuration.
 */
#define INTERNAL	(1u << 16 | 1u << 17 | 1u << 20 | 1u << 27 | 1u << 31)

/* protocol.rst 5.6.1: every flag bit by itself. */
static void flags(const struct api_case *c)
{
	struct link l = link_open(c->num);
	int bit;

	for (bit = 0; bit < 32; bit++)
		if (!(INTERNAL & 1u << bit))
			sweep(bit,
			      send_msg(l.tx, &l.to, "x", 1, NULL, 1u << bit));
	sweep_end(NULL);
}

static void flag_first(const struct api_case *c)
{
	union addr bad = addr_of("0.0.0.0", 1);
	int fd = sock();

	(void)c;
	r("nosignal_unbound", send_msg(fd, NULL, "x", 1, NULL, MSG_NOSIGNAL));
	r("nosignal_bad_name", send_msg(fd, &bad, "x", 1, NULL, MSG_NOSIGNAL));
	r("two", send_msg(fd, &bad, "x", 1, NULL, MSG_DONTWAIT | MSG_MORE));
}

static void written(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct iovec iov = { "abc", 3 };
	struct rx x;
	char b[8];

	need(!connect(l.tx, &l.to.sa, addr_len(&l.to)));
	r("write", write(l.tx, "abc", 3) < 0 ? -errno : 3);
	r("writev", writev(l.tx, &iov, 1) < 0 ? -errno : 3);
	r("send", send(l.tx, "abc", 3, 0));
	r("sendto", sendto(l.tx, "abcd", 4, 0, &l.to.sa, addr_len(&l.to)));
	r("read", read(l.rx, b, sizeof(b)));
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
}

/* protocol.rst 5.6.2: lengths of the name. */
static void name_len(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct iovec iov = { "x", 1 };
	int len;

	for (len = 0; len <= 132; len++) {
		struct msghdr m = { .msg_name = &l.to,
				    .msg_namelen = len,
				    .msg_iov = &iov,
				    .msg_iovlen = 1 };

		sweep(len, sendmsg(l.tx, &m, 0) < 0 ? -errno : 0);
	}
	sweep_end(NULL);
}

static void name_family(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), f;
	union addr a = addr_of(A4, 4000);
	struct iovec iov = { "x", 1 };
	struct msghdr m = { .msg_name = &a,
			    .msg_namelen = sizeof(a),
			    .msg_iov = &iov,
			    .msg_iovlen = 1 };

	(void)c;
	for (f = 0; f <= 50; f++) {
		a.ss.ss_family = f;
		if (f != AF_INET && f != AF_INET6)
			sweep(f, sendmsg(fd, &m, 0) < 0 ? -errno : 0);
	}
	sweep_end(NULL);
}

static void name(const struct api_case *c)
{
	int un = sock(), four = bound(NS_A, A4, 0), six = bound(NS_A, A6, 0);
	union addr a = addr_of(c->arg, 4000);

	r("unbound", send_msg(un, &a, "x", 1, NULL, MSG_DONTWAIT));
	r("v4", send_msg(four, &a, "x", 1, NULL, MSG_DONTWAIT));
	r("v6", send_msg(six, &a, "x", 1, NULL, MSG_DONTWAIT));
}

static void mapped(const struct api_case *c)
{
	struct link l = link_open(SELF4);
	char host[64];
	union addr a;
	struct rx x;
	char b[4];

	snprintf(host, sizeof(host), "::ffff:%s", A4);
	a = addr_of(host, addr_port(&l.to));
	(void)c;
	r("send", send_msg(l.tx, &a, "xy", 2, NULL, 0));
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
}

/* protocol.rst 5.6.3 and 5.6.4. */
static void no_dest(const struct api_case *c)
{
	int fd = sock(), b = bound(NS_A, A4, 0), half = sock();
	union addr to = addr_of(B4, 4000);

	(void)c;
	r("unbound", send_msg(fd, NULL, "x", 1, NULL, 0));
	r("unbound_name", send_msg(fd, &to, "x", 1, NULL, 0));
	r("bound", send_msg(b, NULL, "x", 1, NULL, 0));
	need(!connect(fd, &to.sa, sizeof(to.in)));
	r("connected_unbound", send_msg(fd, NULL, "x", 1, NULL, 0));
	need(!set_int(half, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	r("transport_only", send_msg(half, &to, "x", 1, NULL, 0));
	r("bind_fails", do_bind(half, HOLE4, 5000));
	r("after_failed_bind", send_msg(half, &to, "x", 1, NULL, 0));
	r("too_big_unbound", send_to(sock(), &to, MAX_MSG + 1, 0));
	r("fault_unbound", send_msg(sock(), &to, (void *)8, 1, NULL, 0));
}

/* protocol.rst 5.6.6. */
static void scopes(const struct api_case *c)
{
	char ll[64];
	union addr a = addr_of(link_local(ll), lane0_port()), to = a;
	int fd = sock();
	struct rx x;
	char b[4];

	(void)c;
	need(!bind(fd, &a.sa, sizeof(a.in6)));
	to.in6.sin6_scope_id = if_nametoindex("lo");
	r("other", send_msg(fd, &to, "x", 1, NULL, 0));
	to.in6.sin6_scope_id = 0;
	r("none", send_msg(fd, &to, "x", 1, NULL, 0));
	to.in6.sin6_scope_id = if_nametoindex("veth0");
	r("same", send_msg(fd, &to, "x", 1, NULL, 0));
	x = rx_msg(fd, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
	r("from_scope", x.from.in6.sin6_scope_id == to.in6.sin6_scope_id);
}

/* protocol.rst 5.6.8 and 5.6.9: sizes around the limits. */
static void size_limit(const struct api_case *c)
{
	struct link l = link_open(c->num);

	r("sndbuf", send_to(l.tx, &l.to, DEF_BUF, 0));
	r("sndbuf+1", send_to(l.tx, &l.to, DEF_BUF + 1, 0));
	r("max+1", send_to(l.tx, &l.to, MAX_MSG + 1, 0));
	r("2^31", send_msg(l.tx, &l.to, (void *)4096, 0x80000000ul, NULL, 0));
	r("2^32", send_msg(l.tx, &l.to, (void *)4096, 0x100000000ul, NULL, 0));
	need(!set_int(l.tx, SOL_SOCKET, SO_SNDBUF, 1));
	link_sync(&l);
	r("min", send_to(l.tx, &l.to, MIN_SNDBUF, 0));
	r("min+1", send_to(l.tx, &l.to, MIN_SNDBUF + 1, 0));
}

static void one_mib(const struct api_case *c)
{
	struct link l = link_open(c->num);
	static char buf[MAX_MSG];
	struct rx x;

	need(!set_int(l.tx, SOL_SOCKET, SO_SNDBUFFORCE, 2 * MAX_MSG));
	r("max", send_to(l.tx, &l.to, MAX_MSG, 0));
	r("max+1", send_to(l.tx, &l.to, MAX_MSG + 1, 0));
	x = rx_msg(l.rx, buf, sizeof(buf), 0, 0);
	rx_note("recv", &x);
	r("same", filled(buf, MAX_MSG, MAX_MSG));
}

static void sizes(const struct api_case *c)
{
	static const int len[] = { 0,	  1,	 47,	48,   49,    1000,
				   1448,  1500,	 4047,	4048, 4095,  4096,
				   4097,  8191,	 8192,	8193, 32768, 65535,
				   65536, 65537, 100000 };
	struct link l = link_open(c->num);
	static char buf[200000];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(len); i++) {
		struct rx x;

		r(NULL, send_to(l.tx, &l.to, len[i], 0));
		x = rx_msg(l.rx, buf, sizeof(buf), 0, 0);
		if (x.ret != len[i] || !filled(buf, len[i], len[i]) ||
		    !addr_eq(&x.from, &l.from))
			bail("message of %d bytes came as %ld", len[i], x.ret);
	}
}

static void vectors(const struct api_case *c)
{
	struct link l = link_open(c->num);
	static char in[3000], out[4096];
	struct iovec iov[1024], big[2];
	struct msghdr m = { .msg_name = &l.to,
			    .msg_namelen = addr_len(&l.to),
			    .msg_iov = iov };
	struct rx x;
	int i;

	fill(in, sizeof(in), 3);
	for (i = 0; i < 1024; i++) {
		iov[i].iov_base = in + i * 3 / 2 * 2 / 3;
		iov[i].iov_len = i % 3 == 2 ? 0 : 1;
	}
	m.msg_iovlen = 1024;
	r("iov1024", sendmsg(l.tx, &m, 0));
	x = rx_msg(l.rx, out, sizeof(out), 0, 0);
	rx_note("recv", &x);
	m.msg_iovlen = 1025;
	r("iov1025", sendmsg(l.tx, &m, 0) < 0 ? -errno : 0);
	m.msg_iovlen = 0;
	r("iov0", sendmsg(l.tx, &m, 0));
	big[0] = (struct iovec){ in, 1000 };
	big[1] = (struct iovec){ in + 1000, 2000 };
	m.msg_iov = big;
	m.msg_iovlen = 2;
	x = rx_msg(l.rx, out, sizeof(out), 0, 0);
	rx_note("recv0", &x);
	r("iov2", sendmsg(l.tx, &m, 0));
	x = rx_msg(l.rx, out, sizeof(out), 0, 0);
	rx_note("recv2", &x);
	r("same", filled(out, 3000, 3));
}

/* protocol.rst 5.6.20: a queue towards a silent host, to the byte. */
static void queue_full(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), i;
	union addr to = addr_of(HOLE4, 4000),
		   other = addr_of("10.0.0.98", 4000);

	(void)c;
	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 1));
	for (i = 0; i < 3; i++)
		r("zero", send_to(fd, &to, 0, MSG_DONTWAIT));
	r("almost", send_to(fd, &to, MIN_SNDBUF - 1, MSG_DONTWAIT));
	r("pollout", !!(poll_bits(fd, POLLOUT, 0) & POLLOUT));
	r("zero", send_to(fd, &to, 0, MSG_DONTWAIT));
	r("overshoot", send_to(fd, &to, MIN_SNDBUF, MSG_DONTWAIT));
	r("pollout", !!(poll_bits(fd, POLLOUT, 0) & POLLOUT));
	r("one", send_to(fd, &to, 1, MSG_DONTWAIT));
	r("zero", send_to(fd, &to, 0, MSG_DONTWAIT));
	r("elsewhere", send_to(fd, &other, 0, MSG_DONTWAIT));
	r("too_big", send_to(fd, &to, MIN_SNDBUF + 1, MSG_DONTWAIT));
	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 4 * MIN_SNDBUF));
	r("raised", send_to(fd, &to, 1, MSG_DONTWAIT));
	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 1));
	r("lowered", send_to(fd, &to, 1, MSG_DONTWAIT));
}

/* A queue of exactly the limit is full, one byte less is not. */
static void queue_edge(const struct api_case *c)
{
	union addr to = addr_of(HOLE4, 4000);
	int i;

	(void)c;
	for (i = -1; i <= 1; i++) {
		int fd = bound(NS_A, A4, 0);

		need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 1));
		need(send_to(fd, &to, 2000, MSG_DONTWAIT) == 2000);
		need(send_to(fd, &to, 304 + i, MSG_DONTWAIT) == 304 + i);
		sweep(MIN_SNDBUF + i, send_to(fd, &to, 1, MSG_DONTWAIT));
		close(fd);
	}
	sweep_end(NULL);
}

static void send_timeout(const struct api_case *c)
{
	int fd = hole_full(1);
	union addr to = addr_of(HOLE4, 4000);
	long t;

	(void)c;
	set_timeo(fd, SO_SNDTIMEO, 100);
	t = now_ms();
	r("blocking", send_to(fd, &to, 10, 0));
	r("waited", in_time(now_ms() - t, 99, 150));
	r("dontwait", send_to(fd, &to, 10, MSG_DONTWAIT));
	need(!fcntl(fd, F_SETFL, O_NONBLOCK));
	r("nonblock", send_to(fd, &to, 10, 0));
}

/* Sends to unknown hosts and to unbound ports report no error. */
static void unheard(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);
	union addr hole = addr_of(HOLE4, 4000), free_port = addr_of(B4, 4242);
	union addr outside = addr_of("192.0.2.1", 4000);

	(void)c;
	r("no_host", send_to(fd, &hole, 10, MSG_DONTWAIT));
	r("no_port", send_to(fd, &free_port, 10, MSG_DONTWAIT));
	r("no_route", send_to(fd, &outside, 10, MSG_DONTWAIT));
	r("error", get_int(fd, SOL_SOCKET, SO_ERROR));
}

#define FLAGS_REST(bit19) "15:EOPNOTSUPP," bit19 ",21-25:EOPNOTSUPP,26:EINVAL,28-30:EOPNOTSUPP"
#define FLAGS_WANT(bit19) "0-5:EOPNOTSUPP,6:1,7-" FLAGS_REST(bit19)
/* Ours accepts MSG_EOR (bit 7) and MSG_NOSIGNAL (bit 14): no effect on RDS */
#define FLAGS_OURS(bit19) "0-5:EOPNOTSUPP,6-7:1,8-13:EOPNOTSUPP,14:1," FLAGS_REST(bit19)
#define FLAGS_TO_6 FLAGS_WANT("18-19:EOPNOTSUPP"), FLAGS_OURS("18-19:EOPNOTSUPP"), C_TO_6
/* Bit 19 is MSG_NO_SHARED_FRAGS: sendmsg(2) clears it before RDS sees it. */
#define FLAGS_FROM_7 FLAGS_WANT("18:EOPNOTSUPP,19:1"), FLAGS_OURS("18:EOPNOTSUPP,19:1"), C_FROM_7
#define SIZES_WANT "0 1 47 48 49 1000 1448 1500 4047 4048 4095 4096 4097 8191 8192 8193 32768 " \
	"65535 65536 65537 100000"
#define ONE_MIB_WANT "max=1048576 max+1=EMSGSIZE recv=1048576/16 same=1"
#define ONE_MIB6_WANT "max=1048576 max+1=EMSGSIZE recv=1048576/28 same=1"
#define LIMIT_WANT "sndbuf=106496 sndbuf+1=EMSGSIZE max+1=EMSGSIZE 2^31=EMSGSIZE 2^32=EMSGSIZE " \
	"min=2304 min+1=EMSGSIZE"
#define VEC_WANT(n) "iov1024=683 recv=683/" n " iov1025=EMSGSIZE iov0=0 recv0=0/" n " iov2=3000 " \
	"recv2=3000/" n " same=1"
#define WRITE_WANT(n) "write=EOPNOTSUPP writev=EOPNOTSUPP send=3 sendto=4 read=3 recv=4/" n
#define WRITE_OURS(n) "write=3 writev=3 send=3 sendto=4 read=3 recv=3/" n
#define NAME_BAD "unbound=EINVAL v4=EINVAL v6=EINVAL"

const struct api_case send_cases[] = {
	{ "send.row1_flags.tcp4", flags, FLAGS_TO_6, .num = TCP4 },
	{ "send.row1_flags.tcp4", flags, FLAGS_FROM_7, .num = TCP4 },
	{ "send.row1_flags.self6", flags, FLAGS_TO_6, .num = SELF6 },
	{ "send.row1_flags.self6", flags, FLAGS_FROM_7, .num = SELF6 },
	{ "send.row1_flags.lo4", flags, FLAGS_TO_6, .num = LO4 },
	{ "send.row1_flags.lo4", flags, FLAGS_FROM_7, .num = LO4 },
	{ "send.row1_first", flag_first,
	  "nosignal_unbound=EOPNOTSUPP nosignal_bad_name=EOPNOTSUPP two=EOPNOTSUPP",
	  "nosignal_unbound=ENOTCONN nosignal_bad_name=EINVAL two=EOPNOTSUPP" },
	{ "send.write.tcp4", written, WRITE_WANT("16"), WRITE_OURS("16"), .num = TCP4 },
	{ "send.write.self6", written, WRITE_WANT("28"), WRITE_OURS("28"), .num = SELF6 },
	{ "send.row2_len_v4", name_len, "0:ENOTCONN,1-15:EINVAL,16-132:0", .num = SELF4 },
	{ "send.row2_len_v6", name_len, "0:ENOTCONN,1-27:EINVAL,28-132:0", .num = SELF6 },
	{ "send.row2_families", name_family, "0-1:EINVAL,3-9:EINVAL,11-50:EINVAL" },
	{ "send.row2_v4_any", name, NAME_BAD, .arg = "0.0.0.0" },
	{ "send.row2_v4_broadcast", name, NAME_BAD, .arg = "255.255.255.255" },
	{ "send.row2_v4_multicast", name, NAME_BAD, .arg = "224.0.0.9" },
	{ "send.row2_v6_any", name, NAME_BAD, .arg = "::" },
	{ "send.row2_v6_multicast", name, NAME_BAD, .arg = "ff02::1" },
	{ "send.row2_v6_mapped_any", name, NAME_BAD, .arg = "::ffff:0.0.0.0" },
	{ "send.row2_v6_mapped_broadcast", name, NAME_BAD, .arg = "::ffff:255.255.255.255" },
	{ "send.row2_v6_mapped_multicast", name, NAME_BAD, .arg = "::ffff:239.1.1.1" },
	{ "send.row2_v6_linklocal_no_scope", name, NAME_BAD, .arg = "fe80::1" },
	{ "send.row2_v6_mapped", mapped, "send=2 recv=2/16" },
	{ "send.row4_no_dest.CVE-2015-6937", no_dest,
	  "unbound=ENOTCONN unbound_name=ENOTCONN bound=ENOTCONN "
	  "connected_unbound=ENOTCONN transport_only=ENOTCONN bind_fails=ENOPROTOOPT "
	  "after_failed_bind=ENOTCONN too_big_unbound=ENOTCONN fault_unbound=ENOTCONN" },
	{ "send.row5_family_v6", name, "unbound=ENOTCONN v4=EOPNOTSUPP v6=1", .arg = B6 },
	{ "send.row5_family_v4", name, "unbound=ENOTCONN v4=1 v6=EOPNOTSUPP", .arg = B4 },
	{ "send.row5_family_mapped", name, "unbound=ENOTCONN v4=1 v6=EOPNOTSUPP",
	  .arg = "::ffff:" B4 },
	{ "send.row6_scopes", scopes, "other=EINVAL none=EINVAL same=1 recv=1/28 from_scope=1" },
	{ "send.row8_9_limits.tcp4", size_limit, LIMIT_WANT, .num = TCP4 },
	{ "send.row8_9_limits.tcp6", size_limit, LIMIT_WANT, .num = TCP6 },
	{ "send.row8_9_limits.self4", size_limit, LIMIT_WANT, .num = SELF4 },
	{ "send.row8_9_limits.lo6", size_limit, LIMIT_WANT, .num = LO6 },
	{ "send.one_mib.tcp4", one_mib, ONE_MIB_WANT, .num = TCP4, .flags = C_ROOT },
	{ "send.one_mib.tcp6", one_mib, ONE_MIB6_WANT, .num = TCP6, .flags = C_ROOT },
	{ "send.one_mib.self4", one_mib, ONE_MIB_WANT, .num = SELF4, .flags = C_ROOT },
	{ "send.one_mib.lo6", one_mib, ONE_MIB6_WANT, .num = LO6, .flags = C_ROOT },
	{ "send.row22_sizes.tcp4", sizes, SIZES_WANT, .num = TCP4 },
	{ "send.row22_sizes.tcp6", sizes, SIZES_WANT, .num = TCP6 },
	{ "send.row22_sizes.self4", sizes, SIZES_WANT, .num = SELF4 },
	{ "send.row22_sizes.self6", sizes, SIZES_WANT, .num = SELF6 },
	{ "send.row22_sizes.lo4", sizes, SIZES_WANT, .num = LO4 },
	{ "send.row22_sizes.lo6", sizes, SIZES_WANT, .num = LO6 },
	{ "send.vectors.tcp4", vectors, VEC_WANT("16"), .num = TCP4 },
	{ "send.vectors.self6", vectors, VEC_WANT("28"), .num = SELF6 },
	{ "send.row20_queue_full", queue_full,
	  "zero=0 zero=0 zero=0 almost=2303 pollout=1 zero=0 overshoot=2304 pollout=0 one=EAGAIN "
	  "zero=EAGAIN elsewhere=EAGAIN too_big=EMSGSIZE raised=1 lowered=EAGAIN" },
	{ "send.row20_queue_edge", queue_edge, "2303:1,2304-2305:EAGAIN" },
	{ "send.row20_timeout", send_timeout,
	  "blocking=ETIMEDOUT waited=1 dontwait=EAGAIN nonblock=EAGAIN" },
	{ "send.unheard", unheard, "no_host=10 no_port=10 no_route=10 error=0" },
	{ }
};
