// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proto/plat.h"
#include "transport/rdma/credit.h"
#include "unit.h"

static void off_takes_all(void)
{
	struct rds_rdma_credit c = { .on = false, .posted = 40 };

	EXPECT(rds_rdma_credit_take(&c), "a message");
	EXPECT(rds_rdma_credit_take_last(&c), "an acknowledgement");
	EXPECT_EQ(c.send, 0);
	EXPECT_EQ(rds_rdma_credit_grant(&c), 0);
	EXPECT_EQ(c.posted, 40);
	EXPECT(!rds_rdma_credit_due(&c, 16), "nothing to tell a peer without flow control");
}

static void takes_what_there_is(void)
{
	struct rds_rdma_credit c = { .on = true, .send = 3, .posted = 1 };

	EXPECT(rds_rdma_credit_take(&c), "of three");
	EXPECT(rds_rdma_credit_take(&c), "of two");
	EXPECT(!rds_rdma_credit_take(&c), "the last one is not for messages");
	EXPECT(rds_rdma_credit_take_last(&c), "the last one");
	EXPECT(!rds_rdma_credit_take_last(&c), "of none");
	EXPECT_EQ(c.send, 0);
}

/* rds_rdma_credit_some() is true only if rds_rdma_credit_take() gives one. */
static void some_means_some(void)
{
	u32 i;

	for (i = 0; i < 16; i++) {
		struct rds_rdma_credit c = { .on = true,
					     .single = i & 8,
					     .send = i / 2 % 4,
					     .posted = i % 2 };
		bool some = rds_rdma_credit_some(&c);

		EXPECT(some == rds_rdma_credit_take(&c), "%u to send, %u to tell",
		       (unsigned int)(i / 2 % 4), (unsigned int)(i % 2));
	}
}

/* The last credit is kept for a frame that grants credits: no deadlock. */
static void last_is_for_credits(void)
{
	struct rds_rdma_credit c = { .on = true, .send = 1 };

	EXPECT(!rds_rdma_credit_take_last(&c), "nothing to grant");
	EXPECT_EQ(c.send, 1);
	c.posted = 1;
	EXPECT(!rds_rdma_credit_take(&c), "a message");
	EXPECT(rds_rdma_credit_take_last(&c), "one to grant");
}

/* A peer that has a single receive gets messages all the same. */
static void single_is_for_both(void)
{
	struct rds_rdma_credit c = { .on = true, .single = true, .send = 1 };

	EXPECT(!rds_rdma_credit_take(&c), "nothing to grant");
	c.posted = 1;
	EXPECT(rds_rdma_credit_take(&c), "one to grant");
}

static void grants_in_bytes(void)
{
	struct rds_rdma_credit c = { .on = true, .posted = 300 };

	EXPECT_EQ(rds_rdma_credit_grant(&c), 255);
	EXPECT_EQ(rds_rdma_credit_grant(&c), 45);
	EXPECT_EQ(rds_rdma_credit_grant(&c), 0);
}

static void due_by_size_of_ring(void)
{
	struct rds_rdma_credit c = { .on = true, .posted = 7 };

	EXPECT(!rds_rdma_credit_due(&c, 16), "7 of 16");
	c.posted = 8;
	EXPECT(rds_rdma_credit_due(&c, 16), "8 of 16");
	EXPECT(!rds_rdma_credit_due(&c, 248), "8 of 248");
	c.posted = 123;
	EXPECT(!rds_rdma_credit_due(&c, 248), "123 of 248");
	c.posted = 124;
	EXPECT(rds_rdma_credit_due(&c, 248), "124 of 248");
	c.posted = 1;
	EXPECT(rds_rdma_credit_due(&c, 1), "all there are");
	c.posted = 0;
	EXPECT(!rds_rdma_credit_due(&c, 0), "nothing to tell");
}

