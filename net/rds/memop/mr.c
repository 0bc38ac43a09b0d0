// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Keys of a socket's memory: RDS_GET_MR and RDS_FREE_MR, and the end of keys for one use. */
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>

#include "endpoint/endpoint.h"
#include "memop/memop.h"
#include "netns.h"
#include <net/rds/transport.h>

/* Keys of one socket, at most */
#define MR_MAX		16384

#define MR_HASH_BITS	8

/**
 * struct rds_mr - a key
 * @node: in the tree of its socket
 * @hash: among the keys that peers can end, if it is one
 * @rs: its socket, for as long as it is in the tree
 * @trans: transport that made it; its module is held
 * @key: as the transport made it
 * @pin: the memory
 * @once: it ends when a peer says that it used it
 * @work: ends it
 */
struct rds_mr {
	struct rb_node			node;
	struct hlist_node		hash;
	struct rds_sock			*rs;
	const struct rds_transport	*trans;
	struct rds_mr_key		key;
	struct rds_pin			*pin;
	bool				once;
	struct work_struct		work;
};

struct workqueue_struct *rds_memop_wq;

/* Keys that a Send with Invalidate can end, by rkey: it names no socket. */
static DEFINE_HASHTABLE(mr_table, MR_HASH_BITS);
static DEFINE_SPINLOCK(mr_table_lock);

static u64 mr_cookie(const struct rds_mr *mr)
{
	return mr->key.rkey | (u64)mr->key.offset << 32;
}

/* No peer reaches the memory any more, then it is free.  The key is in no tree. */
static void mr_end(struct rds_mr *mr)
{
	struct module *owner = mr->trans->owner;

	if (mr->key.handle)
		mr->trans->memop->mr_unmap(mr->key.handle);
	rds_pin_free(mr->pin, true);
	kfree(mr);
	module_put(owner);
}

static void mr_work(struct work_struct *work)
{
	mr_end(container_of(work, struct rds_mr, work));
}

static struct rds_mr *mr_find(struct rds_sock *rs, u32 rkey)
{
	struct rb_node *n = rs->mrs.rb_node;

	lockdep_assert_held(&rs->mr_lock);
	while (n) {
		struct rds_mr *mr = rb_entry(n, struct rds_mr, node);

		if (rkey == mr->key.rkey)
			return mr;
		n = rkey < mr->key.rkey ? n->rb_left : n->rb_right;
	}
	return NULL;
}

static int mr_insert(struct rds_sock *rs, struct rds_mr *mr)
{
	struct rb_node **p = &rs->mrs.rb_node, *parent = NULL;

	lockdep_assert_held(&rs->mr_lock);
	while (*p) {
		struct rds_mr *that = rb_entry(*p, struct rds_mr, node);

		/* the address moved to another device, which counts keys by itself */
		if (that->key.rkey == mr->key.rkey)
			return -EBUSY;
		parent = *p;
		p = mr->key.rkey < that->key.rkey ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&mr->node, parent, p);
	rb_insert_color(&mr->node, &rs->mrs);
	return 0;
}

/* Let a key be found. */
static int mr_publish(struct rds_sock *rs, struct rds_mr *mr)
{
	int err = -ENOSPC;

	spin_lock_bh(&rs->mr_lock);
	if (rs->nr_mrs < MR_MAX)
		err = mr_insert(rs, mr);
	if (!err) {
		WRITE_ONCE(rs->nr_mrs, rs->nr_mrs + 1);
		if (mr->key.offset & RDS_MR_OFFSET_ONCE) {
			spin_lock(&mr_table_lock);
			hash_add(mr_table, &mr->hash, mr->key.rkey);
			spin_unlock(&mr_table_lock);
		}
	}
	spin_unlock_bh(&rs->mr_lock);
	return err;
}

static void mr_unlink(struct rds_mr *mr)
{
	lockdep_assert_held(&mr->rs->mr_lock);
	rb_erase(&mr->node, &mr->rs->mrs);
	WRITE_ONCE(mr->rs->nr_mrs, mr->rs->nr_mrs - 1);
	if (hash_hashed(&mr->hash)) {
		spin_lock(&mr_table_lock);
		hash_del(&mr->hash);
		spin_unlock(&mr_table_lock);
	}
}

