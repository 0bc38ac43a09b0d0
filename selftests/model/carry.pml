/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Failover: a host that sends the messages of a lane over the path of the lane,
 * or over another path while that one is down, and a host that receives.
 * Connections are lost and both hosts restart at any step.
 *
 *	step of the model	function
 *	Gate			carry_take() of rds_carry_refill(), txq_refill();
 *				txq_call(), txq_began(), rds_txq_retire() in
 *				txq_collect()
 *	come_up			rds_txq_open(): the greeting first, what was begun
 *				is held
 *	lose			close_begin(): rds_lanes_forsake(); close_end():
 *				rds_txq_take_back(), rds_carry_begin() of
 *				carry_all()
 *	hear			rds_txq_heard(), rds_txq_tidy(), rds_lanes_carry();
 *				rds_conn_acked(), rds_txq_acked_number()
 *	go_back			rds_carry_return(): first `returning`, then
 *				carry_end()
 *	begin_handshake		rx_set_generation()
 *	end_handshake		rds_session_generation(), conn_make_handshake()
 *	message			rx_is_current(), rx_duplicate(), rx_delivered(),
 *				rx_owes() of rx_numbered()
 *	acknowledge		conn_make_lanes_ack(), txq_stamp_ack()
 *	go_deaf			rx_give_up(); the receiver's end of a connection is
 *				lost
 *	wake, work		rds_cpath_kick(), path_tx_work()
 *	control			rds_lanes_at_fence(), rds_lanes_step()
 *
 * A path has one connection after the other.  The two ends of a connection may
 * be lost at different times.  The receiver reads what came over an old
 * connection to its end, or to any message before that, while it reads newer
 * connections of other paths.  Only then it goes on to the next connection of
 * the path.  What the receiver sent over a connection may be read until the
 * sender opens the next one.
 *
 * A crash of the receiver ends all connections there, and what was under way to
 * the receiver is gone.  The sender notices later, and may still read what the
 * earlier incarnation acknowledged.  After a crash of the sender the receiver
 * still reads what was under way.  One path may stay down for good.
 *
 * A lane has all its messages from the beginning, and a gate takes one of them,
 * or all.  Left out: congestion maps, so that a lane does not wait for them when
 * it goes back; cancelled messages; a message that is retired by number waits for
 * its position, too; what an answer acknowledges is retired from `queue` only if
 * the gate has nothing on `sending`.
 *
 * Some details are steps of their own only in some runs.  SPLIT_DELIVERY: a
 * message that has passed the duplicate rule is put on the queue of its socket
 * later, and its lane is locked meanwhile.  WAKES: nothing is sent without a
 * wake-up of the worker.  SPLIT_HANDSHAKE: the lane learns of a generation
 * after the session did, and other paths deliver in between.
 *
 * Claims: no incarnation of the receiver gets a message twice, or after a later
 * one of its lane, of this or of a later incarnation of the sender; all messages
 * before one that is delivered were delivered, if only to an earlier incarnation
 * of the receiver; what the sender retires was delivered; and when no step is
 * left, each message of the last incarnation of the sender is delivered and
 * retired.
 *
 * With LATE_GREETINGS the receiver may read a greeting of an earlier incarnation
 * of the sender on a further path after path 0 has told of the present one;
 * without that the sender restarts only when all its greetings are read.
 *
 * Mistakes, each of which must be found: MISTAKE_NO_RULE accepts every number of
 * another path's lane; MISTAKE_UNTAGGED does not name the lane; MISTAKE_EAGER
 * lets a lane go back before the carrier's messages are acknowledged;
 * MISTAKE_TAKE_BACK leaves what a carrier had on `sending` and `inflight`;
 * MISTAKE_SILENT does not acknowledge duplicates of another path's lane;
 * MISTAKE_EARLY acknowledges before the message is on the queue;
 * MISTAKE_UNLOCKED does not lock the lane until then; MISTAKE_NOT_FORGOTTEN
 * keeps the number expected when the sender has restarted; MISTAKE_OLD accepts
 * an earlier generation after the present one; MISTAKE_STALE acknowledges what
 * an earlier generation sent (three paths); MISTAKE_ASLEEP wakes no worker when
 * lanes are taken from a gate; MISTAKE_ANY_PATH lets a greeting on any path change
 * the generation of the session; MISTAKE_LANE_FIRST lets a lane learn of a
 * generation before the session does.
 */
