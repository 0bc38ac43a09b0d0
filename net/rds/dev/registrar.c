// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The registrar of a domain: a queue pair connected to another one of the same
 * device, over which keys are made and ended.  It carries no data.  Keys need a
 * queue pair in the connected state, and a program may need a key before it has
 * any connection.
 *
 * A work item makes the registrar, and makes it anew when it fails.  Only that
 * work touches the ids and queue pairs; CM handlers report events and
 * completions wake.  A connected registrar sends nothing to make or end keys,
 * so it stays when its address or link is removed.
 *
 * RoCE: one queue pair that is its own peer, connected without the CM.  What
 * the CM sends while the link is down, a disconnect request for instance, puts
 * the GSI QP of rxe into the error state for good, and no connection could be
 * made over that device any more.
 *
 * Other devices need the CM.  @init connects to a private listener at a random
 * port, which accepts the one request that carries the secret, and is destroyed
 * when the connection is established.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>

#include "layer.h"
#include "registrar.h"

/* longest time for one step of connecting */
#define REG_STEP_TIME	(2 * HZ)
#define REG_CM_MS	2000		/* time-out of rdma_cm for one step */
/* longest time that users wait for a registrar */
#define REG_WAIT_TIME	(5 * HZ)
/* longest time of a request before reg_fail() */
#define REG_RUN_TIME	(5 * HZ)
#define REG_BACKOFF_MIN	max(1, HZ / 20)
#define REG_BACKOFF_MAX	(5 * HZ)

/* Events that CM handlers reported */
#define REG_EV_ADDR	BIT(0)
#define REG_EV_ROUTE	BIT(1)
#define REG_EV_REQUEST	BIT(2)
#define REG_EV_UP	BIT(3)

/**
 * struct rds_dev_registrar - registrar of a domain
 * @dom: the domain, which outlives its registrar
 * @work: makes and unmakes the registrar
 * @wait: woken when @up, @broken, @stop, @inflight or @events changes
 * @lock: (spin, bh) guards @up to @addr
 * @up: requests can be made
 * @broken: the registrar has failed and must be made anew
 * @stop: the domain ends
 * @inflight: length of @reqs
 * @reqs: requests under way
 * @events: REG_EV_* of the present attempt
 * @addr: address that the registrar is bound to
 * @secret: private data of the registrar's own connection request
 * @backoff: delay before the next attempt, in jiffies
 * @failed: consecutive failed attempts
 * @listen: private listener, or NULL
 * @init: connecting id; NULL on RoCE
 * @acc: accepting id; NULL on RoCE
 * @qp: queue pair that takes the requests: that of @init, or on RoCE the
 *	registrar's own
 * @cq: completion queue of both queue pairs
 * @used: the registrar was up, so that requests may be left in @qp
 * @qp_error: a queue pair reported an error that @work has to handle
 */
struct rds_dev_registrar {
	struct rds_dev_domain	*dom;
	struct delayed_work	work;
	wait_queue_head_t	wait;

	spinlock_t		lock;
	bool			up;
	bool			broken;
	bool			stop;
	unsigned int		inflight;
	struct list_head	reqs;
	unsigned int		events;
	struct rds_dev_laddr	addr;

	u64			secret;
	unsigned long		backoff;
	unsigned int		failed;
	struct rdma_cm_id	*listen;
	struct rdma_cm_id	*init;
	struct rdma_cm_id	*acc;
	struct ib_qp		*qp;
	struct ib_cq		*cq;
	bool			used;
	bool			qp_error;
};

/* Mark the registrar as broken.  Any context but hard interrupts. */
static void reg_fail(struct rds_dev_registrar *reg)
{
	bool was_up;

	spin_lock_bh(&reg->lock);
	was_up = reg->up;
	reg->up = false;
	reg->broken = true;
	if (was_up && !reg->stop) {
		rds_dev_stats_inc(reg->dom, rdma_registrar_rebuilt);
		mod_delayed_work(rds_dev_wq, &reg->work, 0);
	}
	wake_up_all(&reg->wait);
	spin_unlock_bh(&reg->lock);
}

