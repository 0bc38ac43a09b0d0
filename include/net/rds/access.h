/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions of a transport about who may do what in a namespace;
 * Documentation/security.rst has the settings.
 */
#ifndef _NET_RDS_ACCESS_H
#define _NET_RDS_ACCESS_H

#include <linux/ratelimit_types.h>
#include <linux/types.h>

/*
 * A limit of one line of the log in @interval, in jiffies, without lines about
 * those left out.  ratelimit_set_flags() in each call would reset it: the flags
 * of newer kernels say whether the limit has begun.
 */
#define RDS_DEFINE_LOG_LIMIT(name, interval)				\
	struct ratelimit_state name =					\
		RATELIMIT_STATE_INIT_FLAGS(name, interval, 1,		\
					   RATELIMIT_MSG_ON_RELEASE)

struct net;
struct rds_path_addr;

/**
 * rds_access_sees_all - ask whether the calling process may see what is not its
 * own
 * @net: namespace
 *
 * For dumps.  A process that may not sees its own sockets and their messages,
 * and no numbers by which it could write into the connections of the host.
 *
 * Context: process.
 * Return: whether the process has CAP_NET_ADMIN in the user namespace that owns
 * the network namespace.
 */
bool rds_access_sees_all(struct net *net);

/**
 * rds_access_peer - ask whether a peer may open a connection
 * @net: namespace
 * @addr: addresses of the connection
 *
 * A transport asks for each connection that a peer opens, before it does
 * anything else with it, and again if the connection had to wait, and refuses
 * the connection if the peer may not.  The core counts the refusal
 * (peer_denied, address_denied), and logs it now and then.
 *
 * Context: process.
 * Return: whether peers may come from the address of the peer, and connect to
 * the local one.
 */
bool rds_access_peer(struct net *net, const struct rds_path_addr *addr);

#endif
