// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connection management: requests to the CM, and its events.
 *
 * Handlers run with the handler mutex of their id held, one at a time for each
 * id, in work queues that all RDMA connections of the host share.  So they are
 * short: connect_work or path_attach do what waits for memory or for the
 * device.  Handlers may sleep only to allocate the connection of a request.
 *
 * Events that can happen at once, beyond those in conn.c:
 *
 *   - A request and its id.  Before the request goes to the core, its id gets
 *     the connection as context and conn_event() as handler.  Once
 *     rds_path_incoming() has taken it, the core may attach or refuse it at any
 *     time; both wait for the handler of the request to return, which does not
 *     touch the request any more.  A refused request ends with its id: the
 *     handler returns an error, the CM destroys the id, and no event comes in
 *     between.
 *   - A request and an interface that goes down (link.c).  A refusal would send
 *     a packet over that interface, which must not happen any more, and make
 *     the peer dial again at once.  So the id stays, and is refused by its
 *     destruction, which link.c defers.
 *   - A request waits in the core and its initiator gives up.  The CM reports
 *     REJECTED or DISCONNECTED; the connection fails without a path, and
 *     path_attach finds that it failed.  siw reports nothing for a request that
 *     was not accepted; there rdma_accept() fails.
 *   - rdma_accept() fails.  The CM has refused the request then; the connection
 *     fails.
 *   - Crossed attempts are judged by the core inside the handler, in the order
 *     of CM events.
 *   - ESTABLISHED comes once: the event that rdma_notify() starts for
 *     IB_EVENT_COMM_EST replaces the handshake's last message.  A second one
 *     would be ignored.
 *   - The connection of a path to its own address and its twin.  The request is
 *     matched with the attempt by address, type of service and port, under
 *     self_lock.  path_close removes the attempt from the list under the same
 *     lock, so that path_close either finds the twin or none is made; the work
 *     of a new twin is queued under the lock, so path_close finds it, too.  If
 *     either end fails the path is lost, and both are closed.
 *   - Events after the end: see conn.c.
 *
 * Lock: self_lock guards the list of attempts to connect to an own address and
 * rds_rdma_conn.twin; rds_rdma_cm.lock may be taken under it.
 */
#include <linux/module.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/rds/access.h>
#include <net/rds/addr.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "devlayer.h"
#include "rdma.h"

#define RDS_RDMA_RESOLVE_MS	5000
#define RDS_RDMA_RNR_RETRY	7	/* no limit */
#define RDS_RDMA_REJECT_BODY	1	/* protocol.rst 4.4 */

static DEFINE_SPINLOCK(self_lock);
static LIST_HEAD(self_attempts);

static int conn_event(struct rdma_cm_id *id, struct rdma_cm_event *ev);

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

/* Requests to the CM */

/*
 * Let the twin find an attempt to connect to an own address.  False if the
 * connection is ending: path_close sets @ending before it removes the attempt
 * from the list, which it does once only.
 */
static bool self_enter(struct rds_rdma_conn *conn)
{
	bool go;

	spin_lock(&self_lock);
	go = !READ_ONCE(conn->ending);
	if (go)
		list_add_tail(&conn->cm.self_node, &self_attempts);
	spin_unlock(&self_lock);
	return go;
}

