// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the engine of a stream posts next, and what a completion gives back.
 * Kernel-free: the unit test compiles it in user space.
 *
 * The order of decisions: receives, so that a message of the peer finds one;
 * announcements, as the peer may be waiting for one; data; the end; signs of
 * life.  Messages without credit have work requests of their own, so data
 * cannot keep them from being sent, nor the other way round.
 */
#include "decide.h"

/* On iWARP a message is a work request of its own. */
static u16 wrs_of(const struct rds_ss_engine *e, bool payload)
{
	return e->conf.iwarp && payload ? 2 : 1;
}

/* Work requests that data may use */
static u16 data_wrs(const struct rds_ss_engine *e)
{
	return e->conf.sq - RDS_SS_CONTROLS * wrs_of(e, true);
}

static bool has_wrs(const struct rds_ss_engine *e)
{
	return e->wrs + wrs_of(e, true) <= data_wrs(e);
}

/* Whether what is queued is worth a message. */
static bool is_worth(const struct rds_ss_engine *e)
{
	if (e->queued >= RDS_SS_RUSH)
		return true;
	if (e->cork && !rds_ss_flushes(e->state))
		return false;
	return e->data < e->depth;
}

static bool data_due(const struct rds_ss_engine *e)
{
	return e->queued && rds_ss_may_send(e->state) && !e->silent &&
	       is_worth(e) && has_wrs(e) && rds_ss_target_room(&e->target) &&
	       rds_ss_flow_may_send(&e->flow);
}

static bool may_control(const struct rds_ss_engine *e)
{
	return !e->silent && e->controls < RDS_SS_CONTROLS &&
	       rds_ss_may_tell(e->state);
}

/* A peer that sends no more needs neither memory nor credits. */
static bool announce_due(const struct rds_ss_engine *e)
{
	return !e->peer_done && may_control(e) &&
	       (rds_ss_halves_due(&e->halves) || rds_ss_flow_due(&e->flow));
}

static bool end_due(const struct rds_ss_engine *e)
{
	return rds_ss_flushes(e->state) && !e->queued && may_control(e);
}

/* Enter a message under way. */
static void enter(struct rds_ss_engine *e, struct rds_ss_post *p, bool control)
{
	struct rds_ss_sent *s;

	p->slot = e->head % RDS_SS_SQ_MAX;
	e->head++;
	s = &e->sent[p->slot];
	s->control = control;
	s->bytes = control ? 0 : p->bytes;
	s->wrs = control ? 0 : wrs_of(e, true);
	e->wrs += s->wrs;
	e->data += !control;
	e->controls += control;
}

/*
 * A completion costs an interrupt, so data within a burst share one.  It is the
 * last of the burst that is signalled, as nothing behind it would say that it
 * is completed.  (siw reads from the pages of a work request that is not
 * signalled after its completion.)
 */
static bool signals(struct rds_ss_engine *e, u32 bytes)
{
	e->plain++;
	e->plain_bytes += bytes;
	if (!e->conf.iwarp && data_due(e) && e->plain < RDS_SS_PLAIN_MAX &&
	    e->plain_bytes < RDS_SS_PLAIN_BYTES &&
	    data_wrs(e) - e->wrs >= RDS_SS_SQ_LOW)
		return false;
	e->plain = 0;
	e->plain_bytes = 0;
	return true;
}

static void decide_data(struct rds_ss_engine *e, u32 most,
			struct rds_ss_post *p)
{
	u32 bytes = rds_ss_min(e->queued, rds_ss_target_room(&e->target));
	struct rds_ss_segment place;

	bytes = rds_ss_min(bytes, rds_ss_min(most, e->conf.max_msg));
	place = rds_ss_target_use(&e->target, bytes);
	p->msg = rds_ss_msg(RDS_SS_OP_DATA, bytes);
	p->bytes = bytes;
	p->addr = place.addr;
	p->key = place.key;
	e->queued -= bytes;
	rds_ss_flow_send(&e->flow);
	enter(e, p, false);
	p->signalled = signals(e, bytes);
}

static void decide_announce(struct rds_ss_engine *e, struct rds_ss_post *p)
{
	struct rds_ss_segment seg;
	u8 entry;

	p->msg = rds_ss_msg(RDS_SS_OP_CREDIT, rds_ss_flow_tell(&e->flow));
	if (rds_ss_halves_due(&e->halves)) {
		seg = rds_ss_halves_publish(&e->halves, &entry, &p->freed);
		rds_ss_entry_put(p->entry, &seg, e->swap);
		p->bytes = RDS_SS_ENTRY_BYTES;
		p->addr = e->peer_table.addr + entry * RDS_SS_ENTRY_BYTES;
		p->key = e->peer_table.key;
	}
	enter(e, p, true);
}

static void decide_end(struct rds_ss_engine *e, struct rds_ss_post *p)
{
	bool shut = e->state == RDS_SS_SHUTTING;

	p->msg = rds_ss_msg(RDS_SS_OP_CONTROL, shut ? RDS_SS_SHUT : RDS_SS_BYE);
	enter(e, p, true);
	rds_ss_on(e, RDS_SS_EV_FLUSHED);
}

static void decide_beat(struct rds_ss_engine *e, struct rds_ss_post *p)
{
	e->beat = false;
	enter(e, p, true);
}

/* What is due first; -1: nothing.  @most: as for rds_ss_decide() */
static int first_due(const struct rds_ss_engine *e, u32 most)
{
	if (!rds_ss_listens(e->state))
		return -1;
	if (rds_ss_flow_wants_refill(&e->flow))
		return RDS_SS_RECEIVES;
	if (announce_due(e))
		return RDS_SS_ANNOUNCE;
	if (data_due(e) && most)
		return RDS_SS_DATA;
	if (end_due(e))
		return RDS_SS_END;
	return e->beat && may_control(e) ? RDS_SS_BEAT : -1;
}

bool rds_ss_due(const struct rds_ss_engine *e)
{
	return first_due(e, 1) >= 0;
}

bool rds_ss_decide(struct rds_ss_engine *e, u32 most, struct rds_ss_post *p)
{
	int what = first_due(e, most);

	if (what < 0)
		return false;
	memset(p, 0, sizeof(*p));
	p->freed = RDS_SS_NO_MEM;
	p->signalled = true;
	p->what = what;
	if (what == RDS_SS_RECEIVES)
		p->count = rds_ss_flow_refill(&e->flow);
	else if (what == RDS_SS_ANNOUNCE)
		decide_announce(e, p);
	else if (what == RDS_SS_DATA)
		decide_data(e, most, p);
	else if (what == RDS_SS_END)
		decide_end(e, p);
	else
		decide_beat(e, p);
	return true;
}

u32 rds_ss_complete(struct rds_ss_engine *e, u16 slot)
{
	u16 n = (u16)(slot - e->tail) % RDS_SS_SQ_MAX;
	u32 bytes = 0;

	if (slot >= RDS_SS_SQ_MAX || n >= (u16)(e->head - e->tail))
		return 0;
	do {
		const struct rds_ss_sent *s;

		s = &e->sent[e->tail % RDS_SS_SQ_MAX];
		e->tail++;
		bytes += s->bytes;
		e->wrs -= s->wrs;
		e->data -= !s->control;
		e->controls -= s->control;
	} while (n--);
	if (e->state == RDS_SS_ENDING && !rds_ss_flies(e))
		rds_ss_on(e, RDS_SS_EV_DRAINED);
	return bytes;
}
