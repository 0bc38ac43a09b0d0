// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDS sockets: keys, operations, messages and notifications. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rt.h"

int rt_open(const struct rt_addr *self, uint16_t port)
{
	struct rt_addr a = *self;
	int fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
	    trans = RDS_TRANS_IB;
	int big = 8 << 20;

	if (fd < 0)
		return -errno;
	rt_addr_port(&a, port);
	if (setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &trans, sizeof(trans)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &big, sizeof(big)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big)) ||
	    bind(fd, (struct sockaddr *)&a.ss, a.len)) {
		int err = errno;

		close(fd);
		return -err;
	}
	return fd;
}

/*
 * Set up @r for a program that has all sockets: r->fd at @self, and, returned,
 * one at @peer, whose address is *@there.
 */
int rt_open_both(struct rt *r, const char *self, const char *peer,
		 uint16_t port, struct rt_addr *there)
{
	int fd;

	if (!rt_addr_parse(&r->self, self) || !rt_addr_parse(&r->peer, peer))
		die("no address: %s or %s", self, peer);
	r->slow = rt_slow();
	forget_tokens(r);
	rt_addr_port(&r->self, port);
	*there = r->peer;
	rt_addr_port(there, port);
	r->fd = rt_open(&r->self, port);
	fd = rt_open(&r->peer, port);
	if (r->fd < 0 || fd < 0)
		die("no sockets: %d, %d", r->fd, fd);
	return fd;
}

/* Send one message with one control message; return 0 or a negative errno. */
int cmsg_send(int fd, const struct rt_addr *to, int type, const void *arg,
	      size_t arglen, const void *data, size_t len)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(256)];
	} c = { 0 };
	struct iovec iov = { (void *)data, len };
	struct msghdr m = { .msg_name = (void *)&to->ss,
			    .msg_namelen = to->len,
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = c.room,
			    .msg_controllen = CMSG_SPACE(arglen) };

	c.h.cmsg_level = SOL_RDS;
	c.h.cmsg_type = type;
	c.h.cmsg_len = CMSG_LEN(arglen);
	memcpy(CMSG_DATA(&c.h), arg, arglen);
	return sendmsg(fd, &m, MSG_DONTWAIT) < 0 ? -errno : 0;
}

int rdma_send(int fd, const struct rt_addr *to, const struct rdma_op *op)
{
	struct rds_rdma_args args = {
		.cookie = op->cookie, .remote_vec = { op->remote, op->bytes },
		.local_vec_addr = (uintptr_t)op->vec, .nr_local = op->nvec,
		.flags = op->flags, .user_token = op->token,
	};

	return cmsg_send(fd, to, RDS_CMSG_RDMA_ARGS, &args, sizeof(args),
			 op->data, op->len);
}

/*
 * Request a key for local memory; with HOW_MAP a message to @dest carries the
 * key at once.
 */
int take_key(int fd, const struct rt_addr *dest, enum how way, void *p,
	     uint64_t len, uint64_t flags, uint64_t *cookie)
{
	struct rds_get_mr_args mr = { .vec = { (uintptr_t)p, len },
				      .cookie_addr = (uintptr_t)cookie, .flags = flags };
	struct rds_get_mr_for_dest_args to = { .vec = mr.vec,
					       .cookie_addr = mr.cookie_addr,
					       .flags = flags };

	switch (way) {
	case HOW_MAP:
		return cmsg_send(fd, dest, RDS_CMSG_RDMA_MAP, &mr, sizeof(mr),
				 "key", 3);
	case HOW_GET_MR:
		return setsockopt(fd, SOL_RDS, RDS_GET_MR, &mr, sizeof(mr)) ?
			       -errno :
			       0;
	default:
		memcpy(&to.dest_addr, &dest->ss, dest->len);
		return setsockopt(fd, SOL_RDS, RDS_GET_MR_FOR_DEST, &to,
				  sizeof(to)) ?
			       -errno :
			       0;
	}
}

int free_key(int fd, uint64_t cookie, uint64_t flags)
{
	struct rds_free_mr_args args = { .cookie = cookie, .flags = flags };

	return setsockopt(fd, SOL_RDS, RDS_FREE_MR, &args, sizeof(args)) ?
		       -errno :
		       0;
}

static void note(struct rt *r, const struct rds_rdma_notify *n)
{
	r->notes++;
	if (n->user_token >= MAX_TOKENS) {
		r->strange++;
		return;
	}
	if (r->told[n->user_token] < 255)
		r->told[n->user_token]++;
	r->status[n->user_token] = n->status;
}

void forget_tokens(struct rt *r)
{
	memset(r->told, 0, sizeof(r->told));
	for (size_t i = 0; i < MAX_TOKENS; i++)
		r->status[i] = STATUS_NONE;
	r->notes = r->strange = 0;
}

/*
 * Receive one message within @ms milliseconds; return its length, or
 * -ETIMEDOUT. A notification that precedes it is recorded by its token, and
 * -EINTR is returned.
 */
int recv_one(struct rt *r, int fd, void *buf, size_t size, int ms,
	     uint64_t *cookie)
{
	union {
		struct cmsghdr h;
		char room[4096];
	} c;
	struct sockaddr_storage from;
	struct iovec iov = { buf, size };
	struct msghdr m = { .msg_name = &from,
			    .msg_namelen = sizeof(from),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = c.room,
			    .msg_controllen = sizeof(c.room) };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
	bool noted = false;

	if (n < 0 && errno == EAGAIN && ms) {
		poll(&p, 1, ms);
		n = recvmsg(fd, &m, MSG_DONTWAIT);
	}
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (cookie)
		*cookie = 0;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_level != SOL_RDS)
			continue;
		if (h->cmsg_type == RDS_CMSG_RDMA_STATUS) {
			struct rds_rdma_notify one;

			memcpy(&one, CMSG_DATA(h), sizeof(one));
			note(r, &one);
			noted = true;
		}
		if (h->cmsg_type == RDS_CMSG_RDMA_DEST && cookie)
			memcpy(cookie, CMSG_DATA(h), 8);
	}
	return noted || !m.msg_namelen ? -EINTR : (int)n;
}

/*
 * Wait for the status of an operation; STATUS_NONE if no notification comes in
 * time.
 */
int wait_token(struct rt *r, int fd, uint64_t token, int ms)
{
	uint64_t end = now_ns() + (uint64_t)ms * r->slow * 1000000ull;
	char scrap[64];

	while (!r->told[token] && now_ns() < end)
		recv_one(r, fd, scrap, sizeof(scrap), 100, NULL);
	return r->told[token] ? r->status[token] : STATUS_NONE;
}

/*
 * Cut the connection between the two addresses: a WRITE with an unknown key is
 * a protection error, after which a queue pair cannot be used any more.
 */
int poke(struct rt *r)
{
	int fd = rt_open(&r->self, 0), rc;
	static uint8_t bytes[64];
	struct rds_iovec v = { (uintptr_t)bytes, sizeof(bytes) };
	struct rdma_op op = { .cookie = 0xfffffe77u,
			      .bytes = sizeof(bytes),
			      .vec = &v,
			      .nvec = 1,
			      .flags = RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME,
			      .token = 1 };
	struct rt_addr to = r->peer;
	static struct rt other;

	if (fd < 0)
		return -fd;
	rt_addr_port(&to, 0);
	rt_addr_port(&to, (uint16_t)(r->port + 900));
	other.slow = r->slow;
	forget_tokens(&other);
	rc = rdma_send(fd, &to, &op);
	if (!rc)
		wait_token(&other, fd, 1, 10000);
	close(fd);
	return -rc;
}
