// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The control messages of sendmsg.  They are looked at three times, because what can be wrong
 * with them is found out in three places of the order of checks: their form and the bytes they
 * are about before the limits on size; what they are before anything is allocated; what they
 * refer to when there is a connection.
 *
 * Requests for remote memory over a transport that has none are checked as far as a program can
 * tell and then refused.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "memop/memop.h"
#include "msg/message.h"
#include "sock/sock.h"

#define for_each_rds_cmsg(c, msg)		\
	for_each_cmsghdr(c, msg)		\
		if ((c)->cmsg_level == SOL_RDS)

static size_t cmsg_data_len(const struct cmsghdr *c)
{
	return c->cmsg_len - CMSG_LEN(0);
}

/**
 * rds_cmsg_measure - first look: form, and bytes of remote memory
 * @msg: message
 * @req: @req->rdma_bytes is set
 *
 * Return: 0 or -EINVAL.
 */
int rds_cmsg_measure(struct msghdr *msg, struct rds_send_req *req)
{
	struct cmsghdr *c;

	for_each_cmsghdr(c, msg) {
		struct rds_rdma_args args;

		if (!CMSG_OK(msg, c))
			return -EINVAL;
		if (c->cmsg_level != SOL_RDS || c->cmsg_type != RDS_CMSG_RDMA_ARGS)
			continue;
		if (cmsg_data_len(c) < sizeof(args))
			return -EINVAL;
		memcpy(&args, CMSG_DATA(c), sizeof(args));
		if (check_add_overflow(req->rdma_bytes, args.remote_vec.bytes, &req->rdma_bytes))
			req->rdma_bytes = U64_MAX;
	}
	return 0;
}

/*
 * Local memory as such: how many pieces, none empty, none around the end of the address space.
 * It is read only here, so that what is used later is what was checked.
 */
static int vec_read(const struct rds_rdma_args *args, struct rds_iovec *vec)
{
	const struct rds_iovec __user *from = u64_to_user_ptr(args->local_vec_addr);
	u64 i, end;

	for (i = 0; i < args->nr_local; i++) {
		if (copy_from_user(&vec[i], from + i, sizeof(vec[i])))
			return -EFAULT;
		if (!vec[i].bytes || check_add_overflow(vec[i].addr, vec[i].bytes, &end))
			return -EINVAL;
	}
	return 0;
}

static int args_check(const struct cmsghdr *c, struct rds_send_req *req)
{
	struct rds_rdma_args args;
	struct rds_iovec *vec;
	int err;

	memcpy(&args, CMSG_DATA(c), sizeof(args));
	if (!args.nr_local)
		return -EINVAL;
	if (args.nr_local > UIO_MAXIOV)
		return -EMSGSIZE;
	vec = kvmalloc_array(args.nr_local, sizeof(*vec), GFP_KERNEL_ACCOUNT);
	if (!vec)
		return -ENOMEM;
	err = vec_read(&args, vec);
	if (err || req->vec)
		kvfree(vec);	/* of two the second is refused when its turn comes */
	else
		req->vec = vec;
	return err;
}

static int cookie_read(const struct cmsghdr *c, struct rds_send_req *req)
{
	if (cmsg_data_len(c) < sizeof(req->cookie))
		return -EINVAL;
	memcpy(&req->cookie, CMSG_DATA(c), sizeof(req->cookie));
	req->has_cookie = true;
	return 0;
}

/**
 * rds_cmsg_check - second look: which they are, and whether they go together
 * @msg: message
 * @req: the cookie is filled in, and local memory
 *
 * Return: 0, -EINVAL, -EMSGSIZE, -EFAULT or -ENOMEM.  If @req->memory is set then, whatever was
 * returned, rds_cmsg_end() is due.
 */
int rds_cmsg_check(struct msghdr *msg, struct rds_send_req *req)
{
	bool memory = false, operation = false;
	struct cmsghdr *c;
	int err = 0;

	for_each_rds_cmsg(c, msg) {
		switch (c->cmsg_type) {
		case RDS_CMSG_RDMA_ARGS:
			req->memory = true;
			operation = true;
			err = args_check(c, req);
			break;
		case RDS_CMSG_ATOMIC_FADD:
		case RDS_CMSG_ATOMIC_CSWP:
		case RDS_CMSG_MASKED_ATOMIC_FADD:
		case RDS_CMSG_MASKED_ATOMIC_CSWP:
			req->memory = true;
			operation = true;
			break;
		case RDS_CMSG_RDMA_DEST:
		case RDS_CMSG_RDMA_MAP:
			req->memory = true;
			memory = true;
			break;
		case RDS_CMSG_ZCOPY_COOKIE:
			memory = true;
			err = cookie_read(c, req);
			break;
		default:
			err = -EINVAL;
		}
		if (err)
			return err;
	}
	if (memory && operation)
		return -EINVAL;
	return (msg->msg_flags & MSG_ZEROCOPY) && !req->has_cookie ? -EINVAL : 0;
}

