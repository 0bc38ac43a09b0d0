// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Encode and decode messages of rdscat; checksum of a stream. */
#include <endian.h>
#include <string.h>

#include "rdscat.h"

static void put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

void rc_encode(uint8_t hdr[RC_HDR_LEN], const struct rc_frame *f)
{
	uint32_t magic = htobe32(RC_MAGIC);

	memcpy(hdr, &magic, 4);
	hdr[4] = RC_VERSION;
	hdr[5] = f->type;
	hdr[6] = f->flags >> 8;
	hdr[7] = f->flags & 0xff;
	put64(hdr + 8, f->session);
	put64(hdr + 16, f->offset);
	put64(hdr + 24, f->arg);
}

bool rc_decode(const uint8_t *buf, size_t len, struct rc_frame *f)
{
	uint32_t magic;

	if (len < RC_HDR_LEN)
		return false;
	memcpy(&magic, buf, 4);
	if (be32toh(magic) != RC_MAGIC)
		return false;
	f->version = buf[4];
	f->type = buf[5];
	f->flags = buf[6] << 8 | buf[7];
	f->session = get64(buf + 8);
	f->offset = get64(buf + 16);
	f->arg = get64(buf + 24);
	f->payload = buf + RC_HDR_LEN;
	f->len = len - RC_HDR_LEN;
	return true;
}

const char *rc_error_text(const struct rc_frame *f, char text[RC_TEXT_LEN])
{
	size_t n;

	for (n = 0; n < f->len && n < RC_TEXT_LEN - 1; n++) {
		uint8_t c = f->payload[n];

		text[n] = c >= ' ' && c <= '~' ? (char)c : '?';
	}
	text[n] = '\0';
	return text;
}

/*
 * Each step is a bijection of the state for a given word, and of the word for a
 * given state: a single wrong word is always detected. Eight bytes cost one
 * multiplication.
 */
static uint64_t step(uint64_t h, uint64_t word)
{
	h ^= word;
	h = h << 29 | h >> 35;
	return h * 0x9e3779b97f4a7c15ULL;
}

void rc_sum_init(struct rc_sum *s)
{
	*s = (struct rc_sum){ .h = 0xcbf29ce484222325ULL };
}

void rc_sum_add(struct rc_sum *s, const uint8_t *p, size_t n)
{
	uint64_t h = s->h, word;

	for (; n && s->total % 8; n--, s->total++) {
		s->part |= (uint64_t)*p++ << s->total % 8 * 8;
		if (s->total % 8 == 7) {
			h = step(h, s->part);
			s->part = 0;
		}
	}
	for (; n >= 8; n -= 8, p += 8, s->total += 8) {
		memcpy(&word, p, sizeof(word));
		h = step(h, le64toh(word));
	}
	for (; n; n--, s->total++)
		s->part |= (uint64_t)*p++ << s->total % 8 * 8;
	s->h = h;
}

uint64_t rc_sum_final(const struct rc_sum *s)
{
	uint64_t h = step(step(s->h, s->part), s->total);

	return h ^ h >> 32;
}
