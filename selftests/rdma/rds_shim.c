// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Makes a software RDMA device behave like adapters that the tests do not have:
 * fewer resources, work requests that are refused, completions that come late
 * or in a hard interrupt, deregistrations that fail, events.
 *
 * This is a client of ib_core and is loaded before rds_rdma: ib_core adds
 * clients to a device in the order in which they were loaded, so rds_rdma sees
 * the attributes and functions of the device as this module has changed them.
 * Limits count for devices added after they were written, all other parameters
 * at once.  Only queue pairs like rds_rdma's count: reliable, of the kernel.
 *
 * Ownership: a struct shim_dev is the client data of its device from add to
 * remove, and has the attributes and functions that remove puts back.  A call
 * finds it by the device.  Callers that ib_core had before (its own management
 * queue pairs) call one or the other function while a pointer changes, both of
 * which are right.  rds_rdma is removed from a device before this module is, as
 * it was added after it.
 *
 * A struct shim_cq replaces the completion handler of a queue from the time
 * when the first queue pair uses the queue until the last one is destroyed:
 * after that the device raises no completion.  Each queue pair holds the
 * module, so that the module cannot be unloaded while one is there.
 *
 * Locks: shim_mutex guards the list of devices and makes, frees and walks
 * struct shim_cq; shim_lock (spin, any context) guards shim_cq.held and hold.
 * The handler finds its shim_cq under RCU.
 */
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

/* Bits of the parameter refuse */
#define SHIM_ATOMIC	BIT(0)	/* atomic operations */
#define SHIM_MASKED	BIT(1)	/* those with masks */
#define SHIM_ATOMIC_KEY	BIT(2)	/* keys with remote atomic access */
#define SHIM_KEY	BIT(3)	/* all keys */
#define SHIM_INV	BIT(4)	/* the end of keys */

/**
 * struct shim_dev - a device that is changed
 * @node: entry in shim_devs
 * @ib: the device
 * @attrs: its own attributes
 * @ops: its own functions
 */
struct shim_dev {
	struct list_head	node;
	struct ib_device	*ib;
	struct ib_device_attr	attrs;
	struct ib_device_ops	ops;
};

/**
 * struct shim_cq - a completion queue whose events can be late
 * @cq: the queue
 * @handler: its own handler
 * @users: number of queue pairs that use it, each end counted
 * @held: an event waits until the parameter hold is cleared
 * @timer: delivers a late event
 * @irq: delivers an event in a hard interrupt
 */
struct shim_cq {
	struct ib_cq		*cq;
	ib_comp_handler		handler;
	unsigned int		users;
	bool			held;
	struct timer_list	timer;
	struct irq_work		irq;
};

static LIST_HEAD(shim_devs);
static DEFINE_MUTEX(shim_mutex);
static DEFINE_SPINLOCK(shim_lock);
static DEFINE_XARRAY(shim_cqs);		/* by the address of the ib_cq */
static struct ib_client shim_client;

#define LIMIT(name, text)						\
	static int name;						\
	module_param(name, int, 0644);					\
	MODULE_PARM_DESC(name, text "; 0: as the device says")

LIMIT(max_send_sge, "most elements of a Send");
LIMIT(max_recv_sge, "most elements of a receive");
LIMIT(max_sge_rd, "most elements of a READ");
LIMIT(max_qp_wr, "most work requests of a queue");
LIMIT(max_cqe, "most entries of a completion queue, a power of two");
LIMIT(max_rd_atom, "most READs under way");
LIMIT(max_mr, "most keys");
static bool no_lkey;
module_param(no_lkey, bool, 0644);
MODULE_PARM_DESC(no_lkey, "no local_dma_lkey of the device");

static bool announce_masked;
module_param(announce_masked, bool, 0644);
MODULE_PARM_DESC(announce_masked, "atomic operations with masks are announced");

static unsigned int refuse;
module_param(refuse, uint, 0644);
MODULE_PARM_DESC(refuse, "refused: 1 atomic, 2 masked, 4 keys with atomic access, 8 keys, 16 ends of keys");

static unsigned int late_ms;
module_param(late_ms, uint, 0644);
MODULE_PARM_DESC(late_ms, "events of completion queues are late");

