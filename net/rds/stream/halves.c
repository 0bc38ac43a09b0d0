// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The two halves of the memory for data.  Kernel-free: the unit test compiles
 * it in user space.
 */
#include "halves.h"

void rds_ss_halves_init(struct rds_ss_halves *h,
			const struct rds_ss_mem *mem, u32 max)
{
	memset(h, 0, sizeof(*h));
	h->half[0].mem = mem[0];
	h->half[1].mem = mem[1];
	h->half[0].published = true;
	h->pub = 1;
	h->max = rds_ss_min(max, RDS_SS_MAX_SEGMENT);
}

static bool is_full(const struct rds_ss_half *half)
{
	return !half->published || half->filled == half->mem.seg.bytes;
}

bool rds_ss_halves_arrive(struct rds_ss_halves *h, u32 bytes)
{
	struct rds_ss_half *half = &h->half[h->fill];

	if (!half->published || bytes > half->mem.seg.bytes - half->filled)
		return false;
	half->filled += bytes;
	if (is_full(half)) {
		h->fill ^= 1;
		h->tight |= is_full(&h->half[h->fill]);
	}
	return true;
}

struct rds_ss_span rds_ss_halves_span(const struct rds_ss_halves *h, u32 skip)
{
	const struct rds_ss_half *half = &h->half[h->out];
	u32 left = half->filled - half->read;

	if (skip >= left) {
		skip -= left;
		half = &h->half[!h->out];
		left = half->filled - half->read;
	}
	if (skip >= left)
		return (struct rds_ss_span){ 0 };
	return (struct rds_ss_span){
		.id	= half->mem.id,
		.off	= half->read + skip,
		.bytes	= left - skip,
	};
}

/*
 * The half that is free now decides about the next size: after a time when the
 * peer was held up it grows; without, it only follows the other one.
 */
static void think_of_growth(struct rds_ss_halves *h, u32 mine, u32 other)
{
	u32 want = other;

	if (h->tight && mine < h->max / RDS_SS_HALF_GROWTH)
		want = rds_ss_max(other, mine * RDS_SS_HALF_GROWTH);
	else if (h->tight)
		want = h->max;
	want = rds_ss_min(want, h->max);
	h->tight = false;
	if (want > mine && !h->asked && !h->has_spare)
		h->want = want;
}

void rds_ss_halves_read(struct rds_ss_halves *h, u32 bytes)
{
	while (bytes) {
		struct rds_ss_half *half = &h->half[h->out];
		u32 n = rds_ss_min(bytes, half->filled - half->read);

		half->read += n;
		bytes -= n;
		if (half->read < half->mem.seg.bytes)
			break;
		half->published = false;
		half->filled = 0;
		half->read = 0;
		h->out ^= 1;
		think_of_growth(h, half->mem.seg.bytes,
				h->half[h->out].mem.seg.bytes);
	}
}

struct rds_ss_segment rds_ss_halves_publish(struct rds_ss_halves *h, u8 *entry,
					    u32 *freed)
{
	struct rds_ss_half *half = &h->half[h->pub];

	*freed = RDS_SS_NO_MEM;
	if (h->has_spare && h->spare.seg.bytes > half->mem.seg.bytes) {
		*freed = half->mem.id;
		half->mem = h->spare;
		h->has_spare = false;
	}
	half->published = true;
	*entry = h->pub;
	h->pub ^= 1;
	return half->mem.seg;
}

u32 rds_ss_halves_ask(struct rds_ss_halves *h)
{
	u32 want = h->want;

	if (want) {
		h->want = 0;
		h->asked = true;
	}
	return want;
}

bool rds_ss_halves_spare(struct rds_ss_halves *h, const struct rds_ss_mem *mem)
{
	h->asked = false;
	/* A spare that no half would take would keep others away. */
	if (!mem || h->has_spare ||
	    mem->seg.bytes <= rds_ss_min(h->half[0].mem.seg.bytes,
					 h->half[1].mem.seg.bytes))
		return false;
	h->spare = *mem;
	h->has_spare = true;
	return true;
}
