/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All names from outside that the files of proto/ may use.  The files are
 * compiled a second time in user space, for the unit tests and the fuzzers,
 * where this header supplies the kernel's names.
 */
#ifndef _RDS_PROTO_PLAT_H
#define _RDS_PROTO_PLAT_H

#ifdef __KERNEL__

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#else

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define cpu_to_be16(x)	htobe16(x)
#define cpu_to_be32(x)	htobe32(x)
#define cpu_to_be64(x)	htobe64(x)
#define be16_to_cpu(x)	be16toh(x)
#define be32_to_cpu(x)	be32toh(x)
#define be64_to_cpu(x)	be64toh(x)

#define __packed	__attribute__((packed))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* The static_assert of C11 needs a message, that of the kernel does not. */
#undef static_assert
#define static_assert(expr)	_Static_assert(expr, #expr)

#endif

static inline u16 rds_load_be16(const u8 *p)
{
	return (u16)(p[0] << 8 | p[1]);
}

static inline u32 rds_load_be32(const u8 *p)
{
	return (u32)rds_load_be16(p) << 16 | rds_load_be16(p + 2);
}

static inline void rds_store_be16(u8 *p, u16 v)
{
	p[0] = v >> 8;
	p[1] = v & 0xff;
}

static inline void rds_store_be32(u8 *p, u32 v)
{
	rds_store_be16(p, v >> 16);
	rds_store_be16(p + 2, v & 0xffff);
}

#endif
