// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queued operations: references to them, and how they end. */
#include <linux/module.h>
#include <linux/slab.h>

#include "memop/memop.h"
#include "msg/message.h"
#include "sock/note.h"
#include "sock/state.h"

void rds_operation_get(struct rds_tx_operation *op)
{
	struct rds_operation *o = rds_to_operation(op);

	refcount_inc(&o->ref);
	WRITE_ONCE(o->taken, true);
}
EXPORT_SYMBOL_NS_GPL(rds_operation_get, RDS_NS);

/**
 * rds_operation_put - drop a reference
 * @op: operation; freed with the last reference
 */
void rds_operation_put(struct rds_operation *op)
{
	if (refcount_dec_and_test(&op->ref))
		kfree(op);
}

/**
 * rds_operation_finish - unpin the memory of an operation and notify its socket
 * @op: operation; a second call for it has no effect but a WARN
 * @status: how the operation ended
 *
 * Without RDS_RDMA_NOTIFY_ME a socket is notified of failures only, and not of
 * operations that the socket cancelled.
 */
void rds_operation_finish(struct rds_operation *op,
			  enum rds_operation_status status)
{
	bool tell = op->notify ||
		    (status != RDS_OP_SUCCESS && status != RDS_OP_CANCELED);
	struct rds_note *note = op->note;
	struct rds_pin *pin = op->pin;

	if (WARN_ON_ONCE(READ_ONCE(op->done)))
		return;
	op->pin = NULL;
	op->note = NULL;
	op->status = status;
	/*
	 * Pairs with the acquire in op_over(), after which the status is read.
	 */
	smp_store_release(&op->done, 1);
	rds_pin_free(pin, false);
	if (note)
		rds_note_end(note, status, tell);
}

/*
 * Drop the reference of the message, and finish an operation that no transport
 * took.
 */
static void op_release(struct rds_operation *op,
		       enum rds_operation_status status)
{
	if (!op)
		return;
	if (!READ_ONCE(op->taken))
		rds_operation_finish(op, status);
	rds_operation_put(op);
}

/**
 * rds_request_release - release the operations of a message that ends
 * @req: operations of the message, which is on no queue any more; freed
 * @unposted: status of operations that no transport took
 */
void rds_request_release(struct rds_request *req,
			 enum rds_operation_status unposted)
{
	/*
	 * The transport could not post all operations, and drops the
	 * connection.
	 */
	if (req->tx.posted)
		unposted = RDS_OP_DROPPED;
	op_release(req->rdma, unposted);
	op_release(req->atomic, unposted);
	kfree(req);
}

static bool op_over(const struct rds_operation *op)
{
	/* Pairs with the release in rds_operation_finish(). */
	return !op || smp_load_acquire(&op->done);
}

static bool op_succeeded(const struct rds_operation *op)
{
	return !op || (op_over(op) && op->status == RDS_OP_SUCCESS);
}

/**
 * rds_request_over - does a message end with its operations, and are they
 * finished?
 * @req: operations of the message
 *
 * Return: true if the message is silent and all its operations are finished.
 */
bool rds_request_over(const struct rds_request *req)
{
	return req->tx.silent && op_over(req->rdma) && op_over(req->atomic);
}

/**
 * rds_request_again - can a message be sent again after its path was lost?
 * @req: operations of the message; posted ones are finished
 *
 * Posted operations are never repeated.  If all of them succeeded, the message
 * is sent without operations.  If one failed, the message is not sent, as it
 * would report an operation to the peer that did not take place.  A silent
 * message has nothing left to send.
 *
 * Return: true if the message is sent again: without operations if
 * @req->tx.posted is set, else with them.
 */
bool rds_request_again(struct rds_request *req)
{
	if (!req->tx.posted)
		return true;
	return !req->tx.silent && op_succeeded(req->rdma) &&
	       op_succeeded(req->atomic);
}

/**
 * rds_request_detach - unlink operations from a message that leaves its queue
 * @req: operations of the message
 *
 * Context: the caller holds rds_txq.lock of the queue, which is not visible
 * here, so no assertion checks it.
 */
void rds_request_detach(struct rds_request *req)
{
	if (req->rdma)
		req->rdma->msg = NULL;
	if (req->atomic)
		req->atomic->msg = NULL;
}
