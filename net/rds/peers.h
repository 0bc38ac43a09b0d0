/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The networks that peers of a namespace may come from, and addresses as text.
 *
 * A list is constant once it is published in rds_net.peers.  rds_peers_set()
 * exchanges it; readers use RCU.  rds_access_peer() reads it for each
 * connection that a peer opens.
 */
#ifndef _RDS_PEERS_H
#define _RDS_PEERS_H

#include <linux/types.h>

struct in6_addr;
struct rds_net;

/* Bytes of text for the networks of a namespace, with the end of the string */
#define RDS_PEERS_TEXT	2048

/**
 * rds_peers_set - set the networks that peers may come from
 * @rn: namespace
 * @text: networks with a blank between them, each an address and, unless it is
 *	the address of one host, the length of its prefix; none: all networks
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL: the text is none, or has too many networks; -ENOMEM.
 */
int rds_peers_set(struct rds_net *rn, char *text);

/* Write the networks as rds_peers_set() reads them, to RDS_PEERS_TEXT bytes. */
void rds_peers_show(struct rds_net *rn, char *text);

/*
 * Is an address in one of the networks?  rds_access_peer() asks so and counts a
 * refusal.  Any context.
 */
bool rds_peers_have(struct rds_net *rn, const struct in6_addr *addr);

/* Free the list of a namespace that goes. */
void rds_peers_net_exit(struct rds_net *rn);

/**
 * rds_addr_from_text - read an address
 * @text: the address alone
 * @addr: set to the address; IPv4 as v4-mapped
 *
 * Context: any.
 * Return: whether the text is an address.
 */
bool rds_addr_from_text(const char *text, struct in6_addr *addr);

/* Write an address of at most 45 characters; returns how many it has. */
int rds_addr_to_text(char *text, size_t size, const struct in6_addr *addr);

#endif
