// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The control messages of sendmsg.  Three passes check them, as their errors
 * belong to three places in the order of checks: their form and the sum of
 * remote bytes before the limits on size; their types before the message is
 * allocated; what they refer to once there is a connection.
 *
 * A request for remote memory over a transport without it passes the checks
 * that need no device, and is then refused.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "memop/memop.h"
#include "msg/message.h"
#include "sock/calls.h"

#define for_each_rds_cmsg(c, msg)		\
	for_each_cmsghdr(c, msg)		\
		if ((c)->cmsg_level == SOL_RDS)

static size_t cmsg_data_len(const struct cmsghdr *c)
{
	return c->cmsg_len - CMSG_LEN(0);
}

/**
 * rds_cmsg_measure - first pass: form, and bytes of remote memory
 * @msg: message header of the sender
 * @cmsgs: requests, zeroed; @cmsgs->rdma_bytes is set
 *
 * Return: 0 or -EINVAL.
 */
int rds_cmsg_measure(struct msghdr *msg, struct rds_send_cmsgs *cmsgs)
{
	struct cmsghdr *c;

	for_each_cmsghdr(c, msg) {
		struct rds_rdma_args args;

		if (!CMSG_OK(msg, c))
			return -EINVAL;
		if (c->cmsg_level != SOL_RDS ||
		    c->cmsg_type != RDS_CMSG_RDMA_ARGS)
			continue;
		if (cmsg_data_len(c) < sizeof(args))
			return -EINVAL;
		memcpy(&args, CMSG_DATA(c), sizeof(args));
		if (check_add_overflow(cmsgs->rdma_bytes, args.remote_vec.bytes,
				       &cmsgs->rdma_bytes))
			cmsgs->rdma_bytes = U64_MAX;
	}
	return 0;
}

/*
 * Read the local vector, of which no piece may be empty or wrap around the end
 * of the address space.  User memory is read only here, so that the pieces used
 * later are those that were checked.
 */
static int vec_read(const struct rds_rdma_args *args, struct rds_iovec *vec)
{
	const struct rds_iovec __user
		*from = u64_to_user_ptr(args->local_vec_addr);
	u64 i, end;

	for (i = 0; i < args->nr_local; i++) {
		if (copy_from_user(&vec[i], from + i, sizeof(vec[i])))
			return -EFAULT;
		if (!vec[i].bytes ||
		    check_add_overflow(vec[i].addr, vec[i].bytes, &end))
			return -EINVAL;
	}
	return 0;
}

static int args_check(const struct cmsghdr *c, struct rds_send_cmsgs *cmsgs)
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
	if (err || cmsgs->vec)
		/* a second RDMA_ARGS is refused by rds_cmsg_apply() */
		kvfree(vec);
	else
		cmsgs->vec = vec;
	return err;
}

static int cookie_read(const struct cmsghdr *c, struct rds_send_cmsgs *cmsgs)
{
	if (cmsg_data_len(c) < sizeof(cmsgs->cookie))
		return -EINVAL;
	memcpy(&cmsgs->cookie, CMSG_DATA(c), sizeof(cmsgs->cookie));
	cmsgs->has_cookie = true;
	return 0;
}

/**
 * rds_cmsg_check - second pass: types of control messages, and whether they can
 * be combined
 * @msg: message header of the sender
 * @cmsgs: requests; cookie, memory and vec are filled in
 *
 * Return: 0, -EINVAL, -EMSGSIZE, -EFAULT or -ENOMEM.  If @cmsgs->memory is set
 * on return, also with an error, rds_cmsg_end() has to be called.
 */
int rds_cmsg_check(struct msghdr *msg, struct rds_send_cmsgs *cmsgs)
{
	bool memory = false, operation = false;
	struct cmsghdr *c;
	int err = 0;

	for_each_rds_cmsg(c, msg) {
		switch (c->cmsg_type) {
		case RDS_CMSG_RDMA_ARGS:
			cmsgs->memory = true;
			operation = true;
			err = args_check(c, cmsgs);
			break;
		case RDS_CMSG_ATOMIC_FADD:
		case RDS_CMSG_ATOMIC_CSWP:
		case RDS_CMSG_MASKED_ATOMIC_FADD:
		case RDS_CMSG_MASKED_ATOMIC_CSWP:
			cmsgs->memory = true;
			operation = true;
			break;
		case RDS_CMSG_RDMA_DEST:
		case RDS_CMSG_RDMA_MAP:
			cmsgs->memory = true;
			memory = true;
			break;
		case RDS_CMSG_ZCOPY_COOKIE:
			memory = true;
			err = cookie_read(c, cmsgs);
			break;
		default:
			err = -EINVAL;
		}
		if (err)
			return err;
	}
	if (memory && operation)
		return -EINVAL;
	return (msg->msg_flags & MSG_ZEROCOPY) && !cmsgs->has_cookie ? -EINVAL :
								       0;
}

static int args_apply(struct rds_sock *rs, const struct cmsghdr *c,
		      struct rds_send_cmsgs *cmsgs)
{
	struct rds_rdma_args args;

