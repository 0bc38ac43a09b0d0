// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lanes and carriers; send/carry.h has the rules. */
#include "proto/exthdr.h"
#include "send/carry.h"
#include "send/internal.h"
#include <net/rds/transport.h>

/* Messages of a lane that a gate takes at once */
#define CARRY_AT_ONCE	256

bool rds_carry_is_free(const struct rds_txq *txq)
{
	lockdep_assert_held(&txq->lock);
	return !txq->open && !txq->busy && !txq->carrier && !txq->carried &&
	       list_empty(&txq->kept) && list_empty(&txq->inflight) &&
	       list_empty(&txq->sending);
}

/* The gate is locked: lock another lane that it works for, and unlock it. */
static void lane_lock(struct rds_txq *gate, struct rds_txq *lane)
	__acquires(&lane->lock)
{
	lockdep_assert_held(&gate->lock);
	if (lane != gate)
		spin_lock_nested(&lane->lock, SINGLE_DEPTH_NESTING);
	else
		__acquire(&lane->lock);
}

static void lane_unlock(struct rds_txq *gate, struct rds_txq *lane)
	__releases(&lane->lock)
{
	if (lane != gate)
		spin_unlock(&lane->lock);
	else
		__release(&lane->lock);
}

static struct rds_txq *carry_gate(struct rds_txq *lane)
{
	return READ_ONCE(lane->carrier) ?: lane;
}

struct rds_txq *rds_carry_lock(struct rds_txq *lane)
	__acquires(&lane->carrier->lock)
	__acquires(&lane->lock)
{
	struct rds_txq *gate;

	for (;;) {
		gate = carry_gate(lane);
		spin_lock_bh(&gate->lock);
		/* A link does not change while its gate is locked. */
		if (likely(gate == carry_gate(lane)))
			break;
		spin_unlock_bh(&gate->lock);
	}
	lane_lock(gate, lane);
	return gate;
}

void rds_carry_unlock(struct rds_txq *gate, struct rds_txq *lane)
	__releases(&lane->lock)
	__releases(&gate->lock)
{
	lane_unlock(gate, lane);
	spin_unlock_bh(&gate->lock);
}

struct list_head *rds_carry_list_of(struct rds_txq *gate, struct rds_txq *lane,
				    const struct rds_message *m)
{
	const struct rds_message *first;

	lockdep_assert_held(&lane->lock);
	first = rds_txq_first_numbered(&lane->queue);
	if (m->flags & RDS_MSG_KEPT)
		return &lane->kept;
	if (first && m->seq >= first->seq)
		return &lane->queue;
	if (!list_empty(&lane->inflight) &&
	    m->seq <= rds_txq_msg(lane->inflight.prev)->seq)
		return &lane->inflight;
	return &gate->sending;
}

struct rds_txq *rds_carry_source(struct rds_txq *gate)
	__acquires(&lane->lock)
{
	struct rds_txq *lane = gate->from ?: gate;

	lane_lock(gate, lane);
	return lane;
}

void rds_carry_source_done(struct rds_txq *gate, struct rds_txq *lane)
	__releases(&lane->lock)
{
	lane_unlock(gate, lane);
}

/*
 * Can another gate carry the lane?  The own one has sent nothing that is not
 * acknowledged, and is closed or waits for the peer to greet.  An open gate of
 * path 0 has sent a map, which one of another gate could overtake.
 */
static bool carry_can_leave(struct rds_txq *lane)
{
	bool waits = lane->path->index && lane->rule == RDS_TXQ_UNDECIDED;

	lockdep_assert_held(&lane->lock);
	return (!lane->open || waits) && list_empty(&lane->kept) &&
	       list_empty(&lane->inflight) &&
	       !rds_txq_first_numbered(&lane->sending);
}

/* Maps go over the gate that has the first lane, see rds_carry_map_due(). */
static void carry_map_due(struct rds_txq *gate, const struct rds_txq *lane)
{
	if (!lane->path->index)
		gate->due |= RDS_DUE_MAP;
}

bool rds_carry_map_due(struct rds_txq *first)
{
	struct rds_txq *gate = rds_carry_lock(first);
	bool run;

	gate->due |= RDS_DUE_MAP;
	run = rds_txq_wants_run(gate);
	rds_carry_unlock(gate, first);
	return run;
}

