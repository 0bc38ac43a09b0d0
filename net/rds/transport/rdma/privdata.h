/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private data of connection requests and replies (protocol.rst 4.3 and 4.4).
 * Kernel-free.
 */
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
/* in the upper byte of the mask of minors */
#define RDS_RDMA_JOINS		0x80

/**
 * struct rds_rdma_peer - contents of private data, in host order
 * @version: RDS_RDMA_V*: version that a reply selected, or that a request leads
 *	to; 0: none fits
 * @tos: type of service
 * @ack_seq: acknowledgement
 * @credit: number of receives that the sender has posted; 0: no flow control
 * @joins: the sender sends and takes joined frames: a bit of the mask of minors
 *	that other implementations do not set, and take for an unknown version
 * @gen: generation number of the sender, from the padding at the end where
 *	in-tree sends zeros; 0: none
 * @saddr: address of the sender, v4-mapped for IPv4
 * @daddr: address of the receiver, v4-mapped for IPv4
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
 * @buf: room for RDS_RDMA_PD_MAX bytes; every byte up to the returned length is
 *	written
 * @ipv6: write the form for IPv6
 * @p: contents; @p->saddr is the sender's address
 *
 * Return: length in bytes.
 */
unsigned int rds_rdma_pd_build(u8 *buf, bool ipv6,
			       const struct rds_rdma_peer *p);

/**
 * rds_rdma_pd_parse - read private data
 * @buf: private data as received, with or without zero padding by the CM
 * @len: bytes in @buf
 * @ipv6: expect the form for IPv6
 * @request: the data are of a request, and versions are negotiated; in a reply
 *	major 0 means 4.1
 * @p: filled in; @p->version is 0 if no version fits
 *
 * Return: false without private data.
 */
bool rds_rdma_pd_parse(const u8 *buf, unsigned int len, bool ipv6, bool request,
		       struct rds_rdma_peer *p);

#endif
