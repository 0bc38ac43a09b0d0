// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One task: send requests to every task of the other side, and acknowledge the
 * requests of those tasks.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <linux/sockios.h>
#include <linux/rds.h>

#include "rdma.h"

enum sent { SENT, SENT_FULL, SENT_CONGESTED, SENT_PAUSED, SENT_LATER };

static void check_parent(pid_t parent)
{
	if (getppid() != parent)
		die("parent %d exited\n", parent);
}

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die("ERROR: failed to alloc memory\n");
	return p;
}

static void set_buffers(struct task *t, unsigned int id)
{
	const struct options *o = t->o;
	uint64_t wish = (uint64_t)o->tasks * o->depth *
			(o->req_size + o->ack_size) * 2;
	static const struct {
		int option;
		const char *text;
	} buf[] = {
		{ SO_SNDBUF, "getsockopt(SNDBUF) returned %d, we wanted %d * 2\n" },
		{ SO_RCVBUF, "getsockopt(RCVBUF) returned %d, we need %d * 2\n" },
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		int want = wish > INT32_MAX / 2 ? INT32_MAX / 2 : wish, got = 0;
		socklen_t len = sizeof(got);

		if (setsockopt(t->fd, SOL_SOCKET, buf[i].option, &want,
			       sizeof(want)))
			die_errno("setsockopt of buffer size failed");
		if (getsockopt(t->fd, SOL_SOCKET, buf[i].option, &got, &len))
			die_errno("getsockopt of buffer size failed");
		if (got / 2 < want && !id)
			fprintf(stderr, buf[i].text, got, want);
	}
}

int bound_socket(const struct options *o, uint16_t port)
{
	union rt_addr a = { .in = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(o->recv_addr),
		.sin_port = htons(port),
	} };
	int fd = rt_socket(), on = 1;

	if (fd < 0) {
		rt_hint_socket(complain_errno("socket(%d, 5, 0) failed",
					      rt_family()));
		leave(1);
	}
	if (rt_set_transport(fd, o->transport)) {
		rt_hint_transport(
			complain_errno("setsockopt(SO_RDS_TRANSPORT) failed"),
			o->transport);
		leave(1);
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &a.sa, rt_addrlen(&a))) {
		rt_hint_bind(complain_errno("bind() failed"), &a, o->transport);
		leave(1);
	}
	return fd;
}

static void open_socket(struct task *t, unsigned int id)
{
	uint8_t tos = t->o->tos;
	int on = 1;

	t->fd = bound_socket(t->o, t->port);
	set_buffers(t, id);
	if (t->o->cong_monitor &&
	    setsockopt(t->fd, rt_level(), RDS_CONG_MONITOR, &on, sizeof(on))) {
		if (errno != ENOPROTOOPT)
			die_errno("setsockopt(RDS_CONG_MONITOR) failed");
		printf("Kernel does not support congestion monitoring; disabled\n");
	}
	if (tos && ioctl(t->fd, SIOCRDSSETTOS, &tos))
		die_errno("failed to set TOS");
}

static void set_up(struct task *t, unsigned int id)
{
	const struct options *o = t->o;
	size_t largest = o->req_size > o->ack_size ? o->req_size : o->ack_size;
	unsigned int i;

	t->req = allocate(1, o->req_size);
	t->ack = allocate(1, o->ack_size);
	t->in = allocate(1, largest);
	t->pattern = allocate(1, largest);
	/* The payload is constant: write the pattern behind the header once. */
	if (o->verify) {
		fill_pattern(t->pattern, largest - HDR_LEN);
		memcpy(t->req + HDR_LEN, t->pattern, o->req_size - HDR_LEN);
		memcpy(t->ack + HDR_LEN, t->pattern, o->ack_size - HDR_LEN);
	}
	t->peer = allocate(o->tasks, sizeof(*t->peer));
	for (i = 0; i < o->tasks; i++) {
		struct peer *p = &t->peer[i];

		p->addr.sin_family = AF_INET;
		p->addr.sin_addr.s_addr = htonl(o->send_addr);
		p->addr.sin_port = htons(o->port + 1 + i);
		p->sent_us = allocate(o->depth, sizeof(*p->sent_us));
	}
	t->requests = o->active || !o->one_way;
	t->want_pollout = true;
	rdma_set_up(t);
	open_socket(t, id);
}

