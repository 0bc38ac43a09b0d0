/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States of a stream and what moves them, as data.  Kernel-free, so that a unit
 * test can try every pair.
 *
 *	CONNECTING --OPEN--> OPEN
 *	OPEN --SHUT_WR--> SHUTTING --FLUSHED--> HALF_OUT	SHUT is sent
 *	OPEN --SHUT_RD, PEER_SHUT--> HALF_IN
 *	SHUTTING --SHUT_RD, PEER_SHUT--> CLOSING
 *	HALF_IN --SHUT_WR--> CLOSING
 *	HALF_OUT --SHUT_RD--> CLOSING, --PEER_SHUT--> ENDING
 *	these four --CLOSE--> CLOSING --FLUSHED--> ENDING	BYE is sent
 *	CLOSING --PEER_BYE--> ENDING				it is not
 *	ENDING --DRAINED--> CLOSED
 *	CLOSING, ENDING --HANGUP--> CLOSED
 *	these four --PEER_BYE, HANGUP--> LEFT --CLOSE--> CLOSED
 *	all but LEFT and CLOSED --FAIL--> RESET --CLOSE--> CLOSED
 *	CONNECTING --CLOSE--> CLOSED, --HANGUP--> RESET
 *
 * These four are OPEN, SHUTTING, HALF_OUT and HALF_IN.
 *
 * A stream never goes back.  An event without transition is refused, and
 * whoever meets it goes on as if it had not happened.
 */
#ifndef _RDS_STREAM_LIFE_H
#define _RDS_STREAM_LIFE_H

#include "plat.h"

/**
 * enum rds_ss_state - state of a stream
 * @RDS_SS_CONNECTING: the peer's connect data are missing
 * @RDS_SS_OPEN: both ends may send
 * @RDS_SS_SHUTTING: the program sends no more; what is queued is sent, then
 *	RDS_SS_SHUT
 * @RDS_SS_HALF_OUT: the same, and all is sent
 * @RDS_SS_HALF_IN: the peer sends no more, or nobody reads what it sends
 * @RDS_SS_CLOSING: nothing more goes either way but what is queued, and then
 *	RDS_SS_BYE
 * @RDS_SS_ENDING: all is sent, and not all of it is completed
 * @RDS_SS_LEFT: the peer has ended the stream; what has come can be read, and
 *	what still breaks does not matter
 * @RDS_SS_RESET: the stream has failed
 * @RDS_SS_CLOSED: the connection can be closed, or is; after
 *	@RDS_SS_HALF_OUT there may be something to read
 * @RDS_SS_NR_STATES: number of states
 *
 * The order matters: up to @RDS_SS_CLOSING messages are sent.
 */
enum rds_ss_state {
	RDS_SS_CONNECTING,
	RDS_SS_OPEN,
	RDS_SS_SHUTTING,
	RDS_SS_HALF_OUT,
	RDS_SS_HALF_IN,
	RDS_SS_CLOSING,
	RDS_SS_ENDING,
	RDS_SS_LEFT,
	RDS_SS_RESET,
	RDS_SS_CLOSED,
	RDS_SS_NR_STATES
};

/**
 * enum rds_ss_event - event of a stream
 * @RDS_SS_EV_OPEN: the connection is up, with good connect data
 * @RDS_SS_EV_SHUT_WR: the program sends no more
 * @RDS_SS_EV_SHUT_RD: the program reads no more
 * @RDS_SS_EV_CLOSE: both
 * @RDS_SS_EV_FLUSHED: what was queued is posted, and with it RDS_SS_SHUT or
 *	RDS_SS_BYE
 * @RDS_SS_EV_DRAINED: all that was posted is completed
 * @RDS_SS_EV_PEER_SHUT: RDS_SS_SHUT came
 * @RDS_SS_EV_PEER_BYE: RDS_SS_BYE came
 * @RDS_SS_EV_HANGUP: the peer has closed the connection, or it broke
 * @RDS_SS_EV_FAIL: the peer broke the rules
 * @RDS_SS_NR_EVENTS: number of events
 */
enum rds_ss_event {
	RDS_SS_EV_OPEN,
	RDS_SS_EV_SHUT_WR,
	RDS_SS_EV_SHUT_RD,
	RDS_SS_EV_CLOSE,
	RDS_SS_EV_FLUSHED,
	RDS_SS_EV_DRAINED,
	RDS_SS_EV_PEER_SHUT,
	RDS_SS_EV_PEER_BYE,
	RDS_SS_EV_HANGUP,
	RDS_SS_EV_FAIL,
	RDS_SS_NR_EVENTS
};

/**
 * rds_ss_next_state - look up a transition
 * @state: present state
 * @event: event in that state
 *
 * Return: the next state, or -1 if the event is refused.
 */
int rds_ss_next_state(enum rds_ss_state state, enum rds_ss_event event);

/* The program may queue data. */
static inline bool rds_ss_may_queue(enum rds_ss_state s)
{
	return s == RDS_SS_OPEN || s == RDS_SS_HALF_IN;
}

/* What is queued may be sent. */
static inline bool rds_ss_may_send(enum rds_ss_state s)
{
	return rds_ss_may_queue(s) || s == RDS_SS_SHUTTING ||
	       s == RDS_SS_CLOSING;
}

/* Messages without credit may be sent. */
static inline bool rds_ss_may_tell(enum rds_ss_state s)
{
	return s >= RDS_SS_OPEN && s <= RDS_SS_CLOSING;
}

/* RDS_SS_SHUT or RDS_SS_BYE is to be sent behind what is queued. */
static inline bool rds_ss_flushes(enum rds_ss_state s)
{
	return s == RDS_SS_SHUTTING || s == RDS_SS_CLOSING;
}

/* Messages of the peer count. */
static inline bool rds_ss_listens(enum rds_ss_state s)
{
	return s >= RDS_SS_OPEN && s <= RDS_SS_ENDING;
}

/* What has come may be read. */
static inline bool rds_ss_may_read(enum rds_ss_state s)
{
	return s != RDS_SS_CONNECTING && s != RDS_SS_RESET;
}

#endif
