/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connection ids: an attempt to connect, or the request of a peer, from its
 * begin to the moment when nothing of the device knows it any more.  The id
 * copes with devices, links and addresses that go, and with connection managers
 * that answer late; its user has the rings, and what the frames mean.
 *
 * Ownership: embedded in an object of the user, which exists from
 * rds_dev_id_init() to &rds_dev_id_ops.gone.  Handlers of rdma_cm find the id
 * by rdma_cm_id.context, and end when rdma_destroy_id() has returned;
 * completions find the user's object by their ib_cqe, and end with the queue
 * pair.  Both happen before .gone, so neither has a reference.
 *
 * Lock: rds_dev_id.lock (spin, bh) guards @state, @silent and @owner, and what
 * the user puts under it.  .up and .lost are called under it, so that neither
 * call is in progress once rds_dev_id_end() has returned.  Locks of the user
 * may be taken under it, but no lock of this layer.  From CLOSED on the id has
 * one mover at a time: quirks.c, under rds_dev.lock, and the context that
 * frees it.
 *
 * Contexts: handlers of rdma_cm in work queues that all RDMA connections of the
 * host share, one at a time for each id, with its handler mutex held.  So they
 * are short: connect_work does what waits for memory or for the device.
 */
#ifndef _NET_RDS_DEV_ID_H
#define _NET_RDS_DEV_ID_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <net/rds/dev.h>
#include <net/rds/dev_idfsm.h>
#include <net/rds/dev_idops.h>

struct ib_qp;
struct ib_qp_init_attr;
struct rdma_cm_id;
struct rdma_conn_param;
struct rds_dev_domain;
struct rds_dev_id;

/**
 * struct rds_dev_id - a connection id
 * @ops: its user's functions
 * @dom: domain that the id is entered at, counted
 * @dev: its device
 * @dev_node: entry in @dev's ids or walk, under its lock
 * @closing: walks visit the id only to mark it; under @dev's lock
 * @shelf_node: entry in @dev's shelf, under its lock
 * @local: local address
 * @remote: address of the peer
 * @port: port of the peer that is dialled
 * @lport: local port to dial from, set before rds_dev_id_dial(); 0: any
 * @share: for whom the user dials, below RDS_DEV_SHARES, set likewise (admit.c)
 * @tos: type of service
 * @cm_id: id of rdma_cm, whose context this is; NULL before it is dialled
 * @qp: queue pair of @cm_id, or NULL
 * @lock: see above
 * @state: see enum rds_dev_id_state
 * @owner: what the id is of, or was, NULL until it is known; compared only
 * @accepted: the peer asks for the connection
 * @connected: it has been established; set by a handler of rdma_cm
 * @silent: the accepting end on a device with active_first may not send yet;
 *	under @lock
 * @held: the request came while its link was not usable, and is refused when it
 *	is (quirks.c); set before rds_dev_closing(), constant
 * @silent_end: the peer gave up: the end sends no packet; set by handlers
 * @place: place of an attempt; under rds_dev_admit.lock
 * @admit_node: entry in a line or the late ids of @dev, under the same lock
 * @goes: rds_dev.goes if a notifier waits for this id; under rds_dev.lock
 * @due_node: entry in @dev's due, under its lock
 * @due_why: why it is there
 * @responder_resources: READs and atomic operations that the peer may have
 *	under way
 * @initiator_depth: READs and atomic operations that this end may have under
 *	way; lowered to the peer's limit when the connection is established
 * @timer: fails an id that does not come up in time, has a slow attempt give
 *	its place back, and reports @qp_error outside hard interrupts
 * @until: end of the id's time, in jiffies; written before @timer is set
 * @qp_error: the queue pair reported an error that @timer has to report; set in
 *	a hard interrupt
 * @connects: @connect_work runs; under @lock, as is
 * @reap_next: it frees the id, which is late, when it ends
 * @connect_work: steps of connecting that handlers cannot wait for
 * @reap_work: the part of the end that would wait for the CM or the link
 */
struct rds_dev_id {
	const struct rds_dev_id_ops	*ops;
	struct rds_dev_domain		*dom;
	struct rds_dev			*dev;
	struct list_head		dev_node;
	bool				closing;
	struct list_head		shelf_node;
	struct rds_dev_laddr		local;
	struct in6_addr			remote;
	u16				port;
	u16				lport;
	u8				share;
	u8				tos;
	struct rdma_cm_id		*cm_id;
	struct ib_qp			*qp;
	spinlock_t			lock;
	enum rds_dev_id_state		state;
	const void			*owner;
	bool				accepted;
	bool				connected;
	bool				silent;
	bool				held;
	bool				silent_end;
	enum rds_dev_place		place;
	struct list_head		admit_node;
	unsigned int			goes;
	struct list_head		due_node;
	enum rds_dev_why		due_why;
	u8				responder_resources;
	u8				initiator_depth;
	struct timer_list		timer;
	unsigned long			until;
	bool				qp_error;
	bool				connects;
	bool				reap_next;
	struct work_struct		connect_work;
	struct work_struct		reap_work;
};

