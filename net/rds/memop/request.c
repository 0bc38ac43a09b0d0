// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Operations as programs ask for them (wire 5.13), up to the message that has them. */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "endpoint/endpoint.h"
#include "endpoint/note.h"
#include "memop/memop.h"
#include "msg/message.h"
#include "netns.h"
#include "proto/exthdr.h"
#include <net/rds/transport.h>

/* Direction in an RDMA_BYTES extension */
#define EXT_BYTES_WRITE	0x01
#define EXT_BYTES_READ	0x02

/* Pages the longest vector can touch: each piece may begin in one and end in another. */
#define VEC_PAGES	(RDS_MEM_MAX_PAGES + 2 * UIO_MAXIOV)

struct rds_memop *rds_memop_alloc(void)
{
	return kzalloc_obj(struct rds_memop, GFP_KERNEL_ACCOUNT);
}

static struct rds_memop_op *op_alloc(const struct rds_sock *rs, u64 flags, u64 token)
{
	struct rds_memop_op *op = kzalloc_obj(*op, GFP_KERNEL_ACCOUNT);

	if (!op)
		return NULL;
	refcount_set(&op->ref, 1);
	op->notify = flags & RDS_RDMA_NOTIFY_ME;
	op->silent = flags & RDS_RDMA_SILENT;
	op->op.fence = flags & RDS_RDMA_FENCE;
	if (!op->notify && !READ_ONCE(rs->recverr))
		return op;
	op->note = rds_note_alloc(token);
	if (op->note)
		return op;
	kfree(op);
	return NULL;
}

/*
 * A key and a place in its memory, as the device of the peer wants it.  A key that ends when it is
 * used is to be ended by the message, where devices have Send with Invalidate.
 */
static void op_remote(struct rds_memop *mo, struct rds_memop_op *op, u64 cookie, u64 addr)
{
	u32 offset = cookie >> 32;

	op->op.rkey = cookie;
	op->wraps = check_add_overflow(addr, (u64)offset, &op->op.raddr);
	if (offset & RDS_MR_OFFSET_ONCE && !mo->ops.retire)
		mo->ops.retire = cookie;
}

/* Memory comes first: that is how far a request for a transport without operations gets. */
static int op_local(struct rds_memop_op *op, const struct rds_iovec *vec, unsigned int nr)
{
	bool write = op->op.kind != RDS_OP_WRITE;
	struct rds_pin *pin;

	pin = rds_pin_user(vec, nr, write, VEC_PAGES);
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	op->pin = pin;
	op->op.mem = &pin->mem;
	op->op.bytes = pin->mem.bytes;
	return 0;
}

/**
 * rds_memop_add_rdma - RDS_CMSG_RDMA_ARGS
 * @mo: gets the operation
 * @rs: socket, bound
 * @args: request
 * @vec: its local vector, @args->nr_local entries, as rds_pin_user() wants them
 *
 * Return: 0; -EINVAL: the second of its kind, or more local than remote memory; -ENOMEM; errors of
 * rds_pin_user().
 */
int rds_memop_add_rdma(struct rds_memop *mo, struct rds_sock *rs,
		       const struct rds_rdma_args *args, const struct rds_iovec *vec)
{
	struct rds_memop_op *op;
	u64 sum = 0, i;

	if (mo->rdma)
		return -EINVAL;
	for (i = 0; i < args->nr_local; i++) {
		if (check_add_overflow(sum, vec[i].bytes, &sum) || sum > args->remote_vec.bytes)
			return -EINVAL;
	}
	op = op_alloc(rs, args->flags, args->user_token);
	if (!op)
		return -ENOMEM;
	mo->rdma = op;
	op->op.kind = args->flags & RDS_RDMA_READWRITE ? RDS_OP_WRITE : RDS_OP_READ;
	op_remote(mo, op, args->cookie, args->remote_vec.addr);
	return op_local(op, vec, args->nr_local);
}

/* Masks that change nothing make a plain operation, which more devices have. */
static void atomic_fill(struct rds_op *op, int type, const struct rds_atomic_args *args)
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
 * rds_memop_add_atomic - RDS_CMSG_ATOMIC_* and RDS_CMSG_MASKED_ATOMIC_*
 * @mo: gets the operation
 * @rs: socket, bound
 * @type: which of them
 * @args: request
 *
 * Return: 0; -EINVAL: the second of its kind; -EFAULT: the local address is not aligned to 8
 * bytes; -ENOMEM; errors of rds_pin_user().
 */
