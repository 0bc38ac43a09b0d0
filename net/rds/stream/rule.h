/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA or TCP: the rule of sockets of AF_INET and AF_INET6, whose carrier is
 * RDS_SS_BY_RULE.
 *
 * bind() and listen() are those of TCP, which decides about the port, and that
 * port is then had of RDMA, too, where it is free.  On iWARP it is not: a
 * listener there is a port of TCP.  accept() takes from both.
 *
 * connect() is one over RDMA if a device leads to the peer, which is on-link
 * and was not silent lately, and the device is not one of iWARP: what listens
 * at the peer's port may be a server of TCP, to which a request of MPA would be
 * input.  When the attempt fails, or has not come up within rdma_ms, TCP takes
 * over; a host that was silent is remembered.  Then there is no way back.  Not
 * both at once: a server would accept a connection that is closed unused.
 *
 * An attempt that fails is told by rds_ss_rule_failed(), from where TCP cannot
 * be called.  rds_ss_sock.rule_work does it, with a reference to the socket
 * while it is queued; the time limit is its delay.
 *
 * While RDMA is tried and while TCP takes over sk_state is TCP_SYN_SENT, and
 * calls wait or say EAGAIN, as those of TCP do then.  The carrier is set before
 * sk_state changes: who has seen another state looks at the carrier again.
 */
#ifndef _RDS_STREAM_RULE_H
#define _RDS_STREAM_RULE_H

#include "sock.h"

static inline bool rds_ss_by_rule(const struct rds_ss_sock *ss)
{
	return READ_ONCE(ss->carrier) == RDS_SS_BY_RULE;
}

/* What carries a new socket, as the sysctl says */
enum rds_ss_carrier rds_ss_rule_first(const struct rds_ss_net *sn);

/* bind() of a socket whose port is TCP's */
int rds_ss_rule_bind(struct socket *sock, struct sockaddr_unsized *uaddr,
		     int len);

/*
 * TCP listens, and the socket has its name.  0 or a negative errno.  The socket
 * lock is held.
 */
int rds_ss_rule_listen(struct socket *sock, int backlog);

/* Whether RDMA is tried; else TCP carries.  The socket lock is held. */
bool rds_ss_rule_tries(struct rds_ss_sock *ss, const struct rds_ss_name *to);

/* An attempt begins: it has its time.  The socket lock is held. */
void rds_ss_rule_begun(struct rds_ss_sock *ss);

/*
 * An attempt has failed; true if TCP takes over, and the socket is not to be
 * told.  conn->lock is held.
 */
bool rds_ss_rule_failed(struct rds_ss_sock *ss, const struct rds_ss_conn *conn);

/*
 * Wait until it is known what carries, if an attempt is under way: 0, or a
 * negative errno if that must not be waited for, or a signal came.
 */
int rds_ss_rule_decided(struct rds_ss_sock *ss, long timeo);

/*
 * The program ends an attempt, by shutdown() or close().  The socket lock is
 * held.
 */
void rds_ss_rule_give_up(struct rds_ss_sock *ss, struct rds_ss_conn *conn);

/* Nothing more of the rule happens; the socket has no attempt.  May sleep. */
void rds_ss_rule_end(struct rds_ss_sock *ss);

void rds_ss_rule_work(struct work_struct *work);

#endif
