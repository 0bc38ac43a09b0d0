/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remote memory: the interface between the core and a transport with RDMA.
 *
 * The core pins user memory, keeps the keys of each socket, parses requests and
 * notifies programs of their outcome.  The transport makes keys of pinned
 * memory and carries operations out.
 *
 * Keys.  mr_reg makes a key of pinned pages; the pages stay pinned until
 * mr_dereg has returned.  A key belongs to a device and not to a connection, so
 * it is valid before a connection exists.
 *
 * Operations.  A message may have one READ or WRITE and one atomic operation
 * (struct rds_tx_request), which the transport posts, in that order, ahead of
 * the message's first frame.  Before the transport posts the first of the two
 * it sets rds_tx_request.posted; from then on neither is posted again, even if
 * the connection is lost.  The message stays in the batch until its frames are
 * taken or the path is lost, also if its socket cancels the message: so the
 * core calls a transport that had no room for all work requests again, and the
 * transport posts the others.  For each operation the transport takes one
 * reference (rds_operation_get()) before it posts, and calls
 * rds_operation_done() exactly once: when the device does not access the local
 * memory any more and the outcome is known, and at the latest before path_close
 * returns.  The message may be freed by then.
 */
#ifndef _NET_RDS_MEMOP_H
#define _NET_RDS_MEMOP_H

#include <linux/bits.h>
#include <linux/bvec.h>
#include <linux/in6.h>
#include <linux/types.h>

struct net;
struct rds_path;

/*
 * Largest number of bytes of a key or an operation, and of pages of a key.  The
 * memory of an operation may be in many pieces, and in more pages then.
 */
#define RDS_MEM_MAX_BYTES	(1024U * 1024)
#define RDS_MEM_MAX_PAGES	(RDS_MEM_MAX_BYTES / PAGE_SIZE + 1)

/* Rights of a peer to the memory of a key */
#define RDS_MR_REMOTE_READ	BIT(0)
/* and atomic operations, if the device has them */
#define RDS_MR_REMOTE_WRITE	BIT(1)
/* the first use ends the key, if the device can do that */
#define RDS_MR_USE_ONCE		BIT(2)

/*
 * Set in the offset of a key that ends with its first use and whose device
 * takes Send with Invalidate.  Offsets of in-tree's keys are smaller than a
 * page, so they never have this bit.
 */
#define RDS_MR_OFFSET_ONCE	BIT(31)

/**
 * struct rds_mem - pinned user memory
 * @bv: page fragments in the order of the user's vector; none crosses the end
 *	of a page
 * @nr: number of entries of @bv
 * @bytes: sum of the bytes of all entries
 * @writable: the device may write to the memory
 */
struct rds_mem {
	struct bio_vec	*bv;
	unsigned int	nr;
	u32		bytes;
	bool		writable;
};

/**
 * struct rds_mr_key - key that a transport made
 * @rkey: number of the key in requests of a peer
 * @offset: address of the first byte of the memory in requests of a peer; not a
 *	kernel or user address
 * @handle: handle of the transport, for mr_dereg
 */
struct rds_mr_key {
	u32	rkey;
	u32	offset;
	void	*handle;
};

enum rds_operation_kind {
	RDS_OP_READ,		/* from remote to local memory */
	RDS_OP_WRITE,		/* from local to remote memory */
	RDS_OP_FADD,		/* fetch and add */
	RDS_OP_CSWP,		/* compare and swap */
};

/**
 * struct rds_tx_operation - part of a remote memory operation that a transport
 * reads
 * @kind: READ, WRITE, FADD or CSWP
 * @masked: an atomic operation has masks with an effect
 * @fence: later work requests of the message wait for the end of this operation
 * @rkey: rkey of the remote memory
 * @raddr: address of the first remote byte, the key's offset included
 * @mem: local memory: source of a WRITE, destination of a READ, or 8 bytes for
 *	the old value of an atomic operation
 * @bytes: bytes to transfer, at most @mem->bytes; 8 for an atomic operation
 * @add: FADD: value to add
 * @nocarry_mask: masked FADD: bits that do not carry into the next bit
 * @compare: CSWP: value to compare with
 * @swap: CSWP: new value
 * @compare_mask: CSWP: bits that are compared
 * @swap_mask: CSWP: bits that are replaced
 *
 * Constant while a transport may read the operation.  Counted: the message
 * holds one reference, and the transport holds one from rds_operation_get() to
 * rds_operation_done().
 */
