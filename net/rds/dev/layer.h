/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of this module share.  <net/rds/dev.h> describes the objects
 * and their life.
 *
 * Locks, outermost first:
 *
 *   users_lock (user.c, mutex): one user begins or ends at a time; outside all
 *   others
 *   rds_dev_scan_lock (addr.c, mutex): one change of the table of addresses, or
 *   of the services, at a time.  Listeners are destroyed under it, so their
 *   handlers must not take it nor wait for a holder of it.
 *     > devs_lock (device.c, mutex): the list of devices; no device leaves the
 *     list while it is held
 *       > rtnl (inside ib_core)
 *       > tell_lock (device.c, mutex): one walk over ids at a time
 *   addrs_lock (addr.c, spin, bh): look-up in the table of addresses; a leaf
 *   queue_lock (scan.c, spin, bh): namespaces to be scanned; a leaf
 *   rds_dev_registrar.lock (spin, bh) > the locks of ib_post_send()
 *   rds_dev.lock (spin, bh) > link_lock, address lists of interfaces, routes,
 *   GIDs
 *   link_lock (link.c, spin, bh): a leaf
 *   rds_dev_admit.lock (admit.c, spin, bh), of each user at a device: a leaf
 *
 * Notifiers of link.c run under the RTNL.  They take tell_lock, under which the
 * RTNL is never waited for, and spinlocks.  So does the handler of the device's
 * events, under a lock of ib_core.
 */
#ifndef _RDS_DEV_LAYER_H
#define _RDS_DEV_LAYER_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/socket.h>
#include <net/net_namespace.h>

#include <net/rds/dev.h>
#include <net/rds/dev_key.h>
#include <net/rds/dev_service.h>
#include <net/rds/dev_user.h>

#include "domain.h"

/* user.c: counters of users, by slot; they belong to no namespace */
DECLARE_PER_CPU(struct rds_dev_stats [RDS_DEV_SLOTS], rds_dev_stats);
#define rds_dev_stats_inc(dom, field)				\
	this_cpu_inc(rds_dev_stats[(dom)->slot].field)

/*
 * main.c: works that are no user's, see rds_dev_user.wq; they may sleep;
 * WQ_MEM_RECLAIM
 */
extern struct workqueue_struct *rds_dev_wq;

/* device.c */

int rds_dev_client_init(void);
void rds_dev_client_exit(void);

/*
 * Have devices see @user, which has its slot: those that are there and that
 * come.  _leaves: none serves the user any more.  May sleep.
 */
void rds_dev_user_sees(const struct rds_dev_user *user);
void rds_dev_user_leaves(const struct rds_dev_user *user);

/* Whether @user can use @dev in @net.  Any context. */
static inline bool rds_dev_serves(const struct rds_dev *dev,
				  const struct rds_dev_user *user,
				  const struct net *net)
{
	unsigned long all = READ_ONCE(dev->all_nets);

	return READ_ONCE(dev->served) & BIT(user->slot) &&
	       (net_eq(net, &init_net) || all & BIT(user->slot));
}

/* The device of an ib_device, counted; NULL if it has none, or has no more */
struct rds_dev *rds_dev_get(struct ib_device *ib);
void rds_dev_put(struct rds_dev *dev);

/*
 * Keep rds_dev.ib valid until rds_dev_release(), for which the
 * removal of the device waits.  False if the device is being removed.
 */
bool rds_dev_hold(struct rds_dev *dev);
void rds_dev_release(struct rds_dev *dev);

/*
 * The first device with a number above @serial (0: the first of all), counted,
 * or NULL.  Any context but hard interrupts.
 */
struct rds_dev *rds_dev_after(u64 serial);

/*
 * Call @fn for every device; none of them leaves the list meanwhile.  May
 * sleep.
 */
void rds_dev_each(void (*fn)(struct rds_dev *dev, void *arg), void *arg);

/* The same for every id of @dev that is not closing, see dev_domain.h. */
void rds_dev_each_id(struct rds_dev *dev,
		     void (*fn)(struct rds_dev_id *id, void *arg), void *arg);

/*
 * Enter an id; false if its domain ends.  The end of the domain has each
 * entered id fail once, and waits until the id has left: each rds_dev_enter()
 * needs a rds_dev_leave().
 *
 * Until rds_dev_closing() walks may visit the id, to end it with its
 * device or address, or to list it.  What its user shows to walks, and
 * @id->cm_id, must be valid for that time; the latter is NULL or, once set,
 * constant.  _closing may be left out if both are valid until _leave.  _closing
 * and _leave may sleep.
 */
bool rds_dev_enter(struct rds_dev *dev, struct rds_dev_id *id);
void rds_dev_closing(struct rds_dev *dev, struct rds_dev_id *id);
void rds_dev_leave(struct rds_dev *dev, struct rds_dev_id *id);

/*
 * Call @fn for every entered id at the interface of @la, also for those that
 * are closing, and for some of other interfaces.  Costs nothing for the rest.
 * @fn may sleep, but not wait for a leave.
 */
void rds_dev_each_id_at(struct rds_dev *dev, const struct rds_dev_laddr *la,
			void (*fn)(struct rds_dev_id *id, void *arg),
			void *arg);

/*
 * Call @fn for every id on @dev->due, which takes it off.  Does not keep others
 * from their walks.  May sleep.
 */
void rds_dev_each_due(struct rds_dev *dev, void (*fn)(struct rds_dev_id *id));

/* Write an address and a port in the form of the CM. */
void rds_dev_sockaddr(struct sockaddr_storage *ss, const struct in6_addr *addr,
		      u32 scope, u16 port);

