// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>

#include "proto/exthdr.h"
#include "proto/header.h"
#include <net/rds/stream.h>
#include "unit.h"

static const u32 lens[] = {
	0, 1, 47, 48, 49, 0, 0, 4096, 8192, 65535, RDS_MAX_MSG_SIZE, 3
};

#define TOTAL	(ARRAY_SIZE(lens) * 48 + 1 + 47 + 48 + 49 + 4096 + 8192 + 65535 +	\
		 RDS_MAX_MSG_SIZE + 3)

/* One buffer with a message of each length in lens[], numbered from 1 */
static u8 *build(void)
{
	u8 *buf = malloc(TOTAL), *p = buf;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		rds_header_init((struct rds_wire_header *)p, i + 1, lens[i], 7,
				8, 0);
		p += 48;
		memset(p, (int)i, lens[i]);
		p += lens[i];
	}
	EXPECT_EQ(p - buf, TOTAL);
	return buf;
}

/*
 * Feed @buf in pieces of @piece bytes. Returns the number of complete messages,
 * and expects them in order and of the right length.
 */
static unsigned int parse(struct rds_stream *s, const u8 *buf, size_t total,
			  size_t piece)
{
	unsigned int whole = 0;
	u32 body = 0;

	while (total) {
		size_t n = piece < total ? piece : total, used;
		enum rds_stream_ev ev = rds_stream_feed(s, buf, n, &used);

		EXPECT(used && used <= n, "%zu of %zu bytes used", used, n);
		switch (ev) {
		case RDS_STREAM_NEED_MORE:
			EXPECT_EQ(used, n);
			break;
		case RDS_STREAM_HEADER:
			EXPECT_EQ(be64_to_cpu(s->hdr.wire.seq), whole + 1);
			EXPECT_EQ(s->body_left, lens[whole]);
			body = 0;
			whole += !s->body_left;
			break;
		case RDS_STREAM_BODY:
		case RDS_STREAM_BODY_END:
			EXPECT(buf[0] == whole && buf[used - 1] == whole, "not its payload");
			body += used;
			EXPECT_EQ(s->body_left, lens[whole] - body);
			whole += ev == RDS_STREAM_BODY_END;
			break;
		default:
			EXPECT(0, "event %d", ev);
			return whole;
		}
		buf += used;
		total -= used;
	}
	return whole;
}

static void all_piece_sizes(void)
{
	static const size_t pieces[] = { 1,  2,	 3,    7,    31,    47,	  48,
					 49, 96, 1448, 4096, 65536, TOTAL };
	u8 *buf = build();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct rds_stream s;

		rds_stream_init(&s);
		EXPECT_EQ(parse(&s, buf, TOTAL, pieces[i]), ARRAY_SIZE(lens));
		EXPECT_EQ(rds_stream_hdr_rem(&s), 48);
	}
	free(buf);
}

static void nothing_in_nothing_happens(void)
{
	struct rds_stream s;
	size_t used = 99;

	rds_stream_init(&s);
	EXPECT_EQ(rds_stream_feed(&s, NULL, 0, &used), RDS_STREAM_NEED_MORE);
	EXPECT_EQ(used, 0);
	EXPECT_EQ(rds_stream_hdr_rem(&s), 48);
}

/* Remaining bytes in the middle of a message, which info records show */
static void remainders(void)
{
	struct rds_wire_header h;
	struct rds_stream s;
	size_t used;

	rds_header_init(&h, 1, 100, 7, 8, 0);
	rds_stream_init(&s);
	rds_stream_feed(&s, (u8 *)&h, 10, &used);
	EXPECT_EQ(rds_stream_hdr_rem(&s), 38);
	EXPECT_EQ(s.body_left, 0);
	rds_stream_feed(&s, (u8 *)&h + 10, 38, &used);
	EXPECT_EQ(rds_stream_hdr_rem(&s), 0);
	EXPECT_EQ(s.body_left, 100);
	rds_stream_feed(&s, (u8 *)&h, 40, &used);
	EXPECT_EQ(rds_stream_hdr_rem(&s), 0);
	EXPECT_EQ(s.body_left, 60);
	rds_stream_feed(&s, (u8 *)&h, 20, &used);
	rds_stream_feed(&s, (u8 *)&h, 40, &used);
	EXPECT_EQ(used, 40);
	EXPECT_EQ(rds_stream_hdr_rem(&s), 48);
	EXPECT_EQ(s.body_left, 0);
}

