// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-smcsocket.so, for LD_PRELOAD: a stream socket of TCP over IPv4 becomes
 * one of SMC, which goes on over TCP if SMC-R does not come up.
 */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AF_SMC
#define AF_SMC		43
#endif

int socket(int domain, int type, int protocol)
{
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (domain == AF_INET && kind == SOCK_STREAM)
		return (int)syscall(SYS_socket, AF_SMC, type, 0);
	return (int)syscall(SYS_socket, domain, type, protocol);
}
