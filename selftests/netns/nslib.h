/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the namespace tests share: sockets in a named namespace, information dumps, waiting. */
#ifndef RDS_SELFTEST_NSLIB_H
#define RDS_SELFTEST_NSLIB_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef AF_RDS
#define AF_RDS	21
#endif
#ifndef SOL_RDS
#define SOL_RDS	276
#endif

#define MAX_COUNTERS	128

struct dump {
	unsigned char *p;
	unsigned int n, size;	/* records and bytes of each */
};

void bail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void ns_enter(const char *name);
struct sockaddr_in v4(const char *addr, uint16_t port);
int rds_socket(const char *ns, const char *addr, uint16_t port);
bool rds_try_bind(const char *ns, const char *addr, uint16_t port, int *fd);
int rds_send(int fd, const char *addr, uint16_t port, const void *data, size_t len);
bool readable(int fd, int ms);
uint64_t now_ms(void);

/* Takes the dump as seen by fd's namespace; the caller frees p. */
struct dump rds_dump(int fd, int id);
unsigned int rds_count(int fd, int id);
unsigned int rds_counters(int fd, uint64_t value[MAX_COUNTERS]);
uint64_t rds_counter(int fd, const char *name);

#endif
