// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "api.h"

const char *const topo_names[TOPOS] = { "tcp4", "tcp6", "self4", "self6", "lo4", "lo6" };

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

struct link link_open(enum topo t)
{
	struct link l = { .topo = t };

	l.tx = bound(NS_A, ways[t].tx, 0);
	l.rx = bound(ways[t].ns, ways[t].rx, 0);
	l.from = name_of(l.tx);
	l.to = name_of(l.rx);
	return l;
}

/*
 * Both ends sit on lane 0, so an answer cannot overtake a congestion map that was due before it,
 * and what was sent before has arrived when the answer is there.
 */
void link_sync(const struct link *l)
{
	struct link back = *l;
	struct rx x;
	char c = 's';

	if (l->topo != TCP4 && l->topo != TCP6)
		return;
	need(send_msg(back.rx, &l->from, &c, 1, NULL, MSG_DONTWAIT) == 1);
	do {
		x = rx_msg(back.tx, &c, 1, 64, 0);
	} while (x.ret >= 0 && !x.fromlen);
	if (x.ret != 1 || !addr_eq(&x.from, &l->to))
		bail("no answer over the link: %s", strerror(x.ret < 0 ? -x.ret : 0));
}

/* Every lane of the connections between A and B has carried a message both ways. */
static void warm_way(enum topo t)
{
	struct link l = link_open(t);
	struct rx x;
	char c;
	int i;

	need(send_to(l.tx, &l.to, 1, MSG_DONTWAIT) == 1);
	x = rx_msg(l.rx, &c, 1, 0, 0);
	if (x.ret != 1)
		bail("first message over %s: %s", topo_names[t], strerror(-x.ret));
	link_sync(&l);
	for (i = 0; i < 40; i++) {
		int fd = sock();

		need(!do_bind(fd, ways[t].tx, 0));
		need(send_to(fd, &l.to, 1, MSG_DONTWAIT) == 1);
		x = rx_msg(l.rx, &c, 1, 0, 0);
		if (x.ret != 1)
			bail("message %d over %s: %s", i, topo_names[t], strerror(-x.ret));
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

/* A socket whose send queue is full of messages to a host that is not there. */
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
