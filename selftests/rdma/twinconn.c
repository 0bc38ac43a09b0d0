// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections of the second user of devices: one frame each way.  The end that
 * dials sends a number, the other end answers with its complement.
 *
 * The parameter ask takes "LOCAL PEER N SHARE", of IPv4: N attempts of a share
 * at a peer that does not answer begin, and stay until "0" ends all of them.
 * Those that fail keep their places until then.  "late" ends them, too, and does
 * not wait until a device has answered.  It shows how many wait in lines and,
 * if there are some, how many are late.  Other attempts are of a share of their
 * own.
 *
 * Ownership: a connection belongs to the call that dials it, and one that was
 * accepted to close_work, which its end queues.  What the parameter ask begins
 * belongs to it, in twin_asking.  Each is freed in .gone.
 *
 * Locks: twin_conn.lock (spin, bh) guards posts against the end; twin_lock
 * (spin, bh) guards the lists of connections, and rds_dev_id.lock may be taken
 * under it.
 */
#include <linux/inet.h>
#include <linux/list.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>

#include <net/rds/dev_cq.h>

#include "twin.h"

#define WAIT	(20 * HZ)
#define TRIES	4
#define NUMBER	0x7477696e7477696eULL
#define ASK_PORT	7782
#define TALK_SHARE	2
/* Its lower half is no service level: the network stack has 0 for it. */
#define TALK_TOS	0x08

/* What becomes of a connection, told to who waits */
#define TWIN_UP		BIT(0)
#define TWIN_HEARD	BIT(1)
#define TWIN_LOST	BIT(2)
#define TWIN_FAILED	BIT(3)	/* a work request did */

struct twin_conn {
	struct rds_dev_id	id;
	struct rds_dev_cq	cq;
	spinlock_t		lock;
	struct list_head	node;
	struct work_struct	close_work;
	wait_queue_head_t	wait;
	atomic_t		what;
	bool			owned;	/* under id.lock */
	u64			num[2];	/* received, sent */
	u64			dma;
	struct ib_cqe		rx_cqe;
	struct ib_cqe		tx_cqe;
};

atomic_t twin_in_handler = ATOMIC_INIT(0);
static DEFINE_SPINLOCK(twin_lock);
static LIST_HEAD(twin_accepted);
static LIST_HEAD(twin_asking);
static atomic_t nr_conns = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(conns_idle);

static struct twin_conn *conn_of(struct rds_dev_id *id)
{
	return container_of(id, struct twin_conn, id);
}

static void tell(struct twin_conn *conn, int what)
{
	atomic_or(what, &conn->what);
	wake_up_all(&conn->wait);
}

/* Implements &rds_dev_id_ops.lost */
static void twin_lost(struct rds_dev_id *id, enum rds_dev_why why, bool was_up)
{
	struct twin_conn *conn = conn_of(id);

	tell(conn, TWIN_LOST);
	if (id->accepted && conn->owned)
		queue_work(twin_wq, &conn->close_work);
}

static void conn_fail(struct twin_conn *conn)
{
	spin_lock_bh(&conn->id.lock);
	if (rds_dev_id_move(&conn->id, RDS_DEV_ID_EV_END))
		twin_lost(&conn->id, RDS_DEV_WHY_QP, false);
	spin_unlock_bh(&conn->id.lock);
}

/* ---- work requests */

