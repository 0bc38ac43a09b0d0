// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>

#include "proto/plat.h"
#include "transport/rdma/decode.h"
#include "unit.h"

static struct rds_wire_header header(u64 seq, u32 len)
{
	struct rds_wire_header h = {
		.seq = cpu_to_be64(seq), .len = cpu_to_be32(len),
		.sport = cpu_to_be16(100), .dport = cpu_to_be16(200),
	};

	return h;
}

static void seal(struct rds_wire_header *h)
{
	u32 sum = 0;
	size_t i;

	h->csum = 0;
	for (i = 0; i < sizeof(*h); i += 2)
		sum += rds_load_be16((const u8 *)h + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	h->csum = cpu_to_be16(~sum & 0xffff);
}

static void sum_of_header(void)
{
	struct rds_wire_header h = header(0x1122334455667788, 0xfffefdfc);

	seal(&h);
	EXPECT_EQ(rds_rdma_hdr_sum(&h), 0xffff);
	h.exthdr[7] ^= 0x10;
	EXPECT(rds_rdma_hdr_sum(&h) != 0xffff, "one bit of the extensions");
	memset(&h, 0xff, sizeof(h));
	EXPECT_EQ(rds_rdma_hdr_sum(&h), 0xffff);
	memset(&h, 0, sizeof(h));
	EXPECT_EQ(rds_rdma_hdr_sum(&h), 0);
}

static void kinds(void)
{
	struct rds_wire_header h = header(1, 10), ack = { .len = 0 };

	EXPECT_EQ(rds_rdma_frame_kind(&ack, 0, true, false),
		  RDS_RDMA_FRAME_ACK);
	EXPECT_EQ(rds_rdma_frame_kind(&ack, 0, true, true), RDS_RDMA_FRAME_ACK);
	EXPECT_EQ(rds_rdma_frame_kind(&ack, 1, false, false),
		  RDS_RDMA_FRAME_MESSAGE);
	EXPECT_EQ(rds_rdma_frame_kind(&h, 0, true, false),
		  RDS_RDMA_FRAME_MESSAGE);
	EXPECT_EQ(rds_rdma_frame_kind(&h, 10, true, false),
		  RDS_RDMA_FRAME_MESSAGE);
	EXPECT_EQ(rds_rdma_frame_kind(&h, 11, true, false),
		  RDS_RDMA_FRAME_JOINED);
	EXPECT_EQ(rds_rdma_frame_kind(&h, 11, false, false),
		  RDS_RDMA_FRAME_MESSAGE);
	EXPECT_EQ(rds_rdma_frame_kind(&h, 11, true, true),
		  RDS_RDMA_FRAME_MESSAGE);
	h.dport = 0;
	EXPECT_EQ(rds_rdma_frame_kind(&h, 0, true, false),
		  RDS_RDMA_FRAME_MESSAGE);
}

static void first_frame(void)
{
	struct rds_wire_header h = header(1, 4097);

	EXPECT_EQ(rds_rdma_frame_check(&h, 4096, NULL, 0), RDS_DROP_NONE);
	EXPECT_EQ(rds_rdma_frame_check(&h, 4095, NULL, 0), RDS_DROP_BAD_FRAME);
	EXPECT_EQ(rds_rdma_frame_check(&h, 4097, NULL, 0), RDS_DROP_BAD_FRAME);
	h.len = cpu_to_be32(100);
	EXPECT_EQ(rds_rdma_frame_check(&h, 100, NULL, 7), RDS_DROP_NONE);
	EXPECT_EQ(rds_rdma_frame_check(&h, 99, NULL, 7), RDS_DROP_BAD_FRAME);
	EXPECT_EQ(rds_rdma_frame_check(&h, 101, NULL, 7), RDS_DROP_BAD_FRAME);
	h.len = cpu_to_be32(1 << 20);
	EXPECT_EQ(rds_rdma_frame_check(&h, 4096, NULL, 0), RDS_DROP_NONE);
	h.len = cpu_to_be32((1 << 20) + 1);
	EXPECT_EQ(rds_rdma_frame_check(&h, 4096, NULL, 0), RDS_DROP_BAD_LENGTH);
	h.len = cpu_to_be32(8192);
	h.flags = RDS_WIRE_F_CONG;
	EXPECT_EQ(rds_rdma_frame_check(&h, 4096, NULL, 0), RDS_DROP_NONE);
	h.len = cpu_to_be32(8191);
	EXPECT_EQ(rds_rdma_frame_check(&h, 4096, NULL, 0), RDS_DROP_BAD_MAP);
}

static void later_frame(void)
{
	const struct rds_wire_header first = header(7, 5000);
	struct rds_wire_header h = first;

	EXPECT_EQ(rds_rdma_frame_check(&h, 904, &first, 904), RDS_DROP_NONE);
	EXPECT_EQ(rds_rdma_frame_check(&h, 903, &first, 904),
		  RDS_DROP_BAD_FRAME);
	EXPECT_EQ(rds_rdma_frame_check(&h, 905, &first, 904),
		  RDS_DROP_BAD_FRAME);
	EXPECT_EQ(rds_rdma_frame_check(&h, 4096, &first, 4096), RDS_DROP_NONE);
	h.seq = cpu_to_be64(8);
	EXPECT_EQ(rds_rdma_frame_check(&h, 904, &first, 904),
		  RDS_DROP_BAD_FRAME);
	h = first;
	h.len = cpu_to_be32(5001);
	EXPECT_EQ(rds_rdma_frame_check(&h, 904, &first, 904),
		  RDS_DROP_BAD_FRAME);
	h = first;
	h.sport = 0;
	EXPECT_EQ(rds_rdma_frame_check(&h, 904, &first, 904),
		  RDS_DROP_BAD_FRAME);
	h = first;
	h.dport = 0;
	EXPECT_EQ(rds_rdma_frame_check(&h, 904, &first, 904),
		  RDS_DROP_BAD_FRAME);
}

/* A frame in memory of its exact size: ASan reports a read past the end. */
struct frame {
	struct rds_wire_header	first;
	u8			*page;
	u32			bytes;
};

/*
 * A frame of @n messages with payloads of @len bytes, without its last @cut
 * bytes.  Messages are numbered from 1, and each byte of a payload is the
 * number of its message.
 */
static struct frame joined(const u32 *len, unsigned int n, unsigned int cut)
{
	struct frame f = { .first = header(1, len[0]), .bytes = 0 };
	struct rds_wire_header h;
	u8 all[8192], *p = all;
	unsigned int i;

	seal(&f.first);
	for (i = 0; i < n; i++) {
		h = header(i + 1, len[i]);
		seal(&h);
		if (i)
			p = (u8 *)memcpy(p, &h, sizeof(h)) + sizeof(h);
		p = (u8 *)memset(p, i + 1, len[i]) + len[i];
	}
	f.bytes = sizeof(h) + (p - all) - cut;
	f.page = malloc(f.bytes - sizeof(h));
	memcpy(f.page, all, f.bytes - sizeof(h));
	return f;
}

static void joined_read_back(void)
{
	static const u32 len[] = { 3, 0, 1000, 1 };
	struct frame f = joined(len, 4, 0);
	struct rds_rdma_joined it;
	unsigned int i;

	EXPECT_EQ(rds_rdma_joined_first(&it, &f.first, f.page, f.bytes),
		  RDS_DROP_NONE);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(be64_to_cpu(it.h->seq), i + 1);
		EXPECT_EQ(it.len, len[i]);
		EXPECT(!it.len || (f.page[it.off] == i + 1 &&
				   f.page[it.off + it.len - 1] == i + 1),
		       "payload of message %u", i);
		EXPECT_EQ(rds_rdma_joined_last(&it), i == 3);
		if (i < 3)
			EXPECT_EQ(rds_rdma_joined_next(&it), RDS_DROP_NONE);
	}
	free(f.page);
}

