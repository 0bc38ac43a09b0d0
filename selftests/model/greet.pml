/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When to greet: a host of this implementation that sends, and the kinds for
 * which it takes its peer.  The peer is an old one or one that acknowledges by
 * number, and may be another with each restart.  Connections are lost and both
 * hosts restart at any step.
 *
 *	step of the model	function
 *	Program			txq_append() of rds_txq_send()
 *	come_up			txq_begin() of rds_txq_open(), rds_rx_state_end()
 *	transmit		txq_refill(), txq_call(); flags of txq_needs_header()
 *	greet			txq_make_due()
 *	acked			rds_txq_acked(), rds_txq_retire() by position
 *	hear			rds_session_heard(), txq_heard_acks(), txq_decide(),
 *				rds_txq_acked_number(), txq_retire_begun()
 *	silent			rds_txq_silent(), rds_session_silent()
 *	lose			rds_txq_shut(), rds_txq_rewind()
 *	receive			rx_handshake(), rds_rx_check() of rx_duplicate()
 *	deliver			rx_to_socket(), and then rx_delivered()
 *	acknowledge		rds_txq_ack_due()
 *	say			the peer's RDS_DUE_GREETING; an old peer's handshake
 *
 * The messages that wait, and those under way, are intervals of numbers: nothing
 * is cancelled.  What the peer reads is what its TCP acknowledges; this host
 * hears of that later, or never.  A crash of the peer loses a message that is
 * not on the queue of its socket yet.  What was read of a connection before it
 * was lost may be heard after that: only the session changes then.
 *
 * Left out: the sender's answer to the peer's greeting, which follows its own
 * greeting and says nothing else; the handshake with a number behind the
 * messages, which an old peer answers: an old peer may say at any time that it
 * is one; that a message that is retired by number waits for its position, too.
 *
 * Claims: what is retired by number had been on the queue of its socket; what is
 * retired by position had been taken by a peer whose kind is known, which
 * delivers it unless it crashes; no incarnation of the peer gets a message twice,
 * or after a later one; all messages are retired, and no state waits for ever.
 * One thing is not claimed: an old peer that knows numbers of an earlier
 * incarnation takes the repeats of the present one for duplicates.
 *
 * One claim does not hold: if the peer's address moves from an old host to one
 * that knows an earlier incarnation of the sender, that is not greeted first, and
 * what it takes for duplicates is lost.  With GREET_ALL, which greets an old peer,
 * too, the claim holds.
 *
 * Mistakes, each of which must be found: MISTAKE_GREET_ONCE does not greet a
 * peer that is not known, if messages went before; MISTAKE_SILENT_OLD takes a
 * silent peer for an old one; MISTAKE_FORGET forgets, with a greeting, what came
 * before it on the same connection; MISTAKE_NOT_FORGOTTEN never forgets;
 * MISTAKE_UNFLAGGED does not flag repeats, MISTAKE_FIRST the greeting, so that an
 * old peer takes it for the first message; MISTAKE_DECIDED retires by position
 * before it is known what the peer is; MISTAKE_ON_TIME does not say in a greeting
 * that a connection began without one, to a peer that was upgraded.
 */
#ifndef MESSAGES
#define MESSAGES	2
#endif
#ifndef LOSSES
#define LOSSES		2
#endif
#ifndef SENDER_RESTARTS
#define SENDER_RESTARTS	1
#endif
#ifndef RECEIVER_RESTARTS
#define RECEIVER_RESTARTS 1
#endif
#ifndef SILENCES
#define SILENCES	1	/* by connection; 0: both ends are always in time */
#endif
#ifndef OLD_PEERS
#define OLD_PEERS	1
#endif
#ifndef MOVES
#define MOVES		0	/* of the peer's address between two hosts */
#endif

#define ROOM	(MESSAGES + 2)
#ifndef MISTAKE_FIRST
#define USED	(begun > base)		/* rds_txq.used */
#else
#define USED	false
#endif

mtype = { GREETING, LATE_GREETING, MESSAGE, ANSWER, ACK, OLD_HANDSHAKE };
mtype = { UNKNOWN, OLD, ACKS, SILENT };
mtype = { BY_POSITION, UNDECIDED, BY_NUMBER };

/*
 * The sender.  A message has the number that the program gave it, less `base`,
 * on the path.  Those up to `una` are retired, those up to `sent` went over the
 * present connection, those up to `begun` over any.
 */
