/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP below a socket of streams: a TCP socket of the kernel, without a file,
 * which answers the calls of the socket that is above it.
 *
 * Ownership: rds_ss_sock.tcp belongs to the socket, is set before the carrier
 * that needs it, and stays until the socket is closed.  It was made as by the
 * process that made the socket: it is charged to the same cgroup, has the same
 * user, and holds the namespace by itself, as it goes on after close(); but for
 * a socket of the kernel, which TCP ends at close().
 *
 * Who waits: the TCP socket wakes the wait queue of the socket above, so a
 * program that polls need not be told which of the two carries the stream.
 *
 * Errors: rds_ss_sock.told is set when sk_err of the socket above is a copy of
 * TCP's, for SO_ERROR.  Who has read one of them takes the other off, under
 * told_lock, a leaf.  TCP finds the socket above by its wait queue, which
 * sk_callback_lock guards.  While it listens, or is about to, TCP does not
 * report here: what it accepts are copies, and may outlive this module.
 *
 * Locks: the lock of the socket above, then that of the TCP socket.  A call of
 * TCP that waits is made without the former.
 */
#ifndef _RDS_STREAM_TCP_H
#define _RDS_STREAM_TCP_H

#include <linux/net.h>
#include <linux/sockptr.h>

#include "sock.h"

/* Whether TCP carries the stream, which stays so.  Any context. */
static inline bool rds_ss_by_tcp(const struct rds_ss_sock *ss)
{
	/* Pairs with rds_ss_tcp_carries(): then there is a TCP socket. */
	return smp_load_acquire(&ss->carrier) == RDS_SS_BY_TCP;
}

/*
 * Make the TCP socket below @sock, whose carrier is not changed.  0 or a
 * negative errno.  May sleep.
 */
int rds_ss_tcp_create(struct rds_ss_sock *ss, struct socket *sock);

/* TCP has the options that the socket was given before.  May sleep. */
void rds_ss_tcp_options(struct rds_ss_sock *ss);

/* TCP carries the stream from now on.  The socket lock is held. */
void rds_ss_tcp_carries(struct rds_ss_sock *ss);

/* @child, which TCP has accepted, is below @sock from now on.  May sleep. */
void rds_ss_tcp_adopt(struct rds_ss_sock *ss, struct socket *sock,
		      struct socket *child);

/* Close the TCP socket, if there is one; it may linger. */
void rds_ss_tcp_end(struct rds_ss_sock *ss);

/* The name of the TCP socket */
int rds_ss_tcp_local(const struct rds_ss_sock *ss, struct rds_ss_name *name);

/*
 * Begin to connect to @to without waiting; what fails is the error of the
 * socket.  The socket lock is held.
 */
void rds_ss_tcp_dial(struct rds_ss_sock *ss, const struct rds_ss_name *to);

/* Calls of &proto_ops, by TCP */
int rds_ss_tcp_bind(struct rds_ss_sock *ss, struct sockaddr_unsized *uaddr,
		    int len);
int rds_ss_tcp_connect(struct socket *sock, struct sockaddr_unsized *uaddr,
		       int len, int flags);
/*
 * Wait, for @timeo at most, until an attempt of TCP is over: 0, or a negative
 * errno if a signal came.
 */
int rds_ss_tcp_wait(struct rds_ss_sock *ss, long timeo);
int rds_ss_tcp_listen(struct socket *sock, int backlog);
int rds_ss_tcp_getname(struct rds_ss_sock *ss, struct sockaddr *uaddr,
		       int peer);
int rds_ss_tcp_shutdown(struct rds_ss_sock *ss, int how);
int rds_ss_tcp_sendmsg(struct rds_ss_sock *ss, struct msghdr *msg, size_t len);
int rds_ss_tcp_recvmsg(struct rds_ss_sock *ss, struct msghdr *msg, size_t len,
		       int flags);
__poll_t rds_ss_tcp_poll(struct file *file, struct rds_ss_sock *ss);
int rds_ss_tcp_ioctl(struct rds_ss_sock *ss, unsigned int cmd,
		     unsigned long arg);
int rds_ss_tcp_setsockopt(struct rds_ss_sock *ss, int level, int optname,
			  sockptr_t optval, unsigned int optlen);
int rds_ss_tcp_getsockopt(struct rds_ss_sock *ss, int level, int optname,
			  char __user *optval, int __user *optlen);

#endif
