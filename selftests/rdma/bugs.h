/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rds-rdmabugs: bugs.c has main() and the tests of keys and operations. */
#ifndef RDS_SELFTEST_BUGS_H
#define RDS_SELFTEST_BUGS_H

#include "rt.h"

#define PORT	6100
#define LEN	65536
#define RW	RDS_RDMA_READWRITE
#define NOTE	RDS_RDMA_NOTIFY_ME

extern struct rt r;
extern uint8_t here[LEN];

/* bugs.c */
int next_msg(int fd, void *buf, size_t size, uint64_t *cookie);
bool works(void);

/*
 * bugsconn.c: tests of connections, and the flood during which devices are
 * removed
 */
void first_map(void);
void crossed(void);
void own_map(void);
void bind_elsewhere(void);
void nobody(void);
int ping(const struct rt_addr *from, const struct rt_addr *to);
int flood(const char *addr);

#endif
