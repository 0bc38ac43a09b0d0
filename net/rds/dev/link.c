// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Interfaces and addresses that are removed or go down.  Connections end before
 * their interface goes down (NETDEV_GOING_DOWN), or before the routing tables
 * forget their IPv4 address (the notifier of this file is called first), so
 * that the peer learns of the end without a time-out.  The notifier waits for
 * that a short time, for all devices together, as others wait for the RTNL; for
 * some devices longer, as a packet that is not sent costs more (quirks.c).  No
 * connection is begun over an interface that is down, or about to be.
 *
 * An attempt waits for its link and is not repeated: the context that moves it
 * out of WAIT_LINK has it dialled (admit.c), so that no attempt is forgotten or
 * dialled twice.  The scan of addr.c tests links again whenever something
 * changes.
 *
 * Locks: notifiers are called under the RTNL, and link_lock is a leaf.
 * Notifiers may take no lock under which the RTNL is waited for, such as
 * devs_lock.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip6_fib.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sch_generic.h>

#include "layer.h"
#include "quirks.h"

/*
 * Longest time that a notifier waits for the connections of an interface or
 * address
 */
#define GOING_TIME	HZ
/* The same if nothing is lost but the notice to the peer */
#define TELL_TIME	(HZ / 20)
/* Time without a notifier after which the RTNL is held by another caller */
#define GOING_PAUSE	(HZ / 10)
/*
 * The interface or address that goes down or is removed now.  One at a time, as
 * notifiers run under the RTNL.  It stays set after the notifier, until the
 * next one: by then the interface counts as down.
 */
static DEFINE_SPINLOCK(link_lock);
/* net NULL: none; an address of :: means any */
static struct rds_dev_laddr going;

static bool la_goes(const struct rds_dev_laddr *la,
		    const struct rds_dev_laddr *what)
{
	return la->net == what->net && la->ifindex == what->ifindex &&
	       (ipv6_addr_any(&what->addr) ||
		ipv6_addr_equal(&la->addr, &what->addr));
}

/*
 * Whether @la has a route to @remote.  It has none either if the address is
 * removed.
 */
