/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who may use RDS in a network namespace: settings of the namespace, and the
 * questions that the other folders ask about the calling process.
 * Documentation/security.rst says what the settings are for.
 *
 * The settings are part of struct rds_net.  access.c alone reads and writes
 * them: ctl/ hands over what an administrator has written.  @lock of struct
 * rds_access serialises writers, which compare with the old value; a reader
 * reads the level alone, or both ends of the range under the sequence.
 *
 * Each question is answered from the settings and the credentials of the moment
 * in which it is asked.
 */
#ifndef _RDS_ACCESS_H
#define _RDS_ACCESS_H

#include <linux/types.h>

struct rds_net;

/**
 * enum rds_access_level - who may make sockets in a namespace; each level
 * includes those below it
 * @RDS_ACCESS_NOBODY: nobody
 * @RDS_ACCESS_ROOT: CAP_NET_ADMIN in the user namespace that owns the network
 *	namespace
 * @RDS_ACCESS_GROUPS: members of a group in the range of the namespace
 * @RDS_ACCESS_ALL: all
 */
enum rds_access_level {
	RDS_ACCESS_NOBODY,
	RDS_ACCESS_ROOT,
	RDS_ACCESS_GROUPS,
	RDS_ACCESS_ALL,
};

/* Set the defaults of a new namespace. */
void rds_access_net_init(struct rds_net *rn);

/**
 * rds_access_check - ask whether the calling process may make a socket
 * @rn: namespace of the socket
 *
 * A refusal is counted (access_denied), and logged now and then.
 *
 * Context: process.
 * Return: 0 or -EACCES.
 */
int rds_access_check(struct rds_net *rn);

/**
 * rds_access_may_load - ask whether a module is loaded for the calling process
 * @rn: namespace of the process's socket
 * @module: name of the module, which is not loaded
 *
 * A refusal is counted (load_denied), and logged now and then.
 *
 * Context: process.
 * Return: whether the process has CAP_NET_ADMIN or CAP_SYS_MODULE in the first
 * user namespace.
 */
bool rds_access_may_load(struct rds_net *rn, const char *module);

/* The level and the range of a namespace, for ctl/ */
int rds_access_level(const struct rds_net *rn);
void rds_access_groups(struct rds_net *rn, gid_t *low, gid_t *high);

/**
 * rds_access_set_level - set the level of a namespace
 * @rn: namespace
 * @level: enum rds_access_level
 *
 * Context: process, for the process that writes the setting.
 * Return: 0; -EPERM: the level is above the present one, and the process does
 * not have the real user ID 0 and CAP_NET_ADMIN in the first user namespace.
 */
int rds_access_set_level(struct rds_net *rn, int level);

/**
 * rds_access_set_groups - set the range of groups of a namespace
 * @rn: namespace
 * @low: first group
 * @high: last group; below @low for an empty range
 *
 * Context: process, for the process that writes the setting.
 * Return: 0; -EPERM: the range is not within the present one, and the process
 * does not have the real user ID 0 and CAP_NET_ADMIN in the first user
 * namespace.
 */
int rds_access_set_groups(struct rds_net *rn, gid_t low, gid_t high);

#endif
