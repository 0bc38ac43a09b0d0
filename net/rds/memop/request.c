// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests of programs for operations (protocol.rst 5.13), until their message
 * is queued.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "memop/memop.h"
#include "msg/message.h"
#include "netns.h"
#include "proto/exthdr.h"
#include "sock/note.h"
#include "sock/state.h"
#include <net/rds/transport.h>

/* Direction in an RDMA_BYTES extension */
#define EXT_BYTES_WRITE	0x01
#define EXT_BYTES_READ	0x02

/*
 * Pages that the longest vector can touch: each piece may begin in one page and
 * end in another.
 */
#define VEC_PAGES	(RDS_MEM_MAX_PAGES + 2 * UIO_MAXIOV)

struct rds_request *rds_request_alloc(void)
{
	return kzalloc_obj(struct rds_request, GFP_KERNEL_ACCOUNT);
}

static struct rds_operation *op_alloc(const struct rds_sock *rs, u64 flags,
				      u64 token)
{
	struct rds_operation *op = kzalloc_obj(*op, GFP_KERNEL_ACCOUNT);

	if (!op)
		return NULL;
	refcount_set(&op->ref, 1);
	op->notify = flags & RDS_RDMA_NOTIFY_ME;
	op->silent = flags & RDS_RDMA_SILENT;
	op->tx.fence = flags & RDS_RDMA_FENCE;
	if (!op->notify && !READ_ONCE(rs->recverr))
		return op;
	op->note = rds_note_alloc(token);
	if (op->note)
		return op;
	kfree(op);
	return NULL;
}

/*
 * Set the key and the address that the device of the peer expects.  A key that
 * ends with its use is ended by the message, where devices have Send with
 * Invalidate.
 */
static void op_remote(struct rds_request *req, struct rds_operation *op,
		      u64 cookie, u64 addr)
{
	u32 offset = cookie >> 32;

	op->tx.rkey = cookie;
	op->wraps = check_add_overflow(addr, (u64)offset, &op->tx.raddr);
	if (offset & RDS_MR_OFFSET_ONCE && !req->tx.invalidate_rkey)
		req->tx.invalidate_rkey = cookie;
}

/*
 * Pin the local memory.  This comes before rds_request_check(), so a request
 * with bad memory gets the error of that, even if the transport has no
 * operations.
 */
static int op_local(struct rds_operation *op, const struct rds_iovec *vec,
		    unsigned int nr)
{
	bool write = op->tx.kind != RDS_OP_WRITE;
	struct rds_pin *pin;

	pin = rds_pin_user(vec, nr, write, VEC_PAGES);
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	op->pin = pin;
	op->tx.mem = &pin->mem;
	op->tx.bytes = pin->mem.bytes;
	return 0;
}

/**
 * rds_request_add_rdma - add the READ or WRITE of RDS_CMSG_RDMA_ARGS
 * @req: request that gets the operation
 * @rs: socket, bound
 * @args: payload of the control message
 * @vec: local vector of @args->nr_local entries that meet the conditions of
 *	rds_pin_user()
 *
 * Return: 0; -EINVAL: the request has a READ or WRITE, or there is more local
 * than remote memory; -ENOMEM; errors of rds_pin_user().
 */
int rds_request_add_rdma(struct rds_request *req, struct rds_sock *rs,
			 const struct rds_rdma_args *args,
			 const struct rds_iovec *vec)
{
	struct rds_operation *op;
	u64 sum = 0, i;

	if (req->rdma)
		return -EINVAL;
	for (i = 0; i < args->nr_local; i++) {
		if (check_add_overflow(sum, vec[i].bytes, &sum) ||
		    sum > args->remote_vec.bytes)
			return -EINVAL;
	}
	op = op_alloc(rs, args->flags, args->user_token);
	if (!op)
		return -ENOMEM;
	req->rdma = op;
	op->tx.kind = args->flags & RDS_RDMA_READWRITE ? RDS_OP_WRITE :
							 RDS_OP_READ;
	op_remote(req, op, args->cookie, args->remote_vec.addr);
	return op_local(op, vec, args->nr_local);
}

/*
 * An operation whose masks have no effect becomes a plain one, which more
 * devices have.
 */
static void atomic_fill(struct rds_tx_operation *op, int type,
			const struct rds_atomic_args *args)
{
	switch (type) {
	case RDS_CMSG_ATOMIC_FADD:
		op->kind = RDS_OP_FADD;
		op->add = args->fadd.add;
		break;
	case RDS_CMSG_MASKED_ATOMIC_FADD:
		op->kind = RDS_OP_FADD;
		op->add = args->m_fadd.add;
		op->nocarry_mask = args->m_fadd.nocarry_mask;
		op->masked = op->nocarry_mask;
		break;
	case RDS_CMSG_ATOMIC_CSWP:
		op->kind = RDS_OP_CSWP;
		op->compare = args->cswp.compare;
		op->swap = args->cswp.swap;
		op->compare_mask = ~0ull;
		op->swap_mask = ~0ull;
		break;
	default:
		op->kind = RDS_OP_CSWP;
		op->compare = args->m_cswp.compare;
		op->swap = args->m_cswp.swap;
		op->compare_mask = args->m_cswp.compare_mask;
		op->swap_mask = args->m_cswp.swap_mask;
		op->masked = ~op->compare_mask || ~op->swap_mask;
	}
}

