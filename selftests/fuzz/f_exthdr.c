// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Extension areas: the iterator is compared with a second implementation of the
 * rules, and the elements found are appended to a new area and read again.
 */
#include "fuzz.h"
#include "proto/plat.h"
#include "proto/exthdr.h"
#include "proto/header.h"

/* Body length by protocol.rst 2.4 and wire.rst, independent of the code under test */
static int body_len(u8 type, bool data)
{
	static const signed char len[16] = { -1, 4, 4, 8, 8, 2, 4, 0, 1 };

	if (type == 7)
		return 4;
	if (data && type == 9)
		return 8;
	if (data && type == 10)
		return 1;
	return type < 16 ? len[type] : -1;
}

static void iterate(const u8 *area, bool data)
{
	struct rds_ext_iter it;
	struct rds_ext ext;
	unsigned int pos = 0;

	rds_ext_iter_init(&it, area, data);
	while (pos < 16 && body_len(area[pos], data) >= 0 &&
	       pos + 1 + body_len(area[pos], data) <= 16) {
		HOLDS(rds_ext_next(&it, &ext) == 1);
		HOLDS(ext.type == area[pos] && ext.body == area + pos + 1);
		HOLDS(ext.len == body_len(area[pos], data));
		HOLDS(!ext.desc == !ext.len);
		pos += 1 + ext.len;
	}
	HOLDS(!rds_ext_next(&it, &ext));
	HOLDS(!rds_ext_next(&it, &ext));
}

/* Known elements that are appended to a new area are read back unchanged. */
static void rebuild(const u8 *area, bool data)
{
	u8 copy[16] = { 0 };
	struct rds_ext_iter it, jt;
	struct rds_ext ext, got;
	unsigned int used = 0;

	rds_ext_iter_init(&it, area, data);
	while (rds_ext_next(&it, &ext))
		if (ext.desc)
			HOLDS(rds_ext_append(copy, &used, ext.type, ext.body));
	rds_ext_iter_init(&it, area, data);
	rds_ext_iter_init(&jt, copy, data);
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
	rds_handshake_build(copy, hs.npaths, hs.gen, hs.sport_idx,
			    hs.caps & 0xffffff);
	rds_handshake_parse(copy, &again);
	HOLDS(again.npaths == hs.npaths && again.gen == hs.gen);
	HOLDS(again.sport_idx == hs.sport_idx && !again.unknown);
	HOLDS(again.caps == (hs.caps & 0xffffff));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t n)
{
	/* Heap memory of the exact size: ASan reports reads past the end. */
	u8 *area = calloc(1, 16);

	memcpy(area, data, n < 16 ? n : 16);
	iterate(area, true);
	iterate(area, false);
	rebuild(area, true);
	rebuild(area, false);
	handshake(area);
	free(area);
	return 0;
}
