/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ports of RDMA that are kept for a socket before it listens or dials. */
#ifndef _NET_RDS_DEV_PORT_H
#define _NET_RDS_DEV_PORT_H

#include <linux/in6.h>
#include <linux/types.h>

struct net;
struct rds_dev_port;

/**
 * rds_dev_port_hold - keep a port, so that nobody else can bind it
 * @net: namespace, which the caller holds until rds_dev_port_drop()
 * @addr: local address that leads to a device; :: or ::ffff:0.0.0.0 is any
 * @scope: interface of a link-local @addr, or 0
 * @v6only: if @addr is ::, the port of IPv4 is not kept
 * @port: port, or 0 for one that is free; the port on return
 * @out: the port that is kept, which the caller owns
 *
 * On iWARP the port of TCP is kept, too.  Who listens at the port, or connects
 * from it, drops it just before.
 *
 * When the device of @addr is removed the port is free again, and the caller
 * does not see that.
 *
 * Context: process, may sleep.
 * Return: 0; -EADDRINUSE; -EADDRNOTAVAIL: no device has @addr; -ENOMEM, or
 * another negative errno of rdma_cm.
 */
int rds_dev_port_hold(struct net *net, const struct in6_addr *addr, u32 scope,
		      bool v6only, u16 *port, struct rds_dev_port **out);

/* Keep a port no longer; NULL is none.  May sleep. */
void rds_dev_port_drop(struct rds_dev_port *port);

#endif
