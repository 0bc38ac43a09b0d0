// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connection ids: how they come up, fail and end.  idfsm.c has their states,
 * and what can meet what in each of them, idqp.c their queue pairs.  Beside
 * that:
 *
 *   - rdma_destroy_id() returns when no handler runs or will run; it is called
 *     from a worker or by the user, never from a handler.
 *   - The device is removed.  An id is entered at its device before it has one
 *     of rdma_cm, and ends then, in any state.
 *   - An interface that is down.  quirks.c shelves ids that cannot be
 *     destroyed, and link.c keeps attempts waiting until they can be dialled.
 */
#include <linux/module.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "layer.h"
#include "quirks.h"

#define RESOLVE_MS	5000

bool rds_dev_id_move(struct rds_dev_id *id, enum rds_dev_id_event event)
{
	enum rds_dev_id_state state = READ_ONCE(id->state);
	int next = rds_dev_id_next(state, event);

	lockdep_assert(lockdep_is_held(&id->lock) ||
		       (state >= RDS_DEV_ID_CLOSED &&
			lockdep_is_held(&id->dev->lock)));
	if (next < 0)
		return false;
	WRITE_ONCE(id->state, next);
	return true;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_move, RDS_DEV_NS);

bool rds_dev_id_on(struct rds_dev_id *id, enum rds_dev_id_event event)
{
	bool moved;

	spin_lock_bh(&id->lock);
	moved = rds_dev_id_move(id, event);
	spin_unlock_bh(&id->lock);
	return moved;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_on, RDS_DEV_NS);

void rds_dev_id_continue(struct rds_dev_id *id, enum rds_dev_id_event event)
{
	spin_lock_bh(&id->lock);
	if (rds_dev_id_move(id, event))
		rds_dev_id_queue_connect(id);
	spin_unlock_bh(&id->lock);
}

void rds_dev_id_fail(struct rds_dev_id *id, enum rds_dev_why why)
{
	bool up;

	spin_lock_bh(&id->lock);
	up = rds_dev_id_is_up(id);
	if (rds_dev_id_move(id, RDS_DEV_ID_EV_END))
		id->ops->lost(id, why, up);
	spin_unlock_bh(&id->lock);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_fail, RDS_DEV_NS);

void rds_dev_id_addr_gone(struct rds_dev_id *id,
			  const struct rds_dev_laddr *la)
{
	if (net_eq(id->local.net, la->net) &&
	    ipv6_addr_equal(&id->local.addr, &la->addr) &&
	    (!la->scope || id->local.scope == la->scope))
		rds_dev_id_fail(id, RDS_DEV_WHY_ADDR);
}

/* Coming up */

/* Bring the id up, if no condition is missing. */
static void id_try_up(struct rds_dev_id *id)
{
	lockdep_assert_held(&id->lock);
	/* Before .up(), as the user may send before that returns. */
	if (id->silent || !rds_dev_id_move(id, RDS_DEV_ID_EV_UP))
		return;
	if (!id->ops->up(id))
		rds_dev_id_move(id, RDS_DEV_ID_EV_END);
}

/*
 * The frame shows that the peer has finished the handshake.  If the handshake's
 * last message was lost, rdma_notify() could replace it, but ib_cm takes locks
 * there that it also takes with softirqs enabled, and this is a softirq.  So
 * the id waits for that message, which the peer's CM repeats.
 */
void rds_dev_id_heard(struct rds_dev_id *id)
{
	spin_lock_bh(&id->lock);
	WRITE_ONCE(id->silent, false);
	id_try_up(id);
	spin_unlock_bh(&id->lock);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_heard, RDS_DEV_NS);

static void id_established(struct rds_dev_id *id)
{
	spin_lock_bh(&id->lock);
	if (rds_dev_id_move(id, RDS_DEV_ID_EV_ESTABLISH))
		id_try_up(id);
	spin_unlock_bh(&id->lock);
	rds_dev_admit_leave(id);
}

