// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An end of the simulator that is the engine.  It asks the engine for decisions
 * only where engine.h says that a user must, so a decision that is due at
 * another moment is never made, and the stream stops.
 */
#include <stdlib.h>

#include "sim.h"

static struct rds_ss_mem new_half(struct sim_end *e, u32 bytes)
{
	struct sim_region *r = sim_region_add(e, bytes);

	return (struct rds_ss_mem){ { r->addr, r->key, bytes }, r - e->regions };
}

static void init(struct sim_end *e)
{
	static const u32 halves[] = { 512, 2048, 8192, 8192, 32768 };
	static const u16 queues[] = { 4, 16, 64, 64, 200 };
	static const u32 sizes[] = { 1000, 16384, 65536, 1 << 20 };
	struct sim *s = e->sim;
	struct sim_region *table = sim_region_add(e, 32 + SIM_IOMAP * RDS_SS_IOMAP_BYTES);
	struct rds_ss_config c = {
		.iwarp = s->iwarp, .active = e->active, .rq = queues[sim_random(s, 5)],
		.sq = RDS_SS_SQ_MIN + sim_random(s, RDS_SS_SQ_MAX - RDS_SS_SQ_MIN + 1),
		.max_msg = sizes[sim_random(s, 4)], .iomap = SIM_IOMAP, .table = table->mem,
		.table_seg = { table->addr, table->key, 0 },
	};

	c.half[0] = new_half(e, halves[sim_random(s, 5)]);
	c.half[1] = new_half(e, c.half[0].seg.bytes);
	c.max_half = sim_random(s, 4) ? c.half[0].seg.bytes * 16 : c.half[0].seg.bytes;
	e->early = calloc(rds_ss_early_max(c.rq), sizeof(*e->early));
	c.early = e->early;
	if (!rds_ss_init(&e->e, &c))
		sim_fail(s, "the engine does not like its configuration");
	rds_ss_tune(&e->e, s->small || sim_random(s, 2), false);
	rds_ss_hello(&e->e, &e->hello);
	e->receives = rds_ss_flow_receives(&e->e.flow);
	sim_publish(e, &c.half[0].seg);
	e->announced = c.rq;
}

static void end_free(struct sim_end *e)
{
	free(e->early);
}

static void post_message(struct sim_op *op, const struct rds_ss_post *p)
{
	rds_ss_msg_put(op->word, p->msg);
	op->message = true;
	op->control = p->what != RDS_SS_DATA;
	op->last = true;
	op->slot = p->slot;
	op->signalled = p->signalled;
}

static void payload(struct sim_end *e, struct sim_op *op, const struct rds_ss_post *p)
{
	op->addr = p->addr;
	op->key = p->key;
	op->bytes = p->bytes;
	op->signalled = p->signalled;
	if (p->what != RDS_SS_DATA) {
		memcpy(op->entry, p->entry, sizeof(p->entry));
		return;
	}
	op->data = true;
	op->from = e->tx_post;
	e->tx_post += p->bytes;
	e->sim->bytes += p->bytes;
}

/* What a user does with a decision: on iWARP payload and message are two work requests. */
static void post(struct sim_end *e, const struct rds_ss_post *p)
{
	struct sim_op *op;

	if (p->what == RDS_SS_RECEIVES) {
		e->receives += p->count;
		return;
	}
	if (p->what == RDS_SS_DATA)
		sim_credit(e);
	else
		e->sim->controls++;
	op = sim_post(e);
	if (p->bytes)
		payload(e, op, p);
	if (p->what == RDS_SS_BEAT) {
		op->last = true;
		op->slot = p->slot;
		op->signalled = true;
		return;
	}
	if (p->bytes && e->sim->iwarp)
		op = sim_post(e);
	post_message(op, p);
	e->said += op->control;
}

static void note(struct sim_end *e, const struct rds_ss_post *p)
{
	struct rds_ss_segment seg;

	if (p->what != RDS_SS_ANNOUNCE)
		return;
	sim_announce(e, p->msg & 0xffff);
	if (!p->bytes)
		return;
	memcpy(&seg, p->entry, sizeof(seg));
	if (e->peer->big_endian != e->big_endian) {
		seg.addr = __builtin_bswap64(seg.addr);
		seg.bytes = __builtin_bswap32(seg.bytes);
	}
	sim_publish(e, &seg);
	if (p->freed != RDS_SS_NO_MEM) {
		if (e->reading.bytes && e->reading.id == p->freed)
			sim_fail(e->sim, "memory is freed that a reader copies from");
		sim_region_kill(e, &e->regions[p->freed]);
		e->sim->grown++;
	}
}

static void pump(struct sim_end *e)
{
	struct rds_ss_post p;

	while (!e->sim->failed) {
		u32 queued = e->e.queued, most = queued;

		/* One work request covers a few of the program's pages. */
		if (queued > 1 && !sim_random(e->sim, 4))
			most = 1 + sim_random(e->sim, queued);
		if (!rds_ss_decide(&e->e, most, &p))
			break;
		note(e, &p);
		post(e, &p);
	}
}

static void up(struct sim_end *e)
{
	struct rds_ss_news news = { 0 };
	u8 buf[RDS_SS_HELLO_BYTES];
	struct rds_ss_hello h;
	enum rds_ss_why why;

	rds_ss_hello_put(buf, &e->peer->hello);
	why = rds_ss_hello_get(buf, sizeof(buf), &h);
	if (!why) {
		e->sim->early += e->e.nr_early;
		why = rds_ss_open(&e->e, &h, &news);
		e->saw_end |= news.end;
	}
	if (why)
		sim_fail(e->sim, "end %u does not come up: %s", e->nr, rds_ss_why_name(why));
	memset(e->early, 0xee, rds_ss_early_max(e->e.conf.rq) * sizeof(*e->early));
	pump(e);
}