static void reg_says(struct rds_dev_registrar *reg, unsigned int event)
{
	spin_lock_bh(&reg->lock);
	reg->events |= event;
	wake_up_all(&reg->wait);
	spin_unlock_bh(&reg->lock);
}

/*
 * Accept the own request only: rdma_cm rejects those for which a handler
 * returns an error.
 */
static int reg_request(struct rds_dev_registrar *reg, struct rdma_cm_id *id,
		       const struct rdma_conn_param *param)
{
	bool ours = param->private_data &&
		    param->private_data_len >= sizeof(reg->secret) &&
		    !memcmp(param->private_data, &reg->secret,
			    sizeof(reg->secret));

	if (!ours || reg->acc)
		return -ECONNREFUSED;
	reg->acc = id;
	reg_says(reg, REG_EV_REQUEST);
	return 0;
}

static int reg_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rds_dev_registrar *reg = id->context;

	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return reg_request(reg, id, &ev->param.conn);
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		reg_says(reg, REG_EV_ADDR);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		reg_says(reg, REG_EV_ROUTE);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (id != READ_ONCE(reg->acc))
			reg_says(reg, REG_EV_UP);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		reg_fail(reg);
		break;
	}
	return 0;
}

/* May run in a hard interrupt */
static void reg_qp_event(struct ib_event *ev, void *context)
{
	struct rds_dev_registrar *reg = context;

	switch (ev->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
	case IB_EVENT_DEVICE_FATAL:
		WRITE_ONCE(reg->qp_error, true);
		mod_delayed_work(rds_dev_wq, &reg->work, 0);
		break;
	default:
		break;
	}
}

static int reg_step(struct rds_dev_registrar *reg, unsigned int event)
{
	wait_event_timeout(reg->wait,
			   READ_ONCE(reg->events) & event ||
				   READ_ONCE(reg->broken) ||
				   READ_ONCE(reg->stop),
			   REG_STEP_TIME);
	return READ_ONCE(reg->events) & event && !READ_ONCE(reg->broken) ?
		       0 :
		       -EAGAIN;
}

