/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths between further addresses of two hosts (wire.rst, "Several addresses").
 * A connection between two such addresses begins with a frame that names the
 * first addresses, by which the two hosts know each other.
 */
#ifndef _NET_RDS_JOIN_H
#define _NET_RDS_JOIN_H

#include <linux/types.h>

#include <net/rds/wire.h>

struct net;
struct rds_path;
struct rds_path_addr;
struct rds_transport;

/**
 * rds_path_route - get the addresses over which a path is to connect
 * @path: path, inside path_connect
 * @route: set to the addresses
 *
 * A transport that calls this function hands connections from and to further
 * addresses to rds_path_joined().  The core sends the first frame.
 *
 * Context: process; control mutex of @path held.
 */
void rds_path_route(struct rds_path *path, struct rds_path_addr *route);

/**
 * rds_path_may_join - can a connection begin with struct rds_wire_join?
 * @net: namespace
 *
 * Context: any.
 * Return: whether the transport has to look at the first frame of a connection
 * that a peer opened, before it hands the connection to the core.
 */
bool rds_path_may_join(struct net *net);

/**
 * rds_path_joined - hand a connection that begins with struct rds_wire_join to
 * the core
 * @trans: transport of the connection
 * @net: namespace of the connection
 * @route: addresses of the connection
 * @port: source port of the peer, which tells the index of the path
 * @join: what the first frame says; the transport has taken it out
 * @handle: handle by which the transport knows the connection
 *
 * As rds_path_incoming(), but the core makes no connection for it.
 *
 * Context: process, may sleep, no locks held.
 * Return: true if the core owns @handle now; false also if the peer may not
 * join, which the core counts (RDS_DROP_BAD_JOIN).
 */
bool rds_path_joined(const struct rds_transport *trans, struct net *net,
		     const struct rds_path_addr *route, u16 port,
		     const struct rds_wire_join *join, void *handle);

/**
 * rds_path_cut_off - report that the network of a connection is gone, or back
 * @path: path of the connection, which is up
 * @cut_off: the device or the local address of the connection is gone
 *
 * The connection may live on when the network is back.  The core ends it if the
 * peer takes the messages over another one that is not cut off
 * (RDS_DROP_NETWORK_GONE).
 *
 * Context: any but hard interrupts.
 */
void rds_path_cut_off(struct rds_path *path, bool cut_off);

#endif
