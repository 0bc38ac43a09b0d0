/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Each f_<name>.c has one entry point with the name libFuzzer and AFL look for; loop.c drives it
 * from fixed seeds.  A property that does not hold ends the program.
 */
#ifndef _RDS_FUZZ_H
#define _RDS_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "proto/plat.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t n);

/* An input to start from; they end with one that has no bytes. */
struct fuzz_seed {
	size_t		n;
	const char	*bytes;
};

extern const struct fuzz_seed fuzz_seeds[];

#define HOLDS(cond)								\
	do {									\
		if (!(cond)) {							\
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);\
			abort();						\
		}								\
	} while (0)

#endif
