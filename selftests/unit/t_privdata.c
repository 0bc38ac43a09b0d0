// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>

#include "proto/plat.h"
#include "transport/rdma/privdata.h"
#include "unit.h"

#define V4(a, b, c, d)	{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d }

static const struct rds_rdma_peer v4 = {
	.version = RDS_RDMA_V3_1, .tos = 7, .ack_seq = 0x1122334455667788, .credit = 0x10203,
	.gen = 0xcafebabe, .saddr = V4(192, 168, 60, 1), .daddr = V4(192, 168, 60, 2),
};

static const struct rds_rdma_peer v6 = {
	.version = RDS_RDMA_V4_1, .tos = 255, .credit = 16, .joins = true, .gen = 1,
	.saddr = { 0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	.daddr = { 0xfe, 0x80, [15] = 1 },
};

static void build_ipv4(void)
{
	static const u8 want[RDS_RDMA_PD_IPV4] = {
		192,  168,  60, 1, 192, 168,  60,   2,	  3,	1,    0,
		3,    7,    0,	0, 0,	0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
		0x77, 0x88, 0,	1, 2,	3,    0xca, 0xfe, 0xba, 0xbe,
	};
	u8 buf[RDS_RDMA_PD_MAX];

	memset(buf, 0xee, sizeof(buf));
	EXPECT_EQ(rds_rdma_pd_build(buf, false, &v4), RDS_RDMA_PD_IPV4);
	EXPECT(!memcmp(buf, want, sizeof(want)), "bytes");
	EXPECT_EQ(buf[RDS_RDMA_PD_IPV4], 0xee);
}

static void build_ipv6(void)
{
	u8 buf[RDS_RDMA_PD_MAX];

	memset(buf, 0xee, sizeof(buf));
	EXPECT_EQ(rds_rdma_pd_build(buf, true, &v6), RDS_RDMA_PD_IPV6);
	EXPECT(!memcmp(buf, v6.saddr, 16) && !memcmp(buf + 16, v6.daddr, 16), "addresses");
	EXPECT_EQ(buf[32], 4);
	EXPECT_EQ(buf[33], 1);
	EXPECT_EQ(buf[34], RDS_RDMA_JOINS);
	EXPECT_EQ(buf[35], 3);
	EXPECT_EQ(buf[36], 255);
	EXPECT_EQ(rds_load_be32(buf + 36) & 0xffffff, 0);
	EXPECT_EQ(rds_load_be32(buf + 48), 16);
	EXPECT_EQ(rds_load_be32(buf + 52), 1);
}

static void read_back(void)
{
	u8 buf[RDS_RDMA_PD_MAX];
	struct rds_rdma_peer got;
	unsigned int n;

	n = rds_rdma_pd_build(buf, false, &v4);
	EXPECT(rds_rdma_pd_parse(buf, n, false, true, &got), "IPv4");
	EXPECT(!memcmp(&got, &v4, sizeof(got)), "IPv4 came back different");
	/* The CM of InfiniBand pads private data; the padding is ignored. */
	memset(buf + n, 0xff, sizeof(buf) - n);
	EXPECT(rds_rdma_pd_parse(buf, sizeof(buf), false, true, &got), "IPv4, padded");
	EXPECT(!memcmp(&got, &v4, sizeof(got)), "IPv4, padded, came back different");

	n = rds_rdma_pd_build(buf, true, &v6);
	EXPECT(rds_rdma_pd_parse(buf, n, true, true, &got), "IPv6");
	EXPECT(!memcmp(&got, &v6, sizeof(got)), "IPv6 came back different");
}

/* Version negotiation, protocol.rst 4.4 */
struct version {
	u8	major, minor;
	u16	mask;
	u16	request, reply;
};

static const struct version versions[] = {
	{ 3, 1, 0x0003, RDS_RDMA_V3_1, RDS_RDMA_V3_1 },
	{ 3, 1, 0x0000, RDS_RDMA_V3_1, RDS_RDMA_V3_1 },
	{ 3, 0, 0x0001, 0, 0 },
	{ 3, 2, 0x0007, 0, 0x0302 },
	{ 4, 0, 0x0001, RDS_RDMA_V4_0, RDS_RDMA_V4_0 },
	{ 4, 1, 0x0002, RDS_RDMA_V4_1, RDS_RDMA_V4_1 },
	{ 4, 1, 0x0003, RDS_RDMA_V4_1, RDS_RDMA_V4_1 },
	{ 4, 9, 0xffff, RDS_RDMA_V4_1, 0x0409 },
	{ 4, 2, 0x0004, 0, 0x0402 },
	{ 4, 1, 0x0300, 0, RDS_RDMA_V4_1 },
	{ 0, 0, 0x0000, RDS_RDMA_V4_0, RDS_RDMA_V4_1 },
	{ 0, 9, 0x0003, RDS_RDMA_V4_0, RDS_RDMA_V4_1 },
	{ 5, 0, 0x0003, 0, 0x0500 },
	{ 1, 255, 0x0003, 0, 0 },
	{ 2, 1, 0x0003, 0, 0 },
};

static void negotiate(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct version *v = &versions[i];
		struct rds_rdma_peer got;
		u8 buf[RDS_RDMA_PD_MAX];
		bool ipv6 = i & 1;
		u8 *b = buf + (ipv6 ? 32 : 8);
		unsigned int n = rds_rdma_pd_build(buf, ipv6, ipv6 ? &v6 : &v4);

		b[0] = v->major;
		b[1] = v->minor;
		rds_store_be16(b + 2, v->mask);
		EXPECT(rds_rdma_pd_parse(buf, n, ipv6, true, &got) && got.version == v->request,
		       "request %u.%u mask %x gives %x", v->major, v->minor, v->mask,
		       got.version);
		EXPECT(rds_rdma_pd_parse(buf, n, ipv6, false, &got) && got.version == v->reply,
		       "reply %u.%u gives %x", v->major, v->minor, got.version);
	}
}

static void short_or_none(void)
{
	struct rds_rdma_peer got;
	u8 buf[RDS_RDMA_PD_MAX];
	unsigned int n, i;

	EXPECT(!rds_rdma_pd_parse(NULL, 0, false, true, &got), "no request data");
	EXPECT(!rds_rdma_pd_parse(NULL, 56, true, true, &got), "no buffer");
	EXPECT_EQ(got.version, 0);
	EXPECT(!rds_rdma_pd_parse(buf, 0, true, false, &got), "no reply data");
	n = rds_rdma_pd_build(buf, false, &v4);
	for (i = 1; i < n; i++) {
		/* Memory of the exact size: ASan reports a read past it. */
		u8 *cut = malloc(i);

		memcpy(cut, buf, i);
		EXPECT(rds_rdma_pd_parse(cut, i, false, true, &got), "%u bytes", i);
		EXPECT_EQ(got.version, RDS_RDMA_V4_0);
		EXPECT(got.gen != v4.gen, "%u bytes hold a generation", i);
		free(cut);
	}
	/* IPv4 private data parsed as IPv6: too short for all fields. */
	EXPECT(rds_rdma_pd_parse(buf, n, true, true, &got), "IPv4 as IPv6");
	EXPECT_EQ(got.version, RDS_RDMA_V4_0);
	EXPECT(memcmp(got.saddr, v4.saddr, 16), "address of the other form");
}

UNIT_CASES(
	{ "privdata.build_ipv4", build_ipv4 },
	{ "privdata.build_ipv6", build_ipv6 },
	{ "privdata.read_back", read_back },
	{ "privdata.negotiate", negotiate },
	{ "privdata.short_or_none", short_or_none },
);
