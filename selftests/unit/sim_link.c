// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The devices of the simulator, and what they find: writes outside of what is
 * published, messages without a receive, bytes that were given back too early.
 *
 * On RoCE a work request is completed when it is delivered, and a message that
 * finds no receive waits.  On iWARP a work request that is signalled is
 * completed when TCP has taken a copy, one that is not is read until it is
 * delivered, and a message that finds no receive ends the connection.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "sim.h"

#define PATTERN		65521	/* a prime: no two places look the same */

u8 sim_pattern[2 * PATTERN];

u32 sim_random(struct sim *s, u32 below)
{
	s->rng ^= s->rng << 13;
	s->rng ^= s->rng >> 7;
	s->rng ^= s->rng << 17;
	return (s->rng >> 20) % below;
}

void sim_fail(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (s->failed)
		return;
	s->failed = true;
	va_start(ap, fmt);
	vsnprintf(s->what, sizeof(s->what), fmt, ap);
	va_end(ap);
}

static u32 place(unsigned int dir, u64 pos)
{
	return (pos + dir * 977) % PATTERN;
}

void sim_fill(u8 *to, unsigned int dir, u64 pos, u32 bytes)
{
	while (bytes) {
		u32 n = bytes < PATTERN ? bytes : PATTERN;

		memcpy(to, sim_pattern + place(dir, pos), n);
		to += n;
		pos += n;
		bytes -= n;
	}
}

bool sim_same(const u8 *p, unsigned int dir, u64 pos, u32 bytes)
{
	while (bytes) {
		u32 n = bytes < PATTERN ? bytes : PATTERN;

		if (memcmp(p, sim_pattern + place(dir, pos), n))
			return false;
		p += n;
		pos += n;
		bytes -= n;
	}
	return true;
}

void sim_link_init(struct sim_end *e)
{
	u32 x = 1, i;

	for (i = 0; !sim_pattern[0] && i < PATTERN; i++) {
		x = x * 1664525 + 1013904223;
		sim_pattern[i] = (x >> 24) | !i;
		sim_pattern[i + PATTERN] = sim_pattern[i];
	}
	memset(e->tx, 0xdd, sizeof(e->tx));
}

void sim_link_free(struct sim_end *e)
{
	unsigned int i;

	for (i = 0; i < SIM_REGIONS; i++)
		free(e->regions[i].mem);
	for (; e->done != e->head; e->done++)
		free(e->ops[e->done % SIM_OPS].copy);
}

struct sim_region *sim_region_add(struct sim_end *e, u32 bytes)
{
	unsigned int i;

	for (i = 0; i < SIM_REGIONS; i++) {
		struct sim_region *r = &e->regions[i];

		if (r->mem)
			continue;
		r->mem = calloc(1, bytes);
		r->bytes = bytes;
		r->addr = ((u64)sim_random(e->sim, 1 << 30) + 1) << 12;
		r->key = (++e->next_region << 8) | i;
		r->live = true;
		return r;
	}
	abort();
}

/* The key ends, and the memory goes back to the kernel. */
void sim_region_kill(struct sim_end *e, struct sim_region *r)
{
	(void)e;
	free(r->mem);
	memset(r, 0, sizeof(*r));
}

struct sim_op *sim_post(struct sim_end *e)
{
	struct sim_op *op = &e->ops[e->head % SIM_OPS];

	if (e->head - e->done >= SIM_OPS || e->head - e->told >= SIM_OPS)
		sim_fail(e->sim, "end %u posts too much", e->nr);
	e->head++;
	memset(op, 0, sizeof(*op));
	return op;
}

/* @e publishes @seg to its peer. */
void sim_publish(struct sim_end *e, const struct rds_ss_segment *seg)
{
	struct sim_published *p = &e->published[e->pub_head % 4];

	if (e->pub_head - e->pub_tail >= 2)
		sim_fail(e->sim, "end %u publishes a third half", e->nr);
	e->pub_head++;
	p->addr = seg->addr;
	p->bytes = seg->bytes;
}

/* @e sends a message with credit. */
void sim_credit(struct sim_end *e)
{
	e->credited++;
	e->sim->messages++;
	e->sim->wraps += !(u16)e->credited;
	if ((s32)(e->peer->announced - e->credited) < 0)
		sim_fail(e->sim, "end %u sends %u messages, and the peer takes %u", e->nr,
			 (unsigned int)e->credited, (unsigned int)e->peer->announced);
}

void sim_announce(struct sim_end *e, u16 limit)
{
	e->announced += (u16)(limit - e->announced);
}

/* The program's memory for bytes that are given back has other contents. */
void sim_freed(struct sim_end *e, u64 bytes)
{
	if (e->tx_free + bytes > e->tx_post)
		sim_fail(e->sim, "end %u gives back bytes that it has not posted", e->nr);
	for (; bytes && !e->sim->failed; bytes--, e->tx_free++)
		e->tx[e->tx_free % SIM_TX_BYTES] = 0xdd;
}

u32 sim_write(struct sim_end *e, u32 bytes)
{
	u32 room = SIM_TX_BYTES - (e->tx_put - e->tx_free), n, at = e->tx_put % SIM_TX_BYTES;

	bytes = bytes < room ? bytes : room;
	n = bytes < SIM_TX_BYTES - at ? bytes : SIM_TX_BYTES - at;
	sim_fill(e->tx + at, e->nr, e->tx_put, n);
	sim_fill(e->tx, e->nr, e->tx_put + n, bytes - n);
	e->tx_put += bytes;
	return bytes;
}