static bool hard_irq;
module_param(hard_irq, bool, 0644);
MODULE_PARM_DESC(hard_irq, "events of completion queues come in a hard interrupt");

static bool hold_after_inv;
module_param(hold_after_inv, bool, 0644);
MODULE_PARM_DESC(hold_after_inv, "the next Send with Invalidate sets hold");

static int nth_opcode = -1;
module_param(nth_opcode, int, 0644);
MODULE_PARM_DESC(nth_opcode, "work requests that nth_send counts; -1: all");

#define COUNT(name, perm, text)						\
	static atomic_t name = ATOMIC_INIT(0);				\
	module_param_cb(name, &count_ops, &name, perm);			\
	MODULE_PARM_DESC(name, text)

static int count_set(const char *val, const struct kernel_param *kp)
{
	int n, err = kstrtoint(val, 0, &n);

	if (!err)
		atomic_set(kp->arg, n);
	return err;
}

static int count_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read((atomic_t *)kp->arg));
}

static const struct kernel_param_ops count_ops = {
	.set = count_set,
	.get = count_get,
};

COUNT(nth_send, 0644, "so many work requests from now one fails with ENOMEM");
COUNT(nth_recv, 0644, "so many receives from now one fails with ENOMEM");
COUNT(dereg_busy, 0644, "so many deregistrations fail with EBUSY");
COUNT(too_large, 0444, "queue pairs beyond a limit");
COUNT(refused, 0444, "work requests that were refused");
COUNT(no_memory, 0444, "posts that failed with ENOMEM");
COUNT(busy, 0444, "deregistrations that failed");
COUNT(late, 0444, "events that were late");
COUNT(hard, 0444, "events in a hard interrupt");

static struct shim_dev *shim_of(struct ib_device *ib)
{
	return ib_get_client_data(ib, &shim_client);
}

static bool shim_is_mine(const struct ib_qp *qp)
{
	return qp->qp_type == IB_QPT_RC && !qp->uobject;
}

/* ---- events of completion queues */

static unsigned int hold;	/* 1: queues of connections, 2: of registrars */

static void cq_deliver(struct shim_cq *sc)
{
	sc->handler(sc->cq, sc->cq->cq_context);
}

static void cq_irq(struct irq_work *work)
{
	atomic_inc(&hard);
	cq_deliver(container_of(work, struct shim_cq, irq));
}

static void cq_timer(struct timer_list *t)
{
	cq_deliver(container_of(t, struct shim_cq, timer));
}

/* Replaces a queue's own handler. */
static void shim_completion(struct ib_cq *cq, void *context)
{
	struct shim_cq *sc;
	unsigned long flags;
	bool held;

	rcu_read_lock();
	sc = xa_load(&shim_cqs, (unsigned long)cq);
	if (WARN_ON_ONCE(!sc))
		goto out;
	spin_lock_irqsave(&shim_lock, flags);
	held = hold == (cq->poll_ctx == IB_POLL_SOFTIRQ ? 1 : 2);
	if (held)
		sc->held = true;
	spin_unlock_irqrestore(&shim_lock, flags);
	if (held)
		goto out;
	if (READ_ONCE(late_ms)) {
		atomic_inc(&late);
		if (!timer_pending(&sc->timer))
			mod_timer(&sc->timer, jiffies + msecs_to_jiffies(late_ms));
	} else if (READ_ONCE(hard_irq)) {
		irq_work_queue(&sc->irq);
	} else {
		cq_deliver(sc);
	}
out:
	rcu_read_unlock();
}

static int cq_hook(struct ib_cq *cq)
{
	struct shim_cq *sc = xa_load(&shim_cqs, (unsigned long)cq);
	int err;

	lockdep_assert_held(&shim_mutex);
	if (sc) {
		sc->users++;
		return 0;
	}
	sc = kzalloc(sizeof(*sc), GFP_KERNEL);
	if (!sc)
		return -ENOMEM;
	sc->cq = cq;
	sc->handler = cq->comp_handler;
	sc->users = 1;
	timer_setup(&sc->timer, cq_timer, 0);
	init_irq_work(&sc->irq, cq_irq);
	err = xa_err(xa_store(&shim_cqs, (unsigned long)cq, sc, GFP_KERNEL));
	if (err)
		kfree(sc);
	else
		WRITE_ONCE(cq->comp_handler, shim_completion);
	return err;
}