/* Take a key out of the tree, any or only one for one use; it is the caller's then. */
static struct rds_mr *mr_take(struct rds_sock *rs, u32 rkey, bool once)
{
	struct rds_mr *mr;

	spin_lock_bh(&rs->mr_lock);
	mr = mr_find(rs, rkey);
	if (mr && (!once || mr->once))
		mr_unlink(mr);
	else
		mr = NULL;
	spin_unlock_bh(&rs->mr_lock);
	return mr;
}

static u32 mr_rights(u64 flags)
{
	return RDS_MR_REMOTE_READ |
	       (flags & RDS_RDMA_READWRITE ? RDS_MR_REMOTE_WRITE : 0) |
	       (flags & RDS_RDMA_USE_ONCE ? RDS_MR_USE_ONCE : 0);
}

/* Pin, and have the transport make a key. */
static struct rds_mr *mr_make(struct rds_sock *rs, const struct rds_iovec *vec, u64 flags)
{
	u32 rights = mr_rights(flags);
	struct rds_mr *mr;
	int err;

	mr = kzalloc_obj(*mr, GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->pin = rds_pin_user(vec, 1, rights & RDS_MR_REMOTE_WRITE, RDS_MEM_MAX_PAGES);
	if (IS_ERR(mr->pin)) {
		err = PTR_ERR(mr->pin);
		kfree(mr);
		return ERR_PTR(err);
	}
	INIT_HLIST_NODE(&mr->hash);
	INIT_WORK(&mr->work, mr_work);
	mr->rs = rs;
	mr->trans = rs->trans;
	mr->once = rights & RDS_MR_USE_ONCE;
	/* the socket holds it already */
	__module_get(mr->trans->owner);
	err = mr->trans->memop->mr_map(rs->rn->net, &rs->bound_addr, rs->bound_scope,
				       &mr->pin->mem, rights, &mr->key);
	if (!err)
		return mr;
	mr->key.handle = NULL;
	mr_end(mr);
	return ERR_PTR(err);
}

/**
 * rds_mr_get - RDS_GET_MR: a key of user memory
 * @rs: socket
 * @vec: memory
 * @cookie_addr: where a program wants the cookie, or 0
 * @flags: RDS_RDMA_*
 * @cookie: set
 *
 * Context: process, may sleep.
 * Return: 0; -ENOTCONN: not bound; -EOPNOTSUPP: the transport has no keys; -EINVAL: no bytes, 4 GiB
 * or more, or around the end of the address space; -EMSGSIZE: more than one key can have;
 * -ENOSPC: too many keys; -EFAULT, also if the cookie cannot be stored, and nothing is left then;
 * errors of rds_pin_user() and mr_map.
 */
int rds_mr_get(struct rds_sock *rs, const struct rds_iovec *vec, u64 cookie_addr, u64 flags,
	       u64 *cookie)
{
	struct rds_mr *mr;
	u64 end;
	int err;

	if (!rds_sock_port(rs))
		return -ENOTCONN;
	if (!rs->trans->memop)
		return -EOPNOTSUPP;
	if (check_add_overflow(vec->addr, vec->bytes, &end))
		return -EINVAL;
	if (!can_do_mlock())
		return -EPERM;
	if (!vec->bytes || vec->bytes > U32_MAX)
		return -EINVAL;
	if (vec->bytes > RDS_MEM_MAX_BYTES)
		return -EMSGSIZE;
	mr = mr_make(rs, vec, flags);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	*cookie = mr_cookie(mr);
	/* before others can find it, and end it */
	err = 0;
	if (cookie_addr && copy_to_user(u64_to_user_ptr(cookie_addr), cookie, sizeof(*cookie)))
		err = -EFAULT;
	if (!err)
		err = mr_publish(rs, mr);
	if (err)
		mr_end(mr);
	return err;
}

/**
 * rds_mr_free - RDS_FREE_MR
 * @rs: socket
 * @cookie: of a key, or 0 to give back what is kept of ended ones
 * @flags: RDS_RDMA_INVALIDATE changes nothing, a key always ends at once
 *
 * Context: process, may sleep.
 * Return: 0, or -EINVAL: no such key (any more: no peer can use it then), or no keys at all with
 * this transport.
 */
int rds_mr_free(struct rds_sock *rs, u64 cookie, u64 flags)
{
	struct rds_mr *mr;

	if (!rds_sock_port(rs) || !rs->trans->memop)
		return -EINVAL;
	if (!cookie) {
		rs->trans->memop->mr_flush(rs->rn->net);
		return 0;
	}
	mr = mr_take(rs, cookie, false);
	if (!mr) {
		/* one that ended by its use is known to be at its end after this */
		flush_workqueue(rds_memop_wq);
		return -EINVAL;
	}
	mr_end(mr);
	return 0;
}

/**
 * rds_mr_known - is a cookie of one of a socket's keys?
 * @rs: socket
 * @cookie: of RDS_CMSG_RDMA_DEST
 *
 * Return: true if it is.
 */
bool rds_mr_known(struct rds_sock *rs, u64 cookie)
{
	bool known;

	spin_lock_bh(&rs->mr_lock);
	known = mr_find(rs, cookie);
	spin_unlock_bh(&rs->mr_lock);
	return known;
}

/**
 * rds_mr_used - a peer says that it used a key
 * @rs: socket the message is for, found in an RCU read section
 * @rkey: the key; unknown ones are ignored
 *
 * Context: any but hard interrupts.
 */
void rds_mr_used(struct rds_sock *rs, u32 rkey)
{
	struct rds_mr *mr;

	if (!READ_ONCE(rs->nr_mrs))
		return;
	mr = mr_take(rs, rkey, true);
	if (mr)
		queue_work(rds_memop_wq, &mr->work);
}

void rds_mr_retired(struct rds_path *path, u32 rkey)
{
	struct rds_sock *rs = NULL;
	struct rds_mr *mr;

	/* while a key is in the table, so is its socket; after that it is RCU that keeps it */
	rcu_read_lock();
	spin_lock_bh(&mr_table_lock);
	hash_for_each_possible(mr_table, mr, hash, rkey) {
		if (mr->key.rkey == rkey && mr->rs->rn->net == path->net &&
		    mr->trans == path->trans &&
		    ipv6_addr_equal(&mr->rs->bound_addr, &path->addr->laddr)) {
			rs = mr->rs;
			break;
		}
	}
	spin_unlock_bh(&mr_table_lock);
	if (rs)
		rds_mr_used(rs, rkey);
	rcu_read_unlock();
}
EXPORT_SYMBOL_NS_GPL(rds_mr_retired, RDS_NS);

/**
 * rds_mr_purge - end the keys of a closed socket
 * @rs: killed
 *
 * Context: process, may sleep.  On return what ended before is over too.
 */
void rds_mr_purge(struct rds_sock *rs)
{
	struct rb_node *n;
	struct rds_mr *mr;

	for (;;) {
		spin_lock_bh(&rs->mr_lock);
		n = rb_first(&rs->mrs);
		mr = n ? rb_entry(n, struct rds_mr, node) : NULL;
		if (mr)
			mr_unlink(mr);
		spin_unlock_bh(&rs->mr_lock);
		if (!mr)
			break;
		mr_end(mr);
	}
	flush_workqueue(rds_memop_wq);
}

/**
 * rds_memop_init - module start
 *
 * Return: 0 or -ENOMEM.
 */
int rds_memop_init(void)
{
	rds_memop_wq = alloc_workqueue("rds_memop", WQ_UNBOUND, 0);
	return rds_memop_wq ? 0 : -ENOMEM;
}

/**
 * rds_memop_exit - module end
 */
void rds_memop_exit(void)
{
	destroy_workqueue(rds_memop_wq);
}