static void copy_out(struct sim_end *e, const struct sim_op *op, u8 *to)
{
	u32 at = op->from % SIM_TX_BYTES, n = SIM_TX_BYTES - at;

	if (!op->data) {
		memcpy(to, op->entry, op->bytes);
		return;
	}
	n = op->bytes < n ? op->bytes : n;
	memcpy(to, e->tx + at, n);
	memcpy(to + n, e->tx, op->bytes - n);
}

/* TCP below iWARP takes a work request, up to the size of its buffer. */
bool sim_step_send(struct sim_end *e)
{
	struct sim_op *op = &e->ops[e->sent % SIM_OPS];

	if (!e->sim->iwarp || e->sent == e->head || e->sent - e->done >= SIM_OPS / 4)
		return false;
	if (op->bytes && op->signalled) {
		op->copy = malloc(op->bytes);
		copy_out(e, op, op->copy);
	}
	e->sent++;
	return true;
}

/* Data go to the place that is published next, and nowhere else. */
static void check_place(struct sim_end *to, const struct sim_op *op)
{
	struct sim_published *p = &to->published[to->pub_tail % 4];

	if (to->pub_tail == to->pub_head || op->addr != p->addr + to->pub_off ||
	    op->bytes > p->bytes - to->pub_off) {
		sim_fail(to->sim, "%u bytes beyond what end %u has published",
			 (unsigned int)op->bytes, to->nr);
		return;
	}
	to->pub_off += op->bytes;
	if (to->pub_off == p->bytes) {
		to->pub_tail++;
		to->pub_off = 0;
	}
}

static void put_bytes(struct sim_end *e, struct sim_end *to, struct sim_op *op)
{
	struct sim_region *r = &to->regions[(op->key & 0xff) % SIM_REGIONS];

	if (op->data)
		check_place(to, op);
	if (!r->live || r->key != op->key || op->addr < r->addr ||
	    op->addr + op->bytes > r->addr + r->bytes) {
		sim_fail(e->sim, "end %u writes %u bytes to memory without a key", e->nr,
			 (unsigned int)op->bytes);
		return;
	}
	if (op->copy)
		memcpy(r->mem + (op->addr - r->addr), op->copy, op->bytes);
	else
		copy_out(e, op, r->mem + (op->addr - r->addr));
}

/*
 * iWARP has no order within a message: an entry of a table comes word by word,
 * and the end that has the table may look at it at any time.  Whether all of it
 * has come.  (librdmacm relies on an order: there it comes at once.)
 */
static bool put_entry(struct sim_end *e, struct sim_end *to, struct sim_op *op)
{
	struct sim_region *r = &to->regions[(op->key & 0xff) % SIM_REGIONS];
	static const u8 at[] = { 0, 8, 12, 16 };
	u32 n;

	if (!e->sim->iwarp || to->kind != SIM_OURS || op->data || op->bytes != RDS_SS_ENTRY_BYTES ||
	    !r->live || r->key != op->key)
		return true;
	n = sim_random(e->sim, 3);
	while (op->words & 1 << n)
		n = (n + 1) % 3;
	op->words |= 1 << n;
	if (op->words == 7)
		return true;
	memcpy(r->mem + (op->addr - r->addr) + at[n], op->entry + at[n], at[n + 1] - at[n]);
	return false;
}

static bool put_message(struct sim_end *e, struct sim_end *to, struct sim_op *op)
{
	struct sim_msg *m = &to->rx[to->rx_head % SIM_RX];

	/* Over for this end: its user closes the connection next. */
	if (to->kind == SIM_OURS && to->e.state >= RDS_SS_LEFT)
		return true;
	if (!to->receives) {
		if (e->sim->iwarp)
			sim_fail(e->sim, "end %u has no receive, which ends the connection", to->nr);
		e->sim->rnr++;
		return false;
	}
	to->receives--;
	memcpy(m->word, op->word, sizeof(m->word));
	m->payload = e->sim->iwarp ? RDS_SS_UNKNOWN : op->bytes;
	m->control = op->control;
	if (to->rx_head - to->rx_tail >= SIM_RX)
		abort();
	to->rx_head++;
	to->arrived += !op->control;
	return true;
}

bool sim_step_deliver(struct sim_end *e)
{
	struct sim_op *op = &e->ops[e->done % SIM_OPS];

	if (e->done == (e->sim->iwarp ? e->sent : e->head))
		return false;
	if (op->bytes && !put_entry(e, e->peer, op))
		return true;
	/* Without a receive the device repeats the whole work request. */
	if (op->message && !put_message(e, e->peer, op))
		return false;
	if (op->bytes)
		put_bytes(e, e->peer, op);
	free(op->copy);
	op->copy = NULL;
	e->done++;
	return true;
}

/* The next work request that is completed, in order; NULL: none */
struct sim_op *sim_completed(struct sim_end *e)
{
	u32 until = e->sim->iwarp ? e->sent : e->done;

	for (; e->told != until; e->told++)
		if (e->ops[e->told % SIM_OPS].signalled)
			return &e->ops[e->told++ % SIM_OPS];
	return NULL;
}

bool sim_received(struct sim_end *e, struct sim_msg *m)
{
	if (e->rx_head == e->rx_tail)
		return false;
	*m = e->rx[e->rx_tail++ % SIM_RX];
	e->peer->heard_of += m->control;
	return true;
}
