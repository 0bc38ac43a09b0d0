// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections of streams: how they are made, come up, fail and end.  conn.h has
 * the rules of ownership.
 *
 * Who ends a connection: the engine, when both ends have said all; the device
 * or the peer, by .lost; the program, which leaves without waiting;
 * @clock_work, when the peer was silent for too long; and @late_work, when an
 * orphan, or a peer that may go first, has had its time.  All of them queue
 * @close_work.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>

#include <net/rds/dev_domain.h>
#include <net/rds/dev_user.h>

#include "conn.h"
#include "list.h"
#include "listen.h"
#include "net.h"
#include "rule.h"
#include "sock.h"

#define CM_RETRIES	6	/* 7 is no limit for rxe */
#define CM_RNR_RETRIES	7	/* no limit */
#define MAX_MSG		0x100000
#define CORK_TIME	(HZ / 5)	/* as TCP */
/* A device repeats a message within it. */
#define PART_TIME	(2 * HZ)

static const int error_of[RDS_DEV_NR_WHYS] = {
	[RDS_DEV_WHY_DEVICE]	= ENETDOWN,
	[RDS_DEV_WHY_ADDR]	= ENETDOWN,
	[RDS_DEV_WHY_LINK]	= ENETDOWN,
	[RDS_DEV_WHY_DIAL]	= ETIMEDOUT,
	[RDS_DEV_WHY_REFUSED]	= ECONNREFUSED,
	[RDS_DEV_WHY_REJECTED]	= ECONNREFUSED,
	[RDS_DEV_WHY_ANSWER]	= EPROTO,
	[RDS_DEV_WHY_CLOSED]	= ECONNRESET,
	[RDS_DEV_WHY_TIMEOUT]	= ETIMEDOUT,
	[RDS_DEV_WHY_QP]	= ECONNRESET,
};

static struct rds_ss_conn *conn_of(struct rds_dev_id *id)
{
	return container_of(id, struct rds_ss_conn, id);
}

/* The end */

void rds_ss_conn_close(struct rds_ss_conn *conn, int err)
{
	lockdep_assert_held(&conn->lock);
	if (conn->closing)
		return;
	conn->broken = err;
	conn->closing = true;
	/* An attempt over siw may wait for its peer, and its end for that. */
	queue_work(conn->up ? rds_ss_close_wq : rds_ss_wq, &conn->close_work);
}

/*
 * Whether the peer's program hears of an end without RDS_SS_BYE.  A program of
 * librdmacm does not: it goes on, and its close waits for an acknowledgement,
 * over rxe for ever.  Over iWARP TCP tells its device.
 */
static bool conn_hears_end(const struct rds_ss_conn *conn)
{
	return conn->e.ours || conn->id.dev->props.iwarp;
}

/*
 * All is said.  A peer of librdmacm waits until its last message is
 * acknowledged, and a device that ends the connection may not do that any more:
 * rxe looks at the state between the completion of a message and its
 * acknowledgement, and repeats for ever.  So such a peer may go first.
 */
static void conn_part(struct rds_ss_conn *conn)
{
	struct sock *sk = rds_ss_conn_sk(conn);

	lockdep_assert_held(&conn->lock);
	/* Nothing is queued behind the end. */
	if (conn->parting || conn->closing)
		return;
	if (conn_hears_end(conn)) {
		rds_ss_conn_close(conn, 0);
		return;
	}
	conn->parting = true;
	mod_delayed_work(rds_ss_wq, &conn->late_work, PART_TIME);
	/* Who lingers need not wait for that. */
	if (sk)
		sk->sk_state_change(sk);
}

void rds_ss_conn_look(struct rds_ss_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->up)
		return;
	if (conn->e.state >= RDS_SS_RESET)
		rds_ss_conn_unread(conn);
	if (conn->e.state == RDS_SS_RESET)
		rds_ss_conn_close(conn, ECONNRESET);
	else if (conn->e.state == RDS_SS_CLOSED)
		conn_part(conn);
}

void rds_ss_pumped(struct rds_ss_conn *conn)
{
	if (unlikely(READ_ONCE(conn->refused)))
		rds_dev_id_fail(&conn->id, RDS_DEV_WHY_QP);
}