	memcpy(&args, CMSG_DATA(c), sizeof(args));
	return rds_request_add_rdma(cmsgs->request, rs, &args, cmsgs->vec);
}

static int atomic_apply(struct rds_sock *rs, const struct cmsghdr *c,
			struct rds_send_cmsgs *cmsgs)
{
	struct rds_atomic_args args;

	if (cmsg_data_len(c) < sizeof(args))
		return -EINVAL;
	memcpy(&args, CMSG_DATA(c), sizeof(args));
	return rds_request_add_atomic(cmsgs->request, rs, c->cmsg_type, &args);
}

static int dest_apply(struct rds_sock *rs, const struct cmsghdr *c,
		      struct rds_send_cmsgs *cmsgs)
{
	if (cmsgs->has_key || cmsg_data_len(c) < sizeof(cmsgs->key))
		return -EINVAL;
	memcpy(&cmsgs->key, CMSG_DATA(c), sizeof(cmsgs->key));
	cmsgs->has_key = rds_mr_known(rs, cmsgs->key);
	return cmsgs->has_key ? 0 : -EINVAL;
}

static int map_apply(struct rds_sock *rs, const struct cmsghdr *c,
		     struct rds_send_cmsgs *cmsgs)
{
	struct rds_get_mr_args args;
	int err;

	if (cmsgs->has_key || cmsg_data_len(c) < sizeof(args))
		return -EINVAL;
	memcpy(&args, CMSG_DATA(c), sizeof(args));
	err = rds_mr_get(rs, &args.vec, args.cookie_addr, args.flags,
			 &cmsgs->key);
	cmsgs->has_key = !err;
	cmsgs->mapped = !err;
	return err;
}

static int one_apply(struct rds_sock *rs, const struct rds_transport *trans,
		     const struct cmsghdr *c, struct rds_send_cmsgs *cmsgs,
		     size_t len)
{
	switch (c->cmsg_type) {
	case RDS_CMSG_RDMA_ARGS:
		return args_apply(rs, c, cmsgs);
	case RDS_CMSG_RDMA_DEST:
		return dest_apply(rs, c, cmsgs);
	case RDS_CMSG_RDMA_MAP:
		return map_apply(rs, c, cmsgs);
	case RDS_CMSG_ZCOPY_COOKIE:
		return cmsgs->zcopy && len ? 0 : -EINVAL;
	}
	return atomic_apply(rs, c, cmsgs);
}

/**
 * rds_cmsg_apply - third pass: keys and operations that the control messages
 * refer to
 * @rs: socket
 * @trans: transport of the connection
 * @msg: message header that passed rds_cmsg_check()
 * @cmsgs: requests as rds_cmsg_check() left them; key and operations are filled
 *	in
 * @len: payload bytes
 *
 * Context: process, may sleep.
 * Return: 0 or an errno of protocol.rst 5.6.16 and 5.6.17.
 */
int rds_cmsg_apply(struct rds_sock *rs, const struct rds_transport *trans,
		   struct msghdr *msg, struct rds_send_cmsgs *cmsgs, size_t len)
{
	struct cmsghdr *c;
	int err;

	if (cmsgs->memory) {
		rs->memop_used = true;
		cmsgs->request = rds_request_alloc();
		if (!cmsgs->request)
			return -ENOMEM;
	}
	for_each_rds_cmsg(c, msg) {
		err = one_apply(rs, trans, c, cmsgs, len);
		if (err)
			return err;
	}
	if (!cmsgs->request ||
	    !(cmsgs->request->rdma || cmsgs->request->atomic))
		return 0;
	return rds_request_check(cmsgs->request, rs, trans);
}

/**
 * rds_cmsg_attach - give a message its key and operations, the last step before
 * it is queued
 * @rs: socket
 * @cmsgs: requests, with @cmsgs->memory set
 * @m: message
 */
void rds_cmsg_attach(struct rds_sock *rs, struct rds_send_cmsgs *cmsgs,
		     struct rds_message *m)
{
	if (cmsgs->has_key)
		rds_request_put_cookie(m->tx.hdr, cmsgs->key);
	cmsgs->attached = cmsgs->request->rdma || cmsgs->request->atomic;
	if (cmsgs->attached)
		rds_request_attach(cmsgs->request, m, rs);
}

/**
 * rds_cmsg_end - release the memory of requests, and undo them if the send
 * failed
 * @rs: socket
 * @cmsgs: requests, with @cmsgs->memory set
 * @err: 0 if the message was queued, else the error of the send
 */
void rds_cmsg_end(struct rds_sock *rs, struct rds_send_cmsgs *cmsgs, int err)
{
	kvfree(cmsgs->vec);
	/* A queued message owns its operations, and may be freed already. */
	if (cmsgs->request && (err || !cmsgs->attached))
		rds_request_abort(cmsgs->request);
	if (err && cmsgs->mapped)
		rds_mr_free(rs, cmsgs->key, 0);
}
