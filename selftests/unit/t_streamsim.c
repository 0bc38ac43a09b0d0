// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two ends of a stream at random: the engine against itself and against a model
 * of librdmacm, over RoCE and iWARP.
 *
 *	t_streamsim [STEPS [SEED]]	steps of each case, 150,000 by default
 *
 * What must hold at each step is in sim_link.c and sim_ours.c: nothing is
 * written beyond what was published, no message is sent without a credit or, on
 * iWARP, without a receive, bytes are read once and in order, and memory is kept
 * until the device has read it.  Here is what must hold when both ends have come
 * to rest: all that was written was read, as long as somebody reads.
 */
#include <stdlib.h>

#include "sim.h"

#define STEPS	150000

static u64 steps_wanted(void)
{
	return unit_args[0] ? strtoull(unit_args[0], NULL, 0) : STEPS;
}

static u64 seed_wanted(void)
{
	return unit_args[0] && unit_args[1] ? strtoull(unit_args[1], NULL, 0) : 1;
}

static void begin(struct sim *s, enum sim_kind kind, bool iwarp)
{
	unsigned int i, active = sim_random(s, 2), other = sim_random(s, 2);

	s->iwarp = iwarp;
	for (i = 0; i < 2; i++) {
		struct sim_end *e = &s->end[i];

		memset(e, 0, sizeof(*e));
		e->sim = s;
		e->nr = i;
		e->peer = &s->end[!i];
		e->kind = i == other ? kind : SIM_OURS;
		e->active = i == active;
		sim_link_init(e);
		sim_ops(e)->init(e);
	}
}

static void end(struct sim *s)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		sim_ops(&s->end[i])->free(&s->end[i]);
		sim_link_free(&s->end[i]);
	}
}

static void up(struct sim_end *e)
{
	e->open = true;
	sim_ops(e)->up(e);
}

static u32 some_bytes(struct sim *s)
{
	if (s->small)
		return 1 + sim_random(s, 16);
	switch (sim_random(s, 8)) {
	case 0:
		return 1 + sim_random(s, 100000);
	case 1:
	case 2:
		return 1 + sim_random(s, 4000);
	default:
		return 1 + sim_random(s, 64);
	}
}

/* How eager the programs are, which changes now and then */
struct mood {
	u32	write[2], read[2], device;
};

static void new_mood(struct sim *s, struct mood *m)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		m->write[i] = s->small ? 8 : sim_random(s, 3) * sim_random(s, 8);
		m->read[i] = s->small ? 8 : sim_random(s, 3) * sim_random(s, 8);
	}
	m->device = s->small ? 24 : 1 + sim_random(s, 12);
}

static void device_step(struct sim_end *e)
{
	switch (sim_random(e->sim, 4)) {
	case 0:
		sim_step_send(e);
		break;
	case 1:
		sim_step_deliver(e);
		break;
	case 2:
		if (e->open)
			sim_ops(e)->complete(e);
		break;
	case 3:
		/* The engine takes messages before it is up. */
		if (e->open || e->kind == SIM_OURS)
			sim_ops(e)->receive(e);
	}
}

static void one_step(struct sim *s, const struct mood *m)
{
	unsigned int nr = sim_random(s, 2);
	struct sim_end *e = &s->end[nr];
	u32 what = sim_random(s, 32);

	s->step++;
	if (!e->open && what == 0)
		up(e);
	else if (e->open && what < m->write[nr])
		sim_ops(e)->write(e, some_bytes(s));
	else if (e->open && what >= 16 && what - 16 < m->read[nr])
		sim_ops(e)->read(e, some_bytes(s));
	else if (e->open && what == 31 && !sim_random(s, 4))
		sim_ops(e)->other(e, false);
	else
		for (what = m->device; what; what--)
			device_step(&s->end[sim_random(s, 2)]);
	for (nr = 0; nr < 2; nr++)
		sim_ops(&s->end[nr])->check(&s->end[nr]);
}

