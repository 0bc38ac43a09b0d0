/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Each f_<name>.c defines the entry point that libFuzzer calls.  A property
 * that does not hold aborts the fuzzer, which libFuzzer reports.
 */
#ifndef _RDS_FUZZ_H
#define _RDS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Writes to descriptor 2, as fuzzers of programs redirect stderr. */
#define HOLDS(cond)							\
	do {								\
		if (!(cond)) {						\
			dprintf(2, "%s:%d: does not hold: %s\n",	\
				__FILE__, __LINE__, #cond);		\
			abort();					\
		}							\
	} while (0)

/* The unread rest of the input; reads beyond its end return zeros. */
struct fuzz_in {
	const uint8_t	*p;
	size_t		n;
};

static inline uint8_t fuzz_byte(struct fuzz_in *in)
{
	if (!in->n)
		return 0;
	in->n--;
	return *in->p++;
}

/*
 * Copy of the next @len bytes, or of all that are left, in heap memory of the
 * exact size, so that ASan reports reads past the end.  The caller frees it.
 */
static inline uint8_t *fuzz_copy(struct fuzz_in *in, size_t len, size_t *got)
{
	uint8_t *copy;

	*got = len < in->n ? len : in->n;
	copy = malloc(*got);
	if (*got)
		memcpy(copy, in->p, *got);
	in->p += *got;
	in->n -= *got;
	return copy;
}

#endif
