// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMA devices: their properties, addition and removal.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/rds/addr.h>

#include "devlayer.h"
#include "rdma.h"

static LIST_HEAD(devs);
/* changes of the list, and walks that sleep */
static DEFINE_MUTEX(devs_lock);
/* changes of the list, and look-up in CM handlers */
static DEFINE_SPINLOCK(devs_spin);
static u64 devs_serial;			/* under devs_lock and devs_spin */
/* one walk over connections at a time */
static DEFINE_MUTEX(tell_lock);

static bool soft_netns;
module_param(soft_netns, bool, 0644);
MODULE_PARM_DESC(soft_netns,
		 "software devices that come from now on serve all network namespaces (rxe: from kernel 7.2)");

static void dev_free(struct kref *ref)
{
	struct rds_rdma_dev *dev = container_of(ref, struct rds_rdma_dev, ref);

	rds_rdma_registrar_free(dev);
	kfree(dev);
}

void rds_rdma_dev_put(struct rds_rdma_dev *dev)
{
	kref_put(&dev->ref, dev_free);
}

struct rds_rdma_dev *rds_rdma_dev_get(struct ib_device *ib)
{
	struct rds_rdma_dev *dev, *found = NULL;

	if (!ib)
		return NULL;
	spin_lock_bh(&devs_spin);
	list_for_each_entry(dev, &devs, node) {
		if (dev->ib == ib) {
			kref_get(&dev->ref);
			found = dev;
			break;
		}
	}
	spin_unlock_bh(&devs_spin);
	return found;
}

struct rds_rdma_dev *rds_rdma_dev_after(u64 serial)
{
	struct rds_rdma_dev *dev, *found = NULL;

	spin_lock_bh(&devs_spin);
	list_for_each_entry(dev, &devs, node) {
		if (dev->serial > serial) {
			kref_get(&dev->ref);
			found = dev;
			break;
		}
	}
	spin_unlock_bh(&devs_spin);
	return found;
}

void rds_rdma_dev_each(void (*fn)(struct rds_rdma_dev *dev, void *arg),
		       void *arg)
{
	struct rds_rdma_dev *dev;

	mutex_lock(&devs_lock);
	list_for_each_entry(dev, &devs, node)
		fn(dev, arg);
	mutex_unlock(&devs_lock);
}

bool rds_rdma_dev_hold(struct rds_rdma_dev *dev)
{
	bool ok;

	spin_lock_bh(&dev->lock);
	ok = !dev->gone;
	if (ok)
		dev->users++;
	spin_unlock_bh(&dev->lock);
	return ok;
}

void rds_rdma_dev_release(struct rds_rdma_dev *dev)
{
	spin_lock_bh(&dev->lock);
	dev->users--;
	wake_up_all(&dev->idle);
	spin_unlock_bh(&dev->lock);
}

bool rds_rdma_dev_enter(struct rds_rdma_dev *dev, struct rds_rdma_conn *conn)
{
	bool ok;

	spin_lock_bh(&dev->lock);
	ok = !dev->gone;
	if (ok) {
		list_add_tail(&conn->dev_node, &dev->conns);
		kref_get(&dev->ref);
	}
	spin_unlock_bh(&dev->lock);
	return ok;
}

/* Take @dev->lock at a moment when no walk visits @conn. */
static void lock_untold(struct rds_rdma_dev *dev,
			const struct rds_rdma_conn *conn) __acquires(&dev->lock)
{
	spin_lock_bh(&dev->lock);
	while (dev->telling == conn) {
		spin_unlock_bh(&dev->lock);
		wait_event(dev->idle, READ_ONCE(dev->telling) != conn);
		spin_lock_bh(&dev->lock);
	}
}

void rds_rdma_dev_closing(struct rds_rdma_dev *dev, struct rds_rdma_conn *conn)
{
	lock_untold(dev, conn);
	list_move(&conn->dev_node, &dev->closing);
	spin_unlock_bh(&dev->lock);
}

void rds_rdma_dev_leave(struct rds_rdma_dev *dev, struct rds_rdma_conn *conn)
{
	lock_untold(dev, conn);
	list_del_init(&conn->dev_node);
	wake_up_all(&dev->idle);
	spin_unlock_bh(&dev->lock);
	rds_rdma_dev_put(dev);
}

void rds_rdma_dev_each_conn(struct rds_rdma_dev *dev,
			    void (*fn)(struct rds_rdma_conn *conn, void *arg),
			    void *arg)
{
	struct rds_rdma_conn *conn;

	mutex_lock(&tell_lock);
	spin_lock_bh(&dev->lock);
	/*
	 * Connections that enter from here on are put on dev->conns and need no
	 * visit.
	 */
	list_splice_init(&dev->conns, &dev->walk);
	while (!list_empty(&dev->walk)) {
		conn = list_first_entry(&dev->walk, struct rds_rdma_conn,
					dev_node);
		list_move_tail(&conn->dev_node, &dev->conns);
		WRITE_ONCE(dev->telling, conn);
		spin_unlock_bh(&dev->lock);

		fn(conn, arg);

		spin_lock_bh(&dev->lock);
		WRITE_ONCE(dev->telling, NULL);
		wake_up_all(&dev->idle);
	}
	spin_unlock_bh(&dev->lock);
	mutex_unlock(&tell_lock);
}

void rds_rdma_sockaddr(struct sockaddr_storage *ss,
		       const struct rds_rdma_laddr *la, u16 port)
{
	rds_addr_write(ss, &la->addr, htons(port), la->scope);
}

