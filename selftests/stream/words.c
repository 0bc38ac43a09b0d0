// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-hostile: messages, and work requests that are none */
#include "hostile.h"

#include <errno.h>
#include <poll.h>

/**
 * struct said - a message of a peer
 * @word: message
 * @bytes: bytes that are written with it, to where the next data go
 * @why: reason, or NULL: it has no effect
 */
struct said {
	uint32_t word, bytes;
	const char *why;
};

static void said(const void *arg)
{
	const struct said *s = arg;
	struct op op = { .code = IBV_WR_RDMA_WRITE_WITH_IMM, .bytes = s->bytes,
			 .word = s->word };
	struct meet m;

	meet_begin(&m);
	meets(&m);
	op.to = m.r.half[0].addr;
	op.key = m.r.half[0].key;
	rogue_do(&m.r, &op);
	outcome(&m, s->why);
}

#define SAID(name_, word_, bytes_, why_)				\
	{ .name = "said_" #name_, .with = said, .arg = &(const struct said){	\
		.word = word_, .bytes = bytes_, .why = why_ } }

/* Limits: before anything was sent that of the connect data is the only one. */
static void limit_by(int more, const char *why)
{
	struct meet m;

	meet_begin(&m);
	meets(&m);
	rogue_say(&m.r, WORD(OP_CREDIT, (uint32_t)(m.r.me.credits + more)));
	outcome(&m, why);
}

static void limit_same(void)
{
	limit_by(0, NULL);
}

static void limit_back(void)
{
	limit_by(-1, "stream_bad_limit");
}

static void limit_beyond(void)
{
	limit_by(1, "stream_bad_limit");
}

static void limit_half_way(void)
{
	limit_by(0x8000, "stream_bad_limit");
}

/* What was sent can be given back, once. */
static void limit_twice(void)
{
	struct meet m;

	meet_begin(&m);
	meets(&m);
	works(&m);
	WANT(rogue_say(&m.r, WORD(OP_CREDIT, m.r.me.credits + 1U)), 0);
	works(&m);
	only(NULL);
	rogue_say(&m.r, WORD(OP_CREDIT, m.r.me.credits + 3U));
	refused_for(&m, "stream_bad_limit");
}

/* ---- iomap */

static void index_of(uint32_t index, const char *why)
{
	struct meet m;

	meet_begin(&m);
	m.iomap = 8;
	meets(&m);
	TRUE(m.r.you.iomap == 8);
	rogue_say(&m.r, WORD(OP_IOMAP, index));
	outcome(&m, why);
}

static void index_last(void)
{
	index_of(7, NULL);
}

static void index_beyond(void)
{
	index_of(8, "stream_bad_index");
}

/* ---- the end */

static void bye_twice(void)
{
	struct meet m;

	meet_begin(&m);
	meets(&m);
	TRUE(rogue_put(&m.r, 10));
	rogue_say(&m.r, WORD(OP_CONTROL, BYE));
	rogue_say(&m.r, WORD(OP_CONTROL, BYE));
	TRUE(reads(&m, 10));
	WANT(end_of(&m), 0);
	WANT(send(m.fd, "x", 1, MSG_NOSIGNAL), -EPIPE);
	only(NULL);
	WANT(counted("stream_reset"), 0);
	over(&m);
}

/* What comes behind bye is not looked at. */
static void after_bye(void)
{
	struct meet m;

	meet_begin(&m);
	meets(&m);
	rogue_say(&m.r, WORD(OP_CONTROL, BYE));
	rogue_say(&m.r, WORD(OP_DATA, 10));
	rogue_say(&m.r, WORD(1U, 10));
	rogue_say(&m.r, WORD(OP_CREDIT, 0));
	WANT(end_of(&m), 0);
	only(NULL);
	over(&m);
}

/*
 * A peer that has said all, and waits until its last message is acknowledged,
 * may end the connection first: the other end is there for a while.
 */
static void goes_first(void)
{
	struct meet m;
	long end;

	meet_begin(&m);
	meets(&m);
	WANT(rogue_say(&m.r, WORD(OP_CONTROL, BYE)), 0);
	WANT(end_of(&m), 0);
	close(m.fd);
	m.fd = -1;
	for (end = now_ms() + 300; !m.r.gone && now_ms() < end;)
		rogue_rest(&m.r);
	WANT(m.r.gone, 0);
	WANT(rogue_say(&m.r, WORD(OP_CONTROL, KEEPALIVE)), 0);
	only(NULL);
	over(&m);
}

static void shut_twice(void)
{
	struct meet m;

	meet_begin(&m);
	meets(&m);
	WANT(rogue_say(&m.r, WORD(OP_CONTROL, SHUT)), 0);
	WANT(rogue_say(&m.r, WORD(OP_CONTROL, SHUT)), 0);
	WANT(end_of(&m), 0);
	WANT(send(m.fd, "x", 1, MSG_NOSIGNAL), 1);
	TRUE(UNTIL(&m.r, m.r.in_bytes == 1));
	only(NULL);
	over(&m);
	TRUE(UNTIL(&m.r, m.r.last_control == BYE));
}