/*
 * While the first lane is about to go back, no further map goes: it cannot as
 * long as one is under way, and ports may change all the time.  The lane takes
 * the map that is due along, see carry_end().  One that could not be made goes,
 * as its position is waited for.
 */
bool rds_carry_holds_map(const struct rds_txq *gate)
{
	const struct rds_txq *lane;

	lockdep_assert_held(&gate->lock);
	for (lane = gate->carried; lane; lane = lane->next_carried) {
		if (!lane->path->index)
			return READ_ONCE(lane->returning) &&
			       gate->map_pos != U64_MAX;
	}
	return false;
}

bool rds_carry_begin(struct rds_txq *lane, struct rds_txq *gate)
{
	bool begun;

	/* Else this could lock the two against the order of their links. */
	if (lane->carried || lane->carrier)
		return false;
	spin_lock_bh(&gate->lock);
	spin_lock_nested(&lane->lock, SINGLE_DEPTH_NESTING);
	begun = gate->open && gate->moves && carry_can_leave(lane);
	if (begun) {
		lane->next_carried = gate->carried;
		gate->carried = lane;
		WRITE_ONCE(lane->carrier, gate);
		lane->returning = false;
		lane->asked = 0;
		carry_map_due(gate, lane);
	}
	spin_unlock(&lane->lock);
	spin_unlock_bh(&gate->lock);
	return begun;
}

/* Undo the link.  The gate's `sending` has nothing of the lane. */
static void carry_end(struct rds_txq *gate, struct rds_txq *lane)
{
	struct rds_txq **link = &gate->carried;

	lockdep_assert_held(&gate->lock);
	lockdep_assert_held(&lane->lock);
	while (*link != lane)
		link = &(*link)->next_carried;
	*link = lane->next_carried;
	lane->next_carried = NULL;
	if (gate->from == lane)
		gate->from = NULL;
	WRITE_ONCE(lane->carrier, NULL);
	lane->returning = false;
	lane->tagged = true;
	lane->asked = 0;
	if (!lane->path->index)
		gate->due &= ~RDS_DUE_MAP;
	carry_map_due(lane, lane);
}

bool rds_carry_forsake(struct rds_txq *gate)
{
	struct rds_txq *lane;
	LIST_HEAD(done);
	bool moves;

	rcu_read_lock();
	spin_lock_bh(&gate->lock);
	moves = gate->moves;
	if (moves && !gate->carrier)
		rds_txq_take_back(gate, gate, &done);
	/* The gate does not send the lane now that has another one. */
	WRITE_ONCE(gate->returning, false);
	while ((lane = gate->carried)) {
		lane_lock(gate, lane);
		rds_txq_take_back(gate, lane, &done);
		carry_end(gate, lane);
		lane_unlock(gate, lane);
	}
	gate->moves = false;
	spin_unlock_bh(&gate->lock);
	rds_txq_release(&done);
	rcu_read_unlock();
	return moves;
}

bool rds_carry_is_away(struct rds_txq *lane)
{
	return READ_ONCE(lane->carrier);
}

/* Has the carrier messages of the lane that are not acknowledged? */
static bool carry_is_busy(const struct rds_txq *lane)
{
	lockdep_assert_held(&lane->lock);
	return lane->away || !list_empty(&lane->inflight) ||
	       !list_empty(&lane->kept);
}

/*
 * May the carrier's last map still be under way?  A later map of the own gate
 * could overtake it.
 */
static bool carry_has_map(const struct rds_txq *gate,
			  const struct rds_txq *lane)
{
	lockdep_assert_held(&gate->lock);
	return !lane->path->index && gate->una < gate->map_pos;
}

void rds_carry_look(struct rds_txq *lane)
{
	if (lane->returning && !carry_is_busy(lane))
		lane->ops->at_fence(lane->path);
}

void rds_carry_map_acked(struct rds_txq *gate)
{
	struct rds_txq *lane;

	lockdep_assert_held(&gate->lock);
	for (lane = gate->carried; lane; lane = lane->next_carried) {
		if (lane->path->index || gate->una < gate->map_pos)
			continue;
		lane_lock(gate, lane);
		rds_carry_look(lane);
		lane_unlock(gate, lane);
	}
}

