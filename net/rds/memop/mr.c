// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Keys of user memory: RDS_GET_MR and RDS_FREE_MR, and the end of keys for one
 * use.
 */
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>

#include "memop/memop.h"
#include "netns.h"
#include "sock/state.h"
#include <net/rds/transport.h>

/* Largest number of keys of one socket */
#define MR_MAX		16384

#define MR_HASH_BITS	8

/**
 * struct rds_mr - key of a socket
 * @node: entry in rds_sock.mrs
 * @hash: entry in mr_table, if a peer can end the key by Send with Invalidate
 * @rs: socket; valid while the key is in the tree
 * @trans: transport that made the key; its module is held
 * @key: rkey, offset and handle, from the transport
 * @pin: memory of the key
 * @once: the key ends when a peer reports a use of it (RDS_RDMA_USE_ONCE)
 * @work: ends the key in process context
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

/*
 * Keys of all sockets that a Send with Invalidate can end, by rkey, as a Send
 * names no socket
 */
static DEFINE_HASHTABLE(mr_table, MR_HASH_BITS);
static DEFINE_SPINLOCK(mr_table_lock);

static u64 mr_cookie(const struct rds_mr *mr)
{
	return mr->key.rkey | (u64)mr->key.offset << 32;
}

/*
 * End a key that is in no tree.  The memory is unpinned only after no peer can
 * reach it.
 */
static void mr_end(struct rds_mr *mr)
{
	struct module *owner = mr->trans->owner;

	if (mr->key.handle)
		mr->trans->memop->mr_dereg(mr->key.handle);
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

		/*
		 * Two devices may give the same rkey, if the address moved
		 * between them.
		 */
		if (that->key.rkey == mr->key.rkey)
			return -EBUSY;
		parent = *p;
		p = mr->key.rkey < that->key.rkey ? &parent->rb_left :
						    &parent->rb_right;
	}
	rb_link_node(&mr->node, parent, p);
	rb_insert_color(&mr->node, &rs->mrs);
	return 0;
}

/*
 * Enter a key in the tree of its socket and, if a peer can end it, in mr_table.
 */
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
	atomic_dec(&mr->rs->rn->nr_keys);
	if (hash_hashed(&mr->hash)) {
		spin_lock(&mr_table_lock);
		hash_del(&mr->hash);
		spin_unlock(&mr_table_lock);
	}
}

/*
 * Take a key out of the tree; with @once only if the key is for one use.  The
 * caller owns it.
 */
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

/* Pin the memory, and have the transport make a key of it. */
static struct rds_mr *mr_make(struct rds_sock *rs, const struct rds_iovec *vec,
			      u64 flags)
{
	u32 rights = mr_rights(flags);
	struct rds_mr *mr;
	int err;

	mr = kzalloc_obj(*mr, GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->pin = rds_pin_user(vec, 1, rights & RDS_MR_REMOTE_WRITE,
			       RDS_MEM_MAX_PAGES);
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
	/*
	 * The socket holds a reference to the module, so this one cannot fail.
	 */
	__module_get(mr->trans->owner);
	err = mr->trans->memop->mr_reg(rs->rn->net, &rs->bound_addr,
				       rs->bound_scope, &mr->pin->mem, rights,
				       &mr->key);
	if (!err)
		return mr;
	mr->key.handle = NULL;
	mr_end(mr);
	return ERR_PTR(err);
}

/**
 * rds_mr_get - RDS_GET_MR: make a key of user memory
 * @rs: socket
 * @vec: user memory
 * @cookie_addr: user address to store the cookie at, or 0
 * @flags: RDS_RDMA_*
 * @cookie: set to the cookie of the key
 *
 * Context: process, may sleep.
 * Return: 0; -ENOTCONN: the socket is not bound; -EOPNOTSUPP: the transport has
 * no keys; -EINVAL: the memory is empty, has 4 GiB or more, or wraps around the
 * end of the address space; -EMSGSIZE: one key cannot have as much memory;
 * -ENOSPC: the socket has MR_MAX keys; -EBUSY: the socket has a key with the
 * same rkey; -EFAULT: also if the cookie cannot be stored, and no key is left
 * then; errors of rds_pin_user() and mr_reg.
 */
int rds_mr_get(struct rds_sock *rs, const struct rds_iovec *vec,
	       u64 cookie_addr, u64 flags, u64 *cookie)
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
	/*
	 * The key is not published yet, so no other thread can end it
	 * meanwhile.
	 */
	err = 0;
	/* Before a peer can have the key: see conn/idle.c. */
	atomic_inc(&rs->rn->nr_keys);
	if (cookie_addr &&
	    copy_to_user(u64_to_user_ptr(cookie_addr), cookie, sizeof(*cookie)))
		err = -EFAULT;
	if (!err)
		err = mr_publish(rs, mr);
	if (err) {
		atomic_dec(&rs->rn->nr_keys);
		mr_end(mr);
	}
	return err;
}

/**
 * rds_mr_free - RDS_FREE_MR: end a key
 * @rs: socket
 * @cookie: cookie of a key, or 0 to have the transport release ended keys that
 *	it keeps for reuse
 * @flags: RDS_RDMA_INVALIDATE has no effect, as a key always ends at once
 *
 * Context: process, may sleep.
 * Return: 0, or -EINVAL: the socket has no such key, and no peer can use one
 * that it had; or the socket is not bound, or the transport has no keys.
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
		/*
		 * The key may have been used: wait for the work item that ends
		 * it.
		 */
		flush_workqueue(rds_memop_wq);
		return -EINVAL;
	}
	mr_end(mr);
	return 0;
}

/**
 * rds_mr_known - does a cookie name a key of a socket?
 * @rs: socket
 * @cookie: cookie from RDS_CMSG_RDMA_DEST
 *
 * Return: true if the socket has the key.
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
 * rds_mr_used - end a key for one use after a peer reported the use
 * @rs: socket that the report is for, found in the RCU read section of the
 *	caller
 * @rkey: rkey of the key; a key that is unknown or not for one use is ignored
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

void rds_mr_invalidated(struct rds_path *path, u32 rkey)
{
	struct rds_sock *rs = NULL;
	struct rds_mr *mr;

	/*
	 * A key leaves the table before its socket is freed, and the socket is
	 * freed after a grace period.  So @rs is valid until the end of this
	 * read section.
	 */
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
EXPORT_SYMBOL_NS_GPL(rds_mr_invalidated, RDS_NS);

/**
 * rds_mr_purge - end the keys of a closed socket
 * @rs: socket after rds_sock_kill()
 *
 * Waits for work items that end keys after their use, too.
 * Context: process, may sleep.
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
 * rds_memop_init - make the work queue, as the module is loaded
 *
 * Return: 0 or -ENOMEM.
 */
int rds_memop_init(void)
{
	rds_memop_wq = alloc_workqueue("rds_memop", WQ_UNBOUND, 0);
	return rds_memop_wq ? 0 : -ENOMEM;
}

/**
 * rds_memop_exit - destroy the work queue, as the module is unloaded
 */
void rds_memop_exit(void)
{
	destroy_workqueue(rds_memop_wq);
}
