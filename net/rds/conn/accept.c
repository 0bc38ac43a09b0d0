// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections that peers open; conn/conn.h has the rules. */
#include <linux/module.h>
#include <linux/slab.h>

#include "conn/addrs.h"
#include "conn/conn.h"
#include "conn/guest.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "netns.h"
#include <net/rds/join.h>

/*
 * A connection that the peer opened, a group for a guest that is new, and
 * whether the path took the connection
 */
struct conn_offer {
	struct rds_parked	parked;
	struct rds_guest_group	*group;
	bool			taken;
};

/* A connection that was just made knows nothing of further paths. */
static void conn_take_offer(struct rds_conn *conn, bool fresh, void *arg)
{
	struct conn_offer *offer = arg;

	if (fresh && offer->group)
		rds_guest_begin(conn, &offer->group);
	offer->taken = rds_cpath_incoming(conn->paths[0], &offer->parked);
}

bool rds_path_joined(const struct rds_transport *trans, struct net *net,
		     const struct rds_path_addr *route, u16 port,
		     const struct rds_wire_join *join, void *handle)
{
	struct rds_parked parked = { handle, port, *route };
	struct rds_path_addr addr = {};
	struct rds_conn *conn;
	bool taken = false;

	memcpy(&addr.laddr, join->to, sizeof(addr.laddr));
	memcpy(&addr.faddr, join->from, sizeof(addr.faddr));
	conn = rds_conn_lookup(rds_net(net), trans, &addr);
	if (conn && rds_conn_index_of(conn, port) &&
	    rds_addrs_admit(conn, route, join))
		taken = rds_conn_offer(conn, &parked) == RDS_OFFER_TAKEN;
	else
		rds_drop(net, RDS_DROP_BAD_JOIN);
	rds_conn_put(conn);
	return taken;
}
EXPORT_SYMBOL_NS_GPL(rds_path_joined, RDS_NS);

/* Find or make the connection to a peer that has opened one, and offer that. */
static struct rds_conn *conn_of_guest(struct rds_net *rn,
				      const struct rds_transport *trans,
				      const struct rds_path_addr *addr,
				      struct conn_offer *offer)
{
	struct rds_conn *conn;

	/* Of another transport it would never go: see rds_idle_is_over(). */
	if (trans->caps & RDS_CAP_MULTIPATH)
		offer->group = rds_guests_admit(rn, &addr->faddr);
	if (IS_ERR(offer->group))
		return ERR_CAST(offer->group);
	conn = rds_conn_get_alive(rn, trans, addr, conn_take_offer, offer);
	kfree(offer->group);
	return conn;
}

bool rds_path_incoming(const struct rds_transport *trans, struct net *net,
		       const struct rds_path_addr *addr, u16 port,
		       void *handle)
{
	struct conn_offer offer = { .parked = { handle, port, *addr } };
	struct rds_net *rn = rds_net(net);
	struct rds_conn *conn, *found;
	enum rds_offer end;

	found = rds_conn_lookup(rn, trans, addr);
	if (found) {
		end = rds_conn_offer(found, &offer.parked);
		rds_conn_put(found);
		if (end != RDS_OFFER_GONE)
			return end == RDS_OFFER_TAKEN;
	}
	conn = conn_of_guest(rn, trans, addr, &offer);
	if (!IS_ERR(conn))
		rds_conn_put(conn);
	else if (PTR_ERR(conn) == -ENOMEM)
		rds_drop(net, RDS_DROP_NO_MEMORY);
	return offer.taken;
}
EXPORT_SYMBOL_NS_GPL(rds_path_incoming, RDS_NS);
