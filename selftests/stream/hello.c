// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Cases of rds-stream-hostile: connect data. The CM of InfiniBand and RoCE pads
 * what is short with zeros, so there a short request shows as what is missing.
 */
#include "hostile.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>

#define MANY	3

/**
 * struct wrong - wrong connect data
 * @changes: what is changed
 * @why: reason, or NULL: it works
 */
struct wrong {
	struct change changes[MANY];
	const char *why;
};

#define AT(field)	offsetof(struct hello, field)
#define TO(field, n, to)	{ .at = AT(field), .bytes = n, .value = to }
#define BY(field, n, by)						\
	{ .at = AT(field), .bytes = n, .add = true, .value = by }

#define VERSION(v)	TO(version, 1, v)
#define FLAGS(v)	TO(flags, 1, v)
#define CREDITS(v)	TO(credits, 2, v)
#define IOMAP(v)	TO(iomap, 1, v)
#define TABLE_ADDR(v)	TO(table.addr, 8, v)
#define TABLE_KEY(v)	TO(table.key, 4, v)
#define ENTRIES(v)	TO(table.bytes, 4, v)
#define FIRST_ADDR(v)	TO(first.addr, 8, v)
#define FIRST_KEY(v)	TO(first.key, 4, v)
#define FIRST_BYTES(v)	TO(first.bytes, 4, v)
#define SENT(n)		{ .sent = n }

#define NO_VERSION	"stream_hello_version"
#define NO_CREDITS	"stream_hello_no_credits"
#define NO_TABLE	"stream_hello_table"
#define NO_SEGMENT	"stream_hello_segment"

/*
 * A request is rejected, and nothing is there to be accepted. An answer comes
 * when rdma_cm has said that it came, so its sender is disconnected; connect()
 * fails.
 */
static void refused(struct meet *m, const char *why)
{
	struct pollfd p = { .fd = m->l, .events = POLLIN };

	only(why);
	if (env.in) {
		TRUE(m->r.event == RDMA_CM_EVENT_REJECTED);
		WANT(poll(&p, 1, 0), 0);
	} else {
		TRUE(UNTIL(&m->r, m->r.gone));
		WANT(m->err, -EPROTO);
	}
	WANT(counted("stream_connected") + counted("stream_accepted"), 0);
}

static void hello(const void *arg)
{
	const struct wrong *w = arg;
	struct meet m;
	bool up;

	meet_begin(&m);
	m.r.changes = w->changes;
	m.r.nr_changes = MANY;
	up = meet_go(&m);
	TRUE(up == !w->why);
	if (up)
		works(&m);
	if (w->why)
		refused(&m, w->why);
	else
		only(NULL);
	over(&m);
}

/*
 * The end under test cannot write to what the connect data name. Its first
 * write may be before connect() has returned.
 */
static void no_memory(const void *arg)
{
	const struct wrong *w = arg;
	struct meet m;

	meet_begin(&m);
	m.r.changes = w->changes;
	m.r.nr_changes = MANY;
	if (meet_go(&m)) {
		send(m.fd, "x", 1, MSG_NOSIGNAL);
		broke(&m);
	} else {
		WANT(m.err, -ECONNRESET);
		only(NULL);
		over(&m);
	}
	TRUE(m.r.in_bytes == 0);
}

/* Entries for a table of the other byte order are swapped. */
static void big_endian(void)
{
	static const struct change net[] = { FLAGS(FLAG_NET | FLAG_IOMAP) };
	struct meet m;

	meet_begin(&m);
	m.r.changes = net;
	m.r.nr_changes = 1;
	meets(&m);
	TRUE(UNTIL(&m.r, m.r.entries));
	TRUE(m.r.half[1].bytes == m.r.you.first.bytes);
	TRUE(m.r.half[1].key == m.r.you.first.key);
	TRUE(m.r.half[1].addr == m.r.you.first.addr + m.r.you.first.bytes);
	works(&m);
	over(&m);
}

/* What the peer asks the CM for is its own affair. */
static void odd_parameters(void)
{
	struct meet m;

	meet_begin(&m);
	m.r.odd = true;
	/* librdmacm refuses depths that the device does not have. */
	if (!meet_go(&m)) {
		printf("# not possible: event %d\n", m.r.event);
		TRUE(m.r.event < 0);
	} else {
		works(&m);
	}
	only(NULL);
	over(&m);
}

