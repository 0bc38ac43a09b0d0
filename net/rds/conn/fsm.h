/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States and events of a path, as data.  Kernel-free, so that a unit test can walk all of it.
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
 * Failure is an event, not a state.  An event that a state does not know is refused, and the
 * caller deals with that: a connection that comes up while its path is being closed is closed.
 */
#ifndef _RDS_CONN_FSM_H
#define _RDS_CONN_FSM_H

#include "proto/plat.h"

/**
 * enum rds_path_state - where a path stands
 * @RDS_PATH_DOWN: no connection, and nothing of the last one is left
 * @RDS_PATH_CONNECTING: this end dials, or attaches a connection that the peer opened
 * @RDS_PATH_UP: messages flow
 * @RDS_PATH_CLOSING: lost; the control worker has yet to take the connection down
 * @RDS_PATH_DEAD: will not come up any more
 * @RDS_PATH_NR_STATES: how many there are
 */
enum rds_path_state {
	RDS_PATH_DOWN,
	RDS_PATH_CONNECTING,
	RDS_PATH_UP,
	RDS_PATH_CLOSING,
	RDS_PATH_DEAD,
	RDS_PATH_NR_STATES
};

/**
 * enum rds_path_event - what can happen to it
 * @RDS_EV_DIAL: this end starts to connect
 * @RDS_EV_CLAIM: a connection of the peer's is about to be attached
 * @RDS_EV_UP: the transport says it is established
 * @RDS_EV_LOST: the transport, or we ourselves, give it up
 * @RDS_EV_CLOSED: it is taken down
 * @RDS_EV_KILL: the path is to go
 * @RDS_PATH_NR_EVENTS: how many there are
 */
enum rds_path_event {
	RDS_EV_DIAL,
	RDS_EV_CLAIM,
	RDS_EV_UP,
	RDS_EV_LOST,
	RDS_EV_CLOSED,
	RDS_EV_KILL,
	RDS_PATH_NR_EVENTS
};

/**
 * rds_path_next - the state an event leads to
 * @state: present state
 * @event: what happens
 *
 * Return: the next state, or -1 if the event is refused.
 */
int rds_path_next(enum rds_path_state state, enum rds_path_event event);

const char *rds_path_state_name(enum rds_path_state state);

#endif
