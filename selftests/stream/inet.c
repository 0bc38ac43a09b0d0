// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Cases of rds-stream-basic: what sockets of AF_INET and AF_INET6 have beside
 * those of AF_RDS, with which these cases do not run. $STREAM_V4 is an address
 * of the host in IPv4, for cases of IPv6.
 */
#define _GNU_SOURCE
#include "basic.h"
#include "opt.h"

#include <linux/filter.h>
#include <net/if.h>
#include <sys/ioctl.h>

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

static bool v6(void)
{
	return env.server.sa.sa_family == AF_INET6;
}

static int opened_as(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, env.protocol);

	if (fd < 0)
		die("socket: %m");
	return fd;
}

static int bind_to(int fd, const union addr *a)
{
	return (int)err(bind(fd, &a->sa, addr_len(a)));
}

/* The address of the host in IPv4, and the same as one of IPv6 */
static union addr v4(uint16_t port)
{
	return addr_of(getenv("STREAM_V4"), port);
}

static union addr mapped(uint16_t port)
{
	char text[64];

	snprintf(text, sizeof(text), "::ffff:%s", getenv("STREAM_V4"));
	return addr_of(text, port);
}

/* A listener at the wildcard; *@a is set to its address */
static int listening_any(int family, bool only, uint16_t port, union addr *a)
{
	int fd = opened_as(family);

	if (only)
		WANT(set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1), 0);
	*a = addr_of(family == AF_INET6 ? "::" : "0.0.0.0", port);
	WANT(bind_to(fd, a), 0);
	WANT(listen(fd, 4), 0);
	*a = name_of(fd);
	return fd;
}

