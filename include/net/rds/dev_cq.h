/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The completion queue of a connection; cq.c has the reasons and the rules. */
#ifndef _NET_RDS_DEV_CQ_H
#define _NET_RDS_DEV_CQ_H

#include <linux/irq_work.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct rds_dev;

/**
 * struct rds_dev_cq - completion queue of a connection (cq.c)
 * @cq: completion queue: the connection's own if @handler is set, else shared
 *	and of the device's pool; NULL if there is none
 * @handler: completion handler of ib_core, which cq_completion() replaces in an
 *	own queue; else NULL
 * @nr_cqe: number of entries taken from a queue of the pool
 * @irq: calls @handler in an interrupt
 * @run: number of consecutive frames in one direction, minus 1
 * @rx: direction of @run: received frames
 */
struct rds_dev_cq {
	struct ib_cq		*cq;
	ib_comp_handler		handler;
	unsigned int		nr_cqe;
	struct irq_work		irq;
	unsigned int		run;
	bool			rx;
};

/*
 * Make a completion queue, or take one from the pool, for @nr_cqe work
 * requests.  @dev->ib is valid.  Returns 0 or a negative errno; may sleep.
 */
int rds_dev_cq_get(struct rds_dev_cq *q, const struct rds_dev *dev,
		   unsigned int nr_cqe);

/*
 * Undo rds_dev_cq_get(), if it succeeded.  The queue pair is destroyed; may
 * sleep.
 */
void rds_dev_cq_put(struct rds_dev_cq *q);

/*
 * Count @frames, at least one, that were received or sent, under a lock of the
 * user.
 */
void rds_dev_cq_turn(struct rds_dev_cq *q, bool rx, unsigned int frames);

#endif
