/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remote memory: what the core and a transport with RDMA say to each other about it.
 *
 * The core pins user memory, keeps the keys of each socket, parses requests and tells programs
 * how they ended.  The transport makes keys of pinned memory and carries operations out.
 *
 * Keys.  mr_map makes a key of pinned pages; they stay pinned until mr_unmap has returned.  A
 * key belongs to a device and not to a connection, so it is valid before any is there.
 *
 * Operations.  A message may have one transfer and one atomic operation (struct rds_tx_ops),
 * which the transport posts, in that order, ahead of the message's first frame.  Before it posts
 * the first of them it sets @posted; from then on they are never posted again, whatever becomes
 * of the connection.  For each posted operation it holds one reference (rds_op_get()) and calls
 * rds_op_done() exactly once, when the device will not touch the local memory any more and the
 * outcome is known, and at the latest before path_close returns.  The message may be gone by
 * then.
 */
#ifndef _NET_RDS_MEMOP_H
#define _NET_RDS_MEMOP_H

#include <linux/bits.h>
#include <linux/bvec.h>
#include <linux/in6.h>
#include <linux/types.h>

struct net;
struct rds_path;

/* Bytes of one key and of one operation, at most, and pages of a key; an operation may have more */
#define RDS_MEM_MAX_BYTES	(1024U * 1024)
#define RDS_MEM_MAX_PAGES	(RDS_MEM_MAX_BYTES / PAGE_SIZE + 1)

/* What a peer may do with a key */
#define RDS_MR_REMOTE_READ	BIT(0)
#define RDS_MR_REMOTE_WRITE	BIT(1)	/* and atomic operations, if the device has them */
#define RDS_MR_USE_ONCE		BIT(2)	/* it ends with its first use, if the device can do that */

/*
 * Set in the offset of a key that ends with its first use and whose device takes Send with
 * Invalidate.  In-tree's offsets are smaller than a page, so a peer of that kind never shows it.
 */
#define RDS_MR_OFFSET_ONCE	BIT(31)

/**
 * struct rds_mem - pinned user memory
 * @bv: one entry per run within a page, in the order of the user's vector
 * @nr: entries of @bv
 * @bytes: sum
 * @writable: pinned for writing by the device
 */
struct rds_mem {
	struct bio_vec	*bv;
	unsigned int	nr;
	u32		bytes;
	bool		writable;
};

/**
 * struct rds_mr_key - a key, as its transport made it
 * @rkey: what a peer puts into its requests
 * @offset: address of the first byte, likewise; no kernel or user address
 * @handle: the transport's
 */
struct rds_mr_key {
	u32	rkey;
	u32	offset;
	void	*handle;
};

enum rds_op_kind {
	RDS_OP_READ,		/* remote memory into ours */
	RDS_OP_WRITE,		/* ours into remote memory */
	RDS_OP_FADD,		/* fetch and add */
	RDS_OP_CSWP,		/* compare and swap */
};

/**
 * struct rds_op - one remote memory operation, as a transport sees it
 * @kind: which
 * @masked: an atomic operation with masks that mean something
 * @fence: what follows in the message waits for it
 * @rkey: key of the remote memory
 * @raddr: first remote byte, the key's offset included
 * @mem: local memory: source of a WRITE, sink of a READ, 8 bytes for the old value of an atomic
 * @bytes: to transfer, at most @mem->bytes; 8 for atomics
 * @add: FADD: what to add
 * @nocarry_mask: masked FADD
 * @compare: CSWP
 * @swap: CSWP
 * @compare_mask: masked CSWP
 * @swap_mask: masked CSWP
 *
 * Constant from the time a transport sees it.  Counted: the message has a reference, and so has
 * the transport for as long as the operation is under way.
 */
struct rds_op {
	enum rds_op_kind	kind;
	bool			masked;
	bool			fence;
	u32			rkey;
	u64			raddr;
	const struct rds_mem	*mem;
	u32			bytes;
	union {
		struct {
			u64	add;
			u64	nocarry_mask;
		};
		struct {
			u64	compare;
			u64	swap;
			u64	compare_mask;
			u64	swap_mask;
		};
	};
};

/**
 * struct rds_tx_ops - the operations of a message
 * @rdma: READ or WRITE, or NULL
 * @atomic: FADD or CSWP, or NULL
 * @silent: the message itself is not sent.  The core sees to its end when its operations are
 *	done; the transport sets rds_tx_msg.end as if it had been sent.
 * @posted: the transport has given, or tried to give, one of them to the device
 * @retire: rkey of the peer's that ends with this use, for Send with Invalidate; 0 if none
 */
struct rds_tx_ops {
	struct rds_op	*rdma;
	struct rds_op	*atomic;
	bool		silent;
	bool		posted;
	u32		retire;
};

/* How an operation ended, as RDS_CMSG_RDMA_STATUS has it; the numbers are those of RDS_RDMA_*. */
enum rds_op_status {
	RDS_OP_SUCCESS		= 0,	/* carried out, exactly once */
	RDS_OP_REMOTE_ERROR	= 1,	/* the peer's device refused it */
	RDS_OP_CANCELED		= 2,	/* the core's: cancelled before it was posted */
	RDS_OP_DROPPED		= 3,	/* cut by the end of the connection: at most once */
	RDS_OP_OTHER_ERROR	= 4,	/* any other failure: at most once */
};

/**
 * struct rds_memop_ops - remote memory operations of a transport
 *
 * @mr_map: Make a key of pinned memory, for peers that reach the host at a local address.
 *	@rights are RDS_MR_*.  Works without any connection.
 *	Context: process, may sleep, no locks held.
 *	Returns 0 with @key filled; -ENODEV: no device has the address; -EMSGSIZE: more pages than
 *	a key of the device holds; -ENOSPC: the device has no more keys to give; -EINVAL: the
 *	device cannot map this layout; -ENOMEM; -EAGAIN: the device is coming up or recovering.
 * @mr_unmap: End a key; on return no peer can use it, and the device has left the memory.
 *	Context: process, may sleep, no locks held.
 * @mr_flush: Give back what is kept of ended keys for later use.
 *	Context: as @mr_unmap.
 * @op_check: Can an operation be carried out from this local address?  Nothing is sent.
 *	Context: as @mr_map.
 *	Returns 0; -EOPNOTSUPP: the device has no such operation; -ENODEV.
 */
struct rds_memop_ops {
	int (*mr_map)(struct net *net, const struct in6_addr *laddr, u32 scope,
		      const struct rds_mem *mem, u32 rights, struct rds_mr_key *key);
	void (*mr_unmap)(void *handle);
	void (*mr_flush)(struct net *net);
	int (*op_check)(struct net *net, const struct in6_addr *laddr, u32 scope,
			const struct rds_op *op);
};

/* Keep an operation; the reference ends with rds_op_done(). */
void rds_op_get(struct rds_op *op);

/**
 * rds_op_done - an operation is over
 * @path: path whose message it belonged to
 * @op: the operation; the transport's reference goes to the core
 * @status: how it ended
 *
 * Context: any but hard interrupts.
 */
void rds_op_done(struct rds_path *path, struct rds_op *op, enum rds_op_status status);

/**
 * rds_mr_retired - a peer's Send with Invalidate ended a key of ours
 * @path: path it came over
 * @rkey: the key; unknown ones are ignored
 *
 * The transport has noted it already; mr_unmap is still called for it.
 *
 * Context: any but hard interrupts.
 */
void rds_mr_retired(struct rds_path *path, u32 rkey);

#endif
