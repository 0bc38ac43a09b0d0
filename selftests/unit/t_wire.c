// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The bytes of streams.  The vectors are from captures of librdmacm
 * (Documentation/stream.rst, "On the wire").
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __x86_64__
#include <ucontext.h>
#endif

#include "proto/plat.h"
#include "stream/wire.h"
#include "unit.h"

/* The request of an unmodified librdmacm, as it was captured on siw */
static const u8 captured[RDS_SS_HELLO_BYTES] = {
	0x01, 0x02, 0x01, 0x80, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x55, 0xbc, 0x97, 0x84, 0x10, 0x00,
	0xd1, 0x26, 0xd7, 0x00, 0x00, 0x00, 0x00, 0x02,
	0x00, 0x00, 0x7f, 0xcf, 0x8d, 0xbc, 0x60, 0x00,
	0xf0, 0x3e, 0x46, 0x00, 0x00, 0x08, 0x00, 0x00,
};

static const struct rds_ss_hello mine = {
	.ours = true, .credits = 64, .features = 0, .iomap = 0,
	.table = { 0x1122334455667788, 0x99aabbcc, 2 },
	.first = { 0x0102030405060708, 0x0a0b0c0d, 8192 },
};

static void hello_captured(void)
{
	struct rds_ss_hello h;
	u8 again[RDS_SS_HELLO_BYTES];

	EXPECT_EQ(rds_ss_hello_get(captured, sizeof(captured), &h), RDS_SS_FINE);
	EXPECT(!h.ours && !h.big_endian, "of librdmacm on x86");
	EXPECT_EQ(h.credits, 384);
	EXPECT_EQ(h.iomap, 0);
	EXPECT_EQ(h.table.addr, 0x55bc97841000);
	EXPECT_EQ(h.table.key, 0xd126d700);
	EXPECT_EQ(h.table.bytes, 2);
	EXPECT_EQ(h.first.addr, 0x7fcf8dbc6000);
	EXPECT_EQ(h.first.key, 0xf03e4600);
	EXPECT_EQ(h.first.bytes, 524288);
	rds_ss_hello_put(again, &h);
	EXPECT(!memcmp(again, captured, sizeof(again)), "came back different");
}

static void hello_ours(void)
{
	static const u8 want[RDS_SS_HELLO_BYTES] = {
		1, 6, 0, 64, 0x5a, 0, 0, 0,
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0, 0, 0, 2,
		1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 0, 0, 0x20, 0,
	};
	u8 buf[RDS_SS_HELLO_BYTES + 16];
	struct rds_ss_hello h;

	memset(buf, 0xee, sizeof(buf));
	rds_ss_hello_put(buf, &mine);
	EXPECT(!memcmp(buf, want, sizeof(want)), "bytes");
	EXPECT_EQ(buf[RDS_SS_HELLO_BYTES], 0xee);
	/* InfiniBand pads private data: 56 bytes of a request, 196 of a reply */
	EXPECT_EQ(rds_ss_hello_get(buf, sizeof(buf), &h), RDS_SS_FINE);
	EXPECT(!memcmp(&h, &mine, sizeof(h)), "came back different");
	buf[5] = 0x81;
	buf[1] |= RDS_SS_F_NET;
	EXPECT_EQ(rds_ss_hello_get(buf, sizeof(buf), &h), RDS_SS_FINE);
	EXPECT(h.ours && h.big_endian, "flags");
	EXPECT_EQ(h.features, 0x81);
}

/* Both the flag and the magic make a peer ours; then only there are features. */
static void hello_kinds(void)
{
	struct rds_ss_hello h;
	u8 buf[RDS_SS_HELLO_BYTES];

	memcpy(buf, captured, sizeof(buf));
	buf[4] = RDS_SS_MAGIC;
	buf[5] = 3;
	EXPECT_EQ(rds_ss_hello_get(buf, sizeof(buf), &h), RDS_SS_FINE);
	EXPECT(!h.ours && !h.features, "the magic alone");
	buf[1] |= RDS_SS_F_OURS;
	EXPECT_EQ(rds_ss_hello_get(buf, sizeof(buf), &h), RDS_SS_FINE);
	EXPECT(h.ours && h.features == 3, "both");
	buf[4] = 0;
	EXPECT_EQ(rds_ss_hello_get(buf, sizeof(buf), &h), RDS_SS_FINE);
	EXPECT(!h.ours && !h.features, "the flag alone");
	/* Bits that are not known are for later, and say nothing. */
	buf[1] = 0xf8 | RDS_SS_F_IOMAP;
	EXPECT_EQ(rds_ss_hello_get(buf, sizeof(buf), &h), RDS_SS_FINE);
	EXPECT(!h.ours && !h.big_endian, "unknown flags");
}

