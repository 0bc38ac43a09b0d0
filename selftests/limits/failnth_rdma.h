/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of rds-failnth-rdma share. */
#ifndef SELFTESTS_FAILNTH_RDMA_H
#define SELFTESTS_FAILNTH_RDMA_H

#include "nth.h"

#define MIB		(1 << 20)
#define PAGE		4096
#define RW		RDS_RDMA_READWRITE
#define NOTE		RDS_RDMA_NOTIFY_ME

/* Memory of @tx, and memory of @rx that operations reach */
extern uint8_t here[MIB], there[MIB];
/* A socket that sends, and one that receives */
extern int tx, rx;

/** check_pins() - no page is pinned but those of the group's key */
void check_pins(const char *what);

/** open_at() - a socket over RDMA with large buffers, bound to @a */
int open_at(const union addr *a);

/** nothing_at() - no message and no notification waits */
void nothing_at(int fd, const char *what);

/**
 * struct got - what recvmsg() returned
 * @ret: bytes, or -errno
 * @seq: the data
 * @cookie: of RDS_CMSG_RDMA_DEST, or 0
 * @notes: number of RDS_CMSG_RDMA_STATUS
 * @note: the last of them
 */
struct got {
	long			ret;
	unsigned int		seq;
	uint64_t		cookie;
	unsigned int		notes;
	struct rds_rdma_notify	note;
};

/** take() - recvmsg(); returns the number of bytes, or -errno */
long take(int fd, struct got *g);

/** put() - send @seq from @tx to @rx, with one control message */
long put(int type, const void *arg, size_t len, unsigned int seq);

/**
 * struct key - a key of memory
 * @args: what it is of
 * @for_dest: made by RDS_GET_MR_FOR_DEST
 * @kept: the device may use a key again that it has kept
 * @cookie: the key
 */
struct key {
	struct rds_get_mr_args	args;
	bool			for_dest;
	bool			kept;
	uint64_t		cookie;
};

/** begin_group() - make a key of @there, whose pages then stay pinned */
void begin_group(struct key *k);

/** end_group() - free the key, and print the result of the group */
void end_group(struct key *k, const char *name);

/** rdma_ops() - groups of operations, and of notifications */
void rdma_ops(void);

/** rdma_conns() - the group of connections that are set up */
void rdma_conns(void);

#endif