struct rds_tx_operation {
	enum rds_operation_kind	kind;
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
 * struct rds_tx_request - operations of a message, for its transport
 * @rdma: READ or WRITE, or NULL
 * @atomic: FADD or CSWP, or NULL
 * @silent: only the operations are posted, and the message is not sent.  The
 *	core frees the message when its operations are done; the transport sets
 *	rds_tx_msg.end as if it were sent.  The transport sets this for a
 *	message that is not to be sent, as its device refused the operations;
 *	all of them are done then.
 * @posted: the transport has posted, or tried to post, at least one of the
 *	operations; set by the transport
 * @invalidate_rkey: rkey of the peer for Send with Invalidate, as this use ends
 *	the key; 0 if no key ends
 */
struct rds_tx_request {
	struct rds_tx_operation	*rdma;
	struct rds_tx_operation	*atomic;
	bool			silent;
	bool			posted;
	u32			invalidate_rkey;
};

/*
 * How an operation ended; RDS_CMSG_RDMA_STATUS reports these numbers, which are
 * RDS_RDMA_*.
 */
enum rds_operation_status {
	RDS_OP_SUCCESS		= 0,	/* carried out, exactly once */
	RDS_OP_REMOTE_ERROR	= 1,	/* refused by the device of the peer */
	/* cancelled before it was posted; set by the core only */
	RDS_OP_CANCELED		= 2,
	/* connection lost: carried out at most once */
	RDS_OP_DROPPED		= 3,
	/* any other failure: carried out at most once */
	RDS_OP_OTHER_ERROR	= 4,
};

/**
 * struct rds_memop_vtable - remote memory operations of a transport
 *
 * @mr_reg: Make a key of pinned memory, for peers that reach the host at the
 *	local address @laddr.  @rights are RDS_MR_*.  Needs no connection.
 *	Context: process, may sleep, no locks held.
 *	Returns 0 with @key filled; -ENODEV: no device has the address;
 *	-EMSGSIZE: more pages than a key of the device can have; -ENOSPC: all
 *	keys of the device are in use; -EINVAL: the device cannot map this
 *	layout; -ENOMEM; -EAGAIN: the device is coming up or recovering.
 * @mr_dereg: End a key.  On return no peer can use the key, and the device does
 *	not access the memory.
 *	Context: process, may sleep, no locks held.
 * @mr_flush: Release ended keys that are kept for reuse.
 *	Context: process, may sleep, no locks held.
 * @op_check: Can an operation be carried out from the local address @laddr?
 *	Posts nothing.
 *	Context: process, may sleep, no locks held.
 *	Returns 0; -EOPNOTSUPP: the device has no such operation; -ENODEV: no
 *	device has the address.
 */
struct rds_memop_vtable {
	int (*mr_reg)(struct net *net, const struct in6_addr *laddr, u32 scope,
		      const struct rds_mem *mem, u32 rights,
		      struct rds_mr_key *key);
	void (*mr_dereg)(void *handle);
	void (*mr_flush)(struct net *net);
	int (*op_check)(struct net *net, const struct in6_addr *laddr,
			u32 scope, const struct rds_tx_operation *op);
};

/*
 * Take a reference to an operation for the transport; rds_operation_done()
 * drops it.
 */
void rds_operation_get(struct rds_tx_operation *op);

/**
 * rds_operation_done - report the end of an operation
 * @path: path of the operation's message
 * @op: operation; the reference of the transport is dropped
 * @status: how the operation ended
 *
 * Context: any but hard interrupts.
 */
void rds_operation_done(struct rds_path *path, struct rds_tx_operation *op,
			enum rds_operation_status status);

/**
 * rds_mr_invalidated - report that a peer's Send with Invalidate ended a key of
 * this host
 * @path: path over which the Send came
 * @rkey: rkey of the key; an unknown one is ignored
 *
 * The transport knows already that the key ended; the core still calls mr_dereg
 * for the key.
 *
 * Context: any but hard interrupts.
 */
void rds_mr_invalidated(struct rds_path *path, u32 rkey);

#endif