/* Sizes of iomap tables: a number up to 128, above it a multiple of 256 */
static void hello_iomap(void)
{
	static const struct { u16 n; u8 byte; u16 back; } sizes[] = {
		{ 0, 0, 0 }, { 1, 1, 1 }, { 127, 127, 127 }, { 128, 128, 128 }, { 129, 128, 128 },
		{ 255, 128, 128 }, { 256, 0x81, 256 }, { 511, 0x81, 256 }, { 512, 0x82, 512 },
		{ 32512, 0xff, 32512 }, { 65535, 0xff, 32512 },
	};
	struct rds_ss_hello h = mine, got;
	u8 buf[RDS_SS_HELLO_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		h.iomap = sizes[i].n;
		rds_ss_hello_put(buf, &h);
		EXPECT_EQ(buf[7], sizes[i].byte);
		EXPECT_EQ(rds_ss_hello_get(buf, sizeof(buf), &got), RDS_SS_FINE);
		EXPECT_EQ(got.iomap, sizes[i].back);
	}
	buf[1] &= ~RDS_SS_F_IOMAP;
	EXPECT_EQ(rds_ss_hello_get(buf, sizeof(buf), &got), RDS_SS_FINE);
	EXPECT_EQ(got.iomap, 0);
}

static enum rds_ss_why with(unsigned int at, u8 byte)
{
	struct rds_ss_hello h;
	u8 buf[RDS_SS_HELLO_BYTES];

	memcpy(buf, captured, sizeof(buf));
	buf[at] = byte;
	return rds_ss_hello_get(buf, sizeof(buf), &h);
}

static void put(u8 *p, u64 v, unsigned int bytes)
{
	while (bytes--) {
		p[bytes] = v;
		v >>= 8;
	}
}

static enum rds_ss_why with_field(unsigned int at, unsigned int bytes, u64 v)
{
	struct rds_ss_hello h;
	u8 buf[RDS_SS_HELLO_BYTES];

	memcpy(buf, captured, sizeof(buf));
	put(buf + at, v, bytes);
	return rds_ss_hello_get(buf, sizeof(buf), &h);
}

static void hello_refused(void)
{
	struct rds_ss_hello h;
	unsigned int len;

	for (len = 0; len < RDS_SS_HELLO_BYTES; len++) {
		u8 *exact = malloc(len + 1);

		memcpy(exact + 1, captured, len);
		EXPECT_EQ(rds_ss_hello_get(exact + 1, len, &h), RDS_SS_WHY_SHORT);
		free(exact);
	}
	EXPECT_EQ(rds_ss_hello_get(NULL, 0, &h), RDS_SS_WHY_SHORT);
	EXPECT_EQ(with(0, 0), RDS_SS_WHY_VERSION);
	EXPECT_EQ(with(0, 2), RDS_SS_WHY_VERSION);
	EXPECT_EQ(with_field(2, 2, 0), RDS_SS_WHY_NO_CREDITS);
	EXPECT_EQ(with_field(2, 2, 1), RDS_SS_FINE);
	EXPECT_EQ(with_field(20, 4, 0), RDS_SS_WHY_TABLE);
	EXPECT_EQ(with_field(20, 4, 1), RDS_SS_WHY_TABLE);
	EXPECT_EQ(with_field(20, 4, 3), RDS_SS_WHY_TABLE);
	EXPECT_EQ(with_field(16, 4, 0), RDS_SS_WHY_TABLE);
	EXPECT_EQ(with_field(8, 8, 0xffffffffffffffe0), RDS_SS_FINE);
	EXPECT_EQ(with_field(8, 8, 0xffffffffffffffe1), RDS_SS_WHY_TABLE);
	/* With an iomap table behind it */
	EXPECT_EQ(with(7, 1), RDS_SS_FINE);
	EXPECT_EQ(with_field(32, 4, 0), RDS_SS_WHY_SEGMENT);
	EXPECT_EQ(with_field(36, 4, 0), RDS_SS_WHY_SEGMENT);
	EXPECT_EQ(with_field(36, 4, RDS_SS_MAX_SEGMENT), RDS_SS_FINE);
	EXPECT_EQ(with_field(36, 4, RDS_SS_MAX_SEGMENT + 1), RDS_SS_WHY_SEGMENT);
	EXPECT_EQ(with_field(24, 8, 0xfffffffffff80000), RDS_SS_FINE);
	EXPECT_EQ(with_field(24, 8, 0xfffffffffff80001), RDS_SS_WHY_SEGMENT);
}

