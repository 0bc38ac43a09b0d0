// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Domains: made when a user first needs a device, ended with the device or the
 * use.
 *
 * One context ends a domain, the one that set rds_dev_domain.gone.  The removal
 * of the device waits until its list of domains is empty, and the end of the
 * use until its user has none on any device, so both may come at the same time.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "layer.h"
#include "quirks.h"
#include "registrar.h"

/* Domains of each user that are not freed of their objects yet */
static atomic_t nr_domains[RDS_DEV_SLOTS];
static DECLARE_WAIT_QUEUE_HEAD(domains_idle);

static void domain_free(struct kref *ref)
{
	struct rds_dev_domain *dom = container_of(ref, struct rds_dev_domain,
						  ref);

	rds_dev_registrar_free(dom);
	rds_dev_put(dom->dev);
	kfree(dom);
}

void rds_dev_domain_put(struct rds_dev_domain *dom)
{
	kref_put(&dom->ref, domain_free);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_domain_put, RDS_DEV_NS);

bool rds_dev_domain_hold(struct rds_dev_domain *dom)
{
	struct rds_dev *dev = dom->dev;
	bool ok;

	spin_lock_bh(&dev->lock);
	ok = !rds_dev_domain_ends(dom);
	if (ok)
		dom->users++;
	spin_unlock_bh(&dev->lock);
	return ok;
}

void rds_dev_domain_release(struct rds_dev_domain *dom)
{
	struct rds_dev *dev = dom->dev;

	spin_lock_bh(&dev->lock);
	dom->users--;
	wake_up_all(&dev->idle);
	spin_unlock_bh(&dev->lock);
}

static struct rds_dev_domain *find_locked(struct rds_dev *dev,
					  unsigned int slot)
{
	struct rds_dev_domain *dom;

	lockdep_assert_held(&dev->lock);
	list_for_each_entry(dom, &dev->domains, node)
		if (dom->slot == slot && !rds_dev_domain_ends(dom))
			return dom;
	return NULL;
}

struct rds_dev_domain *rds_dev_domain_find(struct rds_dev *dev,
					   unsigned int slot)
{
	struct rds_dev_domain *dom;

	spin_lock_bh(&dev->lock);
	dom = find_locked(dev, slot);
	if (dom)
		kref_get(&dom->ref);
	spin_unlock_bh(&dev->lock);
	return dom;
}

/* A domain that nobody can find yet, or NULL.  @dev is held. */
static struct rds_dev_domain *domain_new(struct rds_dev *dev,
					 const struct rds_dev_user *user)
{
	struct rds_dev_domain *dom = kzalloc_obj(*dom);

	if (!dom)
		return NULL;
	kref_init(&dom->ref);
	kref_get(&dev->ref);
	dom->dev = dev;
	dom->user = user;
	dom->slot = user->slot;
	rds_dev_mr_domain_init(dom);
	if (rds_dev_registrar_create(dom))
		goto out;
	dom->pd = ib_alloc_pd(dev->ib, 0);
	if (!IS_ERR(dom->pd))
		return dom;
out:
	rds_dev_domain_put(dom);
	return NULL;
}

/* The domain to use, counted: @dom, if there is no other one, or NULL. */
static struct rds_dev_domain *domain_enter(struct rds_dev_domain *dom)
{
	struct rds_dev *dev = dom->dev;
	struct rds_dev_domain *use;

	spin_lock_bh(&dev->lock);
	use = find_locked(dev, dom->slot);
	if (!use && !dev->gone && dev->served & BIT(dom->slot)) {
		list_add_tail(&dom->node, &dev->domains);
		atomic_inc(&nr_domains[dom->slot]);
		use = dom;
	}
	if (use)
		kref_get(&use->ref);
	spin_unlock_bh(&dev->lock);
	if (use == dom)
		return use;
	ib_dealloc_pd(dom->pd);
	rds_dev_domain_put(dom);
	return use;
}

struct rds_dev_domain *rds_dev_domain_get(struct rds_dev *dev,
					  const struct rds_dev_user *user)
{
	struct rds_dev_domain *dom = rds_dev_domain_find(dev, user->slot);

	if (dom || !rds_dev_hold(dev))
		return dom;
	dom = domain_new(dev, user);
	if (dom)
		dom = domain_enter(dom);
	rds_dev_release(dev);
	if (dom)
		rds_dev_registrar_kick(dom);
	return dom;
}

void rds_dev_domains_kick(struct rds_dev *dev)
{
	struct rds_dev_domain *dom;
	unsigned int slot;

	for (slot = 1; slot < RDS_DEV_SLOTS; slot++) {
		dom = rds_dev_domain_find(dev, slot);
		if (!dom)
			continue;
		rds_dev_registrar_kick(dom);
		rds_dev_domain_put(dom);
	}
}

