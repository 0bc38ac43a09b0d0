// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is done for faults of single drivers, on their devices only.  Each quirk
 * is a flag of rds_dev_props.  selftests/rdma has the lines that show it.
 *
 * rxe, gsi_dies
 *   rxe sends the packets of the CM as any others.  A packet that the network
 *   stack does not take puts the GSI QP into the error state, which does not
 *   end: no connection can be made over that device until it is removed and
 *   added.  The network stack takes no packet without a route, without the GID
 *   that its id was made with, and while the interface has no queue: from the
 *   moment it begins to close to the end of its opening.  (rdma-msg-rxe,
 *   rdma-flaps)
 *
 *   - Connections end before their interface goes down, and the notifier of
 *     link.c waits, with a limit, until their disconnect requests have left:
 *     rdma_destroy_id() returns when they have, and will not be repeated.
 *   - A peer that is told of the end dials again at once.  Its request must not
 *     come while the interface closes: rdma_cm would refuse it by itself, with
 *     a packet that is not taken.  So the notifier also waits until all such
 *     peers have dialled, or none dials any more, and the requests are held:
 *     their ids are shelved.  A refusal would make the peers dial once more.
 *     Held peers have been told to wait by the CM (an MRA, sent when the
 *     handler of the request returns), and are silent until the link is usable
 *     again and they are refused.
 *   - An id whose destruction would send a packet that is not taken is shelved
 *     until the link is usable or its domain ends.  That is for links that
 *     break without notice, and for IPv6, where the notifier is called too
 *     late.  Ids in other namespaces are not shelved, as they would hold those.
 *     An id whose GID was deleted is not shelved: ib_core makes no packet for
 *     it (id_mute()).
 *
 * rxe, reset_first
 *   See rds_dev_quirk_reset().  (rdma-resets-rxe)
 *
 * siw, dial_waits
 *   rdma_connect() returns when TCP has connected or given up, which may take
 *   two minutes, so it is called on a queue for what waits.  (rdma-late)
 *
 * Soft devices that raise completions from a work item or from the task that
 * posts have completion queues of their own, for which cq.c has the reasons.
 */
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "layer.h"
#include "quirks.h"

/*
 * Time after which a peer that was told of an end has dialled again, if it ever
 * will
 */
#define CALL_TIME	(HZ / 2)
/*
 * Time after which the answer to a request has left, and a further request
 * would have come
 */
#define QUIET_TIME	(HZ / 10)
/* Shelved ids that are looked at with the device's lock held */
#define SHELF_BATCH	16

/* hfi1 and qib, whose addresses are virtual as well, are InfiniBand. */
void rds_dev_quirks_fill(struct rds_dev_props *p)
{
	bool rxe = p->soft && p->roce;

	p->gsi_dies = rxe;
	p->reset_first = rxe;
	p->dial_waits = p->soft && p->iwarp;
}

/*
 * rxe queues a packet of the peer's, which may drop the last reference to the
 * queue pair, and then reads the queue pair once more.  In the state RESET rxe
 * takes no packets, and it takes those of the network under RCU; packets that
 * an own task of rxe passes on within one host stay unsafe.  The grace period
 * is an expedited one, as an interface that goes down waits for this, with a
 * limit.
 *
 * While rxe changes the state it runs no task.  A packet that it accepted
 * before, and that it queues behind the emptying of the queues, has nobody who
 * takes it: its reference would hold up the end of the queue pair for 50 s.  So
 * the queues are emptied once more when no such packet can come.
 */
void rds_dev_quirk_reset(const struct rds_dev *dev, struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	if (!dev->props.reset_first)
		return;
	ib_modify_qp(qp, &attr, IB_QP_STATE);
	synchronize_rcu_expedited();
	ib_modify_qp(qp, &attr, IB_QP_STATE);
}

/*
 * Whether the GID of the id still exists, which rxe looks up for each packet.
 * The id has a reference to the entry of the GID table, so the entry has no
 * other GID meanwhile.
 */
static bool id_gid_valid(const struct rds_dev_id *id)
{
	const struct ib_gid_attr *gid = READ_ONCE(id->cm_id->route.addr.dev_addr
							  .sgid_attr);
	const struct ib_device *ib = id->dev->ib;
	bool valid;

	if (!gid || !rdma_protocol_roce(ib, rdma_start_port(ib)))
		return true;
	rcu_read_lock();
	valid = !IS_ERR(rdma_read_gid_attr_ndev_rcu(gid));
	rcu_read_unlock();
	return valid;
}

