/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The system calls, among themselves. */
#ifndef _RDS_SOCK_SOCK_H
#define _RDS_SOCK_SOCK_H

#include <linux/net.h>
#include <linux/poll.h>
#include <linux/socket.h>

#include "endpoint/endpoint.h"

/**
 * struct rds_send_req - what the control messages of a sendmsg ask for
 * @rdma_bytes: sum of the remote bytes of all RDMA_ARGS
 * @zcopy: MSG_ZEROCOPY is given and switched on
 * @has_cookie: there is a ZCOPY_COOKIE
 * @cookie: its value
 * @memory: keys or operations are asked for; the following matter, and rds_cmsg_end() is due
 * @has_key: the message brings a key
 * @mapped: one that was made for it
 * @attached: the message has the operations
 * @key: its cookie
 * @vec: local memory of an RDMA_ARGS, read once
 * @memop: operations
 */
struct rds_send_req {
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
	struct rds_memop	*memop;
};

struct rds_memop;
struct rds_message;
struct rds_transport;

/* cmsg_send.c: three looks at the control messages, for the three places where they can fail */
int rds_cmsg_measure(struct msghdr *msg, struct rds_send_req *req);
int rds_cmsg_check(struct msghdr *msg, struct rds_send_req *req);
int rds_cmsg_apply(struct rds_sock *rs, const struct rds_transport *trans, struct msghdr *msg,
		   struct rds_send_req *req, size_t len);
void rds_cmsg_attach(struct rds_sock *rs, struct rds_send_req *req, struct rds_message *m);
void rds_cmsg_end(struct rds_sock *rs, struct rds_send_req *req, int err);

/* cmsg_recv.c */
struct rds_incoming;
bool rds_cmsg_notes_room(const struct msghdr *msg);
int rds_cmsg_put_notes(struct rds_sock *rs, struct msghdr *msg);
int rds_cmsg_put_cong(struct rds_sock *rs, struct msghdr *msg);
int rds_cmsg_put_message(struct rds_sock *rs, struct msghdr *msg, const struct rds_incoming *inc);
bool rds_cmsg_zcopy_room(const struct rds_sock *rs, const struct msghdr *msg);
int rds_cmsg_put_zcopy(struct rds_sock *rs, struct msghdr *msg);

/* bind.c */
int rds_bind(struct socket *sock, struct sockaddr_unsized *uaddr, int len);
int rds_connect(struct socket *sock, struct sockaddr_unsized *uaddr, int len, int flags);
int rds_getname(struct socket *sock, struct sockaddr *uaddr, int peer);
int rds_transport_set(struct rds_sock *rs, sockptr_t optval, unsigned int optlen);
int rds_transport_get(struct rds_sock *rs);

/* sendmsg.c, recvmsg.c, poll.c */
int rds_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int rds_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags);
__poll_t rds_poll(struct file *file, struct socket *sock, poll_table *wait);

/* sockopt.c */
int rds_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
		   unsigned int optlen);
int rds_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
		   int __user *optlen);
int rds_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
void rds_rx_trace_off(struct rds_sock *rs);

/* family.c */
int rds_sock_init(void);
void rds_sock_exit(void);

#endif