#ifndef PATHS
#define PATHS		2	/* or 3 */
#endif
#ifndef FIRST
#define FIRST		1	/* messages of lane 0 */
#endif
#ifndef MESSAGES
#define MESSAGES	2	/* messages of each further lane */
#endif
#ifndef LOSSES
#define LOSSES		2
#endif
#ifndef SENDER_RESTARTS
#define SENDER_RESTARTS	0
#endif
#ifndef RECEIVER_RESTARTS
#define RECEIVER_RESTARTS 0
#endif
#ifndef BREAKS
#define BREAKS		1	/* 0: no path stays down for good */
#endif

#define ROOM		(FIRST + (PATHS - 1) * MESSAGES + 4)
#define SPARE		2	/* for the end of a connection */
#define MANY		6	/* more connections than are given up */
#define NONE		PATHS
/* On the wire, in place of a lane */
#define GREETING	10
#define END		11	/* the sender's end of the connection is lost */
/* Back */
#define ANSWER		1
#define ACK		2

#if PATHS == 3
#define any_lane(p, what) (what(p, 0) || what(p, 1) || what(p, 2))
#define all_paths(what)	(what(0) && what(1) && what(2))
#define of_lanes(a, b, c) a, b, c
#else
#define any_lane(p, what) (what(p, 0) || what(p, 1))
#define all_paths(what)	(what(0) && what(1))
#define of_lanes(a, b, c) a, b
#endif
#define size(l)		((l) == 0 -> FIRST : MESSAGES)
#define larger(a, b)	((a) > (b) -> (a) : (b))

/*
 * The sender.  Of a lane the messages up to `acked` are retired, those up to
 * `handed` are on `inflight`, those up to `took` on `sending` of the gate, and
 * the others on `queue`.
 */
byte gen = 1;
bool met;			/* a handshake of the receiver has come */
bool up[PATHS];
bool closing[PATHS];		/* what came back over the last connection is read */
bool by_number[PATHS];		/* the answer has come on this connection */
bool held;			/* lane 0: the others are held until the answer */
byte acked[PATHS], handed[PATHS], took[PATHS];
byte una_seq[PATHS], taken_seq[PATHS];
byte begun;			/* of lane 0 */
byte carrier[PATHS] = NONE;
bool returning[PATHS];
#ifdef WAKES
bool kicked[PATHS], runs[PATHS], checks[PATHS];
#endif

/*
 * The connections of each path.  Forth: lane and number, or GREETING and
 * generation, or END.  Back: kind, and a number for each lane, 0 for none; of an
 * answer the first one is that of the path.
 */
chan wire[PATHS] = [ROOM] of { byte, byte };
byte ends[PATHS];		/* on the wire */
bool deaf[PATHS];		/* the receiver's end is lost, the sender's is up */
#if PATHS == 3
chan back[PATHS] = [2] of { byte, byte, byte, byte };
#else
chan back[PATHS] = [2] of { byte, byte, byte };
#endif
byte broken = NONE;		/* the path that stays down */

/* The receiver */
byte session;			/* generation of the sender */
byte rx_gen[PATHS];		/* that of the present connection */
bool owed[PATHS], foreign[PATHS];
byte ack_sent[PATHS];
byte lane_gen[PATHS], expected[PATHS], delivered[PATHS];
#ifdef SPLIT_HANDSHAKE
bool greeting[PATHS];
#define in_handshake(p)	greeting[p]
#else
#define in_handshake(p)	false
#endif
#ifdef SPLIT_DELIVERY
byte pending[PATHS], pending_lane[PATHS];	/* past the duplicate rule */
#define in_delivery(p)	pending[p]
#else
#define in_delivery(p)	false
#endif

/* Of each lane: what this incarnation of the receiver got last */
byte last_gen[PATHS], last[PATHS];
/* Of each generation and lane: what any incarnation got */
byte ever[(SENDER_RESTARTS + 2) * PATHS];
#define came(g, l)	ever[(g) * PATHS + (l)]

byte losses, restarts, crashes, given_up;
/* Scratch of atomic steps */
hidden byte what, n, t, i, kind, d0, d1, d2;

/* The sender */

inline wake(p)
{
#ifdef WAKES
	kicked[p] = true
#else
	skip
#endif
}

