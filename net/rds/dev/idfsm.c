// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The states of a connection id, and what can meet what in each of them.  An
 * event that is not named is refused.
 */
#include <net/rds/dev_idfsm.h>

#define NO		0
#define TO(state)	(RDS_DEV_ID_##state + 1)
#define ON(event)	RDS_DEV_ID_EV_##event

/* Next state + 1, or NO */
static const unsigned char next_state[RDS_DEV_ID_NR_STATES]
				     [RDS_DEV_ID_NR_EVENTS] = {
	/*
	 * Walks over the ids of a device may end the id from now on.  The peer
	 * of a request may give up while the request waits for the user's
	 * decision: then the id ends, and rds_dev_id_own() says so.  (siw
	 * reports nothing for a request that was not accepted; there
	 * rdma_accept() fails.)  A request that nobody takes is freed.
	 */
	[RDS_DEV_ID_NEW] = {
		[ON(WAIT)]	= TO(WAIT_LINK),
		[ON(OPEN)]	= TO(OPENING),
		[ON(END)]	= TO(ENDING),
		[ON(FREE)]	= TO(DEAD),
	},
	/*
	 * Entered before the link is tested, so a change behind the test finds
	 * the attempt waiting.  The context that dials and one that saw the
	 * link come up meet here: one of them moves the id.
	 */
	[RDS_DEV_ID_WAIT_LINK] = {
		[ON(LINK)]	= TO(WAIT_TURN),
		[ON(END)]	= TO(ENDING),
	},
	/*
	 * The attempt is in the line of admit.c, or about to be, or has a
	 * place.  It has no time limit: its time begins when it is dialled.
	 */
	[RDS_DEV_ID_WAIT_TURN] = {
		[ON(DIAL)]	= TO(RESOLVING),
		[ON(END)]	= TO(ENDING),
	},
	/* rds_dev_id_dial() or connect_work makes the id of rdma_cm. */
	[RDS_DEV_ID_RESOLVING] = {
		[ON(OPEN)]	= TO(OPENING),
		[ON(END)]	= TO(ENDING),
	},
	/*
	 * connect_work and the end meet: the work is queued with the move that
	 * needs it, so rds_dev_id_end(), which moves the id first, cancels the
	 * work or waits for it.  A step that fails leaves its result or NULL,
	 * and the user undoes those that were done.
	 */
	[RDS_DEV_ID_OPENING] = {
		[ON(ASK)]	= TO(ASKED),
		[ON(END)]	= TO(ENDING),
	},
	/*
	 * The CM of InfiniBand gives up after a minute, TCP after two; the
	 * timer of the id does earlier, at both ends, and the user may
	 * try again.  rdma_connect() of an iWARP device may wait for TCP
	 * (siw: minutes, with the id's handler mutex held), and the end of an
	 * id or queue pair for that of the MPA negotiation (siw: 5 to 10 s).
	 */
	[RDS_DEV_ID_ASKED] = {
		[ON(ANSWER)]	= TO(ANSWERED),
		[ON(END)]	= TO(ENDING_ASKED),
	},
	/*
	 * A handler of rdma_cm is at work, or rdma_cm could not be asked: the
	 * id ends next.  rds_dev_id_end() waits for the handler.
	 */
	[RDS_DEV_ID_ANSWERED] = {
		[ON(ESTABLISH)]	= TO(ESTABLISHED),
		[ON(END)]	= TO(ENDING),
	},
	/*
	 * The first frame and the answer come in two contexts, in any order:
	 * the second of them brings the accepting end up.  rdma_cm may report
	 * ESTABLISHED once more: rdma_notify() stands for the last message of
	 * the handshake, which the CM of the peer repeats.
	 */
	[RDS_DEV_ID_ESTABLISHED] = {
		[ON(UP)]	= TO(UP),
		[ON(END)]	= TO(ENDING),
	},
	/* The user may refuse an id that comes up: it is about to close it. */
	[RDS_DEV_ID_UP] = {
		[ON(END)]	= TO(ENDING),
	},
	/*
	 * The context that came here first has told the user of a failure,
	 * under the lock, or closes, or was told by the user that it is about
	 * to close: so no call comes after rds_dev_id_end().  Handlers of
	 * rdma_cm leave the user alone from here on; rds_dev_id_end() waits for
	 * one that began before.  A request that nobody takes is freed here.
	 */
	[RDS_DEV_ID_ENDING] = {
		[ON(CLOSE)]	= TO(CLOSED),
		[ON(FREE)]	= TO(DEAD),
	},
	/*
	 * rdma_destroy_id() of InfiniBand does not wait for the answer; that of
	 * iWARP does, and the user cannot.
	 */
	[RDS_DEV_ID_ENDING_ASKED] = {
		[ON(ANSWER)]	= TO(ENDING),
		[ON(LATE)]	= TO(LATE),
		[ON(CLOSE)]	= TO(CLOSED),
	},
	/*
	 * The queue pair cannot be destroyed before the device answers, nor
	 * need it be flushed.  A work item destroys it then, and the user keeps
	 * its rings until then; the removal of the device waits for that.  An
	 * owner with too many of these does not dial until one of them is
	 * freed.
	 */
	[RDS_DEV_ID_LATE] = {
		[ON(FREE)]	= TO(DEAD),
	},
	/*
	 * Of a request that came while its link was not usable, and of an id
	 * whose link broke, the end would send a packet that is not taken
	 * (quirks.c).
	 */
	[RDS_DEV_ID_CLOSED] = {
		[ON(SHELVE)]	= TO(SHELVED),
		[ON(FREE)]	= TO(DEAD),
	},
	/* reap_work follows, and may find the link unusable again. */
	[RDS_DEV_ID_SHELVED] = {
		[ON(REAP)]	= TO(CLOSED),
	},
};

int rds_dev_id_next(enum rds_dev_id_state state,
		    enum rds_dev_id_event event)
{
	return next_state[state][event] - 1;
}
