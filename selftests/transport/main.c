// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A transport for tests: connects namespaces of one machine through memory.  It
 * shows the least that a transport must implement, and that the core needs no
 * change for another transport.
 *
 * A link is one connection.  End 0 dialled, end 1 accepted.  Upcalls for either
 * path are made under the link's lock, and path_close removes its path from the
 * link under the same lock, so that both paths exist during an upcall.
 */
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/rds.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/rds/transport.h>
#include <net/route.h>

#include "rds_test.h"

struct test_link {
	refcount_t		ref;	/* one for each end, one for @dial */
	spinlock_t		lock;
	struct rds_path		*end[2];
	bool			dead;
	struct net		*peer_net;	/* referenced until @dial ran */
	struct rds_path_addr	peer_addr;	/* addresses of peer's path */
	struct work_struct	dial;
};

struct test_path {
	struct test_link	*link;
	int			me;
};

struct test_net {
	struct list_head	node;
	struct net		*net;
};

static LIST_HEAD(test_nets);
static DEFINE_MUTEX(test_nets_lock);
static unsigned int test_net_id;
static struct workqueue_struct *test_wq;

/*
 * The transport registered: plain_transport, whose messages are acknowledged at
 * once, or rdma_transport (owns_ack), which is like one of an RDMA device
 */
static const struct rds_transport *test_transport;

static bool owns_ack;
module_param(owns_ack, bool, 0444);
MODULE_PARM_DESC(owns_ack, "messages are acknowledged by number, and there is remote memory");

static bool lose;
module_param(lose, bool, 0644);
MODULE_PARM_DESC(lose, "messages are neither delivered nor acknowledged");

static bool apart;
module_param(apart, bool, 0644);
MODULE_PARM_DESC(apart, "no path can connect");

static unsigned int most;
module_param(most, uint, 0644);
MODULE_PARM_DESC(most, "most messages that were handed over in one call");

static void link_put(struct test_link *link)
{
	if (refcount_dec_and_test(&link->ref))
		kfree(link);
}

/* Mark the link dead, detach end @me, and report the other end's path lost. */
static void link_leave(struct test_link *link, int me, enum rds_drop_reason why)
{
	spin_lock_bh(&link->lock);
	link->dead = true;
	link->end[me] = NULL;
	if (link->end[!me])
		rds_path_lost(link->end[!me], why);
	spin_unlock_bh(&link->lock);
	link_put(link);
}

static bool test_addr_local(struct net *net, const struct in6_addr *addr,
			    u32 scope)
{
	if (ipv6_addr_v4mapped(addr))
		return inet_addr_type(net, addr->s6_addr32[3]) == RTN_LOCAL;
	return !scope && ipv6_chk_addr(net, addr, NULL, 0);
}

/* A namespace other than @not that has the address, with a reference. */
static struct net *find_net(struct net *not, const struct in6_addr *addr)
{
	struct net *found = NULL;
	struct test_net *tn;

	mutex_lock(&test_nets_lock);
	list_for_each_entry(tn, &test_nets, node) {
		if (tn->net == not || !test_addr_local(tn->net, addr, 0))
			continue;
		found = maybe_get_net(tn->net);
		if (found)
			break;
	}
	mutex_unlock(&test_nets_lock);
	return found;
}

/*
 * A work item, because path_connect is called with its path's control mutex
 * held, and rds_path_incoming() takes that of the peer's path.
 */
static void link_dial(struct work_struct *work)
{
	struct test_link *link = container_of(work, struct test_link, dial);

	if (!rds_path_incoming(test_transport, link->peer_net, &link->peer_addr, 0,
			       link))
		link_leave(link, 1, RDS_DROP_PEER_RESET);
	put_net(link->peer_net);
	link_put(link);
}

static void test_path_free(struct rds_path *path)
{
	WARN_ON(((struct test_path *)path->priv)->link);
}

static void path_join(struct rds_path *path, struct test_link *link, int me)
{
	struct test_path *tp = path->priv;

	tp->link = link;
	tp->me = me;
}

static int test_path_connect(struct rds_path *path)
{
	struct net *peer = apart ? NULL :
				   find_net(path->net, &path->addr->faddr);
	struct test_link *link;

	if (!peer)
		return -EHOSTUNREACH;
	link = kzalloc_obj(*link);
	if (!link) {
		put_net(peer);
		return -ENOMEM;
	}
	refcount_set(&link->ref, 3);
	spin_lock_init(&link->lock);
	INIT_WORK(&link->dial, link_dial);
	link->end[0] = path;
	link->peer_net = peer;
	link->peer_addr.laddr = path->addr->faddr;
	link->peer_addr.faddr = path->addr->laddr;
	path_join(path, link, 0);
	queue_work(test_wq, &link->dial);
	return 0;
}

