// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* connect(): only records a destination. */
#include "api.h"

#include <net/if.h>

static void family_len(const struct api_case *c)
{
	union addr a = addr_of(c->arg, 4000);
	int fd = sock(), len;

	for (len = 0; len <= 132; len++)
		sweep(len, connect(fd, &a.sa, len) ? -errno : 0);
	sweep_end(NULL);
}

static void families(const struct api_case *c)
{
	union addr a = addr_of(A4, 4000);
	int fd = sock(), f;

	(void)c;
	for (f = 0; f <= 50; f++) {
		a.ss.ss_family = f;
		if (f == AF_INET || f == AF_INET6)
			continue;
		sweep(f, connect(fd, &a.sa, sizeof(a)) ? -errno : 0);
	}
	sweep_end(NULL);
}

/* The same address on an unbound and on a bound socket. */
static void address(const struct api_case *c)
{
	int fd = sock(), b = bound(NS_A, A4, 0);

	r("unbound", do_connect(fd, c->arg, c->num ? c->num : 4000));
	r("bound", do_connect(b, c->arg, c->num ? c->num : 4000));
}

static void port_zero(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);
	struct rx x;
	char b[4];

	(void)c;
	r("connect", do_connect(fd, A4, 0));
	r("ping", send_msg(fd, NULL, "", 0, NULL, 0));
	x = rx_msg(fd, b, sizeof(b), 0, 0);
	rx_note("pong", &x);
	r("port", addr_port(&x.from));
}

static void scoped(const struct api_case *c)
{
	char ll[64];
	union addr a = addr_of(link_local(ll), 4000), b = a;
	int fd = sock();

	(void)c;
	b.in6.sin6_port = htons(lane0_port());
	r("bind", bind(fd, &b.sa, sizeof(b.in6)) ? -errno : 0);
	a.in6.sin6_scope_id = if_nametoindex("lo");
	r("other", connect(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
	a.in6.sin6_scope_id = 0;
	r("none", connect(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
	a.in6.sin6_scope_id = if_nametoindex("veth0");
	r("same", connect(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
	fd = sock();
	a.in6.sin6_scope_id = 4711;
	r("unbound_any", connect(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
}

static void repeated(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct link m = link_open(c->num);
	struct rx x;
	char b[8];

	need(!connect(l.tx, &m.to.sa, addr_len(&m.to)));
	need(!connect(l.tx, &l.to.sa, addr_len(&l.to)));
	r("send", send_msg(l.tx, NULL, "abc", 3, NULL, 0));
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
	need(!connect(l.tx, &m.to.sa, addr_len(&m.to)));
	r("send2", send_msg(l.tx, NULL, "abcd", 4, NULL, 0));
	x = rx_msg(m.rx, b, sizeof(b), 0, 0);
	rx_note("recv2", &x);
	/* A failing connect() leaves the destination as it is. */
	r("bad", do_connect(l.tx, "0.0.0.0", 1));
	r("send3", send_msg(l.tx, NULL, "abcde", 5, NULL, 0));
	x = rx_msg(m.rx, b, sizeof(b), 0, 0);
	rx_note("recv3", &x);
}

/* A connected socket still receives from every source. */
static void any_source(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	char b[8];

	need(!connect(l.rx, &l.to.sa, addr_len(&l.to)));
	r("send", send_to(l.tx, &l.to, 3, 0));
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
}

/*
 * In-tree does not compare families when the destination comes from connect(),
 * and dials the last four bytes of an IPv6 destination as an IPv4 address.
 */
static void mixed_family(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), six = bound(NS_A, A6, 0);

	(void)c;
	r("v4_connect", do_connect(fd, "fd00::a00:63", 4000));
	r("v4_send", send_msg(fd, NULL, "x", 1, NULL, MSG_DONTWAIT));
	r("v6_connect", do_connect(six, B4, 4000));
}

const struct api_case connect_cases[] = {
	{ "connect.len_v4", family_len, "0-15:EINVAL,16-128:0,129-132:EINVAL", .arg = A4 },
	{ "connect.len_v6", family_len, "0-27:EINVAL,28-128:0,129-132:EINVAL", .arg = A6 },
	{ "connect.families", families, "0-1:EAFNOSUPPORT,3-9:EAFNOSUPPORT,11-50:EAFNOSUPPORT" },
	{ "connect.v4", address, "unbound=0 bound=0", .arg = B4 },
	{ "connect.v4_any", address, "unbound=EDESTADDRREQ bound=EDESTADDRREQ", .arg = "0.0.0.0" },
	{ "connect.v4_broadcast", address, "unbound=EINVAL bound=EINVAL",
	  .arg = "255.255.255.255" },
	{ "connect.v4_multicast", address, "unbound=EINVAL bound=EINVAL", .arg = "224.0.0.1" },
	{ "connect.v6", address, "unbound=0 bound=0", .arg = B6 },
	{ "connect.v6_any", address, "unbound=EPROTOTYPE bound=EPROTOTYPE", .arg = "::" },
	{ "connect.v6_multicast", address, "unbound=EPROTOTYPE bound=EPROTOTYPE",
	  .arg = "ff02::1" },
	{ "connect.v6_mapped", address, "unbound=0 bound=0", .arg = "::ffff:" B4 },
	{ "connect.v6_mapped_any", address, "unbound=EPROTOTYPE bound=EPROTOTYPE",
	  .arg = "::ffff:0.0.0.0" },
	{ "connect.v6_mapped_broadcast", address, "unbound=EPROTOTYPE bound=EPROTOTYPE",
	  .arg = "::ffff:255.255.255.255" },
	{ "connect.v6_mapped_multicast", address, "unbound=EPROTOTYPE bound=EPROTOTYPE",
	  .arg = "::ffff:224.0.0.1" },
	{ "connect.v6_linklocal_no_scope", address, "unbound=EINVAL bound=EINVAL",
	  .arg = "fe80::1" },
	{ "connect.v6_linklocal", scoped, "bind=0 other=EINVAL none=EINVAL same=0 unbound_any=0" },
	{ "connect.port_zero", port_zero, "connect=0 ping=0 pong=0/16 port=0" },
	{ "connect.repeated.tcp4", repeated, "send=3 recv=3/16 send2=4 recv2=4/16 bad=EDESTADDRREQ "
	  "send3=5 recv3=5/16", .num = TCP4 },
	{ "connect.repeated.self6", repeated, "send=3 recv=3/28 send2=4 recv2=4/28 "
	  "bad=EDESTADDRREQ send3=5 recv3=5/28", .num = SELF6 },
	{ "connect.any_source.tcp4", any_source, "send=3 recv=3/16", .num = TCP4 },
	{ "connect.any_source.lo6", any_source, "send=3 recv=3/28", .num = LO6 },
	{ "connect.mixed_family", mixed_family, "v4_connect=0 v4_send=1 v6_connect=0",
	  "v4_connect=0 v4_send=EOPNOTSUPP v6_connect=0" },
	{ }
};
