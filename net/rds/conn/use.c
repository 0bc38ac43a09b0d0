// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which transports the sockets of a namespace use; conn/use.h has the rules. */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "conn/use.h"
#include "netns.h"
#include "registry.h"
#include <net/rds/transport.h>

/* By then what the last socket sent has arrived, or waits for a peer that is not there. */
#define USE_LINGER	(2 * HZ)

/**
 * struct rds_use - use of one transport in one namespace
 * @rn: namespace
 * @trans: the transport that used it last; there while @users or the work hold its module
 * @told: it has been told that it is used
 * @lock: guards the rest, and the telling
 * @users: bound sockets
 * @work: tells the end
 */
struct rds_use {
	struct rds_net			*rn;
	const struct rds_transport	*trans;
	bool				told;
	struct mutex			lock;
	unsigned int			users;
	struct delayed_work		work;
};

/* A transport may take seconds to leave, and waits for work of other queues meanwhile. */
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

static bool use_told(const struct rds_net *rn, const struct rds_transport *trans)
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
			/* it waited already, with references of its own */
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
