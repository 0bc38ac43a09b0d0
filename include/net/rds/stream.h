/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the messages in a byte stream.  The parser keeps the header; payload stays where it
 * arrived, and the caller is told how much of it belongs to the present message.
 */
#ifndef _NET_RDS_STREAM_H
#define _NET_RDS_STREAM_H

#include <net/rds/wire.h>

/**
 * enum rds_stream_ev - what rds_stream_feed() found in the bytes it used
 * @RDS_STREAM_NEED_MORE: all bytes used, the header is not complete yet
 * @RDS_STREAM_HEADER: the header is complete; s->body_left bytes of payload follow
 * @RDS_STREAM_BODY: the bytes used are payload, and more of it is to come
 * @RDS_STREAM_BODY_END: the bytes used are payload, the last of this message
 * @RDS_STREAM_BAD_LENGTH: a header announced more than RDS_MAX_MSG_SIZE; the stream is lost
 *
 * A message without payload is complete with RDS_STREAM_HEADER.
 */
enum rds_stream_ev {
	RDS_STREAM_NEED_MORE,
	RDS_STREAM_HEADER,
	RDS_STREAM_BODY,
	RDS_STREAM_BODY_END,
	RDS_STREAM_BAD_LENGTH,
};

/**
 * struct rds_stream - where in a message the stream stands
 * @hdr: the header as it arrived; whole from RDS_STREAM_HEADER to the end of the payload
 * @hdr_have: bytes of it that are there; the next message starts when it is complete and
 *	@body_left is 0
 * @body_left: bytes of payload that are still to come
 * @bad: RDS_STREAM_BAD_LENGTH was returned, and will be for ever
 */
struct rds_stream {
	union {
		u8			bytes[sizeof(struct rds_wire_header)];
		struct rds_wire_header	wire;
	} hdr;
	u32	hdr_have;
	u32	body_left;
	bool	bad;
};

void rds_stream_init(struct rds_stream *s);
enum rds_stream_ev rds_stream_feed(struct rds_stream *s, const u8 *p, size_t n, size_t *used);

/* Bytes of header that are still to come, as the info records count them: 48 between messages */
static inline u32 rds_stream_hdr_rem(const struct rds_stream *s)
{
	if (s->hdr_have == sizeof(s->hdr) && !s->body_left)
		return sizeof(s->hdr);
	return sizeof(s->hdr) - s->hdr_have;
}

#endif
