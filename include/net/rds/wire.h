/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wire format.  Kernel-free: a program brings proto/plat.h for the types.
 * Documentation/wire.rst explains the fields.
 */
#ifndef _NET_RDS_WIRE_H
#define _NET_RDS_WIRE_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include "proto/plat.h"
#endif

#define RDS_TCP_PORT		16385	/* TCP port of every listener */
/* RDS port of the in-kernel ping responder */
#define RDS_PING_PORT		0
/* RDS port that multipath handshakes come from */
#define RDS_PROBE_PORT		1

#define RDS_MAX_MSG_SIZE	(1024U * 1024)	/* payload of one message */
/* one bit for each of the 65536 ports */
#define RDS_CONG_MAP_BYTES	8192
#define RDS_EXTHDR_SPACE	16
/* largest number of paths between two addresses */
#define RDS_MAX_PATHS		8

/* Bits of rds_wire_header.flags */

/* congestion map, if it is the only bit set */
#define RDS_WIRE_F_CONG			0x01
/* to a peer that acknowledges by number */
#define RDS_WIRE_F_ACK_REQUIRED		0x02
/* sent before; may be dropped as a duplicate */
#define RDS_WIRE_F_RETRANSMITTED	0x04
#define RDS_WIRE_F_EXTHDR		0x20	/* RDMA only, advisory */

/**
 * struct rds_wire_header - header of a message
 * @seq: number of the message on its path, from 1; 0 for congestion maps, for
 *	frames that only acknowledge, and for handshakes that come first on a
 *	connection
 * @ack: RDMA: highest number received on the connection; TCP: highest number
 *	delivered, to a peer that takes it, else 0
 * @len: payload bytes of the whole message
 * @sport: RDS port of the sender
 * @dport: RDS port of the receiver
 * @flags: RDS_WIRE_F_*
 * @credit: RDMA: number of receives granted to the peer; TCP: 0
 * @padding: sent as 0, ignored
 * @csum: Internet checksum of the header; 0 for no checksum
 * @exthdr: extension elements, packed
 */
struct rds_wire_header {
	__be64	seq;
	__be64	ack;
	__be32	len;
	__be16	sport;
	__be16	dport;
	__u8	flags;
	__u8	credit;
	__u8	padding[4];
	__be16	csum;
	__u8	exthdr[RDS_EXTHDR_SPACE];
} __packed;

static_assert(offsetof(struct rds_wire_header, seq) == 0);
static_assert(offsetof(struct rds_wire_header, ack) == 8);
static_assert(offsetof(struct rds_wire_header, len) == 16);
static_assert(offsetof(struct rds_wire_header, sport) == 20);
static_assert(offsetof(struct rds_wire_header, dport) == 22);
static_assert(offsetof(struct rds_wire_header, flags) == 24);
static_assert(offsetof(struct rds_wire_header, credit) == 25);
static_assert(offsetof(struct rds_wire_header, padding) == 26);
static_assert(offsetof(struct rds_wire_header, csum) == 30);
static_assert(offsetof(struct rds_wire_header, exthdr) == 32);
static_assert(sizeof(struct rds_wire_header) == 48);

/*
 * First byte of an extension element; the length of its body follows from it.
 */
enum rds_ext_type {
	RDS_EXT_NONE		= 0,	/* ends the list of elements */
	RDS_EXT_VERSION		= 1,
	RDS_EXT_RDMA		= 2,
	RDS_EXT_RDMA_DEST	= 3,
	RDS_EXT_RDMA_BYTES	= 4,
	RDS_EXT_NPATHS		= 5,
	RDS_EXT_GEN_NUM		= 6,
	/* Oracle's kernel in data, this module in handshakes */
	RDS_EXT_CAP_BITS	= 7,
	RDS_EXT_SPORT_IDX	= 8,
	/* Oracle's kernel, not in handshakes: payload checksum */
	RDS_EXT_CSUM		= 9,
	/* this module, in data: lane of a message that another path carries */
	RDS_EXT_LANE		= 10,
	/* this type and larger ones end the list of elements */
	RDS_EXT_MAX		= 16,
};

/*
 * Bits of CAP_BITS in a handshake.  Bit 0 is Oracle's, and the highest byte is
 * 0, so that a peer which does not know the element stops there.
 */

/* acknowledges messages by number, over TCP, too */
#define RDS_CAP_BITS_ACK	0x00000100
/* messages may have come before any greeting */
#define RDS_CAP_BITS_LATE	0x00000200
/* takes connections of further paths */
#define RDS_CAP_BITS_PATHS	0x00000400
/* takes messages of any lane over any path */
#define RDS_CAP_BITS_LANES	0x00000800
/* tells further addresses of the host, over path 0 */
#define RDS_CAP_BITS_ADDRS	0x00001000
/* changes when the host restarts; 0: not told */
#define RDS_CAP_BITS_HOST	0x00f8e000
#define RDS_CAP_BITS_HOST_SHIFT	13
/* index of the path that the handshake travels on */
#define RDS_CAP_BITS_INDEX	0x00070000
#define RDS_CAP_BITS_INDEX_SHIFT 16

/* Payload of an acknowledgement of all lanes: a number of 8 bytes for each */
#define RDS_LANES_ACK_BYTES	(RDS_MAX_PATHS * 8)

/* Addresses of a host beside the one by which a peer knows it */
#define RDS_MAX_FURTHER		(RDS_MAX_PATHS - 1)
/* Payload of a frame that tells @n further addresses: a token, and they */
#define RDS_ADDRS_BYTES(n)	(8 + (n) * 16)

/**
 * struct rds_wire_join - payload of the first frame between further addresses
 * @magic: RDS_JOIN_MAGIC
 * @token: what the receiver has told together with its addresses
 * @from: address by which the receiver knows the sender
 * @to: address by which the sender knows the receiver
 */
struct rds_wire_join {
	__u8	magic[8];
	__be64	token;
	__u8	from[16];
	__u8	to[16];
} __packed;

#define RDS_JOIN_MAGIC		"RDS JOIN"

static_assert(offsetof(struct rds_wire_join, token) == 8);
static_assert(offsetof(struct rds_wire_join, from) == 16);
static_assert(offsetof(struct rds_wire_join, to) == 32);
static_assert(sizeof(struct rds_wire_join) == 48);

/* Longest body of a known element: RDMA_DEST, RDMA_BYTES and CSUM */
#define RDS_EXT_BODY_MAX	8

#endif