static enum sent not_sent(struct task *t, const struct header *h)
{
	bool again = t->full;

	if (errno == ENOBUFS)
		return SENT_CONGESTED;
	if (errno == EOPNOTSUPP &&
	    (h->rdma.rop == ROP_FADD || h->rdma.rop == ROP_CSWP))
		die("the RDMA device of this address has no atomic operations\n");
	if (h->rdma.rop && (errno == ENOMEM || errno == EPERM))
		die_errno("sendto() failed (how much memory may be locked? see ulimit -l)");
	if (errno != EAGAIN)
		die_errno("sendto() failed");
	/*
	 * EAGAIN also means that memory cannot be registered while the peer has
	 * no connection. POLLOUT does not report the end of that, so a request
	 * for RDMA that fails again is repeated after a pause.
	 */
	t->full = true;
	return h->rdma.rop && again ? SENT_LATER : SENT_FULL;
}

/* Send one request or ack. Only a message that was sent uses up p->tx_seq. */
static enum sent send_one(struct task *t, struct peer *p, enum op op,
			  uint16_t slot)
{
	uint8_t *buf = op == OP_REQ ? t->req : t->ack;
	size_t len = op == OP_REQ ? t->o->req_size : t->o->ack_size;
	struct header h = {
		.seq = p->tx_seq,
		.from_addr = t->o->recv_addr,
		.to_addr = t->o->send_addr,
		.from_port = t->port,
		.to_port = ntohs(p->addr.sin_port),
		.slot = slot,
		.op = op,
	};
	struct iovec iov = { buf, len };
	union control control;
	struct msghdr msg = {
		.msg_name = &p->addr,
		.msg_namelen = sizeof(p->addr),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
	};
	ssize_t n;

	if (op == OP_REQ)
		rdma_ask(t, p, slot, &h, &msg);
	else
		transfer_begin(t, p, slot, &h, &msg);
	encode_header(buf, &h);
	n = sendmsg(t->fd, &msg, MSG_DONTWAIT);
	if (op == OP_REQ)
		rdma_asked(t, p, slot, &h, n >= 0);
	if (n < 0)
		return not_sent(t, &h);
	if ((size_t)n != len)
		die("sendto() truncated - %zd\n", n);
	if (op == OP_ACK)
		transfer_begun(p, slot);
	t->full = false;
	p->tx_seq++;
	count(&t->stats->bytes_tx, len);
	return SENT;
}

static enum sent send_acks(struct task *t, struct peer *p)
{
	while (p->owed) {
		enum sent rc;

		if (!transfer_ready(p, p->ack_slot))
			return SENT_PAUSED;
		rc = send_one(t, p, OP_ACK, p->ack_slot);
		if (rc != SENT)
			return rc;
		p->ack_slot = next_slot(t, p->ack_slot);
		p->owed--;
	}
	return SENT;
}

static enum sent send_requests(struct task *t, struct peer *p)
{
	while (t->requests && p->outstanding < t->o->depth) {
		uint64_t before = rt_now_us();
		enum sent rc = send_one(t, p, OP_REQ, p->req_slot);

		if (rc != SENT)
			return rc;
		p->sent_us[p->req_slot] = before;
		p->req_slot = next_slot(t, p->req_slot);
		p->outstanding++;
		count(&t->stats->tx_us, rt_now_us() - before);
		count(&t->stats->req_tx, 1);
	}
	return SENT;
}

static void send_round(struct task *t)
{
	unsigned int i;

	t->want_pollout = false;
	t->retry_soon = false;
	for (i = 0; i < t->o->tasks; i++) {
		struct peer *p = &t->peer[i];
		enum sent rc;

		if (p->congested)
			continue;
		rc = send_acks(t, p);
		if (rc == SENT)
			rc = send_requests(t, p);
		if (rc == SENT_FULL) {
			t->want_pollout = true;
			return;
		}
		if (rc == SENT_LATER) {
			t->retry_soon = true;
			return;
		}
		if (rc == SENT_CONGESTED) {
			p->congested = t->o->cong_monitor;
			t->retry_soon = true;
		}
	}
}