/* The answer to a request that is refused does not keep others out. */
static void refused_then_good(void)
{
	static const struct change old[] = { VERSION(0) };
	struct meet m, n;

	meet_begin(&m);
	m.r.changes = old;
	m.r.nr_changes = 1;
	TRUE(!meet_go(&m));
	meet_begin(&n);
	n.l = m.l;
	n.at = m.at;
	meets(&n);
	works(&n);
	only(NO_VERSION);
	m.l = -1;
	over(&n);
	over(&m);
}

#define WRONG(name_, why_, ...)						\
	{ .name = "hello_" #name_, .with = hello, .arg = &(const struct wrong){	\
		.changes = { __VA_ARGS__ }, .why = why_ } }
#define NOWHERE(name_, ...)						\
	{ .name = "hello_" #name_, .with = no_memory, .arg = &(const struct wrong){ \
		.changes = { __VA_ARGS__ } } }

const struct test hello_tests[] = {
	WRONG(right, NULL),
	WRONG(version_0, NO_VERSION, VERSION(0)),
	WRONG(version_2, NO_VERSION, VERSION(2)),
	WRONG(version_255, NO_VERSION, VERSION(255)),
	WRONG(none, NO_VERSION, SENT(NOTHING_SENT)),
	WRONG(1_byte, NO_CREDITS, SENT(1)),
	WRONG(20_bytes, NO_TABLE, SENT(20)),
	WRONG(36_bytes, NO_SEGMENT, SENT(36)),
	/* The last byte of the length is 0 anyway. */
	WRONG(39_bytes, NULL, SENT(39)),
	WRONG(credits_0, NO_CREDITS, CREDITS(0)),
	WRONG(credits_1, NULL, CREDITS(1)),
	WRONG(credits_65535, NULL, CREDITS(65535)),
	WRONG(entries_0, NO_TABLE, ENTRIES(0)),
	WRONG(entries_1, NO_TABLE, ENTRIES(1)),
	WRONG(entries_3, NO_TABLE, ENTRIES(3)),
	WRONG(entries_4g, NO_TABLE, ENTRIES(0xffffffff)),
	WRONG(table_key_0, NO_TABLE, TABLE_KEY(0)),
	WRONG(table_end, NO_TABLE, TABLE_ADDR(UINT64_MAX - 30)),
	WRONG(table_end_iomap, NO_TABLE, TABLE_ADDR(UINT64_MAX - 31), IOMAP(1)),
	NOWHERE(table_last, TABLE_ADDR(UINT64_MAX - 31)),
	NOWHERE(table_addr_0, TABLE_ADDR(0)),
	NOWHERE(table_key_wrong, BY(table.key, 4, 0x100)),
	WRONG(table_unaligned, NULL, BY(table.addr, 8, 1)),
	WRONG(first_key_0, NO_SEGMENT, FIRST_KEY(0)),
	WRONG(first_bytes_0, NO_SEGMENT, FIRST_BYTES(0)),
	WRONG(first_bytes_1, NULL, FIRST_BYTES(1)),
	WRONG(first_bytes_1g, NULL, FIRST_BYTES(0x40000000)),
	WRONG(first_bytes_more, NO_SEGMENT, FIRST_BYTES(0x40000001)),
	WRONG(first_bytes_4g, NO_SEGMENT, FIRST_BYTES(0xffffffff)),
	WRONG(first_end, NO_SEGMENT, FIRST_ADDR(UINT64_MAX - 10)),
	NOWHERE(first_addr_0, FIRST_ADDR(0)),
	NOWHERE(first_key_wrong, BY(first.key, 4, 0x100)),
	WRONG(first_unaligned, NULL, BY(first.addr, 8, 3)),
	WRONG(iomap_255, NULL, IOMAP(255)),
	WRONG(no_flags, NULL, FLAGS(0), IOMAP(255)),
	WRONG(odd_flags, NULL, FLAGS(0xf8), TO(reserved, 1, 255)),
	WRONG(magic_without_flag, NULL, TO(magic, 1, MAGIC), TO(features, 1, 255)),
	WRONG(ours_features, NULL, FLAGS(FLAG_OURS | FLAG_IOMAP),
	      TO(magic, 1, MAGIC), TO(features, 1, 255)),
	{ .name = "hello_big_endian", .run = big_endian },
	{ .name = "odd_parameters", .run = odd_parameters },
	{ .name = "hello_refused_then_good", .run = refused_then_good, .who = DIALS },
	{ .name = NULL },
};