int rds_rdma_cm_dial(struct rds_rdma_conn *conn)
{
	const struct rds_path_addr *addr = conn->path->addr;
	bool iwarp = conn->dev->props.iwarp;
	u16 port = addr_ipv6(addr) && !iwarp ? RDS_RDMA_PORT_IPV6 :
					       RDS_RDMA_PORT;
	struct sockaddr_storage src, dst;
	struct net *net = conn->path->net;
	struct rdma_cm_id *id;

	/*
	 * An id holds its namespace, which must not happen to one that is being
	 * removed.
	 */
	if (!maybe_get_net(net))
		return -ENETDOWN;
	id = rdma_create_id(net, conn_event, conn, RDMA_PS_TCP, IB_QPT_RC);
	put_net(net);
	if (IS_ERR(id))
		return PTR_ERR(id);
	conn->id = id;
	conn->cm.responder_resources = conn->dev->props.max_rd_atom;
	conn->cm.initiator_depth = conn->dev->props.max_init_rd_atom;
	rdma_set_service_type(id, addr->tos);
	rdma_set_min_rnr_timer(id, IB_RNR_TIMER_000_32);
	if (ipv6_addr_equal(&addr->laddr, &addr->faddr) && !self_enter(conn))
		return -ECANCELED;
	rds_rdma_link_ask_neighbour(conn);
	rds_addr_write(&src, &addr->laddr, 0, addr->ifindex);
	rds_addr_write(&dst, &addr->faddr, htons(port), addr->ifindex);
	return rdma_resolve_addr(id, (struct sockaddr *)&src,
				 (struct sockaddr *)&dst, RDS_RDMA_RESOLVE_MS);
}

static unsigned int build_privdata(struct rds_rdma_conn *conn, u8 *buf)
{
	const struct rds_path_addr *addr = conn->path->addr;
	struct rds_rdma_peer me = {
		.version = conn->accepted ? conn->peer.version : RDS_RDMA_V3_1,
		.tos = addr->tos,
		.credit = conn->cm.offered,
		.joins = true,
		.gen = rds_generation(conn->path),
	};

	memcpy(me.saddr, &addr->laddr, sizeof(me.saddr));
	memcpy(me.daddr, &addr->faddr, sizeof(me.daddr));
	return rds_rdma_pd_build(buf, addr_ipv6(addr), &me);
}

int rds_rdma_cm_open(struct rds_rdma_conn *conn)
{
	u8 buf[RDS_RDMA_PD_MAX];
	struct rdma_conn_param param = {
		.private_data = buf,
		.responder_resources = conn->cm.responder_resources,
		.initiator_depth = conn->cm.initiator_depth,
		.retry_count = min(rds_rdma_retry_count, 7U),
		.rnr_retry_count = RDS_RDMA_RNR_RETRY,
	};
	int err;

	/*
	 * The link may have failed while addresses were resolved and rings were
	 * filled.
	 */
	if (!conn->dev->props.iwarp &&
	    !rds_rdma_link_usable(&conn->local, &conn->remote))
		return -ENETDOWN;
	param.private_data_len = build_privdata(conn, buf);
	if (!rds_rdma_conn_ask(conn))
		return -ECANCELED;
	if (conn->accepted) {
		rdma_set_min_rnr_timer(conn->id, IB_RNR_TIMER_000_32);
		rdma_lock_handler(conn->id);
		err = rdma_accept(conn->id, &param);
		rdma_unlock_handler(conn->id);
	} else {
		err = rdma_connect(conn->id, &param);
	}
	if (err)
		rds_rdma_conn_answered(conn);
	return err;
}

void rds_rdma_cm_reject(struct rdma_cm_id *id)
{
	int body = RDS_RDMA_REJECT_BODY;

	rdma_reject(id, &body, sizeof(body), IB_CM_REJ_CONSUMER_DEFINED);
}

/* Whether the peer names the addresses of the path. */
static bool peer_addrs_good(const struct rds_rdma_peer *peer,
			    const struct rds_path_addr *addr)
{
	return !memcmp(peer->saddr, &addr->faddr, sizeof(peer->saddr)) &&
	       !memcmp(peer->daddr, &addr->laddr, sizeof(peer->daddr));
}

/* Events of a connection */

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
	return conn->peer.credit || conn->dev->props.rnr;
}

static void event_established(struct rds_rdma_conn *conn,
			      const struct rdma_cm_event *ev)
{
	if (conn->established)
		return;
	if (!conn->accepted) {
		if (!reply_good(conn, &ev->param.conn)) {
			rds_rdma_conn_fail(conn, RDS_DROP_BAD_PRIVDATA);
			return;
		}
		conn->cm.initiator_depth = min(conn->cm.initiator_depth,
					       ev->param.conn.initiator_depth);
		rds_path_peer_gen(conn->path, conn->peer.gen);
		rds_rdma_data_established(conn);
	}
	rds_rdma_conn_established(conn);
}

