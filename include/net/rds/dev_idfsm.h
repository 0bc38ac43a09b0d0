/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * States and events of a connection id, from the attempt or request to the end
 * of the id, as data.  Kernel-free, so that a unit test can try every pair.
 *
 *	NEW --WAIT--> WAIT_LINK --LINK--> WAIT_TURN	this end dials
 *	 |                                    | DIAL
 *	 |                                    v
 *	 | OPEN (a request)               RESOLVING
 *	 '--------------> OPENING <-----------' OPEN
 *	                     | ASK
 *	                     v    ANSWER            ESTABLISH
 *	                   ASKED -------> ANSWERED ----------> ESTABLISHED
 *	                     |                                   | UP
 *	                     | END         END, from all others  v
 *	                     v                      |           UP
 *	              ENDING_ASKED --ANSWER--> ENDING
 *	                |        |                |
 *	           LATE |        | CLOSE          | CLOSE
 *	                v        '---> CLOSED <---'
 *	              LATE             |  ^  | SHELVE
 *	                |         FREE |  |  v
 *	                '----> DEAD <--' SHELVED, and back with REAP
 *
 * A request that nobody takes goes from NEW or ENDING to DEAD.  An id never
 * goes back: its user makes another one.  An event without transition is
 * refused, and whoever meets it acts on that, as events come from contexts that
 * know nothing of each other.
 */
#ifndef _NET_RDS_DEV_IDFSM_H
#define _NET_RDS_DEV_IDFSM_H

/**
 * enum rds_dev_id_state - state of a connection id
 * @RDS_DEV_ID_NEW: made and entered at its device.  An attempt has no id of
 *	rdma_cm yet; a request has one, and waits for its user
 * @RDS_DEV_ID_WAIT_LINK: the attempt goes on when its link is usable
 * @RDS_DEV_ID_WAIT_TURN: the attempt is dialled when it has a place (admit.c)
 * @RDS_DEV_ID_RESOLVING: rdma_cm looks for the address and the route, or is
 *	about to
 * @RDS_DEV_ID_OPENING: rings and queue pair are being made
 * @RDS_DEV_ID_ASKED: rdma_cm was asked to connect or to accept, and has not
 *	answered
 * @RDS_DEV_ID_ANSWERED: it has; what it says is being looked at
 * @RDS_DEV_ID_ESTABLISHED: the peer can send; this end waits for its first
 *	frame, where a device wants that
 * @RDS_DEV_ID_UP: messages can be sent
 * @RDS_DEV_ID_ENDING: it has failed, or is being closed: nothing is posted any
 *	more
 * @RDS_DEV_ID_ENDING_ASKED: the same, and rdma_cm has not answered
 * @RDS_DEV_ID_LATE: it is being closed, or is, before the CM of an iWARP
 *	device has answered, for which a worker waits
 * @RDS_DEV_ID_CLOSED: nothing is left but the id of rdma_cm, which goes next
 * @RDS_DEV_ID_SHELVED: nothing is left but the id, whose destruction would
 *	send a packet over a link that is not usable
 * @RDS_DEV_ID_DEAD: about to be freed
 * @RDS_DEV_ID_NR_STATES: number of states
 *
 * The order matters: from @RDS_DEV_ID_ENDING on nothing is posted.
 */
enum rds_dev_id_state {
	RDS_DEV_ID_NEW,
	RDS_DEV_ID_WAIT_LINK,
	RDS_DEV_ID_WAIT_TURN,
	RDS_DEV_ID_RESOLVING,
	RDS_DEV_ID_OPENING,
	RDS_DEV_ID_ASKED,
	RDS_DEV_ID_ANSWERED,
	RDS_DEV_ID_ESTABLISHED,
	RDS_DEV_ID_UP,
	RDS_DEV_ID_ENDING,
	RDS_DEV_ID_ENDING_ASKED,
	RDS_DEV_ID_LATE,
	RDS_DEV_ID_CLOSED,
	RDS_DEV_ID_SHELVED,
	RDS_DEV_ID_DEAD,
	RDS_DEV_ID_NR_STATES
};

/**
 * enum rds_dev_id_event - event of a connection id
 * @RDS_DEV_ID_EV_WAIT: look whether the link of an attempt is usable
 * @RDS_DEV_ID_EV_LINK: it is; the context that moves the id asks for a place,
 *	or has the worker do it
 * @RDS_DEV_ID_EV_DIAL: the id has a place; the context that moves it dials
 * @RDS_DEV_ID_EV_OPEN: the route is known, or the user takes the request; the
 *	context that moves the id opens it, or has the worker do it
 * @RDS_DEV_ID_EV_ASK: rdma_cm is about to be asked to connect or to accept
 * @RDS_DEV_ID_EV_ANSWER: rdma_cm has answered, or could not be asked
 * @RDS_DEV_ID_EV_ESTABLISH: the answer is good
 * @RDS_DEV_ID_EV_UP: nothing is missing; the context that moves the id tells
 *	the user
 * @RDS_DEV_ID_EV_END: a failure, or the user closes; the context that moves
 *	the id tells the user of a failure
 * @RDS_DEV_ID_EV_LATE: the user closes and cannot wait for the answer
 * @RDS_DEV_ID_EV_CLOSE: queue pair and rings are gone
 * @RDS_DEV_ID_EV_SHELVE: the id of rdma_cm has to stay
 * @RDS_DEV_ID_EV_REAP: it can go
 * @RDS_DEV_ID_EV_FREE: nothing is left
 * @RDS_DEV_ID_NR_EVENTS: number of events
 */
enum rds_dev_id_event {
	RDS_DEV_ID_EV_WAIT,
	RDS_DEV_ID_EV_LINK,
	RDS_DEV_ID_EV_DIAL,
	RDS_DEV_ID_EV_OPEN,
	RDS_DEV_ID_EV_ASK,
	RDS_DEV_ID_EV_ANSWER,
	RDS_DEV_ID_EV_ESTABLISH,
	RDS_DEV_ID_EV_UP,
	RDS_DEV_ID_EV_END,
	RDS_DEV_ID_EV_LATE,
	RDS_DEV_ID_EV_CLOSE,
	RDS_DEV_ID_EV_SHELVE,
	RDS_DEV_ID_EV_REAP,
	RDS_DEV_ID_EV_FREE,
	RDS_DEV_ID_NR_EVENTS
};

/**
 * rds_dev_id_next - look up a transition
 * @state: present state
 * @event: event in that state
 *
 * Return: the next state, or -1 if the event is refused.
 */
int rds_dev_id_next(enum rds_dev_id_state state,
		    enum rds_dev_id_event event);

#endif
