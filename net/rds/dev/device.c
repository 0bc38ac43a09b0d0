// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMA devices: their properties, addition and removal.
 */
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/hash.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "layer.h"
#include "quirks.h"
#include "registrar.h"

/*
 * A connection has no more READs under way in either direction: drivers keep
 * memory for each that a peer may have.
 */
#define DEV_RD_ATOM	16

static LIST_HEAD(devs);
/* changes of the list, and walks that sleep */
static DEFINE_MUTEX(devs_lock);
/* changes of the list, and look-up in CM handlers */
static DEFINE_SPINLOCK(devs_spin);
static u64 devs_serial;			/* under devs_lock and devs_spin */
/* one walk over ids at a time */
static DEFINE_MUTEX(tell_lock);
/* users that devices which come serve, by slot; under devs_lock */
static const struct rds_dev_user *seen_by[RDS_DEV_SLOTS];

static void dev_free(struct kref *ref)
{
	struct rds_dev *dev = container_of(ref, struct rds_dev, ref);

	kfree(dev);
}

void rds_dev_put(struct rds_dev *dev)
{
	kref_put(&dev->ref, dev_free);
}

struct rds_dev *rds_dev_get(struct ib_device *ib)
{
	struct rds_dev *dev, *found = NULL;

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

struct rds_dev *rds_dev_after(u64 serial)
{
	struct rds_dev *dev, *found = NULL;

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

void rds_dev_each(void (*fn)(struct rds_dev *dev, void *arg),
		  void *arg)
{
	struct rds_dev *dev;

	mutex_lock(&devs_lock);
	list_for_each_entry(dev, &devs, node)
		fn(dev, arg);
	mutex_unlock(&devs_lock);
}

void rds_dev_no_atomics(struct rds_dev *dev)
{
	WRITE_ONCE(dev->props.masked, false);
	if (xchg(&dev->props.atomics, false))
		pr_notice("rds_dev: %s refuses atomic operations: none is tried any more\n",
			  dev_name(&dev->ib->dev));
}
EXPORT_SYMBOL_NS_GPL(rds_dev_no_atomics, RDS_DEV_NS);

bool rds_dev_hold(struct rds_dev *dev)
{
	bool ok;

	spin_lock_bh(&dev->lock);
	ok = !dev->gone;
	if (ok)
		dev->users++;
	spin_unlock_bh(&dev->lock);
	return ok;
}

void rds_dev_release(struct rds_dev *dev)
{
	spin_lock_bh(&dev->lock);
	dev->users--;
	wake_up_all(&dev->idle);
	spin_unlock_bh(&dev->lock);
}

/* The ids of an interface, and of few others */
static struct list_head *ids_at(struct rds_dev *dev,
				const struct rds_dev_laddr *la)
{
	u32 hash = jhash_1word(la->ifindex, net_hash_mix(la->net));

	return &dev->ids[hash % ARRAY_SIZE(dev->ids)];
}

bool rds_dev_enter(struct rds_dev *dev, struct rds_dev_id *id)
{
	bool ok;

	spin_lock_bh(&dev->lock);
	ok = !rds_dev_domain_ends(id->dom);
	if (ok) {
		list_add_tail(&id->dev_node, ids_at(dev, &id->local));
		kref_get(&id->dom->ref);
		id->dom->nr_ids++;
	}
	spin_unlock_bh(&dev->lock);
	return ok;
}

/* Take @dev->lock at a moment when no walk visits @id. */
static void lock_untold(struct rds_dev *dev,
			const struct rds_dev_id *id) __acquires(&dev->lock)
{
	spin_lock_bh(&dev->lock);
	while (dev->telling == id) {
		spin_unlock_bh(&dev->lock);
		wait_event(dev->idle, READ_ONCE(dev->telling) != id);
		spin_lock_bh(&dev->lock);
	}
}

void rds_dev_closing(struct rds_dev *dev, struct rds_dev_id *id)
{
	lock_untold(dev, id);
	id->closing = true;
	spin_unlock_bh(&dev->lock);
}

void rds_dev_leave(struct rds_dev *dev, struct rds_dev_id *id)
{
	lock_untold(dev, id);
	list_del_init(&id->dev_node);
	list_del_init(&id->due_node);
	rds_dev_link_quiet_locked(id);
	id->dom->nr_ids--;
	wake_up_all(&dev->idle);
	spin_unlock_bh(&dev->lock);
	rds_dev_domain_put(id->dom);
}

static void end_visit(struct rds_dev *dev)
{
	lockdep_assert_held(&dev->lock);
	WRITE_ONCE(dev->telling, NULL);
	wake_up_all(&dev->idle);
}

/* Visit the ids of a list, also those that are closing if @all. */
static void each_of(struct rds_dev *dev, struct list_head *ids, bool all,
		    void (*fn)(struct rds_dev_id *id, void *arg), void *arg)
{
	struct rds_dev_id *id;
	bool visit;

	lockdep_assert_held(&tell_lock);
	spin_lock_bh(&dev->lock);
	/* Ids that enter from here on need no visit. */
	list_splice_init(ids, &dev->walk);
	while (!list_empty(&dev->walk)) {
		id = list_first_entry(&dev->walk, struct rds_dev_id, dev_node);
		list_move_tail(&id->dev_node, ids);
		visit = all || !id->closing;
		WRITE_ONCE(dev->telling, visit ? id : NULL);
		spin_unlock_bh(&dev->lock);

		if (visit)
			fn(id, arg);

		spin_lock_bh(&dev->lock);
		end_visit(dev);
	}
	spin_unlock_bh(&dev->lock);
}

void rds_dev_each_id(struct rds_dev *dev,
		     void (*fn)(struct rds_dev_id *id, void *arg),
		     void *arg)
{
	unsigned int i;

	mutex_lock(&tell_lock);
	for (i = 0; i < ARRAY_SIZE(dev->ids); i++)
		each_of(dev, &dev->ids[i], false, fn, arg);
	mutex_unlock(&tell_lock);
}

void rds_dev_each_id_at(struct rds_dev *dev, const struct rds_dev_laddr *la,
			void (*fn)(struct rds_dev_id *id, void *arg), void *arg)
{
	mutex_lock(&tell_lock);
	each_of(dev, ids_at(dev, la), true, fn, arg);
	mutex_unlock(&tell_lock);
}

static struct rds_dev_id *begin_due(struct rds_dev *dev)
{
	struct rds_dev_id *id;

