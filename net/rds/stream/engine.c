// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine of a stream: its begin, what comes, and its end.  decide.c has
 * what goes out.  Kernel-free: the unit test compiles it in user space.
 */
#include "engine.h"

static bool conf_ok(const struct rds_ss_config *c)
{
	return c->rq && c->rq <= RDS_SS_RQ_MAX && c->sq >= RDS_SS_SQ_MIN &&
	       c->sq <= RDS_SS_SQ_MAX && c->max_msg &&
	       c->max_msg <= RDS_SS_VALUE_MASK && c->table && c->early &&
	       rds_ss_segment_ok(&c->half[0].seg) &&
	       rds_ss_segment_ok(&c->half[1].seg);
}

bool rds_ss_init(struct rds_ss_engine *e, const struct rds_ss_config *conf)
{
	memset(e, 0, sizeof(*e));
	if (!conf_ok(conf))
		return false;
	e->conf = *conf;
	e->depth = RDS_SS_DEPTH;
	/*
	 * TCP below iWARP changes over with the first message of the end that
	 * has dialled; before that the other end must not send.
	 */
	e->silent = conf->iwarp && !conf->active;
	rds_ss_flow_init(&e->flow, conf->rq);
	rds_ss_target_init(&e->target, conf->table);
	rds_ss_halves_init(&e->halves, conf->half, conf->max_half);
	return true;
}

void rds_ss_hello(const struct rds_ss_engine *e, struct rds_ss_hello *h)
{
	memset(h, 0, sizeof(*h));
	h->ours = true;
	h->big_endian = rds_ss_big_endian();
	h->credits = e->conf.rq;
	h->iomap = e->conf.iomap;
	h->table = e->conf.table_seg;
	h->table.bytes = RDS_SS_ENTRIES;
	h->first = e->conf.half[0].seg;
}

static bool over(enum rds_ss_state s)
{
	return s >= RDS_SS_LEFT;
}

static void read_all(struct rds_ss_engine *e)
{
	rds_ss_halves_read(&e->halves, rds_ss_halves_unread(&e->halves));
}

/* Nothing may be under way when the stream has all sent. */
static void settle(struct rds_ss_engine *e)
{
	if (e->state == RDS_SS_ENDING && !rds_ss_flies(e))
		e->state = rds_ss_next_state(e->state, RDS_SS_EV_DRAINED);
}

bool rds_ss_on(struct rds_ss_engine *e, enum rds_ss_event event)
{
	int next = rds_ss_next_state(e->state, event);

	if (next < 0)
		return false;
	e->state = next;
	if (event == RDS_SS_EV_PEER_SHUT || event == RDS_SS_EV_PEER_BYE ||
	    event == RDS_SS_EV_HANGUP)
		e->peer_done = true;
	/* Unread bytes would hold up a peer that sends on. */
	if (event == RDS_SS_EV_SHUT_RD || event == RDS_SS_EV_CLOSE) {
		e->discard = true;
		read_all(e);
	}
	if (event == RDS_SS_EV_PEER_BYE || over(e->state))
		e->queued = 0;
	settle(e);
	return true;
}

/* Messages with credit from librdmacm: data, and updates of the iomap table. */
static enum rds_ss_why take_data(struct rds_ss_engine *e, u32 bytes,
				 u32 payload, struct rds_ss_news *news)
{
	if (!bytes)
		return RDS_SS_WHY_EMPTY;
	/* Large data may be written ahead of their message. */
	if (payload != RDS_SS_UNKNOWN && payload > bytes)
		return RDS_SS_WHY_PAYLOAD;
	if (e->peer_done)
		return RDS_SS_WHY_AFTER_END;
	if (!rds_ss_flow_take(&e->flow))
		return RDS_SS_WHY_FLOOD;
	if (!rds_ss_halves_arrive(&e->halves, bytes))
		return RDS_SS_WHY_OVERRUN;
	if (e->discard)
		read_all(e);
	else
		news->bytes = bytes;
	return RDS_SS_FINE;
}

/* InfiniBand says whether an entry came along, iWARP does not. */
static enum rds_ss_why take_credit(struct rds_ss_engine *e, u16 limit,
				   u32 payload)
{
	if (!rds_ss_flow_raise(&e->flow, limit))
		return RDS_SS_WHY_LIMIT;
	if (!payload)
		return RDS_SS_FINE;
	if (payload != RDS_SS_ENTRY_BYTES && payload != RDS_SS_UNKNOWN)
		return RDS_SS_WHY_PAYLOAD;
	return rds_ss_target_look(&e->target, payload != RDS_SS_UNKNOWN);
}

/*
 * librdmacm takes one of its credits for an update and does not give it back at
 * the other end, so this end does.  Peers of this kind take none.
 */
static enum rds_ss_why take_iomap(struct rds_ss_engine *e, u16 index,
				  struct rds_ss_news *news)
{
	if (index >= e->conf.iomap)
		return RDS_SS_WHY_INDEX;
	if (!e->ours && !rds_ss_flow_take(&e->flow))
		return RDS_SS_WHY_FLOOD;
	news->iomap = true;
	news->index = index;
	return RDS_SS_FINE;
}

