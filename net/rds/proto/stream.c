// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/plat.h"
#include <net/rds/stream.h>

/**
 * rds_stream_init() - start before the first message of a stream
 * @s: parser
 */
void rds_stream_init(struct rds_stream *s)
{
	memset(s, 0, sizeof(*s));
}

static enum rds_stream_ev feed_header(struct rds_stream *s, const u8 *p,
				      size_t n, size_t *used)
{
	size_t take = sizeof(s->hdr) - s->hdr_have;
	u32 len;

	if (take > n)
		take = n;
	/* Mostly the header is in one piece: this size the compiler knows. */
	if (take == sizeof(s->hdr))
		memcpy(s->hdr.bytes, p, sizeof(s->hdr));
	else
		memcpy(s->hdr.bytes + s->hdr_have, p, take);
	s->hdr_have += take;
	*used = take;
	if (s->hdr_have < sizeof(s->hdr))
		return RDS_STREAM_NEED_MORE;

	len = be32_to_cpu(s->hdr.wire.len);
	if (len > RDS_MAX_MSG_SIZE) {
		s->bad = true;
		return RDS_STREAM_BAD_LENGTH;
	}
	s->body_left = len;
	return RDS_STREAM_HEADER;
}

/**
 * rds_stream_feed() - parse bytes up to the next event
 * @s: parser
 * @p: next bytes of the stream; not used after the return
 * @n: number of bytes at @p; with 0 the parser does not move and wants more
 * @used: set to the number of bytes that belong to the event; the next call
 *	starts behind them
 *
 * A wrong length makes it impossible to find the next message, so it ends the
 * stream: the caller has to drop the connection.
 *
 * Return: see &enum rds_stream_ev.
 */
enum rds_stream_ev rds_stream_feed(struct rds_stream *s, const u8 *p, size_t n,
				   size_t *used)
{
	*used = 0;
	if (s->bad)
		return RDS_STREAM_BAD_LENGTH;
	if (!n)
		return RDS_STREAM_NEED_MORE;
	if (s->body_left) {
		*used = n < s->body_left ? n : s->body_left;
		s->body_left -= *used;
		return s->body_left ? RDS_STREAM_BODY : RDS_STREAM_BODY_END;
	}
	if (s->hdr_have == sizeof(s->hdr))
		s->hdr_have = 0;
	return feed_header(s, p, n, used);
}
