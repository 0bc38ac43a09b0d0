/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of hosts: whether attempts over RDMA were answered.
 *
 * At most RDS_SS_HOSTS of them in a namespace, and the one that nobody has
 * asked for longest makes room.  Programs choose which hosts are asked for: one
 * can have a host tried once more for another.
 *
 * Lock: rds_ss_hosts.lock (spin, bh), a leaf.
 */
#ifndef _RDS_STREAM_HOSTS_H
#define _RDS_STREAM_HOSTS_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#define RDS_SS_HOSTS		256
#define RDS_SS_HOST_CHAINS	64
/* Time for which a host that was silent is not asked again */
#define RDS_SS_HOST_SILENT	(60 * HZ)
/* Time for which an answer is remembered */
#define RDS_SS_HOST_ANSWERED	(600 * HZ)

/**
 * struct rds_ss_hosts - hosts of a namespace
 * @lock: guards the rest
 * @seed: of the hash, so that nobody can choose addresses of one chain
 * @chains: struct rds_ss_host, by address
 * @used: the same, the one that was asked for last at the end
 * @nr: number of hosts
 */
struct rds_ss_hosts {
	spinlock_t		lock;
	u32			seed;
	struct hlist_head	chains[RDS_SS_HOST_CHAINS];
	struct list_head	used;
	unsigned int		nr;
};

/**
 * enum rds_ss_host_is - what is known of a host
 * @RDS_SS_HOST_NEW: nothing
 * @RDS_SS_HOST_ANSWERS: it has answered when it was last asked, less than
 *	RDS_SS_HOST_ANSWERED ago
 * @RDS_SS_HOST_IS_SILENT: it has not, less than RDS_SS_HOST_SILENT ago
 */
enum rds_ss_host_is {
	RDS_SS_HOST_NEW,
	RDS_SS_HOST_ANSWERS,
	RDS_SS_HOST_IS_SILENT,
};

void rds_ss_hosts_init(struct rds_ss_hosts *hosts);
void rds_ss_hosts_free(struct rds_ss_hosts *hosts);

enum rds_ss_host_is rds_ss_host_ask(struct rds_ss_hosts *hosts,
				    const struct in6_addr *addr);

/* The host has answered, or not.  Any context but hard interrupts. */
void rds_ss_host_note(struct rds_ss_hosts *hosts, const struct in6_addr *addr,
		      bool answered);

/*
 * Nobody waited long enough to know: what has answered is not known to answer,
 * and what was not known is silent.
 */
void rds_ss_host_doubt(struct rds_ss_hosts *hosts, const struct in6_addr *addr);

/*
 * A request has come from the host, or with its address: it is not known to be
 * silent.  One that is not known stays so, as peers choose how many they are.
 */
void rds_ss_host_heard(struct rds_ss_hosts *hosts, const struct in6_addr *addr);

#endif