static void names(void)
{
	int i, j;

	EXPECT(!rds_ss_why_name(RDS_SS_FINE), "no reason has a name");
	EXPECT(!rds_ss_why_name(RDS_SS_NR_WHYS), "beyond the last");
	for (i = 1; i < RDS_SS_NR_WHYS; i++) {
		EXPECT(rds_ss_why_name(i), "reason %d has no name", i);
		for (j = 1; j < i; j++)
			EXPECT(strcmp(rds_ss_why_name(i), rds_ss_why_name(j)), "two are %s",
			       rds_ss_why_name(i));
	}
}

static void message_words(void)
{
	EXPECT_EQ(rds_ss_msg(RDS_SS_OP_CREDIT, 384), 0x80000180);
	EXPECT_EQ(rds_ss_msg(RDS_SS_OP_DATA, 65536), 0x00010000);
	EXPECT_EQ(rds_ss_msg(RDS_SS_OP_CONTROL, RDS_SS_BYE), 0xe0000000);
	EXPECT_EQ(rds_ss_msg(RDS_SS_OP_CONTROL, RDS_SS_SHUT), 0xe0000002);
	EXPECT_EQ(rds_ss_msg(RDS_SS_OP_IOMAP, 3), 0xc0000003);
	EXPECT_EQ(rds_ss_msg(RDS_SS_OP_DATA, 0xffffffff), 0x1fffffff);
	EXPECT_EQ(rds_ss_msg_op(0x5fffffff), RDS_SS_OP_DIRECT);
	EXPECT_EQ(rds_ss_msg_value(0xffffffff), 0x1fffffff);
	/* 65500 taken, and a queue of 384: the sum has more than 16 bits */
	EXPECT_EQ(rds_ss_msg_limit(0x8001015c), 0x15c);
	EXPECT_EQ(rds_ss_msg_index(0xdfff0007), 7);
}

/* On iWARP: 80 01 00 80 was captured from an x86 host. */
static void message_bytes(void)
{
	static const u8 little[] = { 0x80, 0x01, 0x00, 0x80 };
	static const u8 big[] = { 0x80, 0x00, 0x01, 0x80 };
	const u8 *native = rds_ss_big_endian() ? big : little;
	u8 buf[RDS_SS_MSG_BYTES];

	rds_ss_msg_put(buf, 0x80000180);
	EXPECT(!memcmp(buf, native, sizeof(buf)), "native order");
	EXPECT_EQ(rds_ss_msg_get(native), 0x80000180);
}

static void entry_bytes(void)
{
	const struct rds_ss_segment s = { 0x1122334455667788, 0x99aabbcc, 0x00080000 };
	static const u8 big[RDS_SS_ENTRY_BYTES] = {
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0, 8, 0, 0,
	};
	static const u8 little[RDS_SS_ENTRY_BYTES] = {
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xcc, 0xbb, 0xaa, 0x99, 0, 0, 8, 0,
	};
	u8 buf[RDS_SS_ENTRY_BYTES];

	rds_ss_entry_put(buf, &s, !rds_ss_big_endian());
	EXPECT(!memcmp(buf, big, sizeof(buf)), "for a big endian owner");
	rds_ss_entry_put(buf, &s, rds_ss_big_endian());
	EXPECT(!memcmp(buf, little, sizeof(buf)), "for a little endian owner");
}

static void entry_taken(void)
{
	const struct rds_ss_segment s = { 0x1122334455667788, 0x99aabbcc, 0x00080000 };
	u64 raw[3] = { 0, 0, 0x5a5a };
	struct rds_ss_segment got;

	EXPECT(!rds_ss_entry_take((u8 *)raw, &got, false), "a clear entry");
	rds_ss_entry_put((u8 *)raw, &s, false);
	EXPECT(rds_ss_entry_take((u8 *)raw, &got, false), "an entry");
	EXPECT(!memcmp(&got, &s, sizeof(s)), "came back different");
	EXPECT(!raw[0] && !raw[1], "cleared");
	EXPECT_EQ(raw[2], 0x5a5a);
	EXPECT(!rds_ss_entry_take((u8 *)raw, &got, false), "taken twice");
}