static void after_shut(void)
{
	struct meet m;

	meet_begin(&m);
	meets(&m);
	WANT(rogue_say(&m.r, WORD(OP_CONTROL, SHUT)), 0);
	rogue_say(&m.r, WORD(OP_DATA, 10));
	refused_for(&m, "stream_after_end");
}

/* Both ends say shut, so the stream is over, now or in a moment. */
static void after_both_shut(void)
{
	struct meet m;
	long end;

	meet_begin(&m);
	meets(&m);
	WANT(shutdown(m.fd, SHUT_WR), 0);
	TRUE(UNTIL(&m.r, m.r.last_control == SHUT));
	rogue_say(&m.r, WORD(OP_CONTROL, SHUT));
	rogue_say(&m.r, WORD(OP_DATA, 10));
	end = end_of(&m);
	WANT(end == -ECONNRESET ? 0 : end, 0);
	over(&m);
}

/* ---- no messages at all */

/* A Send has no place: receives are without memory. */
static void sends(const void *arg)
{
	const struct op op = { .code = IBV_WR_SEND,
			       .bytes = *(const uint32_t *)arg };
	struct meet m;

	meet_begin(&m);
	meets(&m);
	rogue_do(&m.r, &op);
	if (op.bytes)
		broke(&m);
	else
		refused_for(&m, "stream_bad_opcode");
}

/* A Send with an immediate and no bytes is a message like any other. */
static void sends_word(void)
{
	const struct op op = { .code = IBV_WR_SEND_WITH_IMM,
			       .word = WORD(OP_CONTROL, SHUT) };
	struct meet m;

	meet_begin(&m);
	meets(&m);
	WANT(rogue_do(&m.r, &op), 0);
	WANT(end_of(&m), 0);
	only(NULL);
	over(&m);
}

/*
 * A peer that ends the key of the memory that was published to it harms only
 * itself.
 */
static void invalidates(void)
{
	struct op op = { .code = IBV_WR_SEND_WITH_INV };
	struct meet m;

	meet_begin(&m);
	meets(&m);
	op.key = m.r.you.first.key;
	rogue_do(&m.r, &op);
	refused_for(&m, "stream_bad_opcode");
	TRUE(honest_goes_on());
}

static const uint32_t no_bytes, word_bytes = 4, many_bytes = 65536;

const struct test word_tests[] = {
	SAID(op_001, WORD(1U, 10), 0, "stream_bad_opcode"),
	SAID(op_011, WORD(3U, 10), 0, "stream_bad_opcode"),
	SAID(op_101, WORD(5U, 10), 0, "stream_bad_opcode"),
	SAID(direct, WORD(OP_DIRECT, 77), 0, NULL),
	SAID(direct_with_bytes, WORD(OP_DIRECT, 77), 100, NULL),
	SAID(keepalive, WORD(OP_CONTROL, KEEPALIVE), 0, NULL),
	SAID(control_3, WORD(OP_CONTROL, 3), 0, NULL),
	SAID(control_last, WORD(OP_CONTROL, 0x1fffffff), 0, NULL),
	SAID(no_data, WORD(OP_DATA, 0), 0, "stream_empty_data"),
	SAID(no_data_with_bytes, WORD(OP_DATA, 0), 10, "stream_empty_data"),
	SAID(data_short, WORD(OP_DATA, 9), 10, "stream_bad_payload"),
	SAID(data_long, WORD(OP_DATA, 8193), 10, "stream_beyond_segment"),
	SAID(data_longest, WORD(OP_DATA, 0x1fffffff), 10, "stream_beyond_segment"),
	SAID(credit_8_bytes, WORD(OP_CREDIT, 64), 8, "stream_bad_payload"),
	SAID(credit_17_bytes, WORD(OP_CREDIT, 64), 17, "stream_bad_payload"),
	SAID(credit_32_bytes, WORD(OP_CREDIT, 64), 32, "stream_bad_payload"),
	/* The upper bits of a limit mean nothing. */
	SAID(limit_upper_bits, WORD(OP_CREDIT, 0x1fff0000 + 64), 0, NULL),
	SAID(index_0, WORD(OP_IOMAP, 0), 0, "stream_bad_index"),
	SAID(index_65535, WORD(OP_IOMAP, 65535), 24, "stream_bad_index"),
	{ .name = "limit_same", .run = limit_same },
	{ .name = "limit_back", .run = limit_back },
	{ .name = "limit_beyond", .run = limit_beyond },
	{ .name = "limit_half_way", .run = limit_half_way },
	{ .name = "limit_twice", .run = limit_twice },
	{ .name = "index_last", .run = index_last },
	{ .name = "index_beyond", .run = index_beyond },
	{ .name = "bye_twice", .run = bye_twice },
	{ .name = "after_bye", .run = after_bye },
	{ .name = "goes_first", .run = goes_first },
	{ .name = "shut_twice", .run = shut_twice },
	{ .name = "after_shut", .run = after_shut },
	{ .name = "after_both_shut", .run = after_both_shut },
	{ .name = "send_empty", .with = sends, .arg = &no_bytes },
	{ .name = "send_4_bytes", .with = sends, .arg = &word_bytes },
	{ .name = "send_64k", .with = sends, .arg = &many_bytes },
	{ .name = "send_word", .run = sends_word },
	{ .name = "invalidates", .run = invalidates },
	{ .name = NULL },
};
