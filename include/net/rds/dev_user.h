/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who uses RDMA devices, from when to when, and what it hands over. */
#ifndef _NET_RDS_DEV_USER_H
#define _NET_RDS_DEV_USER_H

#include <linux/types.h>

#include <net/rds/dev.h>
#include <net/rds/dev_domain.h>
#include <net/rds/dev_id.h>
#include <net/rds/dev_service.h>

struct workqueue_struct;

/* Most users at one time, and values of rds_dev_user.slot */
#define RDS_DEV_USERS	4
#define RDS_DEV_SLOTS	(RDS_DEV_USERS + 1)

/* Counters of a user at all devices: keys by size, and what goes wrong */
#define RDS_DEV_MR_STATS(_)		\
	_(ib_rdma_mr_8k_alloc)		\
	_(ib_rdma_mr_8k_free)		\
	_(ib_rdma_mr_8k_used)		\
	_(ib_rdma_mr_8k_pool_flush)	\
	_(ib_rdma_mr_8k_pool_wait)	\
	_(ib_rdma_mr_8k_pool_depleted)	\
	_(ib_rdma_mr_1m_alloc)		\
	_(ib_rdma_mr_1m_free)		\
	_(ib_rdma_mr_1m_used)		\
	_(ib_rdma_mr_1m_pool_flush)	\
	_(ib_rdma_mr_1m_pool_wait)	\
	_(ib_rdma_mr_1m_pool_depleted)	\
	_(ib_rdma_mr_8k_reused)		\
	_(ib_rdma_mr_1m_reused)

#define RDS_DEV_STATS(_)		\
	RDS_DEV_MR_STATS(_)		\
	_(rdma_registrar_rebuilt)	\
	_(rdma_mr_stuck)

struct rds_dev_stats {
#define RDS_DEV_STATS_FIELD(name)	u64 name;
	RDS_DEV_STATS(RDS_DEV_STATS_FIELD)
#undef RDS_DEV_STATS_FIELD
};

/**
 * struct rds_dev_user - who uses devices
 * @name: of the user, for the log and its work queues in sysfs; no other user
 *	has it
 * @lacks: why it cannot use a device, or NULL; @lacks may be NULL
 * @once: bits of the address of a key that a peer may end
 * @small_keys: most keys of up to RDS_DEV_MR_SMALL pages of a device
 * @large_keys: most larger keys of a device
 * @tos_is_sl: the lower half of a type of service is the service level of its
 *	connection; else that is what the kernel makes of the type
 * @soft_netns: whether software devices that come serve all namespaces; may be
 *	NULL
 * @slot: number of the user, 0 outside its use; this and the rest is rds_dev's
 * @wq: works on behalf of the user
 * @late_wq: ends of late ids, and attempts over a device with dial_waits: they
 *	may take minutes each
 */
struct rds_dev_user {
	const char		*name;
	const char *(*lacks)(const struct rds_dev_props *props);
	u64			once;
	unsigned int		small_keys;
	unsigned int		large_keys;
	bool			tos_is_sl;
	const bool		*soft_netns;

	unsigned int		slot;
	struct workqueue_struct	*wq;
	struct workqueue_struct	*late_wq;
};

/* Counters of @user since its use began */
void rds_dev_stats_sum(const struct rds_dev_user *user,
		       struct rds_dev_stats *sum);

/* Raised whenever what a user is compiled with changes */
#define RDS_DEV_API	4

/**
 * struct rds_dev_abi - what a user was compiled with
 * @api: RDS_DEV_API
 * @dev: size of struct rds_dev, and so on
 * @domain: see @dev
 * @id: see @dev
 * @service: see @dev
 * @user: see @dev
 */
struct rds_dev_abi {
	unsigned int	api;
	unsigned int	dev;
	unsigned int	domain;
	unsigned int	id;
	unsigned int	service;
	unsigned int	user;
};

#define RDS_DEV_ABI						\
	{							\
		.api	 = RDS_DEV_API,				\
		.dev	 = sizeof(struct rds_dev),		\
		.domain	 = sizeof(struct rds_dev_domain),	\
		.id	 = sizeof(struct rds_dev_id),		\
		.service = sizeof(struct rds_dev_service),	\
		.user	 = sizeof(struct rds_dev_user),		\
	}

/**
 * __rds_dev_use - begin to use devices, all that are there and that come
 * @user: the user, valid until rds_dev_use_end()
 * @abi: RDS_DEV_ABI where the user was compiled
 *
 * Users call rds_dev_use().  The counters of the user begin at 0.
 *
 * Context: process, may sleep.
 * Return: 0; -EPROTONOSUPPORT: the user was compiled with another rds_dev;
 * -EUSERS: there are RDS_DEV_USERS; -EBUSY: it is a user; another negative
 * errno: nothing is used.
 */
int __rds_dev_use(struct rds_dev_user *user, const struct rds_dev_abi *abi);

static inline int rds_dev_use(struct rds_dev_user *user)
{
	static const struct rds_dev_abi abi = RDS_DEV_ABI;

	return __rds_dev_use(user, &abi);
}

/*
 * End the use, in two steps.  _stop, when the services of the user are deleted
 * (it warns if one is not): no address leads the user to a device any more; the
 * user ends its ids next.  _end: on return no device has an object of the
 * user's, and none of its functions is called or runs.  Other users go on.  May
 * sleep.
 */
void rds_dev_use_stop(struct rds_dev_user *user);
void rds_dev_use_end(struct rds_dev_user *user);

#endif
