// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A queue pair on RoCE that is its own peer, connected without the CM
 * (registrar.c says why).
 */
#include <rdma/ib_cache.h>

#include "layer.h"

static int loop_connect(struct ib_qp *qp, const struct ib_gid_attr *gid)
{
	struct ib_qp_attr attr = {
		.qp_state		= IB_QPS_INIT,
		.port_num		= gid->port_num,
	};
	int err;

	err = ib_modify_qp(qp, &attr,
			   IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
				   IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	attr = (struct ib_qp_attr) {
		.qp_state		= IB_QPS_RTR,
		.path_mtu		= IB_MTU_1024,
		.dest_qp_num		= qp->qp_num,
		.max_dest_rd_atomic	= 1,
		.ah_attr		= {
			.type	= rdma_ah_find_type(qp->device, gid->port_num),
		},
	};
	rdma_ah_set_grh(&attr.ah_attr, (union ib_gid *)&gid->gid, 0, gid->index,
			1, 0);
	rdma_ah_set_port_num(&attr.ah_attr, gid->port_num);
	err = ib_modify_qp(qp, &attr,
			   IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
				   IB_QP_DEST_QPN | IB_QP_RQ_PSN |
				   IB_QP_MAX_DEST_RD_ATOMIC |
				   IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	attr = (struct ib_qp_attr) {
		.qp_state		= IB_QPS_RTS,
		.timeout		= 14,
		.retry_cnt		= 7,
		.rnr_retry		= 7,
		.max_rd_atomic		= 1,
	};
	return ib_modify_qp(qp, &attr,
			    IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
				    IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
				    IB_QP_MAX_QP_RD_ATOMIC);
}

int rds_dev_qp_loop(struct ib_qp *qp, const struct in6_addr *addr)
{
	const struct ib_gid_attr *gid;
	int err;

	gid = rdma_find_gid(qp->device, (union ib_gid *)addr,
			    IB_GID_TYPE_ROCE_UDP_ENCAP, NULL);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	err = loop_connect(qp, gid);
	rdma_put_gid_attr(gid);
	return err;
}
