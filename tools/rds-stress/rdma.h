/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA of rds-stress: a request asks for a transfer, and who acknowledges the request makes it. */
#ifndef STRESS_RDMA_H
#define STRESS_RDMA_H

#include <linux/rds.h>

#include "stress.h"

/* One RDMA operation each way may be under way for each slot. */
struct rdma_slot {
	uint8_t *target;	/* memory of ours the peer reads and writes */
	uint64_t key;		/* of target; 0: the peer may not touch it */
	struct command asked;	/* of the peer, with our last request */
	struct command todo;	/* by the peer, to be done with our next ack */

	uint8_t *local;		/* what our own transfer reads or writes, */
	struct command flying;	/* which that is, */
	uint64_t token;		/* and how the kernel names it */
	bool in_flight;		/* local belongs to the kernel */
};

/* ---- rdma.c ---- */

/* The control message that goes with a datagram. */
union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(struct rds_atomic_args))];
};

/* Ends the program unless remote memory works from the local address. */
void rdma_probe(const struct options *o);
void rdma_set_up(struct task *t);
/* What is to be asked of @p with a request; fills in the header and @msg's control message. */
void rdma_ask(struct task *t, struct peer *p, uint16_t slot, struct header *h, struct msghdr *msg);
/* The request either went out, or will be made anew. */
void rdma_asked(struct task *t, struct peer *p, uint16_t slot, const struct header *h, bool sent);
/* @p did what was asked. */
void rdma_answered(struct task *t, struct peer *p, const struct header *h);
/* Makes @data the only control message of @msg, whose buffer has the room of a union control. */
void rdma_control(struct msghdr *msg, int type, const void *data, size_t len);
const char *rop_name(uint8_t rop);

/* ---- transfer.c ---- */

/* Takes note of what @p asks for, with the key that came as a control message, or 0. */
void transfer_requested(struct task *t, struct peer *p, const struct header *h, uint64_t key);
/* False while the slot's last transfer is under way. */
bool transfer_ready(const struct peer *p, uint16_t slot);
void transfer_begin(struct task *t, struct peer *p, uint16_t slot, struct header *h,
		    struct msghdr *msg);
void transfer_begun(struct peer *p, uint16_t slot);
void transfer_status(struct task *t, const struct rds_rdma_notify *n);
/* Fills the whole words of every element. */
void fill_words(uint8_t *buf, const struct command *c, uint64_t pattern);
/* Ends the child unless every element has the pattern of @c; only the first with a classic peer. */
void check_words(struct peer *p, const uint8_t *buf, const struct command *c, const char *what);

#endif
