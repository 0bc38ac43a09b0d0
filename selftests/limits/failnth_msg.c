// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The part of rds-failnth for sendmsg() and recvmsg(). */
#define _GNU_SOURCE

#include "nth.h"

#include <errno.h>

#define MIB		(1 << 20)

#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY	0x4000000
#endif

static uint8_t big[MIB], back[MIB];

static long done(long ret)
{
	return ret < 0 ? -errno : ret;
}

void nth_come(int fd, size_t len, unsigned int seq)
{
	ssize_t n = recv(fd, back, sizeof(back), 0);

	if (n < 0) {
		nth_wrong("message %u was lost: %m", seq);
		return;
	}
	if (n != (ssize_t)len || !filled(back, len, seq))
		nth_wrong("message %u was damaged: %zd of %zu bytes", seq, n,
			  len);
	n = recv(fd, back, sizeof(back), MSG_DONTWAIT);
	if (n >= 0 || errno != EAGAIN)
		nth_wrong("message %u: 1 messages doubled: %zd", seq, n);
}

int nth_in(const char *ns, const char *host, uint16_t port, int trans)
{
	union addr a = addr_of(host, port);
	int fd;

	netns_enter(ns);
	fd = rds_open(0);
	if (trans != RDS_TRANS_NONE &&
	    setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &trans, sizeof(trans)))
		die("transport %d: %m", trans);
	if (bind(fd, &a.sa, addr_len(&a)))
		die("bind to %s: %m", host);
	rds_buffers(fd, 8 * MIB);
	set_timeo(fd, SO_SNDTIMEO, NTH_PATIENCE * slow_factor());
	set_timeo(fd, SO_RCVTIMEO, NTH_PATIENCE * slow_factor());
	return fd;
}

void nth_wait(int fd)
{
	char c;

	if (recv(fd, &c, 1, MSG_PEEK) < 0)
		die("no message: %m");
}

struct transfer {
	struct nth_link	*l;
	size_t		len;
	int		flags;	/* of the call */
	int		type;	/* of a control message, or 0 */
	unsigned int	seq;
	char		control[256];
};

static long do_send(void *arg)
{
	struct transfer *t = arg;
	struct iovec iov = { big, t->len };
	struct msghdr m = {
		.msg_name = &t->l->to, .msg_namelen = addr_len(&t->l->to),
		.msg_iov = &iov, .msg_iovlen = 1,
	};
	size_t size = t->type == RDS_CMSG_RDMA_ARGS ?
			      sizeof(struct rds_rdma_args) :
			      sizeof(uint32_t);
	struct cmsghdr *c;

	if (t->type) {
		memset(t->control, 0, sizeof(t->control));
		m.msg_control = t->control;
		m.msg_controllen = CMSG_SPACE(size);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_RDS;
		c->cmsg_type = t->type;
		c->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(c), &t->seq, sizeof(t->seq));
	}
	return done(sendmsg(t->l->tx, &m, t->flags));
}

static void new_message(void *arg)
{
	struct transfer *t = arg;

	fill(big, t->len, ++t->seq);
}

static void not_sent(void *arg)
{
	struct transfer *t = arg;

	if (recv(t->l->rx, back, sizeof(back), MSG_DONTWAIT) >= 0)
		nth_wrong("a send that failed has sent message %u", t->seq);
}

/* Receive the control data of a message, or of a completion. */
static long take(int fd, struct transfer *t, int flags)
{
	struct iovec iov = { back, sizeof(back) };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = t->control,
		.msg_controllen = sizeof(t->control),
	};
	struct cmsghdr *c;
	long ret;

	memset(back, 0, t->len);
	ret = done(recvmsg(fd, &m, flags));
	t->type = 0;
	for (c = CMSG_FIRSTHDR(&m); ret >= 0 && c; c = CMSG_NXTHDR(&m, c))
		t->type += c->cmsg_level == SOL_RDS ? c->cmsg_type : 100;
	return ret;
}

static void completed(struct transfer *t)
{
	struct transfer x = { .len = 0 };
	struct rds_zcopy_cookies z;

	if (take(t->l->tx, &x, 0) < 0) {
		nth_wrong("no completion of message %u", t->seq);
		return;
	}
	memcpy(&z, x.control + CMSG_LEN(0), sizeof(z));
	if (x.type != RDS_CMSG_ZCOPY_COMPLETION || z.num != 1 ||
	    z.cookies[0] != t->seq)
		nth_wrong("another completion than that of message %u", t->seq);
}

