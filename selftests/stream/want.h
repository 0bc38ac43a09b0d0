/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a case of a program of streams wants of its calls, and how it runs. */
#ifndef SELFTESTS_STREAM_WANT_H
#define SELFTESTS_STREAM_WANT_H

#include <stdbool.h>

/** wants_failed - how often a case has got something else than it wanted */
extern int wants_failed;

/** err() - @r, or -errno if it is -1 */
long err(long r);

/**
 * want_at() - the case fails unless @got is @want
 * @what: the call, which is printed
 */
void want_at(int line, const char *what, long got, long want);

/** WANT() - a call returns @want, or fails with -@want */
#define WANT(call, want) want_at(__LINE__, #call, err(call), want)

/** TRUE() - a condition holds */
#define TRUE(cond) want_at(__LINE__, #cond, !!(cond), 1)

/**
 * run_alone() - run a case in a process of its own
 * @name: its name, for a line about its end by a signal
 * @run: the case
 * @arg: its argument
 *
 * A case that hangs is ended by SIGALRM.
 *
 * Return: false if it wanted something that it did not get, or was ended.
 */
bool run_alone(const char *name, void (*run)(const void *arg), const void *arg);

#endif
