// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDS_CANCEL_SENT_TO, and what close() does to waiting messages. */
#include <sys/wait.h>

#include "api.h"

static long cancel(int fd, const union addr *to, socklen_t len)
{
	return set_opt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, to, len);
}

static void lengths(const struct api_case *c)
{
	union addr to = addr_of(c->arg, 4000);
	int fd = bound(NS_A, c->num ? A6 : A4, 0), len;

	for (len = 0; len <= 64; len++)
		sweep(len, cancel(fd, &to, len));
	sweep_end("bound");
	for (len = 0; len <= 64; len++)
		sweep(len, cancel(sock(), &to, len));
	sweep_end("unbound");
}

/* Every destination address is accepted, and so is an unknown family. */
static void any_address(const struct api_case *c)
{
	static const char *const host[] = { "0.0.0.0",	 "255.255.255.255",
					    "224.0.0.1", "::",
					    "ff02::1",	 "fe80::1",
					    "10.0.0.77" };
	int fd = bound(NS_A, A4, 0);
	unsigned int i, bad = 0;

	(void)c;
	for (i = 0; i < ARRAY_SIZE(host); i++) {
		union addr to = addr_of(host[i], 4000);

		socklen_t len = addr_len(&to);

		sweep(i, cancel(fd, &to, len));
		to.sa.sa_family = 77;
		bad += cancel(fd, &to, len) != 0;
	}
	sweep_end(NULL);
	r("other_family", bad);
}

/*
 * Cancelling removes messages to exactly the address and port given; their
 * room in the send queue is free at once.
 */
static void frees(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);
	union addr to = addr_of(HOLE4, 4000), port = addr_of(HOLE4, 4001);
	union addr host = addr_of("10.0.0.98", 4000),
		   six = addr_of("::ffff:" HOLE4, 4000), padded;

	(void)c;
	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 1));
	need(send_to(fd, &to, MIN_SNDBUF, MSG_DONTWAIT) == MIN_SNDBUF);
	r("full", send_to(fd, &to, 1, MSG_DONTWAIT));
	r("other_port", cancel(fd, &port, 16));
	r("full", send_to(fd, &to, 1, MSG_DONTWAIT));
	r("other_host", cancel(fd, &host, 16));
	r("full", send_to(fd, &to, 1, MSG_DONTWAIT));
	memset(&padded, 0, sizeof(padded));
	memcpy(&padded, &to, sizeof(to.in));
	r("padded", cancel(fd, &padded, 28));
	r("full", send_to(fd, &to, 1, MSG_DONTWAIT));
	r("family", (to.sa.sa_family = AF_UNIX, cancel(fd, &to, 16)));
	to.sa.sa_family = AF_INET;
	r("free", send_to(fd, &to, MIN_SNDBUF, MSG_DONTWAIT));
	r("full", send_to(fd, &to, 1, MSG_DONTWAIT));
	r("mapped", cancel(fd, &six, 28));
	r("free", send_to(fd, &to, 1, MSG_DONTWAIT));
}

static void frees_v6(const struct api_case *c)
{
	int fd = bound(NS_A, A6, 0);
	union addr to = addr_of("fd00::99", 4000);

	(void)c;
	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 1));
	need(send_to(fd, &to, MIN_SNDBUF, MSG_DONTWAIT) == MIN_SNDBUF);
	r("short", cancel(fd, &to, 27));
	r("full", send_to(fd, &to, 1, MSG_DONTWAIT));
	r("cancel", cancel(fd, &to, 28));
	r("free", send_to(fd, &to, 1, MSG_DONTWAIT));
}

/* Cancelling removes messages of the calling socket only. */
static void own_only(const struct api_case *c)
{
	int a = bound(NS_A, A4, 0), b = bound(NS_A, A4, 0);
	union addr to = addr_of(HOLE4, 4000);

	(void)c;
	need(!set_int(a, SOL_SOCKET, SO_SNDBUF, 1) &&
	     !set_int(b, SOL_SOCKET, SO_SNDBUF, 1));
	need(send_to(a, &to, MIN_SNDBUF, MSG_DONTWAIT) == MIN_SNDBUF);
	need(send_to(b, &to, MIN_SNDBUF, MSG_DONTWAIT) == MIN_SNDBUF);
	r("cancel", cancel(a, &to, 16));
	r("own", send_to(a, &to, 1, MSG_DONTWAIT));
	r("other", send_to(b, &to, 1, MSG_DONTWAIT));
}

/* Cancel many messages that are queued among those of another destination. */
static void many(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), i;
	union addr to = addr_of(HOLE4, 4000), other = addr_of(HOLE4, 4001);
	struct snap s;
	unsigned int k, mine = 0;

	(void)c;
	for (i = 0; i < 50; i++)
		need(send_to(fd, i & 1 ? &to : &other, 10, MSG_DONTWAIT) == 10);
	r("cancel", cancel(fd, &to, 16));
	s = snap(fd, RDS_INFO_SEND_MESSAGES);
	for (k = 0; k < s.n; k++) {
		const struct rds_info_message *m = (void *)(s.p + k * s.ret);

		mine += m->lport == htons(port_of(fd));
	}
	r("left", mine);
	r("none", cancel(fd, &to, 16));
}

