// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Life of a path.  All that sleeps happens in the control worker, under the path's control
 * mutex; everybody else only reports events and has the worker look.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "netns.h"
#include <trace/events/rds.h>

/* How long a connection may stay unacknowledged while the peer's next one waits for its place */
#define PROBE_TIME	(3 * HZ)
/* An attempt of ours that is older does not stand in the way of the peer's */
#define CROSS_TIME	HZ

bool rds_path_event(struct rds_cpath *cp, enum rds_path_event event, enum rds_drop_reason why)
{
	bool open = event == RDS_EV_UP, shut = event == RDS_EV_LOST;
	int next;

	spin_lock_bh(&cp->lock);
	next = rds_path_next(cp->state, event);
	if (next >= 0) {
		trace_rds_path_state(&cp->pub, cp->state, next, why);
		WRITE_ONCE(cp->state, next);
		if (open)
			rds_txq_open(&cp->txq);
		if (shut) {
			cp->reason = why;
			rds_txq_shut(&cp->txq);
		}
	}
	spin_unlock_bh(&cp->lock);
	return next >= 0;
}

enum rds_path_state rds_cpath_state(const struct rds_cpath *cp)
{
	return READ_ONCE(cp->state);
}

bool rds_cpath_used(const struct rds_cpath *cp)
{
	return READ_ONCE(cp->txq.used) || READ_ONCE(cp->rxq.expected);
}

/* Queued work holds a reference to the connection. */

void rds_cpath_control(struct rds_cpath *cp, unsigned long delay)
{
	bool pending;

	kref_get(&cp->conn->ref);
	if (delay)
		pending = !queue_delayed_work(rds_conn_wq, &cp->ctl_work, delay);
	else
		pending = mod_delayed_work(rds_conn_wq, &cp->ctl_work, 0);
	if (pending)
		rds_conn_put(cp->conn);
}

void rds_cpath_kick(struct rds_cpath *cp)
{
	/* it will take the queue's lock, after whoever calls us held it */
	if (work_pending(&cp->tx_work))
		return;
	kref_get(&cp->conn->ref);
	if (!queue_work(rds_tx_wq, &cp->tx_work))
		rds_conn_put(cp->conn);
}

static void path_tx_work(struct work_struct *work)
{
	struct rds_cpath *cp = container_of(work, struct rds_cpath, tx_work);

	if (rds_txq_run(&cp->txq) == RDS_TXQ_MORE)
		rds_cpath_kick(cp);
	rds_conn_put(cp->conn);
}

/* Upcalls */

bool rds_path_up(struct rds_path *path)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	if (!path->dials && !cp->attaching) {
		/* We only knocked.  The peer dials; this connection is of no use. */
		rds_path_lost(path, RDS_DROP_WRONG_DIALLER);
		return false;
	}
	if (!rds_path_event(cp, RDS_EV_UP, 0))
		return false;
	cp->rxq.heard = false;
	rds_conn_greet(cp);
	rds_cpath_kick(cp);
	return true;
}
EXPORT_SYMBOL_NS_GPL(rds_path_up, RDS_NS);

void rds_path_lost(struct rds_path *path, enum rds_drop_reason why)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	if (!rds_path_event(cp, RDS_EV_LOST, why))
		return;
	rds_drop(path->net, why);
	rds_cpath_control(cp, 0);
}
EXPORT_SYMBOL_NS_GPL(rds_path_lost, RDS_NS);

void rds_path_writable(struct rds_path *path)
{
	if (rds_txq_unblock(path->txq))
		rds_cpath_kick(rds_to_cpath(path));
}
EXPORT_SYMBOL_NS_GPL(rds_path_writable, RDS_NS);

void rds_path_acked(struct rds_path *path, u64 pos)
{
	struct rds_cpath *cp = rds_to_cpath(path);

	rds_txq_acked(path->txq, pos);
	/* the present connection may have turned out to be alive, see path_judge() */
	if (unlikely(READ_ONCE(cp->probing)))
		rds_cpath_control(cp, 0);
}
EXPORT_SYMBOL_NS_GPL(rds_path_acked, RDS_NS);

