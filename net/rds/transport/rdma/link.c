// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Interfaces and addresses that are removed or go down, and the packets of the
 * CM that must not be sent then.
 *
 * rxe sends the packets of the CM as any others.  A packet that the network
 * stack does not take puts the GSI QP into the error state, which does not end:
 * no connection can be made over that device until it is removed and added.
 * The network stack takes no packet without a route, without the GID that its
 * id was made with, and while the interface has no queue: from the moment it
 * begins to close to the end of its opening.  So, on all RoCE devices:
 *
 *   - Connections end before their interface goes down (NETDEV_GOING_DOWN), or
 *     before the routing tables forget their IPv4 address (the notifier of this
 *     file is called first).  The notifier waits, with a limit, until their
 *     disconnect requests have left: rdma_destroy_id() returns when they have,
 *     and will not be repeated.
 *   - A peer that is told of the end dials again at once.  Its request must not
 *     come while the interface closes: rdma_cm would refuse it by itself, with
 *     a packet that is not taken.  So the notifier also waits until all such
 *     peers have dialled, or none dials any more, and the requests are held:
 *     their ids are shelved.  A refusal would make the peers dial once more.
 *     Held peers have been told to wait by the CM (an MRA, sent when the
 *     handler of the request returns), and are silent until the link is usable
 *     again and they are refused.
 *   - No connection is begun over an interface that is down, or about to be.
 *   - An id whose destruction would send a packet that is not taken is shelved
 *     until the link is usable or the device is removed.  That is for links
 *     that break without notice, and for IPv6, where the notifier is called too
 *     late.  Ids in other namespaces are not shelved, as they would hold those.
 *     An id whose GID was deleted can never send again, even if the address
 *     comes back, which then has another GID; it is destroyed when the peer
 *     gives up or the device is removed.
 *
 * On iWARP connections end early as well: the peer then learns of the end
 * without a time-out.
 *
 * An attempt waits for its link and is not repeated: rds_rdma_cm.waits is set
 * before the link is tested, and the context that clears it dials, so that no
 * attempt is forgotten or dialled twice.  The scan of addr.c tests links again
 * whenever something changes.
 *
 * Locks: notifiers are called under the RTNL, and link_lock is a leaf.
 * Notifiers may take no lock under which the RTNL is waited for, such as
 * devs_lock.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip6_fib.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sch_generic.h>
#include <rdma/ib_cache.h>

#include "devlayer.h"
#include "rdma.h"

/*
 * Longest time that a notifier waits for the connections of an interface or
 * address
 */
#define GOING_TIME	HZ
/*
 * Time after which a peer that was told of an end has dialled again, if it ever
 * will
 */
#define CALL_TIME	(HZ / 2)
/*
 * Time after which the answer to a request has left, and a further request
 * would have come
 */
#define QUIET_TIME	(HZ / 10)

/*
 * The interface or address that goes down or is removed now.  One at a time, as
 * notifiers run under the RTNL.  It stays set after the notifier, until the
 * next one: by then the interface counts as down.
 */
static DEFINE_SPINLOCK(link_lock);
/* net NULL: none; an address of :: means any */
static struct rds_rdma_laddr going;

static bool la_goes(const struct rds_rdma_laddr *la,
		    const struct rds_rdma_laddr *what)
{
	return la->net == what->net && la->ifindex == what->ifindex &&
	       (ipv6_addr_any(&what->addr) ||
		ipv6_addr_equal(&la->addr, &what->addr));
}

/*
 * Whether @la has a route to @remote.  It has none either if the address is
 * removed.
 */
static bool has_route_v4(const struct rds_rdma_laddr *la,
			 const struct in6_addr *remote)
{
	struct flowi4 fl4 = {
		.flowi4_oif	= la->ifindex,
		.flowi4_proto	= IPPROTO_UDP,
		.saddr		= la->addr.s6_addr32[3],
		.daddr		= remote->s6_addr32[3],
	};
	struct rtable *rt = ip_route_output_key(la->net, &fl4);

	if (IS_ERR(rt))
		return false;
	ip_rt_put(rt);
	return true;
}

static bool dev_has_v6(const struct net_device *ndev,
		       const struct in6_addr *addr)
{
	struct inet6_dev *idev = __in6_dev_get(ndev);
	struct inet6_ifaddr *ifa;
	bool has = false;

	if (!idev)
		return false;
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa, &idev->addr_list, if_list)
		has |= ipv6_addr_equal(&ifa->addr, addr);
	read_unlock_bh(&idev->lock);
	return has;
}

