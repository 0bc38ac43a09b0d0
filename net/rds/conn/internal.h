/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of conn/ only. */
#ifndef _RDS_CONN_INTERNAL_H
#define _RDS_CONN_INTERNAL_H

#include <linux/types.h>

struct rds_conn;
struct rds_cpath;
struct rds_handshake;
struct rds_message;
struct rds_path;
struct workqueue_struct;

/* Runs works of paths and connections that may sleep for long */
extern struct workqueue_struct *rds_conn_wq;

/* Transmits when no system call does */
extern struct workqueue_struct *rds_tx_wq;

/*
 * The peer named its generation, or 0 for none.  With another one message
 * numbers start anew.
 */
void rds_conn_generation(struct rds_conn *conn, u32 gen);

/* The path came up: send a handshake, unless one is answered or on its way. */
void rds_conn_greet(struct rds_cpath *cp);

/* Receive side, see struct rds_probe_ops */
void rds_conn_ping(struct rds_path *path, u16 sport);
void rds_conn_handshake(struct rds_path *path, const struct rds_handshake *hs,
			bool answer);

/*
 * A message with the present congestion map of the local address; NULL without
 * memory.
 */
struct rds_message *rds_conn_make_map(struct rds_path *path);

/*
 * A path is down and not wanted up: forget the connection if it never carried a
 * message. The caller holds the path's control mutex and a reference.
 */
void rds_conn_reap(struct rds_conn *conn);

#endif
