/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The session of a connection: what this host knows of the peer as a whole.
 *
 * A peer is known by its generation number.  Another number means that the peer
 * has forgotten all numbers, its own and those of this host: it has restarted,
 * or it says by its host bits that it has not, and only the connection went.
 * The session changes no path.
 *
 * Lifetime: part of the connection.
 *
 * Several paths: a peer that acknowledges by number takes connections of all of
 * them at any time, and says so.  An in-tree peer counts them (`counted`): the
 * number holds at both ends from the time when the peer has processed a
 * handshake of this host with that number.  Until then the peer takes any
 * connection for path 0.  A ping that says the number (a raise) is therefore
 * sent on each connection of path 0, and again after the loss of another path,
 * as the peer may have restarted.  The pong is the proof.  Pongs come in the
 * order of the pings and do not say which ping they answer.  So a raise is sent
 * only while no ping is without its pong (`pings`), and is repeated once for
 * each ping of unknown fate (`strays`): one of an earlier connection, which may
 * be sent again or be answered late, or of a form that the peer may ignore.
 * Another host may have the address now, which does not tell which path a
 * connection is and must not hear of several.  So the number is only said over
 * a connection over which the peer has shown that it counts (`shown`); until
 * then a ping without it asks the peer to.
 *
 * A peer that counts paths may not show which of them a connection is
 * (`blind`, wire.rst): there are several with it only if this host says so.
 *
 * Locks: rds_session.lock guards all fields; `gen`, `same`, `met`, `kind` and
 * `paths` are also read without it.
 * rds_cong_map.lock is taken inside.
 */
#ifndef _RDS_CONN_SESSION_H
#define _RDS_CONN_SESSION_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "send/ack.h"

/* The peer counts paths, in-tree's way. */
#define RDS_PATHS_COUNTED	0x10
/* It has the number, by the present connection of path 0. */
#define RDS_PATHS_RAISED	0x20
/* It does not show which path a connection is. */
#define RDS_PATHS_BLIND		0x40
#define RDS_PATHS_NR		0x0f

struct rds_cong_mirror;
struct rds_handshake;

/**
 * struct rds_session - what is known of the peer of a connection
 * @lock: guards all fields
 * @gen: generation number of the peer, 0 while unknown
 * @met: the number of paths that the peer supports is known
 * @asked: a handshake ping with a number is sent and not answered
 * @kind: kind of the peer; also read without the lock
 * @named: over a transport without handshakes, the peer named a generation when
 *	the last connection was made, as hosts with this module do; written by
 *	rds_path_peer_gen(), and read at any time
 * @host: RDS_CAP_BITS_HOST that came with @gen, 0 for none
 * @acks_gen: generation of the peer that acknowledges by number, until it ends;
 *	0 while there was none
 * @heard: number of handshakes of the peer
 * @tried: @heard at the last rds_session_try_again(); 0 for none
 * @paths: number of paths between the two hosts, a power of two, or 0 if there
 *	is one; with RDS_PATHS_COUNTED, RDS_PATHS_RAISED and RDS_PATHS_BLIND;
 *	also read without the lock
 * @max: largest number of paths that this host has, a power of two; constant
 * @max_blind: the same with a peer that does not show which path a connection
 *	is; constant
 * @shown: the peer has shown that it counts, over the present connection of
 *	path 0
 * @pings: handshake pings on the present connection of path 0 that the peer has
 *	not answered yet
 * @strays: earlier pings of which it is unknown whether a pong is to come
 * @raises: pings with the number @paths that are to be sent there
 * @pinged: time of the last ping, in jiffies
 * @same: by its generation number the peer is this namespace: maps are not sent
 */
struct rds_session {
	spinlock_t	lock;
	u32		gen;
	u32		host;
	u32		acks_gen;
	unsigned int	heard;
	unsigned int	tried;
	bool		named;
	bool		met;
	bool		asked;
	bool		same;
	u8		paths;
	u8		max;
	u8		max_blind;
	bool		shown;
	u8		pings;
	u8		strays;
	u8		raises;
	unsigned long	pinged;
	enum rds_peer_kind kind;
};