/**
 * rds_request_add_atomic - add the operation of RDS_CMSG_ATOMIC_* or
 * RDS_CMSG_MASKED_ATOMIC_*
 * @req: request that gets the operation
 * @rs: socket, bound
 * @type: type of the control message
 * @args: payload of the control message
 *
 * Return: 0; -EINVAL: the request has an atomic operation; -EFAULT: the local
 * address is not aligned to 8 bytes; -ENOMEM; errors of rds_pin_user().
 */
int rds_request_add_atomic(struct rds_request *req, struct rds_sock *rs,
			   int type, const struct rds_atomic_args *args)
{
	struct rds_iovec vec = { .addr = args->local_addr,
				 .bytes = sizeof(u64) };
	struct rds_operation *op;

	if (req->atomic)
		return -EINVAL;
	if (args->local_addr & 7)
		return -EFAULT;
	op = op_alloc(rs, args->flags, args->user_token);
	if (!op)
		return -ENOMEM;
	req->atomic = op;
	atomic_fill(&op->tx, type, args);
	op_remote(req, op, args->cookie, args->remote_addr);
	return op_local(op, &vec, 1);
}

/*
 * Check that the remote range does not wrap, and that the device has the
 * operation.
 */
static int op_check(const struct rds_operation *op, struct rds_sock *rs,
		    const struct rds_transport *trans)
{
	u64 end;

	if (!op)
		return 0;
	if (op->wraps ||
	    check_add_overflow(op->tx.raddr, (u64)op->tx.bytes, &end))
		return -EINVAL;
	return trans->memop->op_check(rs->rn->net, &rs->bound_addr,
				      rs->bound_scope, &op->tx);
}

/**
 * rds_request_check - can the operations of a message be carried out?
 * @req: request with all its operations
 * @rs: socket, bound
 * @trans: transport of the connection
 *
 * A message whose request fails this check is not sent.
 *
 * Return: 0; -EINVAL: a remote range wraps; -EOPNOTSUPP: the transport has no
 * operations; errors of op_check.
 */
int rds_request_check(const struct rds_request *req, struct rds_sock *rs,
		      const struct rds_transport *trans)
{
	int err;

	if (!trans->memop)
		return -EOPNOTSUPP;
	err = op_check(req->rdma, rs, trans);
	return err ? err : op_check(req->atomic, rs, trans);
}

/*
 * protocol.rst 2.4: report the key, the number of bytes and the direction to
 * the peer.
 */
static void memop_put_extensions(struct rds_wire_header *hdr,
				 const struct rds_tx_operation *op)
{
	u8 body[RDS_EXT_BODY_MAX] = "";
	unsigned int used = 0;

	rds_store_be32(body, op->rkey);
	rds_ext_append(hdr->exthdr, &used, RDS_EXT_RDMA, body);
	rds_store_be32(body, op->bytes);
	body[4] = op->kind == RDS_OP_WRITE ? EXT_BYTES_WRITE : EXT_BYTES_READ;
	rds_ext_append(hdr->exthdr, &used, RDS_EXT_RDMA_BYTES, body);
	hdr->flags |= RDS_WIRE_F_EXTHDR;
}

/**
 * rds_request_put_cookie - add the cookie of a key to a message
 * @hdr: header of a message without operations
 * @cookie: cookie of the key
 */
void rds_request_put_cookie(struct rds_wire_header *hdr, u64 cookie)
{
	u8 body[RDS_EXT_BODY_MAX];
	unsigned int used = 0;

	rds_store_be32(body, cookie);
	rds_store_be32(body + 4, cookie >> 32);
	rds_ext_append(hdr->exthdr, &used, RDS_EXT_RDMA_DEST, body);
	hdr->flags |= RDS_WIRE_F_EXTHDR;
}

/**
 * rds_request_attach - give a message its operations, as the last step before
 * it is queued
 * @req: request with at least one operation; owned by the message from here on,
 *	or by the caller again if the message cannot be queued
 * @m: message
 * @rs: socket that sends the message
 */
void rds_request_attach(struct rds_request *req, struct rds_message *m,
			struct rds_sock *rs)
{
	struct rds_operation *const all[] = { req->rdma, req->atomic };
	unsigned int i;

	req->tx.silent = !m->len;
	for (i = 0; i < ARRAY_SIZE(all); i++)
		req->tx.silent &= !all[i] || all[i]->silent;
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (!all[i])
			continue;
		if (req->tx.silent)
			all[i]->msg = m;
		if (all[i]->note)
			rds_note_add(rs, all[i]->note);
	}
	if (req->rdma) {
		req->tx.rdma = &req->rdma->tx;
		memop_put_extensions(m->tx.hdr, &req->rdma->tx);
		rds_stats_inc(rs->rn, send_rdma);
		rds_stats_add(rs->rn, send_rdma_bytes, req->rdma->tx.bytes);
	}
	if (req->atomic)
		req->tx.atomic = &req->atomic->tx;
	m->request = req;
	m->tx.request = &req->tx;
}

static void op_abort(struct rds_operation *op)
{
	if (!op)
		return;
	if (op->pin)
		rds_pin_free(op->pin, true);
	if (op->note)
		rds_note_end(op->note, 0, false);
	kfree(op);
}

/**
 * rds_request_abort - undo the request of a message that is not sent, without
 * notifications
 * @req: request whose message is on no queue; freed
 *
 * Context: process, may sleep.
 */
void rds_request_abort(struct rds_request *req)
{
	op_abort(req->rdma);
	op_abort(req->atomic);
	kfree(req);
}
