/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Socket addresses: one function reads them for all calls that take an address,
 * another one writes them for all calls that return one.
 */
#ifndef _RDS_SOCK_ADDR_H
#define _RDS_SOCK_ADDR_H

#include <linux/in6.h>
#include <linux/types.h>

#include <net/rds/addr.h>

/* Faults of an address; each system call has its own errno for each of them. */
enum rds_addr_fault {
	RDS_ADDR_OK,
	/* too short for a family, or for the structure of the family */
	RDS_ADDR_SHORT,
	RDS_ADDR_FAMILY,	/* neither IPv4 nor IPv6 */
	RDS_ADDR_ANY4,		/* 0.0.0.0 */
	RDS_ADDR_GROUP4,	/* IPv4 multicast or broadcast */
	/* IPv6 but not unicast, or a mapped IPv4 address with a fault */
	RDS_ADDR_BAD6,
	RDS_ADDR_NO_SCOPE,	/* link-local without an interface */
	RDS_ADDR_FAULTS
};

/**
 * struct rds_sock_addr - an address as RDS uses it
 * @addr: address, IPv4 as v4-mapped
 * @scope: interface index of a link-local address, else 0
 * @port: RDS port, wire order
 */
struct rds_sock_addr {
	struct in6_addr	addr;
	int		scope;
	__be16		port;
};

enum rds_addr_fault rds_addr_read(const void *from, int len,
				  struct rds_sock_addr *to);

#endif
