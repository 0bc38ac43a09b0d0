// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The states of a stream, and what can meet what in each of them.  An event
 * that is not named is refused.
 */
#include "life.h"

#define NO		0
#define TO(state)	(RDS_SS_##state + 1)
#define ON(event)	RDS_SS_EV_##event

/* Next state + 1, or NO */
static const unsigned char next_state[RDS_SS_NR_STATES][RDS_SS_NR_EVENTS] = {
	/*
	 * Messages of the peer may come before its answer does: the engine
	 * keeps them until then.  A program that gives up has sent nothing.
	 */
	[RDS_SS_CONNECTING] = {
		[ON(OPEN)]	= TO(OPEN),
		[ON(CLOSE)]	= TO(CLOSED),
		[ON(HANGUP)]	= TO(RESET),
		[ON(FAIL)]	= TO(RESET),
	},
	[RDS_SS_OPEN] = {
		[ON(SHUT_WR)]	= TO(SHUTTING),
		[ON(SHUT_RD)]	= TO(HALF_IN),
		[ON(CLOSE)]	= TO(CLOSING),
		[ON(PEER_SHUT)]	= TO(HALF_IN),
		[ON(PEER_BYE)]	= TO(LEFT),
		[ON(HANGUP)]	= TO(LEFT),
		[ON(FAIL)]	= TO(RESET),
	},
	/*
	 * RDS_SS_SHUT is still to be sent.  If nothing is read either by then,
	 * RDS_SS_BYE says both.
	 */
	[RDS_SS_SHUTTING] = {
		[ON(SHUT_RD)]	= TO(CLOSING),
		[ON(CLOSE)]	= TO(CLOSING),
		[ON(FLUSHED)]	= TO(HALF_OUT),
		[ON(PEER_SHUT)]	= TO(CLOSING),
		[ON(PEER_BYE)]	= TO(LEFT),
		[ON(HANGUP)]	= TO(LEFT),
		[ON(FAIL)]	= TO(RESET),
	},
	/*
	 * The peer knows that no more comes, so its own SHUT ends the stream,
	 * and neither end says more.
	 */
	[RDS_SS_HALF_OUT] = {
		[ON(SHUT_RD)]	= TO(CLOSING),
		[ON(CLOSE)]	= TO(CLOSING),
		[ON(PEER_SHUT)]	= TO(ENDING),
		[ON(PEER_BYE)]	= TO(LEFT),
		[ON(HANGUP)]	= TO(LEFT),
		[ON(FAIL)]	= TO(RESET),
	},
	/* After SHUT_RD the peer may still send, and then shut its end. */
	[RDS_SS_HALF_IN] = {
		[ON(SHUT_WR)]	= TO(CLOSING),
		[ON(SHUT_RD)]	= TO(HALF_IN),
		[ON(CLOSE)]	= TO(CLOSING),
		[ON(PEER_SHUT)]	= TO(HALF_IN),
		[ON(PEER_BYE)]	= TO(LEFT),
		[ON(HANGUP)]	= TO(LEFT),
		[ON(FAIL)]	= TO(RESET),
	},
	/*
	 * The peer may be held up by memory that this end has not read: the
	 * engine goes on taking what comes.  A peer that has left takes nothing
	 * more, so what is queued is dropped.
	 */
	[RDS_SS_CLOSING] = {
		[ON(FLUSHED)]	= TO(ENDING),
		[ON(SHUT_RD)]	= TO(CLOSING),
		[ON(CLOSE)]	= TO(CLOSING),
		[ON(PEER_SHUT)]	= TO(CLOSING),
		[ON(PEER_BYE)]	= TO(ENDING),
		[ON(HANGUP)]	= TO(CLOSED),
		[ON(FAIL)]	= TO(RESET),
	},
	/* Closing the connection now would cut off what is not completed. */
	[RDS_SS_ENDING] = {
		[ON(DRAINED)]	= TO(CLOSED),
		[ON(SHUT_RD)]	= TO(ENDING),
		[ON(CLOSE)]	= TO(ENDING),
		[ON(PEER_SHUT)]	= TO(ENDING),
		[ON(PEER_BYE)]	= TO(ENDING),
		[ON(HANGUP)]	= TO(CLOSED),
		[ON(FAIL)]	= TO(RESET),
	},
	/* It is the peer that closes the connection, or the program here. */
	[RDS_SS_LEFT] = {
		[ON(SHUT_WR)]	= TO(LEFT),
		[ON(SHUT_RD)]	= TO(LEFT),
		[ON(CLOSE)]	= TO(CLOSED),
		[ON(HANGUP)]	= TO(LEFT),
		[ON(PEER_SHUT)]	= TO(LEFT),
		[ON(PEER_BYE)]	= TO(LEFT),
	},
	[RDS_SS_RESET] = {
		[ON(CLOSE)]	= TO(CLOSED),
	},
};

int rds_ss_next_state(enum rds_ss_state state, enum rds_ss_event event)
{
	return next_state[state][event] - 1;
}