/* The route from @la to @to, counted, or NULL */
static struct dst_entry *route_v6(const struct rds_rdma_laddr *la,
				  const struct in6_addr *to)
{
	struct flowi6 fl6 = {
		.flowi6_oif	= la->ifindex,
		.flowi6_proto	= IPPROTO_UDP,
		.saddr		= la->addr,
		.daddr		= *to,
	};
	struct dst_entry *dst;

	dst = ip6_dst_lookup_flow(la->net, NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return NULL;
	if (!dst->error)
		return dst;
	dst_release(dst);
	return NULL;
}

static u32 route_flags_v6(const struct rds_rdma_laddr *la,
			  const struct in6_addr *to)
{
	struct dst_entry *dst = route_v6(la, to);
	u32 flags = 0;

	if (dst)
		flags = container_of(dst, struct rt6_info, dst)->rt6i_flags;
	dst_release(dst);
	return flags;
}

/*
 * Addresses that stay while their interface is down have no routes then.  The
 * local route, without which they receive nothing, is added last; answers
 * before that would be lost, those of neighbours for instance.
 */
static bool has_routes_v6(const struct rds_rdma_laddr *la,
			  const struct in6_addr *remote)
{
	return route_flags_v6(la, remote) &&
	       route_flags_v6(la, &la->addr) & RTF_LOCAL;
}

/*
 * Whether the network stack takes packets to @remote.  rxe makes the same
 * tests.
 */
static bool link_ok(const struct rds_rdma_laddr *la,
		    const struct in6_addr *remote)
{
	struct net_device *ndev;
	bool ok;

	rcu_read_lock();
	ndev = dev_get_by_index_rcu(la->net, la->ifindex);
	ok = ndev && netif_running(ndev) && ndev->flags & IFF_UP &&
	     netif_carrier_ok(ndev) && !qdisc_tx_is_noop(ndev);
	if (ok && ipv6_addr_v4mapped(&la->addr))
		ok = has_route_v4(la, remote);
	else if (ok && IS_ENABLED(CONFIG_IPV6))
		ok = dev_has_v6(ndev, &la->addr) && has_routes_v6(la, remote);
	rcu_read_unlock();
	return ok;
}

bool rds_rdma_link_usable(const struct rds_rdma_laddr *la,
			  const struct in6_addr *remote)
{
	bool goes;

	spin_lock_bh(&link_lock);
	goes = la_goes(la, &going);
	spin_unlock_bh(&link_lock);
	return !goes && link_ok(la, remote);
}

bool rds_rdma_link_waits(struct rds_rdma_conn *conn)
{
	/*
	 * Set before the test, so that a change after the test finds the
	 * attempt waiting.
	 */
	xchg(&conn->cm.waits, true);
	if (rds_rdma_link_usable(&conn->local, &conn->remote))
		return !xchg(&conn->cm.waits, false);
	wake_up_all(&conn->dev->idle);
	/*
	 * Some changes call no notifier; the scan is repeated while an attempt
	 * waits.
	 */
	rds_rdma_addr_kick();
	return true;
}

static void wake(struct rds_rdma_conn *conn, void *arg)
{
	bool *waiting = arg;

	if (!READ_ONCE(conn->cm.waits) || READ_ONCE(conn->ending))
		return;
	if (!rds_rdma_link_usable(&conn->local, &conn->remote))
		*waiting = true;
	else if (xchg(&conn->cm.waits, false))
		rds_rdma_conn_continue(conn);
}

static bool neighbour_known(struct dst_entry *dst, const struct in6_addr *addr)
{
	struct neighbour *n = dst_neigh_lookup(dst, addr);
	bool known;

	if (!n)
		return false;
	known = READ_ONCE(n->nud_state) & NUD_VALID;
	neigh_release(n);
	return known;
}

/* An IPv6 packet without contents.  Under RCU. */
static struct sk_buff *empty_packet(const struct rds_rdma_conn *conn,
				    struct dst_entry *dst)
{
	unsigned int room = LL_RESERVED_SPACE(dst->dev);
	struct ipv6hdr *hdr;
	struct sk_buff *skb;

	skb = alloc_skb(room + sizeof(*hdr), GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_reserve(skb, room);
	skb_reset_network_header(skb);
	hdr = skb_put_zero(skb, sizeof(*hdr));
	ip6_flow_hdr(hdr, 0, 0);
	hdr->nexthdr = NEXTHDR_NONE;
	hdr->hop_limit = ip6_dst_hoplimit(dst);
	hdr->saddr = conn->local.addr;
	hdr->daddr = conn->remote;
	skb_dst_set(skb, dst_clone(dst));
	return skb;
}

/*
 * IPv6 solicits a neighbour from the source address of the packet that waits
 * for it, and without one, as for rdma_cm, from the interface's link-local
 * address.  Interfaces get that address, and the route to link-local addresses
 * of others, up to a second after they are up, and a solicitation that was lost
 * is repeated after another second.  So this sends a packet without contents,
 * which the peer discards.
 */
void rds_rdma_link_ask_neighbour(const struct rds_rdma_conn *conn)
{
	struct sk_buff *skb = NULL;
	struct dst_entry *dst;

	if (!IS_ENABLED(CONFIG_IPV6) || ipv6_addr_v4mapped(&conn->local.addr))
		return;
	rcu_read_lock();	/* for @dst's interface */
	dst = route_v6(&conn->local, &conn->remote);
	if (dst && !(dst->dev->flags & IFF_LOOPBACK) &&
	    !neighbour_known(dst, &conn->remote))
		skb = empty_packet(conn, dst);
	if (skb)
		ip6_local_out(conn->local.net, NULL, skb);
	dst_release(dst);
	rcu_read_unlock();
}

/*
 * Whether the GID of the id still exists, which rxe looks up for each packet.
 * The id has a reference to the entry of the GID table, so the entry has no
 * other GID meanwhile.
 */
static bool conn_gid_valid(const struct rds_rdma_conn *conn)
{
	const struct ib_gid_attr *gid = READ_ONCE(conn->id->route.addr.dev_addr
							  .sgid_attr);
	const struct ib_device *ib = conn->dev->ib;
	bool valid;

	if (!gid || !rdma_protocol_roce(ib, rdma_start_port(ib)))
		return true;
	rcu_read_lock();
	valid = !IS_ERR(rdma_read_gid_attr_ndev_rcu(gid));
	rcu_read_unlock();
	return valid;
}

bool rds_rdma_link_may_speak(const struct rds_rdma_conn *conn)
{
	if (conn->dev->props.iwarp || READ_ONCE(conn->cm.silent_end))
		return true;
	return (conn->cm.held ?
			rds_rdma_link_usable(&conn->local, &conn->remote) :
			link_ok(&conn->local, &conn->remote)) &&
	       conn_gid_valid(conn);
}

void rds_rdma_link_peer_gone(struct rds_rdma_conn *conn)
{
	WRITE_ONCE(conn->cm.silent_end, true);
	if (READ_ONCE(conn->ending))
		rds_rdma_addr_kick();
}

static void set_going(const struct rds_rdma_laddr *what)
{
	spin_lock_bh(&link_lock);
	going = *what;
	spin_unlock_bh(&link_lock);
}

static void end_going(struct rds_rdma_conn *conn, void *arg)
{
	const struct rds_rdma_laddr *what = arg;

	if (la_goes(&conn->local, what))
		rds_rdma_conn_fail(conn, ipv6_addr_any(&what->addr) ?
						 RDS_DROP_LOCAL_RECONFIG :
						 RDS_DROP_ADDR_GONE);
}

/*
 * Number of connections at @what that may still send packets.  Those that wait
 * for their link have sent none and will not.  Late ones (rds_rdma_cm.late_of)
 * have no path, and their iWARP device may take long to answer.
 */
static unsigned int list_nr(const struct list_head *conns,
			    const struct rds_rdma_laddr *what)
{
	const struct rds_rdma_conn *conn;
	unsigned int n = 0;

	list_for_each_entry(conn, conns, dev_node)
		n += la_goes(&conn->local, what) && !conn->cm.shelved &&
		     !READ_ONCE(conn->cm.waits) && !READ_ONCE(conn->cm.late_of);
	return n;
}

/* Number of connections of @dev at @what that may still send packets */
static unsigned int dev_nr(struct rds_rdma_dev *dev,
			   const struct rds_rdma_laddr *what)
{
	unsigned int n;

	spin_lock_bh(&dev->lock);
	n = list_nr(&dev->conns, what) + list_nr(&dev->walk, what) +
	    list_nr(&dev->closing, what);
	spin_unlock_bh(&dev->lock);
	return n;
}

/*
 * Wait until peers have stopped dialling.  Of the peers that were told of an
 * end, @nr at most, each dials once, soon or never, as its request is held.
 * @held is dev->held from before they were told.
 */
static void wait_quiet(struct rds_rdma_dev *dev, unsigned int nr,
		       unsigned int held, unsigned long until)
{
	wait_event_timeout(dev->idle, READ_ONCE(dev->held) - held >= nr,
			   CALL_TIME);
	do {
		held = READ_ONCE(dev->held);
	} while (wait_event_timeout(dev->idle, READ_ONCE(dev->held) != held,
				    QUIET_TIME) &&
		 time_before(jiffies, until));
}

/*
 * End the connections of an interface or address, and wait for their ends with
 * a limit.
 */
static void link_goes(struct net *net, int ifindex, const struct in6_addr *addr)
{
	struct rds_rdma_laddr what = { .net = net,
				       .ifindex = ifindex,
				       .addr = *addr };
	unsigned long until = jiffies + GOING_TIME;
	struct rds_rdma_dev *dev;
	unsigned int nr, held;
	u64 serial = 0;

	/*
	 * Connections that are begun after this see it; the walk finds all that
	 * were before.
	 */
	set_going(&what);
	while ((dev = rds_rdma_dev_after(serial))) {
		serial = dev->serial;
		held = READ_ONCE(dev->held);
		nr = dev_nr(dev, &what);
		rds_rdma_dev_each_conn(dev, end_going, &what);
		wait_event_timeout(dev->idle, !dev_nr(dev, &what),
				   max(1L, (long)(until - jiffies)));
		/* Hardware does not lose its GSI QP. */
		if (nr && !dev->props.iwarp && dev->props.soft)
			wait_quiet(dev, nr, held, until);
		rds_rdma_dev_put(dev);
	}
}

/*
 * A scan that an earlier notifier queued may have seen @going, so queue
 * another.
 */
static void nothing_goes(void)
{
	static const struct rds_rdma_laddr none;

	set_going(&none);
	rds_rdma_addr_kick();
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);

	if (event == NETDEV_GOING_DOWN)
		link_goes(dev_net(ndev), ndev->ifindex, &in6addr_any);
	else if (event == NETDEV_UP)
		nothing_goes();
	return NOTIFY_DONE;
}

/*
 * Whether the address stays with another prefix; the routing tables keep its
 * route then.
 */
static bool addr_remains(const struct in_ifaddr *gone)
{
	const struct in_ifaddr *ifa;

	in_dev_for_each_ifa_rtnl(ifa, gone->ifa_dev)
		if (ifa != gone && ifa->ifa_local == gone->ifa_local)
			return true;
	return false;
}

static int inetaddr_event(struct notifier_block *nb, unsigned long event,
			  void *arg)
{
	const struct in_ifaddr *ifa = arg;
	struct in6_addr addr;

	if (event == NETDEV_DOWN && !addr_remains(ifa)) {
		ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
		link_goes(dev_net(ifa->ifa_dev->dev),
			  ifa->ifa_dev->dev->ifindex, &addr);
	} else if (event == NETDEV_UP) {
		nothing_goes();
	}
	return NOTIFY_DONE;
}

bool rds_rdma_link_shelve(struct rds_rdma_conn *conn)
{
	struct rds_rdma_dev *dev = conn->dev;
	bool shelve;

	if (!net_eq(conn->local.net, &init_net) ||
	    rds_rdma_link_may_speak(conn))
		return false;
	spin_lock_bh(&dev->lock);
	shelve = !dev->gone;
	conn->cm.shelved = shelve;
	if (shelve) {
		if (conn->cm.held)
			WRITE_ONCE(dev->held, dev->held + 1);
		wake_up_all(&dev->idle);
	}
	spin_unlock_bh(&dev->lock);
	/* The link may have become usable since the test. */
	if (shelve)
		rds_rdma_addr_kick();
	return shelve;
}

bool rds_rdma_link_unshelve(struct rds_rdma_dev *dev)
{
	struct rds_rdma_conn *conn;
	bool left = false;

	spin_lock_bh(&dev->lock);
	list_for_each_entry(conn, &dev->closing, dev_node) {
		if (!conn->cm.shelved)
			continue;
		if (!dev->gone && !rds_rdma_link_may_speak(conn)) {
			left |= conn_gid_valid(conn);
			continue;
		}
		conn->cm.shelved = false;
		queue_work(rds_rdma_wq, &conn->cm.reap_work);
	}
	spin_unlock_bh(&dev->lock);
	return !left;
}

static void dev_ready(struct rds_rdma_dev *dev, void *arg)
{
	bool *waiting = arg;

	*waiting |= !rds_rdma_link_unshelve(dev);
	rds_rdma_dev_each_conn(dev, wake, waiting);
}

bool rds_rdma_links_ready(void)
{
	bool waiting = false;

	rds_rdma_dev_each(dev_ready, &waiting);
	return !waiting;
}

static struct notifier_block netdev_nb = { .notifier_call = netdev_event };
/* Called before the notifier that removes the routes */
static struct notifier_block inet_nb = {
	.notifier_call	= inetaddr_event,
	.priority	= INT_MAX,
};

int rds_rdma_link_init(void)
{
	int err = register_netdevice_notifier(&netdev_nb);

	if (err)
		return err;
	err = register_inetaddr_notifier(&inet_nb);
	if (err)
		unregister_netdevice_notifier(&netdev_nb);
	return err;
}

void rds_rdma_link_exit(void)
{
	unregister_inetaddr_notifier(&inet_nb);
	unregister_netdevice_notifier(&netdev_nb);
}
