// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The control connection: the driver sends requests, the agent carries them
 * out.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rt.h"

static int all(int fd, void *p, size_t len, bool out)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = out ? send(fd, (char *)p + at, len - at,
				       MSG_NOSIGNAL) :
				  recv(fd, (char *)p + at, len - at, 0);

		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

/* The agent listens; the driver retries until the agent accepts. */
int ctl_open(const struct rt *r)
{
	union addr at;
	uint64_t end = now_ns() + 60000000000ull * r->slow;
	struct timespec pause = { .tv_nsec = 20000000 };
	int fd, c = -1, one = 1;

	if (!addr_parse(&at, r->ctl, (uint16_t)r->ctl_port))
		die("bad control address %s", r->ctl);
	if (r->agent) {
		fd = socket(at.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, &at.sa, addr_len(&at)) || listen(fd, 1))
			die("control: %s", strerror(errno));
		c = accept(fd, NULL, NULL);
		close(fd);
		return c;
	}
	while (now_ns() < end) {
		fd = socket(at.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(fd, &at.sa, addr_len(&at))) {
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
				   sizeof(one));
			return fd;
		}
		close(fd);
		nanosleep(&pause, NULL);
	}
	die("nobody answers at %s", r->ctl);
}

void ask_begin(struct rt *r, const struct areq *req)
{
	struct areq copy = *req;

	if (all(r->ctlfd, &copy, sizeof(copy), true))
		die("the agent is gone");
}

int ask_end(struct rt *r, struct aresp *resp)
{
	if (all(r->ctlfd, resp, sizeof(*resp), false))
		die("the agent is gone");
	return resp->err;
}

