/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sizes of the rings, and the receive side of a connection; data.h has the
 * rules.
 */
#ifndef _RDS_RDMA_RINGS_H
#define _RDS_RDMA_RINGS_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include <net/rds/wire.h>

struct page;
struct rds_incoming;
struct rds_rdma_recv;

/**
 * struct rds_rdma_lent - a page lent to a message (rxpage.c)
 * @page: page, counted
 * @addr: bus address of @page
 */
struct rds_rdma_lent {
	struct page	*page;
	u64		addr;
};

/*
 * Soft RoCE rounds the length of a queue plus 1 up to a power of two, so both
 * queues stay just below one.  The number of posted receives follows the
 * traffic, between RDS_RDMA_RECV_MIN and RDS_RDMA_RECV_MAX.
 */
#define RDS_RDMA_SEND_SLOTS	64U	/* a power of two */
/* further work requests, for operations */
#define RDS_RDMA_OP_WRS		40
/* frames with acknowledgement or credit only */
#define RDS_RDMA_ACK_SLOTS	1
#define RDS_RDMA_RECV_MIN	8
#define RDS_RDMA_RECV_MAX	148
/*
 * A payload of up to this length is copied, so that no message holds over four
 * times its size.
 */
#define RDS_RDMA_COPY_MAX	1023
/* remembered pages lent to messages; a power of two */
#define RDS_RDMA_LENT		256U
#define RDS_RDMA_SEND_SGE	4	/* header and three pieces of payload */
/* 64 KiB that start anywhere in their first page */
#define RDS_RDMA_OP_SGE		17

/**
 * struct rds_rdma_rx - receive side of a connection (recv.c, frame.c, rxpage.c)
 * @recvs: array of RDS_RDMA_RECV_MAX
 * @hdr: one mapped array with a header for each of @recvs
 * @hdr_dma: bus address of @hdr
 * @bare: receives without a page, linked
 * @ready: receives with a page that are to be posted, linked
 * @nr_ready: length of @ready
 * @posted: number of receives that the device has
 * @taken: number of receives taken off @bare that are being given a page
 * @target: number of receives to be posted
 * @offered: number of receives that the private data told the peer
 * @lent: ring of RDS_RDMA_LENT pages lent to messages, made when first needed,
 *	or NULL
 * @lent_head: number of pages lent so far
 * @lent_tail: number of the oldest page in @lent
 * @lent_seen: @lent_head at the last run of lent_work
 * @lent_held: lent_work runs or is queued; set by the completion context
 *	without the lock
 * @early: receives completed before the connection was known to be established,
 *	in order
 * @early_end: link at the end of @early
 * @open: @early has been taken in, and frames are taken in as they come
 * @frames: number of frames in the jiffy @jiffy
 * @peak: largest @frames in the second from @second on, or largest number of
 *	frames of a message
 * @jiffy: time of the last frame, in jiffies
 * @second: begin of the present second, in jiffies
 * @ack: highest acknowledgement received
 * @inc: message being reassembled, owned by the connection, or NULL
 * @inc_hdr: header of the first frame of @inc
 * @inc_left: bytes of payload that @inc still lacks
 *
 * Fields up to @open are under rds_rdma_conn.tx_lock, those behind it belong to
 * the completion context alone.
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
