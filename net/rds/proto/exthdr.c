// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/exthdr.h"

static const struct rds_ext_desc ext_table[RDS_EXT_MAX] = {
	[RDS_EXT_VERSION] = { RDS_EXT_VERSION, 4, false, "VERSION" },
	[RDS_EXT_RDMA] = { RDS_EXT_RDMA, 4, false, "RDMA" },
	[RDS_EXT_RDMA_DEST] = { RDS_EXT_RDMA_DEST, 8, false, "RDMA_DEST" },
	[RDS_EXT_RDMA_BYTES] = { RDS_EXT_RDMA_BYTES, 8, false, "RDMA_BYTES" },
	[RDS_EXT_NPATHS] = { RDS_EXT_NPATHS, 2, false, "NPATHS" },
	[RDS_EXT_GEN_NUM] = { RDS_EXT_GEN_NUM, 4, false, "GEN_NUM" },
	[RDS_EXT_CAP_BITS] = { RDS_EXT_CAP_BITS, 4, false, "CAP_BITS" },
	[RDS_EXT_SPORT_IDX] = { RDS_EXT_SPORT_IDX, 1, false, "SPORT_IDX" },
	[RDS_EXT_CSUM] = { RDS_EXT_CSUM, 8, true, "CSUM" },
	[RDS_EXT_LANE] = { RDS_EXT_LANE, 1, true, "LANE" },
};

/**
 * rds_ext_desc() - look up the description of a type
 * @type: first byte of an element
 *
 * Return: the description, or NULL if the type has no known length.
 */
const struct rds_ext_desc *rds_ext_desc(unsigned int type)
{
	if (type >= ARRAY_SIZE(ext_table) || !ext_table[type].type)
		return NULL;
	return &ext_table[type];
}

/**
 * rds_ext_iter_init() - start at the first element
 * @it: iterator
 * @area: extension area, which must outlive the iterator and the elements that
 *	it returns
 * @data: whether the area is that of a data message, and not of a handshake
 */
void rds_ext_iter_init(struct rds_ext_iter *it, const u8 area[RDS_EXTHDR_SPACE],
		       bool data)
{
	it->area = area;
	it->pos = 0;
	it->data = data;
}

/**
 * rds_ext_next() - take the next element
 * @it: iterator
 * @out: element, written only if 1 is returned
 *
 * The list ends at type 0, at a type of 16 or more, and where a body would run
 * past the area.  An unknown type below 16 is returned with an empty body, and
 * parsing continues at the next byte.  Every peer parses in this way, and
 * senders rely on it when they append elements.
 *
 * Return: 1 with an element; 0 at the end, and in each later call.
 */
int rds_ext_next(struct rds_ext_iter *it, struct rds_ext *out)
{
	const struct rds_ext_desc *desc;
	unsigned int len;
	u8 type;

	if (it->pos >= RDS_EXTHDR_SPACE)
		return 0;
	type = it->area[it->pos];
	desc = rds_ext_desc(type);
	if (desc && desc->data_only && !it->data)
		desc = NULL;
	len = desc ? desc->len : 0;
	if (type == RDS_EXT_NONE || type >= RDS_EXT_MAX ||
	    it->pos + 1 + len > RDS_EXTHDR_SPACE) {
		it->pos = RDS_EXTHDR_SPACE;
		return 0;
	}

	out->type = type;
	out->len = len;
	out->body = it->area + it->pos + 1;
	out->desc = desc;
	it->pos += 1 + len;
	return 1;
}

/**
 * rds_ext_append() - add an element behind those that the area has
 * @area: extension area, zeroed before the first element
 * @used: bytes of the area in use, 0 before the first element; advanced on
 *	success
 * @type: a known type
 * @body: as many bytes as the type implies, in wire order
 *
 * Return: false, with nothing changed, if the type is unknown or the element
 * does not fit.
 */
bool rds_ext_append(u8 area[RDS_EXTHDR_SPACE], unsigned int *used,
		    enum rds_ext_type type, const void *body)
{
	const struct rds_ext_desc *desc = rds_ext_desc(type);

