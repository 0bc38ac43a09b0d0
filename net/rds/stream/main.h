/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What main.c sets up, in this order, and takes down. */
#ifndef _RDS_STREAM_MAIN_H
#define _RDS_STREAM_MAIN_H

int rds_ss_sock_init(void);
void rds_ss_sock_exit(void);
int rds_ss_inet_init(void);
void rds_ss_inet_exit(void);

#endif