void rds_path_peer_gen(struct rds_path *path, u32 gen)
{
	rds_conn_generation(rds_to_cpath(path)->conn, gen);
}
EXPORT_SYMBOL_NS_GPL(rds_path_peer_gen, RDS_NS);

/* The control worker */

/* The connection of the peer's that has waited longest, or NULL. */
static void *path_next_incoming(struct rds_cpath *cp)
{
	void *conn = NULL;

	spin_lock_bh(&cp->lock);
	if (cp->nr_incoming) {
		conn = cp->incoming[0];
		cp->nr_incoming--;
		memmove(&cp->incoming[0], &cp->incoming[1],
			cp->nr_incoming * sizeof(cp->incoming[0]));
	}
	spin_unlock_bh(&cp->lock);
	return conn;
}

static void path_drop_incoming(struct rds_cpath *cp)
{
	void *conn;

	while ((conn = path_next_incoming(cp)))
		cp->pub.trans->conn_drop(cp->pub.net, conn);
}

/* CLOSING to DOWN: what the peer sent is delivered, what it did not acknowledge waits again. */
static void path_teardown(struct rds_cpath *cp, bool graceful)
{
	lockdep_assert_held(&cp->ctl);
	rds_txq_close(&cp->txq);
	cp->pub.trans->path_close(&cp->pub, graceful);
	rds_txq_rewind(&cp->txq);
	cp->attaching = false;
	WRITE_ONCE(cp->probing, false);
	/* a peer that said something deserves an immediate attempt, another one a growing wait */
	if (cp->rxq.heard)
		cp->backoff = 0;
	cp->rxq.heard = false;
	rds_stats_inc(cp->conn->rn, conn_reset);
	rds_path_event(cp, RDS_EV_CLOSED, 0);
}

static void path_attach(struct rds_cpath *cp, void *conn)
{
	lockdep_assert_held(&cp->ctl);
	cp->attaching = true;
	if (rds_path_event(cp, RDS_EV_CLAIM, 0))
		cp->pub.trans->path_attach(&cp->pub, conn);
	else
		cp->pub.trans->conn_drop(cp->pub.net, conn);
}

/* Does anybody want this path up? */
static bool path_wanted(struct rds_cpath *cp)
{
	if (READ_ONCE(cp->conn->dead))
		return false;
	if (READ_ONCE(cp->dial_wanted) || !rds_txq_empty(&cp->txq))
		return true;
	/* An old peer does not call again by itself, so the dialler keeps the path up for it. */
	return cp->pub.dials && rds_cpath_used(cp);
}

static void path_dial(struct rds_cpath *cp)
{
	unsigned long max = READ_ONCE(cp->conn->rn->sysctl.reconnect_max);
	unsigned long min = READ_ONCE(cp->conn->rn->sysctl.reconnect_min);

	lockdep_assert_held(&cp->ctl);
	WRITE_ONCE(cp->dial_wanted, false);
	cp->backoff = clamp(cp->backoff * 2, min, max);
	WRITE_ONCE(cp->dialled, jiffies);
	WRITE_ONCE(cp->crossed, false);
	if (!rds_path_event(cp, RDS_EV_DIAL, 0))
		return;
	if (cp->pub.trans->path_connect(&cp->pub))
		rds_path_lost(&cp->pub, RDS_DROP_DIAL_FAILED);
}

/* The state is DOWN and the peer has opened nothing: dial now, or later, or never. */
static void path_when_down(struct rds_cpath *cp, bool lost)
{
	lockdep_assert_held(&cp->ctl);
	if (!path_wanted(cp)) {
		rds_conn_reap(cp->conn);
	} else if (lost && cp->backoff) {
		WRITE_ONCE(cp->backing_off, true);
		rds_cpath_control(cp, 1 + get_random_u32_below(cp->backoff));
	} else {
		path_dial(cp);
	}
}

/*
 * The state is UP and the peer has opened another connection.  Either it has forgotten the
 * present one, or somebody else speaks in its name.  A map sent now makes the peer's TCP
 * acknowledge or reset, whichever is true; what was acknowledged before proves nothing.  The one
 * that waits may hold messages that our TCP has acknowledged, so it is not dropped on less.
 */