static void came(void *arg)
{
	struct transfer *t = arg;

	if (t->type == RDS_CMSG_RDMA_ARGS)
		return;
	nth_come(t->l->rx, t->len, t->seq);
	if (t->flags & MSG_ZEROCOPY)
		completed(t);
}

static void send_of(struct nth_link *l, const char *what, size_t len, int flags,
		    int type)
{
	const struct nth_call c = {
		what, new_message, do_send, not_sent, came, 0, len > 100000 ? 8 : 1
	};
	struct transfer t = { l, len, flags, type, 0, "" };

	nth_every(&c, &t);
}

static void group_send(struct nth_link *tcp, struct nth_link *lo)
{
	send_of(tcp, "send 0", 0, 0, 0);
	send_of(tcp, "send 100", 100, 0, 0);
	send_of(tcp, "send 20000", 20000, 0, 0);
	send_of(lo, "send 100 lo", 100, 0, 0);
	send_of(lo, "send 20000 lo", 20000, 0, 0);
	nth_result("send_small", 1);
	/*
	 * RDS makes the message in the same way for both.  A whole MiB over TCP
	 * takes seconds, most of them in the checkers.
	 */
	send_of(tcp, "send 60000", 60000, 0, 0);
	send_of(lo, "send 1 MiB lo", MIB, 0, 0);
	nth_result("send_large", 1);
	send_of(tcp, "send zero-copy", 20000, MSG_ZEROCOPY,
		RDS_CMSG_ZCOPY_COOKIE);
	nth_result("send_zerocopy", 1);
	send_of(tcp, "send rdma", 100, 0, RDS_CMSG_RDMA_ARGS);
	nth_result("send_rdma_args", 1);
}

static void message_waits(void *arg)
{
	struct transfer *t = arg;

	new_message(arg);
	if (sendto(t->l->tx, big, t->len, 0, &t->l->to.sa,
		   addr_len(&t->l->to)) != (ssize_t)t->len)
		die("send: %m");
	nth_wait(t->l->rx);
}

static long do_recv(void *arg)
{
	struct transfer *t = arg;

	return take(t->l->rx, t, t->flags);
}

static void received(void *arg)
{
	struct transfer *t = arg;

	if (t->type != 100 + RDS_CMSG_RXPATH_LATENCY)
		nth_wrong("control messages of message %u: %d", t->seq,
			  t->type);
	if (!filled(back, t->len, t->seq))
		nth_wrong("message %u was damaged", t->seq);
	if (t->flags & MSG_PEEK)
		nth_come(t->l->rx, t->len, t->seq);
	else if (recv(t->l->rx, back, 1, MSG_DONTWAIT) >= 0)
		nth_wrong("message %u: 1 messages doubled", t->seq);
}

static void recv_of(struct nth_link *l, const char *what, size_t len, int flags)
{
	const struct nth_call c = {
		what, message_waits, do_recv, NULL, received, 0, len > 100000 ? 100 : 1
	};
	struct transfer t = { l, len, flags, 0, 0, "" };

	nth_every(&c, &t);
}

static void group_recv(struct nth_link *tcp, struct nth_link *lo)
{
	static const struct rds_rx_trace_so trace = { 2, { 0, 1, 0 } };
	struct nth_link *const links[] = { tcp, lo };
	int i, on = 1;

	for (i = 0; i < 2; i++) {
		if (setsockopt(links[i]->rx, SOL_SOCKET, SO_TIMESTAMP, &on,
			       sizeof(on)) ||
		    setsockopt(links[i]->rx, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY,
			       &trace, sizeof(trace)))
			die("options: %m");
		recv_of(links[i], "recv 100", 100, 0);
		recv_of(links[i], "recv 20000", 20000, 0);
		recv_of(links[i], "recv peek", 20000, MSG_PEEK);
		recv_of(links[i], "recv 1 MiB", MIB, 0);
	}
	nth_result("recv", 1);
}

void nth_messages(struct nth_link *tcp, struct nth_link *lo)
{
	group_send(tcp, lo);
	group_recv(tcp, lo);
}
