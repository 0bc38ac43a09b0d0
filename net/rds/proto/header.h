/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The 48-byte header: build, decode, checksum. */
#ifndef _RDS_PROTO_HEADER_H
#define _RDS_PROTO_HEADER_H

#include "proto/plat.h"
#include <net/rds/wire.h>

/* A header's fields in host order, without the extension area. */
struct rds_header_info {
	u64	seq;
	u64	ack;
	u32	len;
	u16	sport;
	u16	dport;
	u8	flags;
	u8	credit;
};

void rds_header_init(struct rds_wire_header *h, u64 seq, u32 len, u16 sport,
		     u16 dport, u8 flags);
void rds_header_decode(const struct rds_wire_header *h,
		       struct rds_header_info *out);
void rds_header_csum_set(struct rds_wire_header *h);
bool rds_header_csum_ok(const struct rds_wire_header *h);

/*
 * Equality, not a test of the bit: a message with any other bit set is an
 * ordinary one.
 */
static inline bool rds_header_is_cong_map(u8 flags)
{
	return flags == RDS_WIRE_F_CONG;
}

#endif