static void path_judge(struct rds_cpath *cp)
{
	void *conn;

	lockdep_assert_held(&cp->ctl);
	if (!cp->probing) {
		cp->probe_until = jiffies + PROBE_TIME;
		rds_txq_probe(&cp->txq);
		WRITE_ONCE(cp->probing, true);
		rds_cpath_kick(cp);
	} else if (rds_txq_probe_acked(&cp->txq)) {
		WRITE_ONCE(cp->probing, false);
		rds_drop(cp->pub.net, RDS_DROP_PEER_PARKED);
		conn = path_next_incoming(cp);
		cp->pub.trans->conn_drop(cp->pub.net, conn);
		rds_cpath_control(cp, 0);
		return;
	} else if (time_after_eq(jiffies, cp->probe_until)) {
		rds_path_lost(&cp->pub, RDS_DROP_PEER_REPLACED);
		return;
	}
	rds_cpath_control(cp, max(1L, (long)(cp->probe_until - jiffies)));
}

/*
 * The same, where messages count as delivered only once the peer's core has acknowledged them,
 * and repeated ones are recognised: nothing is lost by believing the peer at once.
 */
static bool path_replaces(struct rds_cpath *cp)
{
	if (!(cp->pub.trans->caps & RDS_CAP_OWNS_ACK))
		return false;
	rds_path_lost(&cp->pub, RDS_DROP_PEER_REPLACED);
	return true;
}

/* One step towards what the state asks for; false when there is nothing to do now. */
static bool path_step(struct rds_cpath *cp, bool *lost)
{
	bool incoming = READ_ONCE(cp->nr_incoming);

	switch (rds_cpath_state(cp)) {
	case RDS_PATH_CLOSING:
		path_teardown(cp, true);
		*lost = true;
		return true;
	case RDS_PATH_DOWN:
		if (incoming)
			path_attach(cp, path_next_incoming(cp));
		else
			path_when_down(cp, *lost);
		return incoming;
	case RDS_PATH_CONNECTING:
		/* our own attempt was only to make the peer do what it just did */
		return incoming && rds_path_event(cp, RDS_EV_LOST, RDS_DROP_PEER_REPLACED);
	case RDS_PATH_UP:
		if (!incoming)
			return false;
		if (path_replaces(cp))
			return true;
		path_judge(cp);
		return false;
	default:
		path_drop_incoming(cp);
		return false;
	}
}

static void path_control_work(struct work_struct *work)
{
	struct rds_cpath *cp = container_of(to_delayed_work(work), struct rds_cpath, ctl_work);
	bool lost = false;

	mutex_lock(&cp->ctl);
	WRITE_ONCE(cp->backing_off, false);
	while (path_step(cp, &lost))
		cond_resched();
	mutex_unlock(&cp->ctl);
	rds_conn_put(cp->conn);
}

void rds_cpath_want(struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_DOWN)
		return;
	/* A worker that waits out its back-off sees the queue. */
	if (!READ_ONCE(cp->dial_wanted)) {
		WRITE_ONCE(cp->dial_wanted, true);
		if (!READ_ONCE(cp->backing_off))
			rds_cpath_control(cp, 0);
	}
}

/* The peer knocks: it has no connection to us, whatever we believe. */
static void path_knocked(struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_UP)
		rds_cpath_want(cp);
	else if (rds_txq_map_due(&cp->txq))
		rds_cpath_kick(cp);
}

/*
 * Both ends dial at once: the larger address's attempt stays, where the transport has that rule,
 * unless it was probably lost, for instance while the peer's interface was down: it is old, or the
 * peer, which was refused once and would have taken ours by now, calls again.
 * The lock is held, so the state is the one in which the peer's attempt found us.
 */
static bool path_crosses(const struct rds_cpath *cp)
{
	const struct rds_path_addr *addr = cp->pub.addr;

	lockdep_assert_held(&cp->lock);
	return cp->pub.trans->caps & RDS_CAP_LARGER_WINS && cp->state == RDS_PATH_CONNECTING &&
	       !cp->attaching && !READ_ONCE(cp->crossed) &&
	       time_before(jiffies, READ_ONCE(cp->dialled) + CROSS_TIME) &&
	       memcmp(&addr->laddr, &addr->faddr, sizeof(addr->laddr)) > 0;
}