static void event_addr_resolved(struct rds_rdma_conn *conn)
{
	if (rdma_resolve_route(conn->id, RDS_RDMA_RESOLVE_MS))
		rds_rdma_conn_fail(conn, RDS_DROP_DIAL_FAILED);
}

static void event_route_resolved(struct rds_rdma_conn *conn)
{
	/* iWARP has no path record. */
	if (conn->id->route.path_rec)
		conn->id->route.path_rec->sl = conn->path->addr->tos & 0x0f;
	rds_rdma_conn_continue(conn);
}

/*
 * The reason for which an event ends the connection; RDS_DROP_NONE if it does
 * not.
 */
static enum rds_drop_reason event_reason(const struct rds_rdma_conn *conn,
					 const struct rdma_cm_event *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return RDS_DROP_DIAL_FAILED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return READ_ONCE(conn->up) ? RDS_DROP_PEER_TIMEOUT :
					     RDS_DROP_DIAL_FAILED;
	case RDMA_CM_EVENT_REJECTED:
		return RDS_DROP_PEER_REJECTED;
	case RDMA_CM_EVENT_DISCONNECTED:
		return RDS_DROP_PEER_CLOSED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return RDS_DROP_DEVICE_GONE;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return RDS_DROP_ADDR_GONE;
	default:
		return RDS_DROP_NONE;
	}
}

/* Whether an event answers rdma_connect() or rdma_accept(). */
static bool event_answers(const struct rdma_cm_event *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		return true;
	default:
		return false;
	}
}

static int conn_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rds_rdma_conn *conn = id->context;
	enum rds_drop_reason why;

	if (ev->event == RDMA_CM_EVENT_REJECTED)
		rds_rdma_link_peer_gone(conn);
	if (event_answers(ev) && !rds_rdma_conn_answered(conn))
		return 0;
	if (READ_ONCE(conn->ending))
		return 0;
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		event_addr_resolved(conn);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		event_route_resolved(conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		event_established(conn, ev);
		break;
	default:
		why = event_reason(conn, ev);
		if (why != RDS_DROP_NONE)
			rds_rdma_conn_fail(conn, why);
		break;
	}
	/* 0: path_close destroys the id. */
	return 0;
}

/* Requests */

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
			 const struct rds_rdma_props *props,
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
 * The attempt to connect to an own address that a request belongs to, or NULL
 */
static struct rds_rdma_conn *self_find(const struct rdma_cm_id *id,
				       const struct rds_path_addr *addr)
{
	__be16 port = sockaddr_port(&id->route.addr.dst_addr);
	struct rds_rdma_conn *conn;

	lockdep_assert_held(&self_lock);
	list_for_each_entry(conn, &self_attempts, cm.self_node) {
		if (net_eq(conn->path->net, id->route.addr.dev_addr.net) &&
		    ipv6_addr_equal(&conn->path->addr->laddr, &addr->laddr) &&
		    conn->path->addr->ifindex == addr->ifindex &&
		    conn->path->addr->tos == addr->tos &&
		    sockaddr_port(&conn->id->route.addr.src_addr) == port)
			return conn;
	}
	return NULL;
}

/*
 * Make @twin the accepting end of an attempt of this host; false if there is no
 * such attempt.
 */
static bool self_request(struct rdma_cm_id *id,
			 const struct rds_path_addr *addr,
			 struct rds_rdma_conn *twin)
{
	struct rds_rdma_conn *conn;
	bool taken = false;

