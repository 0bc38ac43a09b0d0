// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine of streams under a hostile peer: connect data of any bytes, then
 * messages, entries of the table and completions in any order, among calls of a
 * program.  Whatever comes, this end writes only to what the peer has published,
 * and keeps to its own bounds.
 */
#include "fuzz.h"
#include "proto/plat.h"
#include "stream/decide.h"

#define HALF	512

struct peer {
	struct rds_ss_engine	e;
	struct rds_ss_early	early[16 + RDS_SS_RX_EXTRA];
	u64			table[4];
	struct rds_ss_hello	hello;
	struct rds_ss_segment	seg[2];		/* published here, and not yet written to */
	u8			now, next;	/* the one that is written to, published */
	u8			entry;		/* that is announced next */
	u16			sent, limit;
	u64			unread;		/* bytes that came and were not read */
	u64			queued, posted, back;
	u16			slots[RDS_SS_SQ_MAX];
	u32			nr_slots;
};

static u32 fuzz_word(struct fuzz_in *in)
{
	u32 v = fuzz_byte(in);

	v = v << 8 | fuzz_byte(in);
	v = v << 8 | fuzz_byte(in);
	return v << 8 | fuzz_byte(in);
}

static void begin(struct peer *p, struct fuzz_in *in)
{
	u8 how = fuzz_byte(in);
	struct rds_ss_config c = {
		.iwarp = how & 1, .active = how & 2, .rq = 16, .sq = RDS_SS_SQ_MIN + (how >> 4),
		.max_msg = 1000, .max_half = how & 4 ? HALF : 16 * HALF, .iomap = how & 8 ? 2 : 0,
		.table = p->table, .table_seg = { 0x1000, 1, 0 },
		.half = { { { 0x10000, 2, HALF }, 0 }, { { 0x20000, 3, HALF }, 1 } },
		.early = p->early,
	};

	memset(p, 0, sizeof(*p));
	HOLDS(rds_ss_init(&p->e, &c));
}

/*
 * What the call before has taken of the peer's: a limit of @word, and the entry
 * that was in @table then.
 */
static void taken(struct peer *p, u32 word, const u64 *table)
{
	const struct rds_ss_engine *e = &p->e;
	struct rds_ss_segment *s = &p->seg[p->next];

	if (e->flow.limit != p->limit) {
		p->limit = e->flow.limit;
		HOLDS(word >> 29 == RDS_SS_OP_CREDIT && (u16)word == p->limit);
		HOLDS((u16)(p->limit - p->sent) <= p->hello.credits);
	}
	if (e->target.next == p->next)
		return;
	HOLDS(!s->bytes);
	memcpy(s, table + 2 * p->next, sizeof(*s));
	HOLDS(s->key && s->bytes && s->addr + (s->bytes - 1) >= s->addr);
	p->next ^= 1;
}

/* At the next byte of the segment whose turn it is, and with a credit */
static void check_data(struct peer *p, const struct rds_ss_post *d)
{
	struct rds_ss_segment *s = &p->seg[p->now];

	HOLDS(d->bytes && d->bytes <= 1000 && d->bytes <= s->bytes);
	HOLDS(d->addr == s->addr && d->key == s->key);
	s->addr += d->bytes;
	s->bytes -= d->bytes;
	if (!s->bytes)
		p->now ^= 1;
	HOLDS(p->sent != p->limit);
	p->sent++;
	HOLDS(d->msg == d->bytes);
	p->posted += d->bytes;
	HOLDS(p->posted <= p->queued);
}

/* In the peer's table, in turn */
static void check_announce(struct peer *p, const struct rds_ss_post *d)
{
	if (!d->bytes)
		return;
	HOLDS(d->bytes == RDS_SS_ENTRY_BYTES && d->key == p->hello.table.key);
	HOLDS(d->addr == p->hello.table.addr + p->entry * RDS_SS_ENTRY_BYTES);
	p->entry ^= 1;
}

static void pump(struct peer *p)
{
	const struct rds_ss_engine *e = &p->e;
	u32 reserve = RDS_SS_CONTROLS * (e->conf.iwarp ? 2 : 1);
	struct rds_ss_post d;

	while (rds_ss_decide(&p->e, 1 << 20, &d)) {
		HOLDS(e->state >= RDS_SS_OPEN && e->state < RDS_SS_LEFT);
		if (d.what == RDS_SS_RECEIVES)
			continue;
		HOLDS(!e->silent && d.slot < RDS_SS_SQ_MAX);
		if (d.what == RDS_SS_DATA)
			check_data(p, &d);
		if (d.what == RDS_SS_ANNOUNCE)
			check_announce(p, &d);
		HOLDS(p->nr_slots < RDS_SS_SQ_MAX || !d.signalled);
		if (d.signalled)
			p->slots[p->nr_slots++] = d.slot;
		HOLDS(e->controls <= RDS_SS_CONTROLS && e->wrs + reserve <= e->conf.sq);
	}
}

static void complete(struct peer *p, u16 slot)
{
	p->back += rds_ss_complete(&p->e, slot);
	HOLDS(p->back <= p->posted);
}

