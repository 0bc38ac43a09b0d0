/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_LOOP_H
#define _RDS_LOOP_H

int rds_loop_init(void);
void rds_loop_exit(void);

#endif
