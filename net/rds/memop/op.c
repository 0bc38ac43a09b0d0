// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Operations from the time they are queued: who has them, and how they end. */
#include <linux/module.h>
#include <linux/slab.h>

#include "endpoint/endpoint.h"
#include "endpoint/note.h"
#include "memop/memop.h"
#include "msg/message.h"

void rds_op_get(struct rds_op *op)
{
	struct rds_memop_op *o = rds_to_memop_op(op);

	refcount_inc(&o->ref);
	WRITE_ONCE(o->taken, true);
}
EXPORT_SYMBOL_NS_GPL(rds_op_get, RDS_NS);

/**
 * rds_memop_op_put - give up a reference
 * @op: the operation
 */
void rds_memop_op_put(struct rds_memop_op *op)
{
	if (refcount_dec_and_test(&op->ref))
		kfree(op);
}

/**
 * rds_memop_finish - an operation is over: free its memory, tell its socket
 * @op: the operation
 * @status: how it ended
 *
 * The first call counts.  Without RDS_RDMA_NOTIFY_ME a socket hears of failures only, and not of
 * what it cancelled itself.
 */
void rds_memop_finish(struct rds_memop_op *op, enum rds_op_status status)
{
	struct rds_pin *pin = op->pin;
	struct rds_note *note = op->note;
	bool tell = op->notify || (status != RDS_OP_SUCCESS && status != RDS_OP_CANCELED);

	if (WARN_ON_ONCE(READ_ONCE(op->done)))
		return;
	op->pin = NULL;
	op->note = NULL;
	op->status = status;
	/* Pairs with op_over(): who sees it sees the status. */
	smp_store_release(&op->done, 1);
	rds_pin_free(pin, false);
	if (note)
		rds_note_end(note, status, tell);
}

/* The message goes: an operation that no transport took has its end here. */
static void op_release(struct rds_memop_op *op, enum rds_op_status status)
{
	if (!op)
		return;
	if (!READ_ONCE(op->taken))
		rds_memop_finish(op, status);
	rds_memop_op_put(op);
}

/**
 * rds_memop_release - a message with operations goes
 * @mo: its part; no queue has the message any more
 * @unposted: what becomes of operations that were not posted
 */
void rds_memop_release(struct rds_memop *mo, enum rds_op_status unposted)
{
	/* the transport could not post all of them, and gives up the connection */
	if (mo->ops.posted)
		unposted = RDS_OP_DROPPED;
	op_release(mo->rdma, unposted);
	op_release(mo->atomic, unposted);
	kfree(mo);
}

static bool op_over(const struct rds_memop_op *op)
{
	/* Pairs with the release in rds_memop_finish(). */
	return !op || smp_load_acquire(&op->done);
}

static bool op_succeeded(const struct rds_memop_op *op)
{
	return !op || (op_over(op) && op->status == RDS_OP_SUCCESS);
}

/**
 * rds_memop_over - has a message that is not sent itself come to its end?
 * @mo: its part
 *
 * Return: true if it is silent and its operations are finished.
 */
bool rds_memop_over(const struct rds_memop *mo)
{
	return mo->ops.silent && op_over(mo->rdma) && op_over(mo->atomic);
}

/**
 * rds_memop_again - the path was lost: can the message be sent again?
 * @mo: its part; what was posted is finished
 *
 * Operations are never repeated.  A message whose operations succeeded is sent without them; one
 * that would tell the peer of what did not happen is not.
 *
 * Return: true if the message stays, with or without its operations as @mo->ops.posted says.
 */
bool rds_memop_again(struct rds_memop *mo)
{
	if (!mo->ops.posted)
		return true;
	return !mo->ops.silent && op_succeeded(mo->rdma) && op_succeeded(mo->atomic);
}

/**
 * rds_memop_detach - a message leaves its queue
 * @mo: its part
 *
 * Context: the queue's lock is held.
 */
void rds_memop_detach(struct rds_memop *mo)
{
	if (mo->rdma)
		mo->rdma->msg = NULL;
	if (mo->atomic)
		mo->atomic->msg = NULL;
}
