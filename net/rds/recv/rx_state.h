/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receive side of a path, and of a lane.
 *
 * One context at a time delivers the messages of a path (include/net/rds/rx.h),
 * and only that context changes the state of the path, so there is no lock.
 * Between two connections, and at the end of the path, the holder of the path's
 * control mutex changes the state; so do rds_path_peer_gen() and rds_path_up()
 * before the path is up.  No path writes another's.
 *
 * A lane is what the peer numbers in one series.  The messages of a lane come
 * over the path of the same index, or over others if the peer takes part in
 * that (wire.rst, "Failover").  Then rds_rx_lane.lock is held from the look at
 * the number until the message is on the queue of its socket, so that of two
 * paths that bring the same lane none overtakes the other.  The lock is taken
 * with bottom halves off, outside all locks of sockets and queues.  Without
 * several lanes the path alone writes its lane, and there is no lock.  Dumps
 * read `expected` at any time.
 */
#ifndef _RDS_RECV_RX_STATE_H
#define _RDS_RECV_RX_STATE_H

#include <linux/cache.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include <net/rds/rx.h>
#include <net/rds/stats.h>

struct rds_cong_map;
struct rds_handshake;
struct rds_net;
struct rds_path;
struct rds_rx_peer;

/**
 * enum rds_gen_news - what the generation number in a handshake says
 * @RDS_GEN_SAME: the peer is the one that is known, or names no number
 * @RDS_GEN_NEW: it has restarted
 * @RDS_GEN_STALE: the connection is of an earlier incarnation, or of one that
 *	has to greet over path 0 first
 */
enum rds_gen_news {
	RDS_GEN_SAME,
	RDS_GEN_NEW,
	RDS_GEN_STALE,
};

/*
 * Functions of the path's owner for messages to the kernel; called by the
 * receiver, do not sleep
 */
struct rds_probe_vtable {
	/* Answer a ping from @sport (host order). */
	void (*ping)(struct rds_path *path, u16 sport);
	/* Apply the generation number of a handshake, ahead of the rest. */
	enum rds_gen_news (*generation)(struct rds_path *path,
					const struct rds_handshake *hs);
	/*
	 * Apply the peer's handshake.  @ask: the peer wants an answer; else it
	 * answers, and has all messages up to the number @have.  @restarted:
	 * see RDS_GEN_NEW.
	 */
	void (*handshake)(struct rds_path *path, const struct rds_handshake *hs,
			  bool ask, u64 have, bool restarted);
	/* The first message came over the present connection. */
	void (*heard)(struct rds_path *path);
	/* The connection belongs to another path of the peer: end it. */
	void (*misplaced)(struct rds_path *path,
			  const struct rds_handshake *hs);
	/* The connection is not used any more: end it. */
	void (*lost)(struct rds_path *path, enum rds_drop_reason why);
	/*
	 * The peer has delivered all messages of a lane up to @seq, and its
	 * transport has the bytes of the path up to @pos; 0 if one is unknown.
	 * The position is for the lane of the path only.
	 */
	void (*acked)(struct rds_path *path, unsigned int lane, u64 seq,
		      u64 pos);
	/* Acknowledge what is delivered, @now or a moment later. */
	void (*owes_ack)(struct rds_path *path, bool now);
	/* The peer tells further addresses, in @len bytes of payload. */
	void (*told)(struct rds_path *path, const void *payload, u32 len);
};

/**
 * struct rds_rx_lane - receive state of one lane
 * @lock: see above
 * @gen: generation number of the peer that @expected counts for, 0 for none
 * @expected: number of the next message, 0 before the first; kept when the path
 *	is lost
 * @used: when a message but a handshake came, in jiffies; read at any time
 * @greeted: number that follows the last handshake, if all messages up to that
 *	were handshakes
 * @told: number that the last acknowledgement of all lanes had for this one;
 *	whoever makes the acknowledgement writes it
 * @delivered: number of the last message that was delivered, or dropped for
 *	good; kept when the path is lost; other contexts read it at any time
 */
struct rds_rx_lane {
	spinlock_t	lock;
	u32		gen;
	u64		expected;
	unsigned long	used;
	u64		greeted;
	u64		told;
	u64		delivered;
};

