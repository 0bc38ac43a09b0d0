/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of the system calls. */
#ifndef _RDS_SOCK_CALLS_H
#define _RDS_SOCK_CALLS_H

#include <linux/net.h>
#include <linux/poll.h>
#include <linux/socket.h>

#include "sock/state.h"

/**
 * struct rds_send_cmsgs - requests of the control messages of one sendmsg
 * @rdma_bytes: sum of the remote bytes of all RDMA_ARGS; U64_MAX if it
 *	overflows
 * @zcopy: MSG_ZEROCOPY is set, and SO_ZEROCOPY on the socket
 * @has_cookie: @cookie is valid
 * @cookie: value of ZCOPY_COOKIE
 * @memory: keys or operations are requested: the fields below are used, and
 *	rds_cmsg_end() has to be called
 * @has_key: @key is valid, and the message brings it to the receiver
 * @mapped: the key was made for this message, by RDMA_MAP
 * @attached: the message owns @request
 * @key: cookie of a key
 * @vec: copy of the local vector of RDMA_ARGS, or NULL
 * @request: remote memory operations, or NULL
 */
struct rds_send_cmsgs {
	u64	rdma_bytes;
	bool	zcopy;
	bool	has_cookie;
	u32	cookie;
	bool	memory;
	bool	has_key;
	bool	mapped;
	bool	attached;
	u64	key;
	struct rds_iovec	*vec;
	struct rds_request	*request;
};

struct rds_request;
struct rds_message;
struct rds_transport;

/*
 * cmsg_send.c: three passes over the control messages, for three places in the
 * order of checks
 */
int rds_cmsg_measure(struct msghdr *msg, struct rds_send_cmsgs *cmsgs);
int rds_cmsg_check(struct msghdr *msg, struct rds_send_cmsgs *cmsgs);
int rds_cmsg_apply(struct rds_sock *rs, const struct rds_transport *trans,
		   struct msghdr *msg, struct rds_send_cmsgs *cmsgs,
		   size_t len);
void rds_cmsg_attach(struct rds_sock *rs, struct rds_send_cmsgs *cmsgs,
		     struct rds_message *m);
void rds_cmsg_end(struct rds_sock *rs, struct rds_send_cmsgs *cmsgs, int err);

/* cmsg_recv.c */
struct rds_incoming;
bool rds_cmsg_notes_room(const struct msghdr *msg);
int rds_cmsg_put_notes(struct rds_sock *rs, struct msghdr *msg);
int rds_cmsg_put_report(struct rds_sock *rs, struct msghdr *msg);
int rds_cmsg_put_cong(struct rds_sock *rs, struct msghdr *msg);
int rds_cmsg_put_message(struct rds_sock *rs, struct msghdr *msg,
			 const struct rds_incoming *inc);
bool rds_cmsg_zcopy_room(const struct rds_sock *rs, const struct msghdr *msg);
int rds_cmsg_put_zcopy(struct rds_sock *rs, struct msghdr *msg);

/* bind.c */
int rds_bind(struct socket *sock, struct sockaddr_unsized *uaddr, int len);
int rds_connect(struct socket *sock, struct sockaddr_unsized *uaddr, int len,
		int flags);
int rds_getname(struct socket *sock, struct sockaddr *uaddr, int peer);
int rds_transport_set(struct rds_sock *rs, sockptr_t optval,
		      unsigned int optlen);
int rds_transport_get(struct rds_sock *rs);

/* sendmsg.c, recvmsg.c, poll.c */
int rds_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int rds_recvmsg(struct socket *sock, struct msghdr *msg, size_t size,
		int flags);
__poll_t rds_poll(struct file *file, struct socket *sock, poll_table *wait);

/* sockopt.c */
int rds_setsockopt(struct socket *sock, int level, int optname,
		   sockptr_t optval, unsigned int optlen);
int rds_getsockopt(struct socket *sock, int level, int optname,
		   char __user *optval, int __user *optlen);
int rds_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
void rds_rx_trace_off(struct rds_sock *rs);

/* family.c */
int rds_family_init(void);
void rds_family_exit(void);

#endif
