/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes of the rings, and the receive side of a connection; data.h has the rules. */
#ifndef _RDS_RDMA_RINGS_H
#define _RDS_RDMA_RINGS_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include <net/rds/wire.h>

struct page;
struct rds_incoming;
struct rds_rdma_recv;

/**
 * struct rds_rdma_lent - a page that a message has (rxpage.c)
 * @page: counted
 * @addr: its bus address
 */
struct rds_rdma_lent {
	struct page	*page;
	u64		addr;
};

/*
 * Rings.  Soft RoCE rounds a queue and one entry more up to a power of two, so both queues stay
 * just below one.  Receives are posted as far as traffic asks for, between the two limits.
 */
#define RDS_RDMA_SEND_SLOTS	64U	/* a power of two */
#define RDS_RDMA_OP_WRS		40	/* further work requests, for operations */
#define RDS_RDMA_ACK_SLOTS	1	/* frames with acknowledgement or credit only */
#define RDS_RDMA_RECV_MIN	8
#define RDS_RDMA_RECV_MAX	148
/* Below this a message is copied, so that it does not hold more than four times its size. */
#define RDS_RDMA_COPY_MAX	1023
#define RDS_RDMA_LENT		256U	/* pages lent to messages; a power of two */
#define RDS_RDMA_SEND_SGE	4	/* header and three pieces of payload */
#define RDS_RDMA_OP_SGE		17	/* 64 KiB, wherever in its first page they start */

/**
 * struct rds_rdma_rx - receive side of a connection (recv.c, frame.c)
 * @recvs: RDS_RDMA_RECV_MAX
 * @hdr: headers of received frames, one for each of @recvs, one mapped array
 * @hdr_dma: its bus address
 * @bare: receives without a page, linked
 * @ready: receives with a page, to be posted, linked
 * @nr_ready: their number
 * @posted: how many the device has
 * @taken: taken off @bare to get a page
 * @target: how many are to be posted
 * @offered: how many the private data told of
 * @lent: RDS_RDMA_LENT pages that messages have or had; made when first needed
 * @lent_head: pages lent so far
 * @lent_tail: oldest of them that is remembered
 * @lent_seen: @lent_head when lent_work last looked
 * @lent_held: lent_work runs, or will
 * @early: receives completed before the connection was known to be established, in order
 * @early_end: where the next of them goes
 * @open: they have been taken in, and what comes is taken in at once
 * @frames: frames in the present @jiffy
 * @peak: largest @frames in the present second, or frames of the largest message
 * @jiffy: time of the last frame
 * @second: when the present second began
 * @ack: highest acknowledgement received
 * @inc: message being put together, or NULL
 * @inc_hdr: header of its first frame
 * @inc_left: payload still to come
 *
 * Up to @open under rds_rdma_conn.tx_lock, the rest by the completion context alone.
 */
struct rds_rdma_rx {
	struct rds_rdma_recv	*recvs;
	struct rds_wire_header	*hdr;
	u64			hdr_dma;
	struct ib_recv_wr	*bare;
	struct ib_recv_wr	*ready;
	unsigned int		nr_ready;
	unsigned int		posted;
	unsigned int		taken;
	unsigned int		target;
	unsigned int		offered;
	struct rds_rdma_lent	*lent;
	unsigned int		lent_head;
	unsigned int		lent_tail;
	unsigned int		lent_seen;
	bool			lent_held;
	struct ib_recv_wr	*early;
	struct ib_recv_wr	**early_end;
	bool			open;
	unsigned int		frames;
	unsigned int		peak;
	unsigned long		jiffy;
	unsigned long		second;
	u64			ack;
	struct rds_incoming	*inc;
	struct rds_wire_header	inc_hdr;
	u32			inc_left;
};

#endif
