// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * access and access_group_range of /proc/sys/net/rds.  access.c keeps the
 * values, and decides who may raise them.
 */
#include <linux/kernel.h>
#include <linux/sysctl.h>

#include "access.h"
#include "ctl/internal.h"
#include "netns.h"

static unsigned long group_max = INT_MAX;

int rds_sysctl_access(RDS_CTL_CONST struct ctl_table *table, int write,
		      void *buffer, size_t *lenp, loff_t *ppos)
{
	struct rds_net *rn = table->data;
	int level = rds_access_level(rn);
	struct ctl_table tmp = { .data = &level,
				 .maxlen = sizeof(level),
				 .mode = table->mode,
				 .extra1 = SYSCTL_ZERO,
				 .extra2 = SYSCTL_THREE };
	int err = proc_dointvec_minmax(&tmp, write, buffer, lenp, ppos);

	if (err || !write)
		return err;
	return rds_access_set_level(rn, level);
}

int rds_sysctl_access_groups(RDS_CTL_CONST struct ctl_table *table, int write,
			     void *buffer, size_t *lenp, loff_t *ppos)
{
	struct rds_net *rn = table->data;
	unsigned long groups[2];
	struct ctl_table tmp = { .data = groups,
				 .maxlen = sizeof(groups),
				 .mode = table->mode,
				 .extra1 = SYSCTL_LONG_ZERO,
				 .extra2 = &group_max };
	gid_t low, high;
	int err;

	rds_access_groups(rn, &low, &high);
	groups[0] = low;
	groups[1] = high;
	err = proc_doulongvec_minmax(&tmp, write, buffer, lenp, ppos);
	if (err || !write)
		return err;
	return rds_access_set_groups(rn, groups[0], groups[1]);
}