static void test_path_attach(struct rds_path *path, void *handle)
{
	struct test_link *link = handle;

	path_join(path, link, 1);
	spin_lock_bh(&link->lock);
	link->end[1] = path;
	if (link->dead) {
		rds_path_lost(path, RDS_DROP_PEER_CLOSED);
	} else {
		if (rds_path_up(path))
			rds_path_up(link->end[0]);
	}
	spin_unlock_bh(&link->lock);
}

static void test_path_close(struct rds_path *path, bool graceful)
{
	struct test_path *tp = path->priv;

	if (!tp->link)
		return;
	rds_test_drop(path);
	link_leave(tp->link, tp->me, RDS_DROP_PEER_CLOSED);
	tp->link = NULL;
}

static void test_refuse(struct net *net, void *handle)
{
	link_leave(handle, 1, RDS_DROP_PEER_RESET);
}

/*
 * A page of large payload for the receiver: the sender's page, or a copy if the
 * page is lent by the user (MSG_ZEROCOPY).
 */
static struct page *share_page(const struct rds_tx_msg *m,
			       const struct bio_vec *bv)
{
	struct page *page = bv->bv_page;

	if (!m->lent) {
		get_page(page);
		return page;
	}
	page = alloc_page(GFP_ATOMIC);
	if (page)
		memcpy_page(page, bv->bv_offset, bv->bv_page, bv->bv_offset,
			    bv->bv_len);
	return page;
}

static bool fill(struct rds_incoming *inc, const struct rds_tx_msg *m)
{
	u8 *buf = rds_rx_buffer(inc);
	size_t skip = sizeof(*m->hdr);
	unsigned int i;

	for (i = 0; i < m->nr_bv; i++, skip = 0) {
		const struct bio_vec *bv = &m->bv[i];
		size_t off = bv->bv_offset + skip, len = bv->bv_len - skip;

		if (buf) {
			memcpy(buf, page_address(bv->bv_page) + off, len);
			buf += len;
		} else if (len) {
			struct page *page = share_page(m, bv);

			if (!page)
				return false;
			if (!rds_rx_add_page(inc, page, off, len, len)) {
				put_page(page);
				return false;
			}
		}
	}
	return true;
}

static bool deliver(struct rds_rx_batch *batch, struct rds_path *to,
		    const struct rds_tx_msg *m)
{
	bool map = m->hdr->flags == RDS_WIRE_F_CONG;
	struct rds_incoming *inc = rds_rx_alloc(to, m->bytes - sizeof(*m->hdr),
						map, GFP_ATOMIC);

	if (!inc || !fill(inc, m)) {
		rds_rx_free(inc);
		return false;
	}
	rds_rx_deliver(batch, inc, m->hdr);
	return true;
}

/* Without memory the path is lost, and the core retransmits over a new link. */
static enum rds_tx_result test_xmit(struct rds_path *path,
				    struct rds_tx_batch *batch)
{
	struct test_path *tp = path->priv;
	struct test_link *link = tp->link;
	struct rds_rx_batch rx;
	unsigned int n = 0;

	spin_lock_bh(&link->lock);
	if (!link->dead) {
		rds_rx_begin(&rx, link->end[!tp->me]);
		while (batch->cur &&
		       deliver(&rx, link->end[!tp->me], batch->cur)) {
			rds_tx_advance(batch, batch->cur->bytes);
			n++;
		}
		most = max(most, n);
		rds_rx_end(&rx);
		rds_path_acked(path, batch->pos);
	}
	if (batch->cur)
		rds_path_lost(path, RDS_DROP_SEND_ERROR);
	spin_unlock_bh(&link->lock);
	return batch->cur ? RDS_TX_FAILED : RDS_TX_DONE;
}

/*
 * Send one message of a transport that owns acknowledgements: post its
 * operations, then deliver it, unless it is silent or lose is set.
 */
static bool rdma_send(struct rds_rx_batch *rx, struct rds_path *path,
		      struct rds_path *to, struct rds_tx_batch *batch,
		      u64 *acked)
{
	struct rds_tx_msg *m = batch->cur;
	u64 seq = be64_to_cpu(m->hdr->seq);
	bool silent = m->request && m->request->silent;

	if (rds_test_post(path, m))
		return false;
	if (!lose && !silent) {
		if (!deliver(rx, to, m))
			return false;
		*acked = max(*acked, seq);
	}
	rds_tx_advance(batch, m->bytes);
	m->end = seq;
	return true;
}

