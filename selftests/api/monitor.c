// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDS_CONG_MONITOR: the option, the notification, and the loss of one. */
#include "api.h"

#include <pthread.h>
#include <sys/syscall.h>

static struct link monitored(enum topo t)
{
	struct link l = link_open(t);

	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	need(!set_int(l.tx, SOL_RDS, RDS_CONG_MONITOR, 1));
	return l;
}

/*
 * In-tree notifies every monitor of the machine of every map, also of maps of
 * connections within the host, which a work queue handles later: true when such
 * a notification came.
 */
static bool stray(const struct link *l)
{
	char b[8];
	long ret;

	if (l->topo != SELF4 || !poll_bits(l->tx, POLLIN, 20 * time_scale))
		return false;
	ret = rx_msg(l->tx, b, sizeof(b), 128, MSG_DONTWAIT).ret;
	need(ret == 0 || ret == -EAGAIN);
	return true;
}

static void congest(const struct link *l)
{
	int other = bound(NS_A, l->from.sa.sa_family == AF_INET ? A4 : A6, 0);

	need(send_to(other, &l->to, MIN_RCVBUF + 1, 0) > 0);
	link_sync(l);
	close(other);
	do {
		need(send_to(l->tx, &l->to, 1, MSG_DONTWAIT) == -ENOBUFS);
	} while (stray(l));
}

static void relieve(const struct link *l)
{
	char b[4];

	need(recv(l->rx, b, 4, 0) == 4);
}

static void option(const struct api_case *c)
{
	int fd = sock(), v[4] = { 1 }, len;
	socklen_t l = 4;

	(void)c;
	for (len = 0; len <= 16; len++)
		sweep(len, set_opt(fd, SOL_RDS, RDS_CONG_MONITOR, v, len));
	sweep_end("len");
	r("value", set_int(fd, SOL_RDS, RDS_CONG_MONITOR, -7));
	r("off", set_int(fd, SOL_RDS, RDS_CONG_MONITOR, 0));
	r("off_again", set_int(fd, SOL_RDS, RDS_CONG_MONITOR, 0));
	r("fault", set_opt(fd, SOL_RDS, RDS_CONG_MONITOR, page_hole(2), 4));
	r("get", getsockopt(fd, SOL_RDS, RDS_CONG_MONITOR, v, &l) ? -errno : 0);
}

static void notified(const struct api_case *c)
{
	struct link l = monitored(c->num);
	const uint64_t *mask;
	struct rx x;
	size_t len;
	char b[8];

	congest(&l);
	poll_bits(l.tx, POLLIN, 0);
	note("waiting=0x%x", poll_bits(l.tx, POLLIN, 0));
	relieve(&l);
	note("poll=0x%x",
	     poll_bits(l.tx, POLLIN | POLLRDNORM | POLLPRI, 10000));
	x = rx_msg(l.tx, b, 8, 128, MSG_DONTWAIT);
	rx_note("recv", &x);
	mask = rx_cmsg(&x, SOL_RDS, RDS_CMSG_CONG_UPDATE, &len);
	need(mask && len == 8);
	r("mask", *mask == RDS_CONG_MONITOR_MASK(addr_port(&l.to)));
	x = rx_msg(l.tx, b, 8, 128, MSG_DONTWAIT);
	rx_note("again", &x);
	r("send", send_to(l.tx, &l.to, 1, MSG_DONTWAIT));
}

static void before_data(const struct api_case *c)
{
	struct link l = monitored(c->num);
	struct rx x;
	char b[8];

	congest(&l);
	relieve(&l);
	need(poll_bits(l.tx, POLLIN, 10000));
	need(send_msg(l.rx, &l.from, "data", 4, NULL, MSG_DONTWAIT) == 4);
	link_sync(&l);
	x = rx_msg(l.tx, b, 8, 128, 0);
	rx_note("first", &x);
	x = rx_msg(l.tx, b, 8, 128, 0);
	rx_note("second", &x);
}

