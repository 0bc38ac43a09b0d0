// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the handshake of a peer changes in the receive state of a path. */
#include "netns.h"
#include "proto/exthdr.h"
#include "recv/handshake.h"
#include "recv/rx_state.h"
#include <net/rds/transport.h>

/*
 * Is the number expected, if any, of an earlier incarnation of the peer, which
 * greets now?  Not if the messages came before the greeting, over the present
 * connection or, as a late peer says, an earlier one without a greeting.
 */
static bool rx_outdated(const struct rds_rx_state *rx,
			const struct rds_handshake *hs)
{
	u32 gen = rx->lane->gen;

	if (rx->begun || hs->gen == gen)
		return false;
	return gen || !rds_handshake_late(hs);
}

/*
 * Apply the generation number of a handshake to the lane of the path, which is
 * locked.  The session knows it already, so that no other path begins the lane
 * anew for an earlier one; nor does this one, if the session knows a later one
 * by now.  A handshake with a number is accepted, so the number expected is
 * right already; a lower one would let in repeats of what the new incarnation
 * sent before its handshake.
 */
static void rx_set_generation(struct rds_rx_state *rx,
			      const struct rds_handshake *hs, bool numbered)
{
	if (hs->gen)
		WRITE_ONCE(rx->gen, hs->gen);
	if (rds_rx_is_shared(rx) && hs->gen &&
	    hs->gen != READ_ONCE(*rx->peer_gen))
		return;
	if (!numbered && rx_outdated(rx, hs))
		rds_rx_lane_forget(rx->lane);
	if (hs->gen)
		WRITE_ONCE(rx->lane->gen, hs->gen);
}

/* The lane is locked already if the handshake counts as a message. */
static void rx_learn(struct rds_rx_state *rx, const struct rds_handshake *hs,
		     bool numbered, bool locked)
{
	if (locked) {
		rx_set_generation(rx, hs, numbered);
		return;
	}
	rds_rx_lock(rx, rx->lane);
	rx_set_generation(rx, hs, numbered);
	rds_rx_unlock(rx, rx->lane);
}

/*
 * Is the connection another path of the peer?  Its numbers mean nothing here,
 * and what came over it is never acknowledged.  A peer that acknowledges by
 * number and tells no index has one path.
 */
static bool rx_is_misplaced(const struct rds_rx_state *rx,
			    const struct rds_handshake *hs)
{
	if (rds_handshake_paths(hs))
		return rds_handshake_index(hs) != rx->path->index;
	return rx->path->index && rds_handshake_acks(hs);
}

void rds_rx_handshake(struct rds_rx_state *rx,
		      const struct rds_wire_header *hdr,
		      const struct rds_handshake *hs, bool ask, bool locked)
{
	enum rds_gen_news news;

	if (hs->unknown)
		rds_drop(rx->rn->net, RDS_DROP_BAD_HANDSHAKE);
	if (rx_is_misplaced(rx, hs)) {
		rx->misplaced = true;
		rx->vtable->misplaced(rx->path, hs);
		return;
	}
	news = rx->vtable->generation(rx->path, hs);
	if (news == RDS_GEN_STALE) {
		rds_rx_give_up(rx, RDS_DROP_PEER_REPLACED);
		return;
	}
	rx_learn(rx, hs, hdr->seq, locked);
	if (rds_handshake_acks(hs))
		rx->by_number = true;
	if (rds_rx_is_shared(rx) && rds_handshake_moves(hs))
		rx->moves = true;
	rx->vtable->handshake(rx->path, hs, ask, be64_to_cpu(hdr->ack),
			      news == RDS_GEN_NEW);
}

/*
 * A handshake came that has the number @seq.  The first message of a peer may
 * have any number, as the peer goes on where a forgotten connection was.
 */
static void lane_greeted(struct rds_rx_lane *lane, u64 seq)
{
	if (lane->greeted ? lane->greeted == seq : !lane->delivered)
		WRITE_ONCE(lane->greeted, seq + 1);
}

void rds_rx_numbered_handshake(struct rds_rx_state *rx,
			       const struct rds_wire_header *hdr, bool ask)
{
	struct rds_handshake hs;

	lane_greeted(rx->lane, be64_to_cpu(hdr->seq));
	/* The answer may be sent before this returns. */
	WRITE_ONCE(rx->lane->delivered, be64_to_cpu(hdr->seq));
	rds_handshake_parse(hdr->exthdr, &hs);
	rds_rx_handshake(rx, hdr, &hs, ask, true);
}