static enum rds_tx_result rdma_xmit(struct rds_path *path,
				    struct rds_tx_batch *batch)
{
	struct test_path *tp = path->priv;
	struct test_link *link = tp->link;
	struct rds_rx_batch rx;
	u64 acked = 0;

	spin_lock_bh(&link->lock);
	if (!link->dead) {
		rds_rx_begin(&rx, link->end[!tp->me]);
		while (batch->cur &&
		       rdma_send(&rx, path, link->end[!tp->me], batch, &acked))
			;
		rds_rx_end(&rx);
		rds_path_acked(path, acked);
	}
	if (batch->cur)
		rds_path_lost(path, RDS_DROP_SEND_ERROR);
	spin_unlock_bh(&link->lock);
	return batch->cur ? RDS_TX_FAILED : RDS_TX_DONE;
}

#define TEST_TRANSPORT				\
	.owner		= THIS_MODULE,		\
	.name		= "test",		\
	.type		= RDS_TRANS_IB,		\
	.path_priv_size	= sizeof(struct test_path), \
	.addr_local	= test_addr_local,	\
	.path_free	= test_path_free,	\
	.path_connect	= test_path_connect,	\
	.path_attach	= test_path_attach,	\
	.path_close	= test_path_close,	\
	.refuse		= test_refuse

static const struct rds_transport plain_transport = {
	TEST_TRANSPORT,
	.caps		= RDS_CAP_NETNS | RDS_CAP_PREFER_LOOP | RDS_CAP_SMALLER_DIALS |
			  RDS_CAP_ZCOPY_TX,
	.xmit		= test_xmit,
};

static const struct rds_transport rdma_transport = {
	TEST_TRANSPORT,
	.caps		= RDS_CAP_NETNS | RDS_CAP_PREFER_LOOP | RDS_CAP_OWNS_ACK |
			  RDS_CAP_LARGER_WINS,
	.memop		= &test_memop_vtable,
	.xmit		= rdma_xmit,
};

/* Reset every connection of every namespace. */
static int cut_set(const char *val, const struct kernel_param *kp)
{
	struct test_net *tn;

	mutex_lock(&test_nets_lock);
	list_for_each_entry(tn, &test_nets, node)
		rds_path_reset_all(test_transport, tn->net,
				   RDS_DROP_PEER_RESET);
	mutex_unlock(&test_nets_lock);
	return 0;
}

static const struct kernel_param_ops cut_ops = { .set = cut_set };
module_param_cb(cut, &cut_ops, NULL, 0200);
MODULE_PARM_DESC(cut, "written to: all connections are lost");

static int __net_init test_net_init(struct net *net)
{
	struct test_net *tn = net_generic(net, test_net_id);

	tn->net = net;
	mutex_lock(&test_nets_lock);
	list_add_tail(&tn->node, &test_nets);
	mutex_unlock(&test_nets_lock);
	rds_transport_net_init(test_transport, net);
	return 0;
}

static void __net_exit test_net_exit(struct net *net)
{
	struct test_net *tn = net_generic(net, test_net_id);

	mutex_lock(&test_nets_lock);
	list_del(&tn->node);
	mutex_unlock(&test_nets_lock);
	rds_transport_net_exit(test_transport, net);
}

static struct pernet_operations test_net_ops = {
	.init	= test_net_init,
	.exit	= test_net_exit,
	.id	= &test_net_id,
	.size	= sizeof(struct test_net),
};

static int __init test_init(void)
{
	int err;

	test_transport = owns_ack ? &rdma_transport : &plain_transport;
	test_wq = alloc_workqueue("rds_test", WQ_UNBOUND, 0);
	if (!test_wq)
		return -ENOMEM;
	err = rds_transport_register(test_transport);
	if (err)
		goto out_wq;
	rds_test_refusals(test_transport);
	err = register_pernet_device(&test_net_ops);
	if (!err)
		return 0;
	rds_transport_unregister(test_transport);
out_wq:
	destroy_workqueue(test_wq);
	return err;
}
module_init(test_init);

static void __exit test_exit(void)
{
	unregister_pernet_device(&test_net_ops);
	destroy_workqueue(test_wq);
	rds_transport_unregister(test_transport);
}
module_exit(test_exit);

MODULE_DESCRIPTION("Reliable Datagram Sockets between namespaces, for tests");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS("rds-transport-0");
MODULE_IMPORT_NS(RDS_NS);