	spin_lock(&self_lock);
	conn = self_find(id, addr);
	if (conn && !conn->twin) {
		twin->is_twin = true;
		twin->rpath = conn->rpath;
		spin_lock_bh(&twin->cm.lock);
		twin->path = conn->path;
		taken = !twin->ending;
		spin_unlock_bh(&twin->cm.lock);
	}
	if (taken) {
		conn->twin = twin;
		rds_rdma_conn_limit(twin);
		rds_rdma_conn_continue(twin);
	}
	spin_unlock(&self_lock);
	return taken;
}

struct rds_rdma_conn *rds_rdma_cm_forget_self(struct rds_rdma_conn *conn)
{
	struct rds_rdma_conn *twin;

	spin_lock(&self_lock);
	list_del_init(&conn->cm.self_node);
	twin = conn->twin;
	conn->twin = NULL;
	spin_unlock(&self_lock);
	return twin;
}

/*
 * Pass a request on.  If true, another context owns it and may have freed it.
 */
static bool request_hand_on(struct rdma_cm_id *id,
			    const struct rds_path_addr *addr,
			    struct rds_rdma_conn *conn)
{
	struct net *net = id->route.addr.dev_addr.net;

	id->context = conn;
	id->event_handler = conn_event;
	if (ipv6_addr_equal(&addr->laddr, &addr->faddr)) {
		if (self_request(id, addr, conn))
			return true;
		rds_drop(net, RDS_DROP_SELF_CONNECT);
		return false;
	}
	if (rds_path_incoming(&rds_rdma_transport, net, addr, 0, conn))
		return true;
	rds_rdma_stats_inc(net, ib_connect_raced);
	return false;
}

/* Handle a request.  Returns false if the caller must refuse it. */
static bool request_take(struct rdma_cm_id *id,
			 const struct rdma_conn_param *param,
			 struct rds_rdma_dev *dev)
{
	struct net *net = id->route.addr.dev_addr.net;
	struct rds_rdma_laddr local = { .net = net };
	struct rds_rdma_conn *conn;
	struct rds_rdma_peer peer;
	struct rds_path_addr addr;
	bool has_addr;

	has_addr = request_addr(id, &addr);
	if (has_addr && !rds_access_peer(net, &addr))
		return false;
	if (!has_addr || !request_good(param, &addr, &dev->props, &peer)) {
		pr_notice_ratelimited("rds_rdma: bad private data in a request from %pISpc\n",
				      &id->route.addr.dst_addr);
		rds_drop(net, RDS_DROP_BAD_PRIVDATA);
		return false;
	}
	local.addr = addr.laddr;
	local.scope = addr.ifindex;
	local.ifindex = id->route.addr.dev_addr.bound_dev_if;
	conn = rds_rdma_conn_new(dev, &local, &addr.faddr);
	if (!conn) {
		rds_drop(net, RDS_DROP_NO_MEMORY);
		return false;
	}
	conn->id = id;
	conn->accepted = true;
	/*
	 * @conn is entered: the end of the interface is either seen here or
	 * fails @conn.
	 */
	if (!rds_rdma_link_usable(&local, &conn->remote)) {
		rds_drop(net, RDS_DROP_LOCAL_RECONFIG);
		id->context = conn;
		id->event_handler = conn_event;
		rds_rdma_conn_refuse_later(conn);
		return true;
	}
	conn->silent = dev->props.active_first;
	conn->peer = peer;
	conn->cm.responder_resources = min(dev->props.max_rd_atom,
					   param->responder_resources);
	conn->cm.initiator_depth = min(dev->props.max_init_rd_atom,
				       param->initiator_depth);
	if (request_hand_on(id, &addr, conn))
		return true;
	rds_rdma_conn_free(conn);
	return false;
}

int rds_rdma_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rds_rdma_dev *dev;
	bool taken = false;

	if (ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	dev = rds_rdma_dev_get(id->device);
	if (dev) {
		taken = request_take(id, &ev->param.conn, dev);
		rds_rdma_dev_put(dev);
	}
	if (taken)
		return 0;
	rds_rdma_cm_reject(id);
	return -ECONNREFUSED;
}
