/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of ctl/ only. */
#ifndef _RDS_CTL_INTERNAL_H
#define _RDS_CTL_INTERNAL_H

#include <linux/sysctl.h>

struct net;
struct rds_info_sink;
struct rds_net;

/* access.c */
int rds_sysctl_access(RDS_CTL_CONST struct ctl_table *table, int write,
		      void *buffer, size_t *lenp, loff_t *ppos);
int rds_sysctl_access_groups(RDS_CTL_CONST struct ctl_table *table, int write,
			     void *buffer, size_t *lenp, loff_t *ppos);

/* info_dump.c */
void rds_info_dump_init(void);
void rds_info_dump_exit(void);

/* stats.c */
void rds_stats_dump(struct net *net, struct rds_info_sink *sink);

/* sysctl.c */
int rds_sysctl_net_init(struct rds_net *rn);
void rds_sysctl_net_exit(struct rds_net *rn);

/* proc.c */
int rds_proc_net_init(struct rds_net *rn);
void rds_proc_net_exit(struct rds_net *rn);

#endif