/*
 * rdma_cm has answered, or could not be asked; false if the id ends.
 */
static bool id_answered(struct rds_dev_id *id)
{
	bool go;

	spin_lock_bh(&id->lock);
	rds_dev_id_move(id, RDS_DEV_ID_EV_ANSWER);
	go = !rds_dev_id_ends(id);
	spin_unlock_bh(&id->lock);
	return go;
}

/* Requests to rdma_cm */

static int id_event(struct rdma_cm_id *cm_id, struct rdma_cm_event *ev);

/* Make an id of rdma_cm and start to resolve the addresses. */
static int id_resolve(struct rds_dev_id *id)
{
	struct sockaddr_storage src, dst;
	struct rdma_cm_id *cm_id;

	/*
	 * A cm_id holds its namespace, which must not happen to one that is
	 * being removed.
	 */
	if (!maybe_get_net(id->local.net))
		return -ENETDOWN;
	cm_id = rdma_create_id(id->local.net, id_event, id, RDMA_PS_TCP,
			       IB_QPT_RC);
	put_net(id->local.net);
	if (IS_ERR(cm_id))
		return PTR_ERR(cm_id);
	/* Pairs with the address dependency of who finds the attempt by it. */
	smp_store_release(&id->cm_id, cm_id);
	id->responder_resources = id->dev->props.max_rd_atom;
	id->initiator_depth = id->dev->props.max_init_rd_atom;
	rdma_set_service_type(cm_id, id->tos);
	rdma_set_min_rnr_timer(cm_id, IB_RNR_TIMER_000_32);
	rds_dev_link_ask_neighbour(id);
	rds_dev_sockaddr(&src, &id->local.addr, id->local.scope, id->lport);
	rds_dev_sockaddr(&dst, &id->remote, id->local.scope, id->port);
	return rdma_resolve_addr(cm_id, (struct sockaddr *)&src,
				 (struct sockaddr *)&dst, RESOLVE_MS);
}

/* Connect or accept; the queue pair is ready. */
static int id_ask(struct rds_dev_id *id)
{
	u8 buf[RDS_DEV_ID_PRIVATE];
	struct rdma_conn_param param = {
		.private_data = buf,
		.responder_resources = id->responder_resources,
		.initiator_depth = id->initiator_depth,
	};
	int err;

	/*
	 * The link may have failed while addresses were resolved and rings were
	 * filled.
	 */
	if (!id->dev->props.iwarp &&
	    !rds_dev_link_usable(&id->local, &id->remote))
		return -ENETDOWN;
	id->ops->param(id, &param, buf);
	if (!rds_dev_id_on(id, RDS_DEV_ID_EV_ASK))
		return -ECANCELED;
	if (id->accepted) {
		/* What this end was slow in before does not count. */
		rds_dev_id_limit(id);
		rdma_set_min_rnr_timer(id->cm_id, IB_RNR_TIMER_000_32);
		rdma_lock_handler(id->cm_id);
		err = rdma_accept(id->cm_id, &param);
		rdma_unlock_handler(id->cm_id);
	} else {
		err = rdma_connect(id->cm_id, &param);
	}
	if (err)
		id_answered(id);
	return err;
}

static int id_prepare(struct rds_dev_id *id)
{
	/* The route may lead to another device than the address. */
	if (id->cm_id->device != READ_ONCE(id->dev->ib))
		return -ENODEV;
	if (rds_dev_admit_refuses(id))
		return -EBUSY;
	return id->ops->prepare(id);
}

static void id_open(struct rds_dev_id *id)
{
	int err = id_prepare(id) ?: id_ask(id);

	/* siw asks TCP before rdma_connect() returns. */
	if (err)
		rds_dev_id_fail(id, err == -ECONNREFUSED ?
					    RDS_DEV_WHY_REFUSED :
					    RDS_DEV_WHY_DIAL);
}

