/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Comparison of 32-bit numbers that wrap around, such as TCP's. */
#ifndef _RDS_PROTO_SEQ_H
#define _RDS_PROTO_SEQ_H

#include "proto/plat.h"

/* Is @a later than @b?  Both are within 2^31 of each other. */
static inline bool rds_seq32_after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

#endif
