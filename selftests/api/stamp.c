// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Timestamps and the receive-path latency trace. */
#include "api.h"

#include <sys/time.h>
#include <time.h>

#define TS_OLD	29
#define TS_NEW	63

static bool recent(const struct rx *x, int type)
{
	const int64_t *t = rx_cmsg(x, SOL_SOCKET, type, NULL);

	return t && llabs(t[0] - (int64_t)time(NULL)) <= 60 && t[1] >= 0 &&
	       t[1] < 1000000;
}

static struct rx one(const struct link *l)
{
	static char b[64];

	need(send_to(l->tx, &l->to, 9, 0) == 9);
	return rx_msg(l->rx, b, sizeof(b), 512, 0);
}

static void kinds(const struct api_case *c)
{
	static const struct {
		const char *name;
		int level, opt, type;
	} k[] = { { "old", SOL_SOCKET, TS_OLD, TS_OLD },
		  { "new", SOL_SOCKET, TS_NEW, TS_NEW },
		  { "rds_old", SOL_RDS, TS_OLD, TS_OLD },
		  { "rds_new", SOL_RDS, TS_NEW, TS_NEW },
		  { "ns", SOL_SOCKET, SO_TIMESTAMPNS, TS_OLD } };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(k); i++) {
		struct link l = link_open(c->num);
		struct rx x;

		need(!set_int(l.rx, k[i].level, k[i].opt, 1));
		x = one(&l);
		rx_note(k[i].name, &x);
		r("recent",
		  k[i].opt == SO_TIMESTAMPNS || recent(&x, k[i].type));
		need(!set_int(l.rx, k[i].level, k[i].opt, 0));
		x = one(&l);
		rx_note("off", &x);
	}
}

/*
 * A timestamp is delivered only if the option is on both when the message
 * arrives and when it is received.
 */
static void both_times(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	char b[16];

	need(send_to(l.tx, &l.to, 9, 0) == 9);
	link_sync(&l);
	need(!set_int(l.rx, SOL_SOCKET, TS_OLD, 1));
	x = rx_msg(l.rx, b, sizeof(b), 256, 0);
	rx_note("late_on", &x);
	need(send_to(l.tx, &l.to, 9, 0) == 9);
	link_sync(&l);
	need(!set_int(l.rx, SOL_SOCKET, TS_OLD, 0));
	x = rx_msg(l.rx, b, sizeof(b), 256, 0);
	rx_note("late_off", &x);
}

static void peeked(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	char b[16];

	need(!set_int(l.rx, SOL_SOCKET, TS_OLD, 1));
	need(send_to(l.tx, &l.to, 9, 0) == 9);
	x = rx_msg(l.rx, b, sizeof(b), 256, MSG_PEEK);
	rx_note("peek", &x);
	x = rx_msg(l.rx, b, sizeof(b), 256, 0);
	rx_note("recv", &x);
}

static long trace(int fd, int n, int a, int b, int c)
{
	struct rds_rx_trace_so so = { n, { a, b, c } };

	return set_opt(fd, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so));
}

/* Counts and positions from 0 to 255 (the array has three entries). */
static void trace_range(const struct api_case *c)
{
	int fd = sock(), i;

	(void)c;
	for (i = 0; i <= 255; i++)
		sweep(i, trace(fd, i, 0, 1, 2));
	sweep_end("count");
	for (i = 0; i <= 255; i++)
		sweep(i, trace(fd, 1, i, 0, 0));
	sweep_end("first");
	for (i = 0; i <= 255; i++)
		sweep(i, trace(fd, 3, 0, 0, i));
	sweep_end("last");
	r("unused", trace(fd, 1, 2, 200, 200));
	r("none", trace(fd, 0, 200, 200, 200));
}

static void latency(const struct api_case *c)
{
	struct link l = link_open(c->num);
	const struct rds_cmsg_rx_trace *t;
	struct rx x;
	size_t len;
	int n;

	for (n = 1; n <= 3; n++) {
		char label[8];

		need(!trace(l.rx, n, 2, 0, 1));
		x = one(&l);
		snprintf(label, sizeof(label), "n%d", n);
		rx_note(label, &x);
		t = rx_cmsg(&x, SOL_RDS, RDS_CMSG_RXPATH_LATENCY, &len);
		need(t && len == 32);
		r("count", t->rx_traces);
		sweep(0, t->rx_trace_pos[0]);
		sweep(1, t->rx_trace_pos[1]);
		sweep(2, t->rx_trace_pos[2]);
		sweep_end("pos");
		r("zero", !memcmp((char *)t + 4, "\0\0\0", 4));
		r("unused", n < 3 ? (long)t->rx_trace[2] : 0);
		if (c->num == TCP4 || c->num == TCP6)
			r("sane", t->rx_trace[0] < 60000000000ull);
	}
	need(!trace(l.rx, 0, 0, 0, 0));
	x = one(&l);
	rx_note("off", &x);
}

static void order(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;

	need(!set_int(l.rx, SOL_SOCKET, TS_NEW, 1));
	need(!trace(l.rx, 1, 0, 0, 0));
	x = one(&l);
	rx_note("recv", &x);
}

#define KIND(k, n, t) k "=9/" n ":1." t "(16) recent=1 off=9/" n
#define KINDS(n) KIND("old", n, "29") " " KIND("new", n, "63") " " KIND("rds_old", n, "29") " " \
	KIND("rds_new", n, "63") " " KIND("ns", n, "29")
#define TRACE(k, n, p, e) "n" k "=9/" n ":276.11(32) count=" k " pos=" p " zero=1 unused=0" e
#define TRACES(n, e) TRACE("1", n, "0:2,1-2:0", e) " " TRACE("2", n, "0:2,1-2:0", e) " " \
	TRACE("3", n, "0:2,1:0,2:1", e) " off=9/" n
#define LATE(n) "late_on=9/" n " late_off=9/" n
#define PEEK(n) "peek=9/" n ":1.29(16) recv=9/" n ":1.29(16)"

const struct api_case stamp_cases[] = {
	{ "stamp.kinds.tcp4", kinds, KINDS("16"), .num = TCP4 },
	{ "stamp.kinds.self6", kinds, KINDS("28"), .num = SELF6 },
	{ "stamp.kinds.lo4", kinds, KINDS("16"), .num = LO4 },
	{ "stamp.both_times.tcp4", both_times, LATE("16"), .num = TCP4 },
	{ "stamp.both_times.lo6", both_times, LATE("28"), .num = LO6 },
	{ "stamp.peeked.tcp4", peeked, PEEK("16"), .num = TCP4 },
	{ "stamp.trace_range.CVE-2017-18552.CVE-2024-23849", trace_range,
	  "count=0-3:0,4-255:EFAULT first=0-2:0,3-255:EFAULT last=0-2:0,3-255:EFAULT unused=0 "
	  "none=0" },
	{ "stamp.latency.tcp4", latency, TRACES("16", " sane=1"), .num = TCP4 },
	{ "stamp.latency.tcp6", latency, TRACES("28", " sane=1"), .num = TCP6 },
	{ "stamp.latency.self4", latency, TRACES("16", ""), .num = SELF4 },
	{ "stamp.order.tcp4", order, "recv=9/16:1.63(16):276.11(32)", .num = TCP4 },
	{ "stamp.order.lo6", order, "recv=9/28:1.63(16):276.11(32)", .num = LO6 },
	{ }
};
