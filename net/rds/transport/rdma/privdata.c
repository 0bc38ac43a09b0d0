// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Private data of connection requests and replies.  Kernel-free: the unit test
 * and the fuzzer compile it in user space.
 */
#include <linux/string.h>
#include <linux/types.h>

#include "privdata.h"

/*
 * Both forms have two addresses, then the same block:
 *
 *	0 major  1 minor  2 minors (16 bits)
 *	4 type of service  5 zero (3 bytes)
 *	8 acknowledgement (64 bits)
 *	16 credit (32 bits)  20 generation (32 bits)
 */
#define PD_BLOCK	24

static u32 load_be32(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

static void store_be32(u8 *p, u32 v)
{
	p[0] = v >> 24;
	p[1] = v >> 16 & 0xff;
	p[2] = v >> 8 & 0xff;
	p[3] = v & 0xff;
}

static unsigned int pd_addr_size(bool ipv6)
{
	return ipv6 ? 16 : 4;
}

static void pd_load_addr(u8 *addr, const u8 *p, bool ipv6)
{
	if (ipv6) {
		memcpy(addr, p, 16);
		return;
	}
	memset(addr, 0, 10);
	memset(addr + 10, 0xff, 2);
	memcpy(addr + 12, p, 4);
}

unsigned int rds_rdma_pd_build(u8 *buf, bool ipv6,
			       const struct rds_rdma_peer *p)
{
	unsigned int size = pd_addr_size(ipv6);
	u8 *b = buf + 2 * size;

	memcpy(buf, p->saddr + 16 - size, size);
	memcpy(buf + size, p->daddr + 16 - size, size);
	memset(b, 0, PD_BLOCK);
	b[0] = p->version >> 8;
	b[1] = p->version & 0xff;
	b[2] = p->joins ? RDS_RDMA_JOINS : 0;
	b[3] = RDS_RDMA_MINORS;
	b[4] = p->tos;
	store_be32(b + 8, p->ack_seq >> 32);
	store_be32(b + 12, (u32)p->ack_seq);
	store_be32(b + 16, p->credit);
	store_be32(b + 20, p->gen);
	return 2 * size + PD_BLOCK;
}

/*
 * The version that a request leads to (protocol.rst 4.4); @b is the common
 * block.
 */
static u16 pd_negotiate(const u8 *b, bool whole)
{
	unsigned int common = b[3] & RDS_RDMA_MINORS;

	if (!whole || !b[0])
		return RDS_RDMA_V4_0;
	if (b[0] == RDS_RDMA_V4_0 >> 8 && common)
		return common & 2 ? RDS_RDMA_V4_1 : RDS_RDMA_V4_0;
	if (b[0] == RDS_RDMA_V3_1 >> 8 && b[1] == (RDS_RDMA_V3_1 & 0xff))
		return RDS_RDMA_V3_1;
	return 0;
}

/* The version that a reply selected. */
static u16 pd_selected(const u8 *b)
{
	u16 version = (u16)(b[0] << 8 | b[1]);

	if (!b[0])
		return RDS_RDMA_V4_1;
	return version < RDS_RDMA_V3_1 ? 0 : version;
}

bool rds_rdma_pd_parse(const u8 *buf, unsigned int len, bool ipv6, bool request,
		       struct rds_rdma_peer *p)
{
	unsigned int size = pd_addr_size(ipv6);
	unsigned int want = 2 * size + PD_BLOCK;
	u8 whole[RDS_RDMA_PD_MAX] = { 0 };
	const u8 *b = whole + 2 * size;

	memset(p, 0, sizeof(*p));
	if (!buf || !len)
		return false;
	/* Missing bytes count as zeros. */
	memcpy(whole, buf, len < want ? len : want);
	pd_load_addr(p->saddr, whole, ipv6);
	pd_load_addr(p->daddr, whole + size, ipv6);
	p->version = request ? pd_negotiate(b, len >= want) : pd_selected(b);
	p->tos = b[4];
	p->ack_seq = (u64)load_be32(b + 8) << 32 | load_be32(b + 12);
	p->credit = load_be32(b + 16);
	p->joins = b[2] & RDS_RDMA_JOINS;
	p->gen = load_be32(b + 20);
	return true;
}
