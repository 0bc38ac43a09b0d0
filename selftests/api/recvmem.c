// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* recvmsg() and user memory that faults: which messages stay queued. */
#include "api.h"

static void payload(const struct api_case *c)
{
	static const int good[] = { 0, 1, 47, 48, 4095, 4096, 4097, 9000 };
	struct link l = link_open(c->num);
	static char b[16384];
	unsigned int i;
	struct rx x;

	need(send_to(l.tx, &l.to, 10000, 0) == 10000);
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		x = rx_msg(l.rx, page_hole(good[i]), 10000, 0, 0);
		sweep(good[i], x.ret);
	}
	sweep_end(NULL);
	x = rx_msg(l.rx, (void *)0xffff888000000000ul, 10000, 0, 0);
	rx_note("kernel", &x);
	x = rx_msg(l.rx, NULL, 10000, 0, MSG_PEEK);
	rx_note("null", &x);
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("queued", &x);
	r("same", filled(b, 10000, 10000));
}

static bool two_queued(void *fd)
{
	struct snap s = snap(*(int *)fd, RDS6_INFO_RECV_MESSAGES);

	snap_free(&s);
	return s.n >= 2;
}

/* A message that could not be copied stays in front of later messages. */
static void second_vector(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char b[256];
	struct iovec iov[2] = { { b, 100 }, { page_hole(0), 100 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	struct rx x;

	need(send_to(l.tx, &l.to, 150, 0) == 150);
	need(send_to(l.tx, &l.to, 100, 0) == 100);
	need(wait_true(two_queued, &l.rx, 5000));
	r("bad", recvmsg(l.rx, &m, 0) < 0 ? -errno : 0);
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("first", &x);
	r("enough", recvmsg(l.rx, &m, 0));
}

static void headers(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char b[64], ctl[64];
	struct iovec iov = { b, sizeof(b) };
	struct msghdr m = { .msg_name = page_hole(0),
			    .msg_namelen = 28,
			    .msg_iov = &iov,
			    .msg_iovlen = 1 };
	struct rx x;

	need(send_to(l.tx, &l.to, 1, 0) == 1);
	need(send_to(l.tx, &l.to, 2, 0) == 2);
	r("name", recvmsg(l.rx, &m, 0) < 0 ? -errno : 0);
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("next", &x);
	need(send_to(l.tx, &l.to, 3, 0) == 3);
	m.msg_name = ctl;
	m.msg_namelen = -1;
	r("name_negative", recvmsg(l.rx, &m, 0) < 0 ? -errno : 0);
	m.msg_name = NULL;
	m.msg_namelen = 0;
	m.msg_iov = page_hole(0);
	r("iov", recvmsg(l.rx, &m, 0) < 0 ? -errno : 0);
	r("header", recvmsg(l.rx, page_hole(8), 0) < 0 ? -errno : 0);
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("queued", &x);
}

/*
 * The timestamp cannot be stored because control memory faults; repeated 300
 * times, so that a leak of messages shows.
 */
static void control(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char b[64];
	struct iovec iov = { b, sizeof(b) };
	int i;

	need(!set_int(l.rx, SOL_SOCKET, SO_TIMESTAMP, 1));
	for (i = 0; i < 300; i++) {
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = page_hole(0),
				    .msg_controllen = 64 };
		long ret;

		if (i > 2)
			m.msg_control = (void *)4096;
		need(send_to(l.tx, &l.to, 40, 0) == 40);
		ret = recvmsg(l.rx, &m, 0) < 0 ? -errno : 0;
		sweep(i, ret);
	}
	sweep_end("recv");
	r("left", recv(l.rx, b, sizeof(b), MSG_DONTWAIT) < 0 ? -errno : 0);
}

/* Every size of control memory from 0 to more than a timestamp takes. */
static void control_room(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char b[64];
	int i;

	need(!set_int(l.rx, SOL_SOCKET, SO_TIMESTAMP, 1));
	for (i = 0; i <= 40; i++) {
		struct rx x;

		need(send_to(l.tx, &l.to, 4, 0) == 4);
		x = rx_msg(l.rx, b, sizeof(b), i, 0);
		need(x.ret == 4);
		need(x.ctllen == (i < 16 ? 0u :
				  i < 32 ? (unsigned int)i :
					   32u));
		sweep(i, !!(x.flags & MSG_CTRUNC));
	}
	sweep_end(NULL);
}

/*
 * Receives and peeks that fault leave the message queued, and the receive
 * buffer's accounting does not drift.
 */
static void many_faults(const struct api_case *c)
{
	struct link l = link_open(c->num);
	static char b[2048];
	void *bad = page_hole(10);
	struct rx x;
	int i;

	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	need(send_to(l.tx, &l.to, MIN_RCVBUF, 0) == MIN_RCVBUF);
	for (i = 0; i < 200; i++) {
		x = rx_msg(l.rx, bad, sizeof(b), 0, i & 1 ? MSG_PEEK : 0);
		if (x.ret != -EFAULT)
			bail("receive %d gave %ld", i, x.ret);
	}
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
	need(send_to(l.tx, &l.to, MIN_RCVBUF, 0) == MIN_RCVBUF);
	link_sync(&l);
	r("not_congested", send_to(l.tx, &l.to, 0, MSG_DONTWAIT));
}

#define PAYLOAD(n) "0-1:EFAULT,47-48:EFAULT,4095-4097:EFAULT,9000:EFAULT kernel=EFAULT " \
	"null=EFAULT queued=10000/" n " same=1"
#define HEADERS(n) "name=EFAULT next=2/" n " name_negative=EINVAL iov=EFAULT header=EFAULT " \
	"queued=3/" n

const struct api_case recvmem_cases[] = {
	{ "recvmem.payload.tcp4.CVE-2010-3904", payload, PAYLOAD("16"), .num = TCP4 },
	{ "recvmem.payload.tcp6", payload, PAYLOAD("28"), .num = TCP6 },
	{ "recvmem.payload.self4", payload, PAYLOAD("16"), .num = SELF4 },
	{ "recvmem.payload.lo6", payload, PAYLOAD("28"), .num = LO6 },
	{ "recvmem.second_vector.tcp4", second_vector, "bad=EFAULT first=150/16 enough=100",
	  .num = TCP4 },
	{ "recvmem.second_vector.self6", second_vector, "bad=EFAULT first=150/28 enough=100",
	  .num = SELF6 },
	{ "recvmem.headers.tcp4", headers, HEADERS("16"), .num = TCP4 },
	{ "recvmem.headers.lo6", headers, HEADERS("28"), .num = LO6 },
	{ "recvmem.control.tcp4.CVE-2021-47249", control, "recv=0-299:EFAULT left=EAGAIN",
	  .num = TCP4 },
	{ "recvmem.control.self4", control, "recv=0-299:EFAULT left=EAGAIN", .num = SELF4 },
	{ "recvmem.control_room.self4", control_room, "0-31:1,32-40:0", .num = SELF4 },
	{ "recvmem.control_room.tcp6", control_room, "0-31:1,32-40:0", .num = TCP6 },
	{ "recvmem.many_faults.tcp4", many_faults, "recv=1152/16 not_congested=0", .num = TCP4 },
	{ }
};
