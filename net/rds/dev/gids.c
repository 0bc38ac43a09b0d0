// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The GID table of a RoCE device, compared with the table of addresses. */
#include <linux/netdevice.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>

#include "addr.h"

/* The address that a GID stands for.  False: none of a namespace. */
static bool gid_address(const struct ib_gid_attr *attr,
			struct rds_dev_laddr *la)
{
	struct net_device *ndev;
	bool known;

	memset(la, 0, sizeof(*la));
	memcpy(&la->addr, &attr->gid, sizeof(la->addr));
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	known = !IS_ERR(ndev);
	if (known) {
		la->net = dev_net(ndev);
		la->ifindex = ndev->ifindex;
		if (ipv6_addr_type(&la->addr) & IPV6_ADDR_LINKLOCAL)
			la->scope = la->ifindex;
	}
	rcu_read_unlock();
	return known;
}

/* What a walk over the GIDs of a device needs */
struct gid_walk {
	struct rds_dev	*dev;
	unsigned int		stamp;
	void			(*probe)(struct rds_dev_addr *e);
};

static void look_at_gid(const struct gid_walk *w, u32 port, int index)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(w->dev->ib, port,
							   index);
	struct rds_dev_laddr la;
	struct rds_dev_addr *e;
	bool known;

	if (IS_ERR(attr))
		return;
	known = gid_address(attr, &la);
	rdma_put_gid_attr(attr);
	/* The table has namespaces only as long as they exist. */
	e = known ? rds_dev_addr_find(&la) : NULL;
	if (!e)
		return;
	if (e->dev != w->dev)
		w->probe(e);
	e->gid_seen = w->stamp;
}

void rds_dev_gids_compare(struct rds_dev *dev, unsigned int stamp,
			  void (*probe)(struct rds_dev_addr *e))
{
	const struct gid_walk w = { dev, stamp, probe };
	struct rds_dev_addr *e, *tmp;
	struct ib_port_attr attr;
	u32 port;
	int i;

	lockdep_assert_held(&rds_dev_scan_lock);
	rdma_for_each_port(dev->ib, port) {
		if (ib_query_port(dev->ib, port, &attr))
			continue;
		for (i = 0; i < attr.gid_tbl_len; i++) {
			look_at_gid(&w, port, i);
			cond_resched();
		}
	}
	/* Others have lost their GID, or have it at another device now. */
	list_for_each_entry_safe(e, tmp, &dev->addrs, dev_node)
		if (e->gid_seen != stamp)
			probe(e);
}
