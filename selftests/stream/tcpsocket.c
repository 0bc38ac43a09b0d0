// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-tcpsocket.so, for LD_PRELOAD: a stream socket of RDS becomes one of TCP
 * over IPv4. With it programs for streams can be tried where the modules are
 * not loaded.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "rdstest.h"

#define SOL_RDMA 0x10000

int socket(int domain, int type, int protocol)
{
	return (int)syscall(SYS_socket, domain == AF_RDS ? AF_INET : domain,
			    type, protocol);
}

/* Sizes of queues, which TCP does not have, are accepted. */
int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (level == SOL_RDMA)
		return 0;
	return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}
