// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Hosts that answer attempts over RDMA, and those that do not; see hosts.h. */
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "hosts.h"

/**
 * struct rds_ss_host - a host
 * @node: entry in a chain
 * @used: entry in rds_ss_hosts.used
 * @addr: address
 * @is: what was noted
 * @at: when that was noted, in jiffies
 */
struct rds_ss_host {
	struct hlist_node	node;
	struct list_head	used;
	struct in6_addr		addr;
	enum rds_ss_host_is	is;
	unsigned long		at;
};

void rds_ss_hosts_init(struct rds_ss_hosts *hosts)
{
	spin_lock_init(&hosts->lock);
	INIT_LIST_HEAD(&hosts->used);
	hosts->seed = get_random_u32();
}

static struct hlist_head *chain_of(struct rds_ss_hosts *hosts,
				   const struct in6_addr *addr)
{
	u32 hash = jhash2((const u32 *)addr, sizeof(*addr) / sizeof(u32),
			  hosts->seed);

	return &hosts->chains[hash % RDS_SS_HOST_CHAINS];
}

/* The host, as the one that was asked for last; or NULL */
static struct rds_ss_host *host_find(struct rds_ss_hosts *hosts,
				     const struct in6_addr *addr)
{
	struct rds_ss_host *h;

	lockdep_assert_held(&hosts->lock);
	hlist_for_each_entry(h, chain_of(hosts, addr), node) {
		if (ipv6_addr_equal(&h->addr, addr)) {
			list_move_tail(&h->used, &hosts->used);
			return h;
		}
	}
	return NULL;
}

static void host_free(struct rds_ss_hosts *hosts, struct rds_ss_host *h)
{
	hlist_del(&h->node);
	list_del(&h->used);
	hosts->nr--;
	kfree(h);
}

/* NULL: no memory */
static struct rds_ss_host *host_add(struct rds_ss_hosts *hosts,
				    const struct in6_addr *addr)
{
	struct rds_ss_host *h = kzalloc_obj(*h, GFP_ATOMIC);

	lockdep_assert_held(&hosts->lock);
	if (!h)
		return NULL;
	if (hosts->nr >= RDS_SS_HOSTS)
		host_free(hosts, list_first_entry(&hosts->used,
						  struct rds_ss_host, used));
	h->addr = *addr;
	hlist_add_head(&h->node, chain_of(hosts, addr));
	list_add_tail(&h->used, &hosts->used);
	hosts->nr++;
	return h;
}

static enum rds_ss_host_is host_is(const struct rds_ss_host *h)
{
	if (!h || h->is == RDS_SS_HOST_NEW)
		return RDS_SS_HOST_NEW;
	return time_before(jiffies, h->at + (h->is == RDS_SS_HOST_ANSWERS ?
						     RDS_SS_HOST_ANSWERED :
						     RDS_SS_HOST_SILENT)) ?
		       h->is : RDS_SS_HOST_NEW;
}

/* NULL is a host that there was no memory for. */
static void host_set(struct rds_ss_host *h, enum rds_ss_host_is is)
{
	if (h) {
		h->is = is;
		h->at = jiffies;
	}
}

enum rds_ss_host_is rds_ss_host_ask(struct rds_ss_hosts *hosts,
				    const struct in6_addr *addr)
{
	enum rds_ss_host_is is;

	spin_lock_bh(&hosts->lock);
	is = host_is(host_find(hosts, addr));
	spin_unlock_bh(&hosts->lock);
	return is;
}

void rds_ss_host_note(struct rds_ss_hosts *hosts, const struct in6_addr *addr,
		      bool answered)
{
	spin_lock_bh(&hosts->lock);
	host_set(host_find(hosts, addr) ?: host_add(hosts, addr),
		 answered ? RDS_SS_HOST_ANSWERS : RDS_SS_HOST_IS_SILENT);
	spin_unlock_bh(&hosts->lock);
}

void rds_ss_host_doubt(struct rds_ss_hosts *hosts, const struct in6_addr *addr)
{
	struct rds_ss_host *h;

	spin_lock_bh(&hosts->lock);
	h = host_find(hosts, addr);
	if (host_is(h) == RDS_SS_HOST_ANSWERS)
		host_set(h, RDS_SS_HOST_NEW);
	else
		host_set(h ?: host_add(hosts, addr), RDS_SS_HOST_IS_SILENT);
	spin_unlock_bh(&hosts->lock);
}

void rds_ss_host_heard(struct rds_ss_hosts *hosts, const struct in6_addr *addr)
{
	struct rds_ss_host *h;

	spin_lock_bh(&hosts->lock);
	h = host_find(hosts, addr);
	if (h && h->is == RDS_SS_HOST_IS_SILENT)
		host_set(h, RDS_SS_HOST_NEW);
	spin_unlock_bh(&hosts->lock);
}

void rds_ss_hosts_free(struct rds_ss_hosts *hosts)
{
	struct rds_ss_host *h, *tmp;

	spin_lock_bh(&hosts->lock);
	list_for_each_entry_safe(h, tmp, &hosts->used, used)
		host_free(hosts, h);
	spin_unlock_bh(&hosts->lock);
}
