// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections and their table; conn/conn.h has the rules. */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>

#include "conn/addrs.h"
#include "conn/conn.h"
#include "conn/guest.h"
#include "conn/idle.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "conn/reach.h"
#include "conn/set.h"
#include "msg/message.h"
#include "msg/rxpeer.h"
#include "netns.h"
#include "send/carry.h"
#include "xprt/registry.h"
#include <linux/rds.h>
#include <net/rds/join.h>

/* Bits of a generation number that all connections of a host share */
#define GEN_HOST	0xff000000
/* One of these, and one of RDS_CAP_BITS_HOST, is never 0. */
#define HOST_NONZERO	(0x01000000 | 1 << RDS_CAP_BITS_HOST_SHIFT)

/* A connection that was made and then not used is forgotten after this time. */
#define CONN_UNUSED_TIME	(10 * HZ)

/**
 * struct rds_conn_table - connections of one namespace
 * @lock: guards adding and removing, and @ready
 * @ready: by type, may connections of the transport be made?
 * @host: by type, the bits that the generation numbers of all connections have
 *	in common, and RDS_CAP_BITS_HOST; constant while the transport is @ready
 * @last_gen: counts the connections that were made
 * @nr: by type, connections not yet freed
 * @conns: those that can be found
 */
struct rds_conn_table {
	spinlock_t	lock;
	bool		ready[RDS_TRANS_SLOTS];
	u32		host[RDS_TRANS_SLOTS];
	u32		last_gen;
	atomic_t	nr[RDS_TRANS_SLOTS];
	struct rds_conn_set conns;
};

struct workqueue_struct *rds_conn_wq;
struct workqueue_struct *rds_tx_wq;
static struct kmem_cache *conn_cache;

bool rds_conn_matches(const struct rds_conn *conn,
		      const struct rds_path_addr *addr)
{
	return ipv6_addr_equal(&conn->addr.faddr, &addr->faddr) &&
	       ipv6_addr_equal(&conn->addr.laddr, &addr->laddr) &&
	       conn->addr.ifindex == addr->ifindex &&
	       conn->addr.tos == addr->tos && !READ_ONCE(conn->dead);
}

struct rds_conn *rds_conn_lookup(struct rds_net *rn,
				 const struct rds_transport *trans,
				 const struct rds_path_addr *addr)
{
	return rds_conn_set_find(&rn->conns->conns, trans, addr);
}

bool rds_conn_is_own(const struct rds_conn *conn, u32 gen)
{
	struct rds_path_addr back = conn->addr;
	struct rds_conn *other;
	bool is_own;

	if (!(conn->trans->caps & RDS_CAP_MULTIPATH))
		return gen && gen == conn->gen;
	swap(back.laddr, back.faddr);
	other = gen ? rds_conn_lookup(conn->rn, conn->trans, &back) : NULL;
	is_own = other && other->gen == gen;
	rds_conn_put(other);
	return is_own;
}

/*
 * A port of the local address changed: the map is sent ahead of the next
 * message.
 */
static void conn_map_changed(struct rds_cong_subscriber *sub, u16 port, bool on)
{
	struct rds_conn *conn = container_of(sub, struct rds_conn, sub);

	if (READ_ONCE(conn->session.same))
		return;
	rds_stats_inc(conn->rn, cong_update_queued);
	if (rds_carry_map_due(&conn->paths[0]->txq))
		rds_cpath_kick(conn->paths[0]);
}

/*
 * Get the maps of both addresses.  False without memory: the caller calls
 * conn_put_maps().
 */
static bool conn_get_maps(struct rds_conn *conn)
{
	bool local = conn->trans->caps & RDS_CAP_LOCAL_ONLY;
	struct rds_net *rn = conn->rn;

	conn->lmap = rds_cong_get(rn, &conn->addr.laddr, false, GFP_KERNEL);
	conn->omap = rds_cong_get(rn, &conn->addr.faddr, false, GFP_KERNEL);
	if (!conn->lmap || !conn->omap)
		return false;
	if (local) {
		conn->fmap = conn->omap;
		conn->omap = NULL;
		/* Senders may wait for a port when the connection is gone. */
		WRITE_ONCE(conn->fmap->local_senders, true);
		return true;
	}
	conn->fmap = rds_cong_get(rn, &conn->addr.faddr, true, GFP_KERNEL);
	if (!conn->fmap)
		return false;
	conn->sub.fn = conn_map_changed;
	rds_cong_mirror_init(&conn->mirror, conn->omap, conn->fmap);
	return true;
}

