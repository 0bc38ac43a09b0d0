// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * librds_sock.so, for LD_PRELOAD: a stream socket of IPv4 or IPv6 becomes a
 * stream of RDS. Nothing but the protocol changes. RDS_IPPROTO is its number,
 * where that is not IPPROTO_RDS_STREAM.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/rds_stream.h>

#define TYPE_MASK 0xf	/* the rest of socket()'s second argument are flags */

int socket(int domain, int type, int protocol)
{
	const char *number = getenv("RDS_IPPROTO");

	if ((domain == AF_INET || domain == AF_INET6) &&
	    (type & TYPE_MASK) == SOCK_STREAM &&
	    (!protocol || protocol == IPPROTO_TCP))
		protocol = number ? atoi(number) : IPPROTO_RDS_STREAM;
	return (int)syscall(SYS_socket, domain, type, protocol);
}