/* Codes that are not known are for extensions that were not agreed on. */
static void take_control(struct rds_ss_engine *e, u32 code,
			 struct rds_ss_news *news)
{
	if (code == RDS_SS_BYE)
		news->end = rds_ss_on(e, RDS_SS_EV_PEER_BYE);
	else if (code == RDS_SS_SHUT)
		news->end = rds_ss_on(e, RDS_SS_EV_PEER_SHUT);
}

static enum rds_ss_why take(struct rds_ss_engine *e, u32 msg, u32 payload,
			    struct rds_ss_news *news)
{
	/* The device swaps the words that it carries itself. */
	if (e->conf.iwarp && e->swap)
		msg = __swab32(msg);
	switch (rds_ss_msg_op(msg)) {
	case RDS_SS_OP_DATA:
		return take_data(e, rds_ss_msg_value(msg), payload, news);
	case RDS_SS_OP_CREDIT:
		return take_credit(e, rds_ss_msg_limit(msg), payload);
	case RDS_SS_OP_IOMAP:
		return take_iomap(e, rds_ss_msg_index(msg), news);
	case RDS_SS_OP_CONTROL:
		take_control(e, rds_ss_msg_value(msg), news);
		return RDS_SS_FINE;
	case RDS_SS_OP_DIRECT:
		return RDS_SS_FINE;
	}
	return RDS_SS_WHY_OPCODE;
}

/* The answer of the connection manager comes in another context. */
static enum rds_ss_why keep_early(struct rds_ss_engine *e, u32 msg, u32 payload)
{
	if (e->nr_early == rds_ss_early_max(e->conf.rq))
		return RDS_SS_WHY_FLOOD;
	e->conf.early[e->nr_early++] = (struct rds_ss_early){ msg, payload };
	return RDS_SS_FINE;
}

enum rds_ss_why rds_ss_receive(struct rds_ss_engine *e, u32 msg, u32 payload,
			       struct rds_ss_news *news)
{
	enum rds_ss_why why;

	memset(news, 0, sizeof(*news));
	if (e->state == RDS_SS_CONNECTING) {
		why = keep_early(e, msg, payload);
	} else if (rds_ss_listens(e->state)) {
		e->silent = false;
		rds_ss_flow_used(&e->flow);
		why = take(e, msg, payload, news);
	} else {
		return RDS_SS_FINE;
	}
	if (why)
		rds_ss_on(e, RDS_SS_EV_FAIL);
	return why;
}

static enum rds_ss_why take_early(struct rds_ss_engine *e,
				  struct rds_ss_news *all)
{
	enum rds_ss_why why = RDS_SS_FINE;
	struct rds_ss_news news;
	u16 i;

	for (i = 0; i < e->nr_early && !why; i++) {
		why = rds_ss_receive(e, e->conf.early[i].msg,
				     e->conf.early[i].payload, &news);
		all->bytes += news.bytes;
		all->end |= news.end;
		all->iomap |= news.iomap;
	}
	return why;
}

enum rds_ss_why rds_ss_open(struct rds_ss_engine *e,
			    const struct rds_ss_hello *peer,
			    struct rds_ss_news *news)
{
	memset(news, 0, sizeof(*news));
	if (!rds_ss_on(e, RDS_SS_EV_OPEN))
		return RDS_SS_FINE;
	e->ours = peer->ours;
	e->swap = peer->big_endian != rds_ss_big_endian();
	e->peer_table = peer->table;
	rds_ss_flow_open(&e->flow, peer->credits, e->conf.iwarp && !e->ours);
	rds_ss_target_open(&e->target, &peer->first);
	return take_early(e, news);
}

struct rds_ss_span rds_ss_span(const struct rds_ss_engine *e, u32 skip)
{
	if (e->discard || !rds_ss_may_read(e->state))
		return (struct rds_ss_span){ 0 };
	return rds_ss_halves_span(&e->halves, skip);
}

void rds_ss_read(struct rds_ss_engine *e, u32 bytes)
{
	if (!e->discard)
		rds_ss_halves_read(&e->halves, bytes);
}

/* Memory for data that do not come, or are not read, need not be large. */
u32 rds_ss_grow(struct rds_ss_engine *e)
{
	if (e->discard || e->peer_done)
		return 0;
	return rds_ss_halves_ask(&e->halves);
}

bool rds_ss_append(struct rds_ss_engine *e, u32 bytes)
{
	if (!rds_ss_may_queue(e->state) ||
	    bytes > RDS_SS_MAX_SEGMENT - e->queued)
		return false;
	e->queued += bytes;
	return true;
}

void rds_ss_drop(struct rds_ss_engine *e)
{
	e->queued = 0;
}

void rds_ss_tune(struct rds_ss_engine *e, bool nodelay, bool cork)
{
	e->depth = nodelay ? RDS_SS_DEPTH_NODELAY : RDS_SS_DEPTH;
	e->cork = cork;
}

void rds_ss_keepalive(struct rds_ss_engine *e)
{
	e->beat = true;
}
