// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An end of the simulator that behaves as librdmacm does, from what
 * Documentation/stream.rst says of it.  It looks at messages and completions only
 * when its program calls it.  Its memory is one ring of two halves of fixed size.
 * A message counts as consumed when it was read.  Each update of an iomap table
 * takes a credit, and none that comes is given back.
 */
#include <stdlib.h>

#include "sim.h"

#define CTRL	4	/* work requests for messages without credit */

static u32 order32(const struct sim_end *e, u32 v)
{
	return e->big_endian ? __builtin_bswap32(v) : v;
}

static u64 order64(const struct sim_end *e, u64 v)
{
	return e->big_endian ? __builtin_bswap64(v) : v;
}

static void init(struct sim_end *e)
{
	static const u32 halves[] = { 1024, 2048, 65536, 65536 };
	static const u16 queues[] = { 16, 17, 64, 384 };
	struct sim *s = e->sim;
	struct sim_region *table = sim_region_add(e, 32), *ring;

	e->half = halves[sim_random(s, 4)];
	e->rq = queues[sim_random(s, 4)];
	e->sq = queues[sim_random(s, 4)];
	ring = sim_region_add(e, 2 * e->half);
	e->ring = ring->mem;
	e->targets = (u64 *)table->mem;
	e->big_endian = !sim_random(s, 4);
	e->hello = (struct rds_ss_hello){
		.big_endian = e->big_endian != rds_ss_big_endian(), .credits = e->rq,
		.table = { table->addr, table->key, 2 },
		.first = { ring->addr, ring->key, e->half },
	};
	e->receives = e->rq;
	e->announced = e->rq;
	sim_publish(e, &e->hello.first);
	e->unpublished = e->half;
	e->free_off = e->half;
	e->rdue = e->rq / 2;
	e->xfer = 2048;
}

static void end_free(struct sim_end *e)
{
	(void)e;
}

/* Credits and SQ: a message, with or without payload */
static struct sim_op *message(struct sim_end *e, u32 msg, u32 bytes, u64 addr, u32 key)
{
	struct sim_op *op = sim_post(e), *first = op;

	op->addr = addr;
	op->key = key;
	op->bytes = bytes;
	op->signalled = true;
	if (bytes && e->sim->iwarp) {
		op = sim_post(e);
		op->signalled = true;
	}
	op->message = true;
	if (e->sim->iwarp)
		msg = order32(e, msg);
	memcpy(op->word, &msg, sizeof(msg));
	return first;
}

static void mark_control(struct sim_end *e, u32 wrs)
{
	u32 i;

	for (i = 1; i <= wrs; i++)
		e->ops[(e->head - i) % SIM_OPS].control = true;
	e->ctrl_used += wrs;
	e->sim->controls++;
}

static u32 control_wrs(const struct sim_end *e)
{
	return e->sim->iwarp ? 2 : 1;
}

/* Announce a half that is free, or that many messages were consumed. */
static void update(struct sim_end *e)
{
	struct sim_region *ring = &e->regions[1];
	struct rds_ss_segment seg;
	u16 limit = e->rseq + e->rq;
	struct sim_op *op;
	u32 entry;

	if (CTRL - e->ctrl_used < control_wrs(e) || e->said_bye)
		return;
	if (e->unpublished >= e->half) {
		entry = e->free_off / e->half;
		seg = (struct rds_ss_segment){ ring->addr + e->free_off, ring->key, e->half };
		op = message(e, 4u << 29 | limit, 16,
			     e->peer->hello.table.addr + entry * 16, e->peer->hello.table.key);
		memcpy(op->entry, &seg, sizeof(seg));
		mark_control(e, control_wrs(e));
		e->free_off ^= e->half;
		e->unpublished -= e->half;
		sim_publish(e, &seg);
	} else if ((int16_t)(e->rseq - e->rdue) >= 0) {
		message(e, 4u << 29 | limit, 0, 0, 0);
		mark_control(e, 1);
	} else {
		return;
	}
	e->rdue = e->rseq + e->rq / 2;
	sim_announce(e, limit);
}

static void up(struct sim_end *e)
{
	e->slimit = e->peer->hello.credits;
	e->targets[0] = order64(e, e->peer->hello.first.addr);
	e->targets[1] = (u64)order32(e, e->peer->hello.first.bytes) << 32 |
			order32(e, e->peer->hello.first.key);
	/*
	 * The end that was dialled breaks a rule of iWARP here, which would end
	 * the connection: let it wait.
	 */
	if (!e->sim->iwarp || e->active)
		update(e);
}

static void take(struct sim_end *e, const struct sim_msg *m)
{
	u32 msg;

	memcpy(&msg, m->word, sizeof(msg));
	/* Of a sender with another order librdmacm takes no notice on iWARP; the model does. */
	switch (msg >> 29) {
	case 0:
		if (e->len_head - e->len_tail >= e->rq)
			sim_fail(e->sim, "more messages than librdmacm has places for");
		e->lens[e->len_head++ % 4096] = msg;
		e->in_bytes += msg;
		break;
	case 4:
		e->slimit = msg;
		break;
	case 7:
		e->saw_end |= !(msg & 0x1fffffff) || (msg & 0x1fffffff) == 2;
		break;
	case 1:
	case 3:
	case 5:
		sim_fail(e->sim, "message %08x, which librdmacm takes for data",
			 (unsigned int)msg);
	}
}

