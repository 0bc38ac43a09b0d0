// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Remote memory operations of the test transport: the device is memcpy().  Keys
 * are valid in all namespaces.  Operations are carried out when they are posted
 * or, if hold is set, kept until finish is written to.
 */
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/rds/transport.h>

#include "rds_test.h"

struct test_mr {
	struct list_head	node;
	const struct rds_mem	*mem;
	u32			rights;
	u32			rkey;
	u32			offset;
};

struct test_op {
	struct list_head	node;
	struct rds_path		*path;
	struct rds_tx_operation	*op;
};

static int fail_map;
module_param(fail_map, int, 0644);
MODULE_PARM_DESC(fail_map, "mr_reg answers with this, if it is not 0");

static bool hold;
module_param(hold, bool, 0644);
MODULE_PARM_DESC(hold, "operations stay under way until finish is written to");

static int nr_keys;
module_param(nr_keys, int, 0444);
MODULE_PARM_DESC(nr_keys, "keys that exist");

static int nr_held;
module_param(nr_held, int, 0444);
MODULE_PARM_DESC(nr_held, "operations under way");

static int nr_executed;
module_param(nr_executed, int, 0444);
MODULE_PARM_DESC(nr_executed, "operations carried out");

static LIST_HEAD(mrs);
static LIST_HEAD(held);
static DEFINE_SPINLOCK(lock);		/* guards mrs and held */
static DEFINE_MUTEX(finish_lock);	/* held while operations are ended */
static u32 next_rkey = 0x1000;

static int test_mr_reg(struct net *net, const struct in6_addr *laddr, u32 scope,
		       const struct rds_mem *mem, u32 rights,
		       struct rds_mr_key *key)
{
	struct test_mr *mr;

	if (fail_map)
		return fail_map;
	mr = kzalloc_obj(*mr);
	if (!mr)
		return -ENOMEM;
	mr->mem = mem;
	mr->rights = rights;
	mr->offset = get_random_u32_below(1 << 18) << PAGE_SHIFT |
		     mem->bv[0].bv_offset;
	if (rights & RDS_MR_USE_ONCE)
		mr->offset |= RDS_MR_OFFSET_ONCE;
	spin_lock_bh(&lock);
	mr->rkey = next_rkey++;
	list_add(&mr->node, &mrs);
	nr_keys++;
	spin_unlock_bh(&lock);
	key->rkey = mr->rkey;
	key->offset = mr->offset;
	key->handle = mr;
	return 0;
}

static void test_mr_dereg(void *handle)
{
	struct test_mr *mr = handle;

	spin_lock_bh(&lock);
	list_del(&mr->node);
	nr_keys--;
	spin_unlock_bh(&lock);
	kfree(mr);
}

static void test_mr_flush(struct net *net)
{
}

static int test_op_check(struct net *net, const struct in6_addr *laddr,
			 u32 scope, const struct rds_tx_operation *op)
{
	return op->masked ? -EOPNOTSUPP : 0;
}

const struct rds_memop_vtable test_memop_vtable = {
	.mr_reg		= test_mr_reg,
	.mr_dereg	= test_mr_dereg,
	.mr_flush	= test_mr_flush,
	.op_check	= test_op_check,
};

/* The memory at @off; @len is cut to the bytes that are contiguous there. */
static u8 *mem_at(const struct rds_mem *mem, u32 off, u32 *len)
{
	unsigned int i;

	for (i = 0; i < mem->nr; i++) {
		const struct bio_vec *bv = &mem->bv[i];

		if (off < bv->bv_len) {
			*len = min(*len, bv->bv_len - off);
			return page_address(bv->bv_page) + bv->bv_offset + off;
		}
		off -= bv->bv_len;
	}
	return NULL;
}

static void copy(const struct rds_mem *to, u32 to_off,
		 const struct rds_mem *from, u32 from_off, u32 len)
{
	while (len) {
		u32 part = len;
		u8 *src = mem_at(from, from_off, &part);
		u8 *dst = mem_at(to, to_off, &part);

		memcpy(dst, src, part);
		to_off += part;
		from_off += part;
		len -= part;
	}
}