static void uncongest(struct task *t, uint64_t mask)
{
	unsigned int i;

	for (i = 0; i < t->o->tasks; i++)
		if (mask &
		    RDS_CONG_MONITOR_MASK(ntohs(t->peer[i].addr.sin_port)))
			t->peer[i].congested = false;
}

/* Take RDMA statuses. Returns the key that came with the message, or 0. */
static uint64_t take_control(struct task *t, struct msghdr *msg)
{
	struct rds_rdma_notify n;
	uint64_t key = 0;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != rt_level())
			continue;
		if (c->cmsg_type == RDS_CMSG_RDMA_DEST &&
		    c->cmsg_len >= CMSG_LEN(sizeof(key)))
			memcpy(&key, CMSG_DATA(c), sizeof(key));
		if (c->cmsg_type == RDS_CMSG_RDMA_STATUS &&
		    c->cmsg_len >= CMSG_LEN(sizeof(n))) {
			memcpy(&n, CMSG_DATA(c), sizeof(n));
			transfer_status(t, &n);
		}
	}
	return key;
}

static void receive_all(struct task *t)
{
	size_t largest = t->o->req_size > t->o->ack_size ? t->o->req_size :
							   t->o->ack_size;
	union {
		char bytes[1024];
		struct cmsghdr align;
	} control;
	struct iovec iov = { t->in, largest };
	struct sockaddr_in from;
	struct msghdr msg;
	uint64_t key;
	ssize_t n;

	for (;;) {
		msg = (struct msghdr){
			.msg_name = &from,
			.msg_namelen = sizeof(from),
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control),
		};
		/* With MSG_TRUNC recvmsg() returns the untruncated length. */
		n = recvmsg(t->fd, &msg, MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			die_errno("recvmsg() failed");
		if (n < 0)
			return;
		uncongest(t, rt_cong_update(&msg));
		key = take_control(t, &msg);
		if (msg.msg_namelen)
			take_message(t, &from, n, key);
	}
}

static void wait_for_start(struct task *t, pid_t parent)
{
	uint64_t start, now;

	/* start_us is in the future: steps of 20 ms do not delay the start. */
	while (!(start = atomic_load(&t->shared->start_us))) {
		check_parent(parent);
		poll(NULL, 0, 20);
	}
	now = rt_now_us();
	if (start > now) {
		struct timespec ts = { (start - now) / 1000000,
				       (start - now) % 1000000 * 1000 };

		nanosleep(&ts, NULL);
	}
}

static void run(struct task *t, pid_t parent)
{
	uint64_t checked = rt_now_us();

	for (;;) {
		struct pollfd pfd = { .fd = t->fd, .events = POLLIN };
		uint64_t now;
		int n;

		if (t->want_pollout)
			pfd.events |= POLLOUT;
		n = poll(&pfd, 1, t->retry_soon ? 100 : 1000);
		if (n < 0 && errno != EINTR)
			die_errno("poll() failed");
		if (pfd.revents & POLLIN)
			receive_all(t);
		now = rt_now_us();
		if (now - checked >= 1000000) {
			check_parent(parent);
			checked = now;
			/* Send again after 1 s, in case a notice was lost. */
			uncongest(t, UINT64_MAX);
		}
		if (atomic_load_explicit(&t->shared->stopping,
					 memory_order_relaxed))
			t->want_pollout = false;
		else if (!t->want_pollout || pfd.revents & POLLOUT)
			send_round(t);
	}
}

void run_child(const struct options *o, struct shared *shared, unsigned int id,
	       pid_t parent, int ready_fd)
{
	struct task t = {
		.o = o,
		.shared = shared,
		.stats = &shared->child[id].stats,
		.port = o->port + 1 + id,
	};

	if (setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 5))
		die_errno("setpriority failed");
	set_up(&t, id);
	if (write(ready_fd, "", 1) != 1)
		die_errno("cannot tell the parent");
	close(ready_fd);
	wait_for_start(&t, parent);
	run(&t, parent);
	_exit(0);
}
