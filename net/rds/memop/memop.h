/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remote memory, the half that knows no device: user memory that is pinned, keys of it, and
 * operations on a peer's.
 *
 * Pinned memory (struct rds_pin) has one owner, a key or an operation, and one end,
 * rds_pin_free(), which unpins, marks dirty what a device may have written, and takes the charge
 * to RLIMIT_MEMLOCK back.
 *
 * Keys (struct rds_mr) belong to a socket, which finds them by rkey in a tree.  Whoever takes one
 * out of the tree, under rds_sock.mr_lock, owns it and ends it where sleeping is allowed: a system
 * call, the end of the socket, or the work item of a key that was for one use.  A key holds the
 * module of its transport.
 *
 * Operations (struct rds_memop_op) are counted: the message has one reference and the transport
 * one for as long as it is under way.  Each is finished once, by whoever sets `done`: the
 * transport through rds_op_done(), or, if no transport ever took it, the end of its message.
 * Then its memory is free and its notification goes to the socket (struct rds_note), if that is
 * still there.  Reading `done` with acquire makes `status` visible.
 *
 * What a message has (struct rds_memop) lives as long as the message; its fields are guarded by
 * the lock of the queue the message is on, except for @ops, which the transmitter has to itself.
 *
 * Locks: rds_sock.mr_lock > mr_table_lock (mr.c), both leaves otherwise.
 */
#ifndef _RDS_MEMOP_MEMOP_H
#define _RDS_MEMOP_MEMOP_H

#include <linux/rds.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>

#include <net/rds/memop.h>
#include <net/rds/tx.h>

struct rds_message;
struct rds_note;
struct rds_sock;
struct rds_transport;
struct rds_wire_header;

/* Releases what a softirq cannot */
extern struct workqueue_struct *rds_memop_wq;

/**
 * struct rds_pin - user memory that devices may reach
 * @mem: the pages, as transports see them
 * @mmp: their charge
 * @work: release by a worker
 */
struct rds_pin {
	struct rds_mem		mem;
	struct mmpin		mmp;
	struct work_struct	work;
};

/**
 * rds_pin_user - pin memory of the calling task
 * @vec: pieces, none empty, none around the end of the address space, together at most
 *	RDS_MEM_MAX_BYTES
 * @nr: how many
 * @write: the device may write to it
 * @max: pages that may be
 *
 * Neighbouring pieces count as one.
 *
 * Context: process, may sleep.
 * Return: the memory or ERR_PTR: -EPERM: nothing may be locked; -ENOMEM: also over
 * RLIMIT_MEMLOCK; -EMSGSIZE: more than @max pages; -EFAULT.
 */
struct rds_pin *rds_pin_user(const struct rds_iovec *vec, unsigned int nr, bool write,
			     unsigned int max);

/* Release it, at once if @may_sleep says that this is allowed.  Any context but hard interrupts. */
void rds_pin_free(struct rds_pin *pin, bool may_sleep);

/**
 * struct rds_memop_op - an operation
 * @op: as the transport sees it
 * @ref: see above
 * @done: it is finished; set once
 * @taken: a transport has, or had, it
 * @silent: RDS_RDMA_SILENT
 * @notify: RDS_RDMA_NOTIFY_ME
 * @wraps: the remote address is beyond the end of the address space
 * @status: how it ended, once @done
 * @pin: local memory until it is finished
 * @note: what its socket will be told, or NULL
 * @msg: its message, if that is one that ends with its operations; under the queue's lock
 */
struct rds_memop_op {
	struct rds_op		op;
	refcount_t		ref;
	unsigned long		done;
	bool			taken;
	bool			silent;
	bool			notify;
	bool			wraps;
	enum rds_op_status	status;
	struct rds_pin		*pin;
	struct rds_note		*note;
	struct rds_message	*msg;
};

#define rds_to_memop_op(o)	container_of(o, struct rds_memop_op, op)

/**
 * struct rds_memop - operations of one message
 * @ops: as the transport sees them
 * @rdma: READ or WRITE, or NULL
 * @atomic: FADD or CSWP, or NULL
 */
struct rds_memop {
	struct rds_tx_ops	ops;
	struct rds_memop_op	*rdma;
	struct rds_memop_op	*atomic;
};

/* request.c: what a program asks for.  Process context, may sleep. */
struct rds_memop *rds_memop_alloc(void);
int rds_memop_add_rdma(struct rds_memop *mo, struct rds_sock *rs,
		       const struct rds_rdma_args *args, const struct rds_iovec *vec);
int rds_memop_add_atomic(struct rds_memop *mo, struct rds_sock *rs, int type,
			 const struct rds_atomic_args *args);
int rds_memop_check(const struct rds_memop *mo, struct rds_sock *rs,
		    const struct rds_transport *trans);
void rds_memop_put_cookie(struct rds_wire_header *hdr, u64 cookie);
void rds_memop_attach(struct rds_memop *mo, struct rds_message *m, struct rds_sock *rs);
void rds_memop_abort(struct rds_memop *mo);

/* op.c: how operations and what a message has of them end.  Any context but hard interrupts. */
void rds_memop_finish(struct rds_memop_op *op, enum rds_op_status status);
void rds_memop_op_put(struct rds_memop_op *op);
void rds_memop_release(struct rds_memop *mo, enum rds_op_status unposted);
bool rds_memop_over(const struct rds_memop *mo);
bool rds_memop_again(struct rds_memop *mo);
void rds_memop_detach(struct rds_memop *mo);

/* mr.c: keys */
int rds_mr_get(struct rds_sock *rs, const struct rds_iovec *vec, u64 cookie_addr, u64 flags,
	       u64 *cookie);
int rds_mr_free(struct rds_sock *rs, u64 cookie, u64 flags);
bool rds_mr_known(struct rds_sock *rs, u64 cookie);
void rds_mr_used(struct rds_sock *rs, u32 rkey);
void rds_mr_purge(struct rds_sock *rs);

int rds_memop_init(void);
void rds_memop_exit(void);

#endif
