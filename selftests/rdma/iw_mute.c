// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Makes an iWARP device flush no queue pair that was not connected, as irdma
 * may do (Documentation/rdma.rst).  siw, which flushes at once, is not told: the
 * events of the completion queue wait, from the moment when the device is asked
 * to connect until it has connected, or until the queue pair is destroyed.
 *
 * Ownership: a struct mute_ask is on mute_asks for that time.  The queue pair
 * and the completion queue are there as long, and the id until it is answered.
 * The module cannot be unloaded: connection ids have its handler.
 *
 * Lock: mute_lock (spin, any context) guards mute_asks.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

/**
 * struct mute_ask - a queue pair that is not connected
 * @node: entry in mute_asks
 * @cm_id: its id, or NULL once that is answered
 * @cq: its completion queue, which no other one uses
 * @done: the queue's own handler
 * @held: an event of @cq waits
 */
struct mute_ask {
	struct list_head	node;
	struct iw_cm_id		*cm_id;
	struct ib_cq		*cq;
	ib_comp_handler		done;
	bool			held;
};

static LIST_HEAD(mute_asks);
static DEFINE_SPINLOCK(mute_lock);

static unsigned int asking;
module_param(asking, uint, 0444);
MODULE_PARM_DESC(asking, "requests that have no answer");

/* Functions of the device, and the handler that iw_cm gives all ids */
static int (*own_connect)(struct iw_cm_id *cm_id,
			  struct iw_cm_conn_param *param);
static int (*own_destroy_qp)(struct ib_qp *qp, struct ib_udata *udata);
static iw_event_handler own_event;

static struct mute_ask *find(const struct ib_cq *cq)
{
	struct mute_ask *ask;

	lockdep_assert_held(&mute_lock);
	list_for_each_entry(ask, &mute_asks, node)
		if (ask->cq == cq)
			return ask;
	return NULL;
}

/* Replaces the handler of a queue. */
static void mute_done(struct ib_cq *cq, void *context)
{
	struct mute_ask *ask;
	unsigned long flags;

	spin_lock_irqsave(&mute_lock, flags);
	ask = find(cq);
	if (ask)
		ask->held = true;
	spin_unlock_irqrestore(&mute_lock, flags);
	/* It was connected meanwhile, and the queue has its handler back. */
	if (!ask)
		cq->comp_handler(cq, context);
}

static void ask_end(struct mute_ask *ask)
{
	lockdep_assert_held(&mute_lock);
	list_del(&ask->node);
	WRITE_ONCE(ask->cq->comp_handler, ask->done);
}

/* The request has its answer; returns the entry if it is off the list. */
static struct mute_ask *ask_answered(struct iw_cm_id *cm_id, bool connected)
{
	struct mute_ask *ask;

	lockdep_assert_held(&mute_lock);
	list_for_each_entry(ask, &mute_asks, node) {
		if (ask->cm_id != cm_id)
			continue;
		ask->cm_id = NULL;
		asking--;
		WRITE_ONCE(cm_id->event_handler, own_event);
		if (!connected)
			return NULL;
		ask_end(ask);
		return ask;
	}
	return NULL;
}

static void mute_answer(struct iw_cm_id *cm_id, bool connected)
{
	struct mute_ask *ask;

	spin_lock_irq(&mute_lock);
	ask = ask_answered(cm_id, connected);
	spin_unlock_irq(&mute_lock);
	if (!ask)
		return;
	local_bh_disable();
	if (ask->held)
		ask->done(ask->cq, ask->cq->cq_context);
	local_bh_enable();
	kfree(ask);
}

/* Replaces the handler of an id. */
static int mute_event(struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	bool reply = event->event == IW_CM_EVENT_CONNECT_REPLY;

	mute_answer(cm_id, reply && !event->status);
	return own_event(cm_id, event);
}

static int mute_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct ib_qp *qp = cm_id->device->ops.iw_get_qp(cm_id->device,
							param->qpn);
	struct mute_ask *ask = kzalloc(sizeof(*ask), GFP_KERNEL);
	int err;

	if (!ask)
		return -ENOMEM;
	ask->cm_id = cm_id;
	ask->cq = qp->send_cq;
	ask->done = ask->cq->comp_handler;
	spin_lock_irq(&mute_lock);
	list_add_tail(&ask->node, &mute_asks);
	asking++;
	own_event = cm_id->event_handler;
	WRITE_ONCE(ask->cq->comp_handler, mute_done);
	WRITE_ONCE(cm_id->event_handler, mute_event);
	spin_unlock_irq(&mute_lock);
	err = own_connect(cm_id, param);
	if (err)
		mute_answer(cm_id, false);
	return err;
}

static int mute_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	struct ib_cq *cq = qp->send_cq;
	struct mute_ask *ask = NULL;
	int err = own_destroy_qp(qp, udata);

	if (err)
		return err;
	spin_lock_irq(&mute_lock);
	ask = find(cq);
	if (ask)
		ask_end(ask);
	spin_unlock_irq(&mute_lock);
	kfree(ask);
	return 0;
}

/* Implements &ib_client.add */
static int mute_add(struct ib_device *ib)
{
	if (!ib->ops.iw_connect)
		return -EOPNOTSUPP;
	own_connect = ib->ops.iw_connect;
	own_destroy_qp = ib->ops.destroy_qp;
	WRITE_ONCE(ib->ops.iw_connect, mute_connect);
	WRITE_ONCE(ib->ops.destroy_qp, mute_destroy_qp);
	return 0;
}

/* Implements &ib_client.remove */
static void mute_remove(struct ib_device *ib, void *data)
{
	WRITE_ONCE(ib->ops.iw_connect, own_connect);
	WRITE_ONCE(ib->ops.destroy_qp, own_destroy_qp);
}

static struct ib_client mute_client = {
	.name	= "iw_mute",
	.add	= mute_add,
	.remove	= mute_remove,
};

static int __init iw_mute_init(void)
{
	return ib_register_client(&mute_client);
}
module_init(iw_mute_init);

MODULE_DESCRIPTION("Makes an iWARP device flush nothing that was not connected, for tests");
MODULE_LICENSE("Dual BSD/GPL");
