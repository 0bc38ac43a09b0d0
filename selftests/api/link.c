// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "api.h"

const char *const topo_names[TOPOS] = { "tcp4",	 "tcp6", "self4",
					"self6", "lo4",	 "lo6" };

static const struct {
	const char *tx, *rx;
	enum ns ns;
} ways[TOPOS] = {
	[TCP4] = { A4, B4, NS_B },
	[TCP6] = { A6, B6, NS_B },
	[SELF4] = { A4, A4, NS_A },
	[SELF6] = { A6, A6, NS_A },
	[LO4] = { "127.0.0.1", "127.0.0.1", NS_A },
	[LO6] = { "::1", "::1", NS_A },
};

/* Send a message of one byte to socket @rx and receive it. */
static void hop(int tx, int rx)
{
	union addr to = name_of(rx);
	struct rx x;
	char c = 's';

	need(send_msg(tx, &to, &c, 1, NULL, MSG_DONTWAIT) == 1);
	x = rx_msg(rx, &c, 1, 0, 0);
	if (x.ret != 1)
		bail("no round trip: %s", strerror(x.ret < 0 ? -x.ret : 0));
}

/*
 * On return all messages sent before between A and B, and all congestion maps
 * that were due, have arrived: a message goes each way, and one from each host
 * to itself, between sockets on lane 0, where no message overtakes another.
 */
static void round_trip(bool six)
{
	static int a[2], b[2];

	if (!a[six]) {
		a[six] = bound(NS_A, six ? A6 : A4, 0);
		b[six] = bound(NS_B, six ? B6 : B4, 0);
	}
	hop(a[six], b[six]);
	hop(b[six], a[six]);
	hop(a[six], a[six]);
	hop(b[six], b[six]);
}

void link_sync(const struct link *l)
{
	if (l->topo != LO4 && l->topo != LO6)
		round_trip(l->from.sa.sa_family == AF_INET6);
}

/*
 * Wait, once in each case, for what the previous case left under way: closed
 * sockets clear their ports.
 */
static void settle(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	round_trip(false);
	round_trip(true);
}

/*
 * A message over loopback arrives before the call that sends it returns, if the
 * connection is up, and link_sync() sends none there.  A connection that is not
 * used ends: have one that was used just now.
 */
static void warm(enum topo t)
{
	static int fd[2];
	bool six = t == LO6;

	if (t != LO4 && t != LO6)
		return;
	if (!fd[six])
		fd[six] = bound(NS_A, ways[t].tx, 0);
	/* The second one comes behind what a new connection says by itself. */
	hop(fd[six], fd[six]);
	hop(fd[six], fd[six]);
}

struct link link_open(enum topo t)
{
	struct link l = { .topo = t };

	settle();
	warm(t);
	l.tx = bound(NS_A, ways[t].tx, 0);
	l.rx = bound(ways[t].ns, ways[t].rx, 0);
	l.from = name_of(l.tx);
	l.to = name_of(l.rx);
	return l;
}

/*
 * Bring up the connections between A and B: lane 0 carries a message both ways,
 * and 40 sockets with ports on any lane send one each.
 */
static void warm_way(enum topo t)
{
	struct link l = link_open(t);
	struct rx x;
	char c;
	int i;

	need(send_to(l.tx, &l.to, 1, MSG_DONTWAIT) == 1);
	x = rx_msg(l.rx, &c, 1, 0, 0);
	if (x.ret != 1)
		bail("first message over %s: %s", topo_names[t],
		     strerror(-x.ret));
	link_sync(&l);
	for (i = 0; i < 40; i++) {
		int fd = sock();

		need(!do_bind(fd, ways[t].tx, 0));
		need(send_to(fd, &l.to, 1, MSG_DONTWAIT) == 1);
		x = rx_msg(l.rx, &c, 1, 0, 0);
		if (x.ret != 1)
			bail("message %d over %s: %s", i, topo_names[t],
			     strerror(-x.ret));
		close(fd);
	}
	close(l.tx);
	close(l.rx);
}

void warm_up(void)
{
	warm_way(TCP4);
	warm_way(TCP6);
}

/* A socket whose send queue is full of messages to an absent host. */
int hole_full(int sndbuf)
{
	int fd = bound(NS_A, A4, 0);
	union addr to = addr_of(HOLE4, 4000);
	long n;

	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, sndbuf));
	do {
		n = send_to(fd, &to, 512, MSG_DONTWAIT);
	} while (n == 512);
	if (n != -EAGAIN)
		bail("filling the send queue: %s", strerror(-n));
	return fd;
}