/* Look at what the device has, as each call of the program does. */
static bool poll(struct sim_end *e)
{
	struct sim_op *op;
	struct sim_msg m;
	bool some = false;

	while ((op = sim_completed(e))) {
		some = true;
		if (op->control)
			e->ctrl_used--;
		else
			e->sq_used--;
		if (op->data)
			sim_freed(e, op->bytes);
	}
	while (sim_received(e, &m)) {
		some = true;
		e->receives++;
		take(e, &m);
		if (!e->heard && e->sim->iwarp && !e->active)
			update(e);
		e->heard = true;
	}
	return some;
}

static u32 room(const struct sim_end *e)
{
	return order32(e, e->targets[e->target * 2 + 1] >> 32);
}

static bool may_send(const struct sim_end *e)
{
	return e->sseq != e->slimit && e->sq_used + control_wrs(e) <= e->sq - CTRL &&
	       (e->heard || e->active || !e->sim->iwarp) && !e->said_end;
}

/* The entry is lowered before the write is posted: the peer may refill it at once. */
static void send_data(struct sim_end *e, u32 bytes)
{
	u64 addr = order64(e, e->targets[e->target * 2]);
	u32 key = order32(e, (u32)e->targets[e->target * 2 + 1]), left = room(e) - bytes;
	bool ahead = !e->sim->iwarp && !sim_random(e->sim, 8);
	struct sim_op *op;

	e->targets[e->target * 2] = order64(e, addr + bytes);
	e->targets[e->target * 2 + 1] = (u64)order32(e, left) << 32 | order32(e, key);
	if (!left)
		e->target ^= 1;
	/* Some write the bytes first, and then a message without any. */
	op = message(e, bytes, bytes, addr, key);
	if (ahead) {
		op->message = false;
		message(e, bytes, 0, 0, 0);
		e->sq_used++;
	}
	op->data = true;
	op->from = e->tx_post;
	e->tx_post += bytes;
	e->sq_used += control_wrs(e);
	e->sseq++;
	sim_credit(e);
	e->sim->bytes += bytes;
}

static bool push(struct sim_end *e)
{
	bool some = false;

	while (e->tx_post < e->tx_put && may_send(e) && room(e)) {
		u32 bytes = rds_ss_min(e->tx_put - e->tx_post, rds_ss_min(room(e), e->xfer));

		send_data(e, bytes);
		e->xfer = e->xfer < 65536 ? e->xfer * 2 : e->xfer;
		some = true;
	}
	return some;
}

static bool end_write(struct sim_end *e, u32 bytes)
{
	bool some = poll(e);

	if (e->shut || (e->saw_end && e->said_end))
		return some;
	e->xfer = 2048;
	bytes = sim_write(e, bytes);
	return push(e) || bytes || some;
}

static bool end_read(struct sim_end *e, u32 bytes)
{
	bool some = poll(e);

	bytes = bytes < e->in_bytes ? bytes : e->in_bytes;
	bytes = bytes < 2 * e->half - e->in_off ? bytes : 2 * e->half - e->in_off;
	if (!sim_same(e->ring + e->in_off, e->peer->nr, e->rx_pos, bytes))
		sim_fail(e->sim, "end %u reads other bytes at %llu", e->nr,
			 (unsigned long long)e->rx_pos);
	e->rx_pos += bytes;
	e->in_bytes -= bytes;
	e->in_off = (e->in_off + bytes) % (2 * e->half);
	e->unpublished += bytes;
	for (e->len_read += bytes; e->len_tail != e->len_head &&
	     e->len_read >= e->lens[e->len_tail % 4096]; e->rseq++)
		e->len_read -= e->lens[e->len_tail++ % 4096];
	if (e->heard || e->active || !e->sim->iwarp)
		update(e);
	return push(e) || bytes || some;
}

/* Its program does not call: nothing happens. */
static bool end_receive(struct sim_end *e)
{
	return !sim_random(e->sim, 8) && poll(e);
}

static bool end_complete(struct sim_end *e)
{
	return !sim_random(e->sim, 8) && poll(e);
}

/* An update of our iomap table, if our end says that it has one */
static bool other(struct sim_end *e, bool calm)
{
	u32 index = sim_random(e->sim, SIM_IOMAP);
	struct sim_op *op;

	if (calm || !may_send(e) || !e->peer->hello.iomap || sim_random(e->sim, 4))
		return false;
	op = message(e, 6u << 29 | index, RDS_SS_IOMAP_BYTES,
		     e->peer->hello.table.addr + 32 + index * RDS_SS_IOMAP_BYTES,
		     e->peer->hello.table.key);
	memset(op->entry, 0x42, sizeof(op->entry));
	e->sq_used += control_wrs(e);
	e->sseq++;
	sim_credit(e);
	return true;
}

static void say(struct sim_end *e, u32 code)
{
	if (e->said_end || !e->open || (e->sim->iwarp && !e->active && !e->heard))
		return;
	message(e, 7u << 29 | code, 0, 0, 0);
	mark_control(e, 1);
	e->said_end = true;
	e->said_bye = !code;
}

/* The program has sent all: librdmacm's shutdown() waits for nothing else. */
static void end_shut(struct sim_end *e)
{
	poll(e);
	push(e);
	if (e->tx_post != e->tx_put)
		return;
	e->shut = true;
	say(e, e->saw_end ? 0 : 2);
}

static void end_close(struct sim_end *e)
{
	poll(e);
	e->shut = true;
	say(e, 0);
}

static void check(struct sim_end *e)
{
	if (e->ctrl_used > CTRL + 2)
		sim_fail(e->sim, "the model of librdmacm has lost count");
}

const struct sim_end_ops sim_rsocket_ops = {
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
	.check		= check,
};
