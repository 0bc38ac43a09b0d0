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
/* The peer socket and its address, and the next token that was not used */
extern struct rt_addr there;
extern int peer_fd;
extern uint64_t next_token;

/* bugs.c */
uint64_t far_key(uint64_t flags);
int post(uint64_t cookie, struct rds_iovec *v, uint64_t nr, uint64_t bytes,
	 uint64_t flags, uint64_t token);
void drain(int fd);
bool pins_back(long before);
int next_msg(int fd, void *buf, size_t size, uint64_t *cookie);
bool works(void);

/* bugscancel.c */
void cancelled(void);
void cancelled_amid(void);

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
