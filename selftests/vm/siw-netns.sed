# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# siw_cm.c: open sockets in the network namespace of the interface, not in that of the caller (with
# rds_rdma the caller is a kernel thread of the first namespace).
/^#include "siw_cm.h"/a\
\
static struct net *siw_net(struct siw_device *sdev)\
{\
	struct net_device *ndev = ib_device_get_netdev(&sdev->base_dev, SIW_PORT);\
	struct net *net = ndev ? dev_net(ndev) : &init_net;\
\
	dev_put(ndev);\
	return net;\
}
s/= sock_create(/= sock_create_kern(siw_net(sdev), /