static u64 atomic_new(const struct rds_tx_operation *op, u64 old)
{
	if (op->kind == RDS_OP_FADD)
		return old + op->add;
	return old == op->compare ? op->swap : old;
}

static enum rds_operation_status execute(const struct rds_tx_operation *op)
{
	u32 need = op->kind == RDS_OP_READ ? RDS_MR_REMOTE_READ :
					     RDS_MR_REMOTE_WRITE;
	enum rds_operation_status status = RDS_OP_REMOTE_ERROR;
	struct test_mr *mr;
	u64 off, val;
	u32 len = 8;

	spin_lock_bh(&lock);
	list_for_each_entry(mr, &mrs, node) {
		off = op->raddr - mr->offset;
		if (mr->rkey != op->rkey || !(mr->rights & need) ||
		    op->raddr < mr->offset || off > mr->mem->bytes ||
		    op->bytes > mr->mem->bytes - off)
			continue;
		if (op->kind == RDS_OP_WRITE)
			copy(mr->mem, off, op->mem, 0, op->bytes);
		else
			copy(op->mem, 0, mr->mem, off, op->bytes);
		if (op->kind == RDS_OP_FADD || op->kind == RDS_OP_CSWP) {
			memcpy(&val, mem_at(op->mem, 0, &len), 8);
			val = atomic_new(op, val);
			memcpy(mem_at(mr->mem, off, &len), &val, 8);
		}
		nr_executed++;
		status = RDS_OP_SUCCESS;
		break;
	}
	spin_unlock_bh(&lock);
	return status;
}

static bool post(struct rds_path *path, struct rds_tx_operation *op)
{
	struct test_op *to;

	if (!op)
		return true;
	if (!hold) {
		rds_operation_get(op);
		rds_operation_done(path, op, execute(op));
		return true;
	}
	to = kmalloc(sizeof(*to), GFP_ATOMIC);
	if (!to)
		return false;
	rds_operation_get(op);
	to->path = path;
	to->op = op;
	spin_lock_bh(&lock);
	list_add_tail(&to->node, &held);
	nr_held++;
	spin_unlock_bh(&lock);
	return true;
}

/**
 * rds_test_post - post the operations of a message, unless posted already
 * @path: path that sends the message
 * @m: the message
 *
 * Return: 0 or -ENOMEM.
 */
int rds_test_post(struct rds_path *path, struct rds_tx_msg *m)
{
	struct rds_tx_request *req = m->request;

	if (!req || req->posted)
		return 0;
	req->posted = true;
	return post(path, req->rdma) && post(path, req->atomic) ? 0 : -ENOMEM;
}

static struct test_op *take(struct rds_path *path)
{
	struct test_op *to, *found = NULL;

	spin_lock_bh(&lock);
	list_for_each_entry(to, &held, node) {
		if (!path || to->path == path) {
			found = to;
			list_del(&to->node);
			nr_held--;
			break;
		}
	}
	spin_unlock_bh(&lock);
	return found;
}

static void finish_all(struct rds_path *path, int status)
{
	struct test_op *to;

	mutex_lock(&finish_lock);
	while ((to = take(path))) {
		if (status == RDS_OP_SUCCESS)
			rds_operation_done(to->path, to->op, execute(to->op));
		else
			rds_operation_done(to->path, to->op, status);
		kfree(to);
	}
	mutex_unlock(&finish_lock);
}

/**
 * rds_test_drop - end the held operations of a path as dropped
 * @path: path that is being closed
 */
void rds_test_drop(struct rds_path *path)
{
	finish_all(path, RDS_OP_DROPPED);
}

static int finish_set(const char *val, const struct kernel_param *kp)
{
	int status, err = kstrtoint(val, 0, &status);

	if (!err)
		finish_all(NULL, status);
	return err;
}

static const struct kernel_param_ops finish_ops = { .set = finish_set };
module_param_cb(finish, &finish_ops, NULL, 0200);
MODULE_PARM_DESC(finish, "end all operations under way with this status; 0 carries them out");