static int post_recv(struct twin_conn *conn)
{
	struct ib_sge sge = {
		.addr	= conn->dma,
		.length	= sizeof(u64),
		.lkey	= conn->id.dom->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe	 = &conn->rx_cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(conn->id.qp, &wr, NULL);
}

/* Send a number, behind a WRITE of it to a key of the peer's if @rkey is set. */
static int post_number(struct twin_conn *conn, u64 number, u32 rkey, u64 addr)
{
	struct ib_sge sge = {
		.addr	= conn->dma + sizeof(u64),
		.length	= sizeof(u64),
		.lkey	= conn->id.dom->pd->local_dma_lkey,
	};
	struct ib_send_wr send = {
		.wr_cqe	    = &conn->tx_cqe,
		.sg_list    = &sge,
		.num_sge    = 1,
		.opcode	    = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_rdma_wr put = {
		.wr		= send,
		.remote_addr	= addr,
		.rkey		= rkey,
	};
	int err = -ESHUTDOWN;

	put.wr.opcode = IB_WR_RDMA_WRITE;
	put.wr.next = &send;
	spin_lock_bh(&conn->lock);
	if (!rds_dev_id_ends(&conn->id)) {
		conn->num[1] = number;
		err = ib_post_send(conn->id.qp, rkey ? &put.wr : &send, NULL);
	}
	spin_unlock_bh(&conn->lock);
	return err;
}

/*
 * The accepting end answers when it has the number and may send; false if it
 * cannot.
 */
static bool answer(struct twin_conn *conn, int what)
{
	int all = TWIN_UP | TWIN_HEARD;
	int old = atomic_fetch_or(what, &conn->what);

	if ((old | what) != all || old == all)
		return true;
	return !post_number(conn, ~conn->num[0], 0, 0);
}

static void rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct twin_conn *conn = container_of(wc->wr_cqe, struct twin_conn,
					      rx_cqe);

	if (wc->status != IB_WC_SUCCESS) {
		conn_fail(conn);
		return;
	}
	rds_dev_id_heard(&conn->id);
	if (conn->id.accepted) {
		if (!answer(conn, TWIN_HEARD))
			conn_fail(conn);
	} else {
		tell(conn, conn->num[0] == ~NUMBER ? TWIN_HEARD : TWIN_FAILED);
	}
}

static void tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct twin_conn *conn = container_of(wc->wr_cqe, struct twin_conn,
					      tx_cqe);

	if (wc->status == IB_WC_SUCCESS)
		return;
	tell(conn, TWIN_FAILED);
	conn_fail(conn);
}

/* ---- functions of &rds_dev_id_ops */

static int twin_prepare(struct rds_dev_id *id)
{
	struct twin_conn *conn = conn_of(id);
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr	= 4,
			.max_recv_wr	= 2,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
	};
	int err;

	/* Software devices, where this cannot fail */
	conn->dma = ib_dma_map_single(id->dev->ib, conn->num, sizeof(conn->num),
				      DMA_BIDIRECTIONAL);
	err = rds_dev_cq_get(&conn->cq, id->dev, 6);
	if (err)
		return err;
	attr.send_cq = conn->cq.cq;
	attr.recv_cq = conn->cq.cq;
	err = rds_dev_id_create_qp(id, &attr);
	return err ?: post_recv(conn);
}

static void twin_param(struct rds_dev_id *id, struct rdma_conn_param *param,
		       u8 *buf)
{
	memcpy(buf, "twin", 4);
	param->private_data_len = 4;
	param->retry_count = 1;
	param->rnr_retry_count = 7;
}

static bool twin_answer(struct rds_dev_id *id,
			const struct rdma_conn_param *param)
{
	return param->private_data_len >= 4 &&
	       !memcmp(param->private_data, "twin", 4);
}

static bool twin_up(struct rds_dev_id *id)
{
	struct twin_conn *conn = conn_of(id);

	if (!id->accepted) {
		tell(conn, TWIN_UP);
		return true;
	}
	if (answer(conn, TWIN_UP))
		return true;
	queue_work(twin_wq, &conn->close_work);
	return false;
}

static void conn_unmap(struct twin_conn *conn)
{
	if (conn->dma)
		ib_dma_unmap_single(conn->id.dev->ib, conn->dma,
				    sizeof(conn->num), DMA_BIDIRECTIONAL);
	conn->dma = 0;
}

static void twin_qp_gone(struct rds_dev_id *id)
{
	struct twin_conn *conn = conn_of(id);

	rds_dev_cq_put(&conn->cq);
	if (rds_dev_id_is_late(id))
		conn_unmap(conn);
}

static void twin_gone(struct rds_dev_id *id)
{
	kfree(conn_of(id));
	if (atomic_dec_and_test(&nr_conns))
		wake_up_all(&conns_idle);
}

static const struct rds_dev_id_ops twin_ops = {
	.prepare = twin_prepare,
	.param	 = twin_param,
	.answer	 = twin_answer,
	.up	 = twin_up,
	.lost	 = twin_lost,
	.qp_gone = twin_qp_gone,
	.gone	 = twin_gone,
};

/* ---- connections */

static void conn_close(struct twin_conn *conn)
{
	rds_dev_id_end(&conn->id);
	/* After this nothing is posted. */
	spin_lock_bh(&conn->lock);
	spin_unlock_bh(&conn->lock);
	spin_lock_bh(&twin_lock);
	list_del_init(&conn->node);
	spin_unlock_bh(&twin_lock);
	rds_dev_id_stop(&conn->id);
	if (!rds_dev_id_is_late(&conn->id))
		conn_unmap(conn);
	rds_dev_id_release(&conn->id);
}

static void close_work(struct work_struct *work)
{
	conn_close(container_of(work, struct twin_conn, close_work));
}

