/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The networks that peers of a namespace may come from, those of the local
 * addresses at which they may connect, and addresses as text.
 *
 * A list is constant once it is published in struct rds_net.
 * rds_networks_set() exchanges it; readers use RCU.  rds_access_peer() reads
 * both lists for each connection that a peer opens.
 */
#ifndef _RDS_PEERS_H
#define _RDS_PEERS_H

#include <linux/types.h>

#include <net/rds/stats.h>

struct in6_addr;
struct rds_net;
struct rds_networks;
struct rds_path_addr;

/* Bytes of text for a list of networks, with the end of the string */
#define RDS_NETWORKS_TEXT	2048

/**
 * rds_networks_set - replace a list of networks
 * @list: list of a namespace
 * @text: networks with a blank between them, each an address and, unless it is
 *	one address alone, the length of its prefix; none: all networks
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL: the text is none, or has too many networks; -ENOMEM.
 */
int rds_networks_set(struct rds_networks __rcu **list, char *text);

/*
 * Write the networks as rds_networks_set() reads them, to RDS_NETWORKS_TEXT
 * bytes.
 */
void rds_networks_show(struct rds_networks __rcu *const *list, char *text);

/**
 * rds_peers_judge - compare a connection with the lists of its namespace
 * @rn: namespace
 * @addr: addresses between which the peer opens, or has opened, the connection
 *
 * rds_access_peer() asks so and counts a refusal.
 *
 * Context: any.
 * Return: RDS_DROP_NONE; RDS_DROP_PEER_DENIED: peers may not come from there;
 * RDS_DROP_ADDR_DENIED: peers may not connect to this local address.
 */
enum rds_drop_reason rds_peers_judge(const struct rds_net *rn,
				     const struct rds_path_addr *addr);

/* Free the lists of a namespace that goes. */
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
