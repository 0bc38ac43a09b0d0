// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The queue pair of a connection id.
 *
 *   - ib_drain_qp() waits for the device and not for the peer: it moves the
 *     queue pair to the error state and waits for one more completion, for
 *     which the user keeps room.  rxe, siw and the hardware drivers allow that
 *     from any state that rdma_create_qp() or the CM leave it in, also if it
 *     never reached RTS (in the error state rxe flushes what is posted,
 *     whatever the state was before; siw completes it at once).  A CM that uses
 *     the queue pair at the same time finds it in the error state and reports a
 *     failure, or in RESET (quirks.c) and connects a queue pair whose id is
 *     about to disconnect.
 *   - A queue pair of iWARP that was never connected is not drained: irdma may
 *     never flush it.  Nobody waits for its completions, which end with it.
 *   - Completions that the drain does not wait for.  siw keeps in the send
 *     queue what it finds there when the connection is being terminated, and
 *     flushes it later from its CM.  After ib_destroy_qp() no completion is
 *     left but on the completion queue, which is not shared there
 *     (rds_dev_props.soft) and which .qp_gone destroys.
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "layer.h"
#include "quirks.h"

static void qp_event(struct ib_event *ev, void *context)
{
	struct rds_dev_id *id = context;

	switch (ev->event) {
	case IB_EVENT_COMM_EST:
		rdma_notify(id->cm_id, ev->event);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		/*
		 * May be a hard interrupt, where upcalls are not allowed:
		 * @timer reports it.
		 */
		WRITE_ONCE(id->qp_error, true);
		mod_timer(&id->timer, jiffies);
		break;
	default:
		break;
	}
}

int rds_dev_id_create_qp(struct rds_dev_id *id, struct ib_qp_init_attr *attr)
{
	int err;

	attr->qp_type = IB_QPT_RC;
	attr->sq_sig_type = IB_SIGNAL_REQ_WR;
	attr->event_handler = qp_event;
	attr->qp_context = id;
	err = rdma_create_qp(id->cm_id, id->dom->pd, attr);
	if (!err)
		id->qp = id->cm_id->qp;
	return err;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_create_qp, RDS_DEV_NS);

bool rds_dev_id_drains(const struct rds_dev_id *id)
{
	return id->connected || !id->dev->props.iwarp;
}

void rds_dev_id_destroy_qp(struct rds_dev_id *id)
{
	if (id->qp) {
		rds_dev_quirk_reset(id->dev, id->qp);
		rdma_destroy_qp(id->cm_id);
		/* For a softirq that has taken completions off the queue. */
		if (!rds_dev_id_drains(id))
			synchronize_rcu_expedited();
	}
	id->qp = NULL;
	id->ops->qp_gone(id);
}