mtype kind = UNKNOWN;		/* rds_session.kind */
mtype rule = BY_POSITION;
bool held, greeted, due;
bool late;			/* a connection of this incarnation began without a greeting */
byte gen = 2;
byte base, una, sent, begun, written;

/* The connection */
bool up;
chan wire = [ROOM] of { mtype, byte, bool };	/* number or generation, repeat */
chan back = [3] of { mtype, byte };
byte rcvd;			/* read by the peer, and not retired */

/* The peer: struct rds_rx_state */
bool is_old;
byte rx_gen, expected, delivered;
bool rx_begun, by_number;
byte ack_sent;
bool said;
byte pending, pending_seq;	/* past the duplicate rule, not on the queue */
byte last;			/* delivered to the socket by this incarnation */
bool earlier;			/* knows numbers of an earlier incarnation */

/* Another host, to which the peer's address moves */
bool other_old, other_earlier;
byte other_gen, other_expected, other_delivered, other_last;

bool taken[MESSAGES + 1];	/* past the duplicate rule of any incarnation */
bool ever[MESSAGES + 1];

byte losses, restarts, crashes, silences, moves;
byte seq, n;			/* scratch of atomic steps */
bool again;
mtype what;

inline empty_back()
{
	do
	:: nempty(back) -> back ? _, _
	:: empty(back) -> break
	od
}

inline say_hello()
{
#ifndef MISTAKE_ON_TIME
	if
	:: late -> wire ! LATE_GREETING, gen, USED
	:: !late -> wire ! GREETING, gen, USED
	fi
#else
	wire ! GREETING, gen, USED
#endif
}

inline come_up()
{
	up = true;
	empty_back();
	silences = 0;
	held = (kind == ACKS && una < begun);
#ifdef MISTAKE_GREET_ONCE
	greeted = (kind == ACKS || kind == SILENT || (kind == UNKNOWN && begun == base));
#elif defined(GREET_ALL)
	greeted = true;
#else
	greeted = (kind != OLD);
#endif
	if
#ifndef MISTAKE_DECIDED
	:: kind == UNKNOWN || kind == ACKS -> rule = UNDECIDED
#else
	:: kind == ACKS -> rule = UNDECIDED
	:: kind == UNKNOWN -> rule = BY_POSITION
#endif
	:: kind == OLD || kind == SILENT -> rule = BY_POSITION
	fi;
	if
	:: greeted -> say_hello()
	:: !greeted -> late = true
	fi
}

inline lose()
{
	up = false;
	do
	:: nempty(wire) -> wire ? _, _, _
	:: empty(wire) -> break
	od;
	sent = una;
	rcvd = 0;
	held = false;
	greeted = false;
	due = false;
	rule = BY_POSITION;
	/* rds_rx_state_end(), and txq_begin() of the peer */
	rx_begun = false;
	by_number = false;
	ack_sent = 0;
	said = false
}

inline take_greeting()
{
	if
	:: is_old && again && expected
	:: is_old && !(again && expected) -> expected = 1; earlier = false
	:: !is_old ->
		if
#ifdef MISTAKE_NOT_FORGOTTEN
		:: false
#elif defined(MISTAKE_FORGET)
		:: seq != rx_gen ->
#else
		:: seq != rx_gen && !rx_begun && !(what == LATE_GREETING && !rx_gen) ->
#endif
			expected = 0;
			delivered = 0;
			earlier = false
		:: else
		fi;
		rx_gen = seq;
		by_number = true;
		back ! ANSWER, delivered;
		ack_sent = delivered
	fi
}

inline receive()
{
	wire ? what, seq, again;
	if
	:: what == GREETING || what == LATE_GREETING -> take_greeting()
	:: what == MESSAGE ->
		rcvd++;
		if
		:: seq < expected && (by_number || again) ->
			if
			:: is_old && earlier -> taken[base + seq] = true
			:: else
			fi
		:: else ->
			expected = seq + 1;
			rx_begun = true;
			pending = base + seq;
			pending_seq = seq;
			taken[base + seq] = true
		fi
	fi;
	seq = 0;
	again = false
}

inline deliver()
{
	assert(pending > last);
	last = pending;
	ever[pending] = true;
	delivered = pending_seq;
	pending = 0;
	pending_seq = 0
}

