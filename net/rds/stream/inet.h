/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The second door: streams as a protocol of AF_INET and AF_INET6, so that what
 * a program for TCP has to change is one number.  The socket is the same as
 * that of AF_RDS, with the same calls; inet.c adds what the families have.
 *
 * What carries a stream is decided by rule.h.  A program that has to have it
 * otherwise sets SO_RDS_TRANSPORT.
 */
#ifndef _RDS_STREAM_INET_H
#define _RDS_STREAM_INET_H

#include <linux/types.h>

struct in6_addr;
struct rds_ss_sock;
struct sock;

/* Make @sk, which is set up, what inet_create() makes, with @from's options. */
void rds_ss_inet_like(struct sock *sk, const struct sock *from);

/* IP_TOS, or IPV6_TCLASS if the peer's address is one of IPv6; 0 for AF_RDS */
u8 rds_ss_inet_tos(const struct rds_ss_sock *ss, const struct in6_addr *to);

/* TCP below has the options of IP that the socket was given before. */
void rds_ss_inet_options(struct rds_ss_sock *ss);

/* IP_BIND_ADDRESS_NO_PORT: bind() with port 0 leaves the port to connect(). */
bool rds_ss_inet_no_port(const struct rds_ss_sock *ss);

#endif
