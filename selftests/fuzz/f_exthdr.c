// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The extension area: the iterator against a second reading of the rules, and rebuilding. */
#include "fuzz.h"
#include "proto/exthdr.h"
#include "proto/header.h"

const struct fuzz_seed fuzz_seeds[] = {
	{ 10, "\5\0\10\6\1\2\3\4\10\0" },
	{ 16, "\3\1\2\3\4\5\6\7\10\6\1\2\3\4\10\0" },
	{ 14, "\2\1\2\3\4\4\0\0\1\0\1\0\0\0" },
	{ 6, "\7\11\5\0\2\20" },
	{ 0, NULL },
};

/* Body length as the wire document has it, written down a second time on purpose */
static int body_len(u8 type)
{
	static const signed char len[16] = { -1, 4, 4, 8, 8, 2, 4, 0, 1 };

	return type < 16 ? len[type] : -1;
}

static void iterate(const u8 *area)
{
	struct rds_ext_iter it;
	struct rds_ext ext;
	unsigned int pos = 0;

	rds_ext_iter_init(&it, area);
	while (pos < 16 && body_len(area[pos]) >= 0 && pos + 1 + body_len(area[pos]) <= 16) {
		HOLDS(rds_ext_next(&it, &ext) == 1);
		HOLDS(ext.type == area[pos] && ext.body == area + pos + 1);
		HOLDS(ext.len == body_len(area[pos]));
		HOLDS(!ext.desc == !ext.len);
		pos += 1 + ext.len;
	}
	HOLDS(!rds_ext_next(&it, &ext));
	HOLDS(!rds_ext_next(&it, &ext));
}

/* Known elements, appended to a fresh area, are read back the same. */
static void rebuild(const u8 *area)
{
	u8 copy[16] = { 0 };
	struct rds_ext_iter it, jt;
	struct rds_ext ext, got;
	unsigned int used = 0;

	rds_ext_iter_init(&it, area);
	while (rds_ext_next(&it, &ext))
		if (ext.desc)
			HOLDS(rds_ext_append(copy, &used, ext.type, ext.body));
	rds_ext_iter_init(&it, area);
	rds_ext_iter_init(&jt, copy);
	while (rds_ext_next(&it, &ext)) {
		if (!ext.desc)
			continue;
		HOLDS(rds_ext_next(&jt, &got));
		HOLDS(got.type == ext.type && !memcmp(got.body, ext.body, ext.len));
	}
	HOLDS(!rds_ext_next(&jt, &got));
}

static void handshake(const u8 *area)
{
	struct rds_handshake hs, again;
	u8 copy[16];

	rds_handshake_parse(area, &hs);
	HOLDS(hs.has_npaths || !hs.npaths);
	HOLDS(hs.has_gen || !hs.gen);
	HOLDS(hs.unknown <= 16);
	rds_handshake_build(copy, hs.npaths, hs.gen, hs.sport_idx);
	rds_handshake_parse(copy, &again);
	HOLDS(again.npaths == hs.npaths && again.gen == hs.gen);
	HOLDS(again.sport_idx == hs.sport_idx && !again.unknown);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t n)
{
	/* on the heap and of the exact size, so that a read past it is seen */
	u8 *area = calloc(1, 16);

	memcpy(area, data, n < 16 ? n : 16);
	iterate(area);
	rebuild(area);
	handshake(area);
	free(area);
	return 0;
}