static void props_fill(struct rds_rdma_props *p, const struct ib_device *ib)
{
	const struct ib_device_attr *attr = &ib->attrs;

	p->iwarp = rdma_protocol_iwarp(ib, rdma_start_port(ib));
	p->rnr = !p->iwarp;
	p->read_sink_mr = p->iwarp;
	p->active_first = p->iwarp;
	p->write_early = p->iwarp;
	p->remote_inv = p->iwarp;
	p->atomics = attr->atomic_cap != IB_ATOMIC_NONE;
	p->masked = p->atomics && attr->masked_atomic_cap != IB_ATOMIC_NONE;
	p->soft = ib_uses_virt_dma((struct ib_device *)ib);
	/* Software devices send through the IP stack of the first namespace. */
	p->first_net_only = p->soft && !READ_ONCE(soft_netns);
	p->max_sge = max(attr->max_send_sge, 1);
	p->max_sge_rd = attr->max_sge_rd > 0 ? attr->max_sge_rd : p->max_sge;
	p->max_recv_sge = max(attr->max_recv_sge, 1);
	p->max_qp_wr = attr->max_qp_wr;
	p->max_fr_pages = attr->max_fast_reg_page_list_len;
	p->max_rd_atom = clamp(attr->max_qp_rd_atom, 0, U8_MAX);
	p->max_init_rd_atom = clamp(attr->max_qp_init_rd_atom, 0, U8_MAX);
}

/* Called in any context, and often */
static void dev_event(struct ib_event_handler *handler, struct ib_event *ev)
{
	switch (ev->event) {
	case IB_EVENT_GID_CHANGE:
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
		rds_rdma_addr_kick();
		break;
	default:
		break;
	}
}

static struct ib_client rds_rdma_client;

/* Implements &ib_client.add */
static int dev_add(struct ib_device *ib)
{
	struct rds_rdma_dev *dev;
	int err;

	if (!(ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    !ib->attrs.max_fast_reg_page_list_len)
		return -EOPNOTSUPP;

	dev = kzalloc_obj(*dev);
	if (!dev)
		return -ENOMEM;
	kref_init(&dev->ref);
	dev->ib = ib;
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->conns);
	INIT_LIST_HEAD(&dev->walk);
	INIT_LIST_HEAD(&dev->closing);
	init_waitqueue_head(&dev->idle);
	props_fill(&dev->props, ib);
	rds_rdma_mr_dev_init(dev);

	err = rds_rdma_registrar_create(dev);
	if (err)
		goto out;
	dev->pd = ib_alloc_pd(ib, 0);
	if (IS_ERR(dev->pd)) {
		err = PTR_ERR(dev->pd);
		goto out;
	}
	INIT_IB_EVENT_HANDLER(&dev->events, ib, dev_event);
	ib_register_event_handler(&dev->events);
	ib_set_client_data(ib, &rds_rdma_client, dev);

	mutex_lock(&devs_lock);
	spin_lock_bh(&devs_spin);
	dev->serial = ++devs_serial;
	list_add_tail(&dev->node, &devs);
	spin_unlock_bh(&devs_spin);
	mutex_unlock(&devs_lock);
	rds_rdma_addr_kick();
	return 0;

out:
	rds_rdma_dev_put(dev);
	return err;
}

static void tell_gone(struct rds_rdma_conn *conn, void *arg)
{
	rds_rdma_conn_device_gone(conn);
}

static bool dev_unused(struct rds_rdma_dev *dev)
{
	bool unused;

	spin_lock_bh(&dev->lock);
	unused = list_empty(&dev->conns) && list_empty(&dev->walk) &&
		 list_empty(&dev->closing) && !dev->users;
	spin_unlock_bh(&dev->lock);
	return unused;
}

/*
 * Implements &ib_client.remove: on return the device has no object of this
 * module.
 */
static void dev_remove(struct ib_device *ib, void *data)
{
	struct rds_rdma_dev *dev = data;

	ib_unregister_event_handler(&dev->events);
	mutex_lock(&devs_lock);
	spin_lock_bh(&devs_spin);
	list_del(&dev->node);
	spin_unlock_bh(&devs_spin);
	mutex_unlock(&devs_lock);

	spin_lock_bh(&dev->lock);
	dev->gone = true;
	spin_unlock_bh(&dev->lock);

	/*
	 * In this order: listeners, connections, and the registrar, which makes
	 * new keys.
	 */
	rds_rdma_addr_dev_gone(dev);
	rds_rdma_dev_each_conn(dev, tell_gone, NULL);
	rds_rdma_link_unshelve(dev);
	rds_rdma_registrar_stop(dev);
	wait_event(dev->idle, dev_unused(dev));
	rds_rdma_mr_dev_gone(dev);
	/*
	 * Wait for owners that took their keys out of the hash before
	 * rds_rdma_mr_dev_gone().
	 */
	wait_event(dev->idle, dev_unused(dev));

	ib_dealloc_pd(dev->pd);
	dev->pd = NULL;
	dev->ib = NULL;
	rds_rdma_dev_put(dev);
}

static struct ib_client rds_rdma_client = {
	.name	= "rds_rdma",
	.add	= dev_add,
	.remove	= dev_remove,
};

int rds_rdma_dev_init(void)
{
	int err = rds_rdma_addr_init();

	if (err)
		return err;
	err = rds_rdma_link_init();
	if (err)
		goto out_addr;
	err = ib_register_client(&rds_rdma_client);
	if (!err)
		return 0;
	rds_rdma_link_exit();
out_addr:
	rds_rdma_addr_exit();
	return err;
}

void rds_rdma_dev_exit(void)
{
	ib_unregister_client(&rds_rdma_client);
	rds_rdma_link_exit();
	rds_rdma_addr_exit();
}