#ifndef MISTAKE_EAGER
#define is_busy(l)	(acked[l] < took[l])
#else
#define is_busy(l)	(handed[l] < took[l])
#endif
#define gate_of(l)	(carrier[l] == NONE -> (l) : carrier[l])
#define is_sending(p, l) (gate_of(l) == (p) && handed[l] < took[l])
#define has_work(p, l)	(took[l] < size(l) && \
			 ((l) == (p) && carrier[l] == NONE && \
			  (by_number[p] || (p) == 0 && !held) || \
			  carrier[l] == (p) && !returning[l]))

inline retire(l)
{
	do
	:: acked[l] < handed[l] && acked[l] < una_seq[l] ->
		acked[l]++;
		assert(acked[l] <= came(gen, l))
	:: else -> break
	od;
#ifdef WAKES
	checks[l] = checks[l] || returning[l] && !is_busy(l)
#endif
}

inline note(l, number)
{
	if
	:: number > una_seq[l] && number <= taken_seq[l] -> una_seq[l] = number
	:: else
	fi
}

inline acked_number(l, number)
{
	if
	:: number && (carrier[l] != NONE || by_number[l]) ->
		note(l, number);
		retire(l)
	:: else
	fi
}

inline take_back(l)
{
#ifdef MISTAKE_TAKE_BACK
	if
	:: carrier[l] != NONE -> acked[l] = took[l]
	:: else
	fi;
#endif
	took[l] = acked[l];
	handed[l] = acked[l];
	returning[l] = false
}

inline carry(l, p)
{
	if
	:: !up[l] && carrier[l] == NONE && up[p] && by_number[p] ->
		carrier[l] = p;
		wake(l)
	:: else
	fi
}

inline carry_all()
{
#if PATHS == 3
	carry(0, 1);
	carry(0, 2);
	carry(1, 2);
	carry(1, 0);
	carry(2, 0);
	carry(2, 1)
#else
	carry(0, 1);
	carry(1, 0)
#endif
}

inline forsake(p)
{
	returning[p] = false;
	if
	:: carrier[p] == NONE -> take_back(p)
	:: else
	fi;
	i = 0;
	do
	:: i < PATHS ->
		if
		:: carrier[i] == p -> take_back(i); carrier[i] = NONE
		:: else
		fi;
#if defined(WAKES) && !defined(MISTAKE_ASLEEP)
		kicked[i] = kicked[i] || by_number[p];
#endif
		i++
	:: else -> break
	od;
	carry_all()
}

inline lose(p)
{
	up[p] = false;
	closing[p] = true;
#ifdef WAKES
	runs[p] = false;
#endif
	if
	:: deaf[p] -> deaf[p] = false
	:: else -> wire[p] ! END, 0; ends[p]++
	fi;
	forsake(p)
}

inline empty_back(p)
{
	do
	:: nempty(back[p]) -> back[p] ? of_lanes(_, _, _), _
	:: empty(back[p]) -> break
	od
}

inline come_up(p)
{
	up[p] = true;
	closing[p] = false;
	by_number[p] = false;
	empty_back(p);
	owed[p] = false;
	foreign[p] = false;
	if
	:: p == 0 -> held = (took[0] < begun)
	:: else
	fi;
	wire[p] ! GREETING, gen;
	wake(p)
}

inline take(l, number)
{
	took[l] = number;
	taken_seq[l] = larger(taken_seq[l], took[l])
}

inline hand_over(p, l)
{
	handed[l]++;
	if
	:: !deaf[p] -> wire[p] ! l, handed[l]
	:: else
	fi;
	if
	:: l == 0 && begun < handed[0] -> begun = handed[0]
	:: else
	fi;
	retire(l)
}

inline hear_answer(p)
{
	by_number[p] = true;
	note(p, d0);
	retire(p);
	do
	:: took[p] == acked[p] && acked[p] < una_seq[p] ->
		acked[p]++;
		took[p]++;
		handed[p]++;
		assert(acked[p] <= came(gen, p))
	:: else -> break
	od;
	if
	:: p == 0 -> held = false
	:: else
	fi;
	wake(p);
	carry_all()
}

inline hear(p)
{
	back[p] ? kind, of_lanes(d0, d1, d2);
	if
	:: kind == ANSWER ->
		met = true;
		if
		:: up[p] -> hear_answer(p)
		:: else
		fi
	:: else ->
		acked_number(0, d0);
#if PATHS == 3
		acked_number(2, d2);
#endif
		acked_number(1, d1)
	fi
}

