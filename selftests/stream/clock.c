// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Cases of rds-stream-hostile: peers that are gone without a word, or take
 * nothing, and the times that the options of the socket give them. A peer that
 * has dialled has asked for repetitions without end; where the socket has
 * dialled rxe gives up after 4 s, so the times here are shorter.
 */
#include "hostile.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>

/* sysctl silent_ms: the least, and the default */
#define SHORT_MS	1000
#define USUAL_MS	924600

static void option(int fd, int level, int name, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		die("option %d: %m", name);
}

static void keepalive(const struct meet *m, int idle, int intvl, int cnt)
{
	option(m->fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
	option(m->fd, IPPROTO_TCP, TCP_KEEPINTVL, intvl);
	option(m->fd, IPPROTO_TCP, TCP_KEEPCNT, cnt);
	option(m->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/* The peer's queue pair is gone, and nobody was told. */
static void dies(struct meet *m)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	WANT(ibv_modify_qp(m->r.id->qp, &attr, IBV_QP_STATE), 0);
}

static void meets_dead(struct meet *m)
{
	meet_begin(m);
	meets(m);
	works(m);
	dies(m);
}

/* The peer has room for 100 bytes, and they are there. */
static void meets_full(struct meet *m)
{
	static const struct change small[] = {
		{ offsetof(struct hello, first.bytes), 4, false, 100, 0 },
	};

	meet_begin(m);
	m->r.changes = small;
	m->r.nr_changes = 1;
	meets(m);
	TRUE(send_until_full(m) > 100);
	TRUE(UNTIL(&m->r, m->r.in_bytes == 100));
	set_timeo(m->fd, SO_SNDTIMEO, (int)(4 * ROGUE_MS));
}

/* The error was told; the clock has ended so many streams. */
static void gave_up(struct meet *m, long silent)
{
	WANT(recv(m->fd, &(char){ 0 }, 1, 0), 0);
	WANT(err(send(m->fd, "x", 1, MSG_NOSIGNAL)), -EPIPE);
	WANT(counted("stream_silent"), silent);
	only(NULL);
	over(m);
}

/* A reader gets the error. */
static void reader_ends(struct meet *m)
{
	set_timeo(m->fd, SO_RCVTIMEO, (int)(4 * ROGUE_MS));
	WANT(end_of(m), -ETIMEDOUT);
	gave_up(m, 1);
}

/* A writer that waits for room gets it. */
static void writer_ends(struct meet *m, long silent)
{
	WANT(err(send(m->fd, "x", 1, MSG_NOSIGNAL)), -ETIMEDOUT);
	gave_up(m, silent);
}

static void dead_user_timeout(void)
{
	struct meet m;

	meets_dead(&m);
	option(m.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 500);
	WANT(send(m.fd, "x", 1, MSG_NOSIGNAL), 1);
	reader_ends(&m);
}

/* Set when bytes are under way, it holds for them. */
static void dead_user_timeout_late(void)
{
	struct meet m;

	meets_dead(&m);
	WANT(send(m.fd, "x", 1, MSG_NOSIGNAL), 1);
	option(m.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 500);
	reader_ends(&m);
}

/* Set before there is a connection: of the listener, or during the attempt */
static void dead_user_timeout_before(void)
{
	struct meet m;

	meet_begin(&m);
	if (env.in) {
		meet_listen(&m, 8);
		option(m.l, IPPROTO_TCP, TCP_USER_TIMEOUT, 500);
		meets(&m);
	} else {
		meet_dial(&m);
		option(m.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 500);
		TRUE(rogue_accept(&m.r) && rogue_answered(&m.r));
		WANT(meet_dialled(&m), 0);
	}
	dies(&m);
	WANT(send(m.fd, "x", 1, MSG_NOSIGNAL), 1);
	reader_ends(&m);
}

/* A stream that is idle: nothing but the sign of life is under way. */
static void dead_keepalive(void)
{
	struct meet m;

	meets_dead(&m);
	keepalive(&m, 1, 1, 1);
	reader_ends(&m);
}

/* TCP_USER_TIMEOUT is in place of a number of signs that is for ever. */
static void dead_keepalive_user_timeout(void)
{
	struct meet m;

	meets_dead(&m);
	option(m.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 500);
	keepalive(&m, 1, 1, 127);
	reader_ends(&m);
}

/* No option is set: the setting of the namespace ends it. */
static void dead_default(void)
{
	struct meet m;

	meets_dead(&m);
	setting("silent_ms", SHORT_MS);
	WANT(send(m.fd, "x", 1, MSG_NOSIGNAL), 1);
	reader_ends(&m);
	setting("silent_ms", USUAL_MS);
}

/*
 * The peer is gone while a writer waits for room, without an option: it is
 * asked, and the setting or the device decides.
 */
static void dead_full(void)
{
	struct meet m;

	meets_full(&m);
	dies(&m);
	if (env.in)
		setting("silent_ms", SHORT_MS);
	writer_ends(&m, env.in);
	setting("silent_ms", USUAL_MS);
}

/* The peer answers all the time, and takes nothing. */
static void full_user_timeout(void)
{
	struct meet m;

	meets_full(&m);
	option(m.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 2500);
	writer_ends(&m, 1);
	TRUE(m.r.in_bytes == 100);
}

/*
 * The same without TCP_USER_TIMEOUT: who answers is not silent. How long is said
 * by another peer, which is dead, and is asked after the others have been.
 */
static void full_lives(void)
{
	struct meet m, dead;

	meets_full(&m);
	keepalive(&m, 1, 1, 1);
	meets_dead(&dead);
	setting("silent_ms", SHORT_MS);
	keepalive(&dead, 4, 1, 1);
	set_timeo(dead.fd, SO_RCVTIMEO, (int)(4 * ROGUE_MS));
	WANT(end_of(&dead), -ETIMEDOUT);
	setting("silent_ms", USUAL_MS);
	WANT(counted("stream_silent"), 1);
	WANT(err(send(m.fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL)), -EAGAIN);
	TRUE(rogue_put(&m.r, 10));
	TRUE(reads(&m, 10));
	only(NULL);
	close(dead.fd);
	close(dead.l);
	over(&m);
}

const struct test clock_tests[] = {
	{ .name = "dead_user_timeout", .run = dead_user_timeout },
	{ .name = "dead_user_timeout_late", .run = dead_user_timeout_late },
	{ .name = "dead_user_timeout_before", .run = dead_user_timeout_before },
	{ .name = "dead_keepalive", .run = dead_keepalive },
	{ .name = "dead_keepalive_user_timeout",
	  .run = dead_keepalive_user_timeout },
	{ .name = "dead_default", .run = dead_default },
	{ .name = "dead_full", .run = dead_full },
	{ .name = "full_user_timeout", .run = full_user_timeout },
	{ .name = "full_lives", .run = full_lives, .who = DIALS },
	{ .name = NULL },
};
