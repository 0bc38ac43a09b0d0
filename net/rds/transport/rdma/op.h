/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations on remote memory under way: made and ended in op.c, posted and completed in op_wr.c.
 * data.h says who owns one; all that changes after it was entered does so under
 * rds_rdma_conn.tx_lock until @ending is set, and belongs to who set that from then on.
 */
#ifndef _RDS_RDMA_OP_H
#define _RDS_RDMA_OP_H

#include "data.h"

/**
 * struct rds_rdma_op - an operation under way
 * @node: in rds_rdma_conn.ops
 * @pending: in rds_rdma_conn.op_pending, or empty
 * @cqe: completion of all of its work requests
 * @conn: connection
 * @op: the core's operation, counted
 * @status: first bad one
 * @dir: direction of the DMA mapping
 * @fenced: counted in op_fenced
 * @confirm: a READ that confirms is still to be posted
 * @ending: rds_rdma_op_end() has it
 * @wrs: work requests the device has
 * @next: first entry of @sge that is not posted
 * @done: bytes posted
 * @sink: key of the sink of a READ, or NULL
 * @bounce: pages that are read into, or NULL
 * @nr_bounce: their number
 * @nr_sge: entries of @sge
 * @sge: local memory, mapped
 */
struct rds_rdma_op {
	struct list_head	node;
	struct list_head	pending;
	struct ib_cqe		cqe;
	struct rds_rdma_conn	*conn;
	struct rds_op		*op;
	enum rds_op_status	status;
	enum dma_data_direction	dir;
	bool			fenced;
	bool			confirm;
	bool			ending;
	unsigned int		wrs;
	unsigned int		next;
	u32			done;
	struct rds_rdma_mr	*sink;
	struct bio_vec		*bounce;
	unsigned int		nr_bounce;
	unsigned int		nr_sge;
	struct ib_sge		sge[];
};

/* All of its work requests are through, and the caller has set @ending. */
void rds_rdma_op_end(struct rds_rdma_op *rop);

/* op_wr.c: a work request is through */
void rds_rdma_op_done(struct ib_cq *cq, struct ib_wc *wc);

#endif
