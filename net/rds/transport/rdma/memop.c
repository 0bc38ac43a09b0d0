// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The functions of &rds_memop_vtable: keys for programs, at a local
 * address.  op.c carries operations out.
 */
#include "rdma.h"

/*
 * Implements &rds_memop_vtable.mr_flush for all namespaces, as devices have the
 * kept keys.
 */
static void memop_mr_flush(struct net *net)
{
	BUILD_BUG_ON(RDS_DEV_MR_LARGE < RDS_MEM_MAX_PAGES);
	rds_dev_mr_flush_all(&rds_rdma_user);
}

/* Implements &rds_memop_vtable.mr_reg */
static int memop_mr_reg(struct net *net, const struct in6_addr *laddr,
			u32 scope, const struct rds_mem *mem, u32 rights,
			struct rds_mr_key *key)
{
	struct rds_dev_domain *dom = rds_dev_by_addr(&rds_rdma_user, net,
						     laddr, scope);
	enum dma_data_direction dir = DMA_TO_DEVICE;
	int access = 0, err;
	struct rds_dev_mr *mr;

	if (!dom)
		return -ENODEV;
	if (rights & RDS_MR_REMOTE_READ)
		access |= IB_ACCESS_REMOTE_READ;
	if (rights & RDS_MR_REMOTE_WRITE) {
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
		if (READ_ONCE(dom->dev->props.atomics))
			access |= IB_ACCESS_REMOTE_ATOMIC;
		dir = DMA_BIDIRECTIONAL;
	}
	err = WARN_ON_ONCE(dir != DMA_TO_DEVICE && !mem->writable) ? -EINVAL :
	      rds_dev_mr_reg(dom, mem->bv, mem->nr, mem->bytes, access, dir,
			     rights & RDS_MR_USE_ONCE, &mr);
	if (!err) {
		key->rkey = rds_dev_mr_rkey(mr);
		key->offset = lower_32_bits(rds_dev_mr_iova(mr));
		key->handle = mr;
	}
	rds_dev_domain_put(dom);
	return err;
}

/* Implements &rds_memop_vtable.mr_dereg */
static void memop_mr_dereg(void *handle)
{
	rds_dev_mr_dereg(handle);
}

/* Implements &rds_memop_vtable.op_check */
static int memop_op_check(struct net *net, const struct in6_addr *laddr,
			  u32 scope, const struct rds_tx_operation *op)
{
	struct rds_dev_domain *dom = rds_dev_by_addr(&rds_rdma_user, net,
						     laddr, scope);
	bool atomic = op->kind == RDS_OP_FADD || op->kind == RDS_OP_CSWP;
	int err = 0;

	if (!dom)
		return -ENODEV;
	if (atomic &&
	    (!READ_ONCE(dom->dev->props.atomics) ||
	     (op->masked && !READ_ONCE(dom->dev->props.masked))))
		err = -EOPNOTSUPP;
	rds_dev_domain_put(dom);
	return err;
}

const struct rds_memop_vtable rds_rdma_memop_vtable = {
	.mr_reg		= memop_mr_reg,
	.mr_dereg	= memop_mr_dereg,
	.mr_flush	= memop_mr_flush,
	.op_check	= memop_op_check,
};
