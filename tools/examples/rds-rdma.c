// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Remote memory in RDS: a server registers a page for a client, which writes
 * into the page and reads it back.
 *
 *   rds-rdma server 10.0.0.1            on the host with that address
 *   rds-rdma client 10.0.0.2 10.0.0.1   on another host: own address, the
 *                                       server's address
 *
 * The server registers the page and sends its key. Each RDMA operation of the
 * client is sent with an ordinary message: the server receives "written" after
 * the RDMA write, and "read" after the RDMA read.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/rds.h>

#define PORT 4005
#define WRITTEN "hello, memory"
#define CHANGED "HELLO, MEMORY"

/* Server: the registered page. Client: source and destination of RDMA. */
static char page[4096] __attribute__((aligned(4096)));
static int fd;
static int messages, statuses;		/* received so far */
static struct sockaddr_in peer;		/* sender of the last message */
static rds_rdma_cookie_t key;		/* received with a message */

static void fail(const char *what)
{
	fprintf(stderr, "rds-rdma: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sockaddr_in address(const char *ip, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port) };

	errno = EINVAL;
	if (inet_pton(AF_INET, ip, &a.sin_addr) != 1)
		fail(ip);
	return a;
}

/* Without SO_RDS_TRANSPORT bind() chooses any transport with the address. */
static void open_socket(struct sockaddr_in a)
{
	struct timeval limit = { .tv_sec = 30 };
	int transport = RDS_TRANS_IB;

	fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	if (fd < 0)
		fail("socket");
	if (setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &transport,
		       sizeof(transport)))
		fail("no RDMA transport (is rds_rdma loaded?)");
	if (bind(fd, (void *)&a, sizeof(a)))
		fail("bind (is it the address of an RDMA device?)");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* Send @text to the peer, with a control message if @len is not 0. */
static void transmit(const char *text, int type, const void *data, size_t len)
{
	_Alignas(struct cmsghdr) char control[256];
	struct cmsghdr *c = (void *)control;
	struct iovec iov = { (void *)text, strlen(text) };
	struct msghdr msg = { .msg_name = &peer, .msg_namelen = sizeof(peer),
			      .msg_iov = &iov, .msg_iovlen = 1 };

	if (len) {
		*c = (struct cmsghdr){ CMSG_LEN(len), SOL_RDS, type };
		memcpy(CMSG_DATA(c), data, len);
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(len);
	}
	if (sendmsg(fd, &msg, 0) < 0)
		fail(text);
}

static void take_control(const struct cmsghdr *c)
{
	struct rds_rdma_notify n;

	if (c->cmsg_level == SOL_RDS && c->cmsg_type == RDS_CMSG_RDMA_DEST)
		memcpy(&key, CMSG_DATA(c), sizeof(key));
	if (c->cmsg_level != SOL_RDS || c->cmsg_type != RDS_CMSG_RDMA_STATUS)
		return;
	memcpy(&n, CMSG_DATA(c), sizeof(n));
	printf("status of operation %llu: %d\n",
	       (unsigned long long)n.user_token, n.status);
	if (n.status != RDS_RDMA_SUCCESS)
		exit(1);
	statuses++;
}

/*
 * Receive until @want_messages messages and @want_statuses statuses have
 * arrived since the start of the program. For a status, recvmsg() returns 0 and
 * no address.
 */
static void receive(int want_messages, int want_statuses)
{
	while (messages < want_messages || statuses < want_statuses) {
		_Alignas(struct cmsghdr) char control[256];
		struct sockaddr_in from;
		char text[64];
		struct iovec iov = { text, sizeof(text) };
		struct msghdr msg = { .msg_name = &from,
				      .msg_namelen = sizeof(from),
				      .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = control,
				      .msg_controllen = sizeof(control) };
		ssize_t len = recvmsg(fd, &msg, 0);
		struct cmsghdr *c;

		if (len < 0)
			fail("recvmsg");
		for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
			take_control(c);
		if (!msg.msg_namelen)
			continue;
		printf("message: %.*s\n", (int)len, text);
		peer = from;
		messages++;
	}
}

/*
 * Start an RDMA operation between the local page and the memory of the key, and
 * send @text with it. The status message of the operation repeats @token.
 */
static void rdma(const char *text, uint64_t flags, uint64_t token)
{
	struct rds_iovec local = { (uintptr_t)page, sizeof(page) };
	struct rds_rdma_args args = {
		.cookie = key, .remote_vec = { .addr = 0, .bytes = sizeof(page) },
		.local_vec_addr = (uintptr_t)&local, .nr_local = 1,
		.flags = flags | RDS_RDMA_NOTIFY_ME, .user_token = token,
	};

	transmit(text, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
}

static int server(const char *self)
{
	struct rds_free_mr_args lent = { 0 };
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)page, sizeof(page) }, .cookie_addr = (uintptr_t)&lent.cookie,
		.flags = RDS_RDMA_READWRITE,	/* default: read only */
	};

	open_socket(address(self, PORT));
	if (setsockopt(fd, SOL_RDS, RDS_GET_MR, &args, sizeof(args)) &&
	    errno != EOPNOTSUPP)
		fail("RDS_GET_MR");
	puts("waiting");
	receive(1, 0);
	if (lent.cookie)
		transmit("key", RDS_CMSG_RDMA_DEST, &lent.cookie,
			 sizeof(lent.cookie));
	else	/* In-tree RDS makes keys only with the message that has one. */
		transmit("key", RDS_CMSG_RDMA_MAP, &args, sizeof(args));
	receive(2, 0);
	printf("the page says: %.40s\n", page);
	if (strcmp(page, WRITTEN))
		return 1;
	strcpy(page, CHANGED);
	transmit("changed", 0, NULL, 0);
	receive(3, 0);
	if (setsockopt(fd, SOL_RDS, RDS_FREE_MR, &lent, sizeof(lent)))
		fail("RDS_FREE_MR");
	return 0;
}

static int client(const char *self, const char *other)
{
	open_socket(address(self, 0));
	peer = address(other, PORT);
	transmit("hello", 0, NULL, 0);
	receive(1, 0);
	strcpy(page, WRITTEN);
	rdma("written", RDS_RDMA_READWRITE, 1);
	receive(2, 1);
	memset(page, 0, sizeof(page));
	/*
	 * The fence delays the message until the RDMA read is complete. An RDMA
	 * write precedes its message without a fence.
	 */
	rdma("read", RDS_RDMA_FENCE, 2);
	receive(2, 2);
	printf("the page says: %.40s\n", page);
	return strcmp(page, CHANGED) != 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "server"))
		return server(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "client"))
		return client(argv[2], argv[3]);
	fprintf(stderr,
		"usage: rds-rdma server ADDRESS | rds-rdma client ADDRESS SERVER\n");
	return 2;
}
