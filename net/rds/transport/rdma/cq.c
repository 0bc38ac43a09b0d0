// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The completion queue of a connection.
 *
 * Hardware raises completions in an interrupt, and the softirq that polls for them follows on the
 * spot; there queues are shared, out of the device's pool.  A software device raises them from a
 * work item or from the task that posts, where a softirq means to wake ksoftirqd and to wait until
 * it is scheduled.  That is good for a stream, of which much is there by then and is taken at one
 * go, and bad for a dialogue, whose every step waits.  So on such devices each connection has a
 * queue of its own, and a completion in a dialogue takes the way through an interrupt
 * (irq_work), as on hardware.
 *
 * What a dialogue is: frames that go take turns with frames that come.  A run of more than
 * CQ_RUN_MAX in one direction is a stream.
 *
 * Lifetime: the queue goes after its queue pair, when the device raises no completion any more;
 * rds_rdma_cq_put() waits for an interrupt that is under way.
 *
 * Lock: rds_rdma_cq.run and .rx are under rds_rdma_conn.tx_lock.  A completion reads .run without
 * it: whichever way it takes is right.
 */
#include "data.h"

#define CQ_RUN_MAX	4

void rds_rdma_cq_turn(struct rds_rdma_conn *conn, bool rx, unsigned int frames)
{
	struct rds_rdma_cq *q = &conn->cq;

	lockdep_assert_held(&conn->tx_lock);
	WRITE_ONCE(q->run, rx == q->rx ? q->run + frames : frames - 1);
	q->rx = rx;
}

static void cq_irq(struct irq_work *work)
{
	struct rds_rdma_cq *q = container_of(work, struct rds_rdma_cq, irq);

	q->handler(q->cq, q->cq->cq_context);
}

/* Takes the place of ib_core's handler, with its rules: any context. */
static void cq_completion(struct ib_cq *cq, void *context)
{
	struct rds_rdma_conn *conn = context;
	struct rds_rdma_cq *q = &conn->cq;

	/* in an interrupt, or with softirqs disabled, it is on its way without ksoftirqd */
	if (in_interrupt() || READ_ONCE(q->run) > CQ_RUN_MAX)
		q->handler(cq, context);
	else
		irq_work_queue(&q->irq);
}

int rds_rdma_cq_get(struct rds_rdma_conn *conn, unsigned int nr_cqe)
{
	struct ib_device *ib = conn->id->device;
	struct rds_rdma_cq *q = &conn->cq;
	struct ib_cq *cq;

	if (!conn->dev->props.soft) {
		cq = ib_cq_pool_get(ib, nr_cqe, -1, IB_POLL_SOFTIRQ);
		if (IS_ERR(cq))
			return PTR_ERR(cq);
		q->nr_cqe = nr_cqe;
	} else {
		cq = ib_alloc_cq_any(ib, conn, nr_cqe, IB_POLL_SOFTIRQ);
		if (IS_ERR(cq))
			return PTR_ERR(cq);
		init_irq_work(&q->irq, cq_irq);
		q->handler = cq->comp_handler;
	}
	q->cq = cq;
	/* nothing is bound to it yet that could complete */
	if (q->handler)
		cq->comp_handler = cq_completion;
	return 0;
}

void rds_rdma_cq_put(struct rds_rdma_conn *conn)
{
	struct rds_rdma_cq *q = &conn->cq;

	if (!q->cq)
		return;
	if (q->handler) {
		irq_work_sync(&q->irq);
		ib_free_cq(q->cq);
	} else {
		ib_cq_pool_put(q->cq, q->nr_cqe);
	}
	q->cq = NULL;
}
