/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Helpers of the namespace tests: sockets in a named namespace, messages, dumps
 * and counters.
 */
#ifndef RDS_SELFTEST_NSLIB_H
#define RDS_SELFTEST_NSLIB_H

#include "rdstest.h"

#define MAX_COUNTERS	128

/* A non-blocking socket bound in namespace @ns (NULL: the current one). */
int rds_socket(const char *ns, const char *addr, uint16_t port);
/* As rds_socket(), but false with errno and an open @fd if bind() fails. */
bool rds_try_bind(const char *ns, const char *addr, uint16_t port, int *fd);
/* Send a message with MSG_DONTWAIT; returns 0 or -errno. */
int rds_send(int fd, const char *addr, uint16_t port, const void *data,
	     size_t len);

/* The dump of @fd's namespace; the caller frees it with snap_free(). */
struct snap rds_dump(int fd, int id);
unsigned int rds_count(int fd, int id);
unsigned int rds_counters(int fd, uint64_t value[MAX_COUNTERS]);
uint64_t rds_counter(int fd, const char *name);

#endif