/* The device raises no completion for the queue pair any more. */
static void cq_unhook(struct ib_cq *cq)
{
	struct shim_cq *sc = xa_load(&shim_cqs, (unsigned long)cq);

	lockdep_assert_held(&shim_mutex);
	if (WARN_ON_ONCE(!sc) || --sc->users)
		return;
	WRITE_ONCE(cq->comp_handler, sc->handler);
	xa_erase(&shim_cqs, (unsigned long)cq);
	synchronize_rcu_expedited();
	timer_delete_sync(&sc->timer);
	irq_work_sync(&sc->irq);
	kfree(sc);
}

static int hold_get(char *buf, const struct kernel_param *kp)
{
	unsigned int n = 0;
	struct shim_cq *sc;
	unsigned long i;

	mutex_lock(&shim_mutex);
	spin_lock_irq(&shim_lock);
	xa_for_each(&shim_cqs, i, sc)
		n += sc->held;
	spin_unlock_irq(&shim_lock);
	mutex_unlock(&shim_mutex);
	return sysfs_emit(buf, "%u %u\n", READ_ONCE(hold), n);
}

static int hold_set(const char *val, const struct kernel_param *kp)
{
	struct shim_cq *sc;
	unsigned long i;
	unsigned int on;
	int err = kstrtouint(val, 0, &on);
	bool was;

	if (err)
		return err;
	mutex_lock(&shim_mutex);
	spin_lock_irq(&shim_lock);
	hold = on;
	spin_unlock_irq(&shim_lock);
	xa_for_each(&shim_cqs, i, sc) {
		spin_lock_irq(&shim_lock);
		was = sc->held && !on;
		sc->held = sc->held && on;
		spin_unlock_irq(&shim_lock);
		local_bh_disable();
		if (was)
			cq_deliver(sc);
		local_bh_enable();
	}
	mutex_unlock(&shim_mutex);
	return 0;
}

static const struct kernel_param_ops hold_ops = {
	.set = hold_set,
	.get = hold_get,
};
module_param_cb(hold, &hold_ops, NULL, 0644);
MODULE_PARM_DESC(hold, "events wait until this is cleared, 1 of connections, 2 of registrars; reads also how many queues have one");

/* ---- functions of the device */

static bool qp_fits(const struct ib_device *ib,
		    const struct ib_qp_init_attr *attr)
{
	const struct ib_device_attr *a = &ib->attrs;
	const struct ib_qp_cap *c = &attr->cap;

	return c->max_send_wr <= a->max_qp_wr &&
	       c->max_recv_wr <= a->max_qp_wr &&
	       c->max_send_sge <= a->max_send_sge &&
	       c->max_recv_sge <= a->max_recv_sge &&
	       attr->send_cq->cqe <= a->max_cqe &&
	       attr->recv_cq->cqe <= a->max_cqe;
}

static int shim_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			  struct ib_udata *udata)
{
	struct shim_dev *sd = shim_of(qp->device);
	int err;

	if (!shim_is_mine(qp))
		return sd->ops.create_qp(qp, attr, udata);
	if (!qp_fits(qp->device, attr)) {
		atomic_inc(&too_large);
		return -EINVAL;
	}
	mutex_lock(&shim_mutex);
	err = cq_hook(attr->send_cq);
	if (err)
		goto out;
	err = cq_hook(attr->recv_cq);
	if (err) {
		cq_unhook(attr->send_cq);
		goto out;
	}
	err = sd->ops.create_qp(qp, attr, udata);
	if (err) {
		cq_unhook(attr->send_cq);
		cq_unhook(attr->recv_cq);
	} else {
		__module_get(THIS_MODULE);
	}
out:
	mutex_unlock(&shim_mutex);
	return err;
}

static int shim_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	struct shim_dev *sd = shim_of(qp->device);
	struct ib_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;
	bool mine = shim_is_mine(qp);
	int err = sd->ops.destroy_qp(qp, udata);

	if (err || !mine)
		return err;
	mutex_lock(&shim_mutex);
	cq_unhook(send_cq);
	cq_unhook(recv_cq);
	mutex_unlock(&shim_mutex);
	module_put(THIS_MODULE);
	return 0;
}

