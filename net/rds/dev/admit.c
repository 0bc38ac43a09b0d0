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
 * back goes to the first of a line, and to no other.
 *
 * Peers that do not answer would keep the places for all of their time.  So an
 * attempt that is not through SLOW_TIME later gives its place back, and
 * goes on without one.  No more than SLOW_MAX do that at a time, the others try
 * again SLOW_TIME later: where all are slow, as this host or its peers are
 * busy, PLACES + SLOW_MAX attempts are under way, and few more.  The time in a
 * line has no limit: it grows with the number of attempts in front at such
 * peers.
 *
 * Users.  Each user has places, lines and late ids of its own at a device, so
 * that no attempt waits for those of another user: whoever may open streams
 * could else keep RDS from dialling, by attempts at a peer that does not
 * answer.
 *
 * Shares.  Within a user, attempts for different parties are of different
 * shares, each with a line of its own.  The lines get places in turns.  A party
 * may begin as many attempts as it likes at peers that do not answer, so a
 * share has at most three quarters of the places, of the slow attempts and of
 * the late ids.  Share 0, of what the user dials for all, may have all of them.
 * When two parties have taken all, no place is given back for some seconds.  So
 * there are a few places more, for shares that have nothing under way.
 *
 * Requests of peers need no place: each is an attempt that has one at the
 * peer, and its time there passes.
 *
 * Late ids.  An owner does not dial while too many of its ids wait for an iWARP
 * device to answer, nor does any owner of a domain or share with very many.
 * This bounds the memory of late ids, which keep their queue pairs and rings,
 * and what is in the queue for what waits.
 *
 * Ownership: rds_dev_id.admit_node is in a line or among the late ids of its
 * user at its device, which refer to the id without a count.
 * rds_dev_admit_leave() and rds_dev_admit_forget() take it out before the id
 * goes; connect_work, which is queued under the lock, is cancelled after the
 * former, but for that of a late id, which nobody queues again.  The id leaves
 * its domain, which has the slot of the user, after that.  The use ends when
 * all ids have left, so who gets the slot next finds empty lines and all places
 * free.
 *
 * Lock: rds_dev_admit.lock (spin, bh), of a user at a device, guards its lines,
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
/* Further ones, for shares that have nothing under way */
#define PLACES_FIRST	8
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
 * which a user has many.  What is under way counts as late, as it may be soon.
 */
#define LATE_ALL	512
#define LATE_ALL_REFUSE	1024

static void init_one(struct rds_dev_admit *admit)
{
	unsigned int i;

	spin_lock_init(&admit->lock);
	INIT_LIST_HEAD(&admit->ready);
	for (i = 0; i < ARRAY_SIZE(admit->share); i++) {
		INIT_LIST_HEAD(&admit->share[i].line);
		INIT_LIST_HEAD(&admit->share[i].node);
	}
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

/* Constant from the first time the id asks for a place */
static struct rds_dev_share *share_of(const struct rds_dev_id *id)
{
	return &admit_of(id)->share[id->share];
}

/* How many of @all the share may have: it leaves a quarter to the others. */
static unsigned int part(const struct rds_dev_admit *admit,
			 const struct rds_dev_share *share, unsigned int all)
{
	return share == admit->share ? all : all - all / 4;
}

/* Whether the share may have one of PLACES */
static bool may_have(const struct rds_dev_admit *admit,
		     const struct rds_dev_share *share)
{
	return share->nr < part(admit, share, PLACES);
}

static bool idle(const struct rds_dev_share *share)
{
	return !share->nr && !share->nr_slow;
}

/*
 * Whether there is a place for the share.  No share waits while there is one
 * for it.
 */
static bool place_free(const struct rds_dev_admit *admit,
		       const struct rds_dev_share *share)
{
	if (admit->nr < PLACES)
		return may_have(admit, share);
	return admit->nr < PLACES + PLACES_FIRST && idle(share);
}

/* The line or the number of places of the share has changed. */
static void share_changed(struct rds_dev_admit *admit,
			  struct rds_dev_share *share)
{
	bool ready = !list_empty(&share->line) && may_have(admit, share);

	lockdep_assert_held(&admit->lock);
	if (!ready)
		list_del_init(&share->node);
	else if (list_empty(&share->node))
		list_add_tail(&share->node, &admit->ready);
}

static void take(struct rds_dev_admit *admit, struct rds_dev_share *share,
		 struct rds_dev_id *id)
{
	admit->nr++;
	share->nr++;
	id->place = RDS_DEV_PLACE_HAS;
}

bool rds_dev_admit(struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);
	struct rds_dev_share *share = share_of(id);
	bool has;

	spin_lock_bh(&admit->lock);
	if (id->place == RDS_DEV_PLACE_NONE) {
		if (place_free(admit, share)) {
			take(admit, share, id);
		} else {
			id->place = RDS_DEV_PLACE_WAITS;
			list_add_tail(&id->admit_node, &share->line);
			share_changed(admit, share);
		}
	}
	has = id->place == RDS_DEV_PLACE_HAS;
	spin_unlock_bh(&admit->lock);
	return has;
}