static bool settle_end(struct sim_end *e, bool reads)
{
	const struct sim_end_ops *ops = sim_ops(e);
	bool some = false;

	if (!e->open)
		up(e);
	some |= sim_step_send(e);
	some |= sim_step_deliver(e);
	some |= ops->complete(e);
	some |= ops->receive(e);
	some |= ops->write(e, 0);
	if (reads)
		some |= ops->read(e, 1 << 20);
	some |= ops->other(e, true);
	ops->check(e);
	return some;
}

/*
 * No program writes any more; ends of @readers (a bit each) read.  When nothing
 * happens any more, they have read all, or the stream is dead.
 */
static void settle(struct sim *s, unsigned int readers)
{
	unsigned int idle, n;
	bool some;

	s->settled++;
	for (n = 0, idle = 0; idle < 3 && !s->failed; n++) {
		some = settle_end(&s->end[0], readers & 1);
		some |= settle_end(&s->end[1], readers & 2);
		idle = some ? 0 : idle + 1;
		if (n > 10000000)
			sim_fail(s, "never comes to rest");
	}
}

static void all_is_read(struct sim *s, unsigned int readers)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct sim_end *e = &s->end[i];

		if (readers & 1 << i && e->rx_pos != e->peer->tx_put)
			sim_fail(s, "dead: end %u has read %llu of %llu bytes", i,
				 (unsigned long long)e->rx_pos, (unsigned long long)e->peer->tx_put);
	}
}

static void wander(struct sim *s, u32 steps)
{
	struct mood m;
	u32 i;

	for (i = 0; i < steps && !s->failed; i++) {
		if (i % 512 == 0)
			new_mood(s, &m);
		one_step(s, &m);
		if (!sim_random(s, 4000)) {
			/* One end may not read, and be full: the other direction goes on. */
			unsigned int readers = 1 + sim_random(s, 3);

			settle(s, readers);
			all_is_read(s, readers);
		}
	}
}

/* @e writes, and reads what comes, while the other end does neither. */
static void wander_on(struct sim_end *e, u32 times)
{
	for (; times && !e->sim->failed; times--) {
		sim_ops(e)->write(e, some_bytes(e->sim));
		settle(e->sim, 1 << e->nr);
	}
}

static void ours_is(struct sim_end *e, enum rds_ss_state want)
{
	if (e->kind == SIM_OURS && e->e.state != want)
		sim_fail(e->sim, "end %u is in state %d, not %d", e->nr, e->e.state, want);
}

/* Both ends shut their half, at any time: each reads all, and then the end. */
static void end_by_halves(struct sim *s)
{
	unsigned int first = sim_random(s, 2), i;

	sim_ops(&s->end[first])->shut(&s->end[first]);
	wander(s, sim_random(s, 200));
	settle(s, 3);
	for (i = 0; i < 4 && !s->failed; i++) {
		sim_ops(&s->end[i % 2])->shut(&s->end[i % 2]);
		settle(s, 3);
	}
	all_is_read(s, 3);
	for (i = 0; i < 2; i++) {
		struct sim_end *e = &s->end[i];

		if (!e->saw_end)
			sim_fail(s, "end %u has not seen the end", i);
		if (e->kind == SIM_OURS && e->e.state != RDS_SS_CLOSED &&
		    e->e.state != RDS_SS_LEFT)
			sim_fail(s, "end %u is in state %d", i, e->e.state);
	}
}

/* One end closes, with bytes under way either way: the other one reads all, and then the end. */
static void end_by_close(struct sim *s)
{
	struct sim_end *e = &s->end[sim_random(s, 2)];

	/* Before it is up there is nothing to close. */
	if (e->kind == SIM_RSOCKET || !e->open)
		settle(s, 3);
	sim_ops(e)->close(e);
	settle(s, 3);
	all_is_read(s, 1 << e->peer->nr);
	ours_is(e, RDS_SS_CLOSED);
	ours_is(e->peer, RDS_SS_LEFT);
	if (!e->peer->saw_end)
		sim_fail(s, "end %u has not seen the end", e->peer->nr);
}

