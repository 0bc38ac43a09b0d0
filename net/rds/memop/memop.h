/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remote memory, as far as no device is involved: pinned user memory, keys of
 * it, and operations on memory of a peer.
 *
 * Pinned memory (struct rds_pin) has one owner, a key or an operation.  Only
 * rds_pin_free() ends it: that call marks the pages dirty that a device may
 * have written, unpins all pages, and undoes the charge to RLIMIT_MEMLOCK.
 *
 * Keys (struct rds_mr) belong to a socket, which finds them by rkey in a tree.
 * The context that takes a key out of the tree, under rds_sock.mr_lock, owns
 * the key and ends it where sleeping is allowed: in a system call, in the
 * release of the socket, or in the work item of a key for one use.  A key holds
 * the module of its transport.
 *
 * Operations (struct rds_operation) are counted: the message holds one
 * reference, and the transport holds one from rds_operation_get() to
 * rds_operation_done().  An operation is finished once, which sets `done`: by
 * rds_operation_done(), or, if no transport took the operation, by the end of
 * its message.  Then its memory is unpinned and its notification (struct
 * rds_note) is queued to the socket, unless the socket is closed.  A read of
 * `done` with acquire makes `status` visible.
 *
 * The operations of a message (struct rds_request) live as long as the message.
 * The lock of the queue that holds the message guards the fields, except for
 * @tx, which the transmitter owns.
 *
 * Locks: rds_sock.mr_lock > mr_table_lock (mr.c).  No other lock is taken
 * inside these two.
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

/* Unpins writable memory and ends keys for contexts that cannot sleep */
extern struct workqueue_struct *rds_memop_wq;

/**
 * struct rds_pin - user memory pinned for devices
 * @mem: the pages, in the form that transports read
 * @mmp: charge of the pages to RLIMIT_MEMLOCK
 * @work: releases the memory if rds_pin_free() must not sleep
 */
struct rds_pin {
	struct rds_mem		mem;
	struct mmpin		mmp;
	struct work_struct	work;
};

/**
 * rds_pin_user - pin memory of the calling task
 * @vec: pieces of memory; no piece is empty or wraps around the end of the
 *	address space, and all pieces together have at most RDS_MEM_MAX_BYTES
 * @nr: number of pieces
 * @write: whether devices may write to the memory
 * @max: largest number of pages
 *
 * Pieces that follow each other in the address space are pinned as one, so that
 * the page in which two of them meet counts once.
 *
 * Context: process, may sleep.
 * Return: the memory or ERR_PTR: -EPERM: the task may not lock memory; -ENOMEM:
 * no memory, or the charge exceeds RLIMIT_MEMLOCK; -EMSGSIZE: more than @max
 * pages; -EFAULT.
 */
struct rds_pin *rds_pin_user(const struct rds_iovec *vec, unsigned int nr,
			     bool write, unsigned int max);

/*
 * Release pinned memory.  A work item does so if the memory is writable and
 * @may_sleep is false.  Any context but hard interrupts.
 */
void rds_pin_free(struct rds_pin *pin, bool may_sleep);

/**
 * struct rds_operation - remote memory operation of a socket
 * @tx: part that the transport reads
 * @ref: references of the message and of the transport
 * @done: 1 once the operation is finished; stored with release, once
 * @taken: a transport holds, or held, a reference
 * @silent: RDS_RDMA_SILENT
 * @notify: RDS_RDMA_NOTIFY_ME
 * @wraps: the remote address wraps around the end of the address space
 * @status: how the operation ended; valid once @done is set
 * @pin: local memory; NULL once the operation is finished
 * @note: notification for the socket; NULL if there is none, and once the
 *	operation is finished
 * @msg: message of the operation, if the message is silent and on a queue, else
 *	NULL; guarded by rds_txq.lock of the queue
 */
struct rds_operation {
	struct rds_tx_operation		tx;
	refcount_t			ref;
	unsigned long			done;
	bool				taken;
	bool				silent;
	bool				notify;
	bool				wraps;
	enum rds_operation_status	status;
	struct rds_pin			*pin;
	struct rds_note			*note;
	struct rds_message		*msg;
};

#define rds_to_operation(o)	container_of(o, struct rds_operation, tx)

/**
 * struct rds_request - operations of one message
 * @tx: part that the transport reads
 * @rdma: READ or WRITE, or NULL
 * @atomic: FADD or CSWP, or NULL
 */
struct rds_request {
	struct rds_tx_request	tx;
	struct rds_operation	*rdma;
	struct rds_operation	*atomic;
};

/* request.c: requests of programs.  Process context, may sleep. */
struct rds_request *rds_request_alloc(void);
int rds_request_add_rdma(struct rds_request *req, struct rds_sock *rs,
			 const struct rds_rdma_args *args,
			 const struct rds_iovec *vec);
int rds_request_add_atomic(struct rds_request *req, struct rds_sock *rs,
			   int type, const struct rds_atomic_args *args);
int rds_request_check(const struct rds_request *req, struct rds_sock *rs,
		      const struct rds_transport *trans);
void rds_request_put_cookie(struct rds_wire_header *hdr, u64 cookie);
void rds_request_attach(struct rds_request *req, struct rds_message *m,
			struct rds_sock *rs);
void rds_request_abort(struct rds_request *req);

/*
 * op.c: end of operations, and of the request of a message.  Any context but
 * hard interrupts.
 */
void rds_operation_finish(struct rds_operation *op,
			  enum rds_operation_status status);
void rds_operation_put(struct rds_operation *op);
void rds_request_release(struct rds_request *req,
			 enum rds_operation_status unposted);
bool rds_request_over(const struct rds_request *req);
bool rds_request_again(struct rds_request *req);
void rds_request_detach(struct rds_request *req);

/* mr.c: keys */
int rds_mr_get(struct rds_sock *rs, const struct rds_iovec *vec,
	       u64 cookie_addr, u64 flags, u64 *cookie);
int rds_mr_free(struct rds_sock *rs, u64 cookie, u64 flags);
bool rds_mr_known(struct rds_sock *rs, u64 cookie);
void rds_mr_used(struct rds_sock *rs, u32 rkey);
void rds_mr_purge(struct rds_sock *rs);

int rds_memop_init(void);
void rds_memop_exit(void);

#endif