/*
 * The peer has closed the connection.  One of ours says before that it leaves,
 * also when its program is killed; else something is missing, or, if it had
 * shut its half before, may not have been read.  The errors are those of TCP.
 */
static void conn_hangup(struct rds_ss_conn *conn)
{
	bool said = conn->e.state == RDS_SS_LEFT, shut = conn->e.peer_done;

	lockdep_assert_held(&conn->lock);
	if (rds_ss_on(&conn->e, RDS_SS_EV_HANGUP) &&
	    conn->e.state == RDS_SS_LEFT && conn->e.ours && !said &&
	    !conn->broken)
		conn->broken = shut ? EPIPE : ECONNRESET;
}

/*
 * The connection broke, on this host or on the way.  As with TCP what has come
 * can be read before the error.  If all was said before, what breaks then does
 * not count.
 */
static void conn_broke(struct rds_ss_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (conn->e.state == RDS_SS_LEFT || conn->e.state == RDS_SS_CLOSED)
		conn->broken = 0;
	else
		rds_ss_on(&conn->e, RDS_SS_EV_HANGUP);
}

/* All messages that came before the end have been received. */
static void conn_over(struct rds_ss_conn *conn)
{
	const enum rds_ss_stat reset = RDS_SS_STAT_stream_reset;
	const enum rds_ss_stat failed = RDS_SS_STAT_stream_connect_failed;

	lockdep_assert_held(&conn->lock);
	if (conn->hangup)
		conn_hangup(conn);
	else
		conn_broke(conn);
	rds_ss_conn_unread(conn);
	if (conn->broken)
		rds_ss_count(conn->sn, conn->up ? reset : failed, 1);
	rds_ss_tx_end(conn);
	conn->closed = true;
	rds_ss_conn_report(conn);
}

static void conn_tell_over(struct rds_ss_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn_over(conn);
	spin_unlock_bh(&conn->lock);
}

static void conn_close_work(struct work_struct *work)
{
	struct rds_ss_conn *conn = container_of(work, struct rds_ss_conn,
						close_work);

	/* No dial begins from here on, and one in progress ends. */
	rds_dev_id_on(&conn->id, RDS_DEV_ID_EV_END);
	mutex_lock(&conn->dial_lock);
	mutex_unlock(&conn->dial_lock);
	rds_dev_id_end(&conn->id);
	spin_lock_bh(&conn->lock);
	conn->mute = true;
	spin_unlock_bh(&conn->lock);
	rds_dev_id_stop(&conn->id);
	rds_ss_mem_stop(conn);
	cancel_delayed_work_sync(&conn->late_work);
	cancel_delayed_work_sync(&conn->clock_work);
	cancel_delayed_work_sync(&conn->nudge_work);
	cancel_delayed_work_sync(&conn->cork_work);
	if (conn->up)
		conn_tell_over(conn);
	if (!rds_dev_id_is_late(&conn->id))
		rds_ss_post_free(conn);
	if (conn->listener)
		rds_ss_listener_lost(conn);
	kref_get(&conn->ref);
	rds_dev_id_release(&conn->id);
	/* Of an attempt: the socket may dial again from its port. */
	if (!conn->up)
		conn_tell_over(conn);
	rds_ss_conn_put(conn);
}

static void conn_late_work(struct work_struct *work)
{
	struct rds_ss_conn *conn = container_of(to_delayed_work(work),
						struct rds_ss_conn, late_work);

	spin_lock_bh(&conn->lock);
	if (!conn->parting)
		rds_ss_count(conn->sn, RDS_SS_STAT_stream_orphan_late, 1);
	rds_ss_conn_close(conn, 0);
	spin_unlock_bh(&conn->lock);
}

/*
 * As with TCP, a cork is not for ever.  Who has found no memory is woken: it
 * may wait for an edge, with nothing under way that would end.
 */
static void conn_cork_work(struct work_struct *work)
{
	struct rds_ss_conn *conn = container_of(to_delayed_work(work),
						struct rds_ss_conn, cork_work);
	struct sock *sk;

	spin_lock_bh(&conn->lock);
	rds_ss_tune(&conn->e, conn->e.depth == RDS_SS_DEPTH_NODELAY, false);
	rds_ss_pump(conn);
	sk = conn->sk;
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
	/* The connection holds it. */
	if (sk)
		sk->sk_write_space(sk);
}