static bool has_route_v4(const struct rds_dev_laddr *la,
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
static struct dst_entry *route_v6(const struct rds_dev_laddr *la,
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

static u32 route_flags_v6(const struct rds_dev_laddr *la,
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
static bool has_routes_v6(const struct rds_dev_laddr *la,
			  const struct in6_addr *remote)
{
	return route_flags_v6(la, remote) &&
	       route_flags_v6(la, &la->addr) & RTF_LOCAL;
}

bool rds_dev_link_ok(const struct rds_dev_laddr *la,
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

bool rds_dev_link_usable(const struct rds_dev_laddr *la,
			 const struct in6_addr *remote)
{
	bool goes;

	spin_lock_bh(&link_lock);
	goes = la_goes(la, &going);
	spin_unlock_bh(&link_lock);
	return !goes && rds_dev_link_ok(la, remote);
}

bool rds_dev_link_waits(struct rds_dev_id *id)
{
	if (!rds_dev_id_on(id, RDS_DEV_ID_EV_WAIT))
		return true;
	/*
	 * Either the test sees a change of the link, or the scan that follows
	 * the change sees the move: to queue its work is a full barrier, too.
	 */
	smp_mb();
	if (rds_dev_link_usable(&id->local, &id->remote))
		return !rds_dev_id_on(id, RDS_DEV_ID_EV_LINK);
	rds_dev_link_quiet(id);
	/*
	 * Some changes call no notifier; the scan is repeated while an attempt
	 * waits.
	 */
	rds_dev_addr_kick();
	return true;
}

static void wake(struct rds_dev_id *id, void *arg)
{
	bool *waiting = arg;

	if (READ_ONCE(id->state) != RDS_DEV_ID_WAIT_LINK)
		return;
	if (!rds_dev_link_usable(&id->local, &id->remote))
		*waiting = true;
	else
		rds_dev_id_continue(id, RDS_DEV_ID_EV_LINK);
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
static struct sk_buff *empty_packet(const struct rds_dev_id *id,
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
	hdr->saddr = id->local.addr;
	hdr->daddr = id->remote;
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
void rds_dev_link_ask_neighbour(const struct rds_dev_id *id)
{
	struct sk_buff *skb = NULL;
	struct dst_entry *dst;

	if (!IS_ENABLED(CONFIG_IPV6) || ipv6_addr_v4mapped(&id->local.addr))
		return;
	rcu_read_lock();	/* for @dst's interface */
	dst = route_v6(&id->local, &id->remote);
	if (dst && !(dst->dev->flags & IFF_LOOPBACK) &&
	    !neighbour_known(dst, &id->remote))
		skb = empty_packet(id, dst);
	if (skb)
		ip6_local_out(id->local.net, NULL, skb);
	dst_release(dst);
	rcu_read_unlock();
}

static void set_going(const struct rds_dev_laddr *what)
{
	spin_lock_bh(&link_lock);
	going = *what;
	spin_unlock_bh(&link_lock);
}

/*
 * A connection that a notifier has marked sends no packet any more: it has
 * left, waits for its link, is shelved, or is a late one, whose iWARP device
 * may take long to answer.
 */
void rds_dev_link_quiet_locked(struct rds_dev_id *id)
{
	struct rds_dev *dev = id->dev;

	lockdep_assert_held(&dev->lock);
	if (!id->goes || id->goes != dev->goes)
		return;
	id->goes = 0;
	WRITE_ONCE(dev->nr_going, dev->nr_going - 1);
	wake_up_all(&dev->idle);
}

void rds_dev_link_quiet(struct rds_dev_id *id)
{
	spin_lock_bh(&id->dev->lock);
	rds_dev_link_quiet_locked(id);
	spin_unlock_bh(&id->dev->lock);
}

static bool may_send(const struct rds_dev_id *id)
{
	enum rds_dev_id_state state = READ_ONCE(id->state);

	switch (state) {
	case RDS_DEV_ID_WAIT_LINK:
	case RDS_DEV_ID_WAIT_TURN:
	case RDS_DEV_ID_LATE:
	case RDS_DEV_ID_SHELVED:
		return false;
	default:
		/* One that ended before it was dialled is never asked for. */
		return state < RDS_DEV_ID_ENDING || READ_ONCE(id->cm_id);
	}
}

/* Marks of an earlier call are void. */
static void marks_begin(struct rds_dev *dev)
{
	spin_lock_bh(&dev->lock);
	dev->goes++;
	dev->goes += !dev->goes;
	dev->nr_going = 0;
	spin_unlock_bh(&dev->lock);
}

/*
 * An interface or address that goes: how many ids are to end for it, and how
 * many of them may still send packets
 */
struct loss {
	const struct rds_dev_laddr	*what;
	unsigned int			due;
	unsigned int			marked;
};

static void mark_going(struct rds_dev_id *id, void *arg)
{
	struct loss *loss = arg;

	if (!la_goes(&id->local, loss->what))
		return;
	spin_lock_bh(&id->dev->lock);
	if (may_send(id)) {
		id->goes = id->dev->goes;
		id->dev->nr_going++;
		loss->marked++;
	}
	if (!rds_dev_id_ends(id)) {
		id->due_why = ipv6_addr_any(&loss->what->addr) ?
				      RDS_DEV_WHY_LINK : RDS_DEV_WHY_ADDR;
		list_move_tail(&id->due_node, &id->dev->due);
		loss->due++;
	}
	spin_unlock_bh(&id->dev->lock);
}

static void end_due(struct rds_dev_id *id)
{
	rds_dev_id_fail(id, READ_ONCE(id->due_why));
}

void rds_dev_link_due(struct work_struct *work)
{
	struct rds_dev *dev = container_of(work, struct rds_dev, due_work);

	rds_dev_each_due(dev, end_due);
	rds_dev_put(dev);
}

/*
 * End what is due.  Who is told closes at once, in other contexts, and takes
 * processors from the one that goes on to tell.  Where nothing is lost by that
 * but the notice to some peers, a work item tells, without the RTNL.
 */
static void tell_due(struct rds_dev *dev)
{
	if (dev->props.gsi_dies) {
		rds_dev_each_due(dev, end_due);
		return;
	}
	kref_get(&dev->ref);
	if (!queue_work(rds_dev_wq, &dev->due_work))
		rds_dev_put(dev);
}

/*
 * Time that notifiers have taken under the present hold of the RTNL, in
 * jiffies, and the end of the last of them.  When an interface goes down, those
 * above it go with it, under one hold: they share the time.  A pause, or an
 * interface that comes up, tells that it is another hold.  Under the RTNL.
 */
static unsigned long spent, spent_last;

static unsigned long time_spent(void)
{
	ASSERT_RTNL();
	if (time_after(jiffies, spent_last + GOING_PAUSE))
		spent = 0;
	return spent;
}

/* Have the connections of @dev end, and wait for that until @until. */
static void dev_link_goes(struct rds_dev *dev, const struct rds_dev_laddr *what,
			  unsigned long until)
{
	unsigned int held = READ_ONCE(dev->held);
	struct loss loss = { .what = what };

	marks_begin(dev);
	rds_dev_each_id_at(dev, what, mark_going, &loss);
	if (loss.due)
		tell_due(dev);
	if (!loss.marked)
		return;
	wait_event_timeout(dev->idle, !READ_ONCE(dev->nr_going),
			   rds_dev_time_left(until, GOING_TIME));
	rds_dev_quirk_wait_peers(dev, loss.marked, held, until);
}

/*
 * End the connections of an interface or address, and wait for their ends with
 * a limit.
 */
static void link_goes(struct net *net, int ifindex, const struct in6_addr *addr)
{
	struct rds_dev_laddr what = { .net = net,
				       .ifindex = ifindex,
				       .addr = *addr };
	unsigned long begin = jiffies, gone = time_spent();
	struct rds_dev *dev;
	u64 serial = 0;

	/*
	 * Connections that are begun after this see it; the walks find all that
	 * were before.
	 */
	set_going(&what);
	while ((dev = rds_dev_after(serial))) {
		serial = dev->serial;
		dev_link_goes(dev, &what, begin - gone +
			      (dev->props.gsi_dies ? GOING_TIME : TELL_TIME));
		rds_dev_put(dev);
	}
	spent_last = jiffies;
	spent = gone + (spent_last - begin);
}

/*
 * A scan that an earlier notifier queued may have seen @going, so queue
 * another.
 */
static void nothing_goes(void)
{
	static const struct rds_dev_laddr none;

	set_going(&none);
	spent = 0;
	rds_dev_addr_kick();
}

static int link_event(struct notifier_block *nb, unsigned long event, void *arg)
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

	/*
	 * With an interface that is down its connections have ended, and none
	 * has begun.
	 */
	if (event == NETDEV_DOWN && netif_running(ifa->ifa_dev->dev) &&
	    !addr_remains(ifa)) {
		ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
		link_goes(dev_net(ifa->ifa_dev->dev),
			  ifa->ifa_dev->dev->ifindex, &addr);
	} else if (event == NETDEV_UP) {
		nothing_goes();
	}
	return NOTIFY_DONE;
}

static void dev_ready(struct rds_dev *dev, void *arg)
{
	bool *waiting = arg;

	*waiting |= !rds_dev_quirk_unshelve(dev);
	rds_dev_each_id(dev, wake, waiting);
}

bool rds_dev_links_ready(void)
{
	bool waiting = false;

	rds_dev_each(dev_ready, &waiting);
	return !waiting;
}

static struct notifier_block netdev_nb = { .notifier_call = link_event };
/* Called before the notifier that removes the routes */
static struct notifier_block inet_nb = {
	.notifier_call	= inetaddr_event,
	.priority	= INT_MAX,
};

int rds_dev_link_init(void)
{
	int err = register_netdevice_notifier(&netdev_nb);

	if (err)
		return err;
	err = register_inetaddr_notifier(&inet_nb);
	if (err)
		unregister_netdevice_notifier(&netdev_nb);
	return err;
}

void rds_dev_link_exit(void)
{
	unregister_inetaddr_notifier(&inet_nb);
	unregister_netdevice_notifier(&netdev_nb);
}
