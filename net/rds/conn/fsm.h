/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States and events of a path, as data.  Kernel-free, so that a unit test can
 * try every pair.
 *
 *	        DIAL, CLAIM             UP
 *	DOWN ----------------> CONNECTING --> UP
 *	 ^ \                        |         |
 *	 |  \ KILL             LOST |         | LOST
 *	 |   v                      v         |
 *	 |   DEAD                CLOSING <----'
 *	 |                          |
 *	 '--------------------------'
 *	            CLOSED
 *
 * Failure is an event, not a state.  An event that has no transition from a
 * state is refused, and the caller acts on the refusal: a connection that comes
 * up while its path closes is closed.
 */
#ifndef _RDS_CONN_FSM_H
#define _RDS_CONN_FSM_H

#include "proto/plat.h"

/**
 * enum rds_cpath_state - state of a path
 * @RDS_PATH_DOWN: no connection, and the last one is completely taken down
 * @RDS_PATH_CONNECTING: this end dials, or attaches a connection that the peer
 *	opened
 * @RDS_PATH_UP: the connection carries messages
 * @RDS_PATH_CLOSING: the connection is lost, and the control worker has to take
 *	it down
 * @RDS_PATH_DEAD: the path never comes up again
 * @RDS_PATH_NR_STATES: number of states
 */
enum rds_cpath_state {
	RDS_PATH_DOWN,
	RDS_PATH_CONNECTING,
	RDS_PATH_UP,
	RDS_PATH_CLOSING,
	RDS_PATH_DEAD,
	RDS_PATH_NR_STATES
};

/**
 * enum rds_cpath_event - event of a path
 * @RDS_EV_DIAL: this end starts to connect
 * @RDS_EV_CLAIM: this end is about to attach a connection that the peer opened
 * @RDS_EV_UP: the transport reports the connection as established
 * @RDS_EV_LOST: the transport or the core gives the connection up
 * @RDS_EV_CLOSED: the connection is taken down
 * @RDS_EV_KILL: the path is removed for good
 * @RDS_PATH_NR_EVENTS: number of events
 */
enum rds_cpath_event {
	RDS_EV_DIAL,
	RDS_EV_CLAIM,
	RDS_EV_UP,
	RDS_EV_LOST,
	RDS_EV_CLOSED,
	RDS_EV_KILL,
	RDS_PATH_NR_EVENTS
};

/**
 * rds_cpath_next - look up a transition
 * @state: present state
 * @event: event in that state
 *
 * Return: the next state, or -1 if the event is refused.
 */
int rds_cpath_next(enum rds_cpath_state state, enum rds_cpath_event event);

const char *rds_cpath_state_name(enum rds_cpath_state state);

#endif
