// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The program on the module under test; hostile.c describes its answers. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdstest.h"
#include "sink.h"

#define MSG_MAX		(1024 * 1024)

uint64_t sink_hash(const uint8_t *p, size_t n)
{
	uint64_t h = 14695981039346656037ULL;

	while (n--)
		h = (h ^ *p++) * 1099511628211ULL;
	return h;
}

/*
 * Answer "drops NUMBER NAME" with "NUMBER VALUE", so that a late answer is
 * recognised.
 */
static void drops_line(const char *ask, char *out, size_t room)
{
	char line[80], key[40], name[40] = "";
	unsigned long long v;
	unsigned int number = 0;
	FILE *f = fopen("/proc/net/rds/drops", "re");

	sscanf(ask, "drops %u %39s", &number, name);
	snprintf(out, room, "%u none", number);
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%39s %llu", key, &v) == 2 &&
		    !strcmp(key, name))
			snprintf(out, room, "%u %llu", number, v);
	}
	if (f)
		fclose(f);
}

/*
 * Wait for a notification and return its status, or -1 if none comes. poll()
 * reports a changed congestion map as input, too, so that recvmsg() may find
 * nothing.
 */
static int notified(int fd)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(struct rds_rdma_notify))];
	} c;
	struct rds_rdma_notify note;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct msghdr m = { .msg_control = &c, .msg_controllen = sizeof(c) };
	long end = now_ms() + 10000, left = 10000;
	ssize_t got = -1;

	while (got < 0 && left > 0 && poll(&p, 1, (int)left) == 1) {
		got = recvmsg(fd, &m, MSG_DONTWAIT);
		left = end - now_ms();
	}
	if (got || !CMSG_FIRSTHDR(&m) || c.h.cmsg_type != RDS_CMSG_RDMA_STATUS)
		return -1;
	memcpy(&note, CMSG_DATA(&c.h), sizeof(note));
	return note.status;
}

/*
 * Answer "read NUMBER" with "NUMBER STATUS", the status of a READ with an
 * invalid key of the peer.
 */
static void read_line(union addr own, union addr *peer, const char *ask,
		      char *out, size_t room)
{
	static char into[64];
	struct rds_iovec local = { .addr = (uintptr_t)into,
				   .bytes = sizeof(into) };
	struct rds_rdma_args args = {
		.cookie = 0x1234, .remote_vec = { .bytes = sizeof(into) },
		.local_vec_addr = (uintptr_t)&local, .nr_local = 1,
		.flags = RDS_RDMA_NOTIFY_ME, .user_token = 1,
	};
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(args))];
	} c = { .h = { .cmsg_level = SOL_RDS, .cmsg_type = RDS_CMSG_RDMA_ARGS,
		       .cmsg_len = CMSG_LEN(sizeof(args)) } };
	struct iovec iov = { .iov_base = (void *)"read", .iov_len = 4 };
	struct msghdr m = { .msg_name = peer,
			    .msg_namelen = addr_len(peer),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &c,
			    .msg_controllen = sizeof(c) };
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0), ib = RDS_TRANS_IB,
	    status = -1;

	memcpy(CMSG_DATA(&c.h), &args, sizeof(args));
	addr_set_port(&own, 0);
	if (fd >= 0 &&
	    !setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &ib, sizeof(ib)) &&
	    !bind(fd, &own.sa, addr_len(&own)) && sendmsg(fd, &m, 0) == 4)
		status = notified(fd);
	else
		printf("# sink: does not read: %s\n", strerror(errno));
	if (fd >= 0)
		close(fd);
	snprintf(out, room, "%u %d", (unsigned int)strtoul(ask + 5, NULL, 10),
		 status);
	printf("# sink: asked to read: %s\n", out);
	fflush(stdout);
}

/* A socket with a small receive buffer, which only jam_line() reads */
static int jam_socket(union addr own)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0), ib = RDS_TRANS_IB, room = 1;

	addr_set_port(&own, JAM_PORT);
	if (fd >= 0 &&
	    !setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &ib, sizeof(ib)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) &&
	    !bind(fd, &own.sa, addr_len(&own)))
		return fd;
	perror("rds-hostile: socket that nobody reads");
	return -1;
}

/*
 * Answer "jam NUMBER": empty the socket, and return "NUMBER ERRNO" of a message
 * to the peer's other port.
 */
static void jam_line(int fd, union addr to, const char *ask, char *out,
		     size_t room)
{
	char buf[2048];
	int err = 0;

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
		;
	addr_set_port(&to, OUR_OTHER_PORT);
	if (sendto(fd, "other", 5, MSG_DONTWAIT, &to.sa, addr_len(&to)) < 0)
		err = errno;
	snprintf(out, room, "%u %d", (unsigned int)strtoul(ask + 4, NULL, 10),
		 err);
}

int sink(const char *addr)
{
	union addr own = addr_of(addr, SINK_PORT), from;
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0), ib = RDS_TRANS_IB;
	uint8_t *buf = malloc(MSG_MAX + 1);
	char out[80];
	int jam;

	if (fd < 0 || !buf ||
	    setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &ib, sizeof(ib)) ||
	    bind(fd, &own.sa, addr_len(&own))) {
		perror("rds-hostile: sink");
		return 1;
	}
	jam = jam_socket(own);
	if (jam < 0)
		return 1;
	printf("# sink is bound\n");
	fflush(stdout);
	for (;;) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, buf, MSG_MAX, 0, &from.sa, &len);

		if (n < 0)
			continue;
		buf[n] = 0;
		if (n == 4 && !memcmp(buf, "stop", 4))
			return 0;
		if (n > 6 && !memcmp(buf, "drops ", 6))
			drops_line((char *)buf, out, sizeof(out));
		else if (n > 5 && !memcmp(buf, "read ", 5))
			read_line(own, &from, (char *)buf, out, sizeof(out));
		else if (n > 4 && !memcmp(buf, "jam ", 4))
			jam_line(jam, from, (char *)buf, out, sizeof(out));
		else
			snprintf(out, sizeof(out), "%zd %016llx", n,
				 (unsigned long long)sink_hash(buf, (size_t)n));
		if (sendto(fd, out, strlen(out), 0, &from.sa, len) < 0) {
			printf("# sink: \"%s\" is not sent: %s\n", out,
			       strerror(errno));
			fflush(stdout);
		}
	}
}
