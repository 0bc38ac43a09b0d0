// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sendmsg() and user memory that faults, at every copy
 * (protocol.rst 5.6.7 and 5.6.14).
 */
#include "api.h"

/* The payload ends in a page without access after n good bytes. */
static void payload(const struct api_case *c)
{
	static const int good[] = { 0,	  1,	47,   48,   100,
				    4095, 4096, 4097, 8192, 20000 };
	struct link l = link_open(c->num);
	unsigned int i;
	struct rx x;
	char b[4];

	for (i = 0; i < ARRAY_SIZE(good); i++)
		sweep(good[i], send_msg(l.tx, &l.to, page_hole(good[i]),
					good[i] + 1, NULL, 0));
	sweep_end(NULL);
	r("kernel",
	  send_msg(l.tx, &l.to, (void *)0xffff888000000000ul, 16, NULL, 0));
	r("null", send_msg(l.tx, &l.to, NULL, 16, NULL, 0));
	/* No failed send left a message or took room in the send queue. */
	r("after", send_msg(l.tx, &l.to, "ok", 2, NULL, 0));
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
}

static void second_vector(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char b[4096] = "";
	struct iovec iov[3] = { { b, 4096 }, { page_hole(0), 100 }, { b, 10 } };
	struct msghdr m = { .msg_name = &l.to,
			    .msg_namelen = addr_len(&l.to),
			    .msg_iov = iov,
			    .msg_iovlen = 3 };

	r("sendmsg", sendmsg(l.tx, &m, 0) < 0 ? -errno : 0);
	iov[1].iov_len = 0;
	r("empty", sendmsg(l.tx, &m, 0));
}

static void headers(const struct api_case *c)
{
	struct link l = link_open(SELF4);
	struct iovec iov = { "x", 1 };
	struct msghdr m = { .msg_name = page_hole(0),
			    .msg_namelen = 16,
			    .msg_iov = &iov,
			    .msg_iovlen = 1 };

	(void)c;
	r("name", sendmsg(l.tx, &m, 0) < 0 ? -errno : 0);
	m.msg_name = page_hole(15);
	r("name_half", sendmsg(l.tx, &m, 0) < 0 ? -errno : 0);
	m.msg_name = &l.to;
	m.msg_namelen = -1;
	r("name_negative", sendmsg(l.tx, &m, 0) < 0 ? -errno : 0);
	m.msg_namelen = 16;
	m.msg_iov = page_hole(0);
	r("iov", sendmsg(l.tx, &m, 0) < 0 ? -errno : 0);
	m.msg_iov = &iov;
	m.msg_control = page_hole(0);
	m.msg_controllen = 24;
	r("control", sendmsg(l.tx, &m, 0) < 0 ? -errno : 0);
	m.msg_control = page_hole(20);
	r("control_half", sendmsg(l.tx, &m, 0) < 0 ? -errno : 0);
	m.msg_control = NULL;
	m.msg_controllen = 0;
	r("good", sendmsg(l.tx, &m, 0));
	r("header", sendmsg(l.tx, page_hole(8), 0) < 0 ? -errno : 0);
	r("fd", sendmsg(-1, &m, 0) < 0 ? -errno : 0);
}

/*
 * A failing copy leaves nothing in the send queue: ten messages of 1001 bytes
 * fail, more than the queue holds, and one that fills the queue still fits.
 */
static void not_charged(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char *p = page_hole(1000);
	int i;

	need(!set_int(l.tx, SOL_SOCKET, SO_SNDBUF, 1));
	for (i = 0; i < 10; i++)
		if (send_msg(l.tx, &l.to, p, 1001, NULL, MSG_DONTWAIT) !=
		    -EFAULT)
			bail("no EFAULT at %d", i);
	r("full", send_to(l.tx, &l.to, MIN_SNDBUF, MSG_DONTWAIT));
}

static void read_only(const struct api_case *c)
{
	struct link l = link_open(c->num);
	static const char text[] = "read only memory";
	struct rx x;
	char b[32];

	r("send", send_msg(l.tx, &l.to, text, sizeof(text), NULL, 0));
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
	r("same", !memcmp(b, text, sizeof(text)));
}

/*
 * sendmmsg() marks all messages but the last with a flag that RDS refuses
 * (MSG_BATCH): only a single message gets through.
 */
static void many_messages(const struct api_case *c)
{
	static struct mmsghdr m[4];
	static struct iovec iov[4];
	struct link l = link_open(c->num);
	char b[16] = "";
	int i;

	for (i = 0; i < 4; i++) {
		iov[i] = (struct iovec){ b, i };
		m[i].msg_hdr = (struct msghdr){ .msg_name = &l.to,
						.msg_namelen = addr_len(&l.to),
						.msg_iov = &iov[i],
						.msg_iovlen = 1 };
	}
	r("four", sendmmsg(l.tx, m, 4, 0) < 0 ? -errno : 0);
	r("one", sendmmsg(l.tx, m + 3, 1, 0));
	r("recv", recv(l.rx, b, sizeof(b), 0));
}

#define PAYLOAD(n) "0-1:EFAULT,47-48:EFAULT,100:EFAULT,4095-4097:EFAULT,8192:EFAULT,20000:EFAULT " \
	"kernel=EFAULT null=EFAULT after=2 recv=2/" n
#define MANY "four=EOPNOTSUPP one=1 recv=3"

const struct api_case sendmem_cases[] = {
	{ "sendmem.row14_payload.tcp4.CVE-2010-3904", payload, PAYLOAD("16"), .num = TCP4 },
	{ "sendmem.row14_payload.tcp6", payload, PAYLOAD("28"), .num = TCP6 },
	{ "sendmem.row14_payload.self4", payload, PAYLOAD("16"), .num = SELF4 },
	{ "sendmem.row14_payload.lo6", payload, PAYLOAD("28"), .num = LO6 },
	{ "sendmem.row14_second_vector.tcp4", second_vector, "sendmsg=EFAULT empty=4106",
	  .num = TCP4 },
	{ "sendmem.row14_second_vector.self6", second_vector, "sendmsg=EFAULT empty=4106",
	  .num = SELF6 },
	{ "sendmem.headers", headers, "name=EFAULT name_half=EFAULT name_negative=EINVAL "
	  "iov=EFAULT control=EFAULT control_half=EFAULT good=1 header=EFAULT fd=EBADF" },
	{ "sendmem.not_charged.tcp4", not_charged, "full=2304", .num = TCP4 },
	{ "sendmem.not_charged.self4", not_charged, "full=2304", .num = SELF4 },
	{ "sendmem.read_only.tcp4", read_only, "send=17 recv=17/16 same=1", .num = TCP4 },
	{ "sendmem.many.tcp4", many_messages, MANY, .num = TCP4 },
	{ "sendmem.many.lo4", many_messages, MANY, .num = LO4 },
	{ }
};