#define can_go_back(p)	(carrier[p] != NONE && up[p] && by_number[p])

inline go_back(p)
{
	if
	:: is_busy(p) -> returning[p] = true
	:: else -> returning[p] = false; carrier[p] = NONE; wake(p)
	fi
}

#ifdef WAKES
#define transmits(p)	(up[p] && runs[p])

inline work(p)
{
	kicked[p] = false;
	runs[p] = up[p];
	if
	:: carrier[p] != NONE ->
		runs[carrier[p]] = up[carrier[p]];
		checks[p] = up[p]
	:: else
	fi
}

inline control(p)
{
	checks[p] = false;
	if
	:: can_go_back(p) -> go_back(p)
	:: else
	fi
}
#else
#define transmits(p)	up[p]
#endif

/* The receiver */

/* Does what the receiver sends over its present connection reach the sender? */
#define reaches(p)	(up[p] && !ends[p] || closing[p] && ends[p] == 1)
#define is_idle(p)	(!in_handshake(p) && !in_delivery(p))

inline rx_end(p)
{
	rx_gen[p] = 0;
	owed[p] = false;
	foreign[p] = false;
	ack_sent[p] = 0
}

/* The rest of the present connection is not read. */
inline go_deaf(p)
{
	rx_end(p);
	do
	:: empty(wire[p]) -> deaf[p] = true; break
	:: nempty(wire[p]) ->
		wire[p] ? what, n;
		if
		:: what == END -> ends[p]--; break
		:: else
		fi
	od
}

inline give_up(p)
{
	given_up++;
	assert(given_up < MANY);
	go_deaf(p)
}

inline forget(l)
{
	expected[l] = 0;
	delivered[l] = 0
}

#ifndef MISTAKE_STALE
#define told(p, l)	(lane_gen[l] == rx_gen[p] -> delivered[l] : 0)
#else
#define told(p, l)	delivered[l]
#endif

inline answer(p)
{
	if
	:: reaches(p) ->
		ack_sent[p] = told(p, p);
		back[p] ! ANSWER, of_lanes(ack_sent[p], 0, 0)
	:: else
	fi
}

inline apply_lane(p)
{
	if
#ifdef MISTAKE_LANE_FIRST
	:: lane_gen[p] != rx_gen[p] ->
#else
	:: lane_gen[p] != rx_gen[p] && session == rx_gen[p] ->
#endif
		forget(p);
		lane_gen[p] = rx_gen[p]
	:: else
	fi
}

inline begin_handshake(p)
{
	rx_gen[p] = n;
#ifdef MISTAKE_LANE_FIRST
	apply_lane(p);
#else
	session = n;
#endif
#ifdef SPLIT_HANDSHAKE
	greeting[p] = true
#else
	end_handshake(p)
#endif
}

inline end_handshake(p)
{
#ifdef MISTAKE_LANE_FIRST
	session = rx_gen[p];
#else
	apply_lane(p);
#endif
	answer(p)
}

inline handshake(p)
{
#ifdef MISTAKE_ANY_PATH
	begin_handshake(p)
#else
	if
	:: p != 0 && n != session ->
		/* A peer that is not known is met over any path (rx_is_misplaced). */
		session = (session -> session : n);
		give_up(p)
	:: else -> begin_handshake(p)
	fi
#endif
}

inline owe(p, l)
{
	if
	:: reaches(p) -> owed[p] = true; foreign[p] = foreign[p] || l != p
	:: else
	fi
}

/* `from` is the lane that sent the message, `l` the one that it counts for. */
inline put(p, l, from, number)
{
	assert(rx_gen[p] > last_gen[from] || rx_gen[p] == last_gen[from] && number > last[from]);
	assert(number <= came(rx_gen[p], from) + 1);
	last_gen[from] = rx_gen[p];
	last[from] = number;
	came(rx_gen[p], from) = larger(came(rx_gen[p], from), number);
	delivered[l] = number;
	owe(p, l)
}