/* A number that was not sent acknowledges nothing; only what was begun is retired. */
inline retire_by_number()
{
	do
	:: n <= written - base && una < base + n && una < begun ->
		una++;
		assert(ever[una]);
		if
		:: rcvd -> rcvd--
		:: !rcvd
		fi
	:: else -> break
	od;
	if
	:: sent < una -> sent = una
	:: sent >= una
	fi
}

inline hear()
{
	back ? what, n;
	if
	:: what == OLD_HANDSHAKE ->
		kind = OLD;
		if
		:: rule == UNDECIDED -> rule = BY_POSITION; held = false
		:: rule != UNDECIDED
		fi
	:: what == GREETING ->
		kind = ACKS;
		if
		:: up && !greeted -> greeted = true; rule = UNDECIDED; due = true
		:: !up || greeted
		fi
	:: what == ANSWER ->
		kind = ACKS;
		if
		:: up -> rule = BY_NUMBER; held = false; retire_by_number()
		:: !up
		fi
	:: what == ACK ->
		if
		:: rule == BY_NUMBER -> retire_by_number()
		:: rule != BY_NUMBER
		fi
	fi;
	n = 0
}

inline silent()
{
	silences++;
	rule = BY_POSITION;
	held = false;
#ifdef MISTAKE_SILENT_OLD
	kind = OLD
#else
	kind = SILENT
#endif
}

inline swap(a, b)
{
	n = a;
	a = b;
	b = n;
	n = 0
}

inline any_peer()
{
	if
	:: is_old = false
#if OLD_PEERS
	:: is_old = true
#endif
	fi
}

active proctype Program()
{
	do
	:: atomic { written < MESSAGES -> written++ }
	:: written == MESSAGES -> break
	od
}

active proctype World()
{
	atomic {
#if MOVES && OLD_PEERS
		if
		:: skip
		:: other_old = true
		fi;
#endif
		any_peer();
		/* An earlier incarnation sent, one that named no generation, or another. */
		if
		:: skip
		:: expected = MESSAGES + 1; delivered = MESSAGES; earlier = true
		:: !is_old -> expected = MESSAGES + 1; delivered = MESSAGES; earlier = true;
			rx_gen = 1
		fi
	}
	do
	/* The peer has delivered what came before (path_close). */
	:: atomic { !up && !pending -> come_up() }
	:: atomic { up && !held && sent < written && nfull(wire) ->
		sent++;
#ifdef MISTAKE_UNFLAGGED
		wire ! MESSAGE, sent - base, false;
#else
		wire ! MESSAGE, sent - base, sent <= begun;
#endif
		if
		:: begun < sent -> begun = sent
		:: begun >= sent
		fi }
	/* A transmitter may be handing over messages meanwhile. */
	:: atomic { up && due && nfull(wire) -> due = false; say_hello() }
	:: atomic { up && rule == BY_POSITION && rcvd ->
		rcvd--;
		una++;
		assert(kind != UNKNOWN);
		assert(taken[una]) }
	:: atomic { nempty(back) -> hear() }
	:: atomic { up && rule == UNDECIDED && silences < SILENCES -> silent() }
	:: atomic { up && nempty(wire) && !pending && nfull(back) -> receive() }
	:: atomic { pending -> deliver() }
	:: atomic { up && by_number && nfull(back) && delivered > ack_sent ->
		back ! ACK, delivered;
		ack_sent = delivered }
	:: atomic { up && !said && nfull(back) ->
		said = true;
		if
		:: is_old -> back ! OLD_HANDSHAKE, 0
		:: !is_old -> back ! GREETING, 0
		fi }
	:: atomic { up && losses < LOSSES -> losses++; lose() }
	:: atomic { restarts < SENDER_RESTARTS -> restarts++; lose();
		empty_back();
		kind = UNKNOWN;
		late = false;
		gen++;
		base = written;
		una = written;
		sent = written;
		begun = written;
		earlier = (expected > 0);
		other_earlier = (other_expected > 0) }
	:: atomic { crashes < RECEIVER_RESTARTS -> crashes++; lose();
		any_peer();
		rx_gen = 0;
		expected = 0;
		delivered = 0;
		pending = 0;
		pending_seq = 0;
		last = 0;
		earlier = false }
	:: atomic { moves < MOVES && !pending -> moves++; lose();
		swap(is_old, other_old);
		swap(rx_gen, other_gen);
		swap(expected, other_expected);
		swap(delivered, other_delivered);
		swap(last, other_last);
		swap(earlier, other_earlier) }
	:: atomic { up && una == MESSAGES && !pending && empty(wire) && empty(back) -> break }
	od
}
