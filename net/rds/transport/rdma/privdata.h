/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private data of connection requests and replies (wire 4.3 and 4.4): no kernel in it. */
#ifndef _RDS_RDMA_PRIVDATA_H
#define _RDS_RDMA_PRIVDATA_H

#include <linux/types.h>

struct in6_addr;

#define RDS_RDMA_PD_IPV4	32
#define RDS_RDMA_PD_IPV6	56
#define RDS_RDMA_PD_MAX		RDS_RDMA_PD_IPV6

#define RDS_RDMA_V3_1		0x0301
#define RDS_RDMA_V4_0		0x0400
#define RDS_RDMA_V4_1		0x0401
#define RDS_RDMA_MINORS		0x0003
#define RDS_RDMA_JOINS		0x80	/* in the upper byte of the mask of minors */

/**
 * struct rds_rdma_peer - what the peer's private data say, in host order
 * @version: RDS_RDMA_V*: what a reply selected, or what a request leads to; 0: none fits
 * @tos: type of service
 * @ack_seq: acknowledgement
 * @credit: receives it has posted; 0: no flow control
 * @joins: it sends and takes several messages in one frame: a bit of the mask of minors that
 *	others do not set and take for a version they do not know
 * @gen: its generation number, from the padding at the end where in-tree sends zeros; 0: none
 * @saddr: its address, v4-mapped for IPv4
 * @daddr: ours
 */
struct rds_rdma_peer {
	u16		version;
	u8		tos;
	u64		ack_seq;
	u32		credit;
	bool		joins;
	u32		gen;
	u8		saddr[16];
	u8		daddr[16];
};

/**
 * rds_rdma_pd_build - write private data
 * @buf: RDS_RDMA_PD_MAX bytes, all of the used ones are written
 * @ipv6: long form
 * @p: @p->saddr is the sender's own address
 *
 * Return: bytes used.
 */
unsigned int rds_rdma_pd_build(u8 *buf, bool ipv6, const struct rds_rdma_peer *p);

/**
 * rds_rdma_pd_parse - read private data
 * @buf: as received, zero padded by the CM or not
 * @len: bytes there
 * @ipv6: long form expected
 * @request: a request: versions are negotiated; a reply: major 0 means 4.1
 * @p: filled; @p->version is 0 if no version fits
 *
 * Return: false if there is none or it is too short for anything (request without private data).
 */
bool rds_rdma_pd_parse(const u8 *buf, unsigned int len, bool ipv6, bool request,
		       struct rds_rdma_peer *p);

#endif
