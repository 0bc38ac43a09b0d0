/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The session of a connection: what this host knows of the peer as a whole.
 *
 * A peer is known by its generation number.  Another number means that the peer
 * has restarted: it has forgotten all numbers, its own and those of this host.
 * The session changes no path.
 *
 * Lifetime: part of the connection.
 *
 * Locks: rds_session.lock guards all fields; `same`, `kind` and `paths` are
 * also read without it.
 * rds_cong_map.lock is taken inside.
 */
#ifndef _RDS_CONN_SESSION_H
#define _RDS_CONN_SESSION_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "send/ack.h"

struct rds_cong_mirror;
struct rds_handshake;

/**
 * struct rds_session - what is known of the peer of a connection
 * @lock: guards all fields
 * @gen: generation number of the peer, 0 while unknown
 * @npaths: number of paths that the peer agreed to, 0 while unknown
 * @asked: a handshake ping with a number is sent and not answered
 * @kind: kind of the peer; also read without the lock
 * @acks_gen: generation of the peer that acknowledges by number, until it ends;
 *	0 while there was none
 * @heard: number of handshakes of the peer
 * @tried: @heard at the last rds_session_try_again(); 0 for none
 * @paths: the peer takes connections of further paths, and tells the index of
 *	its own; also read without the lock
 * @same: by its generation number the peer is this namespace: maps are not sent
 */
struct rds_session {
	spinlock_t	lock;
	u32		gen;
	u32		acks_gen;
	unsigned int	heard;
	unsigned int	tried;
	u8		npaths;
	bool		asked;
	bool		same;
	bool		paths;
	enum rds_peer_kind kind;
};

void rds_session_init(struct rds_session *session);

/*
 * Is a handshake ping due, as the number of paths is unknown and no ping is on
 * its way?  If so, the caller sends one, or calls rds_session_not_asked().
 */
bool rds_session_ask(struct rds_session *s);
void rds_session_not_asked(struct rds_session *s);

/**
 * struct rds_session_news - what changed when the peer named its generation
 * @restarted: the peer restarted
 * @same_ended: the peer is not this namespace any more
 */
struct rds_session_news {
	bool	restarted;
	bool	same_ended;
};

/**
 * rds_session_generation - apply the generation number that the peer named
 * @s: session
 * @gen: generation number of the peer, 0 if it named none
 * @own: generation number of this host
 * @mirror: copies the congestion map of this namespace while @own is @gen
 *
 * Context: any but hard interrupts.
 * Return: what changed.
 */
struct rds_session_news rds_session_generation(struct rds_session *s, u32 gen,
					       u32 own,
					       struct rds_cong_mirror *mirror);

/**
 * rds_session_heard - apply number of paths and kind in a handshake of the peer
 * @s: session
 * @hs: handshake; without a number of paths the earlier number stays, at least
 *	1
 * @max: number of paths that this host has
 *
 * A handshake without an offer may be sent again after one with it, by a host
 * that has restarted in between and took this one for an old peer.
 *
 * Context: any but hard interrupts.
 */
void rds_session_heard(struct rds_session *s, const struct rds_handshake *hs,
		       unsigned int max);

/*
 * Is this a handshake without an offer, of a generation that made one before?
 * It says nothing of the peer then.
 */
bool rds_session_is_outdated(struct rds_session *s,
			     const struct rds_handshake *hs);

/*
 * The peer did not answer over one connection: is it worth another one?  Only
 * once since its last handshake.
 */
bool rds_session_try_again(struct rds_session *s);

/* Number of handshakes that the peer has sent so far */
unsigned int rds_session_count(struct rds_session *s);

/*
 * The peer has sent no handshake in time since @count of them: it counts as an
 * old one until it does.
 */
void rds_session_silent(struct rds_session *s, unsigned int count);

#endif
