// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is done to each of several connections; conn/conn.h has the rules. */
#include <linux/module.h>
#include <net/ipv6.h>

#include "conn/conn.h"
#include "conn/internal.h"
#include "conn/path.h"
#include "netns.h"

/*
 * Two hosts, a type of service as users have it, and whether there was a
 * connection
 */
struct walk_reset {
	const struct in6_addr	*laddr, *faddr;
	u8			tos;
	bool			found;
};

static void walk_reset(struct rds_conn *conn, void *arg)
{
	struct walk_reset *r = arg;
	u8 tos = r->tos;

	if (conn->trans->map_tos)
		tos = conn->trans->map_tos(tos);
	if (conn->trans->caps & RDS_CAP_LOCAL_ONLY || conn->addr.tos != tos ||
	    !ipv6_addr_equal(&conn->addr.laddr, r->laddr) ||
	    !ipv6_addr_equal(&conn->addr.faddr, r->faddr))
		return;
	r->found = true;
	rds_conn_lose_paths(conn, RDS_DROP_LOCAL_RESET);
}

bool rds_conn_reset(struct rds_net *rn, const struct in6_addr *laddr,
		    const struct in6_addr *faddr, u8 tos)
{
	struct walk_reset r = { .laddr = laddr, .faddr = faddr, .tos = tos };

	rds_conn_visit(rn, walk_reset, &r);
	return r.found;
}

struct walk_reset_all {
	const struct rds_transport	*trans;
	enum rds_drop_reason		why;
};

static void walk_reset_all(struct rds_conn *conn, void *arg)
{
	const struct walk_reset_all *r = arg;

	if (conn->trans == r->trans)
		rds_conn_lose_paths(conn, r->why);
}

void rds_path_reset_all(const struct rds_transport *trans, struct net *net,
			enum rds_drop_reason why)
{
	struct walk_reset_all r = { trans, why };

	rds_conn_visit(rds_net(net), walk_reset_all, &r);
}
EXPORT_SYMBOL_NS_GPL(rds_path_reset_all, RDS_NS);

static void walk_denied(struct rds_conn *conn, void *arg)
{
	struct rds_cpath *cp;
	unsigned int i;

	if (conn->trans->caps & RDS_CAP_LOCAL_ONLY)
		return;
	rds_conn_for_each_path(conn, i, cp) {
		if (!rds_cpath_allowed(cp))
			rds_path_lost(&cp->pub, RDS_DROP_LOCAL_RECONFIG);
	}
}

void rds_conn_reset_denied(struct rds_net *rn)
{
	rds_conn_visit(rn, walk_denied, NULL);
}
