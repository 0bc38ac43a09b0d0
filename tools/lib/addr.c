// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Parse and print addresses. */
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "rdstool.h"

socklen_t rt_addrlen(const union rt_addr *a)
{
	return a->sa.sa_family == AF_INET6 ? sizeof(a->in6) : sizeof(a->in);
}

uint16_t rt_port(const union rt_addr *a)
{
	return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port :
						   a->in.sin_port);
}

void rt_set_port(union rt_addr *a, uint16_t port)
{
	if (a->sa.sa_family == AF_INET6)
		a->in6.sin6_port = htons(port);
	else
		a->in.sin_port = htons(port);
}

bool rt_same_host(const union rt_addr *a, const union rt_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET6)
		return !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, 16);
	return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
}

bool rt_same_addr(const union rt_addr *a, const union rt_addr *b)
{
	return rt_same_host(a, b) && rt_port(a) == rt_port(b);
}

/* RDS treats an IPv4-mapped address as IPv4; convert it so that both match. */
static void unmap(union rt_addr *a)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (a->sa.sa_family != AF_INET6 ||
	    !IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr))
		return;
	memcpy(&in.sin_addr, &a->in6.sin6_addr.s6_addr[12], 4);
	in.sin_port = a->in6.sin6_port;
	a->in = in;
}

int rt_parse_host(const char *text, int family, union rt_addr *out)
{
	struct addrinfo hints = { .ai_family = family,
				  .ai_socktype = SOCK_DGRAM };
	size_t len = strlen(text);
	struct addrinfo *res;
	char host[256];

	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (!len || len >= sizeof(host))
		return -1;
	memcpy(host, text, len);
	host[len] = '\0';
	if (getaddrinfo(host, NULL, &hints, &res))
		return -1;
	memset(out, 0, sizeof(*out));
	memcpy(out, res->ai_addr,
	       res->ai_addrlen < sizeof(*out) ? res->ai_addrlen : sizeof(*out));
	freeaddrinfo(res);
	unmap(out);
	return 0;
}

const char *rt_parse_hostport(const char *text, union rt_addr *out)
{
	const char *colon = strrchr(text, ':');
	char host[256];
	uint64_t port;
	size_t len;

	if (!colon)
		return "no port given, write ADDRESS:PORT";
	len = colon - text;
	if (len && text[0] != '[' && memchr(text, ':', len))
		return "write an IPv6 address in brackets: [ADDRESS]:PORT";
	if (text[0] == '[' && text[len - 1] != ']')
		return "no port given, write [ADDRESS]:PORT";
	if (!len)
		return "no address given: an RDS socket is bound to one address";
	if (len >= sizeof(host))
		return "address too long";
	if (rt_parse_number(colon + 1, 65535, &port))
		return "bad port";
	memcpy(host, text, len);
	host[len] = '\0';
	if (rt_parse_host(host, AF_UNSPEC, out))
		return "unknown address";
	rt_set_port(out, port);
	return NULL;
}

const char *rt_host_str(const union rt_addr *a, char *buf, size_t size)
{
	char name[INET6_ADDRSTRLEN], ifname[IF_NAMESIZE];

	if (a->sa.sa_family != AF_INET6) {
		inet_ntop(AF_INET, &a->in.sin_addr, name, sizeof(name));
		snprintf(buf, size, "%s", name);
		return buf;
	}
	inet_ntop(AF_INET6, &a->in6.sin6_addr, name, sizeof(name));
	if (a->in6.sin6_scope_id &&
	    if_indextoname(a->in6.sin6_scope_id, ifname))
		snprintf(buf, size, "%s%%%s", name, ifname);
	else
		snprintf(buf, size, "%s", name);
	return buf;
}

const char *rt_addr_str(const union rt_addr *a, char *buf, size_t size)
{
	char host[RT_ADDRSTRLEN];

	rt_host_str(a, host, sizeof(host));
	snprintf(buf, size, a->sa.sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u",
		 host, rt_port(a));
	return buf;
}
