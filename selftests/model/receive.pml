/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The other direction of send.pml: a peer that sends, restarts, and counts from
 * 1 again, and this host, which receives and remembers the number expected.
 *
 *	step of the model	function
 *	Program, transmit	the peer's, as in send.pml
 *	receive			rds_rx_check() in rds_rx_deliver(),
 *				rds_conn_handshake()
 *
 * The new incarnation's handshake is a message like others, behind those that
 * waited when its first connection came up (rds_conn_greet()).
 *
 * Claim: no message comes twice, or after a later one.  MISTAKE_RESET: the
 * handshake sets the number expected to 0, as in-tree does; this must be found.
 * With WANT_ALL each message of the last incarnation has to come, too.  That
 * does not hold, and run.py requires that it does not, so that the table in
 * testing.rst stays true: repeats that come before the handshake look like
 * duplicates of the incarnation before.
 */
#ifndef MESSAGES
#define MESSAGES	3
#endif
#ifndef LOSSES
#define LOSSES		2
#endif

#define PING	0
#define ROOM	(MESSAGES + 3)

/* The peer.  Messages are: its program's number, number on the path, repeat. */
chan queue = [ROOM] of { byte, byte, bool };
chan inflight = [ROOM] of { byte, byte, bool };
chan hold = [ROOM] of { byte, byte, bool };
byte next_seq = 1;
byte written;
byte first;			/* messages up to here are of the old incarnation */
bool asked = true;		/* the old incarnation has greeted long ago */

/* The connection */
bool up = true;
chan wire = [ROOM] of { byte, byte, bool };
chan acks = [ROOM] of { bit };

/* This host */
byte expected;
byte last;
bool got[MESSAGES + 1];

byte losses, restarts, checked;
byte id, seq;			/* scratch of atomic steps */
bool flag;

inline move(from, to, mark)
{
	do
	:: nempty(from) -> from ? id, seq, flag; to ! id, seq, (flag || mark)
	:: empty(from) -> break
	od
}

inline empty_out(c)
{
	do
	:: nempty(c) -> c ? _, _, _
	:: empty(c) -> break
	od
}

inline lose()
{
	up = false;
	empty_out(wire);
	do
	:: nempty(acks) -> acks ? _
	:: empty(acks) -> break
	od;
	move(inflight, hold, true);
	move(queue, hold, false);
	move(hold, queue, false)
}

inline receive()
{
	wire ? id, seq, flag;
	acks ! 1;
	if
	:: flag && seq < expected -> skip
	:: !(flag && seq < expected) ->
		expected = seq + 1;
		if
		:: id == PING ->
#ifdef MISTAKE_RESET
			expected = 0
#else
			skip
#endif
		:: id != PING ->
			assert(!got[id]);
			assert(id > last);
			got[id] = true;
			last = id
		fi
	fi
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

active proctype World()
{
	do
	:: atomic { up && nempty(queue) && nfull(wire) ->
		queue ? id, seq, flag;
		wire ! id, seq, flag;
		inflight ! id, seq, flag }
	:: atomic { up && nempty(acks) ->
		acks ? _;
		inflight ? _, _, _ }
	:: atomic { up && nempty(wire) && nfull(acks) -> receive() }
	:: atomic { !up && nfull(queue) -> up = true;
		if
		:: !asked -> asked = true; queue ! PING, next_seq, false; next_seq++
		:: asked
		fi }
	:: atomic { up && losses < LOSSES -> losses++; lose() }
	/* The peer restarts, and forgets what its programs had written. */
	:: atomic { restarts < 1 -> restarts++; lose();
		empty_out(queue);
		next_seq = 1;
		first = written;
		asked = false }
	:: up && written == MESSAGES && empty(queue) && empty(inflight) &&
	   empty(wire) && losses == LOSSES && restarts == 1 -> break
	od;
#ifdef WANT_ALL
	checked = first;
	do
	:: checked < MESSAGES -> checked++; assert(got[checked])
	:: checked == MESSAGES -> break
	od
#endif
}