/* Dial an attempt whose link is usable, if it has a place. */
static int id_dial(struct rds_dev_id *id)
{
	if (!rds_dev_admit(id))
		return 0;
	/* In WAIT_TURN, where the timer for the link does nothing any more. */
	rds_dev_id_limit(id);
	return rds_dev_id_on(id, RDS_DEV_ID_EV_DIAL) ? id_resolve(id) : 0;
}

/* The link has become usable, or it is the turn of the attempt. */
static void id_dial_late(struct rds_dev_id *id)
{
	if (id_dial(id))
		rds_dev_id_fail(id, RDS_DEV_WHY_DIAL);
}

int rds_dev_id_dial(struct rds_dev_id *id, u16 port, u8 tos)
{
	id->port = port;
	id->tos = tos;
	return rds_dev_link_waits(id) ? 0 : id_dial(id);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_dial, RDS_DEV_NS);

/* Nobody takes the request. */
static void id_only(struct rds_dev_id *id)
{
	/* It has ended before, if a walk met it or its peer gave up. */
	rds_dev_id_on(id, RDS_DEV_ID_EV_END);
	rds_dev_id_on(id, RDS_DEV_ID_EV_CLOSE);
}

enum rds_dev_take rds_dev_id_take(struct rds_dev_id *id,
				  struct rdma_cm_id *cm_id,
				  const struct rdma_conn_param *param)
{
	const struct rds_dev_props *props = &id->dev->props;
	bool usable;

	/*
	 * @id is entered and shows @cm_id: the end of the interface or port is
	 * either seen here or fails @id.
	 */
	WRITE_ONCE(id->cm_id, cm_id);
	usable = rds_dev_link_usable(&id->local, &id->remote);
	if (!usable && !props->gsi_dies)
		return RDS_DEV_TAKE_NO;
	id->accepted = true;
	id->silent = props->active_first;
	id->responder_resources = min(props->max_rd_atom,
				      param->responder_resources);
	id->initiator_depth = min(props->max_init_rd_atom,
				  param->initiator_depth);
	cm_id->context = id;
	cm_id->event_handler = id_event;
	if (usable)
		return RDS_DEV_TAKE_YES;
	/* Nothing but the id is left; it is refused by its destruction. */
	id_only(id);
	id->held = true;
	rds_dev_closing(id->dev, id);
	queue_work(id->dom->user->wq, &id->reap_work);
	return RDS_DEV_TAKE_HELD;
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_take, RDS_DEV_NS);

bool rds_dev_id_own(struct rds_dev_id *id, const void *owner)
{
	lockdep_assert_held(&id->lock);
	id->owner = owner;
	/* A request has time from its answer on. */
	if (!id->accepted)
		rds_dev_id_limit(id);
	return !rds_dev_id_ends(id);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_own, RDS_DEV_NS);

void rds_dev_id_accept(struct rds_dev_id *id)
{
	if (rds_dev_id_on(id, RDS_DEV_ID_EV_OPEN))
		id_open(id);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_accept, RDS_DEV_NS);

void rds_dev_id_accept_later(struct rds_dev_id *id)
{
	rds_dev_id_continue(id, RDS_DEV_ID_EV_OPEN);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_accept_later, RDS_DEV_NS);

/* Events of rdma_cm */

static void event_established(struct rds_dev_id *id,
			      const struct rdma_conn_param *param)
{
	if (READ_ONCE(id->state) != RDS_DEV_ID_ANSWERED)
		return;
	id->connected = true;
	if (!id->accepted) {
		id->initiator_depth = min(id->initiator_depth,
					  param->initiator_depth);
		if (!id->ops->answer(id, param)) {
			rds_dev_id_fail(id, RDS_DEV_WHY_ANSWER);
			return;
		}
	}
	id_established(id);
}

static void event_addr_resolved(struct rds_dev_id *id)
{
	if (rdma_resolve_route(id->cm_id, RESOLVE_MS))
		rds_dev_id_fail(id, RDS_DEV_WHY_DIAL);
}