	lockdep_assert_held(&tell_lock);
	spin_lock_bh(&dev->lock);
	id = list_first_entry_or_null(&dev->due, struct rds_dev_id, due_node);
	if (id)
		list_del_init(&id->due_node);
	WRITE_ONCE(dev->telling, id);
	spin_unlock_bh(&dev->lock);
	return id;
}

void rds_dev_each_due(struct rds_dev *dev, void (*fn)(struct rds_dev_id *id))
{
	struct rds_dev_id *id;

	do {
		/* For one at a time, as notifiers wait for it. */
		mutex_lock(&tell_lock);
		id = begin_due(dev);
		if (id) {
			fn(id);
			spin_lock_bh(&dev->lock);
			end_visit(dev);
			spin_unlock_bh(&dev->lock);
		}
		mutex_unlock(&tell_lock);
	} while (id);
}

void rds_dev_sockaddr(struct sockaddr_storage *ss, const struct in6_addr *addr,
		      u32 scope, u16 port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (ipv6_addr_v4mapped(addr)) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		sin->sin_addr.s_addr = addr->s6_addr32[3];
		return;
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(port);
	sin6->sin6_addr = *addr;
	sin6->sin6_scope_id = scope;
}

static void props_fill(struct rds_dev_props *p, const struct ib_device *ib)
{
	const struct ib_device_attr *attr = &ib->attrs;
	u32 port;

	rdma_for_each_port(ib, port) {
		p->iwarp |= rdma_protocol_iwarp(ib, port);
		p->roce |= rdma_protocol_roce(ib, port);
		p->infiniband |= rdma_protocol_ib(ib, port);
	}
	p->rnr = !p->iwarp;
	p->read_sink_mr = p->iwarp;
	p->active_first = p->iwarp;
	p->write_early = p->iwarp;
	p->remote_inv = p->iwarp;
	p->atomics = attr->atomic_cap != IB_ATOMIC_NONE;
	p->masked = p->atomics && attr->masked_atomic_cap != IB_ATOMIC_NONE;
	p->soft = ib_uses_virt_dma((struct ib_device *)ib);
	rds_dev_quirks_fill(p);
	p->max_sge = max(attr->max_send_sge, 1);
	p->max_sge_rd = attr->max_sge_rd > 0 ? attr->max_sge_rd : p->max_sge;
	p->recv_one = attr->max_recv_sge < 2;
	p->max_fr_pages = attr->max_fast_reg_page_list_len;
	p->max_rd_atom = clamp(attr->max_qp_rd_atom, 0, DEV_RD_ATOM);
	p->max_init_rd_atom = clamp(attr->max_qp_init_rd_atom, 0, DEV_RD_ATOM);
	p->max_wr = max(attr->max_qp_wr, 1);
	p->max_cqe = max(attr->max_cqe, 1);
	/* One is for the drain. */
	p->reg_depth = min3(RDS_DEV_REG_DEPTH, p->max_wr - 1,
			    p->max_cqe - min(p->max_cqe, RDS_DEV_REG_CQE));
}

/* Why a device cannot be used, or NULL */
static const char *dev_lacks(const struct ib_device *ib,
			     const struct rds_dev_props *p)
{
	if (!(ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    !p->max_fr_pages)
		return "it has no fast registration";
	if (p->reg_depth < 1)
		return "its queues are too short";
	return NULL;
}

/*
 * Whether a device that @user sees now serves all namespaces.  Software devices
 * send through the IP stack of the first one.
 */
static bool all_nets(const struct rds_dev *dev,
		     const struct rds_dev_user *user)
{
	return !dev->props.soft ||
	       (user->soft_netns && READ_ONCE(*user->soft_netns));
}

static void user_sees(struct rds_dev *dev, const struct rds_dev_user *user)
{
	const char *lacks = user->lacks ? user->lacks(&dev->props) : NULL;
	unsigned long bit = BIT(user->slot);

	lockdep_assert_held(&devs_lock);
	if (lacks)
		pr_notice("rds_dev: %s is not used by %s: %s\n",
			  dev_name(&dev->ib->dev), user->name, lacks);
	spin_lock_bh(&dev->lock);
	WRITE_ONCE(dev->all_nets, (dev->all_nets & ~bit) |
				  (all_nets(dev, user) ? bit : 0));
	if (!lacks)
		WRITE_ONCE(dev->served, dev->served | bit);
	spin_unlock_bh(&dev->lock);
}

void rds_dev_user_sees(const struct rds_dev_user *user)
{
	struct rds_dev *dev;

	mutex_lock(&devs_lock);
	seen_by[user->slot] = user;
	list_for_each_entry(dev, &devs, node)
		user_sees(dev, user);
	mutex_unlock(&devs_lock);
	/* Addresses may lead to devices now that served none there before. */
	rds_dev_addr_probe_all();
}

void rds_dev_user_leaves(const struct rds_dev_user *user)
{
	struct rds_dev *dev;

	mutex_lock(&devs_lock);
	seen_by[user->slot] = NULL;
	list_for_each_entry(dev, &devs, node) {
		spin_lock_bh(&dev->lock);
		WRITE_ONCE(dev->served, dev->served & ~BIT(user->slot));
		spin_unlock_bh(&dev->lock);
	}
	mutex_unlock(&devs_lock);
}

/* Connections that an event ends: those of a port, or all if @port is 0 */
struct dev_loss {
	u32			port;
	enum rds_dev_why	why;
};

static void tell_loss(struct rds_dev_id *id, void *arg)
{
	const struct rdma_cm_id *cm_id = READ_ONCE(id->cm_id);
	const struct dev_loss *loss = arg;

	if (!loss->port || (cm_id && cm_id->port_num == loss->port))
		rds_dev_id_fail(id, loss->why);
}

static void dev_lost(struct rds_dev *dev, u32 port, enum rds_dev_why why)
{
	struct dev_loss loss = { port, why };

	rds_dev_each_id(dev, tell_loss, &loss);
}

/* The event may be old, and the port up again: then nothing is lost. */
static bool port_is_down(struct ib_device *ib, u32 port)
{
	enum ib_port_state state;

	return !ib_get_cached_port_state(ib, port, &state) &&
	       state != IB_PORT_ACTIVE;
}

/*
 * Called often, by a work item of ib_core, which dev_remove() waits for.  What
 * ends here would else be noticed only by what is sent next, after all its
 * repeats, and an idle connection not at all.  Users dial again, as soon as
 * their links are usable.
 */
static void dev_event(struct ib_event_handler *handler, struct ib_event *ev)
{
	struct rds_dev *dev = container_of(handler, struct rds_dev,
					   events);
	u32 port = ev->element.port_num;

	switch (ev->event) {
	case IB_EVENT_DEVICE_FATAL:
		dev_lost(dev, 0, RDS_DEV_WHY_DEVICE);
		break;
	case IB_EVENT_PORT_ERR:
		if (port_is_down(ev->device, port))
			dev_lost(dev, port, RDS_DEV_WHY_LINK);
		fallthrough;
	case IB_EVENT_GID_CHANGE:
	case IB_EVENT_PORT_ACTIVE:
		WRITE_ONCE(dev->gids_changed, true);
		rds_dev_addr_kick();
		break;
	default:
		break;
	}
}

static struct ib_client rds_dev_client;

/* Implements &ib_client.add */
static int dev_add(struct ib_device *ib)
{
	struct rds_dev_props props = { };
	struct rds_dev *dev;
	const char *lacks;
	unsigned int i;

	props_fill(&props, ib);
	lacks = dev_lacks(ib, &props);
	if (lacks) {
		pr_notice("rds_dev: %s is not used: %s\n",
			  dev_name(&ib->dev), lacks);
		return -EOPNOTSUPP;
	}
	dev = kzalloc(struct_size(dev, admit, RDS_DEV_SLOTS), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->props = props;
	kref_init(&dev->ref);
	dev->ib = ib;
	spin_lock_init(&dev->lock);
	for (i = 0; i < ARRAY_SIZE(dev->ids); i++)
		INIT_LIST_HEAD(&dev->ids[i]);
	INIT_LIST_HEAD(&dev->walk);
	INIT_LIST_HEAD(&dev->domains);
	INIT_LIST_HEAD(&dev->shelf);
	INIT_LIST_HEAD(&dev->due);
	INIT_LIST_HEAD(&dev->addrs);
	init_waitqueue_head(&dev->idle);
	INIT_WORK(&dev->due_work, rds_dev_link_due);
	rds_dev_admit_init(dev);
	rds_dev_mr_dev_init(dev);
	INIT_IB_EVENT_HANDLER(&dev->events, ib, dev_event);
	ib_register_event_handler(&dev->events);
	ib_set_client_data(ib, &rds_dev_client, dev);

	mutex_lock(&devs_lock);
	for (i = 1; i < RDS_DEV_SLOTS; i++)
		if (seen_by[i])
			user_sees(dev, seen_by[i]);
	spin_lock_bh(&devs_spin);
	dev->serial = ++devs_serial;
	list_add_tail(&dev->node, &devs);
	spin_unlock_bh(&devs_spin);
	mutex_unlock(&devs_lock);
	rds_dev_addr_probe_all();
	return 0;
}

static void tell_gone(struct rds_dev_id *id, void *arg)
{
	rds_dev_id_fail(id, RDS_DEV_WHY_DEVICE);
}

static bool dev_unused(struct rds_dev *dev)
{
	bool unused;

	spin_lock_bh(&dev->lock);
	unused = list_empty(&dev->domains) && !dev->users;
	spin_unlock_bh(&dev->lock);
	return unused;
}

/*
 * Implements &ib_client.remove: on return the device has no object of this
 * module.
 */
static void dev_remove(struct ib_device *ib, void *data)
{
	struct rds_dev *dev = data;

	ib_unregister_event_handler(&dev->events);
	mutex_lock(&devs_lock);
	spin_lock_bh(&devs_spin);
	list_del(&dev->node);
	spin_unlock_bh(&devs_spin);
	mutex_unlock(&devs_lock);

	spin_lock_bh(&dev->lock);
	dev->gone = true;
	spin_unlock_bh(&dev->lock);

	/* Listeners make connections, of all domains. */
	rds_dev_addr_dev_gone(dev);
	rds_dev_each_id(dev, tell_gone, NULL);
	rds_dev_domains_end(dev);
	/* Another context may be about to make one, or end one. */
	wait_event(dev->idle, dev_unused(dev));

	dev->ib = NULL;
	rds_dev_put(dev);
}

static struct ib_client rds_dev_client = {
	.name	= "rds_dev",
	.add	= dev_add,
	.remove	= dev_remove,
};

int rds_dev_client_init(void)
{
	return ib_register_client(&rds_dev_client);
}

void rds_dev_client_exit(void)
{
	ib_unregister_client(&rds_dev_client);
}
