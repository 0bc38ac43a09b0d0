/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conversion of RDS addresses, in which IPv4 is v4-mapped, to socket addresses.
 */
#ifndef _NET_RDS_ADDR_H
#define _NET_RDS_ADDR_H

#include <linux/in6.h>
#include <linux/types.h>

/**
 * rds_addr_write - make a socket address
 * @to: room for a struct sockaddr_in6; every byte of the result is written
 * @addr: IPv6 address; a v4-mapped one gives AF_INET
 * @port: RDS or TCP port, network order
 * @scope: interface index for AF_INET6; ignored for AF_INET
 *
 * Context: any.
 * Return: length of the socket address.
 */
int rds_addr_write(void *to, const struct in6_addr *addr, __be16 port,
		   int scope);

#endif
