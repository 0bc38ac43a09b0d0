// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Further addresses of the two hosts of a connection; conn/addrs.h. */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <crypto/algapi.h>
#include <net/ipv6.h>

#include "conn/addrs.h"
#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "msg/message.h"
#include "netns.h"
#include "proto/exthdr.h"
#include <net/rds/join.h>

bool rds_addrs_begin(struct rds_conn *conn)
{
	struct rds_conn_addrs *addrs = &conn->addrs;
	int err;

	spin_lock_init(&addrs->lock);
	/* A link-local address is one of its interface only. */
	if (!(conn->trans->caps & RDS_CAP_MULTIPATH) || conn->lanes.max == 1 ||
	    conn->addr.ifindex)
		return true;
	err = rds_addrs_copy(conn->rn, &conn->addr.laddr, &addrs->own);
	if (!err)
		addrs->own->token = (__force __be64)get_random_u64();
	return err != -ENOMEM;
}

void rds_addrs_end(struct rds_conn *conn)
{
	kfree(conn->addrs.own);
	kfree(rcu_dereference_protected(conn->addrs.peer, true));
}

/* Replace what the peer has told; nothing more is awaited. */
static void addrs_set_peer(struct rds_conn *conn, struct rds_addr_set *set)
{
	struct rds_conn_addrs *addrs = &conn->addrs;
	struct rds_addr_set *old;

	spin_lock_bh(&addrs->lock);
	old = rcu_replace_pointer(addrs->peer, set,
				  lockdep_is_held(&addrs->lock));
	WRITE_ONCE(addrs->awaited, false);
	spin_unlock_bh(&addrs->lock);
	kfree_rcu(old, rcu);
}

void rds_addrs_forget(struct rds_conn *conn)
{
	if (!conn->addrs.own)
		return;
	addrs_set_peer(conn, NULL);
	rds_lanes_told(conn);
}

/* Tell the peer the addresses of this host, over path 0. */
static void addrs_tell(struct rds_cpath *first)
{
	if (rds_txq_due(&first->txq, RDS_DUE_ADDRS))
		rds_cpath_kick(first);
}

void rds_addrs_heard(struct rds_cpath *cp, const struct rds_handshake *hs)
{
	struct rds_conn_addrs *addrs = &cp->conn->addrs;
	bool dials = cp->pub.dials;

	if (!addrs->own || cp->pub.index || !rds_handshake_tells(hs))
		return;
	spin_lock_bh(&addrs->lock);
	/* The other end only knocks, between the first addresses. */
	WRITE_ONCE(addrs->awaited, dials && !rcu_access_pointer(addrs->peer));
	spin_unlock_bh(&addrs->lock);
	/* The end that dials knows then that the other one knows it. */
	if (dials)
		addrs_tell(cp);
}

/* Can these be addresses of the peer? */
static bool addrs_are_good(const struct rds_conn *conn,
			   const struct rds_addr_set *set)
{
	const struct rds_path_addr *addr = &conn->addr;
	unsigned int i, j;

	for (i = 0; i < set->nr; i++) {
		if (!rds_addr_is_usable(&set->addr[i], &addr->faddr) ||
		    ipv6_addr_equal(&set->addr[i], &addr->faddr) ||
		    ipv6_addr_equal(&set->addr[i], &addr->laddr))
			return false;
		for (j = 0; j < i; j++) {
			if (ipv6_addr_equal(&set->addr[i], &set->addr[j]))
				return false;
		}
	}
	return true;
}

/* Is this the length of a frame that tells addresses? */
static bool addrs_have_length(u32 len)
{
	return len >= RDS_ADDRS_BYTES(0) &&
	       len <= RDS_ADDRS_BYTES(RDS_MAX_FURTHER) &&
	       !((len - RDS_ADDRS_BYTES(0)) % sizeof(struct in6_addr));
}

static void addrs_read(struct rds_addr_set *set, const void *payload, u32 len)
{
	set->nr = (len - RDS_ADDRS_BYTES(0)) / sizeof(set->addr[0]);
	memcpy(&set->token, payload, sizeof(set->token));
	memcpy(set->addr, payload + sizeof(set->token),
	       set->nr * sizeof(set->addr[0]));
}

/*
 * What the peer tells is nothing: this end dials further paths between the
 * first addresses, and takes no other connection.
 */
static void addrs_ignore(struct rds_conn *conn)
{
	rds_drop(conn->rn->net, RDS_DROP_BAD_ADDRS);
	addrs_set_peer(conn, NULL);
}