/* Does the id end, or has it ended?  Nothing is posted any more. */
static inline bool rds_dev_id_ends(const struct rds_dev_id *id)
{
	return READ_ONCE(id->state) >= RDS_DEV_ID_ENDING;
}

static inline bool rds_dev_id_is_up(const struct rds_dev_id *id)
{
	return READ_ONCE(id->state) == RDS_DEV_ID_UP;
}

/* Must the device answer?  Constant from rds_dev_id_end() to .qp_gone. */
static inline bool rds_dev_id_is_late(const struct rds_dev_id *id)
{
	return READ_ONCE(id->state) == RDS_DEV_ID_LATE;
}

/*
 * Set up an id from @local to @remote and enter it at @dom.  False if the
 * domain ends; then the id does not exist.
 */
bool rds_dev_id_init(struct rds_dev_id *id, const struct rds_dev_id_ops *ops,
		     struct rds_dev_domain *dom,
		     const struct rds_dev_laddr *local,
		     const struct in6_addr *remote);

/*
 * The owner of the id is known, under the id's lock.  False if the id has ended
 * before, which .lost could not tell the owner.  An id whose owner has too many
 * late ids (dev_idfsm.h) does not come up.  The id must come up in 10 s, of
 * which each end of a connection has its own: an attempt since it was dialled,
 * a request since it was answered.  Does not sleep.
 */
bool rds_dev_id_own(struct rds_dev_id *id, const void *owner);

/*
 * Dial, when the link is usable and not too many other attempts of the user at
 * the device are under way (admit.c).  0 or a negative errno.  May sleep, and
 * must not overlap with rds_dev_id_end().
 */
int rds_dev_id_dial(struct rds_dev_id *id, u16 port, u8 tos);

/**
 * enum rds_dev_take - what has become of a request
 * @RDS_DEV_TAKE_YES: the id has it
 * @RDS_DEV_TAKE_NO: the link is not usable; the id is as it was
 * @RDS_DEV_TAKE_HELD: the same, and the request must not be refused now: the
 *	id has it, and .gone is called later
 */
enum rds_dev_take {
	RDS_DEV_TAKE_YES,
	RDS_DEV_TAKE_NO,
	RDS_DEV_TAKE_HELD,
};

/* Take over a request, in its handler: events of @cm_id are the id's then. */
enum rds_dev_take rds_dev_id_take(struct rds_dev_id *id,
				  struct rdma_cm_id *cm_id,
				  const struct rdma_conn_param *param);

/*
 * Accept a request that was taken, here or, _later, in a worker.  The second
 * does not sleep.  What fails is reported to .lost.
 */
void rds_dev_id_accept(struct rds_dev_id *id);
void rds_dev_id_accept_later(struct rds_dev_id *id);

/*
 * Refuse a request that was taken, with @bytes of private data.  Waits for its
 * handler, and calls .gone now or later.  May sleep.
 */
void rds_dev_id_refuse(struct rds_dev_id *id, const void *body, u8 bytes);

/* Free an id that has no queue pair; its @cm_id stays.  Calls .gone. */
void rds_dev_id_forget(struct rds_dev_id *id);

/* The queue pair of the id.  For .prepare.  0 or a negative errno. */
int rds_dev_id_create_qp(struct rds_dev_id *id, struct ib_qp_init_attr *attr);

/* The first frame of the peer has come.  Any context but hard interrupts. */
void rds_dev_id_heard(struct rds_dev_id *id);

/*
 * Move an id for an event, under its lock or, from CLOSED on, under
 * rds_dev.lock.  False if its state has no such event.  A user may have it
 * end for a reason of its own (RDS_DEV_ID_EV_END): .lost is not called then.
 */
bool rds_dev_id_move(struct rds_dev_id *id, enum rds_dev_id_event event);

/* The same, and takes the lock.  Does not sleep. */
bool rds_dev_id_on(struct rds_dev_id *id, enum rds_dev_id_event event);

/* The same, and queues connect_work if the id has moved. */
void rds_dev_id_continue(struct rds_dev_id *id,
			 enum rds_dev_id_event event);

/* End the id and tell .lost, unless it ends.  Any context but hard irqs. */
void rds_dev_id_fail(struct rds_dev_id *id, enum rds_dev_why why);

/* End the id if @la, which is being removed, is its local address. */
void rds_dev_id_addr_gone(struct rds_dev_id *id,
			  const struct rds_dev_laddr *la);

/*
 * Close an id, in three steps.  _end: no call to .up, .lost, .param or .answer
 * is in progress or comes; the user makes sure that nothing is posted any more.
 * _stop: the peer is told, and the queue pair is destroyed; the user frees its
 * rings, those of a late id in .qp_gone: only its completions that began before
 * _end are over.  _release: .gone is called now or later.  May sleep.
 */
void rds_dev_id_end(struct rds_dev_id *id);
void rds_dev_id_stop(struct rds_dev_id *id);
void rds_dev_id_release(struct rds_dev_id *id);

#endif
