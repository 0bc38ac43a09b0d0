# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# siw_cm.c: sockets are opened in the namespace of the interface, not in that of whoever calls
# (a kernel thread of the first one, with rds_rdma).
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