/* The device reports completions in order, and a broken one any. */
static void completion(struct peer *p, u8 how)
{
	if (how & 0x80) {
		complete(p, how << 8 | how);
		return;
	}
	if (!p->nr_slots)
		return;
	complete(p, p->slots[0]);
	p->nr_slots--;
	memmove(p->slots, p->slots + 1, p->nr_slots * sizeof(*p->slots));
}

static void message(struct peer *p, struct fuzz_in *in, u8 how)
{
	static const u32 payloads[] = { 0, 16, 24, RDS_SS_UNKNOWN };
	u32 msg = how & 4 ? fuzz_word(in) : (u32)fuzz_byte(in) << 29 | (fuzz_word(in) & 0x3ff);
	struct rds_ss_news news;
	bool open = p->e.state != RDS_SS_CONNECTING;
	enum rds_ss_why why;
	u64 table[4];

	memcpy(table, p->table, sizeof(table));
	why = rds_ss_receive(&p->e, msg, payloads[how & 3], &news);
	HOLDS(!why || rds_ss_why_name(why));
	HOLDS(!why || p->e.state == RDS_SS_RESET);
	HOLDS(open || !news.bytes);
	p->unread += news.bytes;
	HOLDS(!news.iomap || news.index < p->e.conf.iomap);
	if (open)
		taken(p, p->e.conf.iwarp && p->e.swap ? __builtin_bswap32(msg) : msg, table);
}

static void comes_up(struct peer *p)
{
	struct rds_ss_news news;
	u64 table[4];

	if (p->e.state != RDS_SS_CONNECTING)
		return;
	memcpy(table, p->table, sizeof(table));
	p->seg[0] = p->hello.first;
	p->next = 1;
	p->entry = 1;
	rds_ss_open(&p->e, &p->hello, &news);
	p->unread += news.bytes;
	/* Nothing was sent yet, so no message that came early can move the limit. */
	p->limit = p->hello.credits;
	taken(p, 0, table);
	pump(p);
}

static void reader(struct peer *p, u8 how)
{
	struct rds_ss_span s = rds_ss_span(&p->e, how);

	HOLDS(!s.bytes || s.id < 8);
	HOLDS(!s.bytes || s.off + s.bytes <= 16 * HALF);
	s = rds_ss_span(&p->e, 0);
	HOLDS(s.bytes <= p->unread);
	if (how < s.bytes)
		s.bytes = how;
	rds_ss_read(&p->e, s.bytes);
	p->unread -= s.bytes;
}

static void spare(struct peer *p)
{
	struct rds_ss_mem mem = { { 0x40000, 4, 0 }, 2 };

	mem.seg.bytes = rds_ss_grow(&p->e);
	HOLDS(mem.seg.bytes <= p->e.conf.max_half);
	if (mem.seg.bytes)
		rds_ss_halves_spare(&p->e.halves, &mem);
}

static void program(struct peer *p, struct fuzz_in *in, u8 how)
{
	static const enum rds_ss_event events[] = {
		RDS_SS_EV_SHUT_WR, RDS_SS_EV_SHUT_RD, RDS_SS_EV_CLOSE, RDS_SS_EV_HANGUP, RDS_SS_EV_FAIL,
	};
	u32 bytes = fuzz_word(in) & 0xffff;

	if (how < 200)
		p->queued += rds_ss_append(&p->e, bytes) ? bytes : 0;
	else if (how < 230)
		rds_ss_tune(&p->e, how & 1, how & 2);
	else if (how < 240)
		rds_ss_keepalive(&p->e);
	else
		rds_ss_on(&p->e, events[how % 5]);
}

static void step(struct peer *p, struct fuzz_in *in)
{
	u8 what = fuzz_byte(in), how = fuzz_byte(in);

	switch (what % 8) {
	case 0:
	case 1:
		message(p, in, how);
		break;
	case 2:
		((u8 *)p->table)[how % 32] = fuzz_byte(in);
		return;
	case 3:
		completion(p, how);
		break;
	case 4:
		reader(p, how);
		break;
	case 5:
		program(p, in, how);
		break;
	case 6:
		spare(p);
		return;
	case 7:
		rds_ss_entry_put((u8 *)p->table + (how & 1) * 16,
				 &(struct rds_ss_segment){ (u64)fuzz_word(in) << (how & 32), how,
							   fuzz_word(in) & (how & 64 ? 0xffff : ~0u) },
				 false);
		return;
	}
	pump(p);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t n)
{
	struct fuzz_in in = { data, n };
	struct peer p;
	size_t got;
	u8 *hello;

	begin(&p, &in);
	while (in.n && fuzz_byte(&in) & 1)
		step(&p, &in);
	hello = fuzz_copy(&in, RDS_SS_HELLO_BYTES, &got);
	if (rds_ss_hello_get(hello, got, &p.hello) == RDS_SS_FINE) {
		comes_up(&p);
		while (in.n)
			step(&p, &in);
	}
	free(hello);
	return 0;
}
