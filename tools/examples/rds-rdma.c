// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Remote memory in RDS: a server lends a page to a client, which writes into it and reads it back.
 *
 *   rds-rdma server 10.0.0.1            on the host with that address
 *   rds-rdma client 10.0.0.2 10.0.0.1   on another: own address, the server's
 *
 * The server registers the page and sends its key. The client's RDMA operations go along with
 * ordinary messages: the server gets "written" when the write is done, and "read" after the read.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/rds.h>

#define PORT 4005
#define GREETING "hello, memory"

static char page[4096] __attribute__((aligned(4096)));	/* server: lent; client: from and to */

static void fail(const char *what)
{
	fprintf(stderr, "rds-rdma: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sockaddr_in address(const char *ip, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	errno = EINVAL;
	if (inet_pton(AF_INET, ip, &a.sin_addr) != 1)
		fail(ip);
	return a;
}

/* Without the option bind() would choose any transport that has the address. */
static int open_socket(struct sockaddr_in a)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0), transport = RDS_TRANS_IB;
	struct timeval limit = { .tv_sec = 30 };

	if (fd < 0)
		fail("socket");
	if (setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &transport, sizeof(transport)))
		fail("no RDMA transport (is rds_rdma loaded?)");
	if (bind(fd, (void *)&a, sizeof(a)))
		fail("bind (is it the address of an RDMA device?)");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

/* Sends a text, and with it one control message if @data is not NULL. */
static void transmit(int fd, struct sockaddr_in to, const char *text, int type, const void *data,
		     size_t len)
{
	_Alignas(struct cmsghdr) char control[256];
	struct cmsghdr *c = (void *)control;
	struct iovec iov = { (void *)text, strlen(text) };
	struct msghdr msg = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov,
			      .msg_iovlen = 1 };

	if (data) {
		c->cmsg_level = SOL_RDS;
		c->cmsg_type = type;
		c->cmsg_len = CMSG_LEN(len);
		memcpy(CMSG_DATA(c), data, len);
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(len);
	}
	if (sendmsg(fd, &msg, 0) < 0)
		fail(text);
}

struct inbox {
	unsigned int messages, statuses;	/* how many came so far */
	struct sockaddr_in from;		/* of the last message */
	rds_rdma_cookie_t key;			/* that came with a message */
};

/* A message, or a notice: then recvmsg() returns 0, and only control messages. */
static void receive(int fd, struct inbox *in)
{
	_Alignas(struct cmsghdr) char control[256];
	struct sockaddr_in from;
	char text[64];
	struct iovec iov = { text, sizeof(text) };
	struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov,
			      .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct rds_rdma_notify n;
	struct cmsghdr *c;
	ssize_t len = recvmsg(fd, &msg, 0);

	if (len < 0)
		fail("recvmsg");
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level == SOL_RDS && c->cmsg_type == RDS_CMSG_RDMA_DEST)
			memcpy(&in->key, CMSG_DATA(c), sizeof(in->key));
		if (c->cmsg_level != SOL_RDS || c->cmsg_type != RDS_CMSG_RDMA_STATUS)
			continue;
		memcpy(&n, CMSG_DATA(c), sizeof(n));
		printf("status of operation %llu: %d\n", (unsigned long long)n.user_token, n.status);
		if (n.status != RDS_RDMA_SUCCESS)
			exit(1);
		in->statuses++;
	}
	if (msg.msg_namelen) {
		printf("message: %.*s\n", (int)len, text);
		in->from = from;
		in->messages++;
	}
}

/* Between the page here and the memory behind @key; the status will bear the token. */
static void rdma(int fd, struct sockaddr_in to, const char *text, rds_rdma_cookie_t key,
		 uint64_t flags, uint64_t token)
{
	struct rds_iovec local = { (uintptr_t)page, sizeof(page) };
	struct rds_rdma_args args = {
		.cookie = key, .remote_vec = { .addr = 0, .bytes = sizeof(page) },
		.local_vec_addr = (uintptr_t)&local, .nr_local = 1,
		.flags = flags | RDS_RDMA_NOTIFY_ME, .user_token = token,
	};

	transmit(fd, to, text, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
}

static int server(const char *self)
{
	struct rds_free_mr_args done = { 0 };
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)page, sizeof(page) }, .cookie_addr = (uintptr_t)&done.cookie,
		.flags = RDS_RDMA_READWRITE,	/* without it the page could only be read */
	};
	int fd = open_socket(address(self, PORT)), i;
	struct inbox in = { 0 };
	int early = !setsockopt(fd, SOL_RDS, RDS_GET_MR, &args, sizeof(args));

	if (!early && errno != EOPNOTSUPP)
		fail("RDS_GET_MR");
	puts("waiting");
	while (in.messages < 1)
		receive(fd, &in);
	/* Where a key cannot be had beforehand, it can be made together with the message. */
	if (early)
		transmit(fd, in.from, "key", RDS_CMSG_RDMA_DEST, &done.cookie, sizeof(done.cookie));
	else
		transmit(fd, in.from, "key", RDS_CMSG_RDMA_MAP, &args, sizeof(args));
	while (in.messages < 2)
		receive(fd, &in);
	printf("the page says: %s\n", page);
	for (i = 0; page[i]; i++)
		page[i] = toupper((unsigned char)page[i]);
	transmit(fd, in.from, "changed", 0, NULL, 0);
	while (in.messages < 3)
		receive(fd, &in);
	if (setsockopt(fd, SOL_RDS, RDS_FREE_MR, &done, sizeof(done)))
		fail("RDS_FREE_MR");
	return strcmp(page, "HELLO, MEMORY") != 0;
}

static int client(const char *self, const char *peer)
{
	struct sockaddr_in to = address(peer, PORT);
	int fd = open_socket(address(self, 0));
	struct inbox in = { 0 };

	transmit(fd, to, "hello", 0, NULL, 0);
	while (in.messages < 1)
		receive(fd, &in);
	strcpy(page, GREETING);
	rdma(fd, to, "written", in.key, RDS_RDMA_READWRITE, 1);
	while (in.messages < 2 || in.statuses < 1)
		receive(fd, &in);
	memset(page, 0, sizeof(page));
	/* The fence keeps the message behind the read; a write is ahead of it anyway. */
	rdma(fd, to, "read", in.key, RDS_RDMA_FENCE, 2);
	while (in.statuses < 2)
		receive(fd, &in);
	printf("the page says: %s\n", page);
	return strcmp(page, "HELLO, MEMORY") != 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "server"))
		return server(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "client"))
		return client(argv[2], argv[3]);
	fprintf(stderr, "usage: rds-rdma server ADDRESS\n       rds-rdma client ADDRESS SERVER\n");
	return 2;
}
