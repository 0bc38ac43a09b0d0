// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Links and addresses that go and come: TCP would notice a link that is down
 * only by the time that passes.  A connection is marked here, its worker tells
 * the core, and the core decides whether another path is better.
 */
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <net/rds/join.h>
#include <net/sock.h>

#include "tcp.h"

/* Bits of rds_tcp_sock.cut_off */
#define NETDEV_NO_DEVICE	BIT(0)
#define NETDEV_NO_ADDRESS	BIT(1)

/* What has changed: a device, or an address that one of them had */
struct netdev_news {
	int			ifindex;
	const struct in6_addr	*addr;
	bool			alive;
};

/* To unregister a notifier reports all devices as gone. */
static bool netdev_ended;

static bool netdev_concerns(const struct rds_tcp_sock *ts,
			    const struct netdev_news *news)
{
	struct sock *sk = ts->sock->sk;
	struct rds_path_addr addr;

	/* The device over which the peer's packets come */
	if (!news->addr)
		return READ_ONCE(sk->sk_rx_dst_ifindex) == news->ifindex;
	rds_tcp_sock_addr(sk, &addr);
	return ipv6_addr_equal(&addr.laddr, news->addr);
}

static void netdev_apply(struct net *net, const struct netdev_news *news)
{
	u8 bit = news->addr ? NETDEV_NO_ADDRESS : NETDEV_NO_DEVICE;
	struct rds_tcp_net *tn = rds_tcp_net(net);
	struct rds_tcp_sock *ts;

	/* A namespace whose making failed may not have this yet. */
	if (!tn || READ_ONCE(netdev_ended))
		return;
	spin_lock_bh(&tn->lock);
	list_for_each_entry(ts, &tn->socks.entries, node) {
		if (!!(ts->cut_off & bit) == !news->alive ||
		    !netdev_concerns(ts, news))
			continue;
		WRITE_ONCE(ts->cut_off, ts->cut_off ^ bit);
		/* path_close takes it off the list, and then waits for that. */
		mod_delayed_work(rds_tcp_wq, &ts->retry, 0);
	}
	spin_unlock_bh(&tn->lock);
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct netdev_news news = { .ifindex = dev->ifindex };

	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGE:
		news.alive = netif_running(dev) && netif_carrier_ok(dev);
		break;
	case NETDEV_DOWN:
	case NETDEV_UNREGISTER:
		break;
	default:
		return NOTIFY_DONE;
	}
	netdev_apply(dev_net(dev), &news);
	return NOTIFY_DONE;
}

static int netdev_inet_event(struct notifier_block *nb, unsigned long event,
			     void *ptr)
{
	const struct in_ifaddr *ifa = ptr;
	struct in6_addr addr;
	struct netdev_news news = { .addr = &addr,
				    .alive = event == NETDEV_UP };

	if (event != NETDEV_UP && event != NETDEV_DOWN)
		return NOTIFY_DONE;
	ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
	netdev_apply(dev_net(ifa->ifa_dev->dev), &news);
	return NOTIFY_DONE;
}

#if IS_ENABLED(CONFIG_IPV6)
static int netdev_inet6_event(struct notifier_block *nb, unsigned long event,
			      void *ptr)
{
	const struct inet6_ifaddr *ifa = ptr;
	struct netdev_news news = { .addr = &ifa->addr,
				    .alive = event == NETDEV_UP };

	if (event == NETDEV_UP || event == NETDEV_DOWN)
		netdev_apply(dev_net(ifa->idev->dev), &news);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_inet6_nb = {
	.notifier_call = netdev_inet6_event,
};
#endif

static struct notifier_block netdev_nb = {
	.notifier_call = netdev_event,
};

static struct notifier_block netdev_inet_nb = {
	.notifier_call = netdev_inet_event,
};

/**
 * rds_tcp_netdev_step - tell the core that the network of a connection is gone,
 * or is back
 * @ts: connection, attached; the socket is locked
 */
void rds_tcp_netdev_step(struct rds_tcp_sock *ts)
{
	bool cut_off = READ_ONCE(ts->cut_off);

	sock_owned_by_me(ts->sock->sk);
	if (!ts->up || cut_off == ts->cut_off_told)
		return;
	ts->cut_off_told = cut_off;
	rds_path_cut_off(ts->path, cut_off);
}

int __init rds_tcp_netdev_init(void)
{
	int err = register_netdevice_notifier(&netdev_nb);

	if (err)
		return err;
	register_inetaddr_notifier(&netdev_inet_nb);
#if IS_ENABLED(CONFIG_IPV6)
	register_inet6addr_notifier(&netdev_inet6_nb);
#endif
	return 0;
}

void rds_tcp_netdev_exit(void)
{
	WRITE_ONCE(netdev_ended, true);
#if IS_ENABLED(CONFIG_IPV6)
	unregister_inet6addr_notifier(&netdev_inet6_nb);
#endif
	unregister_inetaddr_notifier(&netdev_inet_nb);
	unregister_netdevice_notifier(&netdev_nb);
}