/* Count down, unless it is 0; true for the call that reaches 0. */
static bool is_nth(atomic_t *nth)
{
	return atomic_dec_if_positive(nth) == 0;
}

static int wr_refused(const struct ib_send_wr *wr)
{
	unsigned int what = 0;

	switch (wr->opcode) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		what = SHIM_ATOMIC;
		break;
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		what = SHIM_MASKED;
		break;
	case IB_WR_REG_MR:
		what = SHIM_KEY;
		if (reg_wr(wr)->access & IB_ACCESS_REMOTE_ATOMIC)
			what |= SHIM_ATOMIC_KEY;
		break;
	case IB_WR_LOCAL_INV:
		what = SHIM_INV;
		break;
	default:
		break;
	}
	if (what & READ_ONCE(refuse)) {
		atomic_inc(&refused);
		return -EINVAL;
	}
	/* The drain, a WRITE or a receive without elements, cannot fail. */
	if (wr->opcode == IB_WR_RDMA_WRITE && !wr->num_sge)
		return 0;
	if ((nth_opcode < 0 || nth_opcode == wr->opcode) && is_nth(&nth_send)) {
		atomic_inc(&no_memory);
		return -ENOMEM;
	}
	return 0;
}

static void hold_if_inv(const struct ib_send_wr *wr)
{
	unsigned long flags;

	if (!READ_ONCE(hold_after_inv) || wr->opcode != IB_WR_SEND_WITH_INV)
		return;
	spin_lock_irqsave(&shim_lock, flags);
	hold = 1;
	hold_after_inv = false;
	spin_unlock_irqrestore(&shim_lock, flags);
}

/*
 * As drivers do: what is ahead of a request that is refused is carried out.
 * The caller's list is cut there for the time of the call.
 */
static int shim_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	struct shim_dev *sd = shim_of(qp->device);
	struct ib_send_wr *last = NULL;
	const struct ib_send_wr *w;
	int err = 0, ret;

	for (w = wr; w && shim_is_mine(qp); w = w->next) {
		err = wr_refused(w);
		if (err)
			break;
		hold_if_inv(w);
		last = (struct ib_send_wr *)w;
	}
	if (!err)
		return sd->ops.post_send(qp, wr, bad);
	*bad = w;
	if (!last)
		return err;
	last->next = NULL;
	ret = sd->ops.post_send(qp, wr, bad);
	last->next = (struct ib_send_wr *)w;
	return ret ?: err;
}

static int shim_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	struct shim_dev *sd = shim_of(qp->device);

	if (shim_is_mine(qp) && wr->num_sge && is_nth(&nth_recv)) {
		atomic_inc(&no_memory);
		*bad = wr;
		return -ENOMEM;
	}
	return sd->ops.post_recv(qp, wr, bad);
}

static int shim_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	struct shim_dev *sd = shim_of(mr->device);

	if (!mr->uobject && mr->type == IB_MR_TYPE_MEM_REG &&
	    atomic_dec_if_positive(&dereg_busy) >= 0) {
		atomic_inc(&busy);
		return -EBUSY;
	}
	return sd->ops.dereg_mr(mr, udata);
}

/* ---- events of the device */

static bool port_down;

static int shim_query_port(struct ib_device *ib, u32 port,
			   struct ib_port_attr *attr)
{
	struct shim_dev *sd = shim_of(ib);
	int err = sd->ops.query_port(ib, port, attr);

	if (!err && READ_ONCE(port_down))
		attr->state = IB_PORT_DOWN;
	return err;
}

static void tell_all(enum ib_event_type what)
{
	struct shim_dev *sd;

	mutex_lock(&shim_mutex);
	list_for_each_entry(sd, &shim_devs, node) {
		struct ib_event ev = {
			.device			= sd->ib,
			.element.port_num	= rdma_start_port(sd->ib),
			.event			= what,
		};

		ib_dispatch_event(&ev);
	}
	mutex_unlock(&shim_mutex);
}

static int event_set(const char *val, const struct kernel_param *kp)
{
	unsigned int what;
	int err = kstrtouint(val, 0, &what);

	if (!err)
		tell_all(what);
	return err;
}

