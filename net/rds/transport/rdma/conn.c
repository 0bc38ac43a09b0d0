// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections as objects: how they are made, come up, fail and end, and the
 * functions of &rds_transport for paths.
 *
 * Events that can happen at once, and why that is safe:
 *
 *   - A CM event and path_close.  path_close sets @ending under
 *     rds_rdma_cm.lock, and waits for a handler that did not see it
 *     (rdma_lock_handler()) before it releases anything.  Later handlers see
 *     @ending and touch neither the path nor the data path.  rdma_destroy_id()
 *     returns when no handler runs or will run; it is called from a worker of
 *     the core or of this module, never from a handler.
 *   - connect_work and path_close.  The work is queued under the lock and not
 *     once @ending is set; path_close cancels it or waits for it.  The work
 *     waits only for memory and the device, but for the next case.
 *   - The CM of an iWARP device that does not answer.  rdma_connect() may wait
 *     there for TCP (siw: minutes, with the id's handler mutex held), and
 *     rdma_destroy_id() and rdma_destroy_qp() wait for the end of the MPA
 *     negotiation (siw: 5 to 10 s).  A path cannot wait for that.  @connecting
 *     says that an answer is outstanding; path_close then drains the queue
 *     pair, which needs no CM, ends the data path, and leaves the rest to
 *     reap_work, which makes no upcall and for which the removal of the device
 *     waits.  A path with RDS_RDMA_LATE_MAX such connections does not dial
 *     until one of them is freed.
 *   - An interface that is down.  link.c shelves ids that cannot be destroyed,
 *     and keeps attempts waiting until they can be dialled.  Those have no id
 *     until connect_work dials.
 *   - A dead peer.  The CM of InfiniBand gives up after a minute, TCP after
 *     two.  @timer fails a connection that is not up after RDS_RDMA_SETUP_TIME,
 *     at both ends; the core tries again.
 *   - ib_drain_qp() waits for the device and not for the peer: it moves the
 *     queue pair to the error state and waits for one more completion, for
 *     which rds_rdma_data_attr() keeps room.  rxe, siw and the hardware drivers
 *     allow that from any state that rdma_create_qp() or the CM leave it in,
 *     also if it never reached RTS (in the error state rxe flushes what is
 *     posted, whatever the state was before; siw completes it at once).  A CM
 *     that uses the queue pair at the same time finds it in the error state and
 *     reports a failure, or in RESET (conn_shut_qp()) and connects a queue pair
 *     whose id is about to disconnect.  Nothing is posted behind the drain:
 *     path_close takes tx_lock after it sets @ending, and the data path posts
 *     under tx_lock and only while @ending is not set.
 *   - Completions that the drain does not wait for.  siw keeps in the send
 *     queue what it finds there when the connection is being terminated, and
 *     flushes it later from its CM.  After ib_destroy_qp() no completion is
 *     left but on the completion queue, which is not shared there
 *     (rds_rdma_props.soft) and is destroyed next.  Only then the rings are
 *     freed.
 *   - rdma_create_qp() or another step fails half way.  The connection fails,
 *     and the core calls path_close, which undoes the steps that were done:
 *     each leaves its result or NULL.  That includes an attempt that never got
 *     past address resolution, and has only an id.
 *   - The device is removed.  A connection is entered at its device before it
 *     has an id.  It fails then, at any step, and path_close follows; a request
 *     that waits in the core fails without a path, and path_attach finds that
 *     it failed, or the core refuses it.
 *   - rds_path_up() returns false: the core is about to call path_close;
 *     nothing is posted.
 *   - The first frame and ESTABLISHED (two contexts, any order): the second of
 *     them brings the accepting end up, under the lock.
 *   - A failure and path_close: the first of them sets @ending; only the
 *     context that set it calls rds_path_lost(), under the lock, so no call
 *     comes after path_close has set it.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "devlayer.h"
#include "rdma.h"

/* Longest time from the start of an attempt until messages can be sent */
#define RDS_RDMA_SETUP_TIME	(10 * HZ)
/*
 * With so many closed attempts of a path waiting for an iWARP device, the path
 * does not dial,
 */
#define RDS_RDMA_LATE_MAX	4
/* and with so many it refuses connections of the peer as well. */
#define RDS_RDMA_LATE_REFUSE	8

void rds_rdma_conn_limit(struct rds_rdma_conn *conn)
{
	mod_timer(&conn->cm.timer, jiffies + RDS_RDMA_SETUP_TIME);
}

static void conn_timer(struct timer_list *t)
{
	struct rds_rdma_conn *conn = container_of(t, struct rds_rdma_conn,
						  cm.timer);

	if (READ_ONCE(conn->cm.qp_error))
		rds_rdma_conn_fail(conn, RDS_DROP_SEND_ERROR);
	else if (!READ_ONCE(conn->up))
		rds_rdma_conn_fail(conn, RDS_DROP_DIAL_FAILED);
}

static void conn_qp_event(struct ib_event *ev, void *context)
{
	struct rds_rdma_conn *conn = context;

	switch (ev->event) {
	case IB_EVENT_COMM_EST:
		rdma_notify(conn->id, ev->event);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		/*
		 * May be a hard interrupt, where upcalls are not allowed:
		 * @timer reports it.
		 */
		WRITE_ONCE(conn->cm.qp_error, true);
		mod_timer(&conn->cm.timer, jiffies);
		break;
	default:
		break;
	}
}

/*
 * An iWARP device ends a queue pair by a Terminate message, for an error of
 * either end.  It flushes what is posted, refuses what is posted later, and
 * reports an event; the first of the three ends the connection.  All count
 * under one reason, as their order is chance.  siw reports no event when it
 * finds no receive for a frame: if its CM is the first to tell, nothing shows
 * which end was at fault, and the connection was closed by the peer.
 */
static enum rds_drop_reason reason_of(const struct rds_rdma_conn *conn,
				      enum rds_drop_reason why)
{
	return why == RDS_DROP_SEND_ERROR && conn->dev->props.iwarp ?
		       RDS_DROP_TERMINATED : why;
}

void rds_rdma_conn_fail(struct rds_rdma_conn *conn, enum rds_drop_reason why)
{
	spin_lock_bh(&conn->cm.lock);
	if (!conn->ending) {
		why = reason_of(conn, why);
		WRITE_ONCE(conn->ending, true);
		conn->cm.why = why;
		if (conn->path) {
			if (!conn->up)
				rds_rdma_stats_inc(conn->path->net,
						   rdma_conn_failed);
			rds_path_lost(conn->path, why);
		}
	}
	spin_unlock_bh(&conn->cm.lock);
}

void rds_rdma_conn_device_gone(struct rds_rdma_conn *conn)
{
	rds_rdma_conn_fail(conn, RDS_DROP_DEVICE_GONE);
}

void rds_rdma_conn_addr_gone(struct rds_rdma_conn *conn,
			     const struct rds_rdma_laddr *la)
{
	if (net_eq(conn->local.net, la->net) &&
	    ipv6_addr_equal(&conn->local.addr, &la->addr) &&
	    (!la->scope || conn->local.scope == la->scope))
		rds_rdma_conn_fail(conn, RDS_DROP_ADDR_GONE);
}

/* Bring the connection up, if no condition is missing. */
static void conn_try_up(struct rds_rdma_conn *conn)
{
	lockdep_assert_held(&conn->cm.lock);
	if (!conn->established || conn->silent || conn->up || conn->ending)
		return;
	/* Set before rds_path_up(), as xmit may be called before it returns. */
	WRITE_ONCE(conn->up, true);
	if (conn->is_twin)
		return;
	if (rds_path_up(conn->path)) {
		rds_rdma_stats_inc(conn->path->net, rdma_conn_up);
		return;
	}
	WRITE_ONCE(conn->up, false);
	WRITE_ONCE(conn->ending, true);
}

/*
 * The frame shows that the peer has finished the handshake.  If the handshake's
 * last message was lost, rdma_notify() could replace it, but ib_cm takes locks
 * there that it also takes with softirqs enabled, and this is a softirq.  So
 * the connection waits for that message, which the peer's CM repeats.
 */
void rds_rdma_conn_heard(struct rds_rdma_conn *conn)
{
	spin_lock_bh(&conn->cm.lock);
	WRITE_ONCE(conn->silent, false);
	conn_try_up(conn);
	spin_unlock_bh(&conn->cm.lock);
}

void rds_rdma_conn_established(struct rds_rdma_conn *conn)
{
	spin_lock_bh(&conn->cm.lock);
	WRITE_ONCE(conn->established, true);
	conn_try_up(conn);
	spin_unlock_bh(&conn->cm.lock);
}

void rds_rdma_conn_continue(struct rds_rdma_conn *conn)
{
	spin_lock_bh(&conn->cm.lock);
	if (!conn->ending)
		queue_work(rds_rdma_wq, &conn->connect_work);
	spin_unlock_bh(&conn->cm.lock);
}

bool rds_rdma_conn_ask(struct rds_rdma_conn *conn)
{
	bool go;

	spin_lock_bh(&conn->cm.lock);
	go = !conn->ending;
	if (go)
		conn->cm.connecting = conn->dev->props.iwarp;
	spin_unlock_bh(&conn->cm.lock);
	return go;
}

bool rds_rdma_conn_answered(struct rds_rdma_conn *conn)
{
	bool go;

	spin_lock_bh(&conn->cm.lock);
	conn->cm.connecting = false;
	go = !conn->ending;
	spin_unlock_bh(&conn->cm.lock);
	return go;
}

/*
 * Whether the path has left too many closed attempts that wait for the device.
 * A connection of the peer may still succeed, so it is accepted after this end
 * has stopped dialling.
 */
static bool conn_too_many_late(struct rds_rdma_conn *conn)
{
	const struct rds_rdma_conn *other;
	unsigned int n = 0;

	spin_lock_bh(&conn->dev->lock);
	list_for_each_entry(other, &conn->dev->closing, dev_node)
		n += READ_ONCE(other->cm.late_of) == conn->path;
	spin_unlock_bh(&conn->dev->lock);
	return n >= (conn->accepted ? RDS_RDMA_LATE_REFUSE : RDS_RDMA_LATE_MAX);
}

static int conn_create_qp(struct rds_rdma_conn *conn)
{
	struct ib_qp_init_attr attr = { };
	int err;

	rds_rdma_data_attr(conn->dev, &attr);
	err = rds_rdma_cq_get(conn,
			      attr.cap.max_send_wr + attr.cap.max_recv_wr);
	if (err)
		return err;
	attr.send_cq = conn->cq.cq;
	attr.recv_cq = conn->cq.cq;
	attr.qp_type = IB_QPT_RC;
	attr.sq_sig_type = IB_SIGNAL_REQ_WR;
	attr.event_handler = conn_qp_event;
	attr.qp_context = conn;
	err = rdma_create_qp(conn->id, conn->dev->pd, &attr);
	if (err)
		return err;
	conn->qp = conn->id->qp;
	conn->max_inline = attr.cap.max_inline_data;
	return 0;
}

/*
 * Make all that a connection needs before its peer can send.  path_close undoes
 * it.
 */
static int conn_setup(struct rds_rdma_conn *conn)
{
	int err;

	/* The route may lead to another device than the address. */
	if (conn->id->device != READ_ONCE(conn->dev->ib))
		return -ENODEV;
	if (conn_too_many_late(conn))
		return -EBUSY;
	err = rds_rdma_data_create(conn);
	if (!err)
		err = conn_create_qp(conn);
	if (!err)
		err = rds_rdma_data_start(conn);
	conn->cm.offered = conn->credit.posted;
	return err;
}

static void conn_open(struct rds_rdma_conn *conn)
{
	int err;

	if (READ_ONCE(conn->ending))
		return;
	err = conn_setup(conn);
	if (!err && conn->accepted)
		rds_rdma_data_established(conn);
	if (!err)
		err = rds_rdma_cm_open(conn);
	if (err)
		rds_rdma_conn_fail(conn, RDS_DROP_DIAL_FAILED);
}

/* Dial an attempt whose link has become usable. */
static void conn_dial_late(struct rds_rdma_conn *conn)
{
	if (READ_ONCE(conn->ending))
		return;
	rds_rdma_conn_limit(conn);
	if (rds_rdma_cm_dial(conn))
		rds_rdma_conn_fail(conn, RDS_DROP_DIAL_FAILED);
}

static void conn_connect_work(struct work_struct *work)
{
	struct rds_rdma_conn *conn = container_of(work, struct rds_rdma_conn,
						  connect_work);

	if (conn->id)
		conn_open(conn);
	else
		conn_dial_late(conn);
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
static void conn_shut_qp(const struct rds_rdma_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	if (!conn->dev->props.soft || conn->dev->props.iwarp)
		return;
	ib_modify_qp(conn->qp, &attr, IB_QP_STATE);
	synchronize_rcu_expedited();
	ib_modify_qp(conn->qp, &attr, IB_QP_STATE);
}

/*
 * Destroy queue pair and completion queue; on return no completion runs or will
 * run.
 */
static void conn_destroy_qp(struct rds_rdma_conn *conn)
{
	if (conn->qp) {
		conn_shut_qp(conn);
		rdma_destroy_qp(conn->id);
	}
	conn->qp = NULL;
	rds_rdma_cq_put(conn);
}

/*
 * Free the rest of a connection that no path and no completion uses any more,
 * and that is on rds_rdma_dev.closing.
 */
static void conn_release(struct rds_rdma_conn *conn)
{
	conn_destroy_qp(conn);
	if (conn->id && rds_rdma_link_shelve(conn))
		return;
	if (conn->id)
		rdma_destroy_id(conn->id);
	rds_rdma_conn_free(conn);
}

static void conn_reap_work(struct work_struct *work)
{
	struct rds_rdma_conn *conn = container_of(work, struct rds_rdma_conn,
						  cm.reap_work);

	cancel_work_sync(&conn->connect_work);
	/*
	 * It may have been established meanwhile, and the CM keeps the queue
	 * pair until this.
	 */
	if (conn->qp)
		rdma_disconnect(conn->id);
	conn_release(conn);
}

struct rds_rdma_conn *rds_rdma_conn_new(struct rds_rdma_dev *dev,
					const struct rds_rdma_laddr *local,
					const struct in6_addr *remote)
{
	struct rds_rdma_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->dev = dev;
	conn->local = *local;
	conn->remote = *remote;
	spin_lock_init(&conn->cm.lock);
	spin_lock_init(&conn->tx_lock);
	INIT_LIST_HEAD(&conn->dev_node);
	INIT_LIST_HEAD(&conn->cm.self_node);
	INIT_LIST_HEAD(&conn->ops);
	INIT_WORK(&conn->connect_work, conn_connect_work);
	INIT_WORK(&conn->cm.reap_work, conn_reap_work);
	timer_setup(&conn->cm.timer, conn_timer, 0);
	if (rds_rdma_dev_enter(dev, conn))
		return conn;
	kfree(conn);
	return NULL;
}

void rds_rdma_conn_free(struct rds_rdma_conn *conn)
{
	timer_delete_sync(&conn->cm.timer);
	rds_rdma_dev_leave(conn->dev, conn);
	kfree(conn);
}

void rds_rdma_conn_refuse_later(struct rds_rdma_conn *conn)
{
	spin_lock_bh(&conn->cm.lock);
	WRITE_ONCE(conn->ending, true);
	spin_unlock_bh(&conn->cm.lock);
	conn->cm.held = true;
	rds_rdma_dev_closing(conn->dev, conn);
	queue_work(rds_rdma_wq, &conn->cm.reap_work);
}

/* Functions of &rds_transport */

int rds_rdma_path_init(struct rds_path *path)
{
	struct rds_rdma_path *rp = path->priv;

	rp->path = path;
	return 0;
}

void rds_rdma_path_free(struct rds_path *path)
{
	struct rds_rdma_path *rp = path->priv;

	WARN_ON_ONCE(rp->conn);
}

/*
 * Returns false if the connection failed before, which was not reported to the
 * path.
 */
static bool path_set_conn(struct rds_path *path, struct rds_rdma_conn *conn)
{
	struct rds_rdma_path *rp = path->priv;
	bool good;

	WARN_ON_ONCE(rp->conn);
	rp->conn = conn;
	spin_lock_bh(&conn->cm.lock);
	conn->path = path;
	conn->rpath = rp;
	good = !conn->ending;
	spin_unlock_bh(&conn->cm.lock);
	rds_rdma_conn_limit(conn);
	return good;
}

int rds_rdma_path_connect(struct rds_path *path)
{
	struct rds_rdma_laddr local = {
		.net	= path->net,
		.addr	= path->addr->laddr,
		.scope	= path->addr->ifindex,
	};
	struct rds_rdma_conn *conn;
	struct rds_rdma_dev *dev;
	int err = 0;

	dev = rds_rdma_dev_by_laddr(&local);
	if (!dev)
		return -ENODEV;
	conn = rds_rdma_conn_new(dev, &local, &path->addr->faddr);
	rds_rdma_dev_put(dev);
	if (!conn)
		return -ENOMEM;
	/*
	 * A walk may have failed it already, as its device, interface or
	 * address is going.
	 */
	if (!path_set_conn(path, conn))
		err = -ENETDOWN;
	else if (!rds_rdma_link_waits(conn))
		err = rds_rdma_cm_dial(conn);
	if (err)
		rds_rdma_path_close(path, false);
	return err;
}

/*
 * The peer may have given up while its request waited in the core: then the
 * request has failed, or the CM will refuse to accept it.  In both cases the
 * path is lost and path_close cleans up.
 */
void rds_rdma_path_attach(struct rds_path *path, void *handle)
{
	struct rds_rdma_conn *conn = handle;

	if (!path_set_conn(path, conn)) {
		rds_path_lost(path, conn->cm.why);
		return;
	}
	rds_path_peer_gen(path, conn->peer.gen);
	conn_open(conn);
}

void rds_rdma_refuse(struct net *net, void *handle)
{
	struct rds_rdma_conn *conn = handle;

	rds_rdma_dev_closing(conn->dev, conn);
	/* Wait for the handler of the request, which may still be running. */
	rdma_lock_handler(conn->id);
	if (rds_rdma_link_may_speak(conn))
		rds_rdma_cm_reject(conn->id);
	rdma_unlock_handler(conn->id);
	conn_release(conn);
}

/*
 * End all use of the path.  Returns whether an answer of the CM is outstanding.
 */
static bool conn_end(struct rds_rdma_conn *conn)
{
	bool late;

	spin_lock_bh(&conn->cm.lock);
	WRITE_ONCE(conn->ending, true);
	late = conn->cm.connecting;
	spin_unlock_bh(&conn->cm.lock);
	if (!late) {
		cancel_work_sync(&conn->connect_work);
		if (conn->id) {
			rdma_lock_handler(conn->id);
			rdma_unlock_handler(conn->id);
		}
	}
	/*
	 * Posting contexts test @ending under tx_lock: after this nothing is
	 * posted.
	 */
	spin_lock_bh(&conn->tx_lock);
	spin_unlock_bh(&conn->tx_lock);
	return late;
}

static void conn_close(struct rds_rdma_conn *conn)
{
	bool late = conn_end(conn);

	rds_rdma_dev_closing(conn->dev, conn);
	if (conn->qp) {
		if (!late && rds_rdma_link_may_speak(conn))
			rdma_disconnect(conn->id);
		ib_drain_qp(conn->qp);
	}
	/*
	 * While an answer is outstanding nothing was ever sent, so the drain
	 * was enough.
	 */
	if (!late)
		conn_destroy_qp(conn);
	rds_rdma_data_stop(conn);
	spin_lock_bh(&conn->cm.lock);
	if (late)
		WRITE_ONCE(conn->cm.late_of, conn->path);
	conn->path = NULL;
	conn->rpath = NULL;
	spin_unlock_bh(&conn->cm.lock);
	if (!late) {
		conn_release(conn);
		return;
	}
	/* A notifier of link.c does not wait for late connections. */
	wake_up_all(&conn->dev->idle);
	queue_work(rds_rdma_wq, &conn->cm.reap_work);
}

/*
 * @graceful needs no wait: messages that the peer's RDS has not acknowledged
 * are retransmitted, and received duplicates are recognised.
 */
void rds_rdma_path_close(struct rds_path *path, bool graceful)
{
	struct rds_rdma_path *rp = path->priv;
	struct rds_rdma_conn *conn = rp->conn;
	struct rds_rdma_conn *twin;

	if (!conn)
		return;
	/*
	 * Set first, as an attempt that waits for its link may be dialled at
	 * this moment.
	 */
	spin_lock_bh(&conn->cm.lock);
	WRITE_ONCE(conn->ending, true);
	spin_unlock_bh(&conn->cm.lock);
	twin = rds_rdma_cm_forget_self(conn);
	if (twin)
		conn_close(twin);
	rp->conn = NULL;
	conn_close(conn);
}
