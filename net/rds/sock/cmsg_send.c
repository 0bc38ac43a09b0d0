// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The control messages of sendmsg.  They are looked at three times, because what can be wrong
 * with them is found out in three places of the order of checks: their form and the bytes they
 * are about before the limits on size; what they are before anything is allocated; what they
 * refer to when there is a connection.
 *
 * No transport has remote memory operations; requests for them are checked as far as a program
 * can tell and then refused.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "sock/sock.h"

/* User pages that are looked at in one go */
#define PIN_BATCH	16

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

static int iovec_read(const struct rds_rdma_args *args, u64 i, struct rds_iovec *v)
{
	if (copy_from_user(v, u64_to_user_ptr(args->local_vec_addr) + i * sizeof(*v), sizeof(*v)))
		return -EFAULT;
	return 0;
}

/* Local memory as such: how many pieces, none empty, none around the end of the address space */
static int args_check(const struct cmsghdr *c)
{
	struct rds_rdma_args args;
	u64 i;

	memcpy(&args, CMSG_DATA(c), sizeof(args));
	if (!args.nr_local)
		return -EINVAL;
	if (args.nr_local > UIO_MAXIOV)
		return -EMSGSIZE;
	for (i = 0; i < args.nr_local; i++) {
		struct rds_iovec v;
		u64 end;
		int err = iovec_read(&args, i, &v);

		if (err)
			return err;
		if (!v.bytes || check_add_overflow(v.addr, v.bytes, &end))
			return -EINVAL;
	}
	return 0;
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
 * @req: the cookie is filled in
 *
 * Return: 0, -EINVAL, -EMSGSIZE or -EFAULT.
 */
int rds_cmsg_check(struct msghdr *msg, struct rds_send_req *req)
{
	bool memory = false, operation = false;
	struct cmsghdr *c;
	int err = 0;

	for_each_rds_cmsg(c, msg) {
		switch (c->cmsg_type) {
		case RDS_CMSG_RDMA_ARGS:
			operation = true;
			err = args_check(c);
			break;
		case RDS_CMSG_ATOMIC_FADD:
		case RDS_CMSG_ATOMIC_CSWP:
		case RDS_CMSG_MASKED_ATOMIC_FADD:
		case RDS_CMSG_MASKED_ATOMIC_CSWP:
			operation = true;
			break;
		case RDS_CMSG_RDMA_DEST:
		case RDS_CMSG_RDMA_MAP:
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

/* Is all of a piece of user memory there, and writable if it is to be written? */
static int pin_probe(u64 addr, u64 bytes, bool write)
{
	unsigned long start = addr & PAGE_MASK;
	unsigned long left = DIV_ROUND_UP(addr - start + bytes, PAGE_SIZE);
	struct page *pages[PIN_BATCH];

	while (left) {
		int want = min_t(unsigned long, left, PIN_BATCH);
		int got = pin_user_pages_fast(start, want, write ? FOLL_WRITE : 0, pages);

		if (got > 0)
			unpin_user_pages(pages, got);
		if (got != want)
			return -EFAULT;
		start += want * PAGE_SIZE;
		left -= want;
	}
	return 0;
}

static int args_apply(const struct cmsghdr *c)
{
	struct rds_rdma_args args;
	u64 i, sum = 0;

	memcpy(&args, CMSG_DATA(c), sizeof(args));
	for (i = 0; i < args.nr_local; i++) {
		struct rds_iovec v;
		int err = iovec_read(&args, i, &v);

		if (!err && (check_add_overflow(sum, v.bytes, &sum) || sum > args.remote_vec.bytes))
			err = -EINVAL;
		if (!err)
			err = pin_probe(v.addr, v.bytes, !(args.flags & RDS_RDMA_READWRITE));
		if (err)
			return err;
	}
	return 0;
}

static int atomic_apply(const struct cmsghdr *c)
{
	struct rds_atomic_args args;

	if (cmsg_data_len(c) < sizeof(args))
		return -EINVAL;
	memcpy(&args, CMSG_DATA(c), sizeof(args));
	if (args.local_addr & 7)
		return -EFAULT;
	return pin_probe(args.local_addr, sizeof(u64), true);
}

/* Keys belong to registered memory, and none is registered. */
static int memory_apply(const struct cmsghdr *c)
{
	if (c->cmsg_type == RDS_CMSG_RDMA_MAP &&
	    cmsg_data_len(c) >= sizeof(struct rds_get_mr_args))
		return -EOPNOTSUPP;
	return -EINVAL;
}

/**
 * rds_cmsg_apply - third look: what they refer to
 * @msg: message that passed rds_cmsg_check()
 * @req: its result
 * @len: payload
 *
 * Context: process, may sleep.
 * Return: 0 or the errno of row 16 or 17 of the order of checks.
 */
int rds_cmsg_apply(struct msghdr *msg, const struct rds_send_req *req, size_t len)
{
	bool rdma = false, atomic = false;
	struct cmsghdr *c;
	int err;

	for_each_rds_cmsg(c, msg) {
		switch (c->cmsg_type) {
		case RDS_CMSG_RDMA_ARGS:
			err = rdma ? -EINVAL : args_apply(c);
			rdma = true;
			break;
		case RDS_CMSG_RDMA_DEST:
		case RDS_CMSG_RDMA_MAP:
			err = memory_apply(c);
			break;
		case RDS_CMSG_ZCOPY_COOKIE:
			err = req->zcopy && len ? 0 : -EINVAL;
			break;
		default:
			err = atomic ? -EINVAL : atomic_apply(c);
			atomic = true;
		}
		if (err)
			return err;
	}
	return rdma || atomic ? -EOPNOTSUPP : 0;
}