static void conn_put_maps(struct rds_conn *conn)
{
	if (conn->fmap && !(conn->trans->caps & RDS_CAP_LOCAL_ONLY))
		rds_cong_mirror_set(&conn->mirror, false);
	rds_cong_put(conn->lmap);
	rds_cong_put(conn->omap);
	rds_cong_put(conn->fmap);
}

static void conn_free(struct rds_conn *conn)
{
	atomic_t *nr = &conn->rn->conns->nr[conn->trans->type];
	struct rds_net *rn = conn->rn;
	struct rds_cpath *cp;
	unsigned int i;

	/* Looks of other connections find this one by its reports. */
	rds_reach_end(conn);
	rds_conn_for_each_path(conn, i, cp)
		rds_cpath_destroy(cp);
	conn_put_maps(conn);
	kfree(conn->rx_lanes);
	rds_rx_peer_put(conn->rx_peer);
	rds_addrs_end(conn);
	kmem_cache_free(conn_cache, conn);
	atomic_dec(&rn->nr_conns);
	/*
	 * The namespace may be freed when it sees zero: from here on only the
	 * address of nr is used.
	 */
	if (atomic_dec_and_test(nr))
		wake_up_var(nr);
}

static void conn_free_work(struct work_struct *work)
{
	conn_free(container_of(to_rcu_work(work), struct rds_conn, free_work));
}

/*
 * The queues drop their messages before the grace period: a context that
 * cancels messages finds a queue by a message, under RCU, without a reference.
 */
static void conn_drain_work(struct work_struct *work)
{
	struct rds_conn *conn = container_of(work, struct rds_conn, drain_work);
	struct rds_cpath *cp;
	unsigned int i;

	rds_conn_for_each_path(conn, i, cp)
		rds_txq_destroy(&cp->txq);
	queue_rcu_work(rds_conn_wq, &conn->free_work);
}

static void conn_release(struct kref *ref)
{
	struct rds_conn *conn = container_of(ref, struct rds_conn, ref);

	queue_work(rds_conn_wq, &conn->drain_work);
}

void rds_conn_put(struct rds_conn *conn)
{
	if (conn)
		kref_put(&conn->ref, conn_release);
}

static bool conn_make_rx_peer(struct rds_conn *conn)
{
	if (!(conn->trans->caps & RDS_CAP_RX_HOLDS))
		return true;
	conn->rx_peer = rds_rx_peer_new(GFP_KERNEL_ACCOUNT);
	return conn->rx_peer;
}

static struct rds_conn *conn_alloc(struct rds_net *rn,
				   const struct rds_transport *trans,
				   const struct rds_path_addr *addr)
{
	struct rds_conn *conn;
	struct rds_cpath *cp;

	conn = kmem_cache_zalloc(conn_cache, GFP_KERNEL);
	if (!conn)
		return NULL;
	atomic_inc(&rn->nr_conns);
	atomic_inc(&rn->conns->nr[trans->type]);
	kref_init(&conn->ref);
	conn->rn = rn;
	conn->trans = trans;
	conn->addr = *addr;
	rds_lanes_init(&conn->lanes, READ_ONCE(rn->sysctl.paths));
	rds_session_init(&conn->session, conn->lanes.max,
			 rds_lanes_limit(READ_ONCE(rn->sysctl.paths_old),
					 conn->lanes.max));
	rds_idle_init(conn);
	INIT_WORK(&conn->drain_work, conn_drain_work);
	INIT_RCU_WORK(&conn->free_work, conn_free_work);
	if (!conn_make_rx_peer(conn) || !rds_addrs_begin(conn) ||
	    !conn_get_maps(conn) || !rds_conn_make_rx_lanes(conn))
		goto fail;
	cp = rds_cpath_create(conn, 0);
	if (IS_ERR(cp))
		goto fail;
	conn->paths[0] = cp;
	return conn;
fail:
	conn_free(conn);
	return NULL;
}

/*
 * The message numbers of a connection begin with it, and its generation tells
 * the peer.  So each connection has a generation of its own; no two of 2^24 are
 * the same.  Over a transport without further paths no connection is forgotten
 * that has carried something, and one generation serves all.
 */