static void two_ports(const struct api_case *c)
{
	struct link l = monitored(c->num), m = link_open(c->num);
	uint64_t want = RDS_CONG_MONITOR_MASK(addr_port(&l.to)) |
			RDS_CONG_MONITOR_MASK(addr_port(&m.to));
	uint64_t got = 0;
	char b[8];

	need(!set_int(m.rx, SOL_SOCKET, SO_RCVBUF, 1));
	need(!set_int(m.tx, SOL_RDS, RDS_CONG_MONITOR, 1));
	congest(&m);
	congest(&l);
	need(send_to(l.tx, &m.to, 1, MSG_DONTWAIT) == -ENOBUFS);
	relieve(&l);
	relieve(&m);
	while (got != want) {
		struct rx x = rx_msg(l.tx, b, 8, 128, 0);
		const uint64_t *mask = rx_cmsg(&x, SOL_RDS,
					       RDS_CMSG_CONG_UPDATE, NULL);

		if (!mask)
			bail("no notification: %ld", x.ret);
		need(!(*mask & ~want));
		got |= *mask;
	}
	note("ok");
}

static void no_room(const struct api_case *c)
{
	struct link l = monitored(c->num);
	struct rx x;
	char b[8];

	congest(&l);
	relieve(&l);
	need(poll_bits(l.tx, POLLIN, 10000));
	x = rx_msg(l.tx, b, 8, 0, MSG_DONTWAIT);
	rx_note("recv", &x);
	x = rx_msg(l.tx, b, 8, 128, MSG_DONTWAIT);
	rx_note("again", &x);
}

static void rooms(const struct api_case *c)
{
	struct link l = monitored(c->num);
	char b[8];
	int i;

	for (i = 0; i <= 40; i++) {
		struct rx x;

		congest(&l);
		relieve(&l);
		need(poll_bits(l.tx, POLLIN, 10000));
		x = rx_msg(l.tx, b, 8, i, MSG_DONTWAIT);
		need(x.ret == 0);
		need(x.ctllen == (i < 16 ? 0u :
				  i < 24 ? (unsigned int)i :
					   24u));
		sweep(i, !!(x.flags & MSG_CTRUNC));
		x = rx_msg(l.tx, b, 8, 128, MSG_DONTWAIT);
		need(x.ret == -EAGAIN);
	}
	sweep_end(NULL);
}

static void peeked(const struct api_case *c)
{
	struct link l = monitored(c->num);
	struct rx x;
	char b[8];

	congest(&l);
	relieve(&l);
	need(poll_bits(l.tx, POLLIN, 10000));
	x = rx_msg(l.tx, b, 8, 128, MSG_DONTWAIT | MSG_PEEK);
	rx_note("peek", &x);
	x = rx_msg(l.tx, b, 8, 128, MSG_DONTWAIT);
	rx_note("recv", &x);
}

static void fault(const struct api_case *c)
{
	struct link l = monitored(c->num);
	char b[8];
	struct iovec iov = { b, 8 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = page_hole(0),
			    .msg_controllen = 64 };
	struct rx x;

	congest(&l);
	relieve(&l);
	need(poll_bits(l.tx, POLLIN, 10000));
	r("recv", recvmsg(l.tx, &m, MSG_DONTWAIT) < 0 ? -errno : 0);
	x = rx_msg(l.tx, b, 8, 128, MSG_DONTWAIT);
	rx_note("again", &x);
}

/*
 * Turning the monitor off drops the ports waited for and the notifications
 * pending.
 */
static void switched_off(const struct api_case *c)
{
	struct link l = monitored(c->num);
	struct rx x;
	char b[8];

	congest(&l);
	need(!set_int(l.tx, SOL_RDS, RDS_CONG_MONITOR, 0));
	need(!set_int(l.tx, SOL_RDS, RDS_CONG_MONITOR, 1));
	relieve(&l);
	link_sync(&l);
	x = rx_msg(l.tx, b, 8, 128, MSG_DONTWAIT);
	rx_note("waited", &x);
	congest(&l);
	relieve(&l);
	need(poll_bits(l.tx, POLLIN, 10000));
	need(!set_int(l.tx, SOL_RDS, RDS_CONG_MONITOR, 0));
	x = rx_msg(l.tx, b, 8, 128, MSG_DONTWAIT);
	rx_note("pending", &x);
}

/* In-tree clears a port's congestion when its socket turns its monitor off. */
static void own_bit(const struct api_case *c)
{
	struct link l = link_open(c->num);

	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	need(!set_int(l.rx, SOL_RDS, RDS_CONG_MONITOR, 1));
	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	link_sync(&l);
	r("over", send_to(l.tx, &l.to, 0, MSG_DONTWAIT));
	need(!set_int(l.rx, SOL_RDS, RDS_CONG_MONITOR, 0));
	link_sync(&l);
	r("off", send_to(l.tx, &l.to, 0, MSG_DONTWAIT));
}