static void inet_facts(void)
{
	int want = env.protocol ? env.protocol : IPPROTO_TCP;
	struct pair p = paired();

	WANT(get(p.l, SOL_SOCKET, SO_PROTOCOL), want);
	WANT(get(p.a, SOL_SOCKET, SO_PROTOCOL), want);
	WANT(get(p.b, SOL_SOCKET, SO_PROTOCOL), want);
	WANT(get(p.b, SOL_SOCKET, SO_DOMAIN), env.family);
	WANT(get(p.b, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
}

static const struct {
	const char *what;
	int level, name, first, value;
} kept[] = {
	{ "IP_TOS", IPPROTO_IP, IP_TOS, 0, 0x48 },
	{ "IP_TTL", IPPROTO_IP, IP_TTL, 64, 33 },
	{ "IP_RECVERR", IPPROTO_IP, IP_RECVERR, 0, 1 },
	{ "IP_PKTINFO", IPPROTO_IP, IP_PKTINFO, 0, 1 },
	{ "IP_MTU_DISCOVER", IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_WANT,
	  IP_PMTUDISC_DO },
	{ "IP_BIND_ADDRESS_NO_PORT", IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 0, 1 },
	{ "IPV6_V6ONLY", IPPROTO_IPV6, IPV6_V6ONLY, 0, 1 },
	{ "IPV6_TCLASS", IPPROTO_IPV6, IPV6_TCLASS, 0, 0x48 },
	{ "IPV6_UNICAST_HOPS", IPPROTO_IPV6, IPV6_UNICAST_HOPS, 64, 33 },
	{ "IPV6_RECVERR", IPPROTO_IPV6, IPV6_RECVERR, 0, 1 },
	{ "IPV6_RECVPKTINFO", IPPROTO_IPV6, IPV6_RECVPKTINFO, 0, 1 },
};

#define KEPT (sizeof(kept) / sizeof(kept[0]))

static void inet_options(void)
{
	int fd = opened(0), level;

	for (size_t i = 0; i < KEPT; i++) {
		level = kept[i].level;
		if (level == IPPROTO_IPV6 && !v6())
			continue;
		want_at(__LINE__, kept[i].what, get(fd, level, kept[i].name),
			kept[i].first);
		want_at(__LINE__, kept[i].what,
			set(fd, level, kept[i].name, kept[i].value), 0);
		want_at(__LINE__, kept[i].what, get(fd, level, kept[i].name),
			kept[i].value);
	}
}

static void inet_options_inherited(void)
{
	union addr a;
	int l = listening(&a, 1), s;

	WANT(set(l, IPPROTO_IP, IP_TOS, 0x48), 0);
	if (v6())
		WANT(set(l, IPPROTO_IPV6, IPV6_TCLASS, 0x48), 0);
	WANT(dial(dialler(0), &a), 0);
	s = accept(l, NULL, NULL);
	WANT(get(s, IPPROTO_IP, IP_TOS), 0x48);
	if (v6())
		WANT(get(s, IPPROTO_IPV6, IPV6_TCLASS), 0x48);
}

static void inet_options_refused(void)
{
	struct pair p = paired();

	WANT(set(p.a, IPPROTO_IP, 12345, 1), -ENOPROTOOPT);
	WANT(get(p.a, IPPROTO_IP, 12345), -ENOPROTOOPT);
	WANT(set(p.a, IPPROTO_IP, IP_TTL, 256), -EINVAL);
	WANT(set(p.a, IPPROTO_IP, IP_TTL, 0), -EINVAL);
	/* One byte is enough for IP, and not for IPv6. */
	WANT(setsockopt(p.a, IPPROTO_IP, IP_TTL, &(char){ 9 }, 1), 0);
	WANT(get(p.a, IPPROTO_IP, IP_TTL), 9);
	WANT(set(p.a, IPPROTO_IP, IP_TTL, -1), 0);
	WANT(get(p.a, IPPROTO_IP, IP_TTL), 64);
	/* The bits of congestion are the kernel's. */
	WANT(set(p.a, IPPROTO_IP, IP_TOS, 0x4b), 0);
	WANT(get(p.a, IPPROTO_IP, IP_TOS), 0x48);
	if (!v6()) {
		WANT(set(p.a, IPPROTO_IPV6, IPV6_TCLASS, 1), -ENOPROTOOPT);
		return;
	}
	WANT(set(p.a, IPPROTO_IPV6, IPV6_TCLASS, 256), -EINVAL);
	WANT(setsockopt(p.a, IPPROTO_IPV6, IPV6_TCLASS, &(char){ 9 }, 1),
	     -EINVAL);
	WANT(set(p.a, IPPROTO_IPV6, IPV6_V6ONLY, 1), -EINVAL);
}

/* The traffic class of what is sent is that of the option, ECN aside. */
static void inet_with_tos(void)
{
	union addr a;
	int l = listening(&a, 1), fd = dialler(0), s;

	WANT(set(fd, IPPROTO_IP, IP_TOS, 0x10), 0);
	if (v6())
		WANT(set(fd, IPPROTO_IPV6, IPV6_TCLASS, 0x10), 0);
	WANT(dial(fd, &a), 0);
	s = accept(l, NULL, NULL);
	put(fd, 1000, 1);
	TRUE(got(s, 1000, 1));
}

static void inet_port_later(void)
{
	union addr a, name;
	int l = listening(&a, 1), fd = opened(0), s;

	WANT(set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1), 0);
	WANT(bind_to(fd, &env.server), 0);
	name = name_of(fd);
	TRUE(addr_eq(&name, &env.server));
	WANT(dial(fd, &a), 0);
	name = name_of(fd);
	TRUE(addr_port(&name) != 0);
	addr_set_port(&name, 0);
	TRUE(addr_eq(&name, &env.server));
	s = accept(l, NULL, NULL);
	put(fd, 10, 1);
	TRUE(got(s, 10, 1));
}

static void inet_families(void)
{
	union addr other = v6() ? v4(9) : addr_of("::1", 9);
	union addr none = addr_of("0.0.0.0", 0);
	int fd = opened(0);

	WANT(bind_to(fd, &other), v6() ? -EINVAL : -EAFNOSUPPORT);
	WANT(dial(fd, &other), v6() ? -EINVAL : -EAFNOSUPPORT);
	none.sa.sa_family = AF_UNSPEC;
	WANT(bind(fd, &none.sa, sizeof(none.in)), v6() ? -EINVAL : 0);
	none.in.sin_addr = addr_of("127.0.0.1", 0).in.sin_addr;
	WANT(bind(opened(0), &none.sa, sizeof(none.in)),
	     v6() ? -EINVAL : -EAFNOSUPPORT);
}

/* Programs ask about interfaces with whatever socket they have. */
static void inet_ioctls(void)
{
	struct ifreq req = { .ifr_name = "lo" };
	const struct sockaddr_in *in = (const void *)&req.ifr_addr;
	int fd = opened_as(AF_INET);

	WANT(ioctl(fd, SIOCGIFADDR, &req), 0);
	WANT(in->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	WANT(ioctl(fd, SIOCGIFFLAGS, &req), 0);
	TRUE(req.ifr_flags & IFF_LOOPBACK);
	WANT(ioctl(fd, 0x5e5e, &req), -ENOTTY);
}

/*
 * The kernel frees a socket with such a program later than others, from where
 * nothing may sleep.
 */
static void inet_reuseport_prog(void)
{
	struct sock_filter ret = { .code = 0x06 };
	struct sock_fprog prog = { .len = 1, .filter = &ret };
	int fd = opened(0);

	WANT(set(fd, SOL_SOCKET, SO_REUSEPORT, 1), 0);
	WANT(setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog,
			sizeof(prog)), 0);
	close(fd);
}

/* ---- both families at a socket of AF_INET6 */

static bool both(void)
{
	return v6() && getenv("STREAM_V4");
}

static void inet_mapped(void)
{
	union addr a, to, want, name;
	int l, fd, s;

	if (!both())
		return;
	l = listening_any(AF_INET6, false, 0, &a);
	to = mapped(addr_port(&a));
	fd = opened_as(AF_INET6);
	WANT(dial(fd, &to), 0);
	s = accept(l, NULL, NULL);
	name = name_of(s);
	TRUE(addr_eq(&name, &to));
	name = name_of(fd);
	want = mapped(addr_port(&name));
	TRUE(addr_eq(&name, &want));
	put(fd, 1000, 1);
	TRUE(got(s, 1000, 1));

	/* A socket of AF_INET at the same listener */
	to = v4(addr_port(&a));
	fd = opened_as(AF_INET);
	WANT(dial(fd, &to), 0);
	s = accept(l, NULL, NULL);
	name = name_of(s);
	want = mapped(addr_port(&a));
	TRUE(addr_eq(&name, &want));
	put(s, 1000, 2);
	TRUE(got(fd, 1000, 2));
}

static void inet_bind_mapped(void)
{
	union addr a, b;
	int fd, s;

	if (!both())
		return;
	a = mapped(0);
	fd = opened_as(AF_INET6);
	WANT(bind_to(fd, &a), 0);
	WANT(listen(fd, 1), 0);
	a = name_of(fd);
	b = v4(addr_port(&a));
	s = opened_as(AF_INET);
	WANT(dial(s, &b), 0);
	TRUE(accept(fd, NULL, NULL) >= 0);
	WANT(bind_to(opened_as(AF_INET), &b), -EADDRINUSE);
}

static void inet_v6only(void)
{
	union addr a, to;
	int l, fd;

	if (!both())
		return;
	l = listening_any(AF_INET6, true, 0, &a);
	to = v4(addr_port(&a));
	WANT(dial(opened_as(AF_INET), &to), -ECONNREFUSED);
	to = env.server;
	addr_set_port(&to, addr_port(&a));
	WANT(dial(opened_as(AF_INET6), &to), 0);
	TRUE(accept(l, NULL, NULL) >= 0);

	fd = opened_as(AF_INET6);
	WANT(set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1), 0);
	to = mapped(addr_port(&a));
	WANT(dial(fd, &to), -ENETUNREACH);
	addr_set_port(&to, 0);
	WANT(bind_to(fd, &to), -EINVAL);
	WANT(bind_to(fd, &env.server), 0);
	WANT(set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0), -EINVAL);
}