static u32 conn_new_gen(struct rds_conn_table *table,
			const struct rds_transport *trans)
{
	u32 host = table->host[trans->type];

	lockdep_assert_held(&table->lock);
	if (!(trans->caps & RDS_CAP_MULTIPATH))
		return host;
	table->last_gen++;
	return (host & GEN_HOST) | (table->last_gen & ~GEN_HOST);
}

/*
 * Enter a new connection, unless another one is there or the transport is not
 * ready.
 */
static struct rds_conn *conn_insert(struct rds_net *rn, struct rds_conn *fresh)
{
	struct rds_conn_table *table = rn->conns;
	struct rds_conn *conn;

	lockdep_assert_held(&table->lock);
	conn = rds_conn_lookup(rn, fresh->trans, &fresh->addr);
	if (conn)
		return conn;
	if (!table->ready[fresh->trans->type])
		return ERR_PTR(-ENETDOWN);
	fresh->gen = conn_new_gen(table, fresh->trans);
	if (!(fresh->trans->caps & RDS_CAP_LOCAL_ONLY))
		rds_cong_subscribe(fresh->lmap, &fresh->sub);
	if (!rds_conn_set_add(&table->conns, fresh))
		return fresh;
	if (!(fresh->trans->caps & RDS_CAP_LOCAL_ONLY))
		rds_cong_unsubscribe(fresh->lmap, &fresh->sub);
	return ERR_PTR(-ENOMEM);
}

struct rds_conn *
rds_conn_get_alive(struct rds_net *rn, const struct rds_transport *trans,
		   const struct rds_path_addr *addr,
		   void (*use)(struct rds_conn *conn, bool fresh, void *arg),
		   void *arg)
{
	struct rds_conn *conn, *fresh = conn_alloc(rn, trans, addr);

	if (!fresh)
		return ERR_PTR(-ENOMEM);
	spin_lock_bh(&rn->conns->lock);
	conn = conn_insert(rn, fresh);
	/* First, as what @use queues is due earlier. */
	if (conn == fresh) {
		rds_cpath_control(conn->paths[0], CONN_UNUSED_TIME);
		rds_idle_start(conn);
	}
	if (use && !IS_ERR(conn))
		use(conn, conn == fresh, arg);
	spin_unlock_bh(&rn->conns->lock);
	if (conn != fresh)
		conn_free(fresh);
	return conn;
}

/* The connection that is returned may be forgotten a moment later. */
static struct rds_conn *conn_get(struct rds_net *rn,
				 const struct rds_transport *trans,
				 const struct rds_path_addr *addr)
{
	struct rds_conn *conn = rds_conn_lookup(rn, trans, addr);

	return conn ? conn :
		      rds_conn_get_alive(rn, trans, addr, NULL, NULL);
}

/* Is the destination on this host, so that loopback carries the messages? */
static bool conn_prefers_loop(struct rds_net *rn,
			      const struct rds_transport *trans,
			      const struct rds_path_addr *addr)
{
	return trans->caps & RDS_CAP_PREFER_LOOP &&
	       (rds_addr_is_loop(&addr->faddr) ||
		trans->addr_local(rn->net, &addr->faddr, addr->ifindex));
}

struct rds_conn *rds_conn_get(struct rds_net *rn,
			      const struct rds_transport *trans,
			      const struct rds_path_addr *addr)
{
	struct rds_conn *conn = rds_conn_lookup(rn, trans, addr);

	if (conn)
		return conn;
	if (conn_prefers_loop(rn, trans, addr))
		trans = rds_transport_loop();
	return conn_get(rn, trans, addr);
}

/* Take a connection out of the table; the caller gets the table's reference. */
static void conn_unhash(struct rds_conn *conn)
{
	lockdep_assert_held(&conn->rn->conns->lock);
	rds_conn_set_del(&conn->rn->conns->conns, conn);
	WRITE_ONCE(conn->dead, true);
	rds_guest_end(conn);
	if (!(conn->trans->caps & RDS_CAP_LOCAL_ONLY))
		rds_cong_unsubscribe(conn->lmap, &conn->sub);
}

