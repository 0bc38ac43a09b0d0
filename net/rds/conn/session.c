// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sessions; conn/session.h has the rules. */
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#include "conn/session.h"
#include "cong/map.h"
#include "proto/exthdr.h"
#include <net/rds/transport.h>

/* Limit of rds_session.strays */
#define SESSION_MAX_STRAYS	64
/* With so many a ping without a pong is not given up. */
#define SESSION_PATIENT		8

void rds_session_init(struct rds_session *session, unsigned int max,
		      unsigned int max_blind)
{
	memset(session, 0, sizeof(*session));
	session->max = max;
	session->max_blind = max_blind;
	spin_lock_init(&session->lock);
}

/* The peer may have forgotten the number of paths. */
static void session_fall(struct rds_session *s)
{
	lockdep_assert_held(&s->lock);
	s->raises = 1 + s->strays;
	WRITE_ONCE(s->paths, s->paths & ~RDS_PATHS_RAISED);
}

/*
 * The fate of the pings that are not answered is unknown: each may still cause
 * a pong, which must not count as that of a raise.
 */
static void session_doubt(struct rds_session *s)
{
	lockdep_assert_held(&s->lock);
	s->strays = min(s->strays + s->pings, SESSION_MAX_STRAYS);
	s->pings = 0;
	session_fall(s);
}

static void session_ping(struct rds_session *s)
{
	lockdep_assert_held(&s->lock);
	s->pings++;
	s->pinged = jiffies;
}

bool rds_session_ask(struct rds_session *s)
{
	bool due;

	spin_lock_bh(&s->lock);
	due = !s->met && !s->asked;
	s->asked |= due;
	if (due)
		session_ping(s);
	spin_unlock_bh(&s->lock);
	return due;
}

void rds_session_not_asked(struct rds_session *s)
{
	spin_lock_bh(&s->lock);
	s->asked = false;
	session_doubt(s);
	spin_unlock_bh(&s->lock);
}

/*
 * Record whether the peer is this namespace.  An address can move to this host
 * and away again, also to a host that names no generation.  Returns whether the
 * peer was this namespace and is not any more.
 */
static bool session_set_same(struct rds_session *s, bool same,
			     struct rds_cong_mirror *mirror)
{
	bool was = s->same;

	lockdep_assert_held(&s->lock);
	if (was == same)
		return false;
	WRITE_ONCE(s->same, same);
	rds_cong_mirror_set(mirror, same);
	return was;
}

/*
 * Is the host that forgot the connection the same as before?  Its generation
 * numbers have the highest byte in common, too.
 */
static bool session_is_same_host(const struct rds_session *s, u32 gen, u32 host)
{
	return host && host == s->host && gen >> 24 == s->gen >> 24;
}

struct rds_session_news rds_session_generation(struct rds_session *s, u32 gen,
					       u32 host, bool same,
					       struct rds_cong_mirror *mirror)
{
	struct rds_session_news news = {};

	spin_lock_bh(&s->lock);
	news.same_ended = session_set_same(s, same, mirror);
	if (gen && gen != s->gen) {
		news.anew = s->gen;
		news.restarted = s->gen && !session_is_same_host(s, gen, host);
		WRITE_ONCE(s->gen, gen);
		s->host = 0;
		/* What an earlier incarnation was told is forgotten. */
		session_fall(s);
	}
	if (host)
		s->host = host;
	spin_unlock_bh(&s->lock);
	return news;
}

static bool session_is_outdated(const struct rds_session *s,
				const struct rds_handshake *hs)
{
	lockdep_assert_held(&s->lock);
	return !rds_handshake_acks(hs) && hs->gen && hs->gen == s->acks_gen;
}

bool rds_session_is_outdated(struct rds_session *s,
			     const struct rds_handshake *hs)
{
	bool outdated;

	spin_lock_bh(&s->lock);
	outdated = session_is_outdated(s, hs);
	spin_unlock_bh(&s->lock);
	return outdated;
}

static void session_set_kind(struct rds_session *s,
			     const struct rds_handshake *hs)
{
	bool acks = rds_handshake_acks(hs);

	lockdep_assert_held(&s->lock);
	if (session_is_outdated(s, hs))
		return;
	if (acks)
		s->acks_gen = hs->gen;
	WRITE_ONCE(s->kind, acks ? RDS_PEER_ACKS : RDS_PEER_OLD);
}

unsigned int rds_session_counts(const struct rds_session *s,
				const struct rds_handshake *hs)
{
	u8 max = hs->sport_idx ? s->max : s->max_blind;
	unsigned int paths = min_t(unsigned int, hs->npaths, max);

	if (rds_handshake_acks(hs) || paths < 2)
		return 0;
	return rounddown_pow_of_two(paths);
}