/* The share whose turn it is, or NULL; there are RDS_DEV_SHARES at most. */
static struct rds_dev_share *next_share(struct rds_dev_admit *admit)
{
	struct rds_dev_share *share;

	list_for_each_entry(share, &admit->ready, node)
		if (place_free(admit, share))
			return share;
	return NULL;
}

/*
 * A place was given back, or the share of one has become idle: the first of the
 * next line gets a place.
 */
static void pass_on(struct rds_dev_admit *admit)
{
	struct rds_dev_share *share;
	struct rds_dev_id *next;

	lockdep_assert_held(&admit->lock);
	share = next_share(admit);
	if (!share)
		return;
	next = list_first_entry(&share->line, struct rds_dev_id, admit_node);
	list_del_init(&next->admit_node);
	take(admit, share, next);
	/* To the end, if it is still ready */
	list_del_init(&share->node);
	share_changed(admit, share);
	rds_dev_id_queue_connect(next);
}

static void give_back(struct rds_dev_admit *admit, struct rds_dev_share *share)
{
	admit->nr--;
	share->nr--;
	share_changed(admit, share);
	pass_on(admit);
}

/* The id gives its place back, or leaves the line. */
static void leave(struct rds_dev_admit *admit, struct rds_dev_id *id)
{
	struct rds_dev_share *share = share_of(id);

	if (id->place == RDS_DEV_PLACE_WAITS) {
		list_del_init(&id->admit_node);
		share_changed(admit, share);
	} else if (id->place == RDS_DEV_PLACE_HAS) {
		give_back(admit, share);
	} else if (id->place == RDS_DEV_PLACE_SLOW) {
		admit->nr_slow--;
		share->nr_slow--;
		pass_on(admit);
	}
	id->place = RDS_DEV_PLACE_OVER;
}

void rds_dev_admit_leave(struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);

	spin_lock_bh(&admit->lock);
	leave(admit, id);
	spin_unlock_bh(&admit->lock);
}

/*
 * The attempt gives its place back, unless too many have done that, of all or
 * of its share.  Returns whether it keeps the place.
 */
static bool keeps_place(struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);
	struct rds_dev_share *share = share_of(id);
	bool has;

	spin_lock_bh(&admit->lock);
	has = id->place == RDS_DEV_PLACE_HAS;
	if (has && admit->nr_slow < SLOW_MAX &&
	    share->nr_slow < part(admit, share, SLOW_MAX)) {
		admit->nr_slow++;
		share->nr_slow++;
		id->place = RDS_DEV_PLACE_SLOW;
		give_back(admit, share);
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
	share_of(id)->nr_late++;
	spin_unlock_bh(&admit->lock);
}

void rds_dev_admit_forget(struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);

	spin_lock_bh(&admit->lock);
	if (id->place == RDS_DEV_PLACE_LATE) {
		list_del_init(&id->admit_node);
		id->dom->nr_late--;
		share_of(id)->nr_late--;
	}
	leave(admit, id);
	spin_unlock_bh(&admit->lock);
}

/* Whether so many ids are late that no owner, or none of the share, dials */
static bool all_late(const struct rds_dev_admit *admit,
		     const struct rds_dev_id *id)
{
	const struct rds_dev_share *share = share_of(id);
	unsigned int all = id->dom->nr_late + admit->nr + admit->nr_slow;
	unsigned int own = share->nr_late + share->nr + share->nr_slow;

	if (id->accepted)
		return id->dom->nr_late >= LATE_ALL_REFUSE;
	/* The first one of a share has more room, as with places. */
	return all > LATE_ALL + (own == 1 ? PLACES_FIRST : 0) ||
	       own > part(admit, share, LATE_ALL);
}

bool rds_dev_admit_refuses(const struct rds_dev_id *id)
{
	struct rds_dev_admit *admit = admit_of(id);
	const struct rds_dev_id *other;
	unsigned int n = 0;
	bool all;

	spin_lock_bh(&admit->lock);
	list_for_each_entry(other, late_ids(admit, id), admit_node)
		n += other->owner == id->owner;
	all = all_late(admit, id);
	spin_unlock_bh(&admit->lock);
	return all || n >= (id->accepted ? LATE_REFUSE : LATE_MAX);
}
