/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Settings, counters and snapshots for administrators: start and stop, for
 * main.c.
 */
#ifndef _RDS_CTL_CTL_H
#define _RDS_CTL_CTL_H

struct rds_net;

int rds_ctl_init(void);
void rds_ctl_exit(void);
int rds_ctl_net_init(struct rds_net *rn);
void rds_ctl_net_exit(struct rds_net *rn);

#endif