	if (!desc || *used > RDS_EXTHDR_SPACE ||
	    1u + desc->len > RDS_EXTHDR_SPACE - *used)
		return false;
	area[*used] = desc->type;
	memcpy(area + *used + 1, body, desc->len);
	*used += 1 + desc->len;
	return true;
}

/**
 * rds_handshake_build() - write the extension area of a handshake ping or pong
 * @area: extension area, of which every byte is written
 * @npaths: number of paths that this host supports, 0 to say nothing of it
 * @gen: generation number of this host, not 0
 * @sport_idx: whether the TCP source ports of this host tell the number of the
 *	path
 * @caps: RDS_CAP_BITS_*; 0 for a peer that is known not to have them
 *
 * The order matters: elements that an old peer does not know come last, and it
 * stops at the zero that is the first byte of their body.
 */
void rds_handshake_build(u8 area[RDS_EXTHDR_SPACE], u16 npaths, u32 gen,
			 bool sport_idx, u32 caps)
{
	unsigned int used = 0;
	static const u8 zero;
	u8 body[4];

	static_assert(1 + 2 + 1 + 4 + 1 + 1 + 1 + 4 <= RDS_EXTHDR_SPACE);

	memset(area, 0, RDS_EXTHDR_SPACE);
	rds_store_be16(body, npaths);
	if (npaths)
		rds_ext_append(area, &used, RDS_EXT_NPATHS, body);
	rds_store_be32(body, gen);
	rds_ext_append(area, &used, RDS_EXT_GEN_NUM, body);
	if (sport_idx)
		rds_ext_append(area, &used, RDS_EXT_SPORT_IDX, &zero);
	rds_store_be32(body, caps);
	if (caps)
		rds_ext_append(area, &used, RDS_EXT_CAP_BITS, body);
}

/**
 * rds_handshake_drop_npaths() - take the number of paths out of a handshake
 * @area: extension area by rds_handshake_build(); others are not changed
 *
 * A handshake that is sent again may reach another host at the same address,
 * which must not hear of several paths.
 */
void rds_handshake_drop_npaths(u8 area[RDS_EXTHDR_SPACE])
{
	enum { GONE = 1 + 2 };

	if (area[0] != RDS_EXT_NPATHS)
		return;
	memmove(area, area + GONE, RDS_EXTHDR_SPACE - GONE);
	memset(area + RDS_EXTHDR_SPACE - GONE, 0, GONE);
}

/**
 * rds_lane_tag() - name the lane of a message that another path carries
 * @area: extension area, of which every byte is written
 * @lane: index of the lane
 */
void rds_lane_tag(u8 area[RDS_EXTHDR_SPACE], unsigned int lane)
{
	memset(area, 0, RDS_EXTHDR_SPACE);
	area[0] = RDS_EXT_LANE;
	area[1] = lane;
}

/**
 * rds_lane_untag() - undo rds_lane_tag()
 * @area: extension area; one that names no lane is not changed
 */
void rds_lane_untag(u8 area[RDS_EXTHDR_SPACE])
{
	if (rds_lane_is_tagged(area))
		memset(area, 0, RDS_EXTHDR_SPACE);
}

/**
 * rds_handshake_parse() - read the extension area of a handshake ping or pong
 * @area: extension area of any content
 * @out: contents of the handshake; of an element that comes twice the last
 *	value counts
 */
void rds_handshake_parse(const u8 area[RDS_EXTHDR_SPACE],
			 struct rds_handshake *out)
{
	struct rds_ext_iter it;
	struct rds_ext ext;

	memset(out, 0, sizeof(*out));
	rds_ext_iter_init(&it, area, false);
	while (rds_ext_next(&it, &ext)) {
		switch (ext.type) {
		case RDS_EXT_NPATHS:
			out->npaths = rds_load_be16(ext.body);
			out->has_npaths = true;
			break;
		case RDS_EXT_GEN_NUM:
			out->gen = rds_load_be32(ext.body);
			out->has_gen = true;
			break;
		case RDS_EXT_SPORT_IDX:
			out->sport_idx = true;
			break;
		case RDS_EXT_CAP_BITS:
			out->caps = rds_load_be32(ext.body);
			break;
		default:
			out->unknown++;
		}
	}
}
