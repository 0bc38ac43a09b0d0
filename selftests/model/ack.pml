/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Acknowledgement by number: a host that sends, and one that receives and says
 * what it has delivered.  Connections are lost and both hosts restart at any
 * step.
 *
 *	step of the model	function
 *	transmit		txq_refill() and txq_call()
 *	come_up			rds_txq_open(): the handshake first, what was begun
 *				is held
 *	receive			rx_handshake(); rx_duplicate() in
 *				rds_rx_deliver()
 *	deliver			rx_to_socket(), and then rx_delivered()
 *	acknowledge		rds_txq_ack_due(), rds_txq_stamp()
 *	hear			txq_heard_acks(), rds_txq_acked_number()
 *	lose			rds_txq_rewind()
 *	give_up			rds_txq_silent(), once; that an old peer's messages are
 *				retired by position is left out
 *
 * A restart of the receiver is a crash: a message that has passed the duplicate
 * rule and is not on the queue of its socket is gone.
 *
 * Claims: what the sender retires had been on the queue of its socket; no
 * incarnation of the receiver gets a message twice, or after a later one; each
 * message of the last incarnation of the sender comes; and no state waits for
 * ever.
 *
 * Mistakes, each of which must be found: MISTAKE_EARLY acknowledges before the
 * message is on the queue; MISTAKE_NO_RULE accepts every number;
 * MISTAKE_NOT_FORGOTTEN keeps the number expected when the sender has restarted;
 * MISTAKE_ANSWER_FIRST answers before the new generation is applied;
 * MISTAKE_STALE acknowledges, and believes it, before the handshakes have come;
 * MISTAKE_HELD does not let go what is held.
 */
#ifndef MESSAGES
#define MESSAGES	3
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

#define ROOM	(MESSAGES + 2)

mtype = { GREETING, MESSAGE, ANSWER, ACK };

/* The sender.  Messages are: number of the program, number on the path. */
chan queue = [ROOM] of { byte, byte };
chan inflight = [ROOM] of { byte, byte };
chan hold = [ROOM] of { byte, byte };
byte next_seq = 1;
byte gen = 1;
byte written;
byte first;			/* messages up to here are of an old incarnation */
bool held;
bool by_number = true;		/* the answer has come on this connection */

/* The connection */
bool up = true;
chan wire = [ROOM] of { mtype, byte, byte };
chan back = [2] of { mtype, byte };

/* The receiver */
byte known = 1;			/* generation of the sender */
byte expected;
byte delivered;
byte ack_sent;
bool acks = true;		/* the sender's handshake has come on this connection */
byte pending, pending_seq;	/* past the duplicate rule, not on the queue */
byte last;
bool got[MESSAGES + 1];		/* by this incarnation */
bool ever[MESSAGES + 1];

byte losses, restarts, crashes, given_up, checked;
byte id, seq, n;		/* scratch of atomic steps */
mtype kind;

inline empty_out(c)
{
	do
	:: nempty(c) -> c ? _, _
	:: empty(c) -> break
	od
}

inline move(from, to)
{
	do
	:: nempty(from) -> from ? id, seq; to ! id, seq
	:: empty(from) -> break
	od
}

inline retire(c)
{
	do
	:: nempty(c) ->
		c ? <id, seq>;
		if
		:: seq <= n -> assert(ever[id]); c ? id, seq
		:: seq > n -> break
		fi
	:: empty(c) -> break
	od
}

inline lose()
{
	up = false;
	do
	:: nempty(wire) -> wire ? _, _, _
	:: empty(wire) -> break
	od;
	empty_out(back);
	move(inflight, hold);
	move(queue, hold);
	move(hold, queue)
}

inline forget()
{
#ifndef MISTAKE_NOT_FORGOTTEN
	expected = 0;
	delivered = 0;
#endif
	known = seq
}

inline receive()
{
	wire ? kind, id, seq;
	if
	:: kind == GREETING ->
#ifdef MISTAKE_ANSWER_FIRST
		back ! ANSWER, delivered;
#endif
		if
		:: seq != known -> forget()
		:: seq == known
		fi;
#ifndef MISTAKE_ANSWER_FIRST
		back ! ANSWER, delivered;
#endif
		acks = true;
		ack_sent = delivered
	:: kind == MESSAGE ->
		if
#ifndef MISTAKE_NO_RULE
		:: seq < expected -> skip
		:: seq >= expected ->
#else
		:: true ->
#endif
			expected = seq + 1;
			pending = id;
			pending_seq = seq;
#ifdef MISTAKE_EARLY
			delivered = seq
#endif
		fi
	fi
}

inline deliver()
{
	assert(!got[pending]);
	assert(pending > last);
	got[pending] = true;
	ever[pending] = true;
	last = pending;
	delivered = pending_seq;
	pending = 0
}

inline hear()
{
	back ? kind, n;
	if
	:: kind == ANSWER ->
#ifndef MISTAKE_HELD
		held = false;
#endif
		by_number = true;
		retire(queue)
	:: kind == ACK
	fi;
	if
	:: by_number -> retire(inflight)
	:: !by_number
	fi
}

active proctype Program()
{
	do
	:: atomic { written < MESSAGES && nfull(queue) ->
		written++;
		queue ! written, next_seq;
		next_seq++ }
	:: written == MESSAGES -> break
	od
}

active proctype World()
{
	do
	:: atomic { up && !held && nempty(queue) && nfull(wire) && nfull(inflight) ->
		queue ? id, seq;
		wire ! MESSAGE, id, seq;
		inflight ! id, seq }
	:: atomic { up && nempty(wire) && !pending && nfull(back) -> receive() }
	:: atomic { pending -> deliver() }
#ifdef MISTAKE_STALE
	:: atomic { up && nfull(back) && delivered > ack_sent ->
		by_number = true;
#else
	:: atomic { up && acks && nfull(back) && delivered > ack_sent ->
#endif
		back ! ACK, delivered;
		ack_sent = delivered }
	:: atomic { up && nempty(back) -> hear() }
	/* The receiver has delivered what came before (path_close). */
	:: atomic { !up && !pending ->
		up = true;
		held = true;
		by_number = false;
		acks = false;
		ack_sent = 0;
		wire ! GREETING, 0, gen }
	/* The peer is too slow, and gets all again. */
	:: atomic { up && held && !given_up -> given_up++; held = false }
	:: atomic { up && losses < LOSSES -> losses++; lose() }
	:: atomic { restarts < SENDER_RESTARTS -> restarts++; lose();
		empty_out(queue);
		next_seq = 1;
		gen++;
		first = written }
	:: atomic { crashes < RECEIVER_RESTARTS -> crashes++; lose();
		known = 0;
		expected = 0;
		delivered = 0;
		pending = 0;
		last = 0;
		n = 0;
		do
		:: n <= MESSAGES -> got[n] = false; n++
		:: n > MESSAGES -> break
		od }
	:: up && !held && !pending && written == MESSAGES && empty(queue) && empty(inflight) &&
	   empty(wire) && empty(back) && losses == LOSSES && restarts == SENDER_RESTARTS &&
	   crashes == RECEIVER_RESTARTS -> break
	od;
	checked = first;
	do
	:: checked < MESSAGES -> checked++; assert(ever[checked])
	:: checked == MESSAGES -> break
	od
}