static void cork_later(struct rds_ss_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (conn->up && !conn->closing)
		queue_delayed_work(rds_ss_wq, &conn->cork_work, CORK_TIME);
}

void rds_ss_conn_again(struct rds_ss_conn *conn)
{
	spin_lock_bh(&conn->lock);
	cork_later(conn);
	spin_unlock_bh(&conn->lock);
}

void rds_ss_conn_tune(struct rds_ss_conn *conn, bool nodelay, bool cork)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->up)
		return;
	rds_ss_tune(&conn->e, nodelay, cork);
	if (cork)
		cork_later(conn);
	rds_ss_pump(conn);
}

static void conn_orphan(struct rds_ss_conn *conn)
{
	unsigned long time = msecs_to_jiffies(READ_ONCE(conn->sn->orphan_ms));

	lockdep_assert_held(&conn->lock);
	if (!conn->closing && !conn->parting)
		queue_delayed_work(rds_ss_wq, &conn->late_work, time);
}

void rds_ss_conn_leave(struct rds_ss_conn *conn, bool now)
{
	spin_lock_bh(&conn->lock);
	if (!conn->up || (now && conn_hears_end(conn))) {
		rds_ss_conn_close(conn, 0);
	} else {
		if (now)
			rds_ss_drop(&conn->e);
		rds_ss_tune(&conn->e, true, false);
		rds_ss_on(&conn->e, RDS_SS_EV_CLOSE);
		rds_ss_pump(conn);
		if (now)
			conn_orphan(conn);
	}
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
}

void rds_ss_conn_orphan(struct rds_ss_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn_orphan(conn);
	spin_unlock_bh(&conn->lock);
}

/* Functions of &rds_dev_id_ops */

/* A connection that is to be accepted is charged then. */
static bool conn_charge(struct rds_ss_conn *conn)
{
	bool good;

	spin_lock_bh(&conn->lock);
	good = !conn->sk ||
	       rds_ss_charge(conn, rds_ss_mem_bytes(conn), conn->charged);
	spin_unlock_bh(&conn->lock);
	return good;
}

/* The engine begins; calls of the socket may come from now on. */
static bool conn_begin(struct rds_ss_conn *conn,
		       const struct rds_ss_config *conf)
{
	bool good;

	spin_lock_bh(&conn->lock);
	good = rds_ss_init(&conn->e, conf);
	rds_ss_tune(&conn->e, conn->want.nodelay, false);
	spin_unlock_bh(&conn->lock);
	return good;
}

static int conn_make(struct rds_ss_conn *conn)
{
	const struct rds_dev_props *props = &conn->id.dev->props;
	const struct rds_ss_want *want = &conn->want;
	u32 most = props->max_wr - RDS_SS_RX_EXTRA - 1;
	struct rds_ss_config conf = {
		.iwarp = props->iwarp,
		.active = conn->active,
		.rq = min_t(u32, want->rq, most),
		.sq = want->sq,
		.max_msg = MAX_MSG,
		.max_half = want->max_half,
		.iomap = want->iomap,
	};
	int err;

	BUILD_BUG_ON(RDS_SS_ENTRIES * RDS_SS_ENTRY_BYTES +
		     RDS_SS_IOMAP_MAX * RDS_SS_IOMAP_BYTES > PAGE_SIZE);
	conn->early = kcalloc(rds_ss_early_max(conf.rq), sizeof(*conn->early),
			      GFP_KERNEL_ACCOUNT);
	if (!conn->early)
		return -ENOMEM;
	conf.early = conn->early;
	err = rds_ss_mem_create(conn, &conf);
	if (err)
		return err;
	if (!conn_charge(conn))
		return -ENOBUFS;
	if (WARN_ON_ONCE(!conn_begin(conn, &conf)))
		return -EINVAL;
	return rds_ss_post_create(conn);
}

