/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The extension area of a header: packed elements of one type byte and a body
 * whose length the type implies.  There is no length byte, so a parser that
 * does not know a type reads the body as further types.  Elements that a peer
 * may not know therefore come last, with a zero byte first in their body.
 */
#ifndef _RDS_PROTO_EXTHDR_H
#define _RDS_PROTO_EXTHDR_H

#include "proto/plat.h"
#include <net/rds/wire.h>

/**
 * struct rds_ext_desc - a known type of element
 * @type: first byte of the element
 * @len: bytes of the body
 * @data_only: only for data messages: in a handshake the type has no known
 *	length, as old peers do not know it
 * @name: name of the type, for output
 */
struct rds_ext_desc {
	u8		type;
	u8		len;
	bool		data_only;
	const char	*name;
};

/*
 * One decoded element.  desc is NULL and body empty for a type that has no
 * known length.
 */
struct rds_ext {
	u8				type;
	u8				len;
	const u8			*body;
	const struct rds_ext_desc	*desc;
};

struct rds_ext_iter {
	const u8	*area;
	unsigned int	pos;
	bool		data;
};

const struct rds_ext_desc *rds_ext_desc(unsigned int type);

void rds_ext_iter_init(struct rds_ext_iter *it, const u8 area[RDS_EXTHDR_SPACE],
		       bool data);
int rds_ext_next(struct rds_ext_iter *it, struct rds_ext *out);
bool rds_ext_append(u8 area[RDS_EXTHDR_SPACE], unsigned int *used,
		    enum rds_ext_type type, const void *body);

/* Contents of a handshake ping or pong */
struct rds_handshake {
	u16		npaths;		/* valid if has_npaths */
	bool		has_npaths;
	u32		gen;		/* valid if has_gen */
	bool		has_gen;
	bool		sport_idx;
	/* RDS_CAP_BITS_*, 0 without the element */
	u32		caps;
	/* elements that mean nothing in a handshake */
	unsigned int	unknown;
};

/*
 * Does the peer acknowledge by number?  Such a peer names its generation, as
 * its numbers are worth nothing without.
 */
static inline bool rds_handshake_acks(const struct rds_handshake *hs)
{
	return hs->caps & RDS_CAP_BITS_ACK && hs->gen;
}

/*
 * May messages of the sender's incarnation have come before any greeting of it?
 */
static inline bool rds_handshake_late(const struct rds_handshake *hs)
{
	return hs->caps & RDS_CAP_BITS_LATE;
}

/*
 * Does the peer take connections of several paths?  It acknowledges by number,
 * as messages of a path that it misplaced have to be sent again.
 */
static inline bool rds_handshake_paths(const struct rds_handshake *hs)
{
	return hs->caps & RDS_CAP_BITS_PATHS && rds_handshake_acks(hs);
}

/* Does the peer take messages of any lane over any path? */
static inline bool rds_handshake_moves(const struct rds_handshake *hs)
{
	return hs->caps & RDS_CAP_BITS_LANES && rds_handshake_paths(hs);
}

/* Does the peer tell further addresses?  It takes messages over any path. */
static inline bool rds_handshake_tells(const struct rds_handshake *hs)
{
	return hs->caps & RDS_CAP_BITS_ADDRS && rds_handshake_moves(hs);
}

/* What tells the host apart from itself after a restart; 0 if it tells none */
static inline u32 rds_handshake_host(const struct rds_handshake *hs)
{
	return rds_handshake_acks(hs) ? hs->caps & RDS_CAP_BITS_HOST : 0;
}

/* Index of the path at the peer, if it has several */
static inline unsigned int rds_handshake_index(const struct rds_handshake *hs)
{
	return (hs->caps & RDS_CAP_BITS_INDEX) >> RDS_CAP_BITS_INDEX_SHIFT;
}

void rds_handshake_build(u8 area[RDS_EXTHDR_SPACE], u16 npaths, u32 gen,
			 bool sport_idx, u32 caps);
void rds_handshake_drop_npaths(u8 area[RDS_EXTHDR_SPACE]);

/* Does the header name the lane of the message? */
static inline bool rds_lane_is_tagged(const u8 area[RDS_EXTHDR_SPACE])
{
	return area[0] == RDS_EXT_LANE;
}

static inline unsigned int rds_lane_of(const u8 area[RDS_EXTHDR_SPACE])
{
	return area[1];
}

void rds_lane_tag(u8 area[RDS_EXTHDR_SPACE], unsigned int lane);
void rds_lane_untag(u8 area[RDS_EXTHDR_SPACE]);
void rds_handshake_parse(const u8 area[RDS_EXTHDR_SPACE],
			 struct rds_handshake *out);

#endif
