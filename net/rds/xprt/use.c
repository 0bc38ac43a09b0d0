// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Use of transports by the sockets of a namespace; xprt/use.h has the rules. */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "netns.h"
#include "xprt/registry.h"
#include "xprt/use.h"
#include <net/rds/transport.h>

/*
 * After this time messages of the last socket have arrived, or wait for an
 * unreachable peer.
 */
#define USE_LINGER	(2 * HZ)

/**
 * struct rds_use - use of one type of transport in one namespace
 * @rn: namespace
 * @trans: transport of the last rds_use_get(); valid while @users is not 0 or
 *	@work is queued or running, as sockets and the work hold its module
 * @told: the last call of &rds_transport.net_use reported a use
 * @lock: guards @trans, @told and @users, and serialises calls of
 *	&rds_transport.net_use
 * @users: number of sockets that are bound over the transport, or about to be
 * @work: reports the end of the use; holds the namespace and the module from
 *	its queueing on
 */
struct rds_use {
	struct rds_net			*rn;
	const struct rds_transport	*trans;
	bool				told;
	struct mutex			lock;
	unsigned int			users;
	struct delayed_work		work;
};

/*
 * A queue of its own: net_use may take seconds, and waits for work items of
 * other queues.
 */
static struct workqueue_struct *use_wq;

static void use_end(struct work_struct *work)
{
	struct rds_use *use = container_of(work, struct rds_use, work.work);
	const struct rds_transport *trans;
	struct net *net = use->rn->net;

	mutex_lock(&use->lock);
	trans = use->trans;
	if (!use->users && use->told) {
		trans->net_use(net, false);
		use->told = false;
	}
	mutex_unlock(&use->lock);
	module_put(trans->owner);
	put_net(net);
}

/* Is the transport told of its use in this namespace? */
static bool use_told(const struct rds_net *rn,
		     const struct rds_transport *trans)
{
	return trans->net_use && !net_eq(rn->net, &init_net);
}

int rds_use_get(struct rds_net *rn, const struct rds_transport *trans)
{
	struct rds_use *use = &rn->uses[trans->type];
	int err = 0;

	if (!use_told(rn, trans))
		return 0;
	mutex_lock(&use->lock);
	if (!use->told)
		err = trans->net_use(rn->net, true);
	if (!err) {
		use->trans = trans;
		use->told = true;
		use->users++;
	}
	mutex_unlock(&use->lock);
	return err;
}

void rds_use_put(struct rds_net *rn, const struct rds_transport *trans)
{
	struct rds_use *use = &rn->uses[trans->type];

	if (!use_told(rn, trans))
		return;
	mutex_lock(&use->lock);
	if (!--use->users) {
		get_net(rn->net);
		__module_get(trans->owner);
		if (mod_delayed_work(use_wq, &use->work, USE_LINGER)) {
			/*
			 * The work was pending, and holds references since it
			 * was queued.
			 */
			module_put(trans->owner);
			put_net(rn->net);
		}
	}
	mutex_unlock(&use->lock);
}

int rds_use_net_init(struct rds_net *rn)
{
	unsigned int i;

	rn->uses = kcalloc(RDS_TRANS_SLOTS, sizeof(*rn->uses), GFP_KERNEL);
	if (!rn->uses)
		return -ENOMEM;
	for (i = 0; i < RDS_TRANS_SLOTS; i++) {
		rn->uses[i].rn = rn;
		mutex_init(&rn->uses[i].lock);
		INIT_DELAYED_WORK(&rn->uses[i].work, use_end);
	}
	return 0;
}

void rds_use_net_exit(struct rds_net *rn)
{
	unsigned int i;

	for (i = 0; i < RDS_TRANS_SLOTS; i++)
		WARN_ON_ONCE(rn->uses[i].users || rn->uses[i].told);
	kfree(rn->uses);
}

int __init rds_use_init(void)
{
	use_wq = alloc_workqueue("rds_use", WQ_UNBOUND, 0);
	return use_wq ? 0 : -ENOMEM;
}

void rds_use_exit(void)
{
	destroy_workqueue(use_wq);
}