static void event_route_resolved(struct rds_dev_id *id)
{
	struct sa_path_rec *path = id->cm_id->route.path_rec;

	/* iWARP has no path record. */
	if (path && id->dom->user->tos_is_sl)
		path->sl = id->tos & 0x0f;
	rds_dev_id_continue(id, RDS_DEV_ID_EV_OPEN);
}

/* End the id for an event that says so. */
static void event_ends(struct rds_dev_id *id, enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		rds_dev_id_fail(id, RDS_DEV_WHY_DIAL);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		rds_dev_id_fail(id, rds_dev_id_is_up(id) ?
					     RDS_DEV_WHY_TIMEOUT :
					     RDS_DEV_WHY_DIAL);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rds_dev_id_fail(id, RDS_DEV_WHY_REJECTED);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rds_dev_id_fail(id, RDS_DEV_WHY_CLOSED);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rds_dev_id_fail(id, RDS_DEV_WHY_DEVICE);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rds_dev_id_fail(id, RDS_DEV_WHY_ADDR);
		break;
	default:
		break;
	}
}

/* Whether an event answers rdma_connect() or rdma_accept(). */
static bool event_answers(enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		return true;
	default:
		return false;
	}
}

static int id_event(struct rdma_cm_id *cm_id, struct rdma_cm_event *ev)
{
	struct rds_dev_id *id = cm_id->context;

	if (ev->event == RDMA_CM_EVENT_REJECTED)
		rds_dev_quirk_peer_gone(id);
	if (event_answers(ev->event) && !id_answered(id))
		return 0;
	if (rds_dev_id_ends(id))
		return 0;
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		event_addr_resolved(id);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		event_route_resolved(id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		event_established(id, &ev->param.conn);
		break;
	default:
		event_ends(id, ev->event);
		break;
	}
	/* 0: the end of the id destroys @cm_id. */
	return 0;
}

/* Begin and end */

void rds_dev_id_forget(struct rds_dev_id *id)
{
	WARN_ON_ONCE(!rds_dev_id_on(id, RDS_DEV_ID_EV_FREE));
	timer_delete_sync(&id->timer);
	rds_dev_admit_forget(id);
	rds_dev_leave(id->dev, id);
	id->ops->gone(id);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_forget, RDS_DEV_NS);

/* Free the rest of an id that is on rds_dev.closing. */
static void id_finish(struct rds_dev_id *id)
{
	rds_dev_id_destroy_qp(id);
	if (id->cm_id && rds_dev_quirk_shelve(id))
		return;
	if (id->cm_id)
		rdma_destroy_id(id->cm_id);
	rds_dev_id_forget(id);
}

/* Nothing else works on the id, late or not, but perhaps handlers of rdma_cm */
static void id_reap_late(struct rds_dev_id *id)
{
	/*
	 * A late id may have been established, and the CM keeps the queue pair
	 * until this, which waits for the answer.
	 */
	if (id->qp)
		rdma_disconnect(id->cm_id);
	id_finish(id);
}

static void id_reap(struct work_struct *work)
{
	struct rds_dev_id *id = container_of(work, struct rds_dev_id,
					     reap_work);

	cancel_work_sync(&id->connect_work);
	id_reap_late(id);
}

/*
 * connect_work runs from now on, or no more: then returns whether it frees the
 * id, which is late.
 */
static bool id_connects(struct rds_dev_id *id, bool runs)
{
	bool reap;

	spin_lock_bh(&id->lock);
	id->connects = runs;
	reap = id->reap_next;
	spin_unlock_bh(&id->lock);
	return reap;
}

