// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sessions; conn/session.h has the rules. */
#include <linux/minmax.h>

#include "conn/session.h"
#include "cong/map.h"
#include "proto/exthdr.h"

void rds_session_init(struct rds_session *session)
{
	memset(session, 0, sizeof(*session));
	spin_lock_init(&session->lock);
}

bool rds_session_ask(struct rds_session *s)
{
	bool due;

	spin_lock_bh(&s->lock);
	due = !s->npaths && !s->asked;
	s->asked |= due;
	spin_unlock_bh(&s->lock);
	return due;
}

void rds_session_not_asked(struct rds_session *s)
{
	spin_lock_bh(&s->lock);
	s->asked = false;
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

struct rds_session_news rds_session_generation(struct rds_session *s, u32 gen,
					       u32 own,
					       struct rds_cong_mirror *mirror)
{
	struct rds_session_news news = {};

	spin_lock_bh(&s->lock);
	news.same_ended = session_set_same(s, gen && gen == own, mirror);
	if (gen && gen != s->gen) {
		news.restarted = s->gen;
		s->gen = gen;
	}
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
	WRITE_ONCE(s->paths, rds_handshake_paths(hs));
}

void rds_session_heard(struct rds_session *s, const struct rds_handshake *hs,
		       unsigned int max)
{
	spin_lock_bh(&s->lock);
	s->heard++;
	session_set_kind(s, hs);
	if (hs->has_npaths)
		s->npaths = clamp_t(unsigned int, hs->npaths, 1, max);
	else if (!s->npaths)
		s->npaths = 1;
	s->asked = false;
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
		WRITE_ONCE(s->paths, false);
		/* The next connection asks again: the network may be back. */
		s->npaths = 0;
		s->asked = false;
	}
	spin_unlock_bh(&s->lock);
}