bool rds_carry_return(struct rds_txq *lane)
{
	struct rds_txq *gate = rds_carry_lock(lane);
	bool back = false;

	if (gate != lane && lane->open && lane->rule == RDS_TXQ_BY_NUMBER &&
	    !lane->held) {
		WRITE_ONCE(lane->returning, true);
		back = !carry_is_busy(lane) && !carry_has_map(gate, lane);
		if (back)
			carry_end(gate, lane);
	}
	rds_carry_unlock(gate, lane);
	return back;
}

/* Has the lane something that the gate may send? */
static bool carry_has_work(struct rds_txq *gate, struct rds_txq *lane)
{
	bool work;

	lane_lock(gate, lane);
	work = !list_empty(&lane->queue) && !lane->fenced;
	if (lane == gate)
		work = work && !lane->carrier && !lane->held;
	else
		work = work && !lane->returning;
	lane_unlock(gate, lane);
	return work;
}

/* The lanes of a gate take turns, its own among them. */
static struct rds_txq *carry_after(struct rds_txq *gate, struct rds_txq *lane)
{
	return (lane == gate ? gate->carried : lane->next_carried) ?: gate;
}

static struct rds_txq *carry_next(struct rds_txq *gate)
{
	struct rds_txq *last = gate->from ?: gate, *lane = last;

	do {
		lane = carry_after(gate, lane);
		if (carry_has_work(gate, lane))
			return lane;
	} while (lane != last);
	return NULL;
}

/*
 * Let the header name the lane if @tag is set, and else not.  A header that a
 * transport may still read is not changed: the message gets another one.
 */
static void carry_mark(struct rds_txq *lane, struct rds_message *m, bool tag)
{
	u8 *area = m->tx.hdr->exthdr;

	if (rds_lane_is_tagged(area) == tag || m->flags & RDS_MSG_AGAIN)
		return;
	if (m->flags & RDS_MSG_STARTED) {
		m->flags |= RDS_MSG_AGAIN;
		lane->nr_again++;
	} else if (tag) {
		rds_lane_tag(area, lane->path->index);
	} else {
		rds_lane_untag(area);
	}
}

/*
 * A handshake is about the connection that it was made for, and its header has
 * no room for a lane.
 */
static bool carry_is_handshake(const struct rds_message *m)
{
	const u8 *area = m->tx.hdr->exthdr;

	return m->flags & RDS_MSG_PROBE && area[0] != RDS_EXT_NONE &&
	       !rds_lane_is_tagged(area);
}

static void carry_drop(struct rds_txq *lane, struct rds_message *m)
{
	LIST_HEAD(done);

	rds_txq_unlink(lane, m, &done);
	list_del(&m->tx.list);
	rds_message_free(m);
}

/* Move the first messages of the lane to the gate, at most @left. */
static void carry_take(struct rds_txq *gate, struct rds_txq *lane,
		       unsigned int left)
{
	struct rds_message *m, *next;
	bool tag = lane != gate;

	list_for_each_entry_safe(m, next, &lane->queue, tx.list) {
		if (!left--)
			break;
		if (tag && carry_is_handshake(m)) {
			carry_drop(lane, m);
			continue;
		}
		carry_mark(lane, m, tag);
		lane->away += tag;
		lane->taken_seq = max(lane->taken_seq, m->seq);
		list_move_tail(&m->tx.list, &gate->sending);
	}
	if (list_empty(&lane->queue) && !tag)
		lane->tagged = false;
}

/* A batch begins. */
static void carry_stamp(struct rds_txq *gate, struct rds_txq *lane)
{
	gate->batch.cur = list_first_entry(&gate->sending, struct rds_tx_msg,
					   list);
	if (lane != gate)
		rds_txq_ask(lane, rds_txq_msg(gate->sending.prev));
	else if (gate->acks)
		rds_txq_stamp(gate, &gate->sending);
}

void rds_carry_refill(struct rds_txq *gate, u64 most)
{
	struct rds_txq *lane;

	lockdep_assert_held(&gate->lock);
	/*
	 * `sending` has messages of one lane at a time; no more than the limit
	 * of probes may be dropped.
	 */
	while (list_empty(&gate->sending) && (lane = carry_next(gate))) {
		lane_lock(gate, lane);
		gate->from = lane == gate ? NULL : lane;
		carry_take(gate, lane, min_t(u64, most, CARRY_AT_ONCE));
		if (!list_empty(&gate->sending))
			carry_stamp(gate, lane);
		lane_unlock(gate, lane);
	}
}
