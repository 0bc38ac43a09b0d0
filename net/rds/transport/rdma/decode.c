// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Received frames as bytes: the kind of a frame, its checks, and the messages
 * of a joined frame.  Kernel-free: the unit test and the fuzzer compile it in
 * user space.
 */
#include <linux/string.h>
#include <linux/types.h>

#include "decode.h"

static bool is_ack(const struct rds_wire_header *h, u32 pay)
{
	return !h->sport && !h->dport && !pay;
}

/**
 * rds_rdma_frame_kind - tell the kind of a frame
 * @h: first header of the frame
 * @pay: bytes of the frame behind @h
 * @joins: the peer sends frames with several messages
 * @amid: a message of several frames has begun and is not complete
 *
 * A frame has several messages if more bytes follow the header than the payload
 * of its message has.
 *
 * Return: the kind.
 */
enum rds_rdma_frame_kind rds_rdma_frame_kind(const struct rds_wire_header *h,
					     u32 pay, bool joins, bool amid)
{
	if (is_ack(h, pay))
		return RDS_RDMA_FRAME_ACK;
	if (joins && !amid && pay > be32_to_cpu(h->len))
		return RDS_RDMA_FRAME_JOINED;
	return RDS_RDMA_FRAME_MESSAGE;
}

/**
 * rds_rdma_frame_check - check a frame of one message
 * @h: header of the frame
 * @pay: bytes of the frame behind @h
 * @begun: header of the first frame of the message that is not complete; NULL
 *	if there is none
 * @left: bytes of payload that the message of @begun still lacks
 *
 * Return: RDS_DROP_NONE if the frame is valid, else why it is not.
 */
enum rds_drop_reason rds_rdma_frame_check(const struct rds_wire_header *h,
					  u32 pay,
					  const struct rds_wire_header *begun,
					  u32 left)
{
	u32 len = be32_to_cpu(h->len);

	if (begun) {
		if (h->seq != begun->seq || h->len != begun->len ||
		    h->sport != begun->sport || h->dport != begun->dport)
			return RDS_DROP_BAD_FRAME;
	} else {
		if (len > RDS_MAX_MSG_SIZE)
			return RDS_DROP_BAD_LENGTH;
		if (h->flags == RDS_WIRE_F_CONG && len != RDS_CONG_MAP_BYTES)
			return RDS_DROP_BAD_MAP;
		left = len;
	}
	if (pay != (left < RDS_RDMA_FRAG ? left : RDS_RDMA_FRAG))
		return RDS_DROP_BAD_FRAME;
	return RDS_DROP_NONE;
}

/* Check the message of @it->h, behind whose header @left bytes follow. */
static enum rds_drop_reason joined_check(struct rds_rdma_joined *it, u32 left)
{
	const struct rds_wire_header *h = it->h;

	it->len = be32_to_cpu(h->len);
	if (h->csum && rds_rdma_hdr_sum(h) != 0xffff)
		return RDS_DROP_BAD_CSUM;
	if (it->len > left || h->flags == RDS_WIRE_F_CONG || is_ack(h, it->len))
		return RDS_DROP_BAD_FRAME;
	return RDS_DROP_NONE;
}

/**
 * rds_rdma_joined_first - go to the first message of a frame
 * @it: iterator, filled in
 * @h: first header of the frame
 * @page: bytes behind @h: a payload, a header, a payload, and so on; the last
 *	payload ends with the frame
 * @bytes: length of the frame with @h, at least RDS_RDMA_HDR
 *
 * Return: RDS_DROP_NONE if the message is valid, else why it is not.
 */
enum rds_drop_reason rds_rdma_joined_first(struct rds_rdma_joined *it,
					   const struct rds_wire_header *h,
					   const u8 *page, u32 bytes)
{
	it->page = page;
	it->h = h;
	it->off = 0;
	it->end = bytes - RDS_RDMA_HDR;
	if (bytes > RDS_RDMA_JOIN_MAX)
		return RDS_DROP_BAD_FRAME;
	return joined_check(it, it->end);
}

/**
 * rds_rdma_joined_last - whether the frame ends with the present message
 * @it: iterator at a valid message
 *
 * Return: true if the frame has no further message.
 */
bool rds_rdma_joined_last(const struct rds_rdma_joined *it)
{
	return it->end - it->off == it->len;
}

/**
 * rds_rdma_joined_next - go to the next message of a frame
 * @it: iterator at a valid message that is not the last
 *
 * Return: RDS_DROP_NONE if the message is valid, else why it is not.
 */
enum rds_drop_reason rds_rdma_joined_next(struct rds_rdma_joined *it)
{
	u32 at = it->off + it->len;

	if (it->end - at < RDS_RDMA_HDR)
		return RDS_DROP_BAD_FRAME;
	memcpy(&it->next, it->page + at, sizeof(it->next));
	it->h = &it->next;
	it->off = at + RDS_RDMA_HDR;
	return joined_check(it, it->end - it->off);
}
