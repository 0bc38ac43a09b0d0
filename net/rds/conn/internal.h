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

/* Runs the work of paths and connections that may have to wait */
extern struct workqueue_struct *rds_conn_wq;

/* Transmits, where no system call does */
extern struct workqueue_struct *rds_tx_wq;

/* The peer named its incarnation; 0 if it named none.  Numbers start anew with another. */
void rds_conn_generation(struct rds_conn *conn, u32 gen);

/* The path came up: say who we are, unless the peer knows. */
void rds_conn_greet(struct rds_cpath *cp);

/* Receive side, see struct rds_rxq_ops */
void rds_conn_ping(struct rds_path *path, u16 sport);
void rds_conn_handshake(struct rds_path *path, const struct rds_handshake *hs, bool answer);

/* A message with the present congestion map of the local address; NULL without memory. */
struct rds_message *rds_conn_make_map(struct rds_path *path);

/*
 * A path is down and nobody wants it up: forget the connection if it never carried a message.
 * The caller holds the path's control mutex and a reference.
 */
void rds_conn_reap(struct rds_conn *conn);

#endif