static const struct kernel_param_ops event_ops = { .set = event_set };
module_param_cb(event, &event_ops, NULL, 0200);
MODULE_PARM_DESC(event, "an event of all devices, by its number in enum ib_event_type");

static int port_down_set(const char *val, const struct kernel_param *kp)
{
	bool down;
	int err = kstrtobool(val, &down);

	if (err)
		return err;
	WRITE_ONCE(port_down, down);
	tell_all(down ? IB_EVENT_PORT_ERR : IB_EVENT_PORT_ACTIVE);
	return 0;
}

static const struct kernel_param_ops port_down_ops = {
	.set = port_down_set,
	.get = param_get_bool,
};
module_param_cb(port_down, &port_down_ops, &port_down, 0644);
MODULE_PARM_DESC(port_down, "the ports are down; a change is told by an event");

/* ---- the client */

static void limit(int *attr, int most)
{
	if (most > 0 && *attr > most)
		*attr = most;
}

static void attrs_change(struct ib_device_attr *a)
{
	limit(&a->max_send_sge, max_send_sge);
	limit(&a->max_recv_sge, max_recv_sge);
	limit(&a->max_sge_rd, max_sge_rd);
	limit(&a->max_qp_wr, max_qp_wr);
	limit(&a->max_cqe, max_cqe);
	limit(&a->max_qp_rd_atom, max_rd_atom);
	limit(&a->max_qp_init_rd_atom, max_rd_atom);
	limit(&a->max_mr, max_mr);
	if (announce_masked)
		a->masked_atomic_cap = IB_ATOMIC_HCA;
	if (no_lkey)
		a->kernel_cap_flags &= ~IBK_LOCAL_DMA_LKEY;
}

/* Implements &ib_client.add */
static int shim_add(struct ib_device *ib)
{
	struct shim_dev *sd = kzalloc(sizeof(*sd), GFP_KERNEL);

	if (!sd)
		return -ENOMEM;
	sd->ib = ib;
	sd->attrs = ib->attrs;
	sd->ops = ib->ops;
	ib_set_client_data(ib, &shim_client, sd);
	attrs_change(&ib->attrs);
	WRITE_ONCE(ib->ops.create_qp, shim_create_qp);
	WRITE_ONCE(ib->ops.destroy_qp, shim_destroy_qp);
	WRITE_ONCE(ib->ops.post_send, shim_post_send);
	WRITE_ONCE(ib->ops.post_recv, shim_post_recv);
	WRITE_ONCE(ib->ops.dereg_mr, shim_dereg_mr);
	WRITE_ONCE(ib->ops.query_port, shim_query_port);
	mutex_lock(&shim_mutex);
	list_add_tail(&sd->node, &shim_devs);
	mutex_unlock(&shim_mutex);
	return 0;
}

/* Implements &ib_client.remove */
static void shim_remove(struct ib_device *ib, void *data)
{
	struct shim_dev *sd = data;

	mutex_lock(&shim_mutex);
	list_del(&sd->node);
	mutex_unlock(&shim_mutex);
	WRITE_ONCE(ib->ops.create_qp, sd->ops.create_qp);
	WRITE_ONCE(ib->ops.destroy_qp, sd->ops.destroy_qp);
	WRITE_ONCE(ib->ops.post_send, sd->ops.post_send);
	WRITE_ONCE(ib->ops.post_recv, sd->ops.post_recv);
	WRITE_ONCE(ib->ops.dereg_mr, sd->ops.dereg_mr);
	WRITE_ONCE(ib->ops.query_port, sd->ops.query_port);
	ib->attrs = sd->attrs;
	/* Management queue pairs post in softirq and under locks. */
	synchronize_rcu();
	kfree(sd);
}

static struct ib_client shim_client = {
	.name	= "rds_shim",
	.add	= shim_add,
	.remove	= shim_remove,
};

static int __init rds_shim_init(void)
{
	return ib_register_client(&shim_client);
}
module_init(rds_shim_init);

static void __exit rds_shim_exit(void)
{
	ib_unregister_client(&shim_client);
}
module_exit(rds_shim_exit);

MODULE_DESCRIPTION("Makes software RDMA devices behave like other adapters, for tests");
MODULE_LICENSE("Dual BSD/GPL");
