// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "api.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

/* The link-local address of veth0, with scope, as text. */
const char *link_local(char buf[64])
{
	struct ifaddrs *list, *i;
	char text[INET6_ADDRSTRLEN];

	buf[0] = 0;
	need(getifaddrs(&list) == 0);
	for (i = list; i; i = i->ifa_next) {
		const struct sockaddr_in6 *s = (const void *)i->ifa_addr;

		if (!s || s->sin6_family != AF_INET6 ||
		    strcmp(i->ifa_name, "veth0") ||
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
 * The stack may spread sockets over up to eight lanes by a hash of the local
 * port. Cases that reason about the order of two sockets' messages need both
 * sockets on lane 0; in-tree 6.12 lets only sockets on lane 0 send to a silent
 * host without sleeping for ever. The hash is that of the kernel,
 * jhash_1word(port, 0).
 */
static unsigned int lane(uint32_t port)
{
	uint32_t a = port + 0xdeadbeef + 4, b = 0xdeadbeef + 4,
		 c = 0xdeadbeef + 4;

	c ^= b; c -= rol(b, 14);
	a ^= c; a -= rol(c, 11);
	b ^= a; b -= rol(a, 25);
	c ^= b; c -= rol(b, 16);
	a ^= c; a -= rol(c, 4);
	b ^= a; b -= rol(a, 14);
	c ^= b; c -= rol(b, 24);
	return c & 7;
}

/*
 * Ports of a case's own: about 64 of 509 are on lane 0.  Where the case before
 * left a port congested, the map that clears the port may still be under way.
 */
int lane0_port(void)
{
	static uint32_t port;

	if (!port)
		port = 5000 + (uint32_t)getpid() * 509 % 50000;
	do {
		if (++port > 65000)
			port = 5000;
	} while (lane(port));
	return port;
}