void rds_conn_reap(struct rds_conn *conn)
{
	bool reaped = false;
	struct rds_cpath *cp;
	unsigned int i;

	/*
	 * One step under the lock: the paths are dead, and lookups do not find
	 * the connection.
	 */
	spin_lock_bh(&conn->rn->conns->lock);
	if (!conn->dead)
		reaped = rds_conn_retire(conn);
	if (reaped)
		conn_unhash(conn);
	spin_unlock_bh(&conn->rn->conns->lock);
	if (!reaped)
		return;
	rds_conn_for_each_path(conn, i, cp)
		rds_cpath_wait_no_more(cp);
	rds_idle_stop(conn);
	rds_conn_put(conn);
}

/*
 * Get the queued messages transmitted, by the path that carries them until this
 * one is up.
 */
static void conn_queued(struct rds_cpath *cp, enum rds_txq_state state)
{
	if (state == RDS_TXQ_WAITS || state == RDS_TXQ_AWAY)
		rds_cpath_want(cp);
	if (state == RDS_TXQ_MORE || state == RDS_TXQ_AWAY)
		rds_cpath_kick(cp);
}

/* A message, and whether the only lane of the connection took it */
struct conn_message {
	struct rds_message	*m;
	bool			added;
};

static void conn_add(struct rds_conn *conn, bool fresh, void *arg)
{
	struct conn_message *cm = arg;

	cm->added = rds_txq_add(&conn->paths[0]->txq, cm->m, 1);
}

/*
 * The connection was forgotten after the lookup: get the one in its place, and
 * send over it, unless it has several lanes already.
 */
static struct rds_conn *conn_send_anew(const struct rds_conn *gone,
				       struct rds_message *m, bool *sent)
{
	struct conn_message cm = { .m = m };
	struct rds_conn *conn;

	conn = rds_conn_get_alive(gone->rn, gone->trans, &gone->addr, conn_add,
				  &cm);
	*sent = cm.added;
	if (cm.added)
		conn_queued(conn->paths[0], rds_txq_run(&conn->paths[0]->txq));
	return conn;
}

/* @sent is false if the connection was forgotten. */
static int conn_send_over(struct rds_conn *conn, struct rds_message *m,
			  bool *sent)
{
	enum rds_txq_state state = RDS_TXQ_GONE;
	struct rds_sock *user;
	struct rds_cpath *cp;
	unsigned int lanes;

	for (;;) {
		cp = rds_conn_lane(conn, m, &lanes, &user);
		if (likely(cp))
			state = rds_txq_send(&cp->txq, m, lanes);
		if (unlikely(user))
			rds_flowlet_end(user, cp);
		if (!cp)
			break;
		if (likely(state != RDS_TXQ_MOVED))
			break;
		rds_lanes_settle(conn);
	}
	if (unlikely(!cp && !READ_ONCE(conn->dead)))
		return -ENOMEM;
	*sent = likely(cp) && state != RDS_TXQ_GONE;
	if (likely(*sent))
		conn_queued(cp, state);
	return 0;
}

int rds_conn_send(struct rds_conn *conn, struct rds_message *m)
{
	struct rds_conn *held = NULL, *next;
	bool sent;
	int rc = conn_send_over(conn, m, &sent);

	while (unlikely(!rc && !sent)) {
		next = conn_send_anew(conn, m, &sent);
		rds_conn_put(held);
		if (IS_ERR(next))
			return PTR_ERR(next);
		held = next;
		conn = next;
		if (!sent)
			rc = conn_send_over(conn, m, &sent);
	}
	rds_conn_put(held);
	return rc;
}

void rds_conn_visit(struct rds_net *rn,
		    void (*fn)(struct rds_conn *conn, void *arg), void *arg)
{
	struct rds_conn_table *table = rn->conns;

	rds_conn_set_visit(&table->conns, &table->lock, fn, arg);
}

void rds_transport_net_init(const struct rds_transport *trans, struct net *net)
{
	struct rds_conn_table *table = rds_net(net)->conns;

	spin_lock_bh(&table->lock);
	table->host[trans->type] = get_random_u32() | HOST_NONZERO;
	table->ready[trans->type] = true;
	spin_unlock_bh(&table->lock);
}
EXPORT_SYMBOL_NS_GPL(rds_transport_net_init, RDS_NS);