struct end {
	struct rds_rdma_credit	c;
	bool			held;	/* messages wait in their receives */
	u32			waiting;
	u32			used;	/* used receives, not posted again */
	u32			got;
};

static void arrive(struct end *a, struct end *b, bool message)
{
	b->c.send += rds_rdma_credit_grant(&a->c);
	if (message && b->held)
		b->waiting++;
	else
		b->used++;
	b->got += message;
}

/* One message from @a to @b; false if @a may not send. */
static int send_frame(struct end *a, struct end *b)
{
	if (!rds_rdma_credit_take(&a->c))
		return 0;
	arrive(a, b, true);
	return 1;
}

/*
 * The rules of recv.c: post used receives again once they are a quarter of the
 * ring, or less than half of it is free; announce posted receives when that is
 * due.
 */
static void end_of_run(struct end *a, struct end *b, u32 ring)
{
	u32 left = ring - a->waiting;

	if (a->used * 4 >= ring || (left - a->used) * 2 < ring) {
		a->c.posted += a->used;
		a->used = 0;
	}
	if (rds_rdma_credit_due(&a->c, left - a->used) &&
	    rds_rdma_credit_take_last(&a->c))
		arrive(a, b, false);
}

/* One end floods, the other sends only credits: the flood never stops. */
static void flood_never_stops(void)
{
	u32 ring = 16, idle = 0, i;
	struct end a = { .c = { .on = true, .send = ring } };
	struct end b = { .c = { .on = true, .send = ring } };

	for (i = 0; i < 10000 && idle < 3; i++) {
		idle = send_frame(&a, &b) ? 0 : idle + 1;
		EXPECT(b.c.posted + b.used + a.c.send <= ring, "more credits than receives");
		end_of_run(&b, &a, ring);
		end_of_run(&a, &b, ring);
	}
	EXPECT(idle < 3, "stopped after %u frames", (unsigned int)b.got);
}

static void both_flood(void)
{
	u32 ring = 16, idle = 0, i;
	struct end a = { .c = { .on = true, .send = ring } };
	struct end b = { .c = { .on = true, .send = ring } };

	for (i = 0; i < 10000 && idle < 3; i++) {
		int sent = 0;

		while (send_frame(&a, &b))
			sent++;
		while (send_frame(&b, &a))
			sent++;
		idle = sent ? 0 : idle + 1;
		end_of_run(&b, &a, ring);
		end_of_run(&a, &b, ring);
	}
	EXPECT(idle < 3, "stopped after %u and %u frames", (unsigned int)a.got,
	       (unsigned int)b.got);
}

/*
 * One end waits for a reader, and the other floods it: the messages of the one
 * that waits go on.
 */
static void held_sends(void)
{
	u32 ring = 8, idle = 0, i;
	struct end a = { .c = { .on = true, .send = ring } };
	struct end b = { .c = { .on = true, .send = ring }, .held = true };

	for (i = 0; i < 10000 && idle < 3; i++) {
		while (send_frame(&a, &b))
			;
		idle = send_frame(&b, &a) ? 0 : idle + 1;
		end_of_run(&b, &a, ring);
		end_of_run(&a, &b, ring);
	}
	EXPECT(b.got < ring, "%u messages wait in %u receives", (unsigned int)b.got,
	       (unsigned int)ring);
	EXPECT(idle < 3, "stopped after %u frames", (unsigned int)a.got);
}

UNIT_CASES(
	{ "credit.off_takes_all", off_takes_all },
	{ "credit.takes_what_there_is", takes_what_there_is },
	{ "credit.some_means_some", some_means_some },
	{ "credit.last_is_for_credits", last_is_for_credits },
	{ "credit.single_is_for_both", single_is_for_both },
	{ "credit.grants_in_bytes", grants_in_bytes },
	{ "credit.due_by_size_of_ring", due_by_size_of_ring },
	{ "credit.flood_never_stops", flood_never_stops },
	{ "credit.both_flood", both_flood },
	{ "credit.held_sends", held_sends },
);
