/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transports that exist.
 *
 * A socket with a transport holds that transport's module; registration and removal take
 * registry's own mutex, lookups are RCU.
 */
#ifndef _RDS_REGISTRY_H
#define _RDS_REGISTRY_H

#include <linux/in6.h>
#include <linux/types.h>

struct net;
struct rds_transport;

/* Internal number of loopback; cannot be chosen by a socket, but is read back. */
#define RDS_TRANS_LOOP		3
#define RDS_TRANS_SLOTS		4

/**
 * rds_transport_for_addr - the transport that a bind to an address gets
 * @net: namespace
 * @addr: local address, v4-mapped for IPv4
 * @scope: interface index for link-local addresses, else 0
 *
 * Context: process, may sleep.
 * Return: the transport with a reference to its module, or NULL if none takes the address.
 */
const struct rds_transport *rds_transport_for_addr(struct net *net, const struct in6_addr *addr,
						   u32 scope);

/**
 * rds_transport_by_type - a transport by its number, loading its module if need be
 * @type: RDS_TRANS_*
 *
 * Context: process, may sleep.
 * Return: the transport with a reference to its module, or NULL if there is none.
 */
const struct rds_transport *rds_transport_by_type(int type);

void rds_transport_put(const struct rds_transport *trans);

/* Is the address one of this host's, so that loopback reaches it? */
bool rds_addr_is_loop(const struct in6_addr *addr);

/* The loopback transport; always there. */
const struct rds_transport *rds_transport_loop(void);

/**
 * rds_registry_add - enter a transport that has been checked
 * @trans: complete, its type in range
 *
 * Context: process, may sleep.
 * Return: 0, or -EEXIST if there is one of that type.
 */
int rds_registry_add(const struct rds_transport *trans);

/* Take a transport out; on return no lookup sees it any more. */
void rds_registry_remove(const struct rds_transport *trans);

/* For counters: call fn for every transport that has some, in the order of their numbers. */
void rds_transport_visit(void (*fn)(const struct rds_transport *trans, void *arg), void *arg);

#endif
