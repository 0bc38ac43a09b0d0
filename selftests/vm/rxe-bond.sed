# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rxe_net.c: a packet that came in over a bond belongs to the device of the bond's active slave, as
# with an adapter. Without this rxe sends over a bond, as ib_core gives it the bond's addresses, and
# drops what comes in. A packet to an address of which the device has no GID, as there are while the
# bond fails over, is dropped before rxe looks for its queue pair: rxe then drops a reference to the
# queue pair that the socket buffer was left with.
/^static int rxe_udp_encap_recv(/i\
#include <net/bonding.h>\
\
static struct rxe_dev *rxe_get_dev_from_bond(struct net_device *ndev)\
{\
	struct net_device *slave = NULL;\
\
	rcu_read_lock();\
	if (netif_is_bond_master(ndev))\
		slave = bond_option_active_slave_get_rcu(netdev_priv(ndev));\
	rcu_read_unlock();\
	return slave ? rxe_get_dev_from_net(slave) : NULL;\
}\

/if (!rxe && is_vlan_dev(ndev))/i\
	if (!rxe)\
		rxe = rxe_get_dev_from_bond(ndev);
/pkt->port_num = 1;/a\
	pkt->qp = NULL;
