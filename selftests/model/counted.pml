/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Several paths with a peer that counts them (wire.rst): this host opens path 1
 * only while the peer has the number of paths, which the peer forgets when it
 * restarts.  Handshakes travel over path 0 in order; a pong does not tell which
 * ping it answers.
 *
 *	step of the model	function
 *	begin			rds_session_begun()
 *	send			rds_session_raise() in conn_raise()
 *	take_pong		rds_session_heard(), rds_session_answered()
 *	lose			rds_txq_rewind(), rds_conn_lost()
 *	lose_path_1		rds_session_lost()
 *	give_up			rds_session_await()
 *
 * A ping that was under way when the connection was lost comes again, without a
 * number; the peer answers it or takes it for a duplicate.  A pong that was
 * under way comes again or not.  The first connection begins with a greeting,
 * which says 1.  The peer may ping at any time, and this host answers with the
 * number.  A restart of the peer and the loss of path 0 are one step: until this
 * host has noticed, nothing helps.
 *
 * Claims: when path 1 is opened the peer has the number; and when no step is
 * left, path 1 is up.  Mistakes that must be found: MISTAKE_STRAYS, pings of
 * earlier connections do not count; MISTAKE_PINGS, a raise does not wait for the
 * pongs of earlier pings; MISTAKE_KEPT, a new connection of path 0 changes
 * nothing; MISTAKE_PATIENT, a raise without a pong is not given up.
 */
#ifndef LOSSES
#define LOSSES		2
#endif
#ifndef RESTARTS
#define RESTARTS	1
#endif
#ifndef PEER_PINGS
#define PEER_PINGS	1
#endif
#ifndef DROPS
#define DROPS		1
#endif

#define ROOM		24
#define MAX_STRAYS	8

mtype = { ASK, TELL, GREET, ANSWER, AGAIN, PONG, PING };

chan to_peer = [ROOM] of { mtype };
chan to_host = [ROOM] of { mtype };
byte pings_again, pongs_again;	/* come again over the next connection */
bool up, path_1;

/* This host */
bool met, shown, raised;
byte pings, strays, raises;

/* The peer */
bool has_number;

byte losses, restarts, peer_pings, drops;
byte path_losses;
mtype kind;

inline fall()
{
#ifdef MISTAKE_STRAYS
	raises = 1;
#else
	raises = 1 + strays;
#endif
	raised = false
}

inline doubt()
{
	strays = (strays + pings > MAX_STRAYS -> MAX_STRAYS : strays + pings);
	pings = 0;
	fall()
}

inline begin()
{
	up = true;
#ifdef MISTAKE_KEPT
	if
	:: met -> skip
	:: else -> doubt()
	fi;
#else
	doubt();
	shown = false;
#endif
	do
	:: pings_again -> to_peer ! AGAIN; pings_again--
	:: else -> break
	od;
	do
	:: pongs_again -> to_host ! PONG; pongs_again--
	:: else -> break
	od;
	if
	:: !met -> to_peer ! GREET; pings = 1; met = true
	:: else -> skip
	fi
}

inline send()
{
	if
	:: shown -> to_peer ! TELL; raises--
	:: else -> to_peer ! ASK
	fi;
	pings++
}

inline take_pong()
{
	shown = true;
	if
	:: pings -> pings--
	:: !pings && strays -> strays--
	:: else -> skip
	fi;
	if
	:: !pings && !raises -> raised = true
	:: else -> skip
	fi
}

inline lose()
{
	up = false;
#ifndef MISTAKE_KEPT
	if
	:: raised -> fall()
	:: else -> skip
	fi;
#endif
	do
	:: to_peer ? kind ->
		if
		:: kind != ANSWER -> pings_again++
		:: else -> skip
		fi
	:: empty(to_peer) -> break
	od;
	do
	:: to_host ? kind ->
		if
		:: kind == PONG -> pongs_again++
		:: skip
		fi
	:: empty(to_host) -> break
	od
}

inline answer()
{
	if
	:: to_host ! PONG
	:: drops < DROPS -> drops++
	fi
}

inline take_ping()
{
	if
	:: kind == TELL -> has_number = true; answer()
	:: kind == ANSWER -> has_number = true
	:: kind == GREET -> has_number = false; answer()
	:: kind == ASK -> answer()
	:: kind == AGAIN -> answer()
	:: kind == AGAIN -> skip
	fi
}

active proctype world()
{
	do
	:: atomic { !up -> begin() }
#ifdef MISTAKE_PINGS
	:: atomic { up && raises && (shown || !pings) -> send() }
#else
	:: atomic { up && !pings && raises -> send() }
#endif
	:: atomic { to_host ? kind ->
		if
		:: kind == PONG -> take_pong()
		:: else -> shown = true; to_peer ! ANSWER
		fi }
	:: atomic { to_peer ? kind -> take_ping() }
	:: atomic { up && peer_pings < PEER_PINGS && nfull(to_host) ->
		peer_pings++; to_host ! PING }
	:: atomic { up && losses < LOSSES -> losses++; lose() }
	:: atomic { up && restarts < RESTARTS -> restarts++; lose();
		has_number = false; pongs_again = 0 }
	:: atomic { path_1 && path_losses < LOSSES -> path_losses++;
		path_1 = false;
		if
		:: raised -> fall()
		:: else -> skip
		fi }
	:: atomic { up && raised && !path_1 -> assert(has_number);
		path_1 = true }
#ifndef MISTAKE_PATIENT
	:: atomic { up && !raised && pings && empty(to_peer) &&
		    empty(to_host) -> doubt() }
#endif
	:: atomic { timeout -> assert(path_1 && has_number); break }
	od
}
