// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMA frames: the first byte of the input says whether the peer joins messages
 * and whether a message has begun.  If a message has begun, the header of its
 * first frame and two bytes with the number of missing bytes follow.  The rest
 * of the input is the frame.  Each result is compared with a second
 * implementation of Documentation/wire.rst.
 */
#include "fuzz.h"
#include "proto/plat.h"
#include "transport/rdma/decode.h"

static bool csum_ok(const u8 *h)
{
	u32 sum = 0;
	int i;

	if (!rds_load_be16(h + 30))
		return true;
	for (i = 0; i < 48; i += 2)
		sum += rds_load_be16(h + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/*
 * Number of valid messages at the beginning of the frame; *@bad: they are
 * followed by data that are no valid message.
 */
static unsigned int count_joined(const u8 *h, const u8 *page, u32 left,
				 bool *bad)
{
	unsigned int messages = 0;
	u32 len;

	*bad = true;
	if (left + 48 > 4096)
		return 0;
	for (;;) {
		len = rds_load_be32(h + 16);
		if (!csum_ok(h) || len > left || h[24] == 1 ||
		    (!len && !rds_load_be32(h + 20)))
			return messages;
		messages++;
		page += len;
		left -= len;
		if (!left) {
			*bad = false;
			return messages;
		}
		if (left < 48)
			return messages;
		h = page;
		page += 48;
		left -= 48;
	}
}

static void joined(const struct rds_wire_header *h, const u8 *page, u32 pay)
{
	struct rds_rdma_joined it;
	enum rds_drop_reason why;
	unsigned int want, got = 0;
	u32 payload = 0, i;
	bool bad;

	want = count_joined((const u8 *)h, page, pay, &bad);
	why = rds_rdma_joined_first(&it, h, page, pay + 48);
	while (why == RDS_DROP_NONE) {
		got++;
		HOLDS(it.off <= pay && it.len <= pay - it.off);
		/* Read each byte, so that ASan reports a wrong range. */
		for (i = 0; i < it.len; i++)
			payload += it.page[it.off + i] & 0;
		payload += it.len;
		if (rds_rdma_joined_last(&it))
			break;
		why = rds_rdma_joined_next(&it);
	}
	HOLDS(got == want);
	HOLDS((why != RDS_DROP_NONE) == bad);
	HOLDS(bad || payload + 48 * (got - 1) == pay);
}

/* A frame of one message. @begun: the message's first frame, NULL: this one. */
static void single(const struct rds_wire_header *h, u32 pay,
		   const struct rds_wire_header *begun, u32 left)
{
	const u8 *b = (const u8 *)h;
	u32 len = rds_load_be32(b + 16);
	bool ok;

	if (begun) {
		ok = !memcmp(b, begun, 8) &&
		     !memcmp(b + 16, (const u8 *)begun + 16, 8);
	} else {
		ok = len <= 1 << 20 && (b[24] != 1 || len == 8192);
		left = len;
	}
	ok = ok && (pay == 4096 ? left >= 4096 : pay == left && left < 4096);
	HOLDS(ok ==
	      (rds_rdma_frame_check(h, pay, begun, left) == RDS_DROP_NONE));
}

static void frame(const struct rds_wire_header *h, const u8 *page, u32 pay,
		  bool joins, const struct rds_wire_header *begun, u32 left)
{
	HOLDS((!h->csum || rds_rdma_hdr_sum(h) == 0xffff) ==
	      csum_ok((const u8 *)h));
	switch (rds_rdma_frame_kind(h, pay, joins, begun)) {
	case RDS_RDMA_FRAME_ACK:
		HOLDS(!pay && !h->sport && !h->dport);
		break;
	case RDS_RDMA_FRAME_JOINED:
		HOLDS(joins && !begun &&
		      pay > rds_load_be32((const u8 *)h + 16));
		joined(h, page, pay);
		break;
	case RDS_RDMA_FRAME_MESSAGE:
		single(h, pay, begun, left);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t n)
{
	struct fuzz_in in = { data, n };
	u8 how = fuzz_byte(&in), *page;
	struct rds_wire_header *h, *begun = NULL;
	size_t got, pay;
	u32 left = 0;

	if (how & 2) {
		begun = (void *)fuzz_copy(&in, sizeof(*begun), &got);
		left = fuzz_byte(&in) << 8;
		left |= fuzz_byte(&in);
		if (got < sizeof(*begun))
			goto out;
	}
	h = (void *)fuzz_copy(&in, sizeof(*h), &got);
	page = fuzz_copy(&in, 4096, &pay);
	if (got == sizeof(*h))
		frame(h, page, pay, how & 1, begun, left);
	free(h);
	free(page);
out:
	free(begun);
	return 0;
}