/* Sets n to 0 if the message is of another generation than the lane. */
inline check_generation(p, l)
{
	if
	:: lane_gen[l] == rx_gen[p]
#ifndef MISTAKE_OLD
	:: lane_gen[l] != rx_gen[p] && rx_gen[p] != session -> n = 0
	:: lane_gen[l] != rx_gen[p] && rx_gen[p] == session ->
#else
	:: lane_gen[l] != rx_gen[p] ->
#endif
#ifndef MISTAKE_NOT_FORGOTTEN
		forget(l);
#endif
		lane_gen[l] = rx_gen[p]
	fi
}

inline drop_duplicate(p, l)
{
#ifdef MISTAKE_SILENT
	if
	:: l == p -> owe(p, l)
	:: else
	fi
#else
	owe(p, l)
#endif
}

#ifndef MISTAKE_NO_RULE
#define is_news(p, l)	(n >= expected[l])
#else
#define is_news(p, l)	(n >= expected[l] || l != p)
#endif

inline message(p)
{
#ifndef MISTAKE_UNTAGGED
	t = what;
#else
	t = p;
#endif
	check_generation(p, t);
	if
	:: !n -> give_up(p)
	:: n && is_news(p, t) ->
		expected[t] = n + 1;
#ifdef SPLIT_DELIVERY
#ifdef MISTAKE_EARLY
		delivered[t] = n;
		owe(p, t);
#endif
		pending[p] = n;
		pending_lane[p] = t
#else
		put(p, t, what, n)
#endif
	:: else -> drop_duplicate(p, t)
	fi
}

inline receive(p)
{
	wire[p] ? what, n;
	if
	:: what == GREETING -> handshake(p)
	:: what == END -> rx_end(p); ends[p]--
	:: else -> message(p)
	fi
}

/* The lane of the path alone is acknowledged in the header of a message. */
inline acknowledge(p)
{
	owed[p] = false;
	t = delivered[p];
	d0 = 0;
	d1 = 0;
	d2 = 0;
	if
	:: foreign[p] ->
		foreign[p] = false;
		t = told(p, p);
		d0 = told(p, 0);
#if PATHS == 3
		d2 = told(p, 2);
#endif
		d1 = told(p, 1)
	:: !foreign[p] && t > ack_sent[p] ->
		if
		:: p == 0 -> d0 = t
		:: p == 1 -> d1 = t
		:: p == 2 -> d2 = t
		fi
	:: else
	fi;
	ack_sent[p] = larger(ack_sent[p], t);
	if
	:: d0 || d1 || d2 -> back[p] ! ACK, of_lanes(d0, d1, d2)
	:: else
	fi
}

/* Is the lane free that the next message is for? */
#if !defined(SPLIT_DELIVERY) || defined(MISTAKE_UNLOCKED)
#define can_lock(p)	true
#else
#define holds(p, l)	(pending[p] && pending_lane[p] == l)
#if PATHS == 3
#define is_locked(l)	(holds(0, l) || holds(1, l) || holds(2, l))
#else
#define is_locked(l)	(holds(0, l) || holds(1, l))
#endif
#define can_lock(p)	((!is_locked(0) || !(wire[p]?[0, _])) && \
			 (!is_locked(1) || !(wire[p]?[1, _])) && \
			 (PATHS < 3 || !is_locked(2) || !(wire[p]?[2, _])) && \
			 (!is_locked(p) || !(wire[p]?[GREETING, _])))
#endif

/* The world */

inline restart_sender()
{
	gen++;
	met = false;
	held = false;
	begun = 0;
	i = 0;
	do
	:: i < PATHS ->
		if
		:: up[i] && !deaf[i] -> wire[i] ! END, 0; ends[i]++
		:: else
		fi;
		deaf[i] = false;
		up[i] = false;
		closing[i] = false;
		empty_back(i);
		owed[i] = false;
		foreign[i] = false;
		by_number[i] = false;
		acked[i] = 0;
		handed[i] = 0;
		took[i] = 0;
		una_seq[i] = 0;
		taken_seq[i] = 0;
		carrier[i] = NONE;
		returning[i] = false;
#ifdef WAKES
		kicked[i] = false;
		runs[i] = false;
		checks[i] = false;
#endif
		i++
	:: else -> break
	od
}