/*
 * On iWARP the words of an entry come in any order, and a message that has nothing to do with it may
 * be looked at in between.
 */
static void entry_in_parts(void)
{
	static const u8 at[] = { 0, 8, 12, 16 };
	const struct rds_ss_segment s = { 0x1122334455667788, 0x99aabbcc, 0x00080000 };
	u8 all[RDS_SS_ENTRY_BYTES];
	struct rds_ss_segment got;
	unsigned int parts, i;
	u64 raw[2];

	rds_ss_entry_put(all, &s, false);
	for (parts = 0; parts < 8; parts++) {
		memset(raw, 0, sizeof(raw));
		for (i = 0; i < 3; i++)
			if (parts & 1 << i)
				memcpy((u8 *)raw + at[i], all + at[i], at[i + 1] - at[i]);
		if (parts == 7)
			break;
		EXPECT(!rds_ss_entry_take((u8 *)raw, &got, false), "taken with parts %u", parts);
		for (i = 0; i < 3; i++)
			EXPECT(!(parts & 1 << i) ||
			       !memcmp((u8 *)raw + at[i], all + at[i], at[i + 1] - at[i]),
			       "cleared with parts %u", parts);
	}
	EXPECT(rds_ss_entry_take((u8 *)raw, &got, false), "the whole entry");
	EXPECT(!memcmp(&got, &s, sizeof(s)), "came back different");
	/* InfiniBand says when an entry is there: then address 0 is one. */
	raw[0] = 0;
	memcpy(raw + 1, all + 8, 8);
	EXPECT(rds_ss_entry_take((u8 *)raw, &got, true), "at address 0");
	EXPECT(!got.addr && got.key == s.key, "came back different");
}

#ifdef __x86_64__

static u8 *hostile;
static unsigned int reads;

/* Every access of the page faults.  It is let through, one instruction long, */
static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)sig;
	if ((u8 *)info->si_addr < hostile || (u8 *)info->si_addr >= hostile + 4096)
		abort();
	/* bit 1 of the error code: a write */
	reads += !(uc->uc_mcontext.gregs[REG_ERR] & 2);
	mprotect(hostile, 4096, PROT_READ | PROT_WRITE);
	uc->uc_mcontext.gregs[REG_EFL] |= 0x100;
}

/* and then the peer rewrites the entry. */
static void on_step(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)sig;
	(void)info;
	memset(hostile, 0x5c, RDS_SS_ENTRY_BYTES);
	mprotect(hostile, 4096, PROT_NONE);
	uc->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

/* A peer that rewrites the entry after each access is seen once: three words, three reads. */
static void entry_read_once(void)
{
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	struct sigaction old_fault, old_step;
	const struct rds_ss_segment s = { 0x1122334455667788, 0x99aabbcc, 4096 };
	struct rds_ss_segment got;
	bool found;

	hostile = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	rds_ss_entry_put(hostile, &s, false);
	sigaction(SIGSEGV, &fault, &old_fault);
	sigaction(SIGTRAP, &step, &old_step);
	mprotect(hostile, 4096, PROT_NONE);
	found = rds_ss_entry_take(hostile, &got, false);
	mprotect(hostile, 4096, PROT_READ | PROT_WRITE);
	sigaction(SIGSEGV, &old_fault, NULL);
	sigaction(SIGTRAP, &old_step, NULL);
	munmap(hostile, 4096);
	EXPECT(found, "no entry");
	EXPECT_EQ(got.bytes, 4096);
	EXPECT_EQ(reads, 3);
}

#else

static void entry_read_once(void)
{
	EXPECT(true, "needs single steps of x86");
}

#endif

UNIT_CASES(
	{ "wire.hello_captured", hello_captured },
	{ "wire.hello_ours", hello_ours },
	{ "wire.hello_kinds", hello_kinds },
	{ "wire.hello_iomap", hello_iomap },
	{ "wire.hello_refused", hello_refused },
	{ "wire.names", names },
	{ "wire.message_words", message_words },
	{ "wire.message_bytes", message_bytes },
	{ "wire.entry_bytes", entry_bytes },
	{ "wire.entry_taken", entry_taken },
	{ "wire.entry_in_parts", entry_in_parts },
	{ "wire.entry_read_once", entry_read_once },
);
