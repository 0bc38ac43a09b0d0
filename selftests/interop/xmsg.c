// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Message lengths, content and their verification. */
#include <stdlib.h>
#include <string.h>

#include "xchg.h"

/* Number of indices tried to identify a message too short for a header */
#define SHORT_WINDOW	64

uint64_t mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t rng_next(uint64_t *s)
{
	return mix64((*s)++);
}

void plan_init(struct plan *p, const struct opts *o, unsigned int dir,
	       unsigned int stream)
{
	memset(p, 0, sizeof(*p));
	p->seed = mix64(o->seed ^ mix64(dir * 64 + stream + 1));
	p->rng = p->seed;
	p->max_bytes = o->max_bytes / o->streams;
	p->min = o->min_len;
	p->max = o->max_len;
	p->mix = o->mix;
}

static uint32_t draw_len(struct plan *p)
{
	uint64_t r = rng_next(&p->rng);
	uint32_t big = r >> 32;
	uint64_t len;

	if (p->mix == MIX_FLAT)
		return p->min + big % (p->max - p->min + 1);
	if (r % 100 < 95) {
		uint32_t top = p->max < 4096 ? p->max : 4096;

		return p->min + big % (top - p->min + 1);
	}
	/* a power of two from 1 to 1 MiB, or one byte less or more */
	len = (1ull << (big % 21)) + ((big >> 8) % 3) - 1;
	if (len < p->min)
		len = p->min;
	return len > p->max ? p->max : len;
}

uint32_t plan_len(struct plan *p, uint64_t idx)
{
	while (p->n <= idx) {
		uint32_t len = draw_len(p);

		if (p->n == p->cap) {
			p->cap = p->cap ? p->cap * 2 : 1024;
			p->len = realloc(p->len, p->cap * sizeof(*p->len));
			if (!p->len)
				die("out of memory");
		}
		if (p->total + len > p->max_bytes)
			len = p->min;
		p->total += len;
		p->len[p->n++] = len;
	}
	return p->len[idx];
}

static uint64_t fill_body(uint8_t *b, uint32_t len, uint64_t key)
{
	uint64_t h = key;
	uint32_t i = 0;

	for (; i + 8 <= len; i += 8) {
		uint64_t w = (key += 0x9e3779b97f4a7c15ull) *
			     0xff51afd7ed558ccdull;

		memcpy(b + i, &w, 8);
		h = (h ^ w) * 0x100000001b3ull;
		h ^= h >> 29;
	}
	for (; i < len; i++) {
		b[i] = (key >> 8) + i;
		h = (h ^ b[i]) * 0x100000001b3ull;
	}
	return mix64(h);
}

static uint64_t body_hash(const uint8_t *b, uint32_t len, uint64_t key)
{
	uint64_t h = key;
	uint32_t i = 0;

	for (; i + 8 <= len; i += 8) {
		uint64_t w;

		memcpy(&w, b + i, 8);
		h = (h ^ w) * 0x100000001b3ull;
		h ^= h >> 29;
	}
	for (; i < len; i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	return mix64(h);
}

static uint64_t msg_key(const struct plan *p, uint64_t idx)
{
	return mix64(p->seed + idx * 0x2545f4914f6cdd1dull);
}

uint64_t msg_build(uint8_t *buf, const struct plan *p, unsigned int stream,
		   uint64_t idx, uint32_t len, uint64_t now)
{
	struct xhdr h = { XMAGIC, stream, idx, now, len, (uint32_t)p->seed, 0 };

	if (len < XHDR_LEN)
		return fill_body(buf, len, msg_key(p, idx));
	h.hash = fill_body(buf + XHDR_LEN, len - XHDR_LEN, msg_key(p, idx));
	memcpy(buf, &h, sizeof(h));
	return h.hash;
}

static bool parse_short(const uint8_t *buf, size_t len, struct plan *p,
			uint64_t expect, struct xhdr *out)
{
	uint8_t want[XHDR_LEN];
	uint64_t i;

	for (i = expect; i < expect + SHORT_WINDOW; i++) {
		if (plan_len(p, i) != len)
			continue;
		out->hash = fill_body(want, len, msg_key(p, i));
		if (memcmp(want, buf, len))
			continue;
		out->index = i;
		out->sent_ns = 0;
		return true;
	}
	return false;
}

/*
 * False if @buf is no message of this direction of this stream, or is damaged.
 */
bool msg_parse(const uint8_t *buf, size_t len, struct plan *p,
	       unsigned int stream, uint64_t expect, struct xhdr *out)
{
	if (len < XHDR_LEN)
		return parse_short(buf, len, p, expect, out);
	memcpy(out, buf, sizeof(*out));
	if (out->magic != XMAGIC || out->stream != stream || out->len != len ||
	    out->tag != (uint32_t)p->seed)
		return false;
	return body_hash(buf + XHDR_LEN, len - XHDR_LEN,
			 msg_key(p, out->index)) == out->hash;
}

bool bits_test(const struct bits *b, uint64_t i)
{
	return i / 8 < b->cap && b->b[i / 8] & (1u << (i % 8));
}

void bits_set(struct bits *b, uint64_t i)
{
	if (i / 8 >= b->cap) {
		uint64_t cap = (i / 8 + 1) * 2;

		b->b = realloc(b->b, cap);
		if (!b->b)
			die("out of memory");
		memset(b->b + b->cap, 0, cap - b->cap);
		b->cap = cap;
	}
	b->b[i / 8] |= 1u << (i % 8);
}
