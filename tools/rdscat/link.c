// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The RDS socket of rdscat, and the state of the session with the other end. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/rds.h>

#include "rdscat.h"

#define BUF_LEN (RC_HDR_LEN + RC_MAX_PAYLOAD)

int rc_link_open(struct rc_link *l, const union rt_addr *self, int transport)
{
	char text[RT_ADDRSTRLEN];
	socklen_t len = sizeof(l->self);
	int on = 1, err;

	l->buf = malloc(BUF_LEN);
	l->fd = rt_socket();
	err = errno;
	if (l->fd < 0 || !l->buf) {
		rc_complain("cannot create an RDS socket: %s", strerror(err));
		rt_hint_socket(err);
		return -1;
	}
	if (rt_set_transport(l->fd, transport)) {
		err = errno;
		rc_complain("cannot use that transport: %s", strerror(err));
		rt_hint_transport(err, transport);
		return -1;
	}
	rt_buffers(l->fd, RC_WINDOW, &l->snd, &l->rcv);
	if (bind(l->fd, &self->sa, rt_addrlen(self))) {
		err = errno;
		rc_complain("cannot bind to %s: %s",
			    rt_addr_str(self, text, sizeof(text)),
			    strerror(err));
		rt_hint_bind(err, self, transport);
		return -1;
	}
	if (getsockname(l->fd, &l->self.sa, &len)) {
		rc_complain("getsockname: %s", strerror(errno));
		return -1;
	}
	/* Without notices, sends to a congested peer have to be polled. */
	setsockopt(l->fd, rt_level(), RDS_CONG_MONITOR, &on, sizeof(on));
	return 0;
}

int rc_link_send_to(struct rc_link *l, const union rt_addr *to,
		    const struct rc_frame *f)
{
	uint8_t hdr[RC_HDR_LEN];
	struct iovec iov[2] = {
		{ hdr, sizeof(hdr) },
		{ (void *)f->payload, f->len },
	};
	struct msghdr msg = {
		.msg_name = (void *)&to->sa,
		.msg_namelen = rt_addrlen(to),
		.msg_iov = iov,
		.msg_iovlen = f->len ? 2 : 1,
	};
	ssize_t n;

	rc_encode(hdr, f);
	do
		n = sendmsg(l->fd, &msg, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0) {
		l->blocked = RC_FREE;
		return 1;
	}
	switch (errno) {
	case EAGAIN:
		l->blocked = RC_FULL;
		return 0;
	case ENOBUFS:
	case ENOMEM:
		l->blocked = RC_CONGESTED;
		return 0;
	}
	return -1;
}

int rc_link_send(struct rc_link *l, const struct rc_frame *f)
{
	struct rc_frame own = *f;
	int rc;

	own.session = l->session;
	rc = rc_link_send_to(l, &l->peer, &own);
	if (rc > 0)
		l->last_tx = rt_now_us();
	return rc;
}

int rc_link_recv(struct rc_link *l, struct rc_frame *f, union rt_addr *from)
{
	union {
		char bytes[256];
		struct cmsghdr align;
	} control;
	struct iovec iov = { l->buf, BUF_LEN };
	struct msghdr msg;
	ssize_t n;

	for (;;) {
		memset(from, 0, sizeof(*from));
		msg = (struct msghdr){
			.msg_name = from,
			.msg_namelen = sizeof(*from),
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control),
		};
		n = recvmsg(l->fd, &msg, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		/*
		 * 1024 ports share one bit of the notice, so only another send
		 * shows whether the peer's port is still congested.
		 */
		if (rt_cong_update(&msg) && l->blocked == RC_CONGESTED)
			l->blocked = RC_FREE;
		if (msg.msg_namelen && !(msg.msg_flags & MSG_TRUNC) &&
		    rc_decode(l->buf, n, f))
			return 1;
	}
}

void rc_link_pace(struct rc_link *l, uint64_t peer_timeout_ms)
{
	uint64_t us = l->timeout_us;

	if (peer_timeout_ms && peer_timeout_ms < us / 1000)
		us = peer_timeout_ms * 1000;
	us /= 4;
	if (us > 5000000)
		us = 5000000;
	l->alive_us = us > 50000 ? us : 50000;
}

short rc_link_wait(struct rc_link *l, bool want_send, int fd, short events,
		   uint64_t until)
{
	struct pollfd pfd[2] = {
		{ .fd = l->fd, .events = l->deaf ? 0 : POLLIN },
		{ .fd = fd, .events = events },
	};
	uint64_t now = rt_now_us(), left = until > now ? until - now : 0;
	struct timespec ts;
	sigset_t none;

	if (want_send && l->blocked == RC_FULL)
		pfd[0].events |= POLLOUT;
	/*
	 * A notice can be missed: the test of the congestion map and the start
	 * of monitoring are two steps. Send again after RC_BLOCKED_MS.
	 */
	if (want_send && l->blocked == RC_CONGESTED &&
	    left > RC_BLOCKED_MS * 1000)
		left = RC_BLOCKED_MS * 1000;
	ts.tv_sec = left / 1000000;
	ts.tv_nsec = left % 1000000 * 1000;
	sigemptyset(&none);
	if (ppoll(pfd, 2, &ts, &none) < 0)
		return 0;
	if (pfd[0].revents & POLLOUT)
		l->blocked = RC_FREE;
	return fd < 0 ? 0 : pfd[1].revents;
}

void rc_link_abort(struct rc_link *l, const char *why)
{
	struct rc_frame f = {
		.type = RC_ERROR,
		.payload = (const uint8_t *)why,
		.len = strlen(why),
	};
	uint64_t end = rt_now_us() + RC_DRAIN_MS * 1000;

	while (!rc_link_send(l, &f) && rt_now_us() < end)
		poll(NULL, 0, 10);
	rt_drain(l->fd, &l->self, RC_DRAIN_MS);
}