static void length_bound(void)
{
	static const struct { u32 len; enum rds_stream_ev ev; } rows[] = {
		{ RDS_MAX_MSG_SIZE - 1, RDS_STREAM_HEADER },
		{ RDS_MAX_MSG_SIZE, RDS_STREAM_HEADER },
		{ RDS_MAX_MSG_SIZE + 1, RDS_STREAM_BAD_LENGTH },
		{ 0x7fffffff, RDS_STREAM_BAD_LENGTH },
		{ 0x80000000, RDS_STREAM_BAD_LENGTH },
		{ 0xffffffff, RDS_STREAM_BAD_LENGTH },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rds_wire_header h;
		struct rds_stream s;
		size_t used;

		rds_header_init(&h, 1, rows[i].len, 7, 8, 0);
		rds_stream_init(&s);
		EXPECT(rds_stream_feed(&s, (u8 *)&h, sizeof(h), &used) == rows[i].ev,
		       "length %#x", rows[i].len);
	}
}

static void bad_stays_bad(void)
{
	struct rds_wire_header h;
	struct rds_stream s;
	size_t used;

	rds_header_init(&h, 1, 0xffffffff, 7, 8, 0);
	rds_stream_init(&s);
	EXPECT_EQ(rds_stream_feed(&s, (u8 *)&h, 48, &used), RDS_STREAM_BAD_LENGTH);
	h.len = 0;
	EXPECT_EQ(rds_stream_feed(&s, (u8 *)&h, 48, &used), RDS_STREAM_BAD_LENGTH);
	EXPECT_EQ(used, 0);
	rds_stream_init(&s);
	EXPECT_EQ(rds_stream_feed(&s, (u8 *)&h, 48, &used), RDS_STREAM_HEADER);
}

/* First bytes of a new path, fed singly: congestion map, then handshake ping */
static void first_bytes(void)
{
	static const u8 ping[48] = {
		[7] = 1, [21] = 1,
		[32] = 5, 0, 8, 6, 0x12, 0x34, 0x56, 0x78, 8, 0,
	};
	u8 buf[48 + RDS_CONG_MAP_BYTES + 48] = { [18] = 0x20, [24] = 1 };
	struct rds_header_info info;
	struct rds_handshake hs;
	struct rds_stream s;
	unsigned int headers = 0;
	size_t i, used;

	memcpy(buf + sizeof(buf) - 48, ping, 48);
	rds_stream_init(&s);
	for (i = 0; i < sizeof(buf); i++) {
		if (rds_stream_feed(&s, buf + i, 1, &used) != RDS_STREAM_HEADER)
			continue;
		rds_header_decode(&s.hdr.wire, &info);
		EXPECT_EQ(rds_header_is_cong_map(info.flags), !headers);
		EXPECT_EQ(info.len, headers ? 0 : RDS_CONG_MAP_BYTES);
		EXPECT_EQ(info.seq, headers);
		headers++;
	}
	EXPECT_EQ(headers, 2);
	EXPECT_EQ(info.sport, RDS_PROBE_PORT);
	EXPECT_EQ(info.dport, RDS_PING_PORT);
	rds_handshake_parse(s.hdr.wire.exthdr, &hs);
	EXPECT(hs.npaths == 8 && hs.gen == 0x12345678 && hs.sport_idx, "handshake");
}

UNIT_CASES(
	{ "stream.all_piece_sizes", all_piece_sizes },
	{ "stream.nothing_in_nothing_happens", nothing_in_nothing_happens },
	{ "stream.remainders", remainders },
	{ "stream.length_bound", length_bound },
	{ "stream.bad_stays_bad", bad_stays_bad },
	{ "stream.first_bytes", first_bytes },
);
