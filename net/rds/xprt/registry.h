/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Registered transports.
 *
 * A socket that has a transport holds a reference to its module.  Registration
 * and removal take registry_mutex; lookups are RCU.
 */
#ifndef _RDS_XPRT_REGISTRY_H
#define _RDS_XPRT_REGISTRY_H

#include <linux/in6.h>
#include <linux/types.h>

struct kmem_cache;
struct net;
struct rds_net;
struct rds_transport;

/* Number of transport types; RDS_TRANS_LOOP is the last of them. */
#define RDS_TRANS_SLOTS		4

/**
 * rds_transport_for_addr - choose the transport for a bind to an address
 * @net: namespace
 * @addr: local address, v4-mapped for IPv4
 * @scope: interface index for link-local addresses, else 0
 *
 * Context: process, may sleep.
 * Return: the transport with a reference to its module, or NULL if none takes
 * the address.
 */
const struct rds_transport *
rds_transport_for_addr(struct net *net, const struct in6_addr *addr, u32 scope);

/**
 * rds_transport_by_type - find a transport by its type, and load its module if
 * need be and the calling process may
 * @rn: namespace of the process's socket
 * @type: RDS_TRANS_*
 *
 * Context: process, may sleep.
 * Return: the transport with a reference to its module, or NULL if no such
 * transport exists.
 */
const struct rds_transport *rds_transport_by_type(struct rds_net *rn, int type);

void rds_transport_put(const struct rds_transport *trans);

/*
 * Is the address a loopback address (127.0.0.0/8 or ::1)?  Every namespace has
 * its own ones.
 */
bool rds_addr_is_loop(const struct in6_addr *addr);

/*
 * The loopback transport, which is registered as long as any struct rds_net
 * exists.
 */
const struct rds_transport *rds_transport_loop(void);

/**
 * rds_registry_add - enter a transport in the slot of its type
 * @trans: transport that is complete, with a type in range
 *
 * Context: process, may sleep.
 * Return: 0, or -EEXIST if the slot is taken.
 */
int rds_registry_add(const struct rds_transport *trans);

/*
 * Remove a transport from its slot.  On return no lookup sees the transport.
 * May sleep.
 */
void rds_registry_remove(const struct rds_transport *trans);

/*
 * Set the bytes of the core's part of a path.  conn/ does so before the first
 * registration.
 */
void rds_transport_path_size(size_t size);

/* Cache for the paths of a registered transport */
struct kmem_cache *rds_transport_path_cache(const struct rds_transport *trans);

/*
 * For counters: call @fn for every transport that has counters, in the order of
 * types.
 */
void rds_transport_visit(void (*fn)(const struct rds_transport *trans,
				    void *arg),
			 void *arg);

#endif
