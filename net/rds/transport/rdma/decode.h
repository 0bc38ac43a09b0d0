/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decodes the bytes of a received frame (protocol.rst 4.7, and
 * Documentation/rdma.rst, "Joined messages").  Kernel-free: the unit test and
 * the fuzzer compile it in user space.
 */
#ifndef _RDS_RDMA_DECODE_H
#define _RDS_RDMA_DECODE_H

#include <linux/types.h>

#include <net/rds/stats.h>
#include <net/rds/wire.h>

#define RDS_RDMA_FRAG		4096	/* payload of a frame */
#define RDS_RDMA_HDR		((u32)sizeof(struct rds_wire_header))
/* bytes of a frame with several messages */
#define RDS_RDMA_JOIN_MAX	4096

/*
 * The sum of a header for its checksum, folded but not complemented.  A
 * ones-complement sum can be computed in any unit and byte order; here the unit
 * is a 32-bit word of the host.
 */
static inline u16 rds_rdma_hdr_sum(const struct rds_wire_header *h)
{
	const u32 *w = (const u32 *)h;
	u64 sum;

	static_assert(sizeof(*h) == 12 * sizeof(*w));
	sum = (u64)w[0] + w[1] + w[2] + w[3] + w[4] + w[5] + w[6] + w[7] +
	      w[8] + w[9] + w[10] + w[11];
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* The kind of a frame, by its first header */
enum rds_rdma_frame_kind {
	RDS_RDMA_FRAME_ACK,	/* acknowledgement and credits only */
	RDS_RDMA_FRAME_MESSAGE,	/* a message, or a part of one */
	RDS_RDMA_FRAME_JOINED,	/* several messages */
};

/**
 * struct rds_rdma_joined - iterator over the messages of a joined frame
 * @page: bytes of the frame behind its first header
 * @next: aligned copy of a later header
 * @h: header of the present message: the first of the frame, or @next
 * @off: offset in @page of the payload of the present message
 * @len: length in bytes of the payload of the present message
 * @end: length in bytes of the frame in @page
 */
struct rds_rdma_joined {
	const u8			*page;
	struct rds_wire_header		next;
	const struct rds_wire_header	*h;
	u32				off;
	u32				len;
	u32				end;
};

enum rds_rdma_frame_kind rds_rdma_frame_kind(const struct rds_wire_header *h,
					     u32 pay, bool joins, bool amid);
enum rds_drop_reason rds_rdma_frame_check(const struct rds_wire_header *h,
					  u32 pay,
					  const struct rds_wire_header *begun,
					  u32 left);
enum rds_drop_reason rds_rdma_joined_first(struct rds_rdma_joined *it,
					   const struct rds_wire_header *h,
					   const u8 *page, u32 bytes);
bool rds_rdma_joined_last(const struct rds_rdma_joined *it);
enum rds_drop_reason rds_rdma_joined_next(struct rds_rdma_joined *it);

#endif
