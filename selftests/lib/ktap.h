/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Result lines for test programs. Each call makes one line with one write(), so
 * that lines of several threads, or of a program and its child, do not mix.
 * Numbers count per process, over all files of a program. The Makefile links
 * ktap.c to every program in selftests.
 */
#ifndef SELFTESTS_KTAP_H
#define SELFTESTS_KTAP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/**
 * ktap_plan() - announce how many results the program is going to print
 * @n: number of results
 *
 * A program calls it once, before its first result. The harness fails a case
 * line with fewer results than planned, because a program ended early, or with
 * more. ktap_exit() fails without a plan and on any other number than @n.
 */
void ktap_plan(int n);

/**
 * ktap_ok() - print one result
 * @cond: true if the test passed
 * @fmt: "name" or "name # details", as for printf()
 *
 * Return: @cond.
 */
__attribute__((format(printf, 2, 3)))
bool ktap_ok(bool cond, const char *fmt, ...);

/**
 * ktap_skip() - print the result of a test that cannot run
 * @fmt: "name: reason", as for printf()
 */
__attribute__((format(printf, 1, 2)))
void ktap_skip(const char *fmt, ...);

/**
 * ktap_exit() - compute the exit status of a test program
 *
 * Return: 0 if there were results, exactly as many as planned, and none failed;
 * otherwise 1.
 */
int ktap_exit(void);

#endif
