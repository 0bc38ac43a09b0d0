/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receive side of a path.
 *
 * One context at a time delivers the messages of a path (include/net/rds/rx.h),
 * and only that context changes the state here, so there is no lock.  Between
 * two connections, and at the end of the path, the holder of the path's control
 * mutex changes the state; so do rds_path_peer_gen() and rds_path_up() before
 * the path is up.
 * No path writes another's.  Dumps read `expected` at any time.
 */
#ifndef _RDS_RECV_RX_STATE_H
#define _RDS_RECV_RX_STATE_H

#include <linux/types.h>
#include <asm/barrier.h>

#include <net/rds/rx.h>

struct rds_cong_map;
struct rds_handshake;
struct rds_net;
struct rds_path;

/*
 * Functions of the path's owner for messages to the kernel; called by the
 * receiver, do not sleep
 */
struct rds_probe_vtable {
	/* Answer a ping from @sport (host order). */
	void (*ping)(struct rds_path *path, u16 sport);
	/*
	 * Apply the peer's handshake.  @ask: the peer wants an answer; else it
	 * answers, and has all messages up to the number @have.
	 */
	void (*handshake)(struct rds_path *path, const struct rds_handshake *hs,
			  bool ask, u64 have);
	/* The connection belongs to another path of the peer: end it. */
	void (*misplaced)(struct rds_path *path,
			  const struct rds_handshake *hs);
	/* The peer has delivered all messages up to the number @seq. */
	void (*acked)(struct rds_path *path, u64 seq);
	/* Acknowledge what is delivered, @now or a moment later. */
	void (*owes_ack)(struct rds_path *path, bool now);
};

/**
 * struct rds_rx_state - receive state of one path
 * @path: path of the state
 * @rn: namespace of the path
 * @fmap: congestion map of the peer's address; the connection holds the
 *	reference
 * @vtable: functions for pings and handshakes
 * @heard: a message arrived over the present connection
 * @begun: one of them had a number, and was no duplicate
 * @misplaced: the present connection belongs to another path of the peer: its
 *	messages are dropped, and come again over another connection
 * @astray: the present connection belongs to another path of a peer that counts
 *	paths: its messages are delivered, and their numbers are forgotten
 * @mapped: the path is counted as a source of @fmap, see rds_cong_source_add()
 * @by_number: the peer takes acknowledgements by number over the present
 *	connection, and its numbers never fall
 * @ack_armed: an acknowledgement is on its way, which will tell what is
 *	delivered by then; other contexts clear it before they read @delivered
 * @ack_now: an acknowledgement is due at the end of the batch
 * @gen: generation number of the peer that @expected counts for, 0 for none
 * @expected: number of the next message, 0 before the first; kept when the path
 *	is lost
 * @delivered: number of the last message that was delivered, or dropped for
 *	good; kept when the path is lost; other contexts read it at any time
 * @owed_bytes: bytes delivered since the last acknowledgement by @ack_now
 * @owed: messages delivered since then
 */
struct rds_rx_state {
	struct rds_path			*path;
	struct rds_net			*rn;
	struct rds_cong_map		*fmap;
	const struct rds_probe_vtable	*vtable;
	bool				heard;
	bool				begun;
	bool				misplaced;
	bool				astray;
	bool				mapped;
	bool				by_number;
	bool				ack_armed;
	bool				ack_now;
	u32				gen;
	u64				expected;
	u64				delivered;
	unsigned int			owed_bytes;
	unsigned int			owed;
};

/* The peer has restarted, and has no number yet. */
static inline void rds_rx_state_forget(struct rds_rx_state *rx)
{
	WRITE_ONCE(rx->expected, 0);
	WRITE_ONCE(rx->delivered, 0);
}

/* What was delivered so far is acknowledged. */
static inline void rds_rx_state_paid(struct rds_rx_state *rx)
{
	rx->ack_now = false;
	rx->owed = 0;
	rx->owed_bytes = 0;
}

/* The present connection has ended. */
static inline void rds_rx_state_end(struct rds_rx_state *rx)
{
	rx->by_number = false;
	rx->begun = false;
	rx->misplaced = false;
	if (rx->astray)
		rds_rx_state_forget(rx);
	rx->astray = false;
	rds_rx_state_paid(rx);
}

/*
 * The acknowledgement that was armed begins, and reads `delivered` after this.
 */
static inline void rds_rx_state_disarm(struct rds_rx_state *rx)
{
	WRITE_ONCE(rx->ack_armed, false);
	/* The receiver writes `delivered`, and then reads the flag. */
	smp_mb();
}

static inline void rds_rx_state_init(struct rds_rx_state *rx,
				     struct rds_path *path, struct rds_net *rn,
				     struct rds_cong_map *fmap,
				     const struct rds_probe_vtable *vtable)
{
	rx->path = path;
	rx->rn = rn;
	rx->fmap = fmap;
	rx->vtable = vtable;
	rx->heard = false;
	rx->mapped = false;
	rx->gen = 0;
	rx->astray = false;
	rx->ack_armed = false;
	rds_rx_state_forget(rx);
	rds_rx_state_end(rx);
}

#endif