inline restart_receiver()
{
	session = 0;
	i = 0;
	do
	:: i < PATHS ->
		do
		:: nempty(wire[i]) -> wire[i] ? _, _
		:: empty(wire[i]) -> break
		od;
		ends[i] = 0;
		deaf[i] = up[i];
		rx_end(i);
		lane_gen[i] = 0;
		forget(i);
		last_gen[i] = 0;
		last[i] = 0;
#ifdef SPLIT_HANDSHAKE
		greeting[i] = false;
#endif
#ifdef SPLIT_DELIVERY
		pending[i] = 0;
		pending_lane[i] = 0;
#endif
		i++
	:: else -> break
	od
}

/* Has the receiver read the greeting of the sender's last connection? */
#ifdef LATE_GREETINGS
#define is_greeted(p)	true
#else
#define is_greeted(p)	(!in_handshake(p) && \
			 (deaf[p] || up[p] && !ends[p] && rx_gen[p] || \
			  !up[p] && (!ends[p] || ends[p] == 1 && rx_gen[p])))
#endif
#define has_room(p)	nfull(wire[p])
#define is_done(l)	(acked[l] == size(l) && came(gen, l) == size(l))

proctype Gate(byte p, l)
{
end:	do
	:: d_step { transmits(p) && has_work(p, l) && !any_lane(p, is_sending) ->
		take(l, took[l] + 1); n = 0 }
	:: d_step { transmits(p) && has_work(p, l) && !any_lane(p, is_sending) ->
		take(l, size(l)); n = 0 }
	:: d_step { transmits(p) && is_sending(p, l) && len(wire[p]) < ROOM - SPARE ->
		hand_over(p, l); n = 0 }
	od
}

#define me		_pid

active [PATHS] proctype Path()
{
end:	do
	/* Further paths are made with a peer that is known. */
	:: d_step { !up[me] && broken != me && (me == 0 || met) && len(wire[me]) < ROOM - SPARE ->
		come_up(me); n = 0 }
	:: d_step { nempty(back[me]) -> hear(me); n = 0 }
#ifdef WAKES
	:: d_step { kicked[me] -> work(me); n = 0 }
	:: d_step { runs[me] && !any_lane(me, is_sending) && !any_lane(me, has_work) -> runs[me] = false }
	:: d_step { checks[me] -> control(me); n = 0 }
#else
	:: d_step { can_go_back(me) && (!returning[me] || !is_busy(me)) -> go_back(me); n = 0 }
#endif
	:: d_step { up[me] && !deaf[me] && losses < LOSSES && nfull(wire[me]) ->
		losses++; lose(me); n = 0 }
	:: d_step { up[me] && !deaf[me] && losses < LOSSES && !ends[me] && is_idle(me) ->
		losses++; go_deaf(me); n = 0 }
	:: d_step { up[me] && deaf[me] -> lose(me); n = 0 }
	:: d_step { ends[me] && is_idle(me) && !(wire[me]?[END, _]) -> go_deaf(me); n = 0 }
	/* After a restart path 0 is needed, to know the peer. */
	:: d_step { BREAKS && broken == NONE && !up[me] && met && restarts == SENDER_RESTARTS ->
		broken = me }
	:: d_step { is_idle(me) && nempty(wire[me]) && can_lock(me) && nfull(back[me]) ->
		receive(me); n = 0 }
#ifdef SPLIT_HANDSHAKE
	:: d_step { greeting[me] && nfull(back[me]) -> greeting[me] = false; end_handshake(me); n = 0 }
#endif
#ifdef SPLIT_DELIVERY
	:: d_step { pending[me] ->
		put(me, pending_lane[me], pending_lane[me], pending[me]);
		pending[me] = 0;
		pending_lane[me] = 0 }
#endif
	:: d_step { owed[me] && reaches(me) && nfull(back[me]) -> acknowledge(me); n = 0 }
	od
}

active proctype World()
{
	atomic {
		run Gate(0, 0);
		run Gate(0, 1);
		run Gate(1, 0);
		run Gate(1, 1);
#if PATHS == 3
		run Gate(0, 2);
		run Gate(1, 2);
		run Gate(2, 0);
		run Gate(2, 1);
		run Gate(2, 2);
#endif
		skip
	}
end:	do
	:: d_step { restarts < SENDER_RESTARTS && all_paths(is_greeted) && all_paths(has_room) ->
		restarts++; restart_sender(); n = 0 }
	:: d_step { crashes < RECEIVER_RESTARTS -> crashes++; restart_receiver(); n = 0 }
	/* No other step is left. */
	:: atomic { timeout -> assert(all_paths(is_done)); break }
	od
}