int rds_memop_add_atomic(struct rds_memop *mo, struct rds_sock *rs, int type,
			 const struct rds_atomic_args *args)
{
	struct rds_iovec vec = { .addr = args->local_addr, .bytes = sizeof(u64) };
	struct rds_memop_op *op;

	if (mo->atomic)
		return -EINVAL;
	if (args->local_addr & 7)
		return -EFAULT;
	op = op_alloc(rs, args->flags, args->user_token);
	if (!op)
		return -ENOMEM;
	mo->atomic = op;
	atomic_fill(&op->op, type, args);
	op_remote(mo, op, args->cookie, args->remote_addr);
	return op_local(op, &vec, 1);
}

/* The remote range must not wrap, and the device must have such an operation. */
static int op_check(const struct rds_memop_op *op, struct rds_sock *rs,
		    const struct rds_transport *trans)
{
	u64 end;

	if (!op)
		return 0;
	if (op->wraps || check_add_overflow(op->op.raddr, (u64)op->op.bytes, &end))
		return -EINVAL;
	return trans->memop->op_check(rs->rn->net, &rs->bound_addr, rs->bound_scope, &op->op);
}

/**
 * rds_memop_check - can the operations be carried out?  Nothing is sent if not.
 * @mo: all of them
 * @rs: socket, bound
 * @trans: transport of the connection
 *
 * Return: 0; -EINVAL: a remote range that wraps; -EOPNOTSUPP; errors of op_check.
 */
int rds_memop_check(const struct rds_memop *mo, struct rds_sock *rs,
		    const struct rds_transport *trans)
{
	int err;

	if (!trans->memop)
		return -EOPNOTSUPP;
	err = op_check(mo->rdma, rs, trans);
	return err ? err : op_check(mo->atomic, rs, trans);
}

/* Wire 2.4: which key was used, for how much and in which direction */
static void memop_put_extensions(struct rds_wire_header *hdr, const struct rds_op *op)
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
 * rds_memop_put_cookie - have a message bring its receiver a key
 * @hdr: header of a message without operations
 * @cookie: the key
 */
void rds_memop_put_cookie(struct rds_wire_header *hdr, u64 cookie)
{
	u8 body[RDS_EXT_BODY_MAX];
	unsigned int used = 0;

	rds_store_be32(body, cookie);
	rds_store_be32(body + 4, cookie >> 32);
	rds_ext_append(hdr->exthdr, &used, RDS_EXT_RDMA_DEST, body);
	hdr->flags |= RDS_WIRE_F_EXTHDR;
}

/**
 * rds_memop_attach - give a message its operations, the last step before it is queued
 * @mo: at least one operation; the message's from here on, until rds_memop_abort() undoes this
 * @m: message
 * @rs: its sender
 */
void rds_memop_attach(struct rds_memop *mo, struct rds_message *m, struct rds_sock *rs)
{
	struct rds_memop_op *const all[] = { mo->rdma, mo->atomic };
	unsigned int i;

	mo->ops.silent = !m->len;
	for (i = 0; i < ARRAY_SIZE(all); i++)
		mo->ops.silent &= !all[i] || all[i]->silent;
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (!all[i])
			continue;
		if (mo->ops.silent)
			all[i]->msg = m;
		if (all[i]->note)
			rds_note_add(rs, all[i]->note);
	}
	if (mo->rdma) {
		mo->ops.rdma = &mo->rdma->op;
		memop_put_extensions(m->tx.hdr, &mo->rdma->op);
		rds_stats_inc(rs->rn, send_rdma);
		rds_stats_add(rs->rn, send_rdma_bytes, mo->rdma->op.bytes);
	}
	if (mo->atomic)
		mo->ops.atomic = &mo->atomic->op;
	m->memop = mo;
	m->tx.ops = &mo->ops;
}

static void op_abort(struct rds_memop_op *op)
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
 * rds_memop_abort - the request failed: undo all of it, and tell nobody
 * @mo: on no queue; freed
 *
 * Context: process, may sleep.
 */
void rds_memop_abort(struct rds_memop *mo)
{
	op_abort(mo->rdma);
	op_abort(mo->atomic);
	kfree(mo);
}