static void session_set_paths(struct rds_session *s,
			      const struct rds_handshake *hs)
{
	unsigned int counts = rds_session_counts(s, hs);
	u8 paths = counts ? counts | RDS_PATHS_COUNTED : 0;

	lockdep_assert_held(&s->lock);
	if (session_is_outdated(s, hs))
		return;
	if (counts && !hs->sport_idx)
		paths |= RDS_PATHS_BLIND;
	if (s->max > 1 && rds_handshake_paths(hs))
		paths = RDS_MAX_PATHS;
	if ((s->paths & ~RDS_PATHS_RAISED) == paths)
		return;
	WRITE_ONCE(s->paths, paths);
	session_fall(s);
}

void rds_session_heard(struct rds_session *s, const struct rds_handshake *hs,
		       bool first)
{
	spin_lock_bh(&s->lock);
	s->heard++;
	session_set_kind(s, hs);
	session_set_paths(s, hs);
	s->shown |= first && rds_session_counts(s, hs);
	WRITE_ONCE(s->met, true);
	s->asked = false;
	spin_unlock_bh(&s->lock);
}

void rds_session_begun(struct rds_session *s, bool greeted, bool flagged)
{
	spin_lock_bh(&s->lock);
	s->pings += greeted && flagged;
	session_doubt(s);
	s->shown = false;
	if (greeted && !flagged)
		session_ping(s);
	spin_unlock_bh(&s->lock);
}

void rds_session_lost(struct rds_session *s, bool first)
{
	spin_lock_bh(&s->lock);
	/*
	 * A blind peer that has not restarted has the number, and does not wait
	 * for an answer either before it opens the path again.
	 */
	if (first || !(s->paths & RDS_PATHS_BLIND))
		session_fall(s);
	if (first)
		s->shown = false;
	spin_unlock_bh(&s->lock);
}

void rds_session_answered(struct rds_session *s)
{
	spin_lock_bh(&s->lock);
	if (s->pings)
		s->pings--;
	else if (s->strays)
		s->strays--;
	if (s->paths & RDS_PATHS_COUNTED && !s->pings && !s->raises)
		WRITE_ONCE(s->paths, s->paths | RDS_PATHS_RAISED);
	spin_unlock_bh(&s->lock);
}

enum rds_raise rds_session_raise(struct rds_session *s)
{
	enum rds_raise due = RDS_RAISE_NONE;

	spin_lock_bh(&s->lock);
	if (s->paths & RDS_PATHS_COUNTED && !s->pings && s->raises)
		due = s->shown ? RDS_RAISE_TELL : RDS_RAISE_ASK;
	if (due)
		session_ping(s);
	s->raises -= due == RDS_RAISE_TELL;
	spin_unlock_bh(&s->lock);
	return due;
}

unsigned long rds_session_await(struct rds_session *s, unsigned long limit)
{
	long wait = 0;

	spin_lock_bh(&s->lock);
	if (s->paths & RDS_PATHS_COUNTED && !(s->paths & RDS_PATHS_RAISED)) {
		wait = s->pings ? s->pinged + limit - jiffies : limit;
		if (wait <= 0 && s->strays < SESSION_PATIENT)
			session_doubt(s);
		if (wait <= 0)
			wait = limit;
	}
	spin_unlock_bh(&s->lock);
	return wait;
}

void rds_session_not_raised(struct rds_session *s)
{
	spin_lock_bh(&s->lock);
	session_doubt(s);
	spin_unlock_bh(&s->lock);
}

bool rds_session_try_again(struct rds_session *s)
{
	bool again;

	spin_lock_bh(&s->lock);
	again = s->tried != s->heard;
	s->tried = s->heard;
	spin_unlock_bh(&s->lock);
	return again;
}

unsigned int rds_session_count(struct rds_session *s)
{
	unsigned int count;

	spin_lock_bh(&s->lock);
	count = s->heard;
	spin_unlock_bh(&s->lock);
	return count;
}

void rds_session_silent(struct rds_session *s, unsigned int count)
{
	spin_lock_bh(&s->lock);
	if (s->heard == count) {
		WRITE_ONCE(s->kind, RDS_PEER_SILENT);
		WRITE_ONCE(s->paths, 0);
		/* The next connection asks again: the network may be back. */
		WRITE_ONCE(s->met, false);
		s->asked = false;
	}
	spin_unlock_bh(&s->lock);
}
