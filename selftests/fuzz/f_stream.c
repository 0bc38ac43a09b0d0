// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The stream parser: any bytes, cut into any pieces, give the same messages as
 * parsing all bytes at once.  The first byte of the input selects the cuts.
 */
#include "fuzz.h"
#include "proto/plat.h"
#include "proto/header.h"
#include "proto/rxrule.h"
#include <net/rds/stream.h>

/* Result of parsing a stream */
struct model {
	u64	messages;	/* messages with a complete header */
	u64	body;		/* payload bytes of all messages */
	bool	bad;		/* the last header has a bad length */
};

static struct model read_whole(const u8 *p, size_t n)
{
	struct model m = { 0 };

	while (n >= 48) {
		u32 len = rds_load_be32(p + 16);

		if (len > 1 << 20) {
			m.bad = true;
			break;
		}
		m.messages++;
		p += 48;
		n -= 48;
		if (len > n)
			len = n;
		m.body += len;
		p += len;
		n -= len;
	}
	return m;
}

static void judge(const struct rds_stream *s)
{
	struct rds_header_info info;
	u64 expected = 5, strict = 5;

	rds_header_decode(&s->hdr.wire, &info);
	HOLDS(info.len == s->body_left);
	rds_header_csum_ok(&s->hdr.wire);
	HOLDS((rds_rx_check(&strict, info.seq, info.flags, true) ==
	       RDS_RX_DUP) == (info.seq < 5));
	if (rds_rx_check(&expected, info.seq, info.flags, false) == RDS_RX_DUP)
		HOLDS(expected == 5 && info.seq < 5 && info.flags & 4);
	else
		HOLDS(expected == info.seq + 1);
}

static struct model read_cut(const u8 *p, size_t n, unsigned int cut)
{
	struct model m = { 0 };
	struct rds_stream s;

	rds_stream_init(&s);
	while (n) {
		size_t piece = 1 + cut % (n < 97 ? n : 97), used;
		enum rds_stream_ev ev = rds_stream_feed(&s, p, piece, &used);

		cut = cut * 1103515245 + 12345;
		HOLDS(used <= piece);
		HOLDS(s.hdr_have <= 48 && s.body_left <= 1 << 20);
		HOLDS(rds_stream_hdr_rem(&s) <= 48);
		if (ev == RDS_STREAM_BAD_LENGTH) {
			m.bad = true;
			break;
		}
		HOLDS(used);
		if (ev == RDS_STREAM_HEADER) {
			m.messages++;
			judge(&s);
		} else if (ev == RDS_STREAM_BODY || ev == RDS_STREAM_BODY_END) {
			m.body += used;
			HOLDS((ev == RDS_STREAM_BODY_END) == !s.body_left);
		} else {
			HOLDS(used == piece);
		}
		p += used;
		n -= used;
	}
	return m;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t n)
{
	struct model whole, cut;
	u8 *copy;

	if (n < 2)
		return 0;
	copy = malloc(n - 1);
	memcpy(copy, data + 1, n - 1);
	whole = read_whole(copy, n - 1);
	cut = read_cut(copy, n - 1, data[0]);
	HOLDS(whole.messages == cut.messages && whole.body == cut.body && whole.bad == cut.bad);
	free(copy);
	return 0;
}
