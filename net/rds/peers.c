// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Networks that peers may come from; peers.h has the rules. */
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

/* Each connection that a peer opens is compared with all of them. */
#define PEERS_MAX	32
/* Bits ahead of an IPv4 address that is v4-mapped */
#define PEERS_V4_BITS	96
#define PEERS_LOG_TIME	(60 * HZ)

/* @bits counts those of an IPv6 address, also for IPv4. */
struct peers_network {
	struct in6_addr	addr;
	unsigned int	bits;
};

/**
 * struct rds_peers - networks of a namespace
 * @rcu: for freeing
 * @nr: number of @network
 * @network: the networks
 */
struct rds_peers {
	struct rcu_head		rcu;
	unsigned int		nr;
	struct peers_network	network[PEERS_MAX];
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

static bool network_parse(struct peers_network *net, char *text)
{
	char *addr = strsep(&text, "/");
	unsigned int bits, ahead;

	if (!rds_addr_from_text(addr, &net->addr))
		return false;
	ahead = ipv6_addr_v4mapped(&net->addr) ? PEERS_V4_BITS : 0;
	/* IPv4 has one form, so that the length means one thing. */
	if (ahead && strchr(addr, ':'))
		return false;
	bits = 128 - ahead;
	if (text && (kstrtouint(text, 10, &bits) || bits > 128 - ahead))
		return false;
	net->bits = ahead + bits;
	return true;
}

static bool peers_parse(struct rds_peers *peers, char *text)
{
	char *word;

	while ((word = strsep(&text, " \t\n"))) {
		if (!*word)
			continue;
		if (peers->nr == PEERS_MAX ||
		    !network_parse(&peers->network[peers->nr++], word))
			return false;
	}
	return true;
}

int rds_peers_set(struct rds_net *rn, char *text)
{
	struct rds_peers *peers, *old;

	peers = kzalloc(sizeof(*peers), GFP_KERNEL);
	if (!peers)
		return -ENOMEM;
	if (!peers_parse(peers, text)) {
		kfree(peers);
		return -EINVAL;
	}
	old = unrcu_pointer(xchg(&rn->peers, RCU_INITIALIZER(peers)));
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

void rds_peers_show(struct rds_net *rn, char *text)
{
	size_t size = RDS_PEERS_TEXT, at = 0;
	const struct rds_peers *peers;
	unsigned int i, ahead;

	/* An address has 45 characters, with blank, slash and length 50. */
	static_assert(PEERS_MAX * 50 < RDS_PEERS_TEXT);
	text[0] = 0;
	rcu_read_lock();
	peers = rcu_dereference(rn->peers);
	for (i = 0; peers && i < peers->nr; i++) {
		const struct peers_network *net = &peers->network[i];

		ahead = ipv6_addr_v4mapped(&net->addr) ? PEERS_V4_BITS : 0;
		at += scnprintf(text + at, size - at, "%s", i ? " " : "");
		at += rds_addr_to_text(text + at, size - at, &net->addr);
		at += scnprintf(text + at, size - at, "/%u", net->bits - ahead);
	}
	rcu_read_unlock();
}

void rds_peers_net_exit(struct rds_net *rn)
{
	kfree(rcu_dereference_protected(rn->peers, true));
}

/* ::/0 is IPv6 alone, as 0.0.0.0/0 is IPv4 alone. */
static bool network_has(const struct peers_network *net,
			const struct in6_addr *addr)
{
	return ipv6_addr_v4mapped(&net->addr) == ipv6_addr_v4mapped(addr) &&
	       ipv6_prefix_equal(&net->addr, addr, net->bits);
}

bool rds_peers_have(struct rds_net *rn, const struct in6_addr *addr)
{
	const struct rds_peers *peers;
	unsigned int i;
	bool has;

	rcu_read_lock();
	peers = rcu_dereference(rn->peers);
	has = !peers || !peers->nr;
	for (i = 0; !has && i < peers->nr; i++)
		has = network_has(&peers->network[i], addr);
	rcu_read_unlock();
	return has;
}

bool rds_access_peer(struct net *net, const struct in6_addr *addr)
{
	static DEFINE_RATELIMIT_STATE(limit, PEERS_LOG_TIME, 1);

	if (rds_peers_have(rds_net(net), addr))
		return true;
	rds_drop(net, RDS_DROP_PEER_DENIED);
	ratelimit_set_flags(&limit, RATELIMIT_MSG_ON_RELEASE);
	if (__ratelimit(&limit))
		pr_info("rds: no connection from %pI6c in network namespace %u, see net.rds.peer_networks\n",
			addr, net->ns.inum);
	return false;
}
EXPORT_SYMBOL_NS_GPL(rds_access_peer, RDS_NS);