static struct twin_conn *conn_new(struct rds_dev_domain *dom,
				  const struct rds_dev_laddr *local,
				  const struct in6_addr *remote)
{
	struct twin_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	spin_lock_init(&conn->lock);
	INIT_LIST_HEAD(&conn->node);
	INIT_WORK(&conn->close_work, close_work);
	init_waitqueue_head(&conn->wait);
	conn->rx_cqe.done = rx_done;
	conn->tx_cqe.done = tx_done;
	if (!rds_dev_id_init(&conn->id, &twin_ops, dom, local, remote)) {
		kfree(conn);
		return NULL;
	}
	atomic_inc(&nr_conns);
	return conn;
}

static bool conn_own(struct twin_conn *conn)
{
	bool good;

	spin_lock_bh(&conn->id.lock);
	good = rds_dev_id_own(&conn->id, conn);
	conn->owned = good;
	spin_unlock_bh(&conn->id.lock);
	return good;
}

static void from_sockaddr(const struct sockaddr_storage *ss,
			  struct in6_addr *addr)
{
	if (ss->ss_family == AF_INET6)
		*addr = ((const struct sockaddr_in6 *)ss)->sin6_addr;
	else
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)ss)
					       ->sin_addr.s_addr, addr);
}

static int take(struct twin_conn *conn, struct rdma_cm_id *cm_id,
		const struct rdma_conn_param *param)
{
	switch (rds_dev_id_take(&conn->id, cm_id, param)) {
	case RDS_DEV_TAKE_HELD:
		return 0;
	case RDS_DEV_TAKE_NO:
		rds_dev_id_forget(&conn->id);
		return -ECONNREFUSED;
	case RDS_DEV_TAKE_YES:
		break;
	}
	spin_lock_bh(&twin_lock);
	list_add_tail(&conn->node, &twin_accepted);
	spin_unlock_bh(&twin_lock);
	if (conn_own(conn))
		rds_dev_id_accept_later(&conn->id);
	else
		queue_work(twin_wq, &conn->close_work);
	return 0;
}

int twin_request(struct rds_dev_service *svc, struct rds_dev_domain *dom,
		 struct rdma_cm_id *cm_id, const struct rdma_conn_param *param)
{
	const struct rdma_addr *ra = &cm_id->route.addr;
	struct rds_dev_laddr local = {
		.net	 = ra->dev_addr.net,
		.ifindex = ra->dev_addr.bound_dev_if,
	};
	struct twin_conn *conn;
	struct in6_addr remote;
	int err = -ENOMEM;

	atomic_inc(&twin_in_handler);
	from_sockaddr(&ra->src_addr, &local.addr);
	from_sockaddr(&ra->dst_addr, &remote);
	conn = conn_new(dom, &local, &remote);
	if (conn)
		err = take(conn, cm_id, param);
	atomic_dec(&twin_in_handler);
	return err;
}

static bool told(struct twin_conn *conn, int what)
{
	return wait_event_timeout(conn->wait,
				  atomic_read(&conn->what) & (what | TWIN_LOST),
				  WAIT) &&
	       atomic_read(&conn->what) & what;
}

/* A frame each way, behind a WRITE if there is an @rkey */
static int conn_talk(struct twin_conn *conn, u16 port, u32 rkey, u64 addr)
{
	const struct sa_path_rec *path;
	int err;

	if (!conn_own(conn))
		return -ENETDOWN;
	conn->id.share = TALK_SHARE;
	err = rds_dev_id_dial(&conn->id, port, TALK_TOS);
	if (err)
		return err;
	if (!told(conn, TWIN_UP))
		return atomic_read(&conn->what) ? -ECONNREFUSED : -ETIMEDOUT;
	path = conn->id.cm_id->route.path_rec;
	if (path && path->sl)
		return -EBADE;
	err = post_number(conn, NUMBER, rkey, addr);
	if (err)
		return err;
	if (told(conn, TWIN_HEARD))
		return 0;
	if (!(atomic_read(&conn->what) & ~TWIN_UP))
		return -ETIMEDOUT;
	return rkey ? -EACCES : -ECONNRESET;
}

/* @reset: an iWARP connection was reset */
static int talk_once(const struct in6_addr *laddr, const struct in6_addr *peer,
		     u16 port, u32 rkey, u64 addr, bool *reset)
{
	struct rds_dev_laddr la = { .net = &init_net, .addr = *laddr };
	struct rds_dev_domain *dom = rds_dev_by_laddr(&twin, &la);
	struct twin_conn *conn;
	int err;

	if (!dom)
		return -ENODEV;
	conn = conn_new(dom, &la, peer);
	rds_dev_domain_put(dom);
	if (!conn)
		return -ENOMEM;
	err = conn_talk(conn, port, rkey, addr);
	*reset = err == -ECONNRESET && conn->id.dev->props.iwarp;
	conn_close(conn);
	return err;
}

