/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA of rds-stress: a request asks for an RDMA operation ("transfer"), and
 * the side that acknowledges the request carries out the transfer.
 */
#ifndef STRESS_RDMA_H
#define STRESS_RDMA_H

#include <linux/rds.h>

#include "stress.h"

/* RDMA state of a slot: each direction has at most one operation under way. */
struct rdma_slot {
	uint8_t *target;	/* local memory for the peer's transfers */
	uint64_t key;		/* of target; 0: target is not registered */
	struct command asked;	/* transfer asked of the peer, last request */
	struct command todo;	/* transfer to make with the next ack */

	uint8_t *local;		/* local memory of our own transfer */
	struct command flying;	/* our own transfer */
	uint64_t token;		/* user_token of our own transfer */
	bool in_flight;		/* local is in use until the status arrives */
};

/* ---- rdma.c ---- */

/* Buffer for the control message of one datagram. */
union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(struct rds_atomic_args))];
};

/* End the program unless the local address supports remote memory. */
void rdma_probe(const struct options *o);
void rdma_set_up(struct task *t);
/*
 * Add a transfer to a request to @p: fill in @h->rdma and the control message
 * of @msg. The first requests have none.
 */
void rdma_ask(struct task *t, struct peer *p, uint16_t slot, struct header *h,
	      struct msghdr *msg);
/* Note that the request of rdma_ask() was sent, or that it was not (!@sent). */
void rdma_asked(struct task *t, struct peer *p, uint16_t slot,
		const struct header *h, bool sent);
/* Take ack @h of @p: check the transfer that was asked for, free its key. */
void rdma_answered(struct task *t, struct peer *p, const struct header *h);
/*
 * Make @data the only control message of @msg. The control buffer of @msg has
 * the size of union control.
 */
void rdma_control(struct msghdr *msg, int type, const void *data, size_t len);
const char *rop_name(uint8_t rop);

/* ---- transfer.c ---- */

/*
 * Note the transfer that request @h of @p asks for. @key came as a control
 * message; 0: the key is in the header.
 */
void transfer_requested(struct task *t, struct peer *p, const struct header *h,
			uint64_t key);
/* False while the slot has a new transfer to make and the last is under way. */
bool transfer_ready(const struct peer *p, uint16_t slot);
void transfer_begin(struct task *t, struct peer *p, uint16_t slot,
		    struct header *h, struct msghdr *msg);
void transfer_begun(struct peer *p, uint16_t slot);
void transfer_status(struct task *t, const struct rds_rdma_notify *n);
/* Fill the whole 64-bit words of every element of @buf with @pattern. */
void fill_words(uint8_t *buf, const struct command *c, uint64_t pattern);
/*
 * End the child unless every element of @buf has the pattern of @c. With a
 * classic peer only the first element is checked.
 */
void check_words(struct peer *p, const uint8_t *buf, const struct command *c,
		 const char *what);

#endif
