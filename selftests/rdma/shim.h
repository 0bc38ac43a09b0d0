/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rds-rdmashim: what shim.c and shimkeys.c share. */
#ifndef RDS_SELFTEST_SHIM_H
#define RDS_SELFTEST_SHIM_H

#include "rt.h"

#define PORT	6200
#define LEN	65536
#define RW	RDS_RDMA_READWRITE
#define NOTE	RDS_RDMA_NOTIFY_ME

extern struct rt r;
extern struct rt_addr there;	/* of peer_fd */
extern int peer_fd;
extern uint8_t here[LEN], far[LEN];
extern uint64_t next_token;

/* shim.c; operations go from r.fd to a key of peer_fd */
bool said(bool good, const char *what, long a, long b);
void shim_set(const char *name, int value);
long shim_get(const char *name, int field);
bool until(bool (*fn)(long arg), long arg, int ms);
int hear(int fd, void *buf, size_t size);
bool passes(int from, const struct rt_addr *to, int at, size_t len,
	    uint64_t seed);
uint64_t far_key(uint64_t flags);
int op_begin(uint64_t cookie, void *local, size_t len, uint64_t flags);
int op(uint64_t cookie, void *local, size_t len, uint64_t flags);
bool moves(uint64_t seed);

/* shimkeys.c */
bool t_sink(void);
bool t_busy(void);
bool t_invalidated(void);
bool t_rkeys(void);
bool t_quota(void);
bool t_registrar(void);

#endif