/* scan.c */

int rds_dev_addr_init(void);
void rds_dev_addr_exit(void);
/* queue a scan of what has changed, and a look at links; any context */
void rds_dev_addr_kick(void);
void rds_dev_addr_dev_gone(struct rds_dev *dev);
void rds_dev_addr_net_init(struct net *net);
void rds_dev_addr_net_exit(struct net *net);
/* have all addresses probed; any context */
void rds_dev_addr_probe_all(void);
/* no namespace is used by @user any more */
void rds_dev_addr_user_leaves(const struct rds_dev_user *user);

/* service.c */

int rds_dev_services_init(void);
void rds_dev_services_exit(void);

/* Warn if @user, which stops, has services.  May sleep. */
void rds_dev_services_gone(const struct rds_dev_user *user);

/* addr.c */

bool rds_dev_addr_of_domain(const struct rds_dev_domain *dom,
			    struct rds_dev_laddr *la, unsigned int failed);

/* netaddr.c */

/**
 * struct rds_dev_found - an address of a namespace
 * @node: entry in a list of the caller
 * @la: the address
 */
struct rds_dev_found {
	struct list_head	node;
	struct rds_dev_laddr	la;
};

/*
 * Add the addresses of @net to @found; the caller frees them.  Sets @missed if
 * there was no memory for one, and @tentative if one is not usable yet; clears
 * neither.
 */
void rds_dev_addr_collect(struct net *net, struct list_head *found,
			  bool *missed, bool *tentative);

/* idqp.c */

/* Whether the queue pair is drained at the end of the id */
bool rds_dev_id_drains(const struct rds_dev_id *id);
/* On return no completion runs or will run.  May sleep. */
void rds_dev_id_destroy_qp(struct rds_dev_id *id);

/* Whether connect_work may wait for TCP, so that it runs on late_wq */
static inline bool rds_dev_id_waits(const struct rds_dev_id *id)
{
	return id->dev->props.dial_waits && !id->accepted;
}

/* Queue connect_work.  Any context. */
static inline void rds_dev_id_queue_connect(struct rds_dev_id *id)
{
	const struct rds_dev_user *user = id->dom->user;

	queue_work(rds_dev_id_waits(id) ? user->late_wq : user->wq,
		   &id->connect_work);
}

/* admit.c */

void rds_dev_admit_init(struct rds_dev *dev);

/*
 * Ask for a place to dial @id, which is in WAIT_TURN.  If true, it has one and
 * is dialled by the caller.  If false, connect_work is queued when it has one,
 * or the id has left.  May be asked again.
 */
bool rds_dev_admit(struct rds_dev_id *id);

/*
 * The id is established or ends: it gives its place back, or leaves the line.
 * From here on connect_work is not queued for it.  May be called more than
 * once, also for an id that was never dialled.
 */
void rds_dev_admit_leave(struct rds_dev_id *id);

/*
 * The time within which the id must come up begins: it waits for its link, or
 * is about to be dialled or answered.  _timer: rds_dev_id.timer.
 */
void rds_dev_id_limit(struct rds_dev_id *id);
void rds_dev_id_timer(struct timer_list *t);

/*
 * The id, which has left, is late; until it is freed (_forget, for any id).
 * _refuses: its owner, share or domain has too many late or under way.
 */
void rds_dev_admit_late(struct rds_dev_id *id);
void rds_dev_admit_forget(struct rds_dev_id *id);
bool rds_dev_admit_refuses(const struct rds_dev_id *id);

/* link.c */

/*
 * Whether a connection from @la to @remote can be begun.  @la->net is valid
 * during the call.  Any context but hard interrupts.  _ok: the same, but for an
 * interface or address that a notifier is about to take away: whether the
 * network stack takes packets.
 */
bool rds_dev_link_usable(const struct rds_dev_laddr *la,
			 const struct in6_addr *remote);

bool rds_dev_link_ok(const struct rds_dev_laddr *la,
		     const struct in6_addr *remote);

/*
 * Whether an attempt waits for its link: then connect_work is queued when that
 * is usable; else the id asks for a place next.  @id is entered, so the end of
 * its interface is either seen here or fails @id.
 */
bool rds_dev_link_waits(struct rds_dev_id *id);

/* @id sends no packet of the CM any more.  _locked: rds_dev.lock is held. */
void rds_dev_link_quiet(struct rds_dev_id *id);
void rds_dev_link_quiet_locked(struct rds_dev_id *id);

/* Have IPv6 resolve the link-layer address of the peer ahead of rdma_cm. */
void rds_dev_link_ask_neighbour(const struct rds_dev_id *id);

/* The time that a wait may take, in jiffies: until @until, but at most @most */
static inline long rds_dev_time_left(unsigned long until, long most)
{
	return clamp((long)(until - jiffies), 0L, most);
}

/* Continue what waits for a link that is usable; false if something waits on */
bool rds_dev_links_ready(void);

/* rds_dev.due_work, which has a reference to the device */
void rds_dev_link_due(struct work_struct *work);

int rds_dev_link_init(void);
void rds_dev_link_exit(void);

/*
 * loopqp.c: connect @qp, of a RoCE device, to itself at an address.  0 or a
 * negative errno.
 */
int rds_dev_qp_loop(struct ib_qp *qp, const struct in6_addr *addr);

/* mr.c; the first before the device is in the list of devices */
void rds_dev_mr_dev_init(struct rds_dev *dev);
void rds_dev_mr_domain_init(struct rds_dev_domain *dom);

/* key.c */
void rds_dev_mr_domain_gone(struct rds_dev_domain *dom);

#endif
