// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What RDS asks and answers while a connection is made: its private data, the
 * requests of peers, and connections to an own address.
 *
 * dev/idfsm.c has the states of a connection.  Beyond what can meet there:
 *
 *   - A request and its id.  Before the request goes to the core, events of its
 *     id are the connection's (rds_dev_id_take()).  Once rds_path_incoming()
 *     has taken it, the core may attach or refuse it at any time; both wait for
 *     the handler of the request to return, which does not touch the request
 *     any more.  A refused request ends with its id: the handler returns an
 *     error, rdma_cm destroys the id, and no event comes in between.
 *   - Crossed attempts are judged by the core inside the handler, in the order
 *     of events.
 *   - The connection of a path to its own address and its twin.  The request is
 *     matched with the attempt by address, type of service and port, under
 *     self_lock.  path_close removes the attempt from the list under the same
 *     lock, so that path_close either finds the twin or none is made; the work
 *     of a new twin is queued under the lock, so path_close finds it, too.  If
 *     either end fails the path is lost, and both are closed.
 *
 * Lock: self_lock guards the list of attempts to connect to an own address and
 * rds_rdma_conn.twin; rds_dev_id.lock may be taken under it.
 */
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/rds/access.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "rdma.h"

#define RDS_RDMA_RNR_RETRY	7	/* no limit */
#define RDS_RDMA_REJECT_BODY	1	/* protocol.rst 4.4 */

static DEFINE_SPINLOCK(self_lock);
static LIST_HEAD(self_attempts);

static bool addr_ipv6(const struct rds_path_addr *addr)
{
	return !ipv6_addr_v4mapped(&addr->laddr);
}

static bool from_sockaddr(const struct sockaddr_storage *ss,
			  struct in6_addr *addr)
{
	switch (ss->ss_family) {
	case AF_INET:
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)ss)
					       ->sin_addr.s_addr,
				       addr);
		return true;
	case AF_INET6:
		*addr = ((const struct sockaddr_in6 *)ss)->sin6_addr;
		return true;
	default:
		return false;
	}
}

static __be16 sockaddr_port(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET6 ?
		       ((const struct sockaddr_in6 *)ss)->sin6_port :
		       ((const struct sockaddr_in *)ss)->sin_port;
}

/* Private data */

void rds_rdma_cm_param(struct rds_dev_id *id, struct rdma_conn_param *param,
		       u8 *buf)
{
	struct rds_rdma_conn *conn = container_of(id, struct rds_rdma_conn, id);
	const struct rds_path_addr *addr = conn->path->addr;
	struct rds_rdma_peer me = {
		.version = id->accepted ? conn->peer.version : RDS_RDMA_V3_1,
		.tos = addr->tos,
		.credit = conn->rx.offered,
		.joins = true,
		.gen = rds_generation(conn->path),
	};

	BUILD_BUG_ON(RDS_RDMA_PD_MAX > RDS_DEV_ID_PRIVATE);
	memcpy(me.saddr, &addr->laddr, sizeof(me.saddr));
	memcpy(me.daddr, &addr->faddr, sizeof(me.daddr));
	param->private_data_len = rds_rdma_pd_build(buf, addr_ipv6(addr), &me);
	param->retry_count = min(rds_rdma_retry_count, 7U);
	param->rnr_retry_count = RDS_RDMA_RNR_RETRY;
}

/* Whether the peer names the addresses of the path. */
static bool peer_addrs_good(const struct rds_rdma_peer *peer,
			    const struct rds_path_addr *addr)
{
	return !memcmp(peer->saddr, &addr->faddr, sizeof(peer->saddr)) &&
	       !memcmp(peer->daddr, &addr->laddr, sizeof(peer->daddr));
}

/* The initiator's end: parse and check the acceptor's private data. */
static bool reply_good(struct rds_rdma_conn *conn,
		       const struct rdma_conn_param *param)
{
	const struct rds_path_addr *addr = conn->path->addr;

	if (!rds_rdma_pd_parse(param->private_data, param->private_data_len,
			       addr_ipv6(addr), false, &conn->peer) ||
	    !conn->peer.version || !peer_addrs_good(&conn->peer, addr)) {
		pr_notice_ratelimited("rds_rdma: bad private data in a reply from %pI6c\n",
				      &addr->faddr);
		return false;
	}
	return conn->peer.credit || conn->id.dev->props.rnr;
}

