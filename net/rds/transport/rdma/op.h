/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remote memory operations under way: made and ended in op.c, posted and
 * completed in op_wr.c.  data.h has the rules of ownership.  Until @ending is
 * set, an operation on rds_rdma_conn.ops changes under rds_rdma_conn.tx_lock
 * only; then it belongs to the context that set @ending.
 */
#ifndef _RDS_RDMA_OP_H
#define _RDS_RDMA_OP_H

#include "data.h"

/**
 * struct rds_rdma_op - an operation under way
 * @node: entry in rds_rdma_conn.ops
 * @pending: entry in rds_rdma_conn.op_pending until all work requests are
 *	posted
 * @cqe: completion of each work request of the operation
 * @conn: connection of the operation
 * @op: operation of the core, counted
 * @req: operations of the message, valid while this is on @pending
 * @status: status of the first completion with an error, else RDS_OP_SUCCESS
 * @dir: direction of the DMA mapping
 * @fenced: the operation is counted in rds_rdma_conn.op_fenced
 * @confirm: the READ that confirms a WRITE is still to be posted
 * @ending: rds_rdma_op_end() is or will be called
 * @wrs: number of work requests that the device has
 * @next: first entry of @sge that is not posted
 * @done: bytes posted
 * @sink: key of the memory a READ goes to, made when the READ is posted, or
 *	NULL
 * @bounce: pages that a READ goes to in place of the program's memory, or NULL
 * @nr_bounce: entries of @bounce
 * @nr_sge: entries of @sge
 * @sge: local memory, mapped, or described by @sink
 */
struct rds_rdma_op {
	struct list_head	node;
	struct list_head	pending;
	struct ib_cqe		cqe;
	struct rds_rdma_conn	*conn;
	struct rds_tx_operation	*op;
	struct rds_tx_request	*req;
	enum rds_operation_status	status;
	enum dma_data_direction	dir;
	bool			fenced;
	bool			confirm;
	bool			ending;
	unsigned int		wrs;
	unsigned int		next;
	u32			done;
	struct rds_dev_mr	*sink;
	struct bio_vec		*bounce;
	unsigned int		nr_bounce;
	unsigned int		nr_sge;
	struct ib_sge		sge[];
};

/*
 * End an operation without work requests in the device.  The caller has set
 * @ending.
 */
void rds_rdma_op_end(struct rds_rdma_op *rop);

/*
 * End the operations on op_pending, which are of one message, as the device
 * takes no work request of the first.  The message is not sent, and the
 * connection goes on.  tx_lock is held; it is dropped meanwhile.  False if the
 * device has work requests of the message, which only the end of the connection
 * ends.
 */
bool rds_rdma_ops_refused(struct rds_rdma_conn *conn);

/* op_wr.c: completion handler of the work requests of operations */
void rds_rdma_op_done(struct ib_cq *cq, struct ib_wc *wc);

#endif
