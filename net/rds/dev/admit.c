// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which attempts are dialled, when, and for how long they last.
 *
 * Places.  When a device, a link or a peer comes back, thousands of attempts
 * begin at once.  The connection managers of both ends handle them one after
 * the other, so most would not be through in their time: they would be thrown
 * away, with what both ends did for them, and dialled again.  So an attempt
 * needs a place at its device from the moment it is dialled until it is
 * established or ends.  The others wait in a line, and are dialled in the order
 * in which they came; one that ends leaves the line.  A place that is given
 * back goes to the first of the line, and to no other.
 *
 * Peers that do not answer would keep the places for all of their time.  So an
 * attempt that is not through SLOW_TIME later gives its place back, and
 * goes on without one.  No more than SLOW_MAX do that at a time, the others try
 * again SLOW_TIME later: where all are slow, as this host or its peers are
 * busy, at most PLACES + SLOW_MAX attempts are under way.  The time in the line has no limit: it grows with the number
 * of attempts in front at such peers.
 *
 * Users.  Each user has places, a line and late ids of its own at a device, so
 * that no attempt waits for those of another user: whoever may open streams
 * could else keep RDS from dialling, by attempts at a peer that does not
 * answer.  Within a user, who comes first is dialled first.
 *
 * Requests of peers need no place: each is an attempt that has one at the
 * peer, and its time there passes.
 *
 * Late ids.  An owner does not dial while too many of its ids wait for an iWARP
 * device to answer, nor does any owner of a domain with very many.  This bounds
 * the memory of late ids, which keep their queue pairs and rings.
 *
 * Ownership: rds_dev_id.admit_node is in the line or among the late ids of its
 * user at its device, which refer to the id without a count.
 * rds_dev_admit_leave() and rds_dev_admit_forget() take it out before the id
 * goes; connect_work, which is queued under the lock, is cancelled after the
 * former.  The id leaves its domain, which has the slot of the user, after
 * that.  The use ends when all ids have left, so who gets the slot next finds
 * an empty line and all places free.
 *
 * Lock: rds_dev_admit.lock (spin, bh), of a user at a device, guards its line,
 * its counts, its late ids and their number in the domain, and
 * rds_dev_id.place.  A leaf, but for what queue_work() takes; no two of them
 * are taken at once.
 */
#include <linux/hash.h>
#include <linux/workqueue.h>

#include "layer.h"

/*
 * Attempts of a user at a device that are dialled at a time: enough to keep
 * both ends busy, and few enough to be through in SLOW_TIME
 */
#define PLACES		64
/*
 * Longest time until messages can be sent: of an attempt since it is dialled,
 * of a request since it is answered.  What this host is slow in before counts
 * against neither.  Also the longest time that an attempt waits for its link.
 */
#define SETUP_TIME	(10 * HZ)
/* Time after which an attempt gives its place back */
#define SLOW_TIME	HZ
/* Attempts that have given their place back at a time */
#define SLOW_MAX	256
/* With so many late ids an owner does not dial, */
#define LATE_MAX	4
/*
 * and with so many it refuses connections of the peer as well: such a
 * connection may succeed where this end's attempts do not.
 */
#define LATE_REFUSE	8
/*
 * The same for all owners of a domain together, as an owner may be a socket of
 * which a user has many.  The attempts that are under way come on top.
 */
#define LATE_ALL	512
#define LATE_ALL_REFUSE	1024

static void init_one(struct rds_dev_admit *admit)
{
	unsigned int i;

	spin_lock_init(&admit->lock);
	INIT_LIST_HEAD(&admit->line);
	for (i = 0; i < ARRAY_SIZE(admit->late); i++)
		INIT_LIST_HEAD(&admit->late[i]);
}

void rds_dev_admit_init(struct rds_dev *dev)
{
	unsigned int i;

	for (i = 0; i < RDS_DEV_SLOTS; i++)
		init_one(&dev->admit[i]);
}

/* Constant while the id is entered */
static struct rds_dev_admit *admit_of(const struct rds_dev_id *id)
{
	return &id->dev->admit[id->dom->slot];
}

bool rds_dev_admit(struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);
	bool has;

	spin_lock_bh(&admit->lock);
	/* While somebody waits no place is free. */
	if (id->place == RDS_DEV_PLACE_NONE && admit->nr < PLACES) {
		admit->nr++;
		id->place = RDS_DEV_PLACE_HAS;
	} else if (id->place == RDS_DEV_PLACE_NONE) {
		id->place = RDS_DEV_PLACE_WAITS;
		list_add_tail(&id->admit_node, &admit->line);
	}
	has = id->place == RDS_DEV_PLACE_HAS;
	spin_unlock_bh(&admit->lock);
	return has;
}

