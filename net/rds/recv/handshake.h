/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * handshake.c: the handshake of a peer.  The receiver of the path calls these
 * functions; they do not sleep.
 */
#ifndef _RDS_RECV_HANDSHAKE_H
#define _RDS_RECV_HANDSHAKE_H

#include <linux/types.h>

#include "recv/rx_state.h"

struct rds_handshake;
struct rds_wire_header;

/* What follows over the connection comes again over another one. */
static inline void rds_rx_give_up(struct rds_rx_state *rx,
				  enum rds_drop_reason why)
{
	rx->misplaced = true;
	rx->vtable->lost(rx->path, why);
}

/**
 * rds_rx_handshake - apply a handshake
 * @rx: receive state
 * @hdr: its header
 * @hs: what its extensions say
 * @ask: it asks for an answer
 * @locked: it counts as a message, and the lane of the path is locked
 */
void rds_rx_handshake(struct rds_rx_state *rx,
		      const struct rds_wire_header *hdr,
		      const struct rds_handshake *hs, bool ask, bool locked);

/**
 * rds_rx_numbered_handshake - apply a handshake that counts as a message
 * @rx: receive state; the lane of the path is locked
 * @hdr: header of the handshake
 * @ask: it asks for an answer
 */
void rds_rx_numbered_handshake(struct rds_rx_state *rx,
			       const struct rds_wire_header *hdr, bool ask);

#endif
