// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/header.h"

/**
 * rds_header_init() - fill a header for sending
 * @h: header, of which every byte is written, those of the extension area with
 *	0
 * @seq: number of the message on its path
 * @len: payload bytes
 * @sport: RDS port of the sender
 * @dport: RDS port of the receiver
 * @flags: RDS_WIRE_F_*
 *
 * All arguments are in host order.
 */
void rds_header_init(struct rds_wire_header *h, u64 seq, u32 len, u16 sport,
		     u16 dport, u8 flags)
{
	memset(h, 0, sizeof(*h));
	h->seq = cpu_to_be64(seq);
	h->len = cpu_to_be32(len);
	h->sport = cpu_to_be16(sport);
	h->dport = cpu_to_be16(dport);
	h->flags = flags;
}

/**
 * rds_header_decode() - convert a received header to host order
 * @h: header of any content; no field is checked here
 * @out: fields in host order
 */
void rds_header_decode(const struct rds_wire_header *h,
		       struct rds_header_info *out)
{
	out->seq = be64_to_cpu(h->seq);
	out->ack = be64_to_cpu(h->ack);
	out->len = be32_to_cpu(h->len);
	out->sport = be16_to_cpu(h->sport);
	out->dport = be16_to_cpu(h->dport);
	out->flags = h->flags;
	out->credit = h->credit;
}

/* Ones' complement sum of the 24 big-endian words of a header */
static u16 header_sum(const struct rds_wire_header *h)
{
	const u8 *p = (const u8 *)h;
	u32 sum = 0;
	size_t i;

	for (i = 0; i < sizeof(*h); i += 2)
		sum += rds_load_be16(p + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (u16)sum;
}

/**
 * rds_header_csum_set() - store the checksum of a finished header
 * @h: header, complete except for the checksum
 *
 * A checksum whose value is 0 means "no checksum", which every receiver accepts
 * as well.
 */
void rds_header_csum_set(struct rds_wire_header *h)
{
	h->csum = 0;
	h->csum = cpu_to_be16((u16)~header_sum(h));
}

/**
 * rds_header_csum_ok() - verify the checksum of a received header
 * @h: header
 *
 * Return: true if the checksum is right, or 0 because the sender did not
 * compute one.
 */
bool rds_header_csum_ok(const struct rds_wire_header *h)
{
	return !h->csum || header_sum(h) == 0xffff;
}
