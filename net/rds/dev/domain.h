/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Domains, for the other files of this module; dev_domain.h has their life. */
#ifndef _RDS_DEV_DOMAIN_H
#define _RDS_DEV_DOMAIN_H

#include <linux/types.h>

#include <net/rds/dev.h>
#include <net/rds/dev_domain.h>

/* Does the domain end?  Under rds_dev.lock. */
static inline bool rds_dev_domain_ends(const struct rds_dev_domain *dom)
{
	return dom->gone || dom->dev->gone;
}

/*
 * The domain of @user at @dev, counted, made now if there is none; NULL if the
 * device does not serve the user, or without memory.  May sleep.  _find: the
 * one that is there, or NULL; any context but hard interrupts.
 */
struct rds_dev_domain *rds_dev_domain_get(struct rds_dev *dev,
					  const struct rds_dev_user *user);
struct rds_dev_domain *rds_dev_domain_find(struct rds_dev *dev,
					   unsigned int slot);

/*
 * Keep rds_dev.ib and @dom->pd valid until rds_dev_domain_release(), for which
 * the end of the domain waits.  False if it ends.
 */
bool rds_dev_domain_hold(struct rds_dev_domain *dom);
void rds_dev_domain_release(struct rds_dev_domain *dom);

/* An address has come, or its link: registrars may want it.  Any context. */
void rds_dev_domains_kick(struct rds_dev *dev);

/*
 * End all domains of @dev, which is being removed, but those that end already;
 * end those of a user that devices do not serve any more, and wait for all.
 */
void rds_dev_domains_end(struct rds_dev *dev);
void rds_dev_user_domains_end(const struct rds_dev_user *user);

#endif