static bool end_write(struct sim_end *e, u32 bytes)
{
	if (!rds_ss_may_queue(e->e.state))
		return false;
	bytes = sim_write(e, bytes);
	if (!bytes)
		return false;
	if (!rds_ss_append(&e->e, bytes))
		sim_fail(e->sim, "end %u cannot queue %u bytes", e->nr, (unsigned int)bytes);
	pump(e);
	return true;
}

/*
 * A reader finds bytes, copies them without the lock, and says that it has read
 * them: two steps, between which anything may happen.
 */
static bool end_read(struct sim_end *e, u32 bytes)
{
	struct rds_ss_span *r = &e->reading;

	if (!r->bytes) {
		*r = rds_ss_span(&e->e, 0);
		return r->bytes;
	}
	bytes = bytes < r->bytes ? bytes : r->bytes;
	if (!sim_same(e->regions[r->id].mem + r->off, e->peer->nr, e->rx_pos, bytes))
		sim_fail(e->sim, "end %u reads other bytes at %llu", e->nr,
			 (unsigned long long)e->rx_pos);
	e->rx_pos += bytes;
	r->bytes = 0;
	rds_ss_read(&e->e, bytes);
	pump(e);
	return true;
}

static bool end_receive(struct sim_end *e)
{
	struct rds_ss_news news;
	enum rds_ss_why why;
	struct sim_msg m;

	if (!sim_received(e, &m))
		return false;
	why = rds_ss_receive(&e->e, rds_ss_msg_get(m.word), m.payload, &news);
	if (why)
		sim_fail(e->sim, "end %u refuses a message: %s", e->nr, rds_ss_why_name(why));
	e->saw_end |= news.end;
	pump(e);
	return true;
}

static bool end_complete(struct sim_end *e)
{
	struct sim_op *op = sim_completed(e);

	if (!op)
		return false;
	if (op->last) {
		sim_freed(e, rds_ss_complete(&e->e, op->slot));
		pump(e);
	}
	return true;
}

/* The worker that makes memory, socket options, and signs of life */
static bool other(struct sim_end *e, bool calm)
{
	struct rds_ss_mem mem;

	if (calm) {
		if (!e->tune_cork)
			return false;
		e->tune_cork = false;
		rds_ss_tune(&e->e, false, false);
		pump(e);
		return true;
	}
	if (e->want && sim_random(e->sim, 4)) {
		mem = new_half(e, e->want);
		if (!rds_ss_halves_spare(&e->e.halves, &mem))
			sim_region_kill(e, &e->regions[mem.id]);
		e->want = 0;
	} else if (e->want) {
		rds_ss_halves_spare(&e->e.halves, NULL);
		e->want = 0;
	} else {
		e->want = rds_ss_grow(&e->e);
	}
	switch (sim_random(e->sim, 8)) {
	case 0:
		e->tune_cork = sim_random(e->sim, 2);
		rds_ss_tune(&e->e, sim_random(e->sim, 2), e->tune_cork);
		pump(e);
		break;
	case 1:
		rds_ss_keepalive(&e->e);
		pump(e);
	}
	return true;
}

static void end_shut(struct sim_end *e)
{
	if (!rds_ss_on(&e->e, RDS_SS_EV_SHUT_WR))
		return;
	e->shut = true;
	pump(e);
}

static void end_close(struct sim_end *e)
{
	e->reading.bytes = 0;
	e->shut = true;
	if (rds_ss_on(&e->e, RDS_SS_EV_CLOSE))
		pump(e);
}

static void deafen(struct sim_end *e)
{
	e->reading.bytes = 0;
	if (rds_ss_on(&e->e, RDS_SS_EV_SHUT_RD))
		pump(e);
}

/* What must hold after every step */
static void check(struct sim_end *e)
{
	const struct rds_ss_engine *g = &e->e;
	u32 need = e->announced - e->arrived, reserve = RDS_SS_CONTROLS * (e->sim->iwarp ? 2 : 1);

	if (g->controls > RDS_SS_CONTROLS || g->wrs > g->conf.sq - reserve)
		sim_fail(e->sim, "end %u has %u messages without credit and %u data requests", e->nr,
			 g->controls, g->wrs);
	if (e->receives < need)
		sim_fail(e->sim, "end %u has posted %u receives for %u credits", e->nr,
			 (unsigned int)e->receives, (unsigned int)need);
	if (e->open && e->receives - need < e->sim->least_slack)
		e->sim->least_slack = e->receives - need;
	/* flow.h says why there are no more */
	if (e->said - e->heard_of > 7)
		sim_fail(e->sim, "end %u has %u messages without credit before its peer", e->nr,
			 (unsigned int)(e->said - e->heard_of));
	if (e->rx_pos > e->peer->tx_put)
		sim_fail(e->sim, "end %u reads more than was written", e->nr);
	if (g->state == RDS_SS_RESET)
		sim_fail(e->sim, "end %u was reset", e->nr);
}

const struct sim_end_ops sim_ours_ops = {
	.init		= init,
	.free		= end_free,
	.up		= up,
	.write		= end_write,
	.read		= end_read,
	.receive	= end_receive,
	.complete	= end_complete,
	.other		= other,
	.shut		= end_shut,
	.close		= end_close,
	.deafen		= deafen,
	.check		= check,
};
