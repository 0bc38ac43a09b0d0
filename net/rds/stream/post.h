/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* post.c: the queue pair of a stream. */
#ifndef _RDS_STREAM_POST_H
#define _RDS_STREAM_POST_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct rds_ss_conn;

/* Most elements of a write */
#define RDS_SS_SGE		4

/**
 * struct rds_ss_wire - memory for messages and entries that are sent, and for
 * messages that are received on iWARP; mapped both ways
 * @cpu: address
 * @dma: address for the device
 * @bytes: length
 * @rx: offset of the messages that are received
 */
struct rds_ss_wire {
	u8		*cpu;
	dma_addr_t	dma;
	u32		bytes;
	u32		rx;
};

/**
 * struct rds_ss_slot - a message under way
 * @cqe: of its completion
 * @nr: its number
 */
struct rds_ss_slot {
	struct ib_cqe	cqe;
	u16		nr;
};

/*
 * Make the queue pair and post receives; the engine has begun.  0 or a negative
 * errno: what was made is freed with the id, and by rds_ss_post_free().  May
 * sleep.
 */
int rds_ss_post_create(struct rds_ss_conn *conn);

/* The queue pair is gone, and the device is still there. */
void rds_ss_post_free(struct rds_ss_conn *conn);

/*
 * Post what the engine decides, and see to what it says of its state.
 * conn->lock is held.  Behind each call of the engine.
 */
void rds_ss_pump(struct rds_ss_conn *conn);

#endif