bool rds_rdma_cm_answer(struct rds_dev_id *id,
			const struct rdma_conn_param *param)
{
	struct rds_rdma_conn *conn = container_of(id, struct rds_rdma_conn, id);

	if (!reply_good(conn, param))
		return false;
	rds_path_peer_gen(conn->path, conn->peer.gen);
	rds_rdma_data_established(conn);
	return true;
}

/* Paths to an own address */

void rds_rdma_cm_enter_self(struct rds_rdma_conn *conn)
{
	const struct rds_path_addr *addr = conn->path->addr;

	if (!ipv6_addr_equal(&addr->laddr, &addr->faddr))
		return;
	spin_lock(&self_lock);
	list_add_tail(&conn->self_node, &self_attempts);
	spin_unlock(&self_lock);
}

/*
 * The attempt to connect to an own address that a request belongs to, or NULL
 */
static struct rds_rdma_conn *self_find(const struct rdma_cm_id *request,
				       const struct rds_path_addr *addr)
{
	__be16 port = sockaddr_port(&request->route.addr.dst_addr);
	const struct rdma_cm_id *cm_id;
	struct rds_rdma_conn *conn;

	lockdep_assert_held(&self_lock);
	list_for_each_entry(conn, &self_attempts, self_node) {
		/* NULL before the attempt is dialled */
		cm_id = READ_ONCE(conn->id.cm_id);
		if (cm_id &&
		    net_eq(conn->path->net, request->route.addr.dev_addr.net) &&
		    ipv6_addr_equal(&conn->path->addr->laddr, &addr->laddr) &&
		    conn->path->addr->ifindex == addr->ifindex &&
		    conn->path->addr->tos == addr->tos &&
		    sockaddr_port(&cm_id->route.addr.src_addr) == port)
			return conn;
	}
	return NULL;
}

/*
 * Make @twin the accepting end of an attempt of this host; false if there is no
 * such attempt.
 */
static bool self_request(struct rdma_cm_id *request,
			 const struct rds_path_addr *addr,
			 struct rds_rdma_conn *twin)
{
	struct rds_rdma_conn *conn;
	bool taken = false;

	spin_lock(&self_lock);
	conn = self_find(request, addr);
	if (conn && !conn->twin) {
		twin->is_twin = true;
		taken = rds_rdma_conn_own(twin, conn->path, conn->rpath);
	}
	if (taken) {
		conn->twin = twin;
		rds_dev_id_accept_later(&twin->id);
	}
	spin_unlock(&self_lock);
	return taken;
}

struct rds_rdma_conn *rds_rdma_cm_forget_self(struct rds_rdma_conn *conn)
{
	struct rds_rdma_conn *twin;

	spin_lock(&self_lock);
	list_del_init(&conn->self_node);
	twin = conn->twin;
	conn->twin = NULL;
	spin_unlock(&self_lock);
	return twin;
}

/* Requests */

static void reject(struct rdma_cm_id *cm_id)
{
	int body = RDS_RDMA_REJECT_BODY;

	rdma_reject(cm_id, &body, sizeof(body), IB_CM_REJ_CONSUMER_DEFINED);
}

void rds_rdma_refuse(struct net *net, void *handle)
{
	struct rds_rdma_conn *conn = handle;
	int body = RDS_RDMA_REJECT_BODY;

	rds_dev_id_refuse(&conn->id, &body, sizeof(body));
}

static bool request_addr(const struct rdma_cm_id *id,
			 struct rds_path_addr *addr)
{
	const struct rdma_addr *ra = &id->route.addr;

	memset(addr, 0, sizeof(*addr));
	if (!from_sockaddr(&ra->src_addr, &addr->laddr) ||
	    !from_sockaddr(&ra->dst_addr, &addr->faddr))
		return false;
	/* Only link-local addresses need an interface, as over TCP. */
	if ((ipv6_addr_type(&addr->laddr) | ipv6_addr_type(&addr->faddr)) &
	    IPV6_ADDR_LINKLOCAL)
		addr->ifindex = ra->dev_addr.bound_dev_if;
	return true;
}

