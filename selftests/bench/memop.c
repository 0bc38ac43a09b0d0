// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Remote memory operations per second: the receiver sends a key of its memory,
 * the sender writes or reads the memory with up to DEPTH operations under way,
 * and waits for the notification of each.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench.h"

#define DEPTH	4

static void *memory(const struct bench *b)
{
	void *p = mmap(NULL, b->size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %m");
	/* Whether 1 MiB lies in a huge page would depend on its neighbours. */
	if (madvise(p, b->size, MADV_NOHUGEPAGE) && errno != EINVAL)
		die("madvise: %m");
	memset(p, 0x5a, b->size);
	return p;
}

/* Send a control message; -1 with errno EAGAIN while there is no connection. */
static ssize_t send_ctl(const struct bench *b, int fd, bool to_receiver,
			int type, const void *ctl, size_t n)
{
	char control[CMSG_SPACE(128)] = { 0 };
	union addr to = bench_addr(b, to_receiver, 0, bench_port);
	struct msghdr msg = {
		.msg_name = &to, .msg_namelen = addr_len(&to),
		.msg_control = control, .msg_controllen = CMSG_SPACE(n),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_RDS;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), ctl, n);
	return sendmsg(fd, &msg, 0);
}

/* Wait and receive; returns the number of notifications; @cookie gets a key. */
static unsigned int receive(int fd, rds_rdma_cookie_t *cookie)
{
	char control[1024];
	struct msghdr msg = { .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct rds_rdma_notify n;
	unsigned int done = 0;
	struct cmsghdr *c;

	readable(fd, -1);
	if (recvmsg(fd, &msg, MSG_DONTWAIT) < 0) {
		if (errno == EAGAIN)
			return 0;
		die("recvmsg: %m");
	}
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_RDS)
			continue;
		if (c->cmsg_type == RDS_CMSG_RDMA_DEST && cookie)
			memcpy(cookie, CMSG_DATA(c), sizeof(*cookie));
		if (c->cmsg_type != RDS_CMSG_RDMA_STATUS)
			continue;
		memcpy(&n, CMSG_DATA(c), sizeof(n));
		if (n.status != RDS_RDMA_SUCCESS) {
			fprintf(stderr, "rds-bench: operation ended with %d\n",
				n.status);
			exit(1);
		}
		done++;
	}
	return done;
}

void memop_tx(const struct bench *b, const struct bench_link *l)
{
	int fd = bench_open(b, false, 0);
	struct rds_iovec iov = { .addr = (uintptr_t)memory(b),
				 .bytes = b->size };
	struct rds_rdma_args args = {
		.remote_vec.bytes = b->size, .local_vec_addr = (uintptr_t)&iov, .nr_local = 1,
		.flags = RDS_RDMA_NOTIFY_ME | (strcmp(b->what, "write") ? 0 : RDS_RDMA_READWRITE),
	};
	unsigned int sent = 0, done = 0, warm = DEPTH;
	uint64_t start = 0;

	link_tell(l->to_rx[1]);
	while (!args.cookie)
		receive(fd, &args.cookie);
	while (done < warm + b->count) {
		if (done == warm && !start) {
			sampling(true);
			start = now_ns();
			sent = done;
		}
		while (sent < (start ? warm + b->count : warm) &&
		       sent - done < DEPTH) {
			args.user_token = sent++;
			if (send_ctl(b, fd, true, RDS_CMSG_RDMA_ARGS, &args,
				     sizeof(args)) < 0)
				die("sendmsg: %m");
		}
		done += receive(fd, NULL);
	}
	start = now_ns() - start;
	sampling(false);
	printf("%.1f\n", b->count * 1e9 / (double)start);
	link_tell(l->to_rx[1]);
}

void memop_rx(const struct bench *b, const struct bench_link *l)
{
	int fd = bench_open(b, true, 0);
	rds_rdma_cookie_t cookie;
	struct rds_get_mr_args mr = {
		.vec = { (uintptr_t)memory(b), b->size }, .cookie_addr = (uintptr_t)&cookie,
		.flags = RDS_RDMA_READWRITE,
	};

	link_wait(l->to_rx[0]);
	/* In-tree registers memory only over a connection, and starts one. */
	while (send_ctl(b, fd, false, RDS_CMSG_RDMA_MAP, &mr, sizeof(mr)) < 0) {
		if (errno != EAGAIN)
			die("map: %m");
		usleep(1000);
	}
	link_wait(l->to_rx[0]);
}
