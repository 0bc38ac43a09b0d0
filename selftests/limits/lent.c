// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-lent NAME: MSG_ZEROCOPY from the namespace A to B of the same machine.  Where
 * the link is memory, the receiver's socket buffers refer to the pages that the
 * sender lends.  Once the sender is told that they are its own again, it writes
 * to them, and a message that waits for its reader must not change.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rdstest.h"

#define LEN	(256 * 1024)
#define ROUNDS	20

#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY	0x4000000
#endif
#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY	60
#endif

static void lend(int fd, const union addr *to, void *mem, uint32_t cookie)
{
	char control[CMSG_SPACE(sizeof(cookie))] = "";
	struct iovec iov = { mem, LEN };
	struct msghdr m = {
		.msg_name = (void *)to, .msg_namelen = addr_len(to),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_RDS;
	c->cmsg_type = RDS_CMSG_ZCOPY_COOKIE;
	c->cmsg_len = CMSG_LEN(sizeof(cookie));
	memcpy(CMSG_DATA(c), &cookie, sizeof(cookie));
	if (sendmsg(fd, &m, MSG_ZEROCOPY) != LEN)
		die("sendmsg: %m");
}

/* Wait until the memory of the message with the cookie is the program's again. */
static void completed(int fd, uint32_t cookie)
{
	struct rds_zcopy_cookies got;
	char control[256], text[8];
	struct iovec iov = { text, sizeof(text) };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;

	if (recvmsg(fd, &m, 0) < 0)
		die("completion: %m");
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != RDS_CMSG_ZCOPY_COMPLETION)
		die("no completion");
	memcpy(&got, CMSG_DATA(c), sizeof(got));
	if (got.num != 1 || got.cookies[0] != cookie)
		die("%u cookies, first %u", got.num, got.cookies[0]);
}

int main(int argc, char **argv)
{
	const union addr a = addr_of("10.0.0.1", 4000),
			 b = addr_of("10.0.0.2", 4000);
	unsigned int changed = 0, one = 1;
	static char got[LEN];
	int from, to;
	char *mem;

	if (argc != 2)
		return 2;
	netns_enter("A");
	from = rds_bound(&a, 0);
	netns_enter("B");
	to = rds_bound(&b, 0);
	rds_buffers(from, 4 * LEN);
	rds_buffers(to, 4 * LEN);
	set_timeo(from, SO_RCVTIMEO, 20000 * slow_factor());
	set_timeo(to, SO_RCVTIMEO, 20000 * slow_factor());
	if (setsockopt(from, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		die("SO_ZEROCOPY: %m");
	mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		die("mmap: %m");
	ktap_plan(1);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		fill(mem, LEN, i);
		lend(from, &b, mem, i);
		completed(from, i);
		memset(mem, 0xee, LEN);
		if (recv(to, got, LEN, 0) != LEN)
			die("recv: %m");
		changed += !filled(got, LEN, i);
	}
	ktap_ok(!changed, "limits.lent.%s # %u of %u messages changed", argv[1],
		changed, ROUNDS);
	return ktap_exit();
}