static int conn_prepare(struct rds_dev_id *id)
{
	struct rds_ss_conn *conn = conn_of(id);
	int err = conn_make(conn);

	if (err == -ENOMEM || err == -ENOBUFS || err == -ENOSPC)
		rds_ss_count(conn->sn, RDS_SS_STAT_stream_no_memory, 1);
	/* The registrar was not up in time, and a program would try again. */
	if (err == -EAGAIN)
		err = -ENETDOWN;
	conn->prepared = -err;
	return err;
}

static void conn_param(struct rds_dev_id *id, struct rdma_conn_param *param,
		       u8 *buf)
{
	struct rds_ss_conn *conn = conn_of(id);
	struct rds_ss_name name;
	struct rds_ss_hello me;

	BUILD_BUG_ON(RDS_SS_HELLO_BYTES > RDS_DEV_ID_PRIVATE);
	rds_ss_name_cm(&name, &id->cm_id->route.addr.src_addr);
	WRITE_ONCE(conn->local_port, name.port);
	rds_ss_hello(&conn->e, &me);
	rds_ss_hello_put(buf, &me);
	param->private_data_len = RDS_SS_HELLO_BYTES;
	param->flow_control = 1;
	param->retry_count = CM_RETRIES;
	param->rnr_retry_count = CM_RNR_RETRIES;
}

static bool conn_answer(struct rds_dev_id *id,
			const struct rdma_conn_param *param)
{
	struct rds_ss_conn *conn = conn_of(id);
	enum rds_ss_why why;

	why = rds_ss_hello_get(param->private_data, param->private_data_len,
			       &conn->peer);
	if (why)
		rds_ss_refused(conn->sn, why);
	return !why;
}

/* Both ends have their connect data; false if that is the end already. */
static bool conn_open(struct rds_ss_conn *conn)
{
	struct rds_ss_news news;
	enum rds_ss_why why;

	lockdep_assert_held(&conn->lock);
	conn->up = true;
	why = rds_ss_open(&conn->e, &conn->peer, &news);
	rds_ss_clock_begin(conn);
	if (why)
		rds_ss_refused(conn->sn, why);
	kfree(conn->early);
	conn->early = NULL;
	/* What was set while the connection came up */
	if (conn->sk)
		rds_ss_tune(&conn->e, rds_ss_sk(conn->sk)->want.nodelay,
			    rds_ss_sk(conn->sk)->cork);
	rds_ss_conn_news(conn, &news);
	rds_ss_pump(conn);
	/* The id must not be failed here: the caller holds its lock. */
	if (conn->refused)
		rds_ss_conn_close(conn, ECONNRESET);
	return !conn->closing;
}

static void conn_connected(struct rds_ss_conn *conn)
{
	struct sock *sk = rds_ss_conn_sk(conn);

	rds_ss_count(conn->sn, RDS_SS_STAT_stream_connected, 1);
	if (!sk)
		return;
	if (rds_ss_by_rule(rds_ss_sk(sk)))
		rds_ss_host_note(&conn->sn->hosts, &conn->id.remote, true);
	WRITE_ONCE(sk->sk_state, TCP_ESTABLISHED);
	sk->sk_state_change(sk);
	sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
}

static bool conn_up(struct rds_dev_id *id)
{
	struct rds_ss_conn *conn = conn_of(id);
	bool good;

	spin_lock_bh(&conn->lock);
	good = !conn->closing && conn_open(conn);
	if (good && conn->active) {
		conn_connected(conn);
		rds_ss_nudge_begin(conn);
	} else if (good) {
		rds_ss_listener_ready(conn);
	}
	/* It has come up, and was closed before that was told. */
	if (good && conn->flushed) {
		conn->hangup = true;
		rds_ss_conn_close(conn, 0);
	}
	spin_unlock_bh(&conn->lock);
	return good;
}

static void conn_lost(struct rds_dev_id *id, enum rds_dev_why why, bool was_up)
{
	struct rds_ss_conn *conn = conn_of(id);
	int err;

	if (!conn->owned)
		return;
	spin_lock_bh(&conn->lock);
	conn->hangup = why == RDS_DEV_WHY_CLOSED && was_up;
	err = error_of[why];
	if (why == RDS_DEV_WHY_DIAL && conn->prepared)
		err = conn->prepared;
	rds_ss_conn_close(conn, conn->hangup ? 0 : err);
	spin_unlock_bh(&conn->lock);
}