static void id_connect_work(struct work_struct *work)
{
	struct rds_dev_id *id = container_of(work, struct rds_dev_id,
					     connect_work);
	bool reap;

	id_connects(id, true);
	switch (READ_ONCE(id->state)) {
	case RDS_DEV_ID_WAIT_TURN:
		id_dial_late(id);
		break;
	case RDS_DEV_ID_OPENING:
		id_open(id);
		break;
	default:
		break;
	}
	reap = id_connects(id, false);
	if (reap)
		id_reap_late(id);
}

bool rds_dev_id_init(struct rds_dev_id *id, const struct rds_dev_id_ops *ops,
		     struct rds_dev_domain *dom,
		     const struct rds_dev_laddr *local,
		     const struct in6_addr *remote)
{
	id->ops = ops;
	id->dom = dom;
	id->dev = dom->dev;
	id->local = *local;
	id->remote = *remote;
	spin_lock_init(&id->lock);
	INIT_LIST_HEAD(&id->dev_node);
	INIT_LIST_HEAD(&id->shelf_node);
	INIT_LIST_HEAD(&id->due_node);
	INIT_LIST_HEAD(&id->admit_node);
	INIT_WORK(&id->connect_work, id_connect_work);
	INIT_WORK(&id->reap_work, id_reap);
	timer_setup(&id->timer, rds_dev_id_timer, 0);
	return rds_dev_enter(id->dev, id);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_init, RDS_DEV_NS);

void rds_dev_id_refuse(struct rds_dev_id *id, const void *body, u8 bytes)
{
	id_only(id);
	rds_dev_closing(id->dev, id);
	/* Wait for the handler of the request, which may still be running. */
	rdma_lock_handler(id->cm_id);
	if (rds_dev_quirk_may_speak(id))
		rdma_reject(id->cm_id, body, bytes,
			    IB_CM_REJ_CONSUMER_DEFINED);
	rdma_unlock_handler(id->cm_id);
	id_finish(id);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_refuse, RDS_DEV_NS);

void rds_dev_id_end(struct rds_dev_id *id)
{
	bool late;

	spin_lock_bh(&id->lock);
	rds_dev_id_move(id, RDS_DEV_ID_EV_END);
	late = id->dev->props.iwarp &&
	       rds_dev_id_move(id, RDS_DEV_ID_EV_LATE);
	spin_unlock_bh(&id->lock);
	/* From here on nobody queues the work. */
	rds_dev_admit_leave(id);
	if (late) {
		rds_dev_admit_late(id);
		return;
	}
	cancel_work_sync(&id->connect_work);
	if (id->cm_id) {
		rdma_lock_handler(id->cm_id);
		rdma_unlock_handler(id->cm_id);
	}
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_end, RDS_DEV_NS);

void rds_dev_id_stop(struct rds_dev_id *id)
{
	rds_dev_closing(id->dev, id);
	if (rds_dev_id_is_late(id)) {
		/* For completions that began before the id ended. */
		synchronize_rcu_expedited();
		return;
	}
	if (id->qp && rds_dev_quirk_may_speak(id))
		rdma_disconnect(id->cm_id);
	if (id->qp && rds_dev_id_drains(id))
		ib_drain_qp(id->qp);
	rds_dev_id_destroy_qp(id);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_stop, RDS_DEV_NS);

void rds_dev_id_release(struct rds_dev_id *id)
{
	bool reaps;

	if (rds_dev_id_on(id, RDS_DEV_ID_EV_CLOSE)) {
		id_finish(id);
		return;
	}
	/* A notifier of link.c does not wait for late ids. */
	rds_dev_link_quiet(id);
	/*
	 * connect_work may be waiting for TCP, and a second work that waits for
	 * it would take one more place on late_wq.  While it runs for a late id
	 * it is not queued again: nobody does that in ASKED and LATE.
	 */
	spin_lock_bh(&id->lock);
	reaps = id->connects && rds_dev_id_waits(id);
	id->reap_next = reaps;
	spin_unlock_bh(&id->lock);
	if (!reaps)
		queue_work(id->dom->user->late_wq, &id->reap_work);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_id_release, RDS_DEV_NS);