/*
 * Whether the CM can send nothing for the id.  rdma_create_ah() refuses a GID
 * that was deleted if a flow label is to be sent, as it looks for the interface
 * to hash over (rdma_lag_get_ah_roce_slave()); the CM then ends the id in
 * silence.  Before a route is found there is no id of ib_cm.
 */
static bool id_mute(const struct rds_dev_id *id)
{
	const struct sa_path_rec *path = id->cm_id->route.path_rec;

	return !id_gid_valid(id) && (!path || path->flow_label);
}

bool rds_dev_quirk_may_speak(const struct rds_dev_id *id)
{
	if (!id->dev->props.gsi_dies || READ_ONCE(id->silent_end) ||
	    id_mute(id))
		return true;
	return (id->held ?
			rds_dev_link_usable(&id->local, &id->remote) :
			rds_dev_link_ok(&id->local, &id->remote)) &&
	       id_gid_valid(id);
}

void rds_dev_quirk_peer_gone(struct rds_dev_id *id)
{
	WRITE_ONCE(id->silent_end, true);
	if (rds_dev_id_ends(id))
		rds_dev_addr_kick();
}

void rds_dev_quirk_wait_peers(struct rds_dev *dev, unsigned int nr,
			      unsigned int held, unsigned long until)
{
	if (!nr || !dev->props.gsi_dies)
		return;
	wait_event_timeout(dev->idle, READ_ONCE(dev->held) - held >= nr,
			   rds_dev_time_left(until, CALL_TIME));
	do {
		held = READ_ONCE(dev->held);
	} while (wait_event_timeout(dev->idle, READ_ONCE(dev->held) != held,
				    rds_dev_time_left(until, QUIET_TIME)) &&
		 time_before(jiffies, until));
}

bool rds_dev_quirk_shelve(struct rds_dev_id *id)
{
	struct rds_dev *dev = id->dev;
	bool shelve;

	if (!net_eq(id->local.net, &init_net) ||
	    rds_dev_quirk_may_speak(id))
		return false;
	spin_lock_bh(&dev->lock);
	shelve = !rds_dev_domain_ends(id->dom) &&
		 rds_dev_id_move(id, RDS_DEV_ID_EV_SHELVE);
	if (shelve) {
		list_add_tail(&id->shelf_node, &dev->shelf);
		if (id->held)
			WRITE_ONCE(dev->held, dev->held + 1);
		rds_dev_link_quiet_locked(id);
		wake_up_all(&dev->idle);
	}
	spin_unlock_bh(&dev->lock);
	/* The link may have become usable since the test. */
	if (shelve)
		rds_dev_addr_kick();
	return shelve;
}

/* Release the id, or shelve it again; returns whether it waits for its link. */
static bool unshelve_one(struct rds_dev *dev, struct rds_dev_id *id)
{
	lockdep_assert_held(&dev->lock);
	if (!rds_dev_domain_ends(id->dom) && !rds_dev_quirk_may_speak(id)) {
		list_move_tail(&id->shelf_node, &dev->shelf);
		return id_gid_valid(id);
	}
	list_del_init(&id->shelf_node);
	rds_dev_id_move(id, RDS_DEV_ID_EV_REAP);
	queue_work(id->dom->user->wq, &id->reap_work);
	return false;
}

/*
 * Peers choose the number of ids, so the lock is held for SHELF_BATCH of them
 * at a time.  An id of a domain that ends is released although it may be on the
 * list of another caller: that one looks at the domain again.
 */
bool rds_dev_quirk_unshelve(struct rds_dev *dev)
{
	LIST_HEAD(todo);
	bool left = false;
	unsigned int n;

	spin_lock_bh(&dev->lock);
	list_splice_init(&dev->shelf, &todo);
	while (!list_empty(&todo)) {
		for (n = 0; n < SHELF_BATCH && !list_empty(&todo); n++)
			left |= unshelve_one(dev,
					     list_first_entry(&todo,
							      struct rds_dev_id,
							      shelf_node));
		spin_unlock_bh(&dev->lock);
		cond_resched();
		spin_lock_bh(&dev->lock);
	}
	spin_unlock_bh(&dev->lock);
	return !left;
}