static inline unsigned int rds_session_paths(const struct rds_session *s)
{
	return READ_ONCE(s->paths) & RDS_PATHS_NR;
}

static inline bool rds_session_is_counted(const struct rds_session *s)
{
	return READ_ONCE(s->paths) & RDS_PATHS_COUNTED;
}

static inline bool rds_session_is_raised(const struct rds_session *s)
{
	return READ_ONCE(s->paths) & RDS_PATHS_RAISED;
}

static inline bool rds_session_is_blind(const struct rds_session *s)
{
	return READ_ONCE(s->paths) & RDS_PATHS_BLIND;
}

/* @max and @max_blind: see struct rds_session */
void rds_session_init(struct rds_session *session, unsigned int max,
		      unsigned int max_blind);

/*
 * Is a handshake ping due, as the number of paths is unknown and no ping is on
 * its way?  If so, the caller sends one, or calls rds_session_not_asked().
 */
bool rds_session_ask(struct rds_session *s);
void rds_session_not_asked(struct rds_session *s);

/**
 * struct rds_session_news - what changed when the peer named its generation
 * @anew: the numbers of the peer begin anew
 * @restarted: and that is because the peer restarted, as far as is known
 * @same_ended: the peer is not this namespace any more
 */
struct rds_session_news {
	bool	anew;
	bool	restarted;
	bool	same_ended;
};

/**
 * rds_session_generation - apply the generation number that the peer named
 * @s: session
 * @gen: generation number of the peer, 0 if it named none
 * @host: RDS_CAP_BITS_HOST of the peer, 0 if it told none
 * @same: the peer is this namespace
 * @mirror: copies the congestion map of this namespace while it is the peer
 *
 * Context: any but hard interrupts.
 * Return: what changed.
 */
struct rds_session_news rds_session_generation(struct rds_session *s, u32 gen,
					       u32 host, bool same,
					       struct rds_cong_mirror *mirror);

/**
 * rds_session_heard - apply number of paths and kind in a handshake of the peer
 * @s: session
 * @hs: handshake
 * @first: the handshake came over path 0
 *
 * A handshake without an offer may be sent again after one with it, by a host
 * that has restarted in between and took this one for an old peer.
 *
 * Context: any but hard interrupts.
 */
void rds_session_heard(struct rds_session *s, const struct rds_handshake *hs,
		       bool first);

/*
 * The number of paths with a peer that counts them and has sent this handshake,
 * 0 if the handshake is another peer's or there is one path.
 */
unsigned int rds_session_counts(const struct rds_session *s,
				const struct rds_handshake *hs);

/*
 * A connection of path 0 begins, and a handshake ping with it if @greeted,
 * which an old peer may ignore if @flagged.
 */
void rds_session_begun(struct rds_session *s, bool greeted, bool flagged);

/*
 * The connection of a path has ended, of path 0 if @first: a peer that counts
 * paths may have restarted.  A blind one counts as such with path 0 only.
 */
void rds_session_lost(struct rds_session *s, bool first);

/* The peer answered a handshake ping over path 0. */
void rds_session_answered(struct rds_session *s);

/**
 * enum rds_raise - handshake ping that is due over path 0
 * @RDS_RAISE_NONE: none
 * @RDS_RAISE_ASK: one that says no number of paths
 * @RDS_RAISE_TELL: a raise
 */
enum rds_raise { RDS_RAISE_NONE, RDS_RAISE_ASK, RDS_RAISE_TELL };

/*
 * Take what is due.  The caller sends it, or calls rds_session_not_raised().
 */
enum rds_raise rds_session_raise(struct rds_session *s);
void rds_session_not_raised(struct rds_session *s);

/*
 * Time until the next call, in jiffies, 0 for none.  A raise that has had no
 * pong for @limit jiffies is given up, and another one is due.
 */
unsigned long rds_session_await(struct rds_session *s, unsigned long limit);

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
