/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Socket types of the family that another module has.  rds.ko itself has
 * SOCK_SEQPACKET, and SOCK_STREAM belongs to the module that adds it.
 */
#ifndef _NET_RDS_FAMILY_H
#define _NET_RDS_FAMILY_H

#include <linux/types.h>

struct in6_addr;
struct module;
struct net;
struct socket;

/**
 * struct rds_family_type - SOCK_STREAM of the family
 * @owner: module of @create
 * @create: as &net_proto_family.create; the process may make a socket
 */
struct rds_family_type {
	struct module	*owner;
	int (*create)(struct net *net, struct socket *sock, int protocol,
		      int kern);
};

/**
 * rds_family_add - have a type of sockets
 * @type: valid until rds_family_del()
 *
 * Context: process, may sleep.
 * Return: 0; -EEXIST: another module has it.
 */
int rds_family_add(const struct rds_family_type *type);

/**
 * rds_family_del - undo rds_family_add()
 * @type: type; on return @create is not called, and sockets that exist stay
 *
 * Context: process, may sleep.
 */
void rds_family_del(const struct rds_family_type *type);

/**
 * rds_family_may_open - ask whether the calling process may make a socket
 * @net: namespace of the socket
 *
 * For sockets that are no members of the family and do what its sockets do;
 * those of the family were asked before &rds_family_type.create.
 *
 * Context: process.
 * Return: 0 or -EACCES; a refusal is counted, and logged now and then.
 */
int rds_family_may_open(struct net *net);

/**
 * rds_family_peer - ask whether a peer may connect, as rds_access_peer()
 * @net: namespace
 * @laddr: local address
 * @faddr: address of the peer
 *
 * Context: process.
 * Return: whether it may; a refusal is counted.
 */
bool rds_family_peer(struct net *net, const struct in6_addr *laddr,
		     const struct in6_addr *faddr);

#endif