static void conn_qp_gone(struct rds_dev_id *id)
{
	struct rds_ss_conn *conn = conn_of(id);

	rds_dev_cq_put(&conn->cq);
	if (rds_dev_id_is_late(id))
		rds_ss_post_free(conn);
}

static void conn_gone(struct rds_dev_id *id)
{
	rds_ss_conn_put(conn_of(id));
}

static const struct rds_dev_id_ops conn_ops = {
	.prepare = conn_prepare,
	.param	 = conn_param,
	.answer	 = conn_answer,
	.up	 = conn_up,
	.lost	 = conn_lost,
	.qp_gone = conn_qp_gone,
	.gone	 = conn_gone,
};

/* Begin and last reference */

static bool conn_enter(struct rds_ss_conn *conn)
{
	struct rds_ss_net *sn = conn->sn;

	if (!maybe_get_net(sn->net))
		return false;
	if (!rds_ss_share_enter(sn, conn->in_share, conn->is_request))
		goto out_net;
	if (rds_ss_list_conn(conn))
		return true;
	rds_ss_count(sn, RDS_SS_STAT_stream_no_memory, 1);
	rds_ss_share_leave(sn, conn->in_share, conn->is_request);
out_net:
	put_net(sn->net);
	return false;
}

static void conn_leave_net(struct rds_ss_conn *conn)
{
	struct rds_ss_net *sn = conn->sn;

	rds_ss_unlist_conn(conn);
	rds_ss_share_leave(sn, conn->in_share, conn->is_request);
	put_net(sn->net);
}

struct rds_ss_conn *rds_ss_conn_new(struct rds_ss_net *sn,
				    struct rds_dev_domain *dom,
				    const struct rds_dev_laddr *local,
				    const struct in6_addr *remote,
				    const struct rds_ss_want *want,
				    bool request)
{
	struct rds_ss_conn *conn = kzalloc_obj(*conn, GFP_KERNEL_ACCOUNT);

	if (!conn) {
		rds_ss_count(sn, RDS_SS_STAT_stream_no_memory, 1);
		return NULL;
	}
	conn->sn = sn;
	conn->want = *want;
	conn->in_share = want->shares.net;
	conn->is_request = request;
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->queue_node);
	spin_lock_init(&conn->lock);
	rds_ss_tx_init(&conn->tx);
	conn->tx.once = dom->dev->props.iwarp;
	INIT_WORK(&conn->close_work, conn_close_work);
	INIT_WORK(&conn->mem_work, rds_ss_mem_work);
	mutex_init(&conn->dial_lock);
	INIT_DELAYED_WORK(&conn->late_work, conn_late_work);
	INIT_DELAYED_WORK(&conn->cork_work, conn_cork_work);
	INIT_DELAYED_WORK(&conn->clock_work, rds_ss_clock_work);
	INIT_DELAYED_WORK(&conn->nudge_work, rds_ss_nudge_work);
	if (!conn_enter(conn)) {
		kfree(conn);
		return NULL;
	}
	if (rds_dev_id_init(&conn->id, &conn_ops, dom, local, remote)) {
		kref_get(&conn->ref);
		return conn;
	}
	conn_leave_net(conn);
	kfree(conn);
	return NULL;
}

static void conn_free(struct kref *ref)
{
	struct rds_ss_conn *conn = container_of(ref, struct rds_ss_conn, ref);

	if (conn->sk) {
		spin_lock_bh(&conn->lock);
		if (conn->charged)
			rds_ss_uncharge(conn, rds_ss_mem_bytes(conn));
		WARN_ON_ONCE(conn->charged);
		spin_unlock_bh(&conn->lock);
		sock_put(conn->sk);
	}
	rds_ss_mem_free(conn);
	/* Who lists connections looks at the listener. */
	conn_leave_net(conn);
	if (conn->listener)
		rds_ss_listener_put(conn->listener);
	kfree(conn->early);
	kfree_rcu(conn, rcu);
}

void rds_ss_conn_put(struct rds_ss_conn *conn)
{
	kref_put(&conn->ref, conn_free);
}
