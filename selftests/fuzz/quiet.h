/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For fuzzers of programs: the output of the program is discarded, and where
 * the program would exit, the fuzzer goes on with the next input.
 */
#ifndef _RDS_FUZZ_QUIET_H
#define _RDS_FUZZ_QUIET_H

#include <setjmp.h>
#include <stdbool.h>

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

static jmp_buf fuzz_end;
static bool fuzz_running;

/* libFuzzer's own messages do not use stdout and stderr as set here. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	FILE *null = fopen("/dev/null", "w");

	(void)argc;
	(void)argv;
	HOLDS(null);
	stdout = null;
	stderr = null;
	return 0;
}

/* In place of exit(): jump back to LLVMFuzzerTestOneInput(). */
static inline void __attribute__((noreturn)) fuzz_leave(void)
{
	HOLDS(fuzz_running);
	fuzz_running = false;
	longjmp(fuzz_end, 1);
}

#endif
