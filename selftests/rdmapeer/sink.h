/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program on the module under test, which answers the peer (hostile.c). */
#ifndef SELFTESTS_SINK_H
#define SELFTESTS_SINK_H

#include <stddef.h>
#include <stdint.h>

#define SINK_PORT	4000
#define JAM_PORT	4001
#define OUR_PORT	5000
#define OUR_OTHER_PORT	5001

uint64_t sink_hash(const uint8_t *p, size_t n);

/* Answer messages until the message "stop"; returns the exit status. */
int sink(const char *addr);

#endif