/* A port in both families, as web servers open it */
static void inet_two_listeners(void)
{
	union addr a, b, to;
	int l4, l6, one = opened_as(AF_INET6), two = opened_as(AF_INET);

	if (!both())
		return;
	l4 = listening_any(AF_INET, false, 0, &a);
	l6 = listening_any(AF_INET6, true, addr_port(&a), &b);
	to = env.server;
	addr_set_port(&to, addr_port(&a));
	WANT(dial(one, &to), 0);
	TRUE(accept(l6, NULL, NULL) >= 0);
	to = v4(addr_port(&a));
	WANT(dial(two, &to), 0);
	TRUE(accept(l4, NULL, NULL) >= 0);
	/* A third one that wants both has no place. */
	to = addr_of("::", addr_port(&a));
	WANT(bind_to(opened_as(AF_INET6), &to), -EADDRINUSE);
}

/* Both are bound before either listens. */
static void inet_two_bound(void)
{
	/* No port that a connection has had, which may be in TIME_WAIT */
	union addr a = addr_of("0.0.0.0", 7077), b = addr_of("::", 7077);
	int l4 = opened_as(AF_INET), l6 = opened_as(AF_INET6);

	if (!both())
		return;
	WANT(bind_to(l4, &a), 0);
	WANT(bind_to(l6, &b), -EADDRINUSE);
	WANT(set(l6, IPPROTO_IPV6, IPV6_V6ONLY, 1), 0);
	WANT(bind_to(l6, &b), 0);
	WANT(listen(l6, 4), 0);
	WANT(listen(l4, 4), 0);
}

const struct test inet_tests[] = {
	{ "inet_facts", inet_facts },
	{ "inet_options", inet_options },
	{ "inet_options_inherited", inet_options_inherited },
	{ "inet_options_refused", inet_options_refused },
	{ "inet_with_tos", inet_with_tos },
	{ "inet_port_later", inet_port_later },
	{ "inet_families", inet_families },
	{ "inet_ioctls", inet_ioctls },
	{ "inet_reuseport_prog", inet_reuseport_prog },
	{ "inet_mapped", inet_mapped },
	{ "inet_bind_mapped", inet_bind_mapped },
	{ "inet_v6only", inet_v6only },
	{ "inet_two_listeners", inet_two_listeners },
	{ "inet_two_bound", inet_two_bound },
	{ NULL, NULL },
};