/**
 * struct rds_rx_state - receive state of one path
 * @path: path of the state
 * @rn: namespace of the path
 * @fmap: congestion map of the peer's address; the connection holds the
 *	reference
 * @peer: count of what the peer makes sockets hold; the connection's
 * @vtable: functions for pings and handshakes
 * @lane: lane of the path
 * @lanes: all lanes of the connection, by index; NULL if it has one
 * @peer_gen: generation number of the peer, as the session has it
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
 * @moves: the peer sends messages of any lane over the present connection
 * @foreign: messages of other lanes came since the last acknowledgement of them
 * @doubted: the present connection is to an address that may be another host's:
 *	nothing counts before a handshake of the peer
 * @told: the peer has told its further addresses over the present connection
 * @held: port of a socket that is full, for which the transport waits with what
 *	follows over the present connection; 0 for none
 * @gen: generation number that the peer named over the present connection
 * @owed_bytes: bytes delivered since the last acknowledgement by @ack_now
 * @owed: messages delivered since then
 */
struct rds_rx_state {
	struct rds_path			*path;
	struct rds_net			*rn;
	struct rds_cong_map		*fmap;
	struct rds_rx_peer		*peer;
	const struct rds_probe_vtable	*vtable;
	struct rds_rx_lane		*lane;
	struct rds_rx_lane		*lanes;
	const u32			*peer_gen;
	bool				heard;
	bool				begun;
	bool				misplaced;
	bool				astray;
	bool				mapped;
	bool				by_number;
	bool				ack_armed;
	bool				ack_now;
	bool				moves;
	bool				foreign;
	bool				doubted;
	bool				told;
	__be16				held;
	u32				gen;
	unsigned int			owed_bytes;
	unsigned int			owed;
};

/* Other paths may bring messages of the lane. */
static inline bool rds_rx_is_shared(const struct rds_rx_state *rx)
{
	return rx->lanes;
}

static inline void rds_rx_lock(const struct rds_rx_state *rx,
			       struct rds_rx_lane *lane)
	__acquires(&lane->lock)
{
	if (rds_rx_is_shared(rx))
		spin_lock_bh(&lane->lock);
	else
		__acquire(&lane->lock);
}

static inline void rds_rx_unlock(const struct rds_rx_state *rx,
				 struct rds_rx_lane *lane)
	__releases(&lane->lock)
{
	if (rds_rx_is_shared(rx))
		spin_unlock_bh(&lane->lock);
	else
		__release(&lane->lock);
}

/*
 * The peer has restarted, and has no number yet.  The lane is locked, or is not
 * shared.
 */
static inline void rds_rx_lane_forget(struct rds_rx_lane *lane)
{
	WRITE_ONCE(lane->expected, 0);
	WRITE_ONCE(lane->greeted, 0);
	WRITE_ONCE(lane->told, 0);
	WRITE_ONCE(lane->delivered, 0);
}

/*
 * Were handshakes all that the peer has numbered in the lane, as far as this
 * host knows?  Any context.
 */
static inline bool rds_rx_lane_only_greeted(const struct rds_rx_lane *lane)
{
	return READ_ONCE(lane->expected) == READ_ONCE(lane->greeted);
}

/*
 * What to tell the peer of the present connection: the number up to which the
 * lane is delivered, if it counts for this incarnation of the peer.  @tell: the
 * peer is told now, with all lanes.  Any context.
 */
static inline u64 rds_rx_lane_delivered(const struct rds_rx_state *rx,
					struct rds_rx_lane *lane, bool tell)
{
	u64 delivered;

	if (!rds_rx_is_shared(rx))
		return READ_ONCE(lane->delivered);
	spin_lock_bh(&lane->lock);
	delivered = lane->gen == READ_ONCE(rx->gen) ? lane->delivered : 0;
	if (tell && delivered > lane->told)
		WRITE_ONCE(lane->told, delivered);
	spin_unlock_bh(&lane->lock);
	return delivered;
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
	rx->moves = false;
	rx->begun = false;
	rx->misplaced = false;
	if (rx->astray) {
		rds_rx_lock(rx, rx->lane);
		rds_rx_lane_forget(rx->lane);
		rds_rx_unlock(rx, rx->lane);
	}
	rx->astray = false;
	rx->doubted = false;
	rx->told = false;
	WRITE_ONCE(rx->held, 0);
	WRITE_ONCE(rx->foreign, false);
	rx->gen = 0;
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

void rds_rx_state_init(struct rds_rx_state *rx, struct rds_path *path,
		       struct rds_net *rn, struct rds_cong_map *fmap,
		       struct rds_rx_peer *peer,
		       const struct rds_probe_vtable *vtable);

/*
 * Set the lane of the path, of that @index among the @nr lanes of the
 * connection.  @peer_gen: see struct rds_rx_state.
 */
static inline void rds_rx_state_set_lane(struct rds_rx_state *rx,
					 struct rds_rx_lane *lanes,
					 unsigned int nr, unsigned int index,
					 const u32 *peer_gen)
{
	rx->lane = &lanes[index];
	rx->lanes = nr > 1 ? lanes : NULL;
	rx->peer_gen = peer_gen;
}

#endif