static int args_apply(struct rds_sock *rs, const struct cmsghdr *c, struct rds_send_req *req)
{
	struct rds_rdma_args args;

	memcpy(&args, CMSG_DATA(c), sizeof(args));
	return rds_memop_add_rdma(req->memop, rs, &args, req->vec);
}

static int atomic_apply(struct rds_sock *rs, const struct cmsghdr *c, struct rds_send_req *req)
{
	struct rds_atomic_args args;

	if (cmsg_data_len(c) < sizeof(args))
		return -EINVAL;
	memcpy(&args, CMSG_DATA(c), sizeof(args));
	return rds_memop_add_atomic(req->memop, rs, c->cmsg_type, &args);
}

static int dest_apply(struct rds_sock *rs, const struct cmsghdr *c, struct rds_send_req *req)
{
	if (req->has_key || cmsg_data_len(c) < sizeof(req->key))
		return -EINVAL;
	memcpy(&req->key, CMSG_DATA(c), sizeof(req->key));
	req->has_key = rds_mr_known(rs, req->key);
	return req->has_key ? 0 : -EINVAL;
}

static int map_apply(struct rds_sock *rs, const struct cmsghdr *c, struct rds_send_req *req)
{
	struct rds_get_mr_args args;
	int err;

	if (req->has_key || cmsg_data_len(c) < sizeof(args))
		return -EINVAL;
	memcpy(&args, CMSG_DATA(c), sizeof(args));
	err = rds_mr_get(rs, &args.vec, args.cookie_addr, args.flags, &req->key);
	req->has_key = !err;
	req->mapped = !err;
	return err;
}

static int one_apply(struct rds_sock *rs, const struct rds_transport *trans,
		     const struct cmsghdr *c, struct rds_send_req *req, size_t len)
{
	switch (c->cmsg_type) {
	case RDS_CMSG_RDMA_ARGS:
		return args_apply(rs, c, req);
	case RDS_CMSG_RDMA_DEST:
		return dest_apply(rs, c, req);
	case RDS_CMSG_RDMA_MAP:
		return map_apply(rs, c, req);
	case RDS_CMSG_ZCOPY_COOKIE:
		return req->zcopy && len ? 0 : -EINVAL;
	}
	return atomic_apply(rs, c, req);
}

/**
 * rds_cmsg_apply - third look: what they refer to
 * @rs: socket
 * @trans: transport of the connection
 * @msg: message that passed rds_cmsg_check()
 * @req: its result; gets key and operations
 * @len: payload
 *
 * Context: process, may sleep.
 * Return: 0 or the errno of row 16 or 17 of the order of checks.
 */
int rds_cmsg_apply(struct rds_sock *rs, const struct rds_transport *trans, struct msghdr *msg,
		   struct rds_send_req *req, size_t len)
{
	struct cmsghdr *c;
	int err;

	if (req->memory) {
		rs->memop_used = true;
		req->memop = rds_memop_alloc();
		if (!req->memop)
			return -ENOMEM;
	}
	for_each_rds_cmsg(c, msg) {
		err = one_apply(rs, trans, c, req, len);
		if (err)
			return err;
	}
	if (!req->memop || !(req->memop->rdma || req->memop->atomic))
		return 0;
	return rds_memop_check(req->memop, rs, trans);
}

/**
 * rds_cmsg_attach - give a message what it was sent for, the last step before it is queued
 * @rs: socket
 * @req: request with @req->memory
 * @m: message
 */
void rds_cmsg_attach(struct rds_sock *rs, struct rds_send_req *req, struct rds_message *m)
{
	if (req->has_key)
		rds_memop_put_cookie(m->tx.hdr, req->key);
	req->attached = req->memop->rdma || req->memop->atomic;
	if (req->attached)
		rds_memop_attach(req->memop, m, rs);
}

/**
 * rds_cmsg_end - release what a request with @req->memory had, or undo it
 * @rs: socket
 * @req: request
 * @err: 0 if the message is queued
 */
void rds_cmsg_end(struct rds_sock *rs, struct rds_send_req *req, int err)
{
	kvfree(req->vec);
	/* what is queued may be gone by now */
	if (req->memop && (err || !req->attached))
		rds_memop_abort(req->memop);
	if (err && req->mapped)
		rds_mr_free(rs, req->key, 0);
}