/* A frame of two messages that is cut within the second has only the first. */
static void joined_cut(void)
{
	static const u32 len[] = { 5, 7 };
	struct rds_rdma_joined it;
	unsigned int cut;

	for (cut = 1; cut < 55; cut++) {
		struct frame f = joined(len, 2, cut);

		EXPECT_EQ(rds_rdma_joined_first(&it, &f.first, f.page, f.bytes),
			  RDS_DROP_NONE);
		EXPECT(!rds_rdma_joined_last(&it),
		       "cut by %u, the first is the last", cut);
		EXPECT(rds_rdma_joined_next(&it) == RDS_DROP_BAD_FRAME,
		       "cut by %u", cut);
		free(f.page);
	}
}

static void joined_bad(void)
{
	static const u32 len[] = { 5, 0 };
	struct frame f = joined(len, 2, 0);
	struct rds_wire_header *second = (void *)(f.page + 5), h, good;
	struct rds_rdma_joined it;

	memcpy(&good, second, sizeof(good));
	h = good;
	h.ack = 1;
	memcpy(second, &h, sizeof(h));
	EXPECT_EQ(rds_rdma_joined_first(&it, &f.first, f.page, f.bytes),
		  RDS_DROP_NONE);
	EXPECT_EQ(rds_rdma_joined_next(&it), RDS_DROP_BAD_CSUM);
	/* A checksum of 0 means no checksum. */
	h.csum = 0;
	memcpy(second, &h, sizeof(h));
	rds_rdma_joined_first(&it, &f.first, f.page, f.bytes);
	EXPECT_EQ(rds_rdma_joined_next(&it), RDS_DROP_NONE);
	h.flags = RDS_WIRE_F_CONG;
	memcpy(second, &h, sizeof(h));
	rds_rdma_joined_first(&it, &f.first, f.page, f.bytes);
	EXPECT_EQ(rds_rdma_joined_next(&it), RDS_DROP_BAD_FRAME);
	h.flags = 0;
	h.sport = 0;
	h.dport = 0;
	memcpy(second, &h, sizeof(h));
	rds_rdma_joined_first(&it, &f.first, f.page, f.bytes);
	EXPECT_EQ(rds_rdma_joined_next(&it), RDS_DROP_BAD_FRAME);
	h = header(2, 0xffffffff);
	memcpy(second, &h, sizeof(h));
	rds_rdma_joined_first(&it, &f.first, f.page, f.bytes);
	EXPECT_EQ(rds_rdma_joined_next(&it), RDS_DROP_BAD_FRAME);
	f.first.csum ^= 1;
	EXPECT_EQ(rds_rdma_joined_first(&it, &f.first, f.page, f.bytes),
		  RDS_DROP_BAD_CSUM);
	free(f.page);
}

static void joined_size(void)
{
	static const u32 fits[] = { 4000, 0 }, too_much[] = { 4000, 1 };
	struct rds_rdma_joined it;
	struct frame f = joined(fits, 2, 0);

	EXPECT_EQ(f.bytes, RDS_RDMA_JOIN_MAX);
	EXPECT_EQ(rds_rdma_joined_first(&it, &f.first, f.page, f.bytes),
		  RDS_DROP_NONE);
	free(f.page);
	f = joined(too_much, 2, 0);
	EXPECT_EQ(rds_rdma_joined_first(&it, &f.first, f.page, f.bytes),
		  RDS_DROP_BAD_FRAME);
	free(f.page);
}

UNIT_CASES(
	{ "decode.sum_of_header", sum_of_header },
	{ "decode.kinds", kinds },
	{ "decode.first_frame", first_frame },
	{ "decode.later_frame", later_frame },
	{ "decode.joined_read_back", joined_read_back },
	{ "decode.joined_cut", joined_cut },
	{ "decode.joined_bad", joined_bad },
	{ "decode.joined_size", joined_size },
);
