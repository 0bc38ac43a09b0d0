// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whether RDMA is possible from the local address. This version transfers
 * nothing by RDMA: it tells so instead of pretending.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include <linux/rds.h>

#include "stress.h"

void rdma_probe(const struct options *o)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(o->recv_addr),
		.sin_port = htons(o->port),
	};
	struct rds_free_mr_args args = { 0 };
	int fd = rt_socket();

	if (fd < 0)
		die_errno("socket(%d, 5, 0) failed", rt_family());
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)))
		die_errno("bind() failed");
	if (setsockopt(fd, rt_level(), RDS_FREE_MR, &args, sizeof(args))) {
		if (errno == ENOPROTOOPT)
			die("RDMA not supported by this kernel\n");
		die_errno("check_rdma_support: RDS_FREE_MR failed with unexpected error");
	}
	close(fd);
	die("this rds-stress does not support RDMA\n");
}