void rds_addrs_told(struct rds_path *path, const void *payload, u32 len)
{
	struct rds_cpath *cp = rds_to_cpath(path);
	struct rds_conn *conn = cp->conn;
	struct rds_addr_set *set;

	if (!conn->addrs.own)
		return;
	set = kzalloc(sizeof(*set), GFP_ATOMIC);
	if (!set) {
		/* The peer tells again over the next connection. */
		rds_path_lost(path, RDS_DROP_NO_MEMORY);
		return;
	}
	if (addrs_have_length(len))
		addrs_read(set, payload, len);
	if (addrs_have_length(len) && addrs_are_good(conn, set)) {
		addrs_set_peer(conn, set);
	} else {
		kfree(set);
		addrs_ignore(conn);
	}
	if (!path->dials)
		addrs_tell(cp);
	rds_lanes_told(conn);
}

unsigned int rds_addrs_pairs(const struct rds_conn *conn)
{
	const struct rds_addr_set *peer;
	unsigned int pairs = 1;

	if (likely(!conn->addrs.own))
		return 1;
	rcu_read_lock();
	peer = rcu_dereference(conn->addrs.peer);
	if (peer)
		pairs = max(conn->addrs.own->nr, peer->nr) + 1;
	rcu_read_unlock();
	return pairs;
}

bool rds_addrs_keep(const struct rds_cpath *cp)
{
	return cp->pub.dials && cp->pub.index &&
	       cp->pub.index < rds_addrs_pairs(cp->conn);
}

/* Address of a host for the path of the index: its first one, or a further */
static const struct in6_addr *addrs_pick(const struct in6_addr *first,
					 const struct rds_addr_set *set,
					 unsigned int index)
{
	unsigned int i = index % (set->nr + 1);

	return i ? &set->addr[i - 1] : first;
}

void rds_path_route(struct rds_path *path, struct rds_path_addr *route)
{
	struct rds_cpath *cp = rds_to_cpath(path);
	const struct rds_conn *conn = cp->conn;
	const struct rds_addr_set *peer;

	lockdep_assert_held(&cp->ctl);
	*route = conn->addr;
	if (likely(!conn->addrs.own) || !path->index || !path->dials)
		return;
	rcu_read_lock();
	peer = rcu_dereference(conn->addrs.peer);
	if (peer) {
		route->laddr = *addrs_pick(&conn->addr.laddr, conn->addrs.own,
					   path->index);
		route->faddr = *addrs_pick(&conn->addr.faddr, peer,
					   path->index);
	}
	rcu_read_unlock();
	cp->joins = !ipv6_addr_equal(&route->laddr, &conn->addr.laddr) ||
		    !ipv6_addr_equal(&route->faddr, &conn->addr.faddr);
}
EXPORT_SYMBOL_NS_GPL(rds_path_route, RDS_NS);

static bool addrs_has(const struct in6_addr *first,
		      const struct rds_addr_set *set,
		      const struct in6_addr *addr)
{
	unsigned int i;

	if (ipv6_addr_equal(first, addr))
		return true;
	for (i = 0; i < set->nr; i++) {
		if (ipv6_addr_equal(&set->addr[i], addr))
			return true;
	}
	return false;
}

bool rds_addrs_admit(const struct rds_conn *conn,
		     const struct rds_path_addr *route,
		     const struct rds_wire_join *join)
{
	const struct rds_addr_set *own = conn->addrs.own, *peer;
	bool admit = false;

	if (!own || crypto_memneq(&own->token, &join->token,
				  sizeof(own->token)))
		return false;
	rcu_read_lock();
	peer = rcu_dereference(conn->addrs.peer);
	if (peer)
		admit = addrs_has(&conn->addr.laddr, own, &route->laddr) &&
			addrs_has(&conn->addr.faddr, peer, &route->faddr);
	rcu_read_unlock();
	return admit;
}

struct rds_message *rds_addrs_make(struct rds_conn *conn)
{
	const struct rds_addr_set *own = conn->addrs.own;
	struct rds_message *m;
	void *payload;

	m = rds_message_kernel(RDS_ADDRS_BYTES(own->nr), 0, 0, &payload,
			       GFP_KERNEL);
	if (!m)
		return NULL;
	memcpy(payload, &own->token, sizeof(own->token));
	memcpy(payload + sizeof(own->token), own->addr,
	       own->nr * sizeof(own->addr[0]));
	return m;
}

struct rds_message *rds_addrs_make_join(struct rds_conn *conn)
{
	const struct rds_addr_set *peer;
	struct rds_wire_join *join;
	struct rds_message *m;

	m = rds_message_kernel(sizeof(*join), 0, 0, (void **)&join,
			       GFP_KERNEL);
	if (!m)
		return NULL;
	memcpy(join->magic, RDS_JOIN_MAGIC, sizeof(join->magic));
	memcpy(join->from, &conn->addr.laddr, sizeof(join->from));
	memcpy(join->to, &conn->addr.faddr, sizeof(join->to));
	/* A peer that has restarted since the dial refuses the connection. */
	rcu_read_lock();
	peer = rcu_dereference(conn->addrs.peer);
	if (peer)
		join->token = peer->token;
	rcu_read_unlock();
	return m;
}
