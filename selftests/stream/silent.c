// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-hostile: peers that do not do what they should, and floods */
#include "hostile.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>

/* Time for what a closed socket leaves */
#define SHORT_MS	300
#define USUAL_MS	10000

/* ---- silence */

/* Close a socket whose peer takes nothing: its time ends, and it with it. */
static void over_late(struct meet *m)
{
	setting("orphan_ms", SHORT_MS);
	over(m);
	setting("orphan_ms", USUAL_MS);
	WANT(counted("stream_orphan_late"), 1);
	only(NULL);
}

static void no_receives(void)
{
	struct meet m;

	meet_begin(&m);
	m.r.receives = 0;
	meets(&m);
	TRUE(rogue_put(&m.r, 100));
	TRUE(reads(&m, 100));
	WANT(send(m.fd, "x", 1, MSG_NOSIGNAL), 1);
	over_late(&m);
	TRUE(m.r.messages == 0);
}

/* Credits are for 3 messages, and there are no others. */
static void no_credits(void)
{
	static const struct change few[] = {
		{ offsetof(struct hello, credits), 2, false, 3, 0 },
	};
	int one = 1;
	struct meet m;

	meet_begin(&m);
	m.r.changes = few;
	m.r.nr_changes = 1;
	meets(&m);
	WANT(setsockopt(m.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
	TRUE(send_until_full(&m) > 3);
	TRUE(UNTIL(&m.r, m.r.messages == 3));
	TRUE(rogue_put(&m.r, 100));
	TRUE(reads(&m, 100));
	over_late(&m);
	TRUE(m.r.messages == 3);
}

/* No entry follows the first segment of 100 bytes. */
static void no_entries(void)
{
	static const struct change small[] = {
		{ offsetof(struct hello, first.bytes), 4, false, 100, 0 },
	};
	struct meet m;

	meet_begin(&m);
	m.r.changes = small;
	m.r.nr_changes = 1;
	meets(&m);
	TRUE(send_until_full(&m) > 100);
	TRUE(UNTIL(&m.r, m.r.in_bytes == 100));
	over_late(&m);
	TRUE(m.r.in_bytes == 100);
	WANT(*(char *)(uintptr_t)(m.r.me.first.addr + 100), 0);
}

static void says_nothing(void)
{
	struct pollfd p = { .events = POLLIN | POLLOUT };
	struct meet m;

	meet_begin(&m);
	meets(&m);
	p.fd = m.fd;
	WANT(poll(&p, 1, 0), 1);
	WANT(p.revents, POLLOUT);
	over(&m);
	only(NULL);
}

static void die_silently(struct meet *m)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	meet_begin(m);
	meets(m);
	works(m);
	WANT(ibv_modify_qp(m->r.id->qp, &attr, IBV_QP_STATE), 0);
	WANT(send(m->fd, "x", 1, MSG_NOSIGNAL), 1);
}

/*
 * The peer's queue pair is gone, and nobody was told: the device repeats what it
 * has sent, as often as the end that has dialled has said.
 */
static void goes_dead(void)
{
	struct meet m;

	die_silently(&m);
	set_timeo(m.fd, SO_RCVTIMEO, (int)(4 * ROGUE_MS));
	WANT(end_of(&m), -ETIMEDOUT);
	only(NULL);
	over(&m);
}

/* A peer that has said 7: for rxe that is for ever, but not for an orphan. */
static void goes_dead_for_ever(void)
{
	struct meet m;

	die_silently(&m);
	over_late(&m);
}

/* ---- floods */

/*
 * A peer without receives does not hear of new credits, which four messages at
 * most are under way to tell.
 */
static void too_many(void)
{
	struct op op = { .code = IBV_WR_RDMA_WRITE_WITH_IMM,
			 .word = WORD(OP_DATA, 1) };
	struct meet m;

	meet_begin(&m);
	m.r.receives = 0;
	meets(&m);
	rogue_burst(&m.r, &op, 1000);
	refused_for(&m, "stream_no_credit_left");
}

/* Messages that come before this end knows that it is connected */
static void too_early(void)
{
	struct op op = { .code = IBV_WR_RDMA_WRITE_WITH_IMM,
			 .word = WORD(OP_DATA, 1) };
	struct meet m;
	long end;

	meet_begin(&m);
	m.r.receives = 0;
	meet_dial(&m);
	TRUE(rogue_accept(&m.r));
	rogue_burst(&m.r, &op, 1000);
	TRUE(UNTIL(&m.r, m.r.gone));
	/* connect() may have returned before. */
	end = meet_dialled(&m);
	WANT(end ? end : end_of(&m), -ECONNRESET);
	only("stream_no_credit_left");
	over(&m);
}

/**
 * struct flood - a message over and over
 * @op: the message
 * @times: how often
 */
struct flood {
	struct op op;
	unsigned int times;
};

/* What has no credit costs nobody else, and the stream works on. */
static void flood(const void *arg)
{
	const struct flood *f = arg;
	unsigned long rounds;
	struct meet m;

	meet_begin(&m);
	meets(&m);
	rounds = honest_rounds();
	TRUE(rogue_burst(&m.r, &f->op, f->times) == f->times);
	rounds = honest_rounds() - rounds;
	printf("# %u messages, %lu rounds of the honest stream meanwhile\n",
	       f->times, rounds);
	TRUE(rounds > 0);
	works(&m);
	only(NULL);
	over(&m);
}

/* Bytes of data one by one, with a reader that does not keep up */
static void small_data(void)
{
	struct meet m;

	meet_begin(&m);
	meets(&m);
	for (int i = 0; i < 40; i++) {
		for (int n = 0; n < 50; n++)
			if (!rogue_put(&m.r, 1))
				die("no credit after %d", 50 * i + n);
		TRUE(reads(&m, 50));
	}
	only(NULL);
	over(&m);
}

#define FLOOD(name_, times_, ...)					\
	{ .name = "flood_" #name_, .with = flood, .who = DIALS,		\
	  .arg = &(const struct flood){ { __VA_ARGS__ }, times_ } }
#define IMM		.code = IBV_WR_RDMA_WRITE_WITH_IMM

const struct test silent_tests[] = {
	{ .name = "no_receives", .run = no_receives },
	{ .name = "no_credits", .run = no_credits },
	{ .name = "no_entries", .run = no_entries },
	{ .name = "says_nothing", .run = says_nothing },
	{ .name = "goes_dead", .run = goes_dead, .who = ANSWERS },
	{ .name = "goes_dead_for_ever", .run = goes_dead_for_ever, .who = DIALS },
	{ .name = "too_many", .run = too_many },
	{ .name = "too_early", .run = too_early, .who = ANSWERS },
	{ .name = "small_data", .run = small_data, .who = DIALS },
	FLOOD(credits, 100000, IMM, .word = WORD(OP_CREDIT, 64)),
	FLOOD(direct, 20000, IMM, .word = WORD(OP_DIRECT, 0)),
	FLOOD(unknown_controls, 20000, IMM, .word = WORD(OP_CONTROL, 7)),
	/* Signs of life */
	FLOOD(empty_writes, 100000, .code = IBV_WR_RDMA_WRITE),
	{ .name = NULL },
};