bool rds_conn_ready(struct rds_net *rn, const struct rds_transport *trans)
{
	bool ready;

	spin_lock_bh(&rn->conns->lock);
	ready = rn->conns->ready[trans->type];
	spin_unlock_bh(&rn->conns->lock);
	return ready;
}

u32 rds_conn_host_bits(const struct rds_conn *conn)
{
	return conn->rn->conns->host[conn->trans->type] & RDS_CAP_BITS_HOST;
}

u32 rds_generation(const struct rds_path *path)
{
	return rds_to_cpath(path)->conn->gen;
}
EXPORT_SYMBOL_NS_GPL(rds_generation, RDS_NS);

/*
 * Take any connection of a transport out of the table, with the table's
 * reference.
 */
static struct rds_conn *conn_take_any(struct rds_net *rn,
				      const struct rds_transport *trans)
{
	struct rds_conn *conn;

	spin_lock_bh(&rn->conns->lock);
	rn->conns->ready[trans->type] = false;
	list_for_each_entry(conn, &rn->conns->conns.all.entries, of_all) {
		if (conn->trans != trans)
			continue;
		conn_unhash(conn);
		spin_unlock_bh(&rn->conns->lock);
		return conn;
	}
	spin_unlock_bh(&rn->conns->lock);
	return NULL;
}

void rds_transport_net_exit(const struct rds_transport *trans, struct net *net)
{
	struct rds_net *rn = rds_net(net);
	struct rds_conn *conn;
	struct rds_cpath *cp;
	unsigned int i;

	while ((conn = conn_take_any(rn, trans))) {
		rds_lanes_settle(conn);
		rds_reach_stop(conn);
		rds_idle_stop(conn);
		rds_conn_for_each_path(conn, i, cp)
			rds_cpath_kill(cp);
		rds_conn_put(conn);
	}
	wait_var_event(&rn->conns->nr[trans->type],
		       !atomic_read(&rn->conns->nr[trans->type]));
}
EXPORT_SYMBOL_NS_GPL(rds_transport_net_exit, RDS_NS);

int rds_conn_net_init(struct rds_net *rn)
{
	struct rds_conn_table *table;
	int err = -ENOMEM;

	if (!rds_addrs_net_init(rn))
		return err;
	table = kzalloc_obj(*table, GFP_KERNEL);
	if (!table)
		goto err_addrs;
	err = rds_conn_set_init(&table->conns);
	if (err)
		goto err_table;
	err = rds_guests_net_init(rn);
	if (err)
		goto err_set;
	spin_lock_init(&table->lock);
	table->last_gen = get_random_u32();
	rn->conns = table;
	return 0;
err_set:
	rds_conn_set_exit(&table->conns);
err_table:
	kfree(table);
err_addrs:
	rds_addrs_net_exit(rn);
	return err;
}

void rds_conn_net_exit(struct rds_net *rn)
{
	WARN_ON_ONCE(atomic_read(&rn->nr_conns));
	WARN_ON_ONCE(atomic_read(&rn->paid_bytes));
	WARN_ON_ONCE(atomic_read(&rn->shared_probes));
	rds_guests_net_exit(rn);
	rds_conn_set_exit(&rn->conns->conns);
	kfree(rn->conns);
	rds_addrs_net_exit(rn);
}

int __init rds_conn_init(void)
{
	conn_cache = KMEM_CACHE(rds_conn, SLAB_ACCOUNT);
	if (!conn_cache)
		return -ENOMEM;
	rds_transport_path_size(sizeof(struct rds_cpath));
	rds_conn_wq = alloc_workqueue("rds", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rds_conn_wq)
		goto err_cache;
	/*
	 * More transmitters than processors would only make the batches
	 * smaller.
	 */
	rds_tx_wq = alloc_workqueue("rds_tx", WQ_UNBOUND | WQ_MEM_RECLAIM,
				    num_online_cpus());
	if (rds_tx_wq)
		return 0;
	destroy_workqueue(rds_conn_wq);
err_cache:
	kmem_cache_destroy(conn_cache);
	return -ENOMEM;
}

void rds_conn_exit(void)
{
	/*
	 * Wait for rcu_work that is not queued yet.  No connection is left, so
	 * none is about to be.
	 */
	rcu_barrier();
	destroy_workqueue(rds_tx_wq);
	destroy_workqueue(rds_conn_wq);
	kmem_cache_destroy(conn_cache);
}
