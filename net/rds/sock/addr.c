// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/in.h>
#include <linux/module.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "sock/addr.h"

static enum rds_addr_fault addr_check4(__be32 addr)
{
	if (addr == htonl(INADDR_ANY))
		return RDS_ADDR_ANY4;
	if (addr == htonl(INADDR_BROADCAST) || ipv4_is_multicast(addr))
		return RDS_ADDR_GROUP4;
	return RDS_ADDR_OK;
}

static enum rds_addr_fault addr_read6(const struct sockaddr_in6 *sin6,
				      struct rds_sock_addr *to)
{
	const struct in6_addr *addr = &sin6->sin6_addr;
	int type = ipv6_addr_type(addr);

	if (ipv6_addr_v4mapped(addr)) {
		if (addr_check4(addr->s6_addr32[3]))
			return RDS_ADDR_BAD6;
	} else if (!(type & IPV6_ADDR_UNICAST)) {
		return RDS_ADDR_BAD6;
	}
	to->addr = *addr;
	to->port = sin6->sin6_port;
	to->scope = 0;
	if (type & IPV6_ADDR_LINKLOCAL) {
		if (!sin6->sin6_scope_id)
			return RDS_ADDR_NO_SCOPE;
		to->scope = sin6->sin6_scope_id;
	}
	return RDS_ADDR_OK;
}

/**
 * rds_addr_read - read a socket address
 * @from: socket address, in kernel memory
 * @len: length of @from; no byte beyond it is read
 * @to: result, valid if RDS_ADDR_OK is returned
 *
 * Return: the fault of the address, or RDS_ADDR_OK.
 */
enum rds_addr_fault rds_addr_read(const void *from, int len,
				  struct rds_sock_addr *to)
{
	const struct sockaddr *sa = from;

	if (len < (int)offsetofend(struct sockaddr, sa_family))
		return RDS_ADDR_SHORT;
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *sin = from;

		if (len < (int)sizeof(*sin))
			return RDS_ADDR_SHORT;
		ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, &to->addr);
		to->port = sin->sin_port;
		to->scope = 0;
		return addr_check4(sin->sin_addr.s_addr);
	}
	if (sa->sa_family == AF_INET6) {
		if (len < (int)sizeof(struct sockaddr_in6))
			return RDS_ADDR_SHORT;
		return addr_read6(from, to);
	}
	return RDS_ADDR_FAMILY;
}

int rds_addr_write(void *to, const struct in6_addr *addr, __be16 port,
		   int scope)
{
	struct sockaddr_in6 *sin6 = to;
	struct sockaddr_in *sin = to;

	if (ipv6_addr_v4mapped(addr)) {
		memset(sin, 0, sizeof(*sin));
		sin->sin_family = AF_INET;
		sin->sin_port = port;
		sin->sin_addr.s_addr = addr->s6_addr32[3];
		return sizeof(*sin);
	}
	memset(sin6, 0, sizeof(*sin6));
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = port;
	sin6->sin6_addr = *addr;
	sin6->sin6_scope_id = scope;
	return sizeof(*sin6);
}
EXPORT_SYMBOL_NS_GPL(rds_addr_write, RDS_NS);
