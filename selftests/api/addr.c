// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "api.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

/* "10.0.0.1", "fd00::1", "fe80::1%veth0", "fe80::1%7"; "" is a zeroed address. */
union addr addr_of(const char *host, int port)
{
	union addr a = { 0 };
	char buf[64];
	char *scope;

	snprintf(buf, sizeof(buf), "%s", host);
	scope = strchr(buf, '%');
	if (scope)
		*scope++ = 0;
	if (!buf[0])
		return a;
	if (inet_pton(AF_INET, buf, &a.in.sin_addr) == 1) {
		a.in.sin_family = AF_INET;
		a.in.sin_port = htons(port);
		return a;
	}
	a.in6.sin6_family = AF_INET6;
	a.in6.sin6_port = htons(port);
	if (inet_pton(AF_INET6, buf, &a.in6.sin6_addr) != 1)
		bail("bad address %s", host);
	if (scope) {
		a.in6.sin6_scope_id = if_nametoindex(scope);
		if (!a.in6.sin6_scope_id)
			a.in6.sin6_scope_id = atoi(scope);
	}
	return a;
}

socklen_t addr_len(const union addr *a)
{
	return a->sa.sa_family == AF_INET6 ? sizeof(a->in6) : sizeof(a->in);
}

int addr_port(const union addr *a)
{
	return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port : a->in.sin_port);
}

bool addr_eq(const union addr *a, const union addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family || addr_port(a) != addr_port(b))
		return false;
	if (a->sa.sa_family == AF_INET6)
		return !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, 16) &&
		       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
	return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
}

/* The link-local address of veth0 with its scope. */
const char *link_local(char buf[64])
{
	struct ifaddrs *list, *i;
	char text[INET6_ADDRSTRLEN];

	buf[0] = 0;
	need(getifaddrs(&list) == 0);
	for (i = list; i; i = i->ifa_next) {
		const struct sockaddr_in6 *s = (const void *)i->ifa_addr;

		if (!s || s->sin6_family != AF_INET6 || strcmp(i->ifa_name, "veth0") ||
		    !IN6_IS_ADDR_LINKLOCAL(&s->sin6_addr))
			continue;
		inet_ntop(AF_INET6, &s->sin6_addr, text, sizeof(text));
		snprintf(buf, 64, "%s%%veth0", text);
	}
	freeifaddrs(list);
	need(buf[0]);
	return buf;
}

static uint32_t rol(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

/*
 * The stack may spread sockets over up to eight lanes by a hash of the local port. Cases that
 * reason about the order of two sockets' messages need both on lane 0; in-tree 6.12 lets only
 * those sockets send to a silent host without sleeping for ever. Same hash as the kernel's
 * jhash_1word(port, 0).
 */
static unsigned int lane(uint32_t port)
{
	uint32_t a = port + 0xdeadbeef + 4, b = 0xdeadbeef + 4, c = 0xdeadbeef + 4;

	c ^= b; c -= rol(b, 14);
	a ^= c; a -= rol(c, 11);
	b ^= a; b -= rol(a, 25);
	c ^= b; c -= rol(b, 16);
	a ^= c; a -= rol(c, 4);
	b ^= a; b -= rol(a, 14);
	c ^= b; c -= rol(b, 24);
	return c & 7;
}

int lane0_port(void)
{
	static uint32_t port;

	if (!port)
		port = 5000 + (uint32_t)getpid() * 61 % 50000;
	do {
		if (++port > 65000)
			port = 5000;
	} while (lane(port));
	return port;
}
