// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The part of rds-failnth for connections: the sender opens them, and so do
 * kworkers at both ends and interrupts, of which allocations fail as well.
 */
#include "nth.h"

#include <errno.h>
#include <stdlib.h>

#define PORT		4600
#define LEN		200000
#define SHORT		3000
#define MAX_STEPS	400
/* The smallest allocation of the fault that comes anywhere */
#define STEP		64

static uint8_t text[LEN];

/* A message to an address that this host has no connection to */
struct fresh {
	const char	*net;	/* form of the addresses */
	const char	*ns;
	const char	*from;
	int		trans;
	unsigned int	count;
	struct nth_link	l;
};

static void new_peer(void *arg)
{
	struct fresh *f = arg;
	char host[32];

	f->count++;
	snprintf(host, sizeof(host), f->net, f->count >> 7, 1 + f->count % 128);
	f->l.to = addr_of(host, PORT);
	f->l.rx = nth_in(f->ns, host, PORT, f->trans);
	fill(text, LEN, f->count);
}

static long first_message(void *arg)
{
	struct fresh *f = arg;
	ssize_t n = sendto(f->l.tx, text, LEN, 0, &f->l.to.sa,
			   addr_len(&f->l.to));

	return n < 0 ? -errno : n;
}

static void arrived(void *arg)
{
	struct fresh *f = arg;

	nth_come(f->l.rx, LEN, f->count);
	close(f->l.rx);
}

/* The n-th of the sender */
static void by_sender(struct fresh *f)
{
	const struct nth_call c = {
		f->ns, new_peer, first_message, NULL, arrived, 0, 0
	};

	nth_every(&c, f);
}

/*
 * The n-th of each kworker: of those that open a connection, or of those that
 * move a message over one, which is too long for its sender to move all.
 */
static void by_kworkers(struct fresh *f, const char *what, bool fresh)
{
	unsigned int n, none = 0;

	for (n = 1; n < MAX_STEPS; n++) {
		if (fresh)
			new_peer(f);
		else
			fill(text, LEN, ++f->count);
		nth_kworkers(NTH_KWORKERS, n);
		if (first_message(f) != LEN)
			nth_wrong("%s: send %u: %m", what, n);
		nth_come(f->l.rx, LEN, f->count);
		if (fresh)
			close(f->l.rx);
		/* Kworkers do other things, too, of which some fail later. */
		none = nth_kworkers(NTH_KWORKERS, 0) ? 0 : none + 1;
		if (none == 3)
			break;
		nth_point();
	}
	printf("# kworkers, %s: points 1 to %u\n", what, n - none);
}

/* A fault in any task or interrupt while a message goes; a call may fail. */
static void by_anyone(struct nth_link *l)
{
	unsigned int n, tries;
	bool more;
	long ret;
	char c;

	for (n = 0; n < MAX_STEPS; n++) {
		fill(text, SHORT, n);
		nth_anywhere(n * STEP);
		for (tries = 0; tries < 3; tries++) {
			ret = sendto(l->tx, text, SHORT, 0, &l->to.sa,
				     addr_len(&l->to));
			if (ret == SHORT)
				break;
			if (!nth_lack(-errno))
				nth_wrong("send %u: %m", n);
		}
		/* It may be the receiver whose call fails. */
		while (recv(l->rx, &c, 1, MSG_PEEK) < 0 && nth_lack(-errno))
			;
		more = nth_anywhere_end();
		nth_come(l->rx, SHORT, n);
		if (!more)
			break;
		nth_point();
	}
	printf("# anyone: %u points\n", n);
}

/* ---- nothing is left */

static bool no_messages(void *arg)
{
	static const int opts[] = {
		RDS_INFO_SEND_MESSAGES, RDS_INFO_RETRANS_MESSAGES,
		RDS_INFO_RECV_MESSAGES,
	};
	const struct nth_link *l = arg;
	unsigned int i, n = 0;

	for (i = 0; i < sizeof(opts) / sizeof(opts[0]); i++) {
		struct snap a = snap(l->tx, opts[i]), b = snap(l->rx, opts[i]);

		n += a.n + b.n;
		snap_free(&a);
		snap_free(&b);
	}
	return !n;
}

static void group_left(struct nth_link *tcp)
{
	struct snap a = snap(tcp->tx, RDS_INFO_SOCKETS);
	struct snap b = snap(tcp->rx, RDS_INFO_SOCKETS);

	/* main() has three sockets in A and one in B, this file three in A. */
	if (a.n != 6 || b.n != 1)
		nth_wrong("%u and %u sockets are left", a.n, b.n);
	if (!wait_until(no_messages, tcp, NTH_PATIENCE * slow_factor()))
		nth_wrong("messages are left");
	snap_free(&a);
	snap_free(&b);
	nth_point();
	nth_result("none_left", 1);
}

void nth_paths(struct nth_link *tcp)
{
	struct fresh f[] = {
		{ "10.2.%u.%u", "B", "10.0.0.1", RDS_TRANS_NONE, 0, { 0 } },
		{ "10.1.%u.%u", "A", "10.0.0.1", RDS_TRANS_TCP, 0, { 0 } },
		{ "127.2.%u.%u", "A", "127.0.0.1", RDS_TRANS_NONE, 0, { 0 } },
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		f[i].l.tx = nth_in("A", f[i].from, PORT + i, f[i].trans);
		by_sender(&f[i]);
	}
	nth_result("first_message", 1);
	by_kworkers(&f[0], "to B", true);
	new_peer(&f[0]);
	by_kworkers(&f[0], "same", false);
	close(f[0].l.rx);
	nth_result("kworkers", 1);
	by_anyone(tcp);
	nth_result("anyone", 1);
	group_left(tcp);
}