static void reg_qp_attr(struct rds_dev_registrar *reg,
			struct ib_qp_init_attr *attr, unsigned int depth)
{
	*attr = (struct ib_qp_init_attr) {
		.event_handler	= reg_qp_event,
		.qp_context	= reg,
		.send_cq	= reg->cq,
		.recv_cq	= reg->cq,
		.cap		= {
			.max_send_wr	= depth + 1,	/* one for the drain */
			.max_recv_wr	= 1,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
}

static int reg_qp(struct rds_dev_registrar *reg, struct rdma_cm_id *id,
		  unsigned int depth)
{
	struct ib_qp_init_attr attr;

	reg_qp_attr(reg, &attr, depth);
	return rdma_create_qp(id, reg->dom->pd, &attr);
}

/* A new id in @id, and in @ss the registrar's address without a port */
static int reg_id(struct rds_dev_registrar *reg, struct rdma_cm_id **id,
		  struct sockaddr_storage *ss)
{
	struct rdma_cm_id *new;

	new = rdma_create_id(reg->addr.net, reg_event, reg, RDMA_PS_TCP,
			     IB_QPT_RC);
	if (IS_ERR(new))
		return PTR_ERR(new);
	*id = new;
	rds_dev_sockaddr(ss, &reg->addr.addr, reg->addr.scope, 0);
	return 0;
}

static int reg_listen(struct rds_dev_registrar *reg)
{
	struct sockaddr_storage ss;
	int err = reg_id(reg, &reg->listen, &ss);

	err = err ?: rdma_bind_addr(reg->listen, (struct sockaddr *)&ss);
	if (!err && reg->listen->device != reg->dom->dev->ib)
		err = -ENODEV;
	return err ?: rdma_listen(reg->listen, 1);
}

static int reg_resolve(struct rds_dev_registrar *reg)
{
	struct sockaddr_storage src, dst = reg->listen->route.addr.src_addr;
	int err = reg_id(reg, &reg->init, &src);

	err = err ?: rdma_resolve_addr(reg->init, (struct sockaddr *)&src,
				       (struct sockaddr *)&dst, REG_CM_MS);
	err = err ?: reg_step(reg, REG_EV_ADDR);
	if (!err && reg->init->device != reg->dom->dev->ib)
		err = -ENODEV;
	err = err ?: rdma_resolve_route(reg->init, REG_CM_MS);
	return err ?: reg_step(reg, REG_EV_ROUTE);
}

static int reg_connect(struct rds_dev_registrar *reg)
{
	struct rdma_conn_param param = {
		.private_data		= &reg->secret,
		.private_data_len	= sizeof(reg->secret),
		.responder_resources	= 1,
		.initiator_depth	= 1,
		.retry_count		= 7,
		.rnr_retry_count	= 7,
	};
	struct rdma_conn_param reply = {
		.responder_resources	= 1,
		.initiator_depth	= 1,
		.rnr_retry_count	= 7,
	};
	int err = reg_qp(reg, reg->init, reg->dom->dev->props.reg_depth);

	err = err ?: rdma_connect(reg->init, &param);
	err = err ?: reg_step(reg, REG_EV_REQUEST);
	err = err ?: reg_qp(reg, reg->acc, 1);
	if (!err) {
		rdma_lock_handler(reg->acc);
		err = rdma_accept(reg->acc, &reply);
		rdma_unlock_handler(reg->acc);
	}
	return err ?: reg_step(reg, REG_EV_UP);
}

static int reg_loop(struct rds_dev_registrar *reg)
{
	struct ib_qp_init_attr attr;
	struct ib_qp *qp;

	reg_qp_attr(reg, &attr, reg->dom->dev->props.reg_depth);
	qp = ib_create_qp(reg->dom->pd, &attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	reg->qp = qp;
	return rds_dev_qp_loop(qp, &reg->addr.addr);
}

static int reg_pair(struct rds_dev_registrar *reg)
{
	int err = reg_listen(reg);

	err = err ?: reg_resolve(reg);
	err = err ?: reg_connect(reg);
	if (err)
		return err;
	reg->qp = reg->init->qp;
	rdma_destroy_id(reg->listen);
	reg->listen = NULL;
	return 0;
}

static int reg_make(struct rds_dev_registrar *reg)
{
	const struct rds_dev_props *props = &reg->dom->dev->props;
	struct ib_cq *cq;

	get_random_bytes(&reg->secret, sizeof(reg->secret));
	/*
	 * A completion for each entry of both queue pairs, with those for the
	 * drain
	 */
	cq = ib_alloc_cq(reg->dom->dev->ib, reg,
			 props->reg_depth + RDS_DEV_REG_CQE, 0,
			 IB_POLL_WORKQUEUE);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	reg->cq = cq;
	/* The address of the registrar may be at any port. */
	return props->roce && !props->infiniband ? reg_loop(reg) :
						   reg_pair(reg);
}

static void reg_destroy_id(struct rdma_cm_id **id)
{
	if (!*id)
		return;
	if ((*id)->qp)
		rdma_destroy_qp(*id);
	rdma_destroy_id(*id);
	*id = NULL;
}

/*
 * Free what reg_make() made, also if it failed.  @up is false, so nothing is
 * posted any more.
 */
static void reg_unmake(struct rds_dev_registrar *reg)
{
	struct rds_dev_reg_req *req, *tmp;
	LIST_HEAD(left);

	/*
	 * After this no request can come to the listener, so @acc does not
	 * change any more.
	 */
	reg_destroy_id(&reg->listen);
	if (reg->used) {
		if (reg->init)
			rdma_disconnect(reg->init);
		ib_drain_qp(reg->qp);
	}
	reg->used = false;
	if (reg->qp && !reg->init)
		ib_destroy_qp(reg->qp);
	reg->qp = NULL;
	reg_destroy_id(&reg->init);
	reg_destroy_id(&reg->acc);
	if (reg->cq)
		ib_free_cq(reg->cq);
	reg->cq = NULL;

	/* End requests for which the device has no completion. */
	spin_lock_bh(&reg->lock);
	list_splice_init(&reg->reqs, &left);
	reg->inflight = 0;
	spin_unlock_bh(&reg->lock);
	list_for_each_entry_safe(req, tmp, &left, node) {
		list_del_init(&req->node);
		req->status = IB_WC_WR_FLUSH_ERR;
		complete(&req->done);
	}
}

static void reg_work(struct work_struct *work)
{
	struct rds_dev_registrar *reg =
		container_of(work, struct rds_dev_registrar, work.work);
	struct rds_dev_laddr addr;
	bool nothing;
	int err;

	if (xchg(&reg->qp_error, false))
		reg_fail(reg);
	spin_lock_bh(&reg->lock);
	nothing = reg->up || reg->stop;
	spin_unlock_bh(&reg->lock);
	if (nothing)
		return;
	reg_unmake(reg);
	/* Drop errors that the destroyed queue pairs reported. */
	WRITE_ONCE(reg->qp_error, false);
	/*
	 * rds_dev_registrar_kick() queues the work again when an address
	 * comes.
	 */
	if (!rds_dev_addr_of_domain(reg->dom, &addr, reg->failed))
		return;

	spin_lock_bh(&reg->lock);
	reg->broken = false;
	reg->events = 0;
	reg->addr = addr;
	spin_unlock_bh(&reg->lock);

	err = reg_make(reg);
	if (err) {
		pr_debug("rds_dev: registrar at %pI6c: error %d, events %x\n",
			 &addr.addr, err, reg->events);
		/*
		 * Do not let the CM repeat a request: it does harm while the
		 * link goes down.
		 */
		reg_unmake(reg);
	}
	spin_lock_bh(&reg->lock);
	if (!err && !reg->broken && !reg->stop) {
		reg->up = true;
		reg->used = true;
		reg->backoff = REG_BACKOFF_MIN;
		reg->failed = 0;
		wake_up_all(&reg->wait);
	} else if (!reg->stop) {
		queue_delayed_work(rds_dev_wq, &reg->work, reg->backoff);
		reg->failed++;
		reg->backoff = min(2 * reg->backoff,
				   (unsigned long)REG_BACKOFF_MAX);
	}
	spin_unlock_bh(&reg->lock);
}

int rds_dev_registrar_create(struct rds_dev_domain *dom)
{
	struct rds_dev_registrar *reg = kzalloc_obj(*reg);

	if (!reg)
		return -ENOMEM;
	reg->dom = dom;
	INIT_DELAYED_WORK(&reg->work, reg_work);
	init_waitqueue_head(&reg->wait);
	spin_lock_init(&reg->lock);
	INIT_LIST_HEAD(&reg->reqs);
	reg->backoff = REG_BACKOFF_MIN;
	dom->reg = reg;
	return 0;
}

/*
 * Stop the registrar.  On return it has no object in the device, and no request
 * is under way.
 */
void rds_dev_registrar_stop(struct rds_dev_domain *dom)
{
	struct rds_dev_registrar *reg = dom->reg;

	spin_lock_bh(&reg->lock);
	reg->stop = true;
	reg->up = false;
	wake_up_all(&reg->wait);
	spin_unlock_bh(&reg->lock);
	cancel_delayed_work_sync(&reg->work);
	reg_unmake(reg);
	/*
	 * A queue pair may have reported an error, and queued the work, until
	 * it was destroyed.
	 */
	cancel_delayed_work_sync(&reg->work);
}

void rds_dev_registrar_free(struct rds_dev_domain *dom)
{
	kfree(dom->reg);
}

/* Have the registrar made, as an address leads to the device.  Any context. */
void rds_dev_registrar_kick(struct rds_dev_domain *dom)
{
	struct rds_dev_registrar *reg = dom->reg;

	spin_lock_bh(&reg->lock);
	if (!reg->stop && !reg->up)
		mod_delayed_work(rds_dev_wq, &reg->work, 0);
	spin_unlock_bh(&reg->lock);
}

void rds_dev_registrar_leave(struct rds_dev_domain *dom, const struct net *net)
{
	struct rds_dev_registrar *reg = dom->reg;
	bool there;

	/*
	 * The work may have taken an address of @net before the address became
	 * unusable.
	 */
	flush_delayed_work(&reg->work);
	spin_lock_bh(&reg->lock);
	there = reg->up && reg->addr.net == net;
	spin_unlock_bh(&reg->lock);
	if (!there)
		return;
	reg_fail(reg);
	flush_delayed_work(&reg->work);
}

int rds_dev_registrar_wait(struct rds_dev_domain *dom)
{
	struct rds_dev_registrar *reg = dom->reg;
	long left;

	left = wait_event_killable_timeout(reg->wait,
					   READ_ONCE(reg->up) ||
						   READ_ONCE(reg->stop),
					   REG_WAIT_TIME);
	if (left < 0)
		return -EINTR;
	if (READ_ONCE(reg->stop))
		return -ENODEV;
	return left ? 0 : -EAGAIN;
}

/* Completion handler of requests */
static void reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_dev_reg_req *req = container_of(wc->wr_cqe,
						   struct rds_dev_reg_req,
						   cqe);
	struct rds_dev_registrar *reg = req->reg;

	/* After an error the queue pair takes no request any more. */
	if (wc->status != IB_WC_SUCCESS)
		reg_fail(reg);
	spin_lock_bh(&reg->lock);
	list_del_init(&req->node);
	reg->inflight--;
	wake_up_all(&reg->wait);
	spin_unlock_bh(&reg->lock);
	req->status = wc->status;
	complete(&req->done);
}

static int reg_post(struct rds_dev_registrar *reg,
		    struct rds_dev_reg_req *req, struct ib_send_wr *wr)
{
	const u32 depth = reg->dom->dev->props.reg_depth;
	int err = -EAGAIN;

	spin_lock_bh(&reg->lock);
	while (reg->up && reg->inflight >= depth) {
		spin_unlock_bh(&reg->lock);
		wait_event(reg->wait, !READ_ONCE(reg->up) ||
			   READ_ONCE(reg->inflight) < depth);
		spin_lock_bh(&reg->lock);
	}
	if (reg->up) {
		list_add_tail(&req->node, &reg->reqs);
		reg->inflight++;
		err = ib_post_send(reg->qp, wr, NULL);
		if (err) {
			list_del_init(&req->node);
			reg->inflight--;
			wake_up_all(&reg->wait);
			err = err == -ENOMEM ? -ENOMEM : -EOPNOTSUPP;
		}
	}
	spin_unlock_bh(&reg->lock);
	return err;
}

int rds_dev_registrar_run(struct rds_dev_domain *dom,
			  struct rds_dev_reg_req *req, struct ib_send_wr *wr)
{
	struct rds_dev_registrar *reg = dom->reg;
	int err;

	req->reg = reg;
	req->cqe.done = reg_done;
	init_completion(&req->done);
	wr->wr_cqe = &req->cqe;
	wr->send_flags |= IB_SEND_SIGNALED;
	wr->next = NULL;
	/* What the device did not take is of no concern to other requests. */
	err = reg_post(reg, req, wr);
	if (err)
		return err;
	/*
	 * If the registrar does not answer, it is unmade, which ends its
	 * requests.
	 */
	if (!wait_for_completion_timeout(&req->done, REG_RUN_TIME)) {
		reg_fail(reg);
		wait_for_completion(&req->done);
	}
	switch (req->status) {
	case IB_WC_SUCCESS:
		return 0;
	case IB_WC_WR_FLUSH_ERR:
		return -EAGAIN;
	default:
		return -EINVAL;
	}
}
