// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Networks that connections may be from, and to; peers.h has the rules. */
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "netns.h"
#include "peers.h"
#include <net/rds/access.h>
#include <net/rds/transport.h>

/* Each connection that a peer opens is compared with all of them. */
#define NETWORKS_MAX		32
/* Bits ahead of an IPv4 address that is v4-mapped */
#define NETWORKS_V4_BITS	96
#define PEERS_LOG_TIME		(60 * HZ)

/* @bits counts those of an IPv6 address, also for IPv4. */
struct network {
	struct in6_addr	addr;
	unsigned int	bits;
};

/**
 * struct rds_networks - a list of networks
 * @rcu: for freeing
 * @nr: number of @network
 * @network: the networks
 */
struct rds_networks {
	struct rcu_head		rcu;
	unsigned int		nr;
	struct network	network[NETWORKS_MAX];
};

bool rds_addr_from_text(const char *text, struct in6_addr *addr)
{
	const char *end;
	__be32 v4;

	if (in4_pton(text, -1, (u8 *)&v4, '\0', &end) && !*end) {
		ipv6_addr_set_v4mapped(v4, addr);
		return true;
	}
	return in6_pton(text, -1, addr->s6_addr, '\0', &end) && !*end;
}

int rds_addr_to_text(char *text, size_t size, const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return scnprintf(text, size, "%pI4", &addr->s6_addr32[3]);
	return scnprintf(text, size, "%pI6c", addr);
}

static bool network_parse(struct network *net, char *text)
{
	char *addr = strsep(&text, "/");
	unsigned int bits, ahead;

	if (!rds_addr_from_text(addr, &net->addr))
		return false;
	ahead = ipv6_addr_v4mapped(&net->addr) ? NETWORKS_V4_BITS : 0;
	/* IPv4 has one form, so that the length means one thing. */
	if (ahead && strchr(addr, ':'))
		return false;
	bits = 128 - ahead;
	if (text && (kstrtouint(text, 10, &bits) || bits > 128 - ahead))
		return false;
	net->bits = ahead + bits;
	return true;
}

static bool networks_parse(struct rds_networks *nets, char *text)
{
	char *word;

	while ((word = strsep(&text, " \t\n"))) {
		if (!*word)
			continue;
		if (nets->nr == NETWORKS_MAX ||
		    !network_parse(&nets->network[nets->nr++], word))
			return false;
	}
	return true;
}

int rds_networks_set(struct rds_networks __rcu **list, char *text)
{
	struct rds_networks *nets, *old;

	nets = kzalloc(sizeof(*nets), GFP_KERNEL);
	if (!nets)
		return -ENOMEM;
	if (!networks_parse(nets, text)) {
		kfree(nets);
		return -EINVAL;
	}
	old = unrcu_pointer(xchg(list, RCU_INITIALIZER(nets)));
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

void rds_networks_show(struct rds_networks __rcu *const *list, char *text)
{
	size_t size = RDS_NETWORKS_TEXT, at = 0;
	const struct rds_networks *nets;
	unsigned int i, ahead;

	/* An address has 45 characters, with blank, slash and length 50. */
	static_assert(NETWORKS_MAX * 50 < RDS_NETWORKS_TEXT);
	text[0] = 0;
	rcu_read_lock();
	nets = rcu_dereference(*list);
	for (i = 0; nets && i < nets->nr; i++) {
		const struct network *net = &nets->network[i];

		ahead = ipv6_addr_v4mapped(&net->addr) ? NETWORKS_V4_BITS : 0;
		at += scnprintf(text + at, size - at, "%s", i ? " " : "");
		at += rds_addr_to_text(text + at, size - at, &net->addr);
		at += scnprintf(text + at, size - at, "/%u", net->bits - ahead);
	}
	rcu_read_unlock();
}

void rds_peers_net_exit(struct rds_net *rn)
{
	kfree(rcu_dereference_protected(rn->peer_networks, true));
	kfree(rcu_dereference_protected(rn->listen_networks, true));
}

/* ::/0 is IPv6 alone, as 0.0.0.0/0 is IPv4 alone. */
static bool network_has(const struct network *net,
			const struct in6_addr *addr)
{
	return ipv6_addr_v4mapped(&net->addr) == ipv6_addr_v4mapped(addr) &&
	       ipv6_prefix_equal(&net->addr, addr, net->bits);
}

/* An empty list has all addresses. */
static bool networks_have(struct rds_networks __rcu *const *list,
			  const struct in6_addr *addr)
{
	const struct rds_networks *nets;
	unsigned int i;
	bool has;

	rcu_read_lock();
	nets = rcu_dereference(*list);
	has = !nets || !nets->nr;
	for (i = 0; !has && i < nets->nr; i++)
		has = network_has(&nets->network[i], addr);
	rcu_read_unlock();
	return has;
}

enum rds_drop_reason rds_peers_judge(const struct rds_net *rn,
				     const struct rds_path_addr *addr)
{
	/* A connection of an address to itself has no peer. */
	if (ipv6_addr_equal(&addr->laddr, &addr->faddr))
		return RDS_DROP_NONE;
	if (!networks_have(&rn->peer_networks, &addr->faddr))
		return RDS_DROP_PEER_DENIED;
	if (!networks_have(&rn->listen_networks, &addr->laddr))
		return RDS_DROP_ADDR_DENIED;
	return RDS_DROP_NONE;
}

/* Log a refusal, unless one was logged in the last minute. */
static void peers_log(const struct net *net, const struct rds_path_addr *addr,
		      struct ratelimit_state *limit, const char *setting)
{
	if (__ratelimit(limit))
		pr_info("rds: no connection from %pI6c to %pI6c in network namespace %u, see net.rds.%s\n",
			&addr->faddr, &addr->laddr, net->ns.inum, setting);
}

bool rds_access_peer(struct net *net, const struct rds_path_addr *addr)
{
	static RDS_DEFINE_LOG_LIMIT(from, PEERS_LOG_TIME);
	static RDS_DEFINE_LOG_LIMIT(to, PEERS_LOG_TIME);
	enum rds_drop_reason why = rds_peers_judge(rds_net(net), addr);

	if (why == RDS_DROP_NONE)
		return true;
	rds_drop(net, why);
	if (why == RDS_DROP_PEER_DENIED)
		peers_log(net, addr, &from, "peer_networks");
	else
		peers_log(net, addr, &to, "listen_networks");
	return false;
}
EXPORT_SYMBOL_NS_GPL(rds_access_peer, RDS_NS);
