// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-hostile: many attempts, and those that do not come up */
#define _GNU_SOURCE
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#define CROWD	500
#define HALVES	3

/* Take what waits to be accepted, and close it. */
static int accept_all(int l)
{
	int fd, n = 0;

	while ((fd = accept4(l, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		close(fd);
		n++;
	}
	return n;
}

/* A connection of which nothing is left works. */
static void another(struct meet *m)
{
	struct meet n;

	meet_begin(&n);
	n.l = m->l;
	n.at = m->at;
	m->l = -1;
	if (fcntl(n.l, F_SETFL, 0))
		die("fcntl: %m");
	meets(&n);
	works(&n);
	over(&n);
}

/* How a peer goes: in the middle of its attempt, or once it is connected. */
static void come_and_go(const struct meet *m, int i)
{
	struct rogue r;

	rogue_begin(&r, &env.peer);
	if (!rogue_dial(&r, &m->at))
		die("peer: dial %d: %m", i);
	if (i % 4)
		rogue_answered(&r);
	if (i % 4 == 2)
		rogue_put(&r, 10);
	else if (i % 4 == 3)
		rdma_disconnect(r.id);
	rogue_drop(&r);
}

static void crowd(void)
{
	struct meet m;
	int accepted = 0;

	meet_begin(&m);
	meet_listen(&m, 16);
	if (fcntl(m.l, F_SETFL, O_NONBLOCK))
		die("fcntl: %m");
	for (int i = 0; i < CROWD; i++) {
		come_and_go(&m, i);
		accepted += accept_all(m.l);
	}
	/* Attempts that were given up may be under way. */
	while (counted("stream_connections") > 0 && readable(m.l, 1000))
		accepted += accept_all(m.l);
	TRUE(streams_left());
	printf("# %d of %d were accepted, backlog full %ld times\n", accepted,
	       CROWD, counted("stream_backlog_full"));
	TRUE(accepted > CROWD / 2);
	only(NULL);
	another(&m);
}

/*
 * Attempts that nobody finishes keep others out until their time is over, as
 * those of TCP do without cookies.
 */
static void half_open(void)
{
	struct rogue r[HALVES];
	struct meet m, n;
	bool up = false;

	meet_begin(&m);
	meet_listen(&m, HALVES);
	for (int i = 0; i < HALVES; i++) {
		rogue_begin(&r[i], &env.peer);
		TRUE(rogue_dial_half(&r[i], &m.at));
	}
	for (int i = 0; i < 30 && !up; i++) {
		meet_begin(&n);
		n.l = m.l;
		n.at = m.at;
		up = meet_go(&n);
		if (!i)
			TRUE(!up);
		if (!up) {
			rogue_drop(&n.r);
			poll(NULL, 0, 1000);
		}
	}
	TRUE(up);
	TRUE(counted("stream_backlog_full") > 0);
	works(&n);
	only(NULL);
	m.l = -1;
	over(&n);
}

/* How many of @n peers are answered */
static int answered(struct rogue *r, int n, const struct meet *m)
{
	int up = 0;

	for (int i = 0; i < n; i++) {
		rogue_begin(&r[i], &env.peer);
		if (rogue_dial(&r[i], &m->at))
			up += rogue_answered(&r[i]);
	}
	return up;
}

/* There are no more connections than net.rds.stream.max. */
static void limit(void)
{
	struct rogue r[6];
	struct meet m;
	int up;

	meet_begin(&m);
	meet_listen(&m, 16);
	/* Those of the honest stream are two. */
	setting("max", 2 + 4);
	up = answered(r, 6, &m);
	setting("max", 4096);
	WANT(up, 4);
	WANT(counted("stream_connections"), 4);
	WANT(counted("stream_limit"), 2);
	only(NULL);
	TRUE(honest_goes_on());
	over(&m);
}

/*
 * Three quarters of net.rds.stream.max may be requests.  What is accepted is no
 * request any more.
 */
static void limit_waiting(void)
{
	struct rogue r[14];
	struct meet m;
	int up;

	meet_begin(&m);
	meet_listen(&m, 16);
	setting("max", 16);
	up = answered(r, 13, &m);
	WANT(up, 12);
	WANT(counted("stream_share_limit"), 1);
	WANT(counted("stream_limit"), 0);
	m.fd = accept4(m.l, NULL, NULL, SOCK_CLOEXEC);
	TRUE(m.fd >= 0);
	rogue_begin(&r[13], &env.peer);
	TRUE(rogue_dial(&r[13], &m.at));
	TRUE(rogue_answered(&r[13]));
	setting("max", 4096);
	only(NULL);
	TRUE(honest_goes_on());
	for (int i = 0; i < 14; i++)
		rogue_drop(&r[i]);
	over(&m);
}

/* A peer that is asked, and does not answer in the time of an attempt */
static void no_answer(void)
{
	struct pollfd p = { .events = POLLOUT };
	struct meet m;

	meet_begin(&m);
	meet_dial(&m);
	p.fd = m.fd;
	WANT(poll(&p, 1, (int)(3 * ROGUE_MS)), 1);
	WANT(meet_dialled(&m), -ETIMEDOUT);
	only(NULL);
	over(&m);
}

static void rejects(void)
{
	struct meet m;

	meet_begin(&m);
	meet_dial(&m);
	WANT(rdma_reject(m.r.id, "no", 2), 0);
	WANT(meet_dialled(&m), -ECONNREFUSED);
	only(NULL);
	over(&m);
}

const struct test crowd_tests[] = {
	{ .name = "crowd", .run = crowd, .who = DIALS },
	{ .name = "half_open", .run = half_open, .who = DIALS },
	{ .name = "limit", .run = limit, .who = DIALS },
	{ .name = "limit_waiting", .run = limit_waiting, .who = DIALS },
	{ .name = "no_answer", .run = no_answer, .who = ANSWERS },
	{ .name = "rejects", .run = rejects, .who = ANSWERS },
	{ .name = NULL },
};