bool rds_cpath_incoming(struct rds_cpath *cp, void *conn)
{
	bool taken = false, crossed;

	if (cp->pub.dials && cp->pub.trans->caps & RDS_CAP_SMALLER_DIALS) {
		path_knocked(cp);
		return false;
	}
	spin_lock_bh(&cp->lock);
	crossed = path_crosses(cp);
	if (crossed)
		WRITE_ONCE(cp->crossed, true);
	if (!crossed && cp->state != RDS_PATH_DEAD &&
	    cp->nr_incoming < RDS_PATH_MAX_INCOMING) {
		cp->incoming[cp->nr_incoming++] = conn;
		taken = true;
	}
	spin_unlock_bh(&cp->lock);
	if (crossed)
		rds_drop(cp->pub.net, RDS_DROP_CROSSED);
	if (taken)
		rds_cpath_control(cp, 0);
	return taken;
}

void rds_cpath_kill(struct rds_cpath *cp)
{
	mutex_lock(&cp->ctl);
	rds_path_event(cp, RDS_EV_LOST, RDS_DROP_LOCAL_EXIT);
	if (rds_cpath_state(cp) == RDS_PATH_CLOSING)
		path_teardown(cp, false);
	rds_path_event(cp, RDS_EV_KILL, 0);
	path_drop_incoming(cp);
	mutex_unlock(&cp->ctl);
	rds_txq_abandon(&cp->txq, true);
	if (cancel_delayed_work_sync(&cp->ctl_work))
		rds_conn_put(cp->conn);
	if (cancel_work_sync(&cp->tx_work))
		rds_conn_put(cp->conn);
}

static const struct rds_rxq_ops path_rxq_ops = {
	.ping		= rds_conn_ping,
	.handshake	= rds_conn_handshake,
};

struct kmem_cache *rds_cpath_cache_create(const struct rds_transport *trans)
{
	char name[32];

	snprintf(name, sizeof(name), "rds_path_%s", trans->name);
	return kmem_cache_create(name, sizeof(struct rds_cpath) + trans->path_priv_size,
				 ARCH_KMALLOC_MINALIGN, 0, NULL);
}

/* Only the smaller address dials, where the transport has that rule (wire 3.1). */
static bool path_dials(const struct rds_conn *conn)
{
	return !(conn->trans->caps & RDS_CAP_SMALLER_DIALS) ||
	       memcmp(&conn->addr.laddr, &conn->addr.faddr, sizeof(conn->addr.laddr)) < 0;
}

struct rds_cpath *rds_cpath_create(struct rds_conn *conn, unsigned int index)
{
	struct kmem_cache *cache = rds_cpath_cache(conn->trans);
	bool maps = !(conn->trans->caps & RDS_CAP_LOCAL_ONLY);
	struct rds_cpath *cp = kmem_cache_zalloc(cache, GFP_KERNEL);

	if (!cp)
		return ERR_PTR(-ENOMEM);
	cp->pub.trans = conn->trans;
	cp->pub.net = conn->rn->net;
	cp->pub.addr = &conn->addr;
	cp->pub.index = index;
	cp->pub.dials = path_dials(conn);
	cp->pub.priv = cp + 1;
	cp->pub.txq = &cp->txq;
	cp->pub.rxq = &cp->rxq;
	cp->conn = conn;
	spin_lock_init(&cp->lock);
	mutex_init(&cp->ctl);
	INIT_DELAYED_WORK(&cp->ctl_work, path_control_work);
	INIT_WORK(&cp->tx_work, path_tx_work);
	rds_txq_init(&cp->txq, &cp->pub, conn->rn, maps ? rds_conn_make_map : NULL);
	rds_rxq_init(&cp->rxq, &cp->pub, conn->rn, conn->fmap, &path_rxq_ops);
	if (!conn->trans->path_init(&cp->pub))
		return cp;
	kmem_cache_free(cache, cp);
	return ERR_PTR(-ENOMEM);
}

void rds_cpath_destroy(struct rds_cpath *cp)
{
	WARN_ON_ONCE(cp->nr_incoming);
	rds_txq_destroy(&cp->txq);
	cp->pub.trans->path_free(&cp->pub);
	mutex_destroy(&cp->ctl);
	kmem_cache_free(rds_cpath_cache(cp->pub.trans), cp);
}