/* Both ends close, with bytes queued and under way either way: what is queued does not hold them. */
static void end_by_both(struct sim *s)
{
	unsigned int first = sim_random(s, 2), i;

	/* Before it is up there is nothing to close. */
	if (!s->end[0].open || !s->end[1].open)
		settle(s, 3);
	sim_ops(&s->end[first])->close(&s->end[first]);
	for (i = sim_random(s, 20); i; i--)
		device_step(&s->end[sim_random(s, 2)]);
	sim_ops(&s->end[!first])->close(&s->end[!first]);
	settle(s, 0);
	for (i = 0; i < 2; i++)
		ours_is(&s->end[i], RDS_SS_CLOSED);
}

/* One end reads no more: the other one can send for ever. */
static void end_by_deafness(struct sim *s)
{
	struct sim_end *e = &s->end[sim_random(s, 2)];

	if (e->kind == SIM_RSOCKET)
		e = e->peer;
	settle(s, 0);
	sim_ops(e)->deafen(e);
	wander_on(e->peer, 20);
	if (e->peer->tx_post != e->peer->tx_put)
		sim_fail(s, "end %u cannot send to an end that does not read", e->peer->nr);
	/* It says nothing about that, so the peer may go on to read. */
	all_is_read(s, 1 << e->peer->nr);
	sim_ops(e)->close(e);
	settle(s, 3);
	ours_is(e, RDS_SS_CLOSED);
}

static void episode(struct sim *s, enum sim_kind kind, bool iwarp, u32 steps)
{
	begin(s, kind, iwarp);
	wander(s, steps);
	switch (s->failed ? 4 : sim_random(s, 4)) {
	case 0:
		end_by_halves(s);
		break;
	case 1:
		end_by_close(s);
		break;
	case 2:
		end_by_deafness(s);
		break;
	case 3:
		end_by_both(s);
	}
	end(s);
}

static void say(const struct sim *s)
{
	printf("# %llu steps, %llu MB in %llu messages, %llu without credit, %llu times at rest, "
	       "%llu halves replaced, %llu early, numbers wrapped %llu times, "
	       "%u receives to spare\n", (unsigned long long)s->step,
	       (unsigned long long)(s->bytes >> 20), (unsigned long long)s->messages,
	       (unsigned long long)s->controls, (unsigned long long)s->settled,
	       (unsigned long long)s->grown, (unsigned long long)s->early,
	       (unsigned long long)s->wraps, (unsigned int)s->least_slack);
}

static void simulate(enum sim_kind kind, bool iwarp)
{
	struct sim *s = calloc(1, sizeof(*s));
	u64 steps = steps_wanted();
	u32 n;

	s->rng = seed_wanted() * 0x9e3779b97f4a7c15ull + kind * 2 + iwarp + 1;
	s->least_slack = 0xffffffff;
	for (n = 1; s->step < steps && !s->failed; n++) {
		/* One in a hundred has so many messages that numbers wrap. */
		s->small = n % 100 == 0;
		episode(s, kind, iwarp, s->small ? 1200000 : sim_random(s, n % 3 ? 8000 : 60));
	}
	EXPECT(!s->failed, "step %llu, episode %u: %s", (unsigned long long)s->step, n - 1, s->what);
	if (unit_args[0] && !s->failed)
		say(s);
	free(s);
}

static void ours_roce(void)
{
	simulate(SIM_OURS, false);
}

static void ours_iwarp(void)
{
	simulate(SIM_OURS, true);
}

static void rsocket_roce(void)
{
	simulate(SIM_RSOCKET, false);
}

static void rsocket_iwarp(void)
{
	simulate(SIM_RSOCKET, true);
}

UNIT_CASES(
	{ "streamsim.ours_roce", ours_roce },
	{ "streamsim.ours_iwarp", ours_iwarp },
	{ "streamsim.rsocket_roce", rsocket_roce },
	{ "streamsim.rsocket_iwarp", rsocket_iwarp },
);
