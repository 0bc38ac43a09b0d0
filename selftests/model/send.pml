/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One path between a host that sends and a peer that receives: numbers,
 * repeats, TCP's acknowledgement, loss of the connection at any step, and
 * restarts of the peer.
 *
 *	step of the model	function
 *	Program			txq_append() of rds_txq_send()
 *	transmit		txq_loop(), txq_collect()
 *	acked			rds_txq_acked(), rds_txq_retire()
 *	lose			rds_txq_rewind() in close_end()
 *	told			rds_conn_handshake(), rds_session_generation()
 *	receive			rds_rx_check() in rds_rx_deliver()
 *	restart			the peer's module is loaded again
 *
 * TCP keeps the order of bytes and loses none while a connection lives.  When
 * it ends, what is under way in either direction is lost: messages, TCP's
 * acknowledgements, the peer's handshake.
 *
 * Claims: no incarnation of the peer gets a message twice or after a later one;
 * at the end each message came to some incarnation; and there is always a step
 * left until then.
 *
 * Mistakes, each of which must be found (run.py): MISTAKE_NO_RULE, the receiver
 * has no duplicate rule; MISTAKE_RENUMBER, numbers start again at 1 when the
 * peer has restarted; MISTAKE_FLUSH, as in-tree, so too, and what is under way
 * is not repeated; MISTAKE_TAIL, repeats go behind what waits.
 */
#ifndef MESSAGES
#define MESSAGES	3
#endif
#ifndef LOSSES
#define LOSSES		2
#endif
#ifndef RESTARTS
#define RESTARTS	1
#endif

#define PONG	0			/* number of a program's message: 1, 2, ... */
#define ROOM	(MESSAGES + LOSSES + RESTARTS + 2)

/* Messages are: number of the program's message, number on the path, repeat */

/* The sender: struct rds_txq and struct rds_session */
chan queue = [ROOM] of { byte, byte, bool };
chan inflight = [ROOM] of { byte, byte, bool };
chan hold = [ROOM] of { byte, byte, bool };
byte next_seq = 1;
byte known_gen = 1;
byte written;

/* The connection */
bool up = true;
chan wire = [ROOM] of { byte, byte, bool };	/* messages */
chan acks = [ROOM] of { bit };			/* TCP's, one for each message */
chan hello = [1] of { byte };			/* the peer's handshake */

/* The peer: struct rds_rx_state of the present incarnation */
byte gen = 1;
bool greeted = true;
byte expected;
byte last;				/* message it got last */
bool got[MESSAGES + 1];			/* by this incarnation */
bool came[MESSAGES + 1];		/* by any */

byte losses, restarts, checked;
byte id, seq;				/* scratch of atomic steps */
bool flag;

inline move(from, to, mark)
{
	do
	:: nempty(from) -> from ? id, seq, flag; to ! id, seq, (flag || mark)
	:: empty(from) -> break
	od
}

inline clear(c)
{
	do
	:: nempty(c) -> c ? _
	:: empty(c) -> break
	od
}

/* The connection ends; what the sender has no acknowledgement of is repeated. */
inline lose()
{
	up = false;
	do
	:: nempty(wire) -> wire ? _, _, _
	:: empty(wire) -> break
	od;
	clear(acks);
	clear(hello);
#ifdef MISTAKE_TAIL
	move(inflight, queue, true);
#else
	move(inflight, hold, true);
	move(queue, hold, false);
	move(hold, queue, false);
#endif
}

/* The peer names its generation; the answer is numbered and waits in line. */
inline told(g)
{
	queue ! PONG, next_seq, false;
	next_seq++;
	if
	:: g == known_gen
	:: g != known_gen ->
		known_gen = g;
#if defined(MISTAKE_RENUMBER) || defined(MISTAKE_FLUSH)
#ifdef MISTAKE_FLUSH
		do
		:: nempty(inflight) -> inflight ? _, _, _
		:: empty(inflight) -> break
		od;
		clear(acks);
#endif
		next_seq = 1;
		do
		:: nempty(queue) ->
			queue ? id, seq, flag;
			if
			:: id != PONG -> seq = next_seq; next_seq++
			:: id == PONG
			fi;
			hold ! id, seq, flag
		:: empty(queue) -> break
		od;
		move(hold, queue, false);
#endif
	fi
}

/* protocol.rst 6.2.3 */
#ifdef MISTAKE_NO_RULE
#define DUPLICATE	false
#else
#define DUPLICATE	(flag && seq < expected)
#endif

inline receive()
{
	wire ? id, seq, flag;
	acks ! 1;
	if
	:: DUPLICATE -> skip
	:: !DUPLICATE ->
		expected = seq + 1;
		if
		:: id == PONG -> greeted = true
		:: else ->
			assert(!got[id]);
			assert(id > last);
			got[id] = true;
			came[id] = true;
			last = id
		fi
	fi
}

inline restart()
{
	gen++;
	greeted = false;
	expected = 0;
	last = 0;
	id = 1;
	do
	:: id <= MESSAGES -> got[id] = false; id++
	:: else -> break
	od;
	id = 0
}

active proctype Program()
{
	do
	:: atomic { written < MESSAGES && nfull(queue) ->
		written++;
		queue ! written, next_seq, false;
		next_seq++ }
	:: written == MESSAGES -> break
	od
}

#define quiet	(up && written == MESSAGES && empty(queue) && \
		 empty(inflight) && empty(wire) && empty(hello))

/*
 * Every context takes its steps here, in any order.  The run ends when all is
 * done; a state in which no step is left before that is an error.
 */
active proctype World()
{
	do
	/* transmit */
	:: atomic { up && nempty(queue) && nfull(wire) ->
		queue ? id, seq, flag;
		wire ! id, seq, flag;
		inflight ! id, seq, flag }
	/* acked */
	:: atomic { up && nempty(acks) ->
		acks ? _;
		if
		:: nempty(inflight) -> inflight ? _, _, _
		:: empty(inflight)
		fi }
	/* receive */
	:: atomic { up && nempty(wire) && nfull(acks) -> receive() }
	/* told */
	:: atomic { up && nempty(hello) && nfull(queue) -> hello ? id; told(id) }
	/* the peer dials or accepts, and greets until it is answered */
	:: atomic { !up -> up = true;
		if
		:: !greeted -> hello ! gen
		:: greeted
		fi }
	/* lose */
	:: atomic { up && losses < LOSSES -> losses++; lose() }
	/* restart */
	:: atomic { restarts < RESTARTS -> restarts++; lose(); restart() }
	:: quiet && losses == LOSSES && restarts == RESTARTS -> break
	od;
	do
	:: checked < MESSAGES -> checked++; assert(came[checked])
	:: checked == MESSAGES -> break
	od
}