/*
 * Whether a request has private data with the right addresses and a version in
 * common.
 */
static bool request_good(const struct rdma_conn_param *param,
			 struct rds_path_addr *addr,
			 const struct rds_dev_props *props,
			 struct rds_rdma_peer *peer)
{
	if (!rds_rdma_pd_parse(param->private_data, param->private_data_len,
			       addr_ipv6(addr), true, peer) ||
	    !peer->version)
		return false;
	if (!peer_addrs_good(peer, addr))
		return false;
	addr->tos = peer->tos;
	return peer->credit || props->rnr;
}

/*
 * Pass a request on.  If true, another context owns it and may have freed it.
 */
static bool request_hand_on(struct rdma_cm_id *cm_id,
			    const struct rds_path_addr *addr,
			    struct rds_rdma_conn *conn)
{
	struct net *net = cm_id->route.addr.dev_addr.net;

	if (ipv6_addr_equal(&addr->laddr, &addr->faddr)) {
		if (self_request(cm_id, addr, conn))
			return true;
		rds_drop(net, RDS_DROP_SELF_CONNECT);
		return false;
	}
	if (rds_path_incoming(&rds_rdma_transport, net, addr, 0, conn))
		return true;
	rds_rdma_stats_inc(net, ib_connect_raced);
	return false;
}

/*
 * A request that may come in, with the private data @peer.  Returns false if
 * the caller must refuse it.
 */
static bool request_begin(struct rdma_cm_id *cm_id,
			  const struct rdma_conn_param *param,
			  struct rds_dev_domain *dom,
			  const struct rds_path_addr *addr,
			  const struct rds_rdma_peer *peer)
{
	struct rds_dev_laddr local = {
		.net	 = cm_id->route.addr.dev_addr.net,
		.addr	 = addr->laddr,
		.scope	 = addr->ifindex,
		.ifindex = cm_id->route.addr.dev_addr.bound_dev_if,
	};
	struct rds_rdma_conn *conn;
	enum rds_dev_take take;

	conn = rds_rdma_conn_new(dom, &local, &addr->faddr);
	if (!conn) {
		rds_drop(local.net, RDS_DROP_NO_MEMORY);
		return false;
	}
	conn->peer = *peer;
	take = rds_dev_id_take(&conn->id, cm_id, param);
	if (take != RDS_DEV_TAKE_YES)
		rds_drop(local.net, RDS_DROP_LOCAL_RECONFIG);
	if (take == RDS_DEV_TAKE_HELD ||
	    (take == RDS_DEV_TAKE_YES && request_hand_on(cm_id, addr, conn)))
		return true;
	rds_dev_id_forget(&conn->id);
	return false;
}

/* Handle a request.  Returns false if the caller must refuse it. */
static bool request_take(struct rdma_cm_id *cm_id,
			 const struct rdma_conn_param *param,
			 struct rds_dev_domain *dom)
{
	struct net *net = cm_id->route.addr.dev_addr.net;
	struct rds_rdma_peer peer;
	struct rds_path_addr addr;
	bool has_addr;

	has_addr = request_addr(cm_id, &addr);
	if (has_addr && !rds_access_peer(net, &addr))
		return false;
	if (has_addr && request_good(param, &addr, &dom->dev->props, &peer))
		return request_begin(cm_id, param, dom, &addr, &peer);
	pr_notice_ratelimited("rds_rdma: bad private data in a request from %pISpc\n",
			      &cm_id->route.addr.dst_addr);
	rds_drop(net, RDS_DROP_BAD_PRIVDATA);
	return false;
}

int rds_rdma_request(struct rds_dev_service *svc, struct rds_dev_domain *dom,
		     struct rdma_cm_id *cm_id,
		     const struct rdma_conn_param *param)
{
	if (request_take(cm_id, param, dom))
		return 0;
	reject(cm_id);
	return -ECONNREFUSED;
}

u16 rds_rdma_listen_port(const struct rds_dev_props *props, bool v6)
{
	return v6 && !props->iwarp ? RDS_RDMA_PORT_IPV6 : RDS_RDMA_PORT;
}
