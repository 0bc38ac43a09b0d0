/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_TEST_H
#define _RDS_TEST_H

struct rds_transport;

void rds_test_refusals(const struct rds_transport *good);

#endif