static void without(const struct api_case *c)
{
	struct link l = monitored(c->num);
	struct rx x;
	char b[8];

	need(!set_int(l.tx, SOL_RDS, RDS_CONG_MONITOR, 0));
	congest(&l);
	relieve(&l);
	link_sync(&l);
	x = rx_msg(l.tx, b, 8, 128, MSG_DONTWAIT);
	rx_note("recv", &x);
}

static int caller_tid;

static void *call_recv(void *arg)
{
	static struct rx x;
	char b[8];

	__atomic_store_n(&caller_tid, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	x = rx_msg(*(int *)arg, b, sizeof(b), 128, 0);
	return &x;
}

static bool has_tid(void *arg)
{
	(void)arg;
	return __atomic_load_n(&caller_tid, __ATOMIC_SEQ_CST) != 0;
}

static void wakes_recv(const struct api_case *c)
{
	struct link l = monitored(c->num);
	pthread_t t;
	void *x;

	congest(&l);
	need(!pthread_create(&t, NULL, call_recv, &l.tx));
	need(wait_true(has_tid, NULL, 5000));
	until_blocked(caller_tid);
	relieve(&l);
	need(!pthread_join(t, &x));
	rx_note("recv", x);
}

/* More monitors than are told at once: each is, once */
static void many(const struct api_case *c)
{
	struct link l = monitored(c->num);
	int fds[200];
	char b[8];
	struct rx x;

	congest(&l);
	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = bound(NS_A, A4, 0);
		need(!set_int(fds[i], SOL_RDS, RDS_CONG_MONITOR, 1));
		need(send_to(fds[i], &l.to, 1, MSG_DONTWAIT) == -ENOBUFS);
	}
	relieve(&l);
	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++) {
		need(poll_bits(fds[i], POLLIN, 10000));
		x = rx_msg(fds[i], b, sizeof(b), 128, MSG_DONTWAIT);
		need(!x.ret && rx_cmsg(&x, SOL_RDS, RDS_CMSG_CONG_UPDATE,
				       NULL));
		x = rx_msg(fds[i], b, sizeof(b), 128, MSG_DONTWAIT);
		need(x.ret == -EAGAIN);
		close(fds[i]);
	}
	note("ok");
}

#define FOUR(n, f, w, ...) \
	{ "monitor." n ".tcp4", f, w, .num = TCP4, __VA_ARGS__ }, \
	{ "monitor." n ".tcp6", f, w, .num = TCP6, __VA_ARGS__ }, \
	{ "monitor." n ".self4", f, w, .num = SELF4, __VA_ARGS__ }
#define BEFORE(n) "first=0/0:276.5(8) second=4/" n
#define KEPT .ours = "over=ENOBUFS off=ENOBUFS"

const struct api_case monitor_cases[] = {
	{ "monitor.option", option, "len=0-3:EINVAL,4-16:0 value=0 off=0 off_again=0 fault=EFAULT "
	  "get=ENOPROTOOPT" },
	FOUR("notified", notified,
	     "waiting=0x0 poll=0x41 recv=0/0:276.5(8) mask=1 again=EAGAIN send=1"),
	{ "monitor.before_data.tcp4", before_data, BEFORE("16"), .num = TCP4 },
	{ "monitor.before_data.tcp6", before_data, BEFORE("28"), .num = TCP6 },
	{ "monitor.before_data.self4", before_data, BEFORE("16"), .num = SELF4 },
	FOUR("two_ports", two_ports, "ok"),
	FOUR("no_room", no_room, "recv=0/0+CTRUNC again=EAGAIN"),
	FOUR("rooms", rooms, "0-23:1,24-40:0"),
	FOUR("peeked", peeked, "peek=0/0:276.5(8) recv=EAGAIN"),
	FOUR("fault", fault, "recv=EFAULT again=0/0:276.5(8)"),
	FOUR("switched_off", switched_off, "waited=EAGAIN pending=EAGAIN"),
	FOUR("own_bit", own_bit, "over=ENOBUFS off=0", KEPT),
	FOUR("without", without, "recv=EAGAIN"),
	FOUR("wakes_recv", wakes_recv, "recv=0/0:276.5(8)"),
	{ "monitor.many", many, "ok", .num = TCP4 },
	{ }
};