/* Has the agent answered the last request? */
bool ask_answered(struct rt *r)
{
	struct pollfd p = { .fd = r->ctlfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/*
 * During ASK_MSG the ends take turns: a byte TURN on the control connection
 * gives the turn to its receiver. The byte cannot be the first one of a
 * request (enum ask) or of the answer, whose errno is 0 or EPROTO.
 */
#define TURN	'T'

void turn_pass(struct rt *r)
{
	char turn = TURN;

	if (all(r->ctlfd, &turn, 1, true))
		die("the other end is gone");
}

/* Has the other end given the turn to this one? Takes the byte. */
bool turn_came(struct rt *r)
{
	char first = 0;

	if (recv(r->ctlfd, &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1 ||
	    first != TURN)
		return false;
	return recv(r->ctlfd, &first, 1, 0) == 1;
}

/* Drop the turns ahead of a request or answer: an end that failed took none. */
void turns_drop(struct rt *r)
{
	struct pollfd p = { .fd = r->ctlfd, .events = POLLIN };

	do {
		poll(&p, 1, -1);
	} while (turn_came(r));
}

int ask(struct rt *r, const struct areq *req, struct aresp *resp)
{
	ask_begin(r, req);
	return ask_end(r, resp);
}

/* A request that cannot fail; returns the first value of the answer. */
uint64_t ask4(struct rt *r, enum ask op, uint64_t a0, uint64_t a1, uint64_t a2,
	      uint64_t a3)
{
	struct areq req = { .op = op, .a = { a0, a1, a2, a3 } };
	struct aresp resp;

	if (ask(r, &req, &resp))
		die("request %d: %s", op, strerror(resp.err));
	return resp.v[0];
}

/* A counter of this end or of the agent's; 0 if there is none of that name */
long counter_of(struct rt *r, const char *name, bool there)
{
	struct areq q = { .op = ASK_COUNTER };
	struct aresp a;
	long n;

	snprintf(q.text, sizeof(q.text), "%s", name);
	n = !there ? counter(name) : ask(r, &q, &a) ? 0 : (long)a.v[0];
	return n < 0 ? 0 : n;
}

static int do_key(struct rt *r, const struct areq *q, struct aresp *a)
{
	uint64_t end = now_ns() + 20000000000ull * r->slow, cookie = 0;
	struct timespec pause = { .tv_nsec = 5000000 };
	struct rt_addr dest = r->peer;
	int rc;

	rt_addr_port(&dest, (uint16_t)q->a[4]);
	/*
	 * In-tree RDS cannot map a key without a connection: it starts to
	 * connect and returns EAGAIN.
	 */
	do {
		rc = take_key(r->fd, &dest, (enum how)q->a[3], r->mem + q->a[0],
			      q->a[1], q->a[2], &cookie);
		if (rc == -EAGAIN)
			nanosleep(&pause, NULL);
	} while (rc == -EAGAIN && now_ns() < end);
	a->v[0] = cookie;
	return -rc;
}

static int do_recv(struct rt *r, const struct areq *q, struct aresp *a)
{
	static uint8_t buf[MAX_MSG + 1];
	uint64_t end = now_ns() + q->a[0] * 1000000ull;
	int n;

	do {
		n = recv_one(r, r->fd, buf, sizeof(buf), (int)q->a[0],
			     &a->v[1]);
	} while ((n == -EINTR || n == -ETIMEDOUT) && now_ns() < end);
	if (n < 0)
		return -n;
	a->v[0] = (uint64_t)n;
	memcpy(&a->v[2], buf, 8);
	a->v[3] = (uint64_t)buf[n ? n - 1 : 0];
	return 0;
}

/*
 * Receive messages that each carry a number below a0: every number at most
 * once.
 */
static int do_seen(struct rt *r, const struct areq *q, struct aresp *a)
{
	uint8_t *seen = calloc(1, q->a[0] + 1);
	uint64_t id, end = now_ns() + q->a[1] * 1000000ull;
	int n;

	for (;;) {
		n = recv_one(r, r->fd, &id, sizeof(id), (int)q->a[1], NULL);
		/* poll() also reports congestion maps. */
		if (n == -EINTR || (n == -ETIMEDOUT && now_ns() < end))
			continue;
		if (n < 0)
			break;
		end = now_ns() + q->a[1] * 1000000ull;
		if (n != sizeof(id) || id >= q->a[0] || seen[id])
			a->v[1]++;
		else
			seen[id] = 1;
		a->v[0]++;
	}
	free(seen);
	return n == -ETIMEDOUT ? 0 : -n;
}

/*
 * The owner of the memory frees each key as soon as the message of its WRITE is
 * received.
 */
static int do_free_told(struct rt *r, const struct areq *q)
{
	uint64_t cookie, end = now_ns() + 20000000000ull * r->slow, i = 0;
	int n, rc = 0;

	while (i < q->a[0] && now_ns() < end) {
		n = recv_one(r, r->fd, &cookie, sizeof(cookie), 100, NULL);
		if (n == -EINTR || n == -ETIMEDOUT)
			continue;
		if (n != sizeof(cookie))
			return EBADMSG;
		rc = rc ? rc : free_key(r->fd, cookie, RDS_RDMA_INVALIDATE);
		i++;
	}
	return i < q->a[0] ? ETIMEDOUT : -rc;
}

static int do_msg(struct rt *r, const struct areq *q, struct aresp *a)
{
	struct rt_addr to = r->peer;
	bool good;

	rt_addr_port(&to, (uint16_t)q->a[3]);
	good = exchange(r, r->fd, &to, q->a[0], 1, q->a[1],
			(unsigned int)q->a[2], q->text, a->text,
			sizeof(a->text));
	a->v[0] = r->backs;
	a->v[1] = r->back_sum;
	a->v[2] = r->back_most;
	a->v[3] = r->amid;
	return good ? 0 : EPROTO;
}

static int do_one(struct rt *r, struct areq *q, struct aresp *a)
{
	struct rt_addr to;

	q->text[sizeof(q->text) - 1] = 0;
	switch (q->op) {
	case ASK_OPEN:
		if (r->fd >= 0)
			close(r->fd);
		r->port = (unsigned int)q->a[0];
		r->lost = reload_lost();
		r->fd = rt_open(&r->self, (uint16_t)q->a[0]);
		return r->fd < 0 ? -r->fd : 0;
	case ASK_FILL:
		pattern(r->mem + q->a[0], q->a[1], q->a[2], q->a[0]);
		return 0;
	case ASK_CHECK:
		a->v[0] = pattern_diff(r->mem + q->a[0], q->a[1], q->a[2],
				       q->a[3]);
		return 0;
	case ASK_READ64:
		memcpy(&a->v[0], r->mem + q->a[0], 8);
		return 0;
	case ASK_WRITE64:
		memcpy(r->mem + q->a[0], &q->a[1], 8);
		return 0;
	case ASK_KEY:
		return do_key(r, q, a);
	case ASK_FREE:
		return -free_key(r->fd, q->a[0], q->a[1]);
	case ASK_FREE_ANY:
		free_key(r->fd, q->a[0], q->a[1]);
		return 0;
	case ASK_DEST:
		to = r->peer;
		rt_addr_port(&to, (uint16_t)q->a[1]);
		return -cmsg_send(r->fd, &to, RDS_CMSG_RDMA_DEST, &q->a[0], 8,
				  "dest", 4);
	case ASK_RECV:
		return do_recv(r, q, a);
	case ASK_COUNTER:
		a->v[0] = (uint64_t)counter(q->text);
		return 0;
	case ASK_PINS:
		a->v[0] = (uint64_t)pins();
		return 0;
	case ASK_SHELL:
		return run_shell(q->text);
	case ASK_MSG:
		return do_msg(r, q, a);
	case ASK_POKE:
		return poke(r);
	case ASK_FREE_TOLD:
		return do_free_told(r, q);
	case ASK_TAKE:
		return reload_take(r, q, a);
	case ASK_RELOAD:
		return reload_module(r, a);
	case ASK_JOINED:
		return joined_take(r, q, a);
	case ASK_FLOOD:
		return stall_flood(r, q);
	case ASK_HELD:
		return held_flood(r, q, a);
	case ASK_FULL:
		return held_full(r, q, a);
	case ASK_SAY:
		to = r->peer;
		rt_addr_port(&to, (uint16_t)q->a[0]);
		return sendto(r->fd, "here", 4, MSG_DONTWAIT,
			      (struct sockaddr *)&to.ss, to.len) == 4 ?
			       0 :
			       errno;
	case ASK_CONNECTED:
		a->v[0] = connected(r);
		return 0;
	case ASK_SEEN:
		return do_seen(r, q, a);
	default:
		return ENOSYS;
	}
}

/* Serve requests until the driver quits or closes the control connection. */
int agent(struct rt *r)
{
	struct aresp a;
	struct areq q;

	for (;;) {
		turns_drop(r);
		if (all(r->ctlfd, &q, sizeof(q), false))
			return 1;
		memset(&a, 0, sizeof(a));
		if (q.op != ASK_QUIT)
			a.err = do_one(r, &q, &a);
		if (all(r->ctlfd, &a, sizeof(a), true))
			return 1;
		if (q.op == ASK_QUIT)
			return 0;
	}
}