/* What a walk over the domains of a user needs */
struct domain_walk {
	unsigned int	slot;
	void		(*fn)(struct rds_dev_domain *dom, void *arg);
	void		*arg;
};

static void walk_dev(struct rds_dev *dev, void *arg)
{
	const struct domain_walk *w = arg;
	struct rds_dev_domain *dom = rds_dev_domain_find(dev, w->slot);

	if (!dom)
		return;
	w->fn(dom, w->arg);
	rds_dev_domain_put(dom);
}

void rds_dev_each_domain(const struct rds_dev_user *user,
			 void (*fn)(struct rds_dev_domain *dom, void *arg),
			 void *arg)
{
	struct domain_walk w = { user->slot, fn, arg };

	rds_dev_each(walk_dev, &w);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_each_domain, RDS_DEV_NS);

/* What a walk over the ids of a domain needs */
struct id_walk {
	struct rds_dev_domain	*dom;
	void			(*fn)(struct rds_dev_id *id, void *arg);
	void			*arg;
};

static void walk_id(struct rds_dev_id *id, void *arg)
{
	const struct id_walk *w = arg;

	if (id->dom == w->dom)
		w->fn(id, w->arg);
}

void rds_dev_domain_each_id(struct rds_dev_domain *dom,
			    void (*fn)(struct rds_dev_id *id, void *arg),
			    void *arg)
{
	struct id_walk w = { dom, fn, arg };

	rds_dev_each_id(dom->dev, walk_id, &w);
}
EXPORT_SYMBOL_NS_GPL(rds_dev_domain_each_id, RDS_DEV_NS);

static bool domain_unused(struct rds_dev_domain *dom)
{
	bool unused;

	spin_lock_bh(&dom->dev->lock);
	unused = !dom->nr_ids && !dom->users;
	spin_unlock_bh(&dom->dev->lock);
	return unused;
}

static void tell_gone(struct rds_dev_id *id, void *arg)
{
	rds_dev_id_fail(id, RDS_DEV_WHY_DEVICE);
}

/*
 * On return the domain has no object in its device.  Puts the reference of the
 * list of domains; the caller has another one, and has set @dom->gone.
 */
static void domain_end(struct rds_dev_domain *dom)
{
	struct rds_dev *dev = dom->dev;

	rds_dev_domain_each_id(dom, tell_gone, NULL);
	/* Who looks at the shelf meanwhile may not have seen what is left. */
	if (!rds_dev_quirk_unshelve(dev))
		rds_dev_addr_kick();
	/* It makes new keys. */
	rds_dev_registrar_stop(dom);
	wait_event(dev->idle, domain_unused(dom));
	rds_dev_mr_domain_gone(dom);
	/*
	 * Wait for owners that took their keys out of the hash before
	 * rds_dev_mr_domain_gone().
	 */
	wait_event(dev->idle, domain_unused(dom));
	ib_dealloc_pd(dom->pd);
	dom->pd = NULL;

	spin_lock_bh(&dev->lock);
	list_del(&dom->node);
	wake_up_all(&dev->idle);
	spin_unlock_bh(&dev->lock);
	if (atomic_dec_and_test(&nr_domains[dom->slot]))
		wake_up_all(&domains_idle);
	rds_dev_domain_put(dom);
}

/*
 * End the domain of a user at a device, or of any if @slot is negative.  False
 * if there is none, or another context ends it.
 */
static bool end_one(struct rds_dev *dev, int slot)
{
	struct rds_dev_domain *dom, *mine = NULL;

	spin_lock_bh(&dev->lock);
	list_for_each_entry(dom, &dev->domains, node) {
		if (dom->gone || (slot >= 0 && dom->slot != slot))
			continue;
		mine = dom;
		mine->gone = true;
		kref_get(&mine->ref);
		break;
	}
	spin_unlock_bh(&dev->lock);
	if (!mine)
		return false;
	domain_end(mine);
	rds_dev_domain_put(mine);
	return true;
}

void rds_dev_domains_end(struct rds_dev *dev)
{
	while (end_one(dev, -1))
		;
}

void rds_dev_user_domains_end(const struct rds_dev_user *user)
{
	struct rds_dev *dev;
	u64 serial = 0;

	while ((dev = rds_dev_after(serial))) {
		serial = dev->serial;
		end_one(dev, user->slot);
		rds_dev_put(dev);
	}
	/* Others go with a device that is being removed. */
	wait_event(domains_idle, !atomic_read(&nr_domains[user->slot]));
}
