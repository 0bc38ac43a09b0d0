/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a transport takes part in the snapshots of RDS_INFO_*; see ctl/info.c for
 * how one is made.
 */
#ifndef _NET_RDS_INFO_H
#define _NET_RDS_INFO_H

#include <linux/types.h>

struct net;
struct rds_info_sink;

/**
 * typedef rds_info_fn - emit all records of one kind by rds_info_put()
 * @net: namespace of the records
 * @sink: snapshot
 *
 * Called several times for one snapshot: once to count the records, and again
 * to keep them.
 *
 * Context: process, may sleep.
 */
typedef void (*rds_info_fn)(struct net *net, struct rds_info_sink *sink);

/**
 * rds_info_register - set the function that answers an RDS_INFO_* option
 * @optname: RDS_INFO_* or RDS6_INFO_*
 * @size: bytes of one record
 * @fn: function that emits the records of a namespace
 *
 * Context: process, may sleep.
 */
void rds_info_register(int optname, size_t size, rds_info_fn fn);

/**
 * rds_info_unregister - undo rds_info_register()
 * @optname: RDS_INFO_* or RDS6_INFO_*; on return the function is not running
 *
 * Context: process, may sleep.
 */
void rds_info_unregister(int optname);

/**
 * rds_info_put - add one record to a snapshot
 * @sink: snapshot that the rds_info_fn was called with
 * @record: record of the size that was registered
 *
 * Context: any.
 */
void rds_info_put(struct rds_info_sink *sink, const void *record);

#endif
