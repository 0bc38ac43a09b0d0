/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Domains: what a user of devices has of one device.  Connection ids, queue
 * pairs and keys are of a domain, and a peer reaches by a queue pair only keys
 * of the same domain, whatever it guesses.
 *
 * Lifetime: a domain is made when its user first needs it, and is counted: by
 * its device, listeners, ids and keys in use.  When the device is removed or
 * the use ends, rds_dev_domain.gone is set.  Then no new object can be had, its
 * ids are told to end and waited for, its keys are ended, and its protection
 * domain is freed.  struct rds_dev_domain, and the device with it, stays until
 * the last reference is put.  Keys that had an owner stay, without an ib_mr,
 * until the owner ends them.
 *
 * Lock: rds_dev.lock of its device guards what is said to be under the lock.
 */
#ifndef _NET_RDS_DEV_DOMAIN_H
#define _NET_RDS_DEV_DOMAIN_H

#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

#include <net/rds/dev.h>

struct ib_pd;
struct rds_dev_registrar;
struct rds_dev_user;

/* Sizes of keys, in pages */
#define RDS_DEV_MR_SMALL	16
#define RDS_DEV_MR_LARGE	(1024 * 1024 / PAGE_SIZE + 1)

/**
 * struct rds_dev_mr_pool - keys of one size
 * @pages: most pages of a key of this pool
 * @max: most keys that may exist
 * @nr: number of keys that exist, in use or in @free
 * @nr_free: length of @free
 * @free: ended keys, kept for later use
 */
struct rds_dev_mr_pool {
	unsigned int		pages;
	unsigned int		max;
	unsigned int		nr;
	unsigned int		nr_free;
	struct list_head	free;
};

/**
 * struct rds_dev_domain - a user at a device
 * @ref: number of references
 * @dev: the device, counted
 * @user: the user; not to be read once the use has ended
 * @slot: rds_dev_user.slot of @user
 * @node: entry in rds_dev.domains; under the lock
 * @pd: protection domain of all queue pairs and keys; NULL at the end
 * @gone: the domain ends; under the lock
 * @nr_ids: entered ids; under the lock
 * @users: number of calls that use the device, see rds_dev_domain_hold(); under
 *	the lock
 * @nr_late: late ids; under rds_dev_admit.lock
 * @mrs: keys in use, by rkey (key.c); under the lock
 * @pools: small and large keys, and those of them kept for later use; under the
 *	lock
 * @stuck: keys that the device did not end (mr.c); under the lock
 * @nr_stuck: length of @stuck
 * @reg: registrar (registrar.c)
 */
struct rds_dev_domain {
	struct kref			ref;
	struct rds_dev			*dev;
	const struct rds_dev_user	*user;
	unsigned int			slot;
	struct list_head		node;
	struct ib_pd			*pd;
	bool				gone;
	unsigned int			nr_ids;
	unsigned int			users;
	unsigned int			nr_late;
	DECLARE_HASHTABLE(mrs, 8);
	struct rds_dev_mr_pool		pools[2];
	struct list_head		stuck;
	unsigned int			nr_stuck;
	struct rds_dev_registrar	*reg;
};

void rds_dev_domain_put(struct rds_dev_domain *dom);

/*
 * The domain of @user at the device that a local address leads to, counted.
 * NULL: the address leads to no device, or to none that the user can use there,
 * or there was no memory for the domain.  May sleep, and waits for the
 * destruction of listeners, so no CM handler may call this.
 */
struct rds_dev_domain *
rds_dev_by_addr(const struct rds_dev_user *user, struct net *net,
		const struct in6_addr *addr, u32 scope);

/*
 * The domain for @la, as rds_dev_by_addr(); fills in la->ifindex.
 */
struct rds_dev_domain *rds_dev_by_laddr(const struct rds_dev_user *user,
					struct rds_dev_laddr *la);

/*
 * Call @fn for every domain of @user; none of their devices leaves the list of
 * devices meanwhile.  May sleep.
 */
void rds_dev_each_domain(const struct rds_dev_user *user,
			 void (*fn)(struct rds_dev_domain *dom, void *arg),
			 void *arg);

/*
 * Call @fn for every id of @dom that is not closing.  @fn may sleep, but not
 * wait for its leave.
 */
void rds_dev_domain_each_id(struct rds_dev_domain *dom,
			    void (*fn)(struct rds_dev_id *id, void *arg),
			    void *arg);

#endif
