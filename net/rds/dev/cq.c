// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The completion queue of a connection.
 *
 * Hardware raises completions in an interrupt, and the softirq that polls for
 * them runs at once; there queues are shared and come from the device's pool.
 * A software device raises them from a work item or from the task that posts,
 * where raising the softirq wakes ksoftirqd, and the poll waits until ksoftirqd
 * is scheduled.  That is good for a stream, where many frames arrive until then
 * and one poll handles them, and bad for a dialogue, where each step waits.  So
 * on such devices each connection has a queue of its own, and in a dialogue a
 * completion is raised in an interrupt (irq_work), as on hardware.
 *
 * In a dialogue sent and received frames alternate.  A run of more than
 * CQ_RUN_MAX + 1 frames in one direction is a stream.
 *
 * Lifetime: the queue is freed after its queue pair, when the device raises no
 * completion any more; rds_dev_cq_put() waits for an interrupt and for a poll
 * in progress.
 *
 * Lock: rds_dev_cq.run and .rx are under a lock of the user.  A completion
 * reads .run without the lock: both of its ways are correct.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include <net/rds/dev_cq.h>
#include <net/rds/dev.h>

#define CQ_RUN_MAX	4

void rds_dev_cq_turn(struct rds_dev_cq *q, bool rx, unsigned int frames)
{
	WRITE_ONCE(q->run, rx == q->rx ? q->run + frames : frames - 1);
	q->rx = rx;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_cq_turn, RDS_DEV_NS);

static void cq_irq(struct irq_work *work)
{
	struct rds_dev_cq *q = container_of(work, struct rds_dev_cq, irq);

	q->handler(q->cq, q->cq->cq_context);
}

/* Replaces the completion handler of ib_core, which any context may call. */
static void cq_completion(struct ib_cq *cq, void *context)
{
	struct rds_dev_cq *q = context;

	/*
	 * In an interrupt, or with softirqs disabled, the softirq runs without
	 * ksoftirqd.
	 */
	if (in_interrupt() || READ_ONCE(q->run) > CQ_RUN_MAX)
		q->handler(cq, cq->cq_context);
	else
		irq_work_queue(&q->irq);
}

int rds_dev_cq_get(struct rds_dev_cq *q, const struct rds_dev *dev,
		   unsigned int nr_cqe)
{
	struct ib_device *ib = dev->ib;
	struct ib_cq *cq;

	if (!dev->props.soft) {
		cq = ib_cq_pool_get(ib, nr_cqe, -1, IB_POLL_SOFTIRQ);
		if (IS_ERR(cq))
			return PTR_ERR(cq);
		q->nr_cqe = nr_cqe;
	} else {
		cq = ib_alloc_cq_any(ib, q, nr_cqe, IB_POLL_SOFTIRQ);
		if (IS_ERR(cq))
			return PTR_ERR(cq);
		init_irq_work(&q->irq, cq_irq);
		q->handler = cq->comp_handler;
	}
	q->cq = cq;
	/*
	 * No queue pair uses the queue yet, so no completion sees the change.
	 */
	if (q->handler)
		cq->comp_handler = cq_completion;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_cq_get, RDS_DEV_NS);

/*
 * Wait until no softirq uses the queue.  ib_free_cq() does not: a poll marks
 * itself as complete, for which ib_free_cq() waits, and then arms the queue, in
 * memory that may be freed by then, and polls again if the queue is not empty
 * (ib_poll_handler()).  Between irq_poll_disable() and irq_poll_enable() no
 * poll begins, and the grace period ends after the softirq that completed one.
 */
static void cq_wait_poll(struct ib_cq *cq)
{
	irq_poll_disable(&cq->iop);
	synchronize_rcu_expedited();
	irq_poll_enable(&cq->iop);
}

void rds_dev_cq_put(struct rds_dev_cq *q)
{
	if (!q->cq)
		return;
	if (q->handler) {
		irq_work_sync(&q->irq);
		cq_wait_poll(q->cq);
		ib_free_cq(q->cq);
	} else {
		ib_cq_pool_put(q->cq, q->nr_cqe);
	}
	q->cq = NULL;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_cq_put, RDS_DEV_NS);
