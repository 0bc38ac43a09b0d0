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
 * queues, with an entry for the drain, and the completion queue stay just below
 * one.  Its entries are memory of the host, of 512 bytes to send and 128 for a
 * receive or a completion, and its processor sends the frames: twice as many
 * under way would wait, and cost 64 KiB.  The number of posted receives follows
 * the traffic, from RDS_RDMA_RECV_MIN.  A device with less room has fewer of
 * each in use, see rds_rdma_limits.
 */
#define RDS_RDMA_SEND_SLOTS	64U	/* a power of two */
#define RDS_RDMA_SEND_SLOTS_SOFT 32U
#define RDS_RDMA_SEND_SLOTS_MIN	8U
/* further work requests, for operations */
#define RDS_RDMA_OP_WRS		40U
#define RDS_RDMA_OP_WRS_SOFT	29U
/* frames with acknowledgement or credit only */
#define RDS_RDMA_ACK_SLOTS	1
#define RDS_RDMA_RECV_MIN	8
#define RDS_RDMA_RECV_MAX	126U
#define RDS_RDMA_RECV_MAX_SOFT	62U
/*
 * A payload of up to this length is copied, so that no message holds over four
 * times its size.
 */
#define RDS_RDMA_COPY_MAX	1023
/* remembered pages lent to messages; a power of two */
#define RDS_RDMA_LENT		256U
#define RDS_RDMA_SEND_SGE	3	/* header and two pieces of payload */
/* 64 KiB that start anywhere in their first page */
#define RDS_RDMA_OP_SGE		17

/**
 * struct rds_rdma_limits - how much of that a device has room for
 * @send_slots: most frames of a connection under way, a power of two
 * @op_wrs: most work requests of operations of a connection under way
 * @recv_max: most receives of a connection
 */
struct rds_rdma_limits {
	u32	send_slots;
	u32	op_wrs;
	u32	recv_max;
};

/* Length of a send queue: all that may be under way, and the drain */
static inline u32 rds_rdma_send_wrs(const struct rds_rdma_limits *lim)
{
	return lim->send_slots + lim->op_wrs + RDS_RDMA_ACK_SLOTS + 1;
}

/* Time between two looks whether there is a reader */
#define RDS_RDMA_HOLD_TIME	max(1, HZ / 100)

/**
 * enum rds_rdma_intake - what becomes of a frame that arrives (defer.c)
 * @RDS_RDMA_INTAKE_EARLY: it waits until the connection is known to be
 *	established
 * @RDS_RDMA_INTAKE_OPEN: it is taken in
 * @RDS_RDMA_INTAKE_HELD: its acknowledgement and credits count, and its
 *	messages wait for the reader of a full socket
 */
enum rds_rdma_intake {
	RDS_RDMA_INTAKE_EARLY,
	RDS_RDMA_INTAKE_OPEN,
	RDS_RDMA_INTAKE_HELD,
};

/**
 * struct rds_rdma_rx - receive side of a connection (recv.c, frame.c, rxpage.c)
 * @recvs: array of rds_rdma_limits.recv_max
 * @hdr: one mapped array with a header for each of @recvs
 * @hdr_dma: bus address of @hdr
 * @bare: receives without a page, linked
 * @ready: receives with a page that are to be posted, linked
 * @nr_ready: length of @ready
 * @posted: number of receives that the device has, or whose frames wait
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
 * @waiting: receives whose frames wait, in order
 * @waiting_end: link at the end of @waiting
 * @nr_waiting: length of @waiting
 * @intake: see enum rds_rdma_intake
 * @ack: highest acknowledgement received
 * @frames: number of frames in the jiffy @jiffy
 * @peak: largest @frames in the second from @second on, or largest number of
 *	frames of a message
 * @jiffy: time of the last frame, in jiffies
 * @second: begin of the present second, in jiffies
 * @inc: message being reassembled, owned by the connection, or NULL
 * @inc_hdr: header of the first frame of @inc
 * @inc_left: bytes of payload that @inc still lacks
 *
 * Fields up to @second are under rds_rdma_conn.tx_lock, those behind it belong
 * to the context that takes frames in (defer.c).
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
	struct ib_recv_wr	*waiting;
	struct ib_recv_wr	**waiting_end;
	unsigned int		nr_waiting;
	enum rds_rdma_intake	intake;
	u64			ack;
	unsigned int		frames;
	unsigned int		peak;
	unsigned long		jiffy;
	unsigned long		second;
	struct rds_incoming	*inc;
	struct rds_wire_header	inc_hdr;
	u32			inc_left;
};

#endif
