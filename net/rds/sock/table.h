/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sockets of a namespace, and those that are bound (table.c) */
#ifndef _RDS_SOCK_TABLE_H
#define _RDS_SOCK_TABLE_H

#include <linux/in6.h>
#include <linux/types.h>

struct rds_net;
struct rds_sock;

struct rds_sock *rds_bind_lookup(struct rds_net *rn,
				 const struct in6_addr *addr, __be16 port,
				 int scope);
struct rds_sock *rds_bind_lookup_near(struct rds_net *rn,
				      struct rds_sock *last,
				      const struct in6_addr *addr, __be16 port,
				      int scope);
int rds_bind_insert(struct rds_sock *rs, const struct in6_addr *addr,
		    __be16 port, int scope);
void rds_bind_remove(struct rds_sock *rs);
void rds_sock_list_add(struct rds_sock *rs);
void rds_sock_list_del(struct rds_sock *rs);
void rds_sock_visit(struct rds_net *rn,
		    void (*fn)(struct rds_sock *rs, void *arg), void *arg);
int rds_bind_net_init(struct rds_net *rn);
void rds_bind_net_exit(struct rds_net *rn);

#endif
