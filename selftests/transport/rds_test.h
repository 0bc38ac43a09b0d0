/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_TEST_H
#define _RDS_TEST_H

struct rds_memop_vtable;
struct rds_path;
struct rds_transport;
struct rds_tx_msg;

/* memop.c */
extern const struct rds_memop_vtable test_memop_vtable;
int rds_test_post(struct rds_path *path, struct rds_tx_msg *m);
void rds_test_drop(struct rds_path *path);

/* refuse.c */
void rds_test_refusals(const struct rds_transport *good);

#endif
