/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Socket addresses: one reader for all calls that take one, one writer for all that return one.
 */
#ifndef _RDS_SOCK_ADDR_H
#define _RDS_SOCK_ADDR_H

#include <linux/in6.h>
#include <linux/types.h>

/* What is wrong with an address; every call has its own errno for it. */
enum rds_addr_fault {
	RDS_ADDR_OK,
	RDS_ADDR_SHORT,		/* not even a family, or less than the family's structure */
	RDS_ADDR_FAMILY,	/* neither IPv4 nor IPv6 */
	RDS_ADDR_ANY4,		/* 0.0.0.0 */
	RDS_ADDR_GROUP4,	/* IPv4 multicast or broadcast */
	RDS_ADDR_BAD6,		/* IPv6 but not unicast, or a mapped IPv4 address that is bad */
	RDS_ADDR_NO_SCOPE,	/* link-local without an interface */
	RDS_ADDR_FAULTS
};

/**
 * struct rds_endpoint_addr - an address as RDS uses it
 * @addr: IPv4 as v4-mapped
 * @scope: interface of a link-local address, else 0
 * @port: wire order
 */
struct rds_endpoint_addr {
	struct in6_addr	addr;
	int		scope;
	__be16		port;
};

enum rds_addr_fault rds_addr_read(const void *from, int len, struct rds_endpoint_addr *to);
int rds_addr_write(void *to, const struct in6_addr *addr, __be16 port, int scope);

#endif