/* A place is free: the first of the line gets it. */
static void pass_on(struct rds_dev_admit *admit)
{
	struct rds_dev_id *next;

	lockdep_assert_held(&admit->lock);
	next = list_first_entry_or_null(&admit->line, struct rds_dev_id,
					admit_node);
	if (!next) {
		admit->nr--;
		return;
	}
	list_del_init(&next->admit_node);
	next->place = RDS_DEV_PLACE_HAS;
	rds_dev_id_queue_connect(next);
}

void rds_dev_admit_leave(struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);

	spin_lock_bh(&admit->lock);
	if (id->place == RDS_DEV_PLACE_WAITS)
		list_del_init(&id->admit_node);
	else if (id->place == RDS_DEV_PLACE_HAS)
		pass_on(admit);
	else if (id->place == RDS_DEV_PLACE_SLOW)
		admit->nr_slow--;
	id->place = RDS_DEV_PLACE_OVER;
	spin_unlock_bh(&admit->lock);
}

/*
 * The attempt gives its place back, unless too many have done that.  Returns
 * whether it keeps the place.
 */
static bool keeps_place(struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);
	bool has;

	spin_lock_bh(&admit->lock);
	has = id->place == RDS_DEV_PLACE_HAS;
	if (has && admit->nr_slow < SLOW_MAX) {
		admit->nr_slow++;
		id->place = RDS_DEV_PLACE_SLOW;
		pass_on(admit);
		has = false;
	}
	spin_unlock_bh(&admit->lock);
	return has;
}

static void set_timer(struct rds_dev_id *id, unsigned long until)
{
	mod_timer(&id->timer, until);
	/* That may have put off what qp_event() asked for. */
	if (READ_ONCE(id->qp_error))
		mod_timer(&id->timer, jiffies);
}

void rds_dev_id_limit(struct rds_dev_id *id)
{
	bool dial = READ_ONCE(id->state) == RDS_DEV_ID_WAIT_TURN;

	WRITE_ONCE(id->until, jiffies + SETUP_TIME);
	set_timer(id, jiffies + (dial ? SLOW_TIME : SETUP_TIME));
}

/* Wait on, and look again later if the id still has a place. */
static void wait_on(struct rds_dev_id *id)
{
	unsigned long until = READ_ONCE(id->until), again = jiffies + SLOW_TIME;

	if (keeps_place(id) && time_before(again, until))
		until = again;
	set_timer(id, until);
}

/*
 * The time of the link is over, which does not count in the line.  Or the
 * context that set the timer for the dial was held up before it could dial.
 */
static void wait_turn(struct rds_dev_id *id)
{
	if (READ_ONCE(id->place) == RDS_DEV_PLACE_HAS)
		set_timer(id, jiffies + SLOW_TIME);
}

void rds_dev_id_timer(struct timer_list *t)
{
	struct rds_dev_id *id = container_of(t, struct rds_dev_id, timer);
	enum rds_dev_id_state state = READ_ONCE(id->state);

	if (READ_ONCE(id->qp_error))
		rds_dev_id_fail(id, RDS_DEV_WHY_QP);
	else if (state == RDS_DEV_ID_WAIT_TURN)
		wait_turn(id);
	else if (state >= RDS_DEV_ID_UP)
		return;
	else if (time_before(jiffies, READ_ONCE(id->until)))
		wait_on(id);
	else
		rds_dev_id_fail(id, RDS_DEV_WHY_DIAL);
}

/* Late ids, by their owner */

static struct list_head *late_ids(struct rds_dev_admit *admit,
				  const struct rds_dev_id *id)
{
	return &admit->late[hash_ptr(id->owner, RDS_DEV_LATE_BITS)];
}

void rds_dev_admit_late(struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);

	spin_lock_bh(&admit->lock);
	list_add_tail(&id->admit_node, late_ids(admit, id));
	id->place = RDS_DEV_PLACE_LATE;
	id->dom->nr_late++;
	spin_unlock_bh(&admit->lock);
}

void rds_dev_admit_forget(struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);

	spin_lock_bh(&admit->lock);
	list_del_init(&id->admit_node);
	if (id->place == RDS_DEV_PLACE_LATE)
		id->dom->nr_late--;
	id->place = RDS_DEV_PLACE_OVER;
	spin_unlock_bh(&admit->lock);
}

bool rds_dev_admit_refuses(const struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);
	const struct rds_dev_id *other;
	unsigned int n = 0, all;

	spin_lock_bh(&admit->lock);
	list_for_each_entry(other, late_ids(admit, id), admit_node)
		n += other->owner == id->owner;
	all = id->dom->nr_late;
	spin_unlock_bh(&admit->lock);
	return n >= (id->accepted ? LATE_REFUSE : LATE_MAX) ||
	       all >= (id->accepted ? LATE_ALL_REFUSE : LATE_ALL);
}
