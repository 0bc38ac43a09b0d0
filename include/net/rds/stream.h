/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parser that finds the messages in a byte stream.  The parser keeps the header
 * only.  Payload stays where it arrived, and the parser reports how many bytes
 * belong to the present message.
 */
#ifndef _NET_RDS_STREAM_H
#define _NET_RDS_STREAM_H

#include <net/rds/wire.h>

/**
 * enum rds_stream_ev - what the bytes are that rds_stream_feed() used
 * @RDS_STREAM_NEED_MORE: part of a header that is not complete; all bytes are
 *	used
 * @RDS_STREAM_HEADER: end of a header; rds_stream.body_left bytes of payload
 *	follow
 * @RDS_STREAM_BODY: payload, and more payload of the message follows
 * @RDS_STREAM_BODY_END: payload up to the end of the message
 * @RDS_STREAM_BAD_LENGTH: a header announced more than RDS_MAX_MSG_SIZE, so the
 *	next message cannot be found
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
 * struct rds_stream - position of a parser in a message
 * @hdr: header as it arrived; complete from RDS_STREAM_HEADER to the end of the
 *	payload
 * @hdr_have: bytes of @hdr that arrived; if @hdr is complete and @body_left is
 *	0, the next byte begins a message
 * @body_left: bytes of payload still to come
 * @bad: RDS_STREAM_BAD_LENGTH was returned, and is returned by all later calls
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
enum rds_stream_ev rds_stream_feed(struct rds_stream *s, const u8 *p, size_t n,
				   size_t *used);

/*
 * Header bytes still to come, as RDS_INFO_TCP_SOCKETS counts them: 48 between
 * messages
 */
static inline u32 rds_stream_hdr_rem(const struct rds_stream *s)
{
	if (s->hdr_have == sizeof(s->hdr) && !s->body_left)
		return sizeof(s->hdr);
	return sizeof(s->hdr) - s->hdr_have;
}

#endif
