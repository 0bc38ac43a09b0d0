/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The completion queue of a connection; cq.c has the reasons and the rules. */
#ifndef _RDS_RDMA_CQ_H
#define _RDS_RDMA_CQ_H

#include <linux/irq_work.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct rds_rdma_conn;

/**
 * struct rds_rdma_cq - completion queue of a connection (cq.c)
 * @cq: shared and from the device's pool, or NULL, or its own if there is a @handler
 * @handler: ib_core's, in the place of which is ours; else NULL
 * @nr_cqe: entries taken of a shared one
 * @irq: calls @handler in an interrupt
 * @run: frames in a row in one direction, before the last
 * @rx: the last one came
 */
struct rds_rdma_cq {
	struct ib_cq		*cq;
	ib_comp_handler		handler;
	unsigned int		nr_cqe;
	struct irq_work		irq;
	unsigned int		run;
	bool			rx;
};

/*
 * Make or take a queue for @nr_cqe requests, when the id has a device.  0 or a negative errno; may
 * sleep.
 */
int rds_rdma_cq_get(struct rds_rdma_conn *conn, unsigned int nr_cqe);

/* Undo what _get did, if it did anything.  The queue pair is gone; may sleep. */
void rds_rdma_cq_put(struct rds_rdma_conn *conn);

/* Frames go in this direction, at least one.  rds_rdma_conn.tx_lock is held. */
void rds_rdma_cq_turn(struct rds_rdma_conn *conn, bool rx, unsigned int frames);

#endif