/* Messages to two hosts that come in turn: those to each can be cancelled. */
static void two_hosts(const struct api_case *c)
{
	union addr to[2] = { addr_of(HOLE4, 4000), addr_of("10.0.0.97", 4000) };
	int fd = bound(NS_A, A4, 0), i;

	(void)c;
	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 1));
	for (i = 0; i < MIN_SNDBUF; i++)
		need(send_to(fd, &to[i & 1], 1, MSG_DONTWAIT) == 1);
	r("full", send_to(fd, &to[0], 1, MSG_DONTWAIT));
	r("first", cancel(fd, &to[0], 16));
	r("half", send_to(fd, &to[0], MIN_SNDBUF / 2, MSG_DONTWAIT));
	r("second", cancel(fd, &to[1], 16));
	r("half", send_to(fd, &to[1], MIN_SNDBUF / 2, MSG_DONTWAIT));
	r("full", send_to(fd, &to[1], 1, MSG_DONTWAIT));
}

#define TOGETHER	4

/* Cancel what goes to one port, as soon as the others do, too. */
static void cancel_one(int fd, int start, int i)
{
	union addr to = addr_of(HOLE4, 4000 + i);
	char c;

	need(read(start, &c, 1) == 0);
	_exit(cancel(fd, &to, 16) ? 1 : 0);
}

/*
 * Four processes cancel messages of one socket at a time, each those to another
 * port: each of them removes all of its own.
 */
static void together(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), round, i, start[2], status, bad = 0;
	union addr to = addr_of(HOLE4, 4000);

	(void)c;
	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 1));
	for (round = 0; round < 20; round++) {
		for (i = 0; i < MIN_SNDBUF; i++) {
			to.in.sin_port = htons(4000 + i % TOGETHER);
			need(send_to(fd, &to, 1, MSG_DONTWAIT) == 1);
		}
		need(!pipe(start));
		for (i = 0; i < TOGETHER; i++) {
			if (!fork()) {
				close(start[1]);
				cancel_one(fd, start[0], i);
			}
		}
		close(start[0]);
		close(start[1]);
		while (wait(&status) > 0)
			bad |= status;
		/* All room of the send buffer is free. */
		if (send_to(fd, &to, MIN_SNDBUF, MSG_DONTWAIT) != MIN_SNDBUF)
			bad |= 1;
		bad |= cancel(fd, &to, 16) != 0;
	}
	r("bad", bad);
}

/* close() leaves no message in the send queues. */
static void closed(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), i, port = port_of(fd);
	union addr to = addr_of(HOLE4, 4000);
	struct snap s;
	unsigned int k, mine = 0;

	(void)c;
	for (i = 0; i < 20; i++)
		need(send_to(fd, &to, 100, MSG_DONTWAIT) == 100);
	r("close", close(fd));
	fd = sock();
	s = snap(fd, RDS_INFO_SEND_MESSAGES);
	for (k = 0; k < s.n; k++) {
		const struct rds_info_message *m = (void *)(s.p + k * s.ret);

		mine += m->lport == htons(port);
	}
	r("left", mine);
	r("rebind", do_bind(fd, A4, port));
}

static void delivered(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	char b[16];

	need(send_to(l.tx, &l.to, 9, 0) == 9);
	link_sync(&l);
	r("cancel", cancel(l.tx, &l.to, addr_len(&l.to)));
	x = rx_msg(l.rx, b, 16, 0, MSG_DONTWAIT);
	rx_note("recv", &x);
	need(send_to(l.tx, &l.to, 8, 0) == 8);
	x = rx_msg(l.rx, b, 16, 0, 0);
	rx_note("next", &x);
	x = rx_msg(l.tx, b, 16, 256, MSG_DONTWAIT);
	rx_note("notified", &x);
}

const struct api_case cancel_cases[] = {
	{ "cancel.lengths_v4", lengths, "bound=0-15:EINVAL,16-64:0 unbound=0-64:ENOTCONN",
	  .arg = HOLE4 },
	{ "cancel.lengths_v6", lengths, "bound=0-15:EINVAL,16-64:0 unbound=0-64:ENOTCONN",
	  .arg = "fd00::99", .num = 1 },
	{ "cancel.any_address", any_address, "0-6:0 other_family=0" },
	{ "cancel.frees", frees, "full=EAGAIN other_port=0 full=EAGAIN other_host=0 full=EAGAIN "
	  "padded=0 full=EAGAIN family=0 free=2304 full=EAGAIN mapped=0 free=1" },
	{ "cancel.frees_v6", frees_v6, "short=0 full=EAGAIN cancel=0 free=1" },
	{ "cancel.own_only", own_only, "cancel=0 own=1 other=EAGAIN" },
	{ "cancel.many", many, "cancel=0 left=25 none=0" },
	{ "cancel.two_hosts", two_hosts, "full=EAGAIN first=0 half=1152 second=0 half=1152 "
	  "full=EAGAIN" },
	{ "cancel.together", together, "bad=0" },
	{ "cancel.closed", closed, "close=0 left=0 rebind=0" },
	{ "cancel.delivered.tcp4", delivered, "cancel=0 recv=9/16 next=8/16 notified=EAGAIN",
	  .num = TCP4 },
	{ "cancel.delivered.lo6", delivered, "cancel=0 recv=9/28 next=8/28 notified=EAGAIN",
	  .num = LO6 },
	{ }
};