/*
 * On a busy machine siw may not tell the accepting end of the first frame,
 * which then gives up (selftests/vm/siw-late.sed), and users dial again.
 */
int twin_talk(const struct in6_addr *laddr, const struct in6_addr *peer,
	      u16 port, u32 rkey, u64 addr)
{
	unsigned int tries = TRIES;
	bool reset;
	int err;

	do {
		reset = false;
		err = talk_once(laddr, peer, port, rkey, addr, &reset);
		if (reset)
			pr_info("rds_twin: siw has reset a connection\n");
	} while (reset && --tries);
	return err;
}

/* ---- attempts that nobody answers */

static int ask_once(struct rds_dev_domain *dom, const struct rds_dev_laddr *la,
		    const struct in6_addr *peer, u8 share)
{
	struct twin_conn *conn = conn_new(dom, la, peer);

	if (!conn)
		return -ENOMEM;
	spin_lock_bh(&twin_lock);
	list_add_tail(&conn->node, &twin_asking);
	spin_unlock_bh(&twin_lock);
	if (!conn_own(conn))
		return -ENETDOWN;
	conn->id.share = share;
	return rds_dev_id_dial(&conn->id, ASK_PORT, 0);
}

static int ask_many(const struct in6_addr *laddr, const struct in6_addr *peer,
		    unsigned int n, u8 share)
{
	struct rds_dev_laddr la = { .net = &init_net, .addr = *laddr };
	struct rds_dev_domain *dom = rds_dev_by_laddr(&twin, &la);
	int err = 0;

	if (!dom)
		return -ENODEV;
	while (n-- && !err)
		err = ask_once(dom, &la, peer, share);
	rds_dev_domain_put(dom);
	return err;
}

/* The last one, so that those in the line end before they get a place */
static struct twin_conn *last_asking(void)
{
	struct twin_conn *conn = NULL;

	spin_lock_bh(&twin_lock);
	if (!list_empty(&twin_asking))
		conn = list_last_entry(&twin_asking, struct twin_conn, node);
	spin_unlock_bh(&twin_lock);
	return conn;
}

static void conns_wait(void)
{
	wait_event(conns_idle, !atomic_read(&nr_conns));
}

static void asking_end(void)
{
	struct twin_conn *conn;

	while ((conn = last_asking()))
		conn_close(conn);
}

static bool v4_parse(const char *text, struct in6_addr *addr)
{
	__be32 v4;

	if (!in4_pton(text, -1, (u8 *)&v4, -1, NULL))
		return false;
	ipv6_addr_set_v4mapped(v4, addr);
	return true;
}

static int ask_set(const char *val, const struct kernel_param *kp)
{
	struct in6_addr local, peer;
	unsigned int n, share;
	char a[16], b[16];

	if (sysfs_streq(val, "0") || sysfs_streq(val, "late")) {
		asking_end();
		if (sysfs_streq(val, "0"))
			conns_wait();
		return 0;
	}
	if (sscanf(val, "%15s %15s %u %u", a, b, &n, &share) != 4 ||
	    !v4_parse(a, &local) || !v4_parse(b, &peer) ||
	    share >= RDS_DEV_SHARES)
		return -EINVAL;
	return ask_many(&local, &peer, n, share);
}

static int ask_get(char *buf, const struct kernel_param *kp)
{
	const struct twin_conn *conn;
	unsigned int n = 0, late = 0;

	spin_lock_bh(&twin_lock);
	list_for_each_entry(conn, &twin_asking, node) {
		n += READ_ONCE(conn->id.place) == RDS_DEV_PLACE_WAITS;
		late = READ_ONCE(conn->id.dom->nr_late);
	}
	spin_unlock_bh(&twin_lock);
	return sysfs_emit(buf, "%u %u\n", n, late);
}

static const struct kernel_param_ops ask_ops = { .set = ask_set,
						 .get = ask_get };
module_param_cb(ask, &ask_ops, NULL, 0600);
MODULE_PARM_DESC(ask, "attempts that nobody answers; how many wait, and how many are late");

void twin_conns_end(void)
{
	struct twin_conn *conn;

	asking_end();
	spin_lock_bh(&twin_lock);
	list_for_each_entry(conn, &twin_accepted, node)
		conn_fail(conn);
	spin_unlock_bh(&twin_lock);
	conns_wait();
}
